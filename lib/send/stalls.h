/*
 * stalls.h: connections that waited longer than the network's delay explains.
 *
 *	stalls_add(&s, &wait);        of each connection that succeeded
 *	stalls_settle(&s, &connects); once, at the end
 *	stalls_text(&s, n, &found, false);
 */
#pragma once

#include "lib/load/counters.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"
#include "lib/send/latency.h"

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

/* Prints them, of n connections; only the first line if it is to be brief. */
void stalls_text(const struct stalls *s, uint64_t n, const struct stall_evidence *e, bool brief);

/* Prints p50, p90, p99, p999 and max in seconds, as an object. */
void latency_json(struct json *j, const char *key, const struct latency *h);

/* Prints them as the object `stalls`. */
void stalls_json(struct json *j, const struct stalls *s, const struct stall_evidence *e);
