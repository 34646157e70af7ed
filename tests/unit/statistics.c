#include "lib/load/statistics.h"

#include "tests/unit/unit.h"

/* Whether an estimate has that value, and is `error` less and more, but for how t was rounded. */
static bool is_mean(struct estimate e, double value, double error)
{
	return near(e.value, value) && fabs(e.high - value - error) <= 0.0015 * error + 1e-9 &&
	       near(e.high - e.value, e.value - e.low) &&
	       near(statistics_half(&e), e.high - e.value);
}

/* The same of the logarithm. */
static bool is_ratio(struct estimate e, double value, double error)
{
	return is_mean((struct estimate){log(e.value), log(e.low), log(e.high)}, log(value), error);
}

/* The quantiles are those of any table of Student's t distribution. */
static void test_student(void)
{
	static const double t[][2] = {{1, 12.706},  {3, 3.182}, {4, 2.776},  {5, 2.571},
				      {5.9, 2.457}, {6, 2.447}, {30, 2.042}, {1e6, 1.960}};
	size_t i;

	for (i = 0; i < LENGTH(t); i++)
		ok(fabs(student_t(t[i][0]) / t[i][1] - 1) < 0.0015,
		   "%g degrees of freedom: t is %.3f", t[i][0], t[i][1]);
	/* scipy.stats.t.ppf(0.975, 2.5) is 3.558. */
	ok(student_t(2.5) > 3.558 && student_t(2.5) < 3.7 && student_t(0) == student_t(1),
	   "in between, t is not below the true value, and no degree of freedom counts as one");
}

static void test_means(void)
{
	const double x[] = {1, 2, 3, 4}, unknown[] = {NAN, 2, 4};
	struct estimate e = statistics_widen((struct estimate){10, 7, 14}, 3), e1;

	/* The standard deviation is 1.290994, that of the mean half of it. */
	ok(is_mean(statistics_mean(x, 4), 2.5, 3.1824 * 0.645497),
	   "the mean of 1 to 4 is 2.5 +-2.05");
	ok(is_mean(statistics_mean(unknown, 3), 3, 12.706),
	   "a mean is that of values that are known");
	e1 = statistics_mean(x, 1);
	ok(isnan(e1.low) && isnan(e1.high) && e1.value == 1, "one value has no interval");
	ok(e.value == 10 && near(e.low, 10 - sqrt(18)) && near(e.high, 15),
	   "an error widens an interval to either side");
}

static void test_ratios(void)
{
	const double a[] = {2, 4, 16}, half[] = {1, 2, 8}, ones[] = {1, 1, 1}, zero[] = {1, 0, 1},
		     unknown[] = {NAN, 2, 4}, later[] = {1, 1, NAN}, four[] = {1, 2, 4, 8};
	struct estimate e;

	ok(is_ratio(statistics_ratio(a, half, 3), 2, 0),
	   "pairs of one ratio: it is exact, however their values vary");
	/* The logarithms of 2 have the exponents 1, 2 and 4: mean 7/3, deviation 1.527525. */
	ok(is_ratio(statistics_ratio(a, ones, 3), pow(2, 7.0 / 3),
		    log(2) * 4.3027 * 1.527525 / sqrt(3)),
	   "a ratio's interval is as many times above it as below");
	ok(isnan(statistics_ratio(a, zero, 3).value), "a ratio to 0 is not known");
	e = statistics_ratio(unknown, later, 3);
	ok(near(e.value, 2) && isnan(e.low), "a ratio is that of the rounds known on both sides");
	ok(near(median_of((double[]){3}, 1), 3) && near(median_of((double[]){5, 1, 4, 2}, 4), 3) &&
		   near(median_of((double[]){7, 1, 4}, 3), 4) && isnan(median_of((double[]){9}, 0)),
	   "a median is the middle of any number of values, or of two in the middle; that of none is not known");
	/* Both have as many values of the same variance: 6 degrees of freedom. */
	ok(is_ratio(statistics_ratio_unpaired(four, 4, four, 4), 1,
		    student_t(6) * log(2) * 1.290994 * M_SQRT1_2),
	   "equal samples: a ratio of 1, with all their degrees of freedom");
	ok(is_ratio(statistics_ratio_unpaired(four, 4, four + 2, 1), M_SQRT1_2,
		    student_t(3) * log(2) * 1.290994 * sqrt(1.25)),
	   "one value varies like those of the other side");
	ok(is_ratio(statistics_ratio_unpaired(four + 2, 1, four, 4), M_SQRT2,
		    student_t(3) * log(2) * 1.290994 * sqrt(1.25)),
	   "whichever side that is");
	/* Variances 5/3 / 4 and 1 / 3 of the exponents: 4.78 degrees of freedom. */
	ok(is_ratio(statistics_ratio_unpaired(four, 4, four, 3), M_SQRT2,
		    student_t(9. / 16 / (25. / 144 / 3 + 1. / 9 / 2)) * log(2) * sqrt(0.75)),
	   "samples of other sizes have Welch's degrees of freedom");
}

/* The deviation is that of the median by the factor of a normal distribution. */
static void test_deviations(void)
{
	double v[] = {1, 2, 3, 6}, burst[] = {4, 100, 2, 1, 3, 5, 6, 7}, mean, sd;

	mean_of(v, 4, &mean, &sd);
	ok(near(mean, 3) && near(sd, sqrt(14.0 / 3)), "the mean of four values, and the deviation");
	/* 3, 4, 5 and 6 are the middle; the deviations are 0.5 0.5 1.5 1.5 2.5 2.5 3.5 95.5. */
	mean_of_middle(burst, 8, &mean, &sd);
	ok(near(mean, 4.5) && near(sd, hypot(1.4826 * 2, 16 - 4.5)),
	   "a burst in one of eight windows is no part of the mean, and one of the deviation");
}

static void test_history(void)
{
	struct history h = {.n = 0};
	double half;

	ok(isnan(history_mean(&h, &half)), "no period has no mean");
	history_add(&h, 0.5, 0.03, 1);
	ok(h.n == 1 && h.min == 0.5 && h.max == 0.5 && history_mean(&h, &half) == 0.5 &&
		   near(half, 0.03),
	   "one period is its own mean, with its own uncertainty");
	history_add(&h, -0.1, 0.01, 2);
	history_add(&h, NAN, 0, 4);
	ok(h.min == -0.1 && h.max == 0.5 && near(history_mean(&h, &half), 0.2) &&
		   h.uncertainty == 0.03 && h.n == 2 && h.periods == 3 && h.unsafe == 3,
	   "periods: least, greatest, mean, the larger uncertainty, reasons; one lacks a load");
	/* Student's t of 1 degree of freedom, times the standard error of -0.1 and 0.5. */
	ok(near(half, hypot(0.03, 12.7062 * 0.3)),
	   "the variation of two periods adds to the uncertainty");
}

TESTS(test_student, test_means, test_ratios, test_deviations, test_history)
