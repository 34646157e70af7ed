/*
 * stream.h: one connection of a transfer, from its headers to the server's receipt.
 *
 *	stream_open(st, number, opt, set, sock, chunk, result);
 *	run_start(run, stream_work, streams, sizeof(streams[0]));
 *	... every TICK_NS: stream_watch(st, now);
 *	stream_figures(st);
 *	sender_close(&st->sender);
 */
#pragma once

#include "lib/send/fileset.h"
#include "lib/send/methods.h"
#include "lib/send/result.h"
#include "lib/send/run.h"
#include "lib/send/target.h"

#define WARMUP_MAX 100 /* seconds */

/* What is known of a stream at one time. */
struct stream_mark {
	uint64_t ns, bytes, calls, files;
	struct tcp_figures tcp;
};

enum stream_phase {
	STREAM_READY,   /* its thread has not begun */
	STREAM_SENDING, /* it may block in a send */
	STREAM_WAITING, /* for the server: all is sent, and the sending side is closed */
	STREAM_DONE,
};

struct stream {
	struct worker worker;
	struct sender sender;
	const struct send_options *opt;
	const struct fileset *set;
	const char *peer;
	struct stream_result *result;
	/* Written by the stream's own thread, and read by the main thread at any time. */
	_Atomic enum stream_phase phase;
	_Atomic uint64_t files;    /* entries of the wire that are sent */
	_Atomic uint64_t headers;  /* bytes of the wire that are not in files */
	_Atomic uint64_t received; /* bytes that the server has sent since the last byte */
	_Atomic bool abandoned;    /* by the main thread: the server is waited for no longer */
	uint64_t loops;
	struct stream_mark begin, end,
		last;           /* of what is measured, and the end of the last interval */
	struct tcp_figures tcp; /* when all had been sent */
	uint64_t end_ns;        /* when the server had all of it */
	/* The main thread's watch over what the server acknowledges. */
	struct {
		double acked;          /* as TCP_INFO counts */
		int first, left;       /* bytes not acknowledged: when the wait began, and now */
		uint64_t acked_ns;     /* when either changed last */
		uint64_t interrupt_ns; /* when the wait was interrupted; 0: it was not */
		struct limit limit;
	} watch;
};

/*
 * Prepares the stream of a connected socket, in calls of `chunk` bytes (0: the method's default).
 * The caller has set its `set`, `peer` and `result`; the rest is 0.
 */
void stream_open(struct stream *st, const struct send_options *opt, int sock, size_t chunk,
		 const _Atomic int *stop);

/* Sends all and waits for the receipt: what the stream's thread does.  Dies of what goes wrong. */
void stream_work(void *stream);

/* Reads what is known of a stream now; any thread may. */
void stream_mark_now(const struct stream *st, struct stream_mark *m);

/*
 * Looks, every TICK_NS or so, whether the server still takes data, and answers after the last of
 * them: dies if it did not for --timeout, or is slow without end; abandons the wait soon after an
 * interrupt.
 */
void stream_watch(struct stream *st, uint64_t now);

/*
 * Discards what a raw server has sent: a receive buffer with data left in it would have the
 * connection reset when it is closed, and a full one stops the server.  Returns how many bytes,
 * 0 at the end of stream, -1 with errno; dies if the connection is reset.
 */
ssize_t discard_answer(struct stream *st);

/* Stores the figures of a stream that has come to its end into its result. */
void stream_figures(struct stream *st);

/* How many loops without a file announce the warm-up to the server. */
uint32_t warmup_loops(double seconds);
