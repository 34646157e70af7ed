#include "lib/load/statistics.h"

#include "tests/unit/unit.h"

static bool close_to(double got, double want)
{
	return fabs(got / want - 1) < 0.0015;
}

/* The quantiles are those of any table of Student's t distribution. */
static void test_student(void)
{
	static const struct {
		double freedom, t;
	} cases[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},   {5, 2.571},  {6, 2.447},
		     {10, 2.228}, {20, 2.086}, {30, 2.042}, {120, 1.980}, {1e6, 1.960}};
	double before = INFINITY;
	size_t i;
	int k;

	for (i = 0; i < LENGTH(cases); i++)
		ok(close_to(student_t(cases[i].freedom), cases[i].t),
		   "%g degrees of freedom: t is %.3f", cases[i].freedom, cases[i].t);
	for (k = 4; k < 160 && student_t(k / 4.0) < before; k++)
		before = student_t(k / 4.0);
	ok(k == 160, "t falls with each part of a degree of freedom");
	/* scipy.stats.t.ppf(0.975, 2.5) is 3.558. */
	ok(student_t(2.5) > 3.558 && student_t(2.5) < 3.7,
	   "in between, t is not below the true value, and not far above it");
}

static void test_mean(void)
{
	const double x[] = {1, 2, 3, 4};
	struct estimate e = statistics_mean(x, 4);

	/* The standard deviation is 1.290994, that of the mean half of it. */
	ok(e.value == 2.5 && close_to(e.high - e.value, 3.1824 * 0.645497) &&
		   near(e.high - e.value, e.value - e.low),
	   "the mean of 1 to 4 is 2.5 +-2.05");
	ok(near(statistics_half(&e), e.high - e.value), "half of an interval's width");
	e = statistics_mean(x, 1);
	ok(e.value == 1 && isnan(e.low) && isnan(e.high), "one value has no interval");
	e = statistics_mean(x, 0);
	ok(isnan(e.value), "no value has no mean");
}

static void test_ratio(void)
{
	const double a[] = {2, 4, 16}, b[] = {1, 2, 8}, c[] = {1, 1, 1}, zero[] = {1, 0, 1};
	struct estimate e = statistics_ratio(a, b, 3);

	ok(near(e.value, 2) && near(e.low, 2) && near(e.high, 2),
	   "pairs of one ratio: it is exact, however their values vary");
	e = statistics_ratio(a, c, 3);
	/* The logarithms of 2 have the exponents 1, 2 and 4: mean 7/3, deviation 1.527525. */
	ok(near(e.value, pow(2, 7.0 / 3)) &&
		   close_to(log2(e.high / e.value), 4.3027 * 1.527525 / sqrt(3)) &&
		   near(e.high / e.value, e.value / e.low),
	   "a ratio's interval is as many times above it as below");
	e = statistics_ratio(a, zero, 3);
	ok(isnan(e.value), "a ratio to 0 is not known");
}

static void test_unpaired(void)
{
	const double a[] = {1, 2, 4, 8}, b[] = {1, 2, 4, 8}, one[] = {4};
	struct estimate e = statistics_ratio_unpaired(a, 4, b, 4);
	/* Both have as many values of the same variance: 6 degrees of freedom. */
	const double error = log(2) * 1.290994 / 2 * M_SQRT2;

	ok(near(e.value, 1) && close_to(log(e.high), student_t(6) * error),
	   "equal samples: a ratio of 1, with all their degrees of freedom");
	e = statistics_ratio_unpaired(a, 4, one, 1);
	ok(near(e.value, M_SQRT2 / 2) &&
		   close_to(log(e.high / e.value), student_t(3) * log(2) * 1.290994 * sqrt(1.25)),
	   "one value varies like those of the other side");
	e = statistics_ratio_unpaired(one, 1, one, 1);
	ok(e.value == 1 && isnan(e.low), "one value on either side leaves no interval");
	e = statistics_ratio_unpaired(one, 1, b, 0);
	ok(isnan(e.value), "no value leaves no ratio");
	e = statistics_ratio_unpaired((double[]){3, 3}, 2, (double[]){1, 1}, 2);
	ok(near(e.value, 3) && near(e.low, 3) && near(e.high, 3),
	   "values that do not vary have an interval of no width");
}

static void test_unknown(void)
{
	const double a[] = {NAN, 2, 4}, b[] = {1, 1, NAN};
	struct estimate e = statistics_mean(a, 3);

	ok(near(e.value, 3) && near(e.high - 3, student_t(1)),
	   "a mean is that of the values that are known");
	e = statistics_ratio(a, b, 3);
	ok(near(e.value, 2) && isnan(e.low), "a ratio is that of the rounds known on both sides");
	e = statistics_ratio_unpaired(a, 3, b, 3);
	ok(near(e.value, sqrt(8)), "an unpaired ratio is that of the values that are known");
	e = statistics_mean(a, 1);
	ok(isnan(e.value), "no known value has no mean");
	ok(student_t(0) == student_t(1), "no degree of freedom counts as one");
}

static void test_widen(void)
{
	struct estimate e = statistics_widen((struct estimate){10, 7, 14}, 3);

	ok(e.value == 10 && near(e.low, 10 - sqrt(18)) && near(e.high, 15),
	   "an error widens an interval to either side");
}

static void test_mean_of(void)
{
	static const double v[] = {1, 2, 3, 6};
	double mean, sd;

	mean_of(v, 4, &mean, &sd);
	ok(near(mean, 3) && near(sd, sqrt(14.0 / 3)),
	   "the mean of four values, and their deviation");
	mean_of(v, 2, &mean, &sd);
	ok(near(mean, 1.5) && near(sd, sqrt(0.5)), "the mean of two values, and their deviation");
}

/* The deviation is that of the median by the factor of a normal distribution. */
static void test_middle(void)
{
	double even[] = {4, 100, 2, 1, 3, 5, 6, 7}, odd[] = {5, 1, 2, 4, 3}, one[] = {7};
	double four[] = {10, 10, 10, 90}, mean, sd;

	mean_of_middle(even, 8, &mean, &sd);
	/* 3, 4, 5 and 6 are the middle; the deviations are 0.5 0.5 1.5 1.5 2.5 2.5 3.5 95.5. */
	ok(near(mean, 4.5) && near(sd, hypot(1.4826 * 2, 16 - 4.5)),
	   "a burst in one of eight windows is no part of the mean, and one of the deviation");
	mean_of_middle(odd, 5, &mean, &sd);
	ok(near(mean, 3) && near(sd, 1.4826), "the middle of five values is three");
	mean_of_middle(four, 4, &mean, &sd);
	ok(near(mean, 10) && near(sd, 20),
	   "values that are the same but for a burst deviate by what it moves the mean of all");
	mean_of_middle(one, 1, &mean, &sd);
	ok(mean == 7 && sd == 0, "one value is its own middle");
}

/* Adds n periods whose loads alternate between two values. */
static void add(struct history *h, int n, double a, double b)
{
	int i;

	for (i = 0; i < n; i++)
		history_add(h, i % 2 == 0 ? a : b, 0, 0);
}

static void test_history(void)
{
	struct history h = {.n = 0};

	ok(isnan(history_mean(&h)), "no period has no mean");
	history_add(&h, 0.5, 0.03, 1);
	ok(h.n == 1 && h.min == 0.5 && h.max == 0.5 && history_mean(&h) == 0.5 &&
		   near(history_uncertainty(&h), 0.03),
	   "one period is its own mean, with its own uncertainty");
	history_add(&h, -0.1, 0.01, 2);
	ok(h.min == -0.1 && h.max == 0.5 && near(history_mean(&h), 0.2) && h.uncertainty == 0.03 &&
		   h.unsafe == 3,
	   "two periods: least, greatest, mean, the larger uncertainty and both reasons");
	/* Student's t of 1 degree of freedom, times the standard error of -0.1 and 0.5. */
	ok(near(history_uncertainty(&h), hypot(0.03, 12.7062 * 0.3)),
	   "the variation of two periods adds to the uncertainty");
	history_add(&h, NAN, 0, 4);
	ok(h.n == 2 && h.periods == 3 && h.unsafe == 7,
	   "a period without a load only counts, with its reasons");
}

static void test_steady(void)
{
	struct history h = {.n = 0};

	add(&h, 1000, 0.1, 0.1);
	ok(near(history_mean(&h), 0.1) && history_uncertainty(&h) < 1e-6,
	   "periods of the same load have no variation, and none below 0 by rounding");
}

int main(void)
{
	test_student();
	test_mean();
	test_ratio();
	test_unpaired();
	test_unknown();
	test_widen();
	test_mean_of();
	test_middle();
	test_history();
	test_steady();
	return done();
}
