/*
 * statistics.h: means and ratios of repeated measurements, with 95 % confidence intervals.
 *
 *	mean = statistics_mean(cost, n);
 *	ratio = statistics_ratio(cost, cost_of_first, n);
 *	report("%.3f times (%.3f to %.3f)\n", ratio.value, ratio.low, ratio.high);
 *
 *	struct history h = {.n = 0};
 *
 *	history_add(&h, l.load, l.uncertainty, l.unsafe);
 *	...
 *	mean = history_mean(&h, &half);
 *	report("%.1f%% +-%.1f%%\n", 100 * mean, 100 * half);
 */
#pragma once

#include "common.h"

/* A figure and the ends of its 95 % confidence interval; all NAN where it is not known. */
struct estimate {
	double value, low, high; /* the ends are NAN for a single measurement */
};

/*
 * The 97.5 % quantile of Student's t distribution: the 95 % confidence interval of a mean is this number of
 * standard errors to either side.  The degrees of freedom need not be whole; fewer than 1 count as 1.
 */
double student_t(double freedom);

/* The median of n values, which it sorts; NAN of none. */
double median_of(double *v, int n);

/*
 * Stores the mean and the standard deviation of those of n values that are not NAN, or NAN if there are none.
 * Returns how many values are known.
 */
int mean_of(const double *v, int n, double *mean, double *sd);

/*
 * Stores the mean of the middle half of n values, so that one burst does not become the baseline, and the
 * standard deviation of all, estimated from their median deviation (times 1.4826, which holds for a normal
 * distribution).  Bursts will come again in what is measured: the deviation includes by how much they move the
 * mean of all.  The values are overwritten.
 */
void mean_of_middle(double *v, int n, double *mean, double *sd);

/*
 * Values that are NAN are not known.  They are omitted, together with the other value of the pair.
 */

/* The arithmetic mean of n values, with the interval that follows from their scatter. */
struct estimate statistics_mean(const double *x, int n);

/*
 * The geometric mean of the ratios a[i] / b[i] of n pairs, with the interval of the mean of their logarithms.
 * It is not known unless all known values are above 0.
 */
struct estimate statistics_ratio(const double *a, const double *b, int n);

/*
 * The ratio of the geometric means of a and b, which were measured independently: Welch's t test on
 * the logarithms, with the degrees of freedom of Welch and Satterthwaite (1947).  A single value is
 * assumed to vary like the values of the other side.
 */
struct estimate statistics_ratio_unpaired(const double *a, int n, const double *b, int m);

/* Widens an interval by an error `half`, independent of it, in the unit of the figure. */
struct estimate statistics_widen(struct estimate e, double half);

/* The half width of the interval. */
double statistics_half(const struct estimate *e);

/* The loads of many periods of one measurement. */
struct history {
	long periods; /* all of them */
	long n;       /* those that have a load */
	double sum, squares, min, max;
	double uncertainty; /* the largest uncertainty of a period */
	unsigned unsafe;    /* the reasons of those that have a load */
};

/* Adds a period.  A period whose load is not measured (NAN) is only counted. */
void history_add(struct history *h, double load, double uncertainty, unsigned unsafe);

/*
 * The mean of the periods' loads; NAN if there are none.  Stores half of its confidence interval, from the baseline's
 * uncertainty, which all periods share, and from how the periods vary.
 */
double history_mean(const struct history *h, double *half);
