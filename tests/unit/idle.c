/* The part itself, for what it has of its own. */
#include "lib/load/idle.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

/* Ticks: user nice system idle iowait irq softirq steal guest guest_nice. */
static char stat[] = "cpu  10 0 20 700 30 0 5 8 0 0\n"
		     "cpu0 5 0 10 300 10 0 3 6 0 0\n"
		     "cpu2 5 0 10 410 20 0 2 2 0 0\n"
		     "intr 1 2 3\n";

static double ticks(double n)
{
	return n / (double)sysconf(_SC_CLK_TCK);
}

static void parse_stat(const struct idle *w, struct load_sample *at)
{
	FILE *f = fmemopen(stat, strlen(stat), "r");

	parse(w, f, at);
	fclose(f);
}

static void test_parse(void)
{
	static const struct idle two = {.cpus = {2, {0, 2}}, .whole = true},
				 part = {.cpus = {2, {0, 2}}}, last = {.cpus = {1, {2}}},
				 three = {.cpus = {3, {0, 1, 2}}};
	const uint64_t begun = raw_ns();
	struct load_sample at[4];

	parse_stat(&two, at);
	ok(near(at[2].spin, ticks(730)) && near(at[2].steal, ticks(8)) && at[2].limits.now == 0,
	   "where all CPUs are watched the kernel's own sum counts");
	ok(near(at[0].spin, ticks(310)) && near(at[1].spin, ticks(430)) && at[1].ns == at[2].ns &&
		   near(at[0].steal, ticks(6)),
	   "idle time is that of both columns, idle and iowait");
	ok(near(at[2].work, ticks(30)) && near(at[1].work, ticks(20)), "iowait is known apart");
	ok(at[2].ns >= begun && at[2].ns <= raw_ns() && near(at[2].time, (double)at[2].ns / 5e8) &&
		   near(at[0].time, (double)at[2].ns / 1e9),
	   "the sample has its moment, and the CPU time up to it");
	parse_stat(&part, at);
	ok(near(at[2].spin, ticks(740)), "the sum of some CPUs is that of their lines");
	parse_stat(&last, at);
	ok(near(at[1].spin, ticks(430)) && near(at[0].spin, ticks(430)), "one CPU of two is found");
	parse_stat(&three, at);
	ok(isnan(at[3].spin) && isnan(at[1].spin) && near(at[2].spin, ticks(430)) &&
		   at[2].limits.now == UNSAFE_CPU_OFFLINE,
	   "a CPU without a line has no idle time, nor has the sum");
}

/* One second a window, of which each of two CPUs was idle for 0.9; in the second the host took 0.2. */
static void test_baseline(void)
{
	struct load_sample at[] = {
		{.ns = 0}, {.time = 2, .spin = 1.8}, {.time = 4, .spin = 3.4, .steal = 0.2}};
	const struct baseline b = baseline_of(at, 1, 2, 1, 1);

	ok(near(b.tasks, 1 - (3.4 + 0.1) / 4) && b.spin == 1,
	   "half of what the host took was taken from idleness");
	ok(near(b.step, load_step(1, false) / 4),
	   "the error of the steps is that of the first and the last reading");
	at[2].work = 0.01;
	ok(near(baseline_of(at, 1, 2, 1, 1).step, sqrt(2) * b.step),
	   "iowait has an error of its own where it rose");
	ok(near(baseline_of(at, 1, 2, 1, 0.2).tasks, b.tasks) &&
		   near(baseline_of(at, 1, 2, 1, 0.2).step, 0.2 * sqrt(2) * b.step),
	   "a step of which a part is known leaves the rest uncertain");
}

/* The column has steps of 10 ms, and two CPUs that idle bring it forward by 2 ms between two looks. */
static void test_edge(void)
{
	const struct idle two = {.cpus = {.n = 2}, .whole = true},
			  many = {.cpus = {.n = 128}, .whole = true};

	ok(near(edge_share(&two) / (double)sysconf(_SC_CLK_TCK), 0.002),
	   "the moment of a step is known to a look at the column");
	ok(edge_share(&many) == 1, "the column of many CPUs is not looked at again");
}

/* What is beyond the steps is the machine's own unsteadiness. */
static void test_deviation(void)
{
	const double busy[] = {0.01, 0.03};

	ok(near(deviation_of(busy, 2, 0), sqrt(2) * 0.01), "two windows deviate from their mean");
	ok(deviation_of(busy, 2, 0.1) == 0,
	   "windows that differ by less than a step do not deviate");
}

/* 3 s of two CPUs, of which 4.5 s were idle and the idle machine is busy for 1 %. */
static void test_load(void)
{
	struct baseline b[2] = {{.spin = 1, .speed = 1}, {.spin = 1, .speed = 1}};
	struct calibration c = {.cpus = {2, {0, 1}}, .cpu = b, .lines = 1, .windows = 8};
	struct load_sample from = {.time = 2}, to = {.time = 8, .spin = 4.5};
	struct load l;

	c.all = (struct baseline){.tasks = 0.01, .step = 0.002};
	load_between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.25 - 0.01) && l.seconds == 3 && l.cpus == 2,
	   "the load is the time not idle, less that of the idle machine");
	ok(near(l.uncertainty, hypot(hypot(0.001, 0.002), load_step(1, false) / 6)),
	   "the steps of the load and of its baseline, and the edges, make it uncertain");
	ok(isnan(l.slowed) && isnan(l.tasks) && isnan(l.switches),
	   "idle time tells nothing of tasks, switches and a slowing");
	is(l.instrument, "idle", "the load has its instrument");
	to.steal = 0.6;
	load_between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.25 - 0.01 - 0.05) && l.uncertainty > 0.05,
	   "of what the host took one half is subtracted, and the other is uncertain");
}

/* The kernel here may measure or not: the trial says which, and why. */
static void test_trial(void)
{
	struct cpus online;
	char why[DIE_MAX] = "";
	struct idle *w;

	cpus_online(&online);
	w = idle_open(&online, why);
	ok(w != NULL || strstr(why, "never sleeps") != NULL ||
		   strstr(why, "does not measure") != NULL,
	   "idle time is watched, or there is a line why not");
	if (w != NULL)
		free(w);
}

int main(void)
{
	test_parse();
	test_baseline();
	test_edge();
	test_deviation();
	test_load();
	test_trial();
	return done();
}
