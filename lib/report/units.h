/*
 * units.h: rates, costs and shares as reports print them.
 *
 *	report("%s\n", rate_text(&f, text));
 */
#pragma once

#include "lib/report/figures.h"

/* KiB per second, and Gbit (10^9) per second; 0 when no time passed. */
double kbytes_per_sec(uint64_t bytes, double seconds);
double gbits_per_sec(uint64_t bytes, double seconds);

/* With how many decimals a duration in seconds is printed: short ones need more. */
int decimals(double seconds);

/* A share (0 to 1) in percent, as it is printed: never "-0.0". */
double percent(double share);

/*
 * Microseconds of CPU for each KiB moved: load x CPUs / throughput, netperf's service demand.  NAN
 * if no byte was moved.
 */
double cost_us_per_kib(double load, double n_cpus, uint64_t bytes, double seconds);

/* The same of what one end measured, over the seconds that its load is of. */
double figures_cost(const struct figures *f);

/* Microseconds of CPU for each of n things that were done in those seconds; NAN if n is 0. */
double figures_cost_each(const struct figures *f, uint64_t n);

/* Half of the 95 % interval of that cost, which is that of its load. */
double figures_cost_uncertainty(const struct figures *f);

/* The mark printed after a load: `?` if there are reasons that make it unsafe, else "". */
const char *unsafe_mark(unsigned unsafe);

#define FIGURE_STRLEN 40 /* enough for grouped() */

/* A whole number with commas between its thousands: `5,071,589`; `-` where it is not known. */
const char *grouped(double value, char buf[FIGURE_STRLEN]);

#define LOAD_STRLEN 128 /* enough for load_format() */
#define RATE_STRLEN 192 /* enough for rate_text() and interval_text() */

/*
 * `load 61.2% +-0.4% of 2 CPUs, cost 0.560 us/KiB`, or an empty string when load is NAN; without the
 * uncertainty if that is NAN, and without the cost if no byte was moved.  Load and cost that are
 * unsafe have their mark.
 */
const char *load_format(const struct figures *f, char buf[LOAD_STRLEN]);

/* The same without the number of CPUs. */
const char *load_format_brief(const struct figures *f, char buf[LOAD_STRLEN]);

/* `1234 kbytes/sec (0.010 Gbit/s)`; of KiB, as the 2001 tools called it. */
const char *throughput_text(const struct figures *f, char buf[RATE_STRLEN]);

/* The throughput, and behind it what load_format() has. */
const char *rate_text(const struct figures *f, char buf[RATE_STRLEN]);

/*
 * The throughput of an interval that began after `start` seconds, its time, `4.0-5.0 s`, and what
 * load_format() has, without the number of CPUs, which is that of the report.
 */
const char *interval_text(const struct figures *f, double start, char buf[RATE_STRLEN]);

#define BASELINES_STRLEN 48 /* enough for baselines_format() */

/* `own baselines, drift 0.3 points of load`, of the idle machine before and after; NAN: before alone. */
const char *baselines_format(double drift, char buf[BASELINES_STRLEN]);

/* How many of something per second; 0 when no time passed. */
double per_second(uint64_t n, double seconds);
