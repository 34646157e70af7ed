/*
 * methods.h: the ways to send a file over a connection: sendfile(2), send(2), write(2), from a
 * mapping, splice(2), MSG_ZEROCOPY, io_uring(7).
 *
 *	sender_open(&s, method_named("splice"), sock, 0, 1, &stop);
 *	n = sender_send(&s, fd, 0, size);
 *	sender_close(&s);
 */
#pragma once

#include "lib/send/sender.h"

/* Returns the method that -m names.  A name that no method has is a usage error. */
const struct send_method *method_named(const char *name);

/*
 * The most bytes that a sender by this method asks of one call, of `streams` senders, where -b gave
 * `chunk`, or 0.
 */
size_t method_chunk(const struct send_method *m, size_t chunk, int streams);

/*
 * Makes a sender for a connected socket, or dies.  `chunk` is the most bytes asked of one call, 0
 * for the method's default.  The memory for mappings and buffers is shared with all `streams`.
 * The sender stops soon after *stop is no longer 0, if a signal interrupts a call that blocks.
 */
void sender_open(struct sender *s, const struct send_method *m, int sock, size_t chunk, int streams,
		 const _Atomic int *stop);

/*
 * Sends `len` bytes of `fd` from `off`.  Returns how many, fewer at a stop or where the file has
 * shrunk, or -1 with errno.
 */
int64_t sender_send(struct sender *s, int fd, off_t off, uint64_t len);

/*
 * Waits, after the last send and in the sender's own thread, until the kernel owns none of the
 * sender's buffers, for a limited time.
 */
void sender_finish(struct sender *s);

/* Removes the mapping of a file that is about to be closed: another file may get its descriptor. */
void sender_unmap(struct sender *s);

/* Closes the socket and frees what the sender has. */
void sender_close(struct sender *s);
