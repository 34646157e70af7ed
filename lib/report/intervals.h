/*
 * intervals.h: intervals as text: a heading, a row for each, and at the end the least, the mean and the greatest
 * throughput.
 *
 *	struct intervals s = {.period = 1, .tcp = true};
 *	intervals_row(&s, &f, start, true, "");
 *	...
 *	intervals_end(&s);
 *
 * They print by printf(3): the caller flushes stdout, and learns whether that failed.
 */
#pragma once

#include "lib/report/units.h"

struct intervals {
	double period;            /* seconds of an interval */
	bool timestamps;          /* each row begins with the time of day */
	bool tcp, load, requests; /* the columns that there are */
	bool begun;               /* it has a heading */
	/* Of the rows that were measured. */
	uint64_t n, bytes;
	double seconds, least, most; /* KiB/s */
};

/*
 * Prints an interval that began after `start` seconds; `note` follows its figures.  Not `measured`: it is of a
 * warm-up, which is marked, and not in the last line.
 */
void intervals_row(struct intervals *s, const struct figures *f, double start, bool measured,
		   const char *note);

/* Prints a part of an interval, such as one stream; `name` stands in place of the time. */
void intervals_part(const struct intervals *s, const struct figures *f, const char *name);

/* Ends the table, with a line if it had two intervals or more; the next one has a heading of its own. */
void intervals_end(struct intervals *s);
