/*
 * stalls.h: stalls, times in which data should have moved and none did, and how reports print them.  They are
 * found by looking at a count of bytes again and again: a stall ends at the first look that finds a new count.
 *
 *	stalls_look(&w, now_ns(), bytes_acknowledged, bytes_unacknowledged > 0);	(often)
 *	stalls_end(&w, now_ns());
 *	stalls_add(&sum, &w.stalls);
 *	stalls_list_text(&sum, 3);
 */
#pragma once

#include "lib/report/json.h"

#define STALL_LEAST_NS 200000000u /* a shorter wait is no stall */
#define STALLS_FIRST   10         /* stalls whose times JSON has */
#define STALLS_KEPT    64         /* waits whose times are kept */

/* The time between two looks at n streams, in ns: 20 ms for 16 streams or fewer, up to 0.1 s for more. */
uint64_t stalls_period(int n);

struct stall {
	uint64_t at_ns, ns; /* when it began (now_ns()), and its length */
	int place;          /* where a request waited */
};

struct stalls {
	uint64_t start_ns;   /* the begin of the search, from which reports count */
	uint64_t n;          /* waits of STALL_LEAST_NS or more */
	uint64_t longest_ns; /* the longest wait, even if it is no stall */
	int kept;
	struct stall first[STALLS_KEPT + 1]; /* by time, and room for one more */
};

/* A count that is watched. */
struct stall_watch {
	uint64_t count;    /* at the last look */
	uint64_t since_ns; /* when the count last changed, or was last not expected to */
	bool waits;        /* at the last look, the count was expected to change */
	bool still;        /* at the last look, the count was that of the look before */
	bool ended;        /* later looks are ignored */
	struct stalls stalls;
};

/* How often zcc was late for a look, because it was stopped or waited for a CPU; and the longest delay. */
struct pauses {
	uint64_t n, longest_ns;
};

/* Counts a look that was due at `due`, if it is late by `least_ns` or more. */
void pauses_look(struct pauses *p, uint64_t due, uint64_t now, uint64_t least_ns);

/* Prints the pauses as a line, if there were any; and as the object `pauses`. */
void pauses_text(const struct pauses *p);
void pauses_json(struct json *j, const struct pauses *p);

/* Looks at a count; `waits`: it is expected to change from now on. */
void stalls_look(struct stall_watch *w, uint64_t now, uint64_t count, bool waits);

/* The last look. */
void stalls_end(struct stall_watch *w, uint64_t now);

/* Keeps a stall, by time.  If STALLS_KEPT are kept already, the latest is dropped. */
void stalls_keep(struct stalls *s, struct stall stall);

/* Adds the stalls of another stream, in the order of time. */
void stalls_add(struct stalls *sum, const struct stalls *s);

/* Prints the times of the first stalls, `most` at most, as text; nothing if there were none. */
void stalls_list_text(const struct stalls *s, int most);

/*
 * Prints the first stalls as an array: seconds since the start, length, time of day, and unless `places` is NULL
 * the name there of the place of each.
 */
void stalls_list_json(struct json *j, const char *key, const struct stalls *s,
		      const char *const *places);
