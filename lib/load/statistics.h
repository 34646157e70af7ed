/*
 * statistics.h: means and ratios of repeated measurements, with 95 % intervals.
 *
 *	mean = statistics_mean(cost, n);
 *	ratio = statistics_ratio(cost, cost_of_first, n);
 *	report("%.3f times (%.3f to %.3f)\n", ratio.value, ratio.low, ratio.high);
 */
#pragma once

#include "common.h"

/* A figure and the ends of its 95 % interval; all NAN where it is not known. */
struct estimate {
	double value, low, high; /* the ends are NAN for a single measurement */
};

/*
 * The 97.5 % quantile of Student's t distribution: that many standard errors to either side of the
 * mean are its 95 % interval.  The degrees of freedom need not be whole; there are at least 1.
 */
double student_t(double freedom);

/*
 * A value that is NAN is not known, and is omitted, as is the other of its pair.
 */

/* The arithmetic mean of n values, which vary from one to the next. */
struct estimate statistics_mean(const double *x, int n);

/*
 * The geometric mean of the n ratios a[i] / b[i] of measurements that belong together, with the
 * interval of the mean of their logarithms.  All known values must be above 0, else it is not
 * known.
 */
struct estimate statistics_ratio(const double *a, const double *b, int n);

/*
 * The ratio of the geometric means of a and b, which were measured independently: Welch's t test on
 * the logarithms, with the degrees of freedom of Welch and Satterthwaite (1947).  A single value is
 * taken to vary like those of the other side.
 */
struct estimate statistics_ratio_unpaired(const double *a, int n, const double *b, int m);

/* Widens an interval by an error `half`, independent of it, in the unit of the figure. */
struct estimate statistics_widen(struct estimate e, double half);

/* Half of the interval's width. */
double statistics_half(const struct estimate *e);
