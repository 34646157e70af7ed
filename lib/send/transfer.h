/*
 * transfer.h: one transfer of the file set over all its streams: warm-up, intervals, the sum.
 * stream.c has one of its connections, from the headers to the server's receipt; transfer.c has all
 * of them together.
 *
 *	t = (struct transfer){.opt = opt, .run = &run, .report = &report, .result.set = &set};
 *	if (!transfer_open(&t))
 *		return "interrupted";
 *	report_start(&report, &t.result.target, &t.result);
 *	transfer_run(&t);
 *	report_end(&report, &t.result, NULL);
 *	transfer_close(&t);
 */
#pragma once

#include "lib/send/fileset.h"
#include "lib/send/report.h"
#include "lib/send/run.h"
#include "lib/send/sender.h"

/* A reading of a stream at one time; `bytes` are those of files that the server has acknowledged. */
struct stream_mark {
	uint64_t ns, bytes, calls, files;
	double records; /* of TLS; NAN: without it */
	struct tcp_figures tcp;
};

/* What the main thread found of a stream since its warm-up, by looking often. */
struct samples {
	struct tcp_figures last;
	struct stall_watch watch; /* of acknowledgements */
	uint64_t n;
	struct waits waits; /* what the samples saw; the means are sums still */
	double rest;        /* us in which TCP was busy, and no limit that the kernel counts held */
};

enum stream_phase {
	STREAM_SENDING,  /* it may block in a send */
	STREAM_WAITING,  /* it waits for the server: all is sent, and the sending side is closed */
	STREAM_MEASURED, /* its figures are final, but for what becomes of its zero-copy sends */
	STREAM_DONE,
};

struct stream {
	struct worker worker;
	struct sender sender;
	const struct send_options *opt;
	const struct fileset *set;
	const char *peer;
	struct stream_result *result;
	const char *encrypts; /* what does, with TLS: software or device */
	bool paced;           /* the kernel spreads what is sent over the time */
	uint64_t left;        /* bytes that it may still send */
	/* Written by the stream's own thread, and read by the main thread at any time. */
	_Atomic enum stream_phase phase;
	_Atomic uint64_t files;   /* entries of the wire that are sent */
	_Atomic uint64_t headers; /* bytes of the wire that are not in files */
	/* Written by the stream's own thread, and read by others once it is measured. */
	struct stream_mark end; /* of what is measured */
	struct tcp_figures tcp; /* TCP_INFO when all had been sent */
	/* Used by the main thread alone. */
	struct stream_mark mark;  /* the latest reading */
	struct stream_mark begin; /* of what is measured */
	struct stream_mark last;  /* the end of the last interval */
	uint64_t progress;        /* what it saw when it looked last */
	struct samples samples;
};

/*
 * Prepares the stream of a connected socket, in calls of `chunk` bytes (0: the method's default).
 * The caller has set its `opt`, `set`, `peer`, `result` and, with --bytes, `left`; the rest is 0.
 */
void stream_open(struct stream *st, int sock, uint64_t chunk, const _Atomic int *stop);

/* Agrees with the server on TLS, before anything is measured, or dies. */
void stream_hello(struct stream *st);

/*
 * Sends all and waits for the receipt, in the stream's own thread.  What goes wrong breaks the run; a server that
 * rejects the stream is an error without figures.
 */
void stream_work(void *stream);

/* Reads a stream, even after a reset.  Any thread may call it. */
struct stream_mark stream_mark(const struct stream *st);

/* Looks at the stream, to learn what it waits for. */
void stream_sample(struct stream *st);

/* Begins what is measured, and an interval, with the stream's mark, and forgets all samples before. */
void stream_begin(struct stream *st);

/* Ends an interval of the stream at its mark, and stores its figures into its result. */
void stream_interval(struct stream *st);

/*
 * To be called once in each --timeout.  Breaks the run if since the last call the server has neither taken
 * nor sent anything, though it has something to acknowledge or to answer.
 */
void stream_watch(struct stream *st);

/*
 * Discards what a raw server has sent: a receive buffer with data left in it would have the
 * connection reset when it is closed, and a full one stops the server.  Returns how many bytes,
 * 0 at the end of stream, -1 with errno; breaks the run if the connection is reset.
 */
ssize_t stream_discard(const struct stream *st);

/*
 * Stores the figures of a stream into its result.  Of one that has not come to its end, as the run is broken, they end
 * with its mark.
 */
void stream_figures(struct stream *st);

/* What the main thread does while the streams send; the warm-up ends before an interval that is due then. */
enum { ON_WARM, ON_INTERVAL, ON_PROGRESS, ON_WATCH, ON_SAMPLE, ON_DISCARD, TRANSFER_EVENTS };

struct transfer {
	const struct send_options *opt;
	struct run *run;
	struct send_report *report; /* prints the intervals and the progress */
	struct stream *stream;
	int opened;    /* streams that are to be closed */
	int connected; /* the connection of the one that is not yet among them; 0: none */
	struct event event[TRANSFER_EVENTS];
	struct load_sample last; /* the load at the end of the last interval */
	bool measuring;          /* the warm-up is over */
	unsigned unsafe;         /* what made the load of an interval unsafe since then */
	struct send_result result;
};

/*
 * Connects all streams before the first of them sends, so that the server's last client is their
 * last.  Returns false if one cannot connect, and the run has the reason; or if a signal that is caught ended that, and
 * with it the program.
 */
bool transfer_open(struct transfer *t);

/* Sends, and returns when all streams have come to their end, or the run is broken; t->result then has the figures. */
void transfer_run(struct transfer *t);

/* Closes the connections, and resets those of a broken run. */
void transfer_close(struct transfer *t);
