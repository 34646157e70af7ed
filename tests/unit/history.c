#include "lib/load/history.h"

#include "tests/unit/unit.h"

/* Adds n periods whose loads alternate between two values. */
static void add(struct history *h, int n, double a, double b)
{
	struct load l = {.uncertainty = 0};
	int i;

	for (i = 0; i < n; i++) {
		l.load = i % 2 == 0 ? a : b;
		history_add(h, &l);
	}
}

static void test_history(void)
{
	struct load l = {.load = 0.5, .uncertainty = 0.03, .unsafe = UNSAFE_STEAL};
	struct history h = {.n = 0};

	ok(isnan(history_mean(&h)), "no period has no mean");
	history_add(&h, &l);
	ok(h.n == 1 && h.min == 0.5 && h.max == 0.5 && history_mean(&h) == 0.5 &&
		   near(history_uncertainty(&h), 0.03),
	   "one period is its own mean, with its own uncertainty");
	l = (struct load){.load = -0.1, .uncertainty = 0.01, .unsafe = UNSAFE_WEIGHT};
	history_add(&h, &l);
	ok(h.min == -0.1 && h.max == 0.5 && near(history_mean(&h), 0.2) && h.uncertainty == 0.03 &&
		   h.unsafe == (UNSAFE_STEAL | UNSAFE_WEIGHT),
	   "two periods: least, greatest, mean, the larger uncertainty and both reasons");
	/* Student's t of 1 degree of freedom, times the standard error of -0.1 and 0.5. */
	ok(near(history_uncertainty(&h), hypot(0.03, 12.7062 * 0.3)),
	   "the variation of two periods adds to the uncertainty");
}

/* The quantiles are those of any table of Student's t distribution. */
static void test_student(void)
{
	static const struct {
		int n;
		double t;
	} cases[] = {{2, 12.706}, {4, 3.182},  {10, 2.262}, {20, 2.093},
		     {30, 2.045}, {60, 2.001}, {120, 1.980}};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		const int n = cases[i].n;
		struct history h = {.n = 0};
		double error = sqrt(0.01 * n / (n - 1) / n); /* of 0.4 and 0.6 in turn */

		add(&h, n, 0.4, 0.6);
		ok(fabs(history_uncertainty(&h) / error - cases[i].t) < 0.005,
		   "%d periods: the interval is %.3f standard errors wide to either side", n,
		   cases[i].t);
	}
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
	test_history();
	test_student();
	test_steady();
	return done();
}
