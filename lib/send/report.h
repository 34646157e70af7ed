/*
 * report.h: what a transfer measured, and what zcc prints of it: text, of which groups of rows have a column for
 * each end, or JSON; intervals, progress.
 *
 *	why = result_check(&result, streams, buf);
 *	report = (struct send_report){.opt = opt};
 *	report_start(&report, &target, &result);
 *	report_interval(&report, streams, &sum, start, true);
 *	report_end(&report, &result, NULL);
 */
#pragma once

#include "lib/report/environment.h"
#include "lib/report/json.h"
#include "lib/report/stalls.h"
#include "lib/report/units.h"
#include "lib/send/fileset.h"
#include "lib/send/run.h"

struct stream_result {
	struct sockaddr_storage local;           /* this end of the connection; all 0: not known */
	struct figures sent, received, interval; /* the last interval */
	bool has_receipt;                        /* without one nothing is known of `received` */
};

/* The load and the cost of one CPU. */
struct cpu_result {
	int id;
	struct figures figures;
	const char *role; /* "sender", "receiver", "both" or "" */
};

struct send_result {
	struct target target;
	const struct fileset *set;
	char congestion[16];
	size_t chunk;            /* the most bytes asked of one call */
	bool mptcp;              /* the first connection is of Multipath TCP */
	bool has_subflows;       /* a connection has several, which may have other interfaces */
	int mss, sndbuf, rcvbuf; /* of the first connection, bytes */
	uint64_t loops;          /* complete, of all streams */
	struct stream_result *stream;
	struct figures sent, received; /* of all streams */
	int receipts;
	struct stalls stalls; /* of all streams */
	struct pauses pauses; /* of the main thread */
	bool local;           /* both ends are on this host, so that its load is that of both */
	struct cpu_result *cpu;
	int n_cpus; /* 0: the streams were not bound, or the load was not measured */
};

/*
 * Compares each stream with its receipt.  Returns NULL if they agree, or none has one, as with a server
 * of 2001; else what is wrong, which is stored in `why`.
 */
const char *result_check(const struct send_result *res, int streams, char why[DIE_MAX]);

/*
 * The figures that have the load of this host.  Where both ends are on it, either may have measured the load
 * of both, or know why there is none.
 */
const struct figures *result_host(const struct send_result *res);

struct send_report {
	const struct send_options *opt;
	struct json json;
	bool has_progress; /* a line of progress is where the next line is to be printed */
	bool has_warned;   /* a line said that a transfer was short */
	_Atomic bool has_warned_of_tcp; /* a line said that the server has no Multipath TCP */
	struct environment environment; /* of a report in JSON, or with -d */
	bool fails;   /* the run that is reported failed: no row of a comparison has its figures */
	bool repeats; /* the run that was reported last is made again, as its load is unsafe */
	struct intervals intervals; /* their table, as text */
	bool is_begun;              /* where to, and what, is printed */
	int run, runs; /* of a comparison: the run under way, from 1, and all of them at most */
};

/* Ends the report of a run without figures, which failed.  Another one may follow. */
void report_end_error(struct send_report *r, const char *why);

/* Begins a report in JSON with an object whose members all reports have: this host, its interface, the server. */
void report_json_open(struct json *j, const char *object, const struct send_report *r,
		      const struct link *link);

/*
 * Begins the report of a transfer, whose streams are connected, or of requests, if `res` is NULL.  As text it
 * prints the title of requests, and with -d lines on stderr.
 */
void report_start(struct send_report *r, const struct target *target,
		  const struct send_result *res);

/*
 * Reports an interval that began `start` seconds after the transfer: of each stream, and of all.
 * Not `measured`: it is of the warm-up.
 */
void report_interval(struct send_report *r, const struct stream_result *stream,
		     const struct figures *sum, double start, bool measured);

/*
 * Reports what a transfer measured; `res` is NULL for requests, which were reported one size after the other.
 * In JSON it adds the error, unless that is NULL.
 */
void report_end(struct send_report *r, const struct send_result *res, const char *error);

/*
 * Warns, once, that a transfer was short; or in the first run, of a congestion control that was not asked for and
 * paces what goes over loopback.
 */
void report_warn(struct send_report *r, const struct send_result *res);

/* Warns, once, that a connection to `peer` with --mptcp is of TCP alone.  Any thread may call it. */
void report_tcp_alone(struct send_report *r, const char *peer);

/* Whether to print progress now: stderr is a terminal, of which this is the foreground, and has nothing else on it. */
bool progress_wanted(const struct send_options *opt);

/* Prints the line of progress: `bytes` of `all` were sent. */
void report_progress(struct send_report *r, double seconds, uint64_t bytes, uint64_t all,
		     const char *phase);

/* Removes the line of progress, if there is one. */
void report_clear_progress(struct send_report *r);
