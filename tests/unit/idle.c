/* The part itself, for what it has of its own. */
#include "lib/load/idle.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

/* One second a window, of which each of two CPUs was idle for 0.9; in the second the hypervisor took 0.2. */
static void test_baseline(void)
{
	static const struct cpus none = {0};
	struct windows *w = alloc_or_die(1, sizeof(*w) + 3 * sizeof(w->at[0]), "windows");
	struct baseline b;
	const double busy[] = {0.01, 0.03};

	w->cpus = &none; /* there is only the sum */
	w->n = 2;
	w->at[1] = (struct load_sample){.time = 2, .spin = 1.8};
	w->at[2] = (struct load_sample){.time = 4, .spin = 3.4, .steal = 0.2};
	b = share(w, 2, 0, 1, 1);
	ok(near(b.tasks, 1 - (3.4 + 0.1) / 4) && b.spin == 1,
	   "half of what the hypervisor took was taken from idleness");
	ok(near(b.step, load_step(1, false) / 4),
	   "the error of the steps is that of the first and the last reading");
	ok(near(b.tasks_sd, deviation_of((double[]){0.1, 0.15}, 2, 2 * b.step)),
	   "a window deviates by the steps of its own two readings, too");
	w->at[2].work = 0.01;
	ok(near(share(w, 2, 0, 1, 0.2).step, 0.2 * sqrt(2) * b.step),
	   "iowait that rose has an error of its own, and a step that is known in part has less");
	ok(near(deviation_of(busy, 2, 0), sqrt(2) * 0.01) && deviation_of(busy, 2, 0.1) == 0,
	   "windows deviate from their mean, unless they differ by less than a step");
	free(w);
}

/* CPU 0 of this machine, by a mean of readings and by one that follows. */
static void test_readings(void)
{
	const struct instrument in = {.whole = false};
	const struct cpus first = {1, {0}};
	const double own = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
	const uint64_t begun = raw_ns();
	struct load_sample mean[2], last[2];

	ok(near(step_share(&in), 1 / sqrt(8)), "the mean of eight readings has a third of a step");
	read_all(&in, &first, mean, true);
	read_all(&in, &first, last, false);
	ok(mean[0].time > (double)begun / 1e9 && last[0].time - mean[0].time > 4e-3,
	   "the readings are spread over a tick");
	ok(mean[1].spin - mean[0].spin >= own && mean[1].spin - mean[0].spin < own + 1,
	   "what readings take of the CPUs counts as idle");
}

/* Two CPUs that rest, of two that are online and of more: the interval is that of the steps, and of the edges. */
static void test_width(void)
{
	const struct load_sample from = {.time = 2}, to = {.time = 4, .spin = 2};
	struct instrument in = {.whole = false};
	struct calibration c;
	struct load l;
	int i;

	for (i = 1; i <= 2; i++, in.whole = true) {
		c = (struct calibration){.cpus.n = 2};
		baseline_none(&in, &c);
		load_between(&c, &from, &to, -1, &l);
		ok(near(l.load, 0) && near(l.uncertainty,
					   hypot(0.003, load_step(in.whole ? 1 : 2, false) / 2)),
		   "the steps are those of %s", in.whole ? "one line" : "two lines of /proc/stat");
		load_between(&c, &from, &to, 0, &l);
		ok(near(l.uncertainty, hypot(0.003, load_step(1, false) / 2)),
		   "those of one CPU are those of its line");
		free(c.cpu);
	}
}

/* CPU 0 has been idle for 2 s, and was for 3 s before.  CPU 8191 is not there. */
static void test_clock(void)
{
	const struct idle_clock_cpu counts = {.word = 6000000001 - 2 * (now_ns() - 2000000000)};
	const struct idle_clock clock = {.cpu = &counts};
	const struct instrument in = {.clock = (struct idle_clock *)&clock, .whole = true};
	const struct cpus first = {1, {0}}, both = {2, {0, 8191}};
	struct calibration c = {.cpus = first};
	struct load_sample at[3];

	read_all(&in, &first, at, false);
	ok(at[0].spin >= 5 && at[0].spin < 60 && at[1].spin == at[0].spin && at[1].work == 0 &&
		   at[0].time <= (double)now_ns() / 1e9 && at[0].limits.now != UNSAFE_CPU_OFFLINE,
	   "with the clock idle time is the clock's, in step with its time");
	read_all(&in, &both, at, false);
	ok(at[0].spin >= 5 && isnan(at[1].spin) && isnan(at[2].spin) &&
		   at[2].limits.now == UNSAFE_CPU_OFFLINE,
	   "a CPU that is offline has no idle time by the clock, nor has the sum");
	baseline_none(&in, &c);
	ok(c.clock && c.lines == 1 && step_share(&in) == 0, "the clock has no steps");
	free(c.cpu);
}

/* The kernel here may measure or not: the trial says which, and why. */
static void test_trial(void)
{
	const char *why;
	cpu_mask before, after;
	struct cpus online;
	struct instrument in;
	bool tried;

	cpus_online(&online);
	sched_getaffinity(0, sizeof(before), before);
	why = idle_start(&in, &online, false);
	tried = why == NULL;
	ok(in.whole && (tried || strstr(why, "never sleeps") != NULL ||
			strstr(why, "not measure") != NULL),
	   "idle time is measured, or there is a line why not");
	idle_stop(&in);
	why = idle_start(&in, &online, true);
	tried = why == NULL;
	ok(tried == (in.clock != NULL) && (tried || strncmp(why, "--idle=clock: ", 14) == 0),
	   "the clock counts, or there is a line why not");
	idle_stop(&in);
	sched_getaffinity(0, sizeof(after), after);
	ok(memcmp(before, after, sizeof(before)) == 0,
	   "the trial leaves the thread on all its CPUs");
}

TESTS(test_baseline, test_readings, test_width, test_clock, test_trial)
