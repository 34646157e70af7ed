/*
 * stalls.h: times in which something was to be moved and nothing was, as looks at a count find them: the
 * end of each is as late as the next look; and what reports have of them.
 *
 *	stalls_look(&w, now_ns(), bytes_acknowledged, bytes_unacknowledged > 0);	(often)
 *	stalls_end(&w, now_ns());
 *	stalls_add(&sum, &w.stalls);
 *	stalls_list_text(&sum, 3);
 */
#pragma once

#include "lib/report/json.h"

#define STALL_LEAST_NS 200000000u /* what lasts longer is a stall */
#define STALLS_FIRST   10         /* whose times are kept */

/* Between two looks at n streams: 20 ms, and of many up to 0.1 s. */
uint64_t stalls_period(int n);

struct stall {
	uint64_t at_ns, ns; /* when it began, of now_ns(), and how long it was */
};

struct stalls {
	uint64_t start_ns;   /* since when they are looked for: reports count from there */
	uint64_t n;          /* of STALL_LEAST_NS or more */
	uint64_t longest_ns; /* of all waits, be they shorter */
	struct stall first[STALLS_FIRST];
};

/* What is looked at. */
struct stall_watch {
	uint64_t since_ns, count; /* since when the count is what it is, or need not change */
	bool waits;               /* it was to change at the last look */
	bool still;               /* it has not changed since the look before */
	bool ended;               /* no look counts any more */
	struct stalls stalls;
};

/* How often zcc came late to a look, as it was stopped or waited for a CPU; and the latest. */
struct pauses {
	uint64_t n, longest_ns;
};

/* Counts a look that was due at `due` if it is late by `least_ns` or more. */
void pauses_look(struct pauses *p, uint64_t due, uint64_t now, uint64_t least_ns);

/* A line of a report, if there were any; and an object `pauses`. */
void pauses_text(const struct pauses *p);
void pauses_json(struct json *j, const struct pauses *p);

/* Looks at a count; `waits`: it is to change. */
void stalls_look(struct stall_watch *w, uint64_t now, uint64_t count, bool waits);

/* The last look. */
void stalls_end(struct stall_watch *w, uint64_t now);

/* Counts a wait. */
void stalls_count(struct stalls *s, uint64_t at_ns, uint64_t ns);

/* Adds what another has, in the order of time. */
void stalls_add(struct stalls *sum, const struct stalls *s);

/* Prints when the first stalls were, `most` at most, in lines of a report; nothing if there were none. */
void stalls_list_text(const struct stalls *s, int most);

/* Prints them as the array `first_stalls`: seconds since the start, their length, and the time of day. */
void stalls_list_json(struct json *j, const struct stalls *s);
