#include "lib/load/load.h"

#include "lib/load/statistics.h"
#include "tests/unit/unit.h"

/*
 * A machine, two samples of it, and what must follow.  What is not given: one CPU, of which an idle one
 * has nothing but its soaker; samples from second 1 on; as much work as spinning; figures that are
 * not looked at.
 */
struct row {
	const char *title;
	struct calibration c;
	struct load_sample from, to;
	double load, half, shared, slowed;
	unsigned unsafe;
};

static bool same(double got, double want)
{
	return near(got, want) || (isnan(got) && isnan(want));
}

static void test_row(const struct row *row)
{
	struct load_sample from = row->from, to = row->to;
	struct calibration c = row->c;
	struct load l;

	c.cpus.n = c.cpus.n > 0 ? c.cpus.n : 1;
	c.all.spin = c.all.spin > 0 ? c.all.spin : 1;
	c.kind = c.kind != NULL ? c.kind : &by_soaking;
	from.time = from.time > 0 ? from.time : 1;
	to.work = to.work > 0 ? to.work : to.spin;
	load_between(&c, &from, &to, -1, &l);
	ok(same(l.load, row->load) && l.unsafe == row->unsafe &&
		   (row->half == 0 || same(l.uncertainty, row->half)) &&
		   (row->shared == 0 || near(l.shared, row->shared)) &&
		   (row->slowed == 0 || near(l.slowed, row->slowed)),
	   "%s", row->title);
}

/* Two CPUs of which tasks and interrupts have a part, for 2 s. */
#define TWO .c = {.cpus.n = 2, .all = {.tasks = 0.02, .spin = 0.85}}

static void test_loads(void)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK), q = student_t(15) * 0.01;
	const struct calibration busy = {.all.tasks = 0.29, .others = 0.29};
	const struct calibration full = {.all.tasks = 0.1, .others = 0.305};
	const struct calibration bursts = {.windows = 16, .all.tasks_sd = 0.01};
	const struct calibration second = {.windows = 2, .all.tasks_sd = 0.01};
	const double q2 = student_t(1) * 0.01;
	const double cut = tick * tick / 12, step = 1.96 * sqrt(2 * cut); /* of single readings */
	const struct calibration idle = {
		.cpus.n = 2, .kind = &by_idle_time, .all = {.tasks = 0.01, .step = 0.002}};
	const struct row rows[] = {
		/* 0.85 of the time was left on the idle machine, and 0.8 were it slowed by a quarter. */
		{"half of the time is taken, and the rest is slowed by a quarter", TWO,
		 .to = {.time = 5, .spin = 2, .work = 1.5}, .load = 0.98 - 0.5 * 0.85 / 0.8,
		 .slowed = 0.25},
		{"in no time there cannot be a load", .to.time = 1, .load = NAN, .half = NAN},
		{"a load far below 0 is none, and has that reason, too",
		 .to = {.time = 3, .spin = 6, .limits.moved = 1}, .load = NAN, .half = NAN,
		 .unsafe = UNSAFE_CALIBRATION | UNSAFE_SOAKER_MOVED},
		{"a baseline of which tasks had 29 % makes a load unsafe", busy,
		 .to = {.time = 3, .spin = 1}, .load = 0.21, .unsafe = UNSAFE_BASELINE_BUSY},
		{"a baseline of which tasks had more than 30 % leaves only the reason", full,
		 .to = {.time = 3, .spin = 1}, .load = NAN, .half = NAN,
		 .unsafe = UNSAFE_BASELINE_BUSY},
		{"the half width of the interval is half of the drift of the baselines at least",
		 .c.all.drift = -0.19, .to = {.time = 3, .spin = 1}, .load = 0.5, .half = 0.095},
		{"a time in which a CPU went offline has only the reason",
		 .to = {.time = 3, .spin = 1, .limits.lost = 1}, .load = NAN, .half = NAN,
		 .unsafe = UNSAFE_CPU_OFFLINE},

		/* The time that the host of a virtual machine takes. */
		{"the hypervisor took what the soakers saw, in proportion", TWO, .from.steal = 7,
		 .to = {.time = 5, .spin = 2, .stolen = 0.1, .steal = 7.19},
		 .load = 0.48 - 0.2 / 4},
		{"the hypervisor took no more than was counted, whatever soakers saw", TWO,
		 .from.steal = 7, .to = {.time = 5, .spin = 2, .stolen = 1, .steal = 7.1},
		 .load = 0.48 - 0.1 / 4},
		{"what no soaker saw of the host is uncertain by a tick", .from.steal = 7,
		 .to = {.time = 3, .spin = 1.5, .steal = 7.2}, .load = 0.25 - (0.2 - tick) / 2,
		 .half = hypot(0.003, tick / 2)},
		{"where soakers cannot tell the host from interrupts, what was counted is uncertain by a tick",
		 .from = {.stolen = NAN, .steal = 7},
		 .to = {.time = 3, .spin = 1.5, .stolen = NAN, .steal = 7.2},
		 .load = 0.25 - 0.2 / 2, .half = hypot(0.003, tick / 2)},
		{"where the counter of the host's time stepped back nothing is subtracted",
		 .from.steal = 7, .to = {.time = 3, .spin = 1.5, .steal = 3}, .load = 0.25},
		{"the hypervisor took no time in which the soakers spun", .from.steal = 7,
		 .to = {.time = 3, .spin = 2, .steal = 8}, .load = -tick / 2},

		/* What makes a load uncertain: edges of 6 ms, bursts of tasks, spinning, the host. */
		{"where the host takes time a tenth of the slowing is uncertain, in all loads",
		 .from.steal = 7, .to = {.time = 2, .spin = 1, .work = 0.8, .steal = 7},
		 .half = hypot(0.006, 0.02), .shared = hypot(0.006, 0.02)},
		{"in 1 s the bursts of tasks are worth half of those in a window of a quarter",
		 bursts, .to = {.time = 2, .spin = 1}, .half = hypot(0.006, hypot(q / 2, q / 4)),
		 .shared = 0.006},
		{"all loads share the error of a file's baseline, and of the share that soakers spin",
		 {.windows = 16, .all = {.tasks_sd = 0.01, .spin_sd = 0.1}, .of_file = true},
		 .to = {.time = 2, .spin = 1},
		 .shared = hypot(hypot(0.006, 0.2), q / 4)},

		/* Each term of zc-method(7)'s table alone, but for the edges. */
		{"the edges of 16 CPUs are 6 ms of CPU time in all", .c.cpus.n = 16,
		 .to = {.time = 17, .spin = 8}, .load = 0.5, .half = 0.006 / 16},
		{"over 100 s the windows of the baseline count, and hardly bursts", second,
		 .to = {.time = 101, .spin = 50}, .load = 0.5,
		 .half = hypot(6e-5, hypot(q2 / sqrt(2), q2 / 20))},
		{"in less than a window bursts are worth no more than in one", second,
		 .to = {.time = 1.1, .spin = 0.05}, .load = 0.5,
		 .half = hypot(0.06, hypot(q2 / sqrt(2), q2))},
		{"where half of the time is spun half of twice the deviation of spinning counts",
		 {.windows = 16, .all.spin_sd = 0.1},
		 .to = {.time = 2, .spin = 0.5},
		 .load = 0.5,
		 .half = hypot(0.006, 0.1)},
		{"of a slowing by more than a half a half counts", .from.steal = 7,
		 .to = {.time = 2, .spin = 1, .work = 0.1, .steal = 7}, .slowed = 0.9,
		 .half = hypot(0.006, 0.05)},

		/* Idle time: 4.5 s of two CPUs in 3 s. */
		{"of what the hypervisor took a half was idle time, and the other, as iowait that rose, makes it uncertain",
		 idle, .from = {.time = 2, .cut = cut},
		 .to = {.time = 8, .spin = 4.5, .steal = 0.6, .cut = cut}, .load = 0.24 - 0.05,
		 .half = hypot(hypot(0.001, 0.002), hypot(0.3, sqrt(2) * step) / 6)},
	};
	size_t i;

	for (i = 0; i < LENGTH(rows); i++)
		test_row(&rows[i]);
}

/* Two CPUs for 2 s, of which the first has a baseline of its own. */
static void test_parts(void)
{
	struct baseline b[2] = {{.tasks = 0.04, .spin = 0.8}, {.spin = 1}};
	const struct calibration c = {
		.cpus.n = 2, .cpu = b, .all = {.tasks = 0.02, .spin = 0.9}, .kind = &by_soaking};
	const struct load_sample from = {.time = 2, .tasks = 1, .switches = 7};
	struct load_sample to = {.time = 6, .spin = 2, .work = 2, .tasks = 2, .switches = 100007};
	struct load l;

	load_between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.98 - 0.5) && l.unsafe == 0 && near(l.switches, 50000) && l.seconds == 2 &&
		   l.cpus == 2 && near(l.tasks, 0.25),
	   "the seconds are those of the clock, tasks have a share of all CPUs, wake-ups are counted");
	to.tasks = 0.9;
	load_between(&c, &from, &to, 0, &l);
	ok(near(l.load, 0.96 - 0.5) && l.seconds == 4 && l.cpus == 1 && l.tasks == 0,
	   "one CPU has its own seconds and baseline; the share of tasks is never below 0");
	ok(l.unsafe == UNSAFE_BASELINE_BUSY, "a CPU that was busy is unsafe where all were not");
	ok(instrument_named("soak") == &by_soaking && instrument_named("idle") == &by_idle_time &&
		   instrument_named("other")->name[0] == '\0',
	   "an instrument is found by its name, and one of a newer version has none");
	to.spin = to.work = 0;
	load_between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.98) && l.slowed == 0, "what had no time to spin is not slowed");
}

TESTS(test_loads, test_parts)
