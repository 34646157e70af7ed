#include "lib/load/statistics.h"

#include "tests/unit/script.h"

/* How far an estimate reaches to either side, in standard errors of that size; of a ratio its logarithm. */
static void put(const char *title, struct estimate e, double error)
{
	note("%s: %s -%.3f +%.3f\n", title, isnan(e.value) ? "?" : text_of("%.4f", e.value),
	     fabs(e.value - e.low) / error, fabs(e.high - e.value) / error);
}

static void put_ratio(const char *title, struct estimate e, double error)
{
	put(title, (struct estimate){log2(e.value), log2(e.low), log2(e.high)}, error);
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

/* Errors are 1 or more standard errors, times Student's t of the degrees of freedom. */
static void test_estimates(void)
{
	const double x[] = {1, 2, 3, 4}, unknown[] = {NAN, 2, 4}, later[] = {1, 1, NAN};
	const double a[] = {2, 4, 16}, half[] = {1, 2, 8}, ones[] = {1, 1, 1}, zero[] = {1, 0, 1};
	const double four[] = {1, 2, 4, 8}, sd = 1.290994; /* of 0, 1, 2 and 3 */

	script.calls[0] = '\0';
	put("the mean of 1 to 4", statistics_mean(x, 4), sd / 2);
	put("the mean of values that are known", statistics_mean(unknown, 3), 1);
	put("one value has no interval", statistics_mean(x, 1), 1);
	put("an error widens an interval", statistics_widen((struct estimate){10, 7, 14}, 3), 1);
	put_ratio("pairs of one ratio", statistics_ratio(a, half, 3), 1);
	put_ratio("2, 4 and 16 to 1", statistics_ratio(a, ones, 3), 1.527525 / sqrt(3));
	put_ratio("a ratio to 0", statistics_ratio(a, zero, 3), 1);
	put_ratio("one pair that is known", statistics_ratio(unknown, later, 3), 1);
	put_ratio("equal samples", statistics_ratio_unpaired(four, 4, four, 4), sd * M_SQRT1_2);
	put_ratio("four to one value", statistics_ratio_unpaired(four, 4, four + 2, 1),
		  sd * sqrt(1.25));
	put_ratio("one to four values", statistics_ratio_unpaired(four + 2, 1, four, 4),
		  sd * sqrt(1.25));
	/* The variances are 5/3 / 4 and 1 / 3: 4.78 degrees of freedom. */
	put_ratio("four to three values", statistics_ratio_unpaired(four, 4, four, 3), sqrt(0.75));
	note("t of 3, 6, 2, 1 and 4.78: %.3f %.3f %.3f %.3f %.3f", student_t(3), student_t(6),
	     student_t(2), student_t(1), student_t(9. / 16 / (25. / 144 / 3 + 1. / 9 / 2)));
	expect(script.calls, "means and ratios have their standard errors times Student's t");
	ok(near(median_of((double[]){3}, 1), 3) && near(median_of((double[]){5, 1, 4, 2}, 4), 3) &&
		   near(median_of((double[]){7, 1, 4}, 3), 4) && isnan(median_of((double[]){9}, 0)),
	   "a median is the middle of any number of values, or of two in the middle; that of none is not known");
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

TESTS(test_student, test_estimates, test_deviations, test_history)
