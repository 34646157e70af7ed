/*
 * request.h: requests: connections that each ask a zcs --reply for a number of bytes, as in 1999, or one that
 * asks it again and again; their latencies; stalls, which are waits much longer than most at the same place;
 * failures.  request.c makes them, request_report.c counts, judges and prints.
 *
 *	error = requests_run(&run, &report, &target, &server, &requests, why);
 *	requests_report(&report, &requests, true);
 *
 *	requests_count(&q, &wait, total_ns);
 *	...
 *	requests_add(&sum, &q);
 *	requests_settle(&sum);
 *	requests_text(&sum, true, opt->quiet);
 */
#pragma once

#include "lib/load/counters.h"
#include "lib/report/figures.h"
#include "lib/send/report.h"
#include "lib/send/run.h"

/*
 * Latencies, as a histogram.  Its classes are a 32nd of a power of two wide, so that a percentile is off by
 * 1.6 % at most, and it has the same size whatever it holds.
 */
#define LATENCY_SHIFT   5
#define LATENCY_SUB     (1 << LATENCY_SHIFT) /* classes of each power of two */
#define LATENCY_BITS    40                   /* a latency may have: up to 18 minutes */
#define LATENCY_CLASSES ((LATENCY_BITS - LATENCY_SHIFT + 1) * LATENCY_SUB)

struct latency {
	uint64_t n, max; /* how many, and the longest in ns */
	uint64_t class[LATENCY_CLASSES];
};

/* Adds a latency; one that is too long for the classes counts in the last of them. */
void latency_add(struct latency *h, uint64_t ns);

/* Adds the latencies of another histogram. */
void latency_merge(struct latency *sum, const struct latency *h);

/*
 * The latency in seconds that the share p of all was within: the middle of its class; or NAN.  That
 * of 0 is the shortest.
 */
double latency_percentile(const struct latency *h, double p);

/*
 * Requests.
 */

/* Where a request waits, and may stall: until it is connected, for the first byte, after it. */
enum stall_place { STALL_CONNECTING, STALL_FIRST_BYTE, STALL_DATA, STALL_PLACES };

/* A request's longest wait at each place, in ns, and when it began. */
struct wait {
	uint64_t ns[STALL_PLACES], at_ns[STALL_PLACES];
};

/* The kinds of failure; ENODATA stands for FAIL_CLOSED, EMSGSIZE for FAIL_LENGTH. */
enum {
	FAIL_REFUSED,
	FAIL_RESET,
	FAIL_PORTS,
	FAIL_TIMEOUT,
	FAIL_CLOSED,
	FAIL_LENGTH,
	FAIL_OTHER,
	FAILURES
};

/* The latencies of a request. */
enum { CONNECT, FIRST_BYTE, TOTAL, LATENCIES };

/* The requests of one size: those of one thread, or of all. */
struct requests {
	uint32_t size; /* bytes that each asked for */
	bool kept;     /* all of a thread are made over one connection */
	uint64_t failed[FAILURES];
	uint64_t failed_last;              /* in a row, up to the end; of all threads alone */
	int error[FAILURES];               /* the last of each kind */
	struct latency latency[LATENCIES]; /* of the requests that succeeded */
	struct latency wait[STALL_PLACES]; /* their longest waits at each place */
	/* The first waits that may be stalls.  requests_settle() leaves those that were. */
	struct stalls slow;

	/* Requests that were under way at the end, which are in no other figure. */
	uint64_t open, open_longest_ns; /* since the oldest of them began */
	struct wait open_wait;          /* of a thread, of which one is open at most */

	/* What requests_settle() finds: the waits that were stalls. */
	struct latency stalled[STALL_PLACES];
	uint64_t open_stalled;

	/* What else was noticed meanwhile, of all threads alone. */
	struct pauses pauses; /* of the main thread */
	struct netstat tcp;   /* of this network namespace */
	struct figures host;
	struct figures received; /* by the server, if it has sent a receipt */
	bool has_receipt;
};

/* What is known of the server, from all requests that were made of it. */
struct request_server {
	_Atomic bool succeeded;      /* a connection has, of whatever size */
	_Atomic bool keeps;          /* it keeps connections, so that their end never comes */
	bool closes;                 /* it closes them, though they were to be kept */
	_Atomic int failures, error; /* failures before any success, and the last of their errors */
};

/*
 * Makes the requests of run->opt, whose report has begun, and counts them.  Dies if it has no memory.  Returns NULL
 * or what is wrong with them as a whole, a text that may be in `why`.
 */
const char *requests_run(struct run *run, struct send_report *report, const struct target *target,
			 struct request_server *server, struct requests *all, char why[DIE_MAX]);

/* Whether further sizes may be answered, though these failed. */
bool requests_go_on(const struct request_server *server);

/* Begins the report of those of a size, which intervals may precede; and reports them, as text below headings. */
void requests_begin(struct send_report *r, uint32_t size);
void requests_report(struct send_report *r, const struct requests *q, bool headings);

/* Stores the requests, once they are settled, in q->host. */
void requests_figures(struct requests *q);

/* Counts a request that succeeded. */
void requests_count(struct requests *q, const struct wait *w, uint64_t total_ns);

/* Counts one that the end of the run aborted, `age_ns` after it began. */
void requests_count_open(struct requests *q, const struct wait *w, uint64_t age_ns);

/* Counts one that failed; returns the kind of failure. */
int requests_count_failure(struct requests *q, int error);

/* Adds what one thread counted to what another did, but for the open one. */
void requests_add(struct requests *sum, const struct requests *q);

/* Finds the stalls, once all are counted. */
void requests_settle(struct requests *sum);

/* Counts the open request of a thread as stalled, if it is, after that. */
void requests_settle_open(struct requests *sum, const struct requests *q);

/* How many stalled.  One that stalled at two places counts twice, but they are not more than all. */
uint64_t requests_stalled(const struct requests *q);

/* The name of a failure, with the error's text if it is of no other kind. */
const char *failure_text(int error);

/* Prints the requests of one size, below headings.  The figures of the first line are those of 1999. */
void requests_text(const struct requests *q, bool headings, bool quiet);

/* Reports an interval: a row, or an object.  Its f->calls requests took longest_ns at most. */
void requests_interval(struct send_report *r, const struct figures *f, double start,
		       uint64_t longest_ns);

/* Prints them as the members of an object that is open. */
void requests_json(struct json *j, const struct requests *q);
