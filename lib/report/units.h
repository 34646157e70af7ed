/*
 * units.h: figures as text: of each the text is valid as one of text_of().
 *
 *	report("%s\n", throughput_text(&f));
 *	rows_print("transfer", GROUP_TRANSFER, &sent, &received);
 */
#pragma once

#include "lib/report/figures.h"

/* The number of decimals of a printed duration in seconds: short ones need more. */
int decimals(double seconds);

/* A share (0 to 1) in percent, as it is printed: never "-0.0". */
double percent(double share);

/* A whole number with commas between its thousands: `5,071,589`; `-` if it is not known. */
const char *grouped(double value);

/* A number with its decimals; `-` if it is not known. */
const char *decimal(double value, int places);

/*
 * A load or another share, `61.2%? +-0.4%`, and a cost, `0.560? +-0.002`; `?` marks an unsafe one.  `half` is
 * half of the confidence interval; it is not printed if it is NAN.  `-` if the figure is not known.
 */
const char *load_text(double share, double half, unsigned unsafe);
const char *cost_text(double us, double half, unsigned unsafe);

/* The cost of each of n things, such as KiB. */
const char *cost_each_text(const struct figures *f, double n);

/*
 * `load 61.2% +-0.4% of 2 CPUs, cost 0.560 us/KiB`, without the cost if no byte was moved; `load not measured: REASON: WHAT TO DO
 * (try --wait-idle)` if the load is NAN and there are reasons, else an empty string.
 */
const char *load_format(const struct figures *f);

/* `1234 kbytes/sec (0.010 Gbit/s)`: "kbytes" are KiB, as in the 2001 tools. */
const char *throughput_text(const struct figures *f);

/*
 * Of a load of BASELINE_OWN: `idle machine before and after differs by 0.3 points`, or that the program has measured it
 * before only.
 */
const char *baselines_format(const struct load *l);

/*
 * The time of a time of now_ns(): local, `15:04:05.123`; with the zone `%z` the date, too, `2026-11-23T15:04:05.123+0100`;
 * with `Z` in UTC, `2026-11-23T14:04:05.123Z`.
 */
const char *time_text(uint64_t ns, const char *zone);

/* The text of a figure; NULL if the figure is not known. */
const char *figure_text(const struct figure *row, const struct figures *f);

/*
 * Prints the rows of a group below a heading, with a named column for each end; with one column without a name
 * if both ends are the same.  Omits rows and columns without a known figure, and a group without a row.
 * Returns whether it printed the group.
 */
bool rows_print(const char *heading, enum figure_group group, const struct figures *sender,
		const struct figures *receiver);

/*
 * A table of intervals: a heading, and a row for each interval.
 *
 *	struct intervals s = {.period = 1, .tcp = true};
 *	intervals_row(&s, &f, start, true, "");
 *
 * These functions print by printf(3): the caller flushes stdout, and learns whether that failed.
 */

struct intervals {
	double period;            /* seconds of an interval */
	bool timestamps;          /* each row begins with the time of day */
	bool tcp, load, requests; /* the table has these columns */
	bool begun;               /* the heading was printed */
};

/*
 * Prints an interval that began after `start` seconds; `note` follows its figures.  An interval of a warm-up
 * is not `measured`: it is marked.
 */
void intervals_row(struct intervals *s, const struct figures *f, double start, bool measured,
		   const char *note);

/* Prints a part of an interval, such as one stream; `name` stands in place of the time. */
void intervals_part(const struct intervals *s, const struct figures *f, const char *name);

/*
 * Lines of items that break between two items before they are too wide.
 *
 *	struct wrap w = {.width = WRAP_WIDTH, .indent = "  "};
 *
 *	wrap_add(&w, "", "System load: %.1f%%", load);
 *	wrap_add(&w, ", ", "slowed %.1f%%", slowed);
 *	report("\n");
 */

#define WRAP_WIDTH 80 /* columns of a report about one host */

/* How many characters a text has. */
int width_of(const char *utf8);

struct wrap {
	int width;
	const char *indent; /* the begin of each line but the first */
	int column;
};

/*
 * Prints an item on stdout, after the separator, such as ", ".  Where the line breaks, the separator loses
 * its blank.
 */
void wrap_add(struct wrap *w, const char *separator, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints a text as wrap_add() does, a word an item; the first item may begin with blanks. */
void wrap_text(struct wrap *w, const char *text);

/* Prints a line that is only words, printable, and that continues two columns further to the right than it begins. */
void wrap_line(int width, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds the groups of a profile, as shares of the CPUs, to a line; nothing if there is none. */
void groups_add(struct wrap *w, const struct figures *f);
