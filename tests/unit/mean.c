#include "lib/load/mean.h"

#include "tests/unit/unit.h"

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

int main(void)
{
	test_mean_of();
	test_middle();
	return done();
}
