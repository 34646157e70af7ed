/*
 * zerocopy.h: sending by MSG_ZEROCOPY (Documentation/networking/msg_zerocopy.rst).  The kernel owns
 * a buffer until it has completed every send of it, so the sender fills a ring of buffers.
 *
 *	while ((n = zerocopy_step(s, fd, off, len)) > 0)
 *		off += n;
 *	zerocopy_finish(s);
 */
#pragma once

#include "lib/send/result.h"
#include "lib/send/sender.h"

/* These, and those below, are what a method has: sender.h. */
void zerocopy_open(struct sender *s);
ssize_t zerocopy_step(struct sender *s, int fd, off_t off, uint64_t len);

/* Takes the completions that there are.  False if there were none, or by another method. */
bool zerocopy_reap(struct sender *s);

/* How long a sender waits in the end, in ns: 10 s, or 1 s where a signal stopped it. */
uint64_t zerocopy_patience(const struct sender *s);

/* Waits, after the last send, until all sends are completed: a server may hold them up. */
void zerocopy_finish(struct sender *s);

/* Returns what became of the sends. */
struct zerocopy_figures zerocopy_count(const struct sender *s);

void zerocopy_close(struct sender *s);
