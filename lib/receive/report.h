/*
 * report.h: what zcs prints on stdout: lines of text, or with --json one object for each group of
 * clients.  Any thread may call these functions; each takes the report's lock.
 *
 *	struct report r = {.json = false, .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
 *	report_client(&r, "192.0.2.1:45678", &figures, false);
 *
 * A report that cannot be written is lost, and a message says so once: otherwise a client could
 * end the server by filling the disk.  With `once`, or if the error cannot pass, the program
 * dies.
 */
#pragma once

#include <sys/socket.h>

#include "lib/report/figures.h"
#include "lib/report/json.h"

#define REPORT_LEAST_BYTES 1024 /* a client that moves less is small: its summaries are limited */

/* JSON in memory. */
struct text {
	struct json json;
	char *text;
	size_t size;
};

struct report {
	const _Atomic int *stop; /* the signal that ends the program */
	bool json, once;
	/* It is of the kind that reports a deadlock: a thread that dies may hold it. */
	pthread_mutex_t lock;
	bool mid_line;       /* the last byte on stdout is not a newline */
	bool broken;         /* the program dies because of stdout */
	_Atomic bool failed; /* something could not be written */
	struct small {
		uint64_t clients, bytes;
	} small; /* clients without a summary that were not printed yet */
	/* The JSON object of the group; others while there is no group. */
	struct text object;  /* what of it is not printed yet; json.f is NULL while there is none */
	struct text streams; /* its end.streams */
	bool flowed;         /* its beginning is printed */
	bool lost;           /* and its rest is not, because stdout failed */
	uint64_t listed, left_out; /* clients in and not in end.streams */
};

/* Prints the summary of one client; `warmed_up`: its warm-up is to be mentioned. */
void report_client(struct report *r, const char *name, const struct figures *f, bool warmed_up);

/* Counts clients whose summary is left out; their number is printed before the next summary. */
void report_count_small(struct report *r, uint64_t clients, uint64_t bytes);

/* Prints their number at the end. */
void report_last_small(struct report *r);

/*
 * Prints what came in an interval that began `start` seconds after the group did; `warm_up`: a
 * client was in its warm-up at either end.
 */
void report_group_interval(struct report *r, const struct figures *f, double start, int clients,
			   bool warm_up);

/* Begins the JSON object of a group, whose first client is `peer`. */
void report_group_begin(struct report *r, const struct sockaddr_storage *peer, bool raw,
			const char *method);

/*
 * Adds a client, whose socket is still open, to the JSON object, or only counts it if not
 * `listed`.
 */
void report_stream(struct report *r, int sock, const struct sockaddr_storage *peer,
		   const struct figures *f, int number, bool listed);

/*
 * Prints the sums of a group and ends its JSON object.  `summary`: one of its clients has a
 * summary; `overlapped`: two were there at a time; `interrupted`: a signal ended it.
 */
void report_group(struct report *r, const struct figures *f, bool summary, bool overlapped,
		  bool interrupted);

/* Requests that were not answered, by the reason. */
struct reply_failures {
	_Atomic uint64_t refused, silent, too_large, broken;
};

/* Prints replies (f->calls): of an interval, or with `total` of the whole run. */
void report_replies(struct report *r, const struct figures *f, const struct reply_failures *total);

/* For die_init_with(): ends the JSON report with `why` as its error, and keeps the lock. */
void report_fail(void *report, const char *why);
