#include "lib/load/baseline.h"

#include "tests/unit/unit.h"

static void test_merge(void)
{
	struct baseline a[2] = {{.tasks = 0.01, .spin = 0.9, .spin_sd = 0.02, .speed = 100},
				{.tasks = 0.02, .spin = 0.8, .speed = 50}};
	struct baseline b[2] = {{.tasks = 0.03, .spin = 0.8, .spin_sd = 0.01, .speed = 80},
				{.tasks = 0.02, .tasks_sd = 0.005, .spin = 0.8, .speed = 50}};
	struct calibration c = {
		.cpus = {.n = 2}, .cpu = a, .windows = 4, .all = {.tasks_sd = 0.01}};
	const struct calibration other = {.cpus = {.n = 2}, .cpu = b, .windows = 12};
	double drift = baseline_merge(&c, &other);

	/* Less time to spin and more for tasks are load that the first baseline had not. */
	ok(near(drift, (0.02 + 0.1 + 0) / 2), "two baselines differ by 6 points of load");
	ok(near(a[0].drift, 0.12) && near(a[1].drift, 0), "each CPU has its own difference");
	ok(near(a[0].tasks, 0.02) && near(a[0].spin, 0.85) && near(a[0].speed, 90) &&
		   near(a[1].spin, 0.8),
	   "the mean of two baselines is between both");
	ok(near(a[0].spin_sd, 0.05) && near(a[0].tasks_sd, 0.01) && near(a[0].speed_sd, 10),
	   "half of the difference is a standard deviation, where it is the largest");
	ok(near(a[1].tasks_sd, 0.005) && a[1].spin_sd == 0,
	   "the larger of two standard deviations stays");
	ok(near(c.others, 0.025),
	   "the share of other tasks is that of the baseline with more of them");
	ok(near(c.windows, 12), "the mean of 4 and of 12 windows is as certain as that of 12");
	ok(near(c.all.spin_sd, 0.03) && near(c.all.tasks_sd, 0.01 / sqrt(2)),
	   "spinning deviates by half of the difference at least, tasks as in both on average");
}

static void check_baseline(void *calibration)
{
	baseline_check_or_die(calibration);
}

static void test_check(void)
{
	static struct baseline b[2] = {{.spin = 0.9, .speed = 100}, {.spin = 0.9, .speed = 100}};
	static struct calibration c = {.cpus = {.n = 2, .id = {3, 5}}, .cpu = b};
	char printed[256];

	ok(status_of(check_baseline, &c, printed, sizeof(printed)) == -1,
	   "a baseline in which every CPU spun is accepted");
	b[1].spin = 0;
	ok(status_of(check_baseline, &c, printed, sizeof(printed)) == EXIT_FAILURE &&
		   strstr(printed, ": CPU 5 left its soaker no time: ") != NULL,
	   "a CPU that had no time to spin is named, and the status is 1");
	b[1] = b[0];
	b[0].speed = 0;
	ok(status_of(check_baseline, &c, printed, sizeof(printed)) == EXIT_FAILURE &&
		   strstr(printed, ": CPU 3 left its soaker no time: ") != NULL,
	   "a CPU that made no turn is named, and the status is 1");
}

static void test_spread(void)
{
	const double share[] = {0.1, 0.95, 0.93, 0.96, 0.94};

	ok(isinf(baseline_spread(share, 3)), "three rounds are too few to agree");
	ok(near(baseline_spread(share, 4), 0.86) && near(baseline_spread(share, 5), 0.03),
	   "the last four rounds must agree, whatever was before");
}

int main(void)
{
	test_merge();
	test_spread();
	test_check();
	return done();
}
