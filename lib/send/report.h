/*
 * report.h: what zcc prints of a transfer: text or JSON; intervals, progress.
 *
 *	report = (struct send_report){.opt = opt, .lock = REPORT_LOCK};
 *	report_start(&report, &result);
 *	report_interval(&report, streams, &sum, start, true);
 *	report_end(&report, &result, NULL);
 */
#pragma once

#include "lib/report/environment.h"
#include "lib/report/json.h"
#include "lib/send/comparison.h"
#include "lib/send/result.h"

/* The initial value of a report's lock: the main thread may die while it writes an interval. */
#define REPORT_LOCK PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP

struct send_report {
	const struct send_options *opt;
	pthread_mutex_t lock; /* of the report, which a thread that dies ends, while streams send */
	struct json json;
	_Atomic bool has_progress; /* a line of progress is where the next line is to be printed */
	bool has_warned;           /* a line said that a transfer was short */
	bool has_warned_of_pacing; /* a line said that the congestion control paces */
	_Atomic bool has_warned_of_tcp; /* a line said that the server has no Multipath TCP */
	bool is_comparison;             /* runs are not reported as text one by one */
	/* What a text report has of a comparison if the program dies: its complete rounds; or NULL. */
	const struct comparison *comparison;
	bool has_what;                  /* what is sent where was printed */
	bool has_noted;                 /* the environment was printed on stderr */
	struct environment environment; /* of a report in JSON, or with -d */
	int run, runs;     /* of a comparison: the run under way, and all of them at most */
	uint64_t began_ns; /* when the first of them began */
};

/* Closes the report of a program that dies: a hook of die_init(). */
void report_die(void *report, const char *why);

/* Begins the report of a transfer, whose streams are connected.  Only JSON has a beginning. */
void report_start(struct send_report *r, const struct send_result *res);

/*
 * Reports an interval that began `start` seconds after the transfer: of each stream, and of all.
 * Not `measured`: it is of the warm-up.
 */
void report_interval(struct send_report *r, const struct figures *stream, const struct figures *sum,
		     double start, bool measured);

/* Reports what was measured, and in JSON the error, unless that is NULL. */
void report_end(struct send_report *r, const struct send_result *res, const char *error);

/* The same for requests to `target`, of which each size has been reported between. */
void report_start_requests(struct send_report *r, const struct target *target);
void report_end_requests(struct send_report *r, const char *error);

/* Warns, once, of a congestion control that was not asked for and paces what goes over loopback. */
void report_pacing(struct send_report *r, const struct send_result *res);

/* Warns, once, that a connection to `peer` with --mptcp is of TCP alone.  Any thread may call it. */
void report_tcp_alone(struct send_report *r, const char *peer);

/* Whether to print progress: stderr is a terminal that is ours, and has nothing else on it. */
bool progress_wanted(const struct send_options *opt);

/* Prints the line of progress: `bytes` of file sets of `set_bytes` were sent, lately at `rate`. */
void report_progress(struct send_report *r, double seconds, uint64_t bytes, uint64_t set_bytes,
		     double rate, const char *phase);

/* The run of a comparison that begins, from 1, of `runs` at most: for the line of progress. */
void report_run(struct send_report *r, int run, int runs);

/* Removes the line of progress, if there is one. */
void report_clear_progress(struct send_report *r);
