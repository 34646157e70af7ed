/*
 * request.h: requests: connections that each ask a zcs --reply for a number of bytes, as in 1999; their
 * latencies; connections that stalled, which is that they waited longer than the network's delay explains;
 * failures.  request.c makes the connections, request_report.c counts, judges and prints.
 *
 *	target_resolve(&target, opt);
 *	error = requests_run(&run, &report, &target, why);
 *
 *	latency_add(&q.latency[TOTAL], end_ns - begin_ns);
 *	stalls_add(&q.stalls, &wait);
 *	...
 *	requests_add(&sum, &q);
 *	stalls_settle(&sum.stalls, &sum.latency[CONNECT]);
 *	requests_text(size, &sum, &evidence, &host, opt->quiet);
 */
#pragma once

#include "lib/load/counters.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"
#include "lib/send/report.h"
#include "lib/send/run.h"

/*
 * Makes the connections of each size in run->opt->requests, and reports them.  Dies if it has no
 * memory.  Returns NULL or what is wrong with them as a whole, a text that may be in `why`.
 */
const char *requests_run(struct run *run, struct send_report *report, const struct target *target,
			 char why[DIE_MAX]);

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

/* The number of latencies from `from_ns` to less than `to_ns`, by the middles of their classes. */
uint64_t latency_count(const struct latency *h, double from_ns, double to_ns);

/* Removes the latencies that are shorter, by the same rule. */
void latency_drop_below(struct latency *h, double ns);

/*
 * Stalls.
 */

/* Where a connection stalls.  It stalls once, at its longest wait. */
enum stall_place { STALL_CONNECTING, STALL_FIRST_BYTE, STALL_DATA, STALL_PLACES };

/* What a connection waited for, in ns. */
struct wait {
	uint64_t connect_ns; /* until it was made */
	uint64_t longest_ns; /* the longest wait for data or for the close after that */
	bool before_first;   /* the longest wait was that for the first byte */
};

struct stalls {
	struct latency at[STALL_PLACES];
	/* Connections that were open at the end, which are in no other figure. */
	uint64_t open, open_stalled; /* all, and those that had stalled by then */
	uint64_t open_longest_ns;    /* since the oldest of them began */
};

/* How often a thread that wakes at fixed times came late, and the latest of all in ns. */
struct pauses {
	uint64_t n, longest_ns;
};

/* What else was noticed meanwhile, from which the reason of stalls may be seen. */
struct stall_evidence {
	struct pauses pauses; /* of this program */
	struct netstat tcp;   /* of this network namespace */
	double steal;         /* share of all CPU time that a virtual machine's host took, or NAN */
};

#define PAUSE_NS 20000000u /* a thread that is late by this or more has paused */

/* Whether a connection stalled: returns its place, or STALL_PLACES if it did not. */
enum stall_place stall_of(const struct wait *w);

/*
 * Counts a connection if it stalled.  Of the waits while connecting it counts those that may be
 * stalls, until stalls_settle() has decided.
 */
void stalls_add(struct stalls *s, const struct wait *w);

/* Counts a connection that was open at the end, `age_ns` after it began. */
void stalls_add_open(struct stalls *s, const struct wait *w, uint64_t age_ns);

void stalls_merge(struct stalls *sum, const struct stalls *s);

/* Drops waits while connecting that are no stalls, beside those of all connections. */
void stalls_settle(struct stalls *s, const struct latency *connects);

/* The connections that stalled. */
uint64_t stalls_count(const struct stalls *s);

/*
 * Requests.
 */

/* The kinds of failure; EMSGSIZE stands for FAIL_LENGTH. */
enum { FAIL_REFUSED, FAIL_RESET, FAIL_PORTS, FAIL_TIMEOUT, FAIL_LENGTH, FAIL_OTHER, FAILURES };

/* The latencies of a request. */
enum { CONNECT, FIRST_BYTE, TOTAL, LATENCIES };

/* The results of one thread, or of all, for one size. */
struct requests {
	uint64_t bytes, failed[FAILURES];
	int error[FAILURES]; /* the last of each kind */
	struct latency latency[LATENCIES];
	struct stalls stalls;
};

/* The kind of failure that an error number means. */
int failure_of(int e);

/* The name of a failure, with the error's text if it is of no other kind. */
const char *failure_text(int error, char buf[128]);

/* Adds what one thread saw to what another did. */
void requests_add(struct requests *sum, const struct requests *r);

/* Prints the headings of the first lines of requests_text(). */
void requests_headings(void);

/* Prints the requests of one size.  The figures of the first line are those of 1999. */
void requests_text(uint32_t size, const struct requests *q, const struct stall_evidence *e,
		   const struct figures *host, bool quiet);

/* Prints them as an object. */
void requests_json(struct json *j, uint32_t size, const struct requests *q,
		   const struct stall_evidence *e, const struct figures *host);
