/*
 * stream.h: one connection of a transfer, from its headers to the server's receipt.
 *
 *	stream_open(st, sock, chunk, &stop);
 *	run_start(run, stream_work, streams, sizeof(streams[0]), seconds);
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

/* A reading of a stream at one time. */
struct stream_mark {
	uint64_t ns, bytes, calls, files;
	struct tcp_figures tcp;
};

enum stream_phase {
	STREAM_SENDING, /* it may block in a send */
	STREAM_WAITING, /* it waits for the server: all is sent, and the sending side is closed */
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
	_Atomic uint64_t files;        /* entries of the wire that are sent */
	_Atomic uint64_t headers;      /* bytes of the wire that are not in files */
	_Atomic uint64_t received;     /* bytes that the server has sent since the last byte */
	_Atomic bool abandoned;        /* the main thread has ended the wait for the server */
	uint64_t loops;                /* complete loops */
	struct stream_mark begin, end; /* of what is measured */
	struct stream_mark last;       /* the end of the last interval */
	struct tcp_figures tcp;        /* TCP_INFO when all had been sent */
	/* The main thread's watch over what the server acknowledges. */
	struct {
		double acked;          /* bytes that it has acknowledged, as far as is known */
		uint64_t acked_ns;     /* when that changed last */
		uint64_t interrupt_ns; /* when the wait was interrupted; 0: it was not */
		struct limit limit;
	} watch;
};

/*
 * Prepares the stream of a connected socket, in calls of `chunk` bytes (0: the method's default).
 * The caller has set its `opt`, `set`, `peer` and `result`; the rest is 0.
 */
void stream_open(struct stream *st, int sock, size_t chunk, const _Atomic int *stop);

/* Sends all and waits for the receipt, in the stream's own thread.  Dies of what goes wrong. */
void stream_work(void *stream);

/* Reads a stream.  Any thread may call it. */
void stream_mark_now(const struct stream *st, struct stream_mark *m);

/* Returns how many bytes of files the server has acknowledged, even after a reset. */
uint64_t stream_acknowledged(const struct stream *st);

/* Ends an interval of the stream now, and stores its figures. */
void stream_interval(struct stream *st, struct figures *f);

/*
 * Looks, every TICK_NS or so, whether the server still takes data, and answers after the last of
 * them.  Dies if the server has done neither for --timeout, or reaches the limit.  Abandons the
 * wait soon after an interrupt.
 */
void stream_watch(struct stream *st, uint64_t now);

/*
 * Discards what a raw server has sent: a receive buffer with data left in it would have the
 * connection reset when it is closed, and a full one stops the server.  Returns how many bytes,
 * 0 at the end of stream, -1 with errno; dies if the connection is reset.
 */
ssize_t stream_discard(struct stream *st);

/* Stores the figures of a stream that has come to its end into its result. */
void stream_figures(struct stream *st);

/* Returns how many loops without a file announce a warm-up of `seconds` to the server. */
uint32_t warmup_loops(double seconds);
