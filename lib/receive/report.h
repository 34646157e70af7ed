/*
 * report.h: what zcs prints on stdout: lines of text, or with --json one object for each group of
 * clients.  Only the main thread prints; it has the report's lock except while it waits.
 *
 *	struct report r = {.opt = &opt, .stop = &stop, .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
 *	pthread_mutex_lock(&r.lock);
 *	report_client(&r, &place, &figures, 1, true, NULL);
 *
 * A report that cannot be written is lost, and zcs prints one message: a full disk must not end the
 * server.  With `once`, or if the error is permanent, the program dies.
 */
#pragma once

#include "lib/load/counters.h"
#include "lib/receive/guard.h"
#include "lib/report/environment.h"
#include "lib/report/figures.h"
#include "lib/report/units.h"
#include "lib/report/stalls.h"

#define REPORT_LEAST_BYTES 1024 /* a client that moves less is small: its summaries are limited */

/* A client that has left its group, for end.streams. */
struct stream_record {
	struct sockaddr_storage local, peer;
	struct figures f;
	int number;
};

struct report {
	const struct receive_options *opt;
	const _Atomic int *stop; /* the signal that ends the program */
	/* For a thread that dies.  The lock detects a deadlock: the thread may be the main one, which has it. */
	pthread_mutex_t lock;
	bool failed;                /* something could not be written */
	struct intervals intervals; /* their table, as text */
	/* Of JSON. */
	struct environment environment;
	struct json json; /* the object that is begun, if one is */
	/* The group.  Its object begins when something of the group is first printed. */
	struct sockaddr_storage first; /* its first client */
	struct link via;               /* the interface of that client */
	uint64_t began_ns; /* of CLOCK_REALTIME; of replies, their first object; 0: none */
	struct stream_record *streams; /* of end.streams */
	size_t listed;                 /* clients in end.streams */
	uint64_t left_out;             /* and not in it */
	char cut[256];                 /* which client was the first to be cut, and why */
};

/*
 * Reports a client that has ended, whose socket is still open.  Prints its summary, if it has one, or keeps it
 * for the JSON object.  `why`, unless it is NULL, is why the client failed, the error of the object.
 */
void report_client(struct report *r, const struct place *p, const struct figures *f,
		   const struct stalls *stalls, int number, bool summary, const char *why);

/*
 * Prints the figures of an interval that began `start` seconds after the group, and had f->clients clients at its
 * end; `warm_up`: a client was in its warm-up in it.
 */
void report_group_interval(struct report *r, const struct figures *f, double start, bool warm_up);

/* Begins a group, whose first client is `peer` via `interface`. */
void report_group_begin(struct report *r, const struct sockaddr_storage *peer,
			const char *interface);

/*
 * Prints the sums of a group and ends its JSON object.  `summary`: a client of it has a summary.  Without one, a
 * group that moved less than REPORT_LEAST_BYTES has no object, unless the object has begun.
 */
void report_group(struct report *r, const struct figures *f, const struct stalls *stalls,
		  bool summary);

/* Requests that were not answered, by the reason, and what the host's TCP did while zcs ran. */
struct reply_total {
	_Atomic uint64_t refused, silent, too_large, broken;
	struct netstat tcp;
};

/*
 * Prints replies (f->calls): of an interval that began `start` seconds after zcs did, or with `total`
 * of the whole run.
 */
void report_replies(struct report *r, const struct figures *f, double start,
		    const struct reply_total *total);

/* For die_init(), in any thread: ends the JSON report with `why` as its error, and keeps the lock. */
void report_fail(void *report, const char *why);
