/*
 * units.h: figures as text has them.
 *
 *	report("%s\n", throughput_text(&f, text));
 *	rows_print("transfer", GROUP_TRANSFER, &sent, &received);
 */
#pragma once

#include "lib/report/figures.h"

/* With how many decimals a duration in seconds is printed: short ones need more. */
int decimals(double seconds);

/* A share (0 to 1) in percent, as it is printed: never "-0.0". */
double percent(double share);

#define FIGURE_STRLEN 40 /* enough for one figure */

/* A whole number with commas between its thousands: `5,071,589`; `-` where it is not known. */
const char *grouped(double value, char buf[FIGURE_STRLEN]);

/* A number with its decimals; `-` where it is not known. */
const char *decimal(double value, int places, char buf[FIGURE_STRLEN]);

/*
 * `61.2%? +-0.4%`: a load or another share with the mark of what is unsafe and half of its interval, and
 * `0.560? +-0.002`: a cost.  `-` where they are not known; without the half where that is NAN.
 */
const char *load_text(double share, double half, unsigned unsafe, char buf[FIGURE_STRLEN]);
const char *cost_text(double us, double half, unsigned unsafe, char buf[FIGURE_STRLEN]);

/* `75.82 Mbit/s` or `21.18 Gbit/s`: bits per second. */
const char *bit_rate_text(double bits, char buf[FIGURE_STRLEN]);

#define LOAD_STRLEN       128 /* enough for load_format() */
#define THROUGHPUT_STRLEN 80  /* enough for throughput_text() */

/*
 * `load 61.2% +-0.4% of 2 CPUs, cost 0.560 us/KiB`, or an empty string when load is NAN; without the
 * cost if no byte was moved.
 */
const char *load_format(const struct figures *f, bool with_cpus, char buf[LOAD_STRLEN]);

/* `1234 kbytes/sec (0.010 Gbit/s)`; of KiB, as the 2001 tools called it. */
const char *throughput_text(const struct figures *f, char buf[THROUGHPUT_STRLEN]);

#define BASELINES_STRLEN 48 /* enough for baselines_format() */

/* `own baselines, drift 0.3 points of load`, of the idle machine before and after; NAN: before alone. */
const char *baselines_format(double drift, char buf[BASELINES_STRLEN]);

#define TIME_STRLEN 40

/* The time of day of a time of now_ns(): `15:04:05.123` here, or in UTC `2026-11-23T15:04:05.123Z`. */
const char *time_text(uint64_t ns, bool utc, char buf[TIME_STRLEN]);

/* A figure as its row has it, which may be in buf; NULL where it is not known. */
const char *figure_text(const struct figure *row, const struct figures *f, char buf[UNSAFE_STRLEN]);

/*
 * Prints the rows of a group below a heading, with a column for each end; where both are the same, one
 * without a name.  Omits columns and rows of which no figure is known, and the group if it has no other;
 * returns whether it was printed.
 */
bool rows_print(const char *heading, enum figure_group group, const struct figures *sender,
		const struct figures *receiver);

/*
 * Intervals: a heading, a row for each, and at the end the least, the mean and the greatest throughput.
 *
 *	struct intervals s = {.period = 1, .tcp = true};
 *	intervals_row(&s, &f, start, true, "");
 *	...
 *	intervals_end(&s);
 *
 * They print by printf(3): the caller flushes stdout, and learns whether that failed.
 */

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

/*
 * Lines of items that break between two items before they are too wide.
 *
 *	struct wrap w = {.width = WRAP_WIDTH, .indent = "  "};
 *
 *	wrap_add(&w, "", "System load: %.1f%%", load);
 *	wrap_add(&w, ", ", "slowed %.1f%%", slowed);
 *	report("\n");
 */

#define WRAP_WIDTH 80  /* columns of a report about one host */
#define WRAP_ITEM  256 /* bytes of an item, with its end; a longer one is cut */

struct wrap {
	int width;
	const char *indent; /* what each line but the first begins with */
	int column;
};

/*
 * Prints an item on stdout, after the separator, such as ", ".  Where the line breaks, the separator loses
 * its blank.
 */
void wrap_add(struct wrap *w, const char *separator, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
