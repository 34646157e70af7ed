/*
 * zerocopy.h: sending by MSG_ZEROCOPY (Documentation/networking/msg_zerocopy.rst).  The kernel owns
 * a buffer until it has completed every send of it, so the sender fills a ring of buffers.
 *
 *	while ((buf = zerocopy_buffer(s)) != NULL && (n = pread(fd, buf, s->chunk, off)) > 0)
 *		off += zerocopy_put(s, buf, (size_t)n);
 *	zerocopy_finish(s);
 */
#pragma once

#include "lib/send/result.h"
#include "lib/send/sender.h"

/* What a method calls to open: sender.h.  It makes s->buf_size that of the ring, or dies. */
void zerocopy_open(struct sender *s);

/* Returns the next buffer, once all sends of it are completed, or NULL at a stop. */
char *zerocopy_buffer(struct sender *s);

/*
 * Sends a part of that buffer by one call, and returns what send(2) does, or 0 after a wait for
 * completions that make room for another send.
 */
ssize_t zerocopy_put(struct sender *s, const char *buf, size_t len);

/* Takes the completions that there are.  False if there were none, or by another method. */
bool zerocopy_reap(struct sender *s);

/*
 * Waits, after the last send, until all sends are completed, but 10 s at most, or 1 s where a
 * signal stopped the sender: a server may hold them up.  By another method it does nothing.
 */
void zerocopy_finish(struct sender *s);

/* Returns what became of the sends. */
struct zerocopy_figures zerocopy_count(const struct sender *s);
