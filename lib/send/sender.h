/*
 * sender.h: the ways to send a file over a connection: sendfile(2), send(2), write(2), from a
 * mapping, splice(2), MSG_ZEROCOPY, io_uring(7).
 *
 *	sender_open(&s, &send_methods[method_place("splice")], sock, 0, 1, &stop);
 *	n = sender_send(&s, fd, 0, size);
 *	sender_finish(&s);
 *	sender_close(&s);
 */
#pragma once

#include <sys/types.h>

#include "lib/report/figures.h"

#define PATIENCE_NS 1000000000u /* for which a sender waits for what is under way after a stop */

struct sender;

/*
 * A way to send.  `step` sends at most `len` bytes of `fd` from `off` by one call.  It returns how
 * many, 0 at the end of the file or at a stop, or -1 with errno; after EINTR it is called again.
 * The other functions may be NULL.
 */
struct send_method {
	const char *name;
	size_t chunk;     /* default bytes of a call, without a buffer; 0: the sender's memory */
	size_t most;      /* the most bytes of a call; 0: any number */
	bool has_buffer;  /* it sends from memory: a buffer of a call's size, or the file there */
	bool writes;      /* it sends by write(2), not by send(2) */
	bool is_zerocopy; /* the kernel sends from several such buffers */
	bool lacks_tls;   /* kernel TLS does not take the flags of its calls */
	void (*open)(struct sender *s); /* gets what else the method needs, or dies */
	ssize_t (*step)(struct sender *s, int fd, off_t off, uint64_t len);
	void (*await)(struct sender *s);  /* waits for completions, for a limited time */
	void (*finish)(struct sender *s); /* to be called when the kernel owns no buffer any more */
	void (*close)(struct sender *s);
};

/* The part of a file that is mapped.  It stays mapped until another part is. */
struct window {
	char *map; /* NULL: nothing is mapped */
	off_t off, size;
	int fd;
};

#define SLOTS_MAX 64  /* buffers of a sender */
#define WAIT_MS   100 /* how long one wait for a completion takes at most */

struct sender {
	const struct send_method *method;
	int sock;
	size_t chunk;                  /* the most bytes that one call is asked for */
	size_t memory;                 /* bytes that it may map, or fill ahead of the kernel */
	const _Atomic int *stop;       /* not 0: why the sender is to stop */
	_Atomic uint64_t bytes, calls; /* sent so far; only the sender's own thread writes them */
	/* The file in memory, which methods with a buffer send; NULL: they read it into the buffer. */
	const char *data;
	char *buf;
	size_t buf_size;
	int pipe[2];
	struct window window;
	unsigned slots;                   /* buffers of that size in buf */
	uint32_t next;                    /* the one that is filled next, modulo `slots` */
	uint64_t owner[SLOTS_MAX];        /* the send that still needs each of them; 0: none */
	struct zerocopy_figures zerocopy; /* what became of these sends */
	void *ring;                       /* of uring.c */
	uint64_t interrupt_ns; /* when a signal was first seen to have stopped it; 0: none was */
};

#define TIME_UP (-1) /* a sender stops because its time is over; a positive value is a signal */

extern const struct send_method send_methods[]; /* the first of them is the default */

/* Returns the place in send_methods[] of the method that -m names.  Other names are a usage error. */
size_t method_place(const char *name);

/*
 * The most bytes that a sender by this method asks of one call, of `streams` senders, where -b gave
 * `chunk`, or 0.
 */
size_t method_chunk(const struct send_method *m, uint64_t chunk, int streams);

/*
 * Makes a sender for a connected socket, or dies.  `chunk` is the most bytes asked of one call, 0
 * for the method's default.  The memory for mappings and buffers is shared with all `streams`.
 * The sender stops soon after *stop is no longer 0; shutdown(2) ends a call that blocks.
 */
void sender_open(struct sender *s, const struct send_method *m, int sock, uint64_t chunk,
		 int streams, const _Atomic int *stop);

/*
 * Sends `len` bytes of `fd` from `off`.  Returns how many, fewer at a stop or where the file has
 * shrunk, or -1 with errno.
 */
int64_t sender_send(struct sender *s, int fd, off_t off, uint64_t len);

/* Whether a call that returned -1 failed: it was neither interrupted nor ended by a stop. */
bool sender_failed(const struct sender *s);

/* Takes completions of MSG_ZEROCOPY, which wake poll(2) until they are taken.  False if there are none. */
bool sender_reap(struct sender *s);

/*
 * Whether a signal stopped the sender a second ago: whatever its thread waits for in the end, it waits no longer.
 */
bool sender_is_abandoned(struct sender *s);

/*
 * Waits, after the last send and in the sender's own thread, until the kernel owns none of the
 * sender's buffers.  A server may hold them up: it waits for 10 s, or until a signal has it abandoned.
 */
void sender_finish(struct sender *s);

/* Closes the socket and frees what the sender has. */
void sender_close(struct sender *s);

static inline bool sender_stopped(const struct sender *s)
{
	return atomic_load_explicit(s->stop, memory_order_relaxed) != 0;
}

static inline size_t at_most(uint64_t len, size_t max)
{
	return len < max ? (size_t)len : max;
}

/*
 * io_uring(7).  A chain of requests reads parts of a file into registered buffers and sends each of
 * them: one system call for several parts.  The kernel begins a request when the one before it has
 * done all that it was asked, and cancels the rest of the chain otherwise; what was not sent is
 * read anew.
 */
void uring_send_open(struct sender *s);
ssize_t uring_step(struct sender *s, int fd, off_t off, uint64_t len);
void uring_await(struct sender *s);
void uring_finish(struct sender *s);
void uring_send_close(struct sender *s);
