/* The part itself, for what it has of its own. */
#include "lib/load/baseline.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "lib/load/keeper.h"
#include "tests/unit/unit.h"

static void test_merge(void)
{
	struct baseline a[2] = {
		{.tasks = 0.01, .spin = 0.9, .spin_sd = 0.02, .speed = 100, .step = 0.003},
		{.tasks = 0.02, .spin = 0.8, .speed = 50}};
	struct baseline b[2] = {
		{.tasks = 0.03, .spin = 0.8, .spin_sd = 0.01, .speed = 80, .step = 0.004},
		{.tasks = 0.02, .tasks_sd = 0.005, .spin = 0.8, .speed = 50}};
	struct calibration c = {.cpus.n = 2,
				.cpu = a,
				.kind = &by_soaking,
				.windows = 4,
				.all = {.tasks = 0.02, .tasks_sd = 0.01, .step = 0.006},
				.others = 0.015,
				.profile.time = 5};
	const struct calibration other = {.cpus.n = 2,
					  .cpu = b,
					  .windows = 12,
					  .all.tasks = 0.03,
					  .all.step = 0.008,
					  .others = 0.025,
					  .profile.time = 4};
	const double drift = baseline_merge(&c, &other);

	/* Less time to spin and more for tasks are load that the first baseline had not. */
	ok(near(drift, 0.06) && near(a[0].drift, 0.12) && near(a[1].drift, 0),
	   "two baselines differ by 6 points of load, and one CPU by 12");
	ok(near(a[0].tasks, 0.02) && near(a[0].spin, 0.85) && near(a[0].speed, 90),
	   "the mean of two baselines is between both");
	ok(near(a[0].spin_sd, 0.05) && near(a[0].tasks_sd, 0.01) && near(a[0].speed_sd, 10) &&
		   near(a[1].tasks_sd, 0.005) && a[1].spin_sd == 0,
	   "a standard deviation is the largest of both and of half of the difference");
	ok(near(c.others, 0.025) && near(c.windows, 12) && c.profile.time == 9 &&
		   near(c.all.spin_sd, 0.03) && near(c.all.tasks_sd, hypot(0.01 / sqrt(2), 0.005)),
	   "a mean has the share of others of the busier, and the samples of both; its windows deviate from their mean, and the baselines from it");
	ok(near(a[0].step, 0.0025) && near(c.all.step, 0.005),
	   "of two steps the mean is wrong by half of both, for a CPU and for all");
}

/* The soakers of two CPUs, whose counts stand still.  No gap is open. */
static struct soaker *two_soakers(void)
{
	struct soaker *s = alloc_or_die(1, sizeof(*s) + 2 * sizeof(s->cpu[0]), "soaker");

	s->n = 2;
	s->keeper = 1; /* no child of this process */
	s->sees_steal = true;
	s->cpu[0] = s->cpu[1] = (struct soak_cpu){.last_ns = 1,
						  .gap_min = UINT64_MAX / 2,
						  .gap_ns = 2000000000,
						  .turns = 900,
						  .dirty_ns = 500000000,
						  .tasks_ns = 3000000000,
						  .stolen_ns = 4000000000,
						  .switches = 5};
	return s;
}

static void test_sample(void)
{
	struct baseline b[2] = {{.spin = 0.9, .speed = 10}, {.spin = 0.8, .speed = 20}};
	const struct calibration c = {.cpus = {2, {0, 1}}, .cpu = b, .kind = &by_soaking};
	struct soaker *s = two_soakers();
	const struct instrument in = {&by_soaking, .soaker = s};
	struct load_sample at[3] = {{.time = 9}, {.time = 9}, {.time = 9, .tasks = 9}}, sum,
			   each[2];

	instrument_read(&in, &c.cpus, at, false);
	sum = baseline_sample(&c, at, -1);
	each[0] = baseline_sample(&c, at, 0);
	each[1] = baseline_sample(&c, at, 1);
	ok(near(each[1].spin, (each[1].time - 2.5) / 0.8) && near(each[1].work, 900 / (0.8 * 20)),
	   "by its baseline a soaker spun while it had no gap and no wait for memory, and turned");
	ok(each[0].tasks == 3 && each[0].stolen == 4 && each[0].switches == 5,
	   "counts of a soaker are in seconds");
	ok(near(sum.time, each[0].time + each[1].time) &&
		   near(sum.spin, each[0].spin + each[1].spin) &&
		   near(sum.work, each[0].work + each[1].work) && sum.tasks == 6 &&
		   sum.stolen == 8 && sum.switches == 10,
	   "the sample of all CPUs is the sum of theirs");
	s->cpu[0].gap_min = 1000;
	s->sees_steal = false;
	instrument_read(&in, &c.cpus, at, false);
	sum = baseline_sample(&c, at, -1);
	each[0] = baseline_sample(&c, at, 0);
	ok(isnan(sum.stolen) && !isnan(sum.spin),
	   "where a thread's clock also lacks interrupts the host's time is not known by it");
	ok(near(each[0].tasks, each[0].time + 3 - 1e-9) && each[0].spin == 0,
	   "a gap that is open is the time of a task");
	free(s);
}

/*
 * Five seconds of two CPUs that idle: in the first one tasks took half, and the soakers were twice as fast.  From the
 * second CPU the host takes 0.1 s in each window.
 */
static void windows_of(double seen)
{
	const int windows = 20;
	struct soaker *s = two_soakers();
	const struct instrument in = {&by_soaking, .soaker = s};
	struct calibration c = {.cpus.n = 2};
	struct windows *w = windows_start(&in, &c.cpus);
	struct load_sample at[2] = {{.time = 1, .steal = 7}, {.time = 1, .steal = 9}};
	struct load_sample *cpu;
	int i;

	for (w->n = 0; w->n <= windows; w->n++) {
		const double tasks = w->n < 4 ? 0.5 : 0.01 * (w->n % 2);

		memcpy(&w->at[3 * w->n], at, sizeof(at));
		at[1].steal += 0.1;
		at[1].stolen += seen * 0.1 * 0.9 * 0.595; /* that its soaker saw */
		for (i = 0; i < 2; i++) {
			const double left = (i == 0 ? 0.25 : 0.15) - 0.25 * tasks;

			cpu = &at[i];
			cpu->time += 0.25;
			cpu->tasks += 0.25 * tasks;
			cpu->spin += 0.9 * left;
			cpu->work += 0.9 * left * (w->n < 4 ? 200 : 100);
		}
	}
	w->n = windows;
	windows_store(w, 16, &c);
	ok(near(c.others, 0.005) && near(c.cpu[0].spin, 0.9) && near(c.cpu[1].speed, 100) &&
		   c.windows == 16,
	   "a baseline is that of the last windows");
	ok(near(c.cpu[1].spin, 0.9) && near(c.cpu[0].spin_sd, 0),
	   "what the hypervisor took from one CPU is subtracted from the time of that one alone");
	ok(near(c.all.tasks_sd, 0.005 * sqrt(16. / 15)) && near(c.all.spin_sd, 0) &&
		   near(c.all.spin, 0.9) && near(c.all.tasks, 0.005),
	   "the standard deviations of a baseline are those between its windows");
	ok(baseline_starved(&c) < 0, "a baseline in which every CPU spun is whole");
	c.cpu[1].spin = 0;
	ok(baseline_starved(&c) == 1, "a CPU that had no time to spin has no baseline");
	free(c.cpu);
	free(w);
	free(s);
}

static void test_windows(void)
{
	windows_of(1);
	windows_of(NAN); /* soakers that cannot tell it from interrupts */
}

TESTS(test_merge, test_sample, test_windows)
