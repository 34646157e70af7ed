/*
 * report.h: what zcs prints on stdout: lines of text, or with --json one object for each group of
 * clients.  Any thread may call these functions; each takes the report's lock.
 *
 *	struct report r = {.opt = &opt, .stop = &stop, .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
 *	report_client(&r, &peer, &figures, false);
 *
 * A report that cannot be written is lost, and one message reports it: otherwise a client could
 * end the server by filling the disk.  With `once`, or if the error cannot pass, the program
 * dies.
 */
#pragma once

#include "lib/receive/options.h"
#include "lib/report/environment.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"
#include "lib/load/counters.h"

#define REPORT_LEAST_BYTES 1024 /* a client that moves less is small: its summaries are limited */

/* JSON in memory. */
struct text {
	struct json json;
	char *text;
	size_t size;
};

struct report {
	const struct receive_options *opt;
	const _Atomic int *stop; /* the signal that ends the program */
	/* The lock is of the kind that reports a deadlock: a thread that dies may hold it. */
	pthread_mutex_t lock;
	bool mid_line;       /* the last byte on stdout is not a newline */
	bool broken;         /* the program dies because of stdout */
	_Atomic bool failed; /* something could not be written */
	/* Clients without a summary that were not printed yet, and their bytes. */
	uint64_t small_clients, small_bytes;
	/* The JSON object of the group; others while there is no group. */
	struct text object;  /* what is not printed yet; json.f is NULL while there is no object */
	struct text streams; /* its end.streams */
	enum { OBJECT_NOT, OBJECT_PART, OBJECT_LOST } printed; /* lost: stdout failed */
	uint64_t listed, left_out;      /* clients in and not in end.streams */
	char *cut;                      /* which client was the first to be cut, and why; or NULL */
	struct environment environment; /* of a report in JSON */
	bool has_start; /* an object of replies has said what program and host this is */
};

/* Prints the summary of one client; `warmed_up`: its warm-up is to be mentioned. */
void report_client(struct report *r, const struct sockaddr_storage *peer, const struct figures *f,
		   bool warmed_up);

/* Counts a client whose summary is omitted; their number is printed before the next summary. */
void report_count_small(struct report *r, uint64_t bytes);

/* Prints, when zcs ends, how many clients report_count_small() has counted since. */
void report_last_small(struct report *r);

/*
 * Prints what came in an interval that began `start` seconds after the group did, and had
 * f->clients at its end; `warm_up`: a client was in its warm-up at either end.
 */
void report_group_interval(struct report *r, const struct figures *f, double start, bool warm_up);

/* Begins the JSON object of a group, whose first client is `peer` and came via `interface`. */
void report_group_begin(struct report *r, const struct sockaddr_storage *peer,
			const char *interface);

/*
 * Adds a client, whose socket is still open, to the JSON object, or only counts it if not
 * `listed`.
 */
void report_stream(struct report *r, int sock, const struct sockaddr_storage *peer,
		   const struct figures *f, int number, bool listed);

/* A client of the group did not come to its end: the JSON object has `why` as its error. */
void report_cut(struct report *r, const struct sockaddr_storage *peer, const char *why);

/* Prints the sums of a group and ends its JSON object.  `summary`: a client of it has a summary. */
void report_group(struct report *r, const struct figures *f, bool summary);

/* Requests that were not answered, by the reason. */
struct reply_failures {
	_Atomic uint64_t refused, silent, too_large, broken;
};

/* What the host's TCP did while zcs ran, and which clients had no reply. */
struct reply_total {
	const struct reply_failures *failures;
	struct netstat tcp;
};

/*
 * Prints replies (f->calls): of an interval that began `start` seconds after zcs did, or with `total`
 * of the whole run.
 */
void report_replies(struct report *r, const struct figures *f, double start,
		    const struct reply_total *total);

/* For die_init(): ends the JSON report with `why` as its error, and keeps the lock. */
void report_fail(void *report, const char *why);
