/*
 * uring.h: sending by io_uring(7).  A chain of requests reads parts of a file into registered buffers
 * and sends each of them: one system call for CHAIN parts.  The kernel begins a request when the one
 * before it has done all that it was asked, and cancels the rest of the chain otherwise; what was not
 * sent is read anew.
 *
 *	while ((n = uring_step(s, fd, off, len)) > 0)
 *		off += n;
 *	uring_finish(s);
 */
#pragma once

#include "lib/send/result.h"
#include "lib/send/sender.h"

/* Open, step, finish, count and close as a method has them: sender.h. */
void uring_send_open(struct sender *s);
void uring_send_open_zc(struct sender *s);
ssize_t uring_step(struct sender *s, int fd, off_t off, uint64_t len);
void uring_finish(struct sender *s);
struct zerocopy_figures uring_count(const struct sender *s);
void uring_send_close(struct sender *s);
