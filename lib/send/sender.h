/*
 * sender.h: what the methods by which a connection sends files have in common.  methods.h has the
 * interface for their user.
 */
#pragma once

#include <sys/types.h>

#include "common.h"

struct sender;
struct uring_sender;
struct zerocopy;
struct zerocopy_figures;

/*
 * A way to send.  `step` sends at most `len` bytes of `fd` from `off` by one call.  It returns how
 * many, 0 at the end of the file or at a stop, or -1 with errno; after EINTR it is called again.
 */
struct send_method {
	const char *name;
	size_t chunk;                   /* default bytes of a call; 0: the sender's memory */
	bool has_buffer;                /* the sender needs a buffer of the size of a call */
	void (*open)(struct sender *s); /* gets what else the method needs, or dies; may be NULL */
	ssize_t (*step)(struct sender *s, int fd, off_t off, uint64_t len);
	/* NULL: there is no need.  `finish` waits, after the last send, for what the kernel owns. */
	void (*finish)(struct sender *s);
	struct zerocopy_figures (*count)(const struct sender *s); /* what became of the sends */
	void (*close)(struct sender *s);
};

/* The part of a file that is mapped.  It stays mapped until another part is. */
struct window {
	char *map; /* MAP_FAILED: nothing is mapped */
	off_t off, size;
	int fd;
};

struct sender {
	const struct send_method *method;
	int sock;
	size_t chunk;                  /* the most bytes that one call is asked for */
	size_t memory;                 /* bytes that it may map, or fill ahead of the kernel */
	const _Atomic int *stop;       /* not 0: why the sender is to stop */
	_Atomic uint64_t bytes, calls; /* sent so far; only the sender's own thread writes them */
	char *buf;
	size_t buf_size;
	int pipe[2]; /* -1: none */
	struct window window;
	struct zerocopy *zerocopy;  /* NULL: the method is another */
	struct uring_sender *uring; /* the same */
};

#define TIME_UP (-1) /* a sender stops because its time is over; a positive value is a signal */

static inline bool sender_stopped(const struct sender *s)
{
	return atomic_load_explicit(s->stop, memory_order_relaxed) != 0;
}

static inline size_t at_most(uint64_t len, size_t max)
{
	return len < max ? (size_t)len : max;
}
