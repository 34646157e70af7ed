/*
 * series.h: intervals as text: a heading, a row for each, and at the end the least, the mean and the greatest
 * throughput.
 *
 *	struct series s = {.period = 1, .tcp = true};
 *	series_row(&s, &f, start, true, "");
 *	...
 *	series_end(&s);
 *
 * They print by printf(3): the caller flushes stdout, and learns whether that failed.
 */
#pragma once

#include "lib/report/units.h"

struct series {
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
void series_row(struct series *s, const struct figures *f, double start, bool measured,
		const char *note);

/* Prints a part of an interval, such as one stream; `name` stands in place of the time. */
void series_part(const struct series *s, const struct figures *f, const char *name);

/* Ends the series, with a line if it had two intervals or more; the next one has a heading of its own. */
void series_end(struct series *s);
