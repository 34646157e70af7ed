#include "lib/load/load.h"

#include "lib/load/statistics.h"

#include "lib/load/baseline.h"
#include "lib/load/keeper.h"
#include "tests/unit/unit.h"

/* A machine of one CPU or two, and two samples of it. */
static struct machine {
	struct baseline b[2];
	struct calibration c;
	struct load_sample from, to;
} t;

static struct load l; /* that load_of() found last */

/* CPUs of which an idle one has nothing but its soaker. */
static void machine_init(int cpus)
{
	const struct baseline b = {.spin = 1, .speed = 1};

	t = (struct machine){.b = {b, b}, .c = {.cpus.n = cpus, .cpu = t.b}, .from.time = 1};
	t.to.time = 2;
}

/* Two CPUs that differ, for 2 s. */
static void two_cpus_init(void)
{
	machine_init(2);
	t.b[0] = (struct baseline){.tasks = 0.01, .spin = 0.9, .speed = 10};
	t.b[1] = (struct baseline){.tasks = 0.03, .spin = 0.8, .speed = 20};
	t.from.time = 2;
	t.to.time = 6;
}

/* The load of a CPU, or of all if that is -1, with the means of their baselines as a calibration has them. */
static const struct load *load_of(int cpu)
{
	struct calibration with = t.c;
	int k;

	for (k = 0; k < t.c.cpus.n; k++) {
		with.all.tasks += t.c.cpu[k].tasks / t.c.cpus.n;
		with.all.spin += t.c.cpu[k].spin / t.c.cpus.n;
		with.all.drift += t.c.cpu[k].drift / t.c.cpus.n;
	}
	load_between(&with, &t.from, &t.to, cpu, &l);
	return &l;
}

/* What disturbed the soakers of two CPUs. */
static void test_disturbed(void)
{
	machine_init(2);
	t.from.time = 2;
	t.to.time = 6;
	t.to.spin = t.to.work = 3;
	t.to.limits = (struct limits_mark){.now = UNSAFE_CLOCK_SLOW, .moved = 1, .stops = 1};
	ok(near(load_of(-1)->load, 0.25) && l.cpus == 2 &&
		   l.unsafe == (UNSAFE_CLOCK_SLOW | UNSAFE_SOAKER_MOVED | UNSAFE_SOAKER_STOPPED),
	   "the load of a time in which soakers were moved or stopped is unsafe");
	t.from.limits = t.to.limits;
	ok(load_of(-1)->unsafe == UNSAFE_CLOCK_SLOW,
	   "what happened before a measurement makes no load unsafe, what still holds does");
	t.to.limits.lost = 1;
	ok(isnan(load_of(-1)->load) && l.unsafe == (UNSAFE_CLOCK_SLOW | UNSAFE_CPU_OFFLINE),
	   "a time in which a CPU went offline has no load, and the reason");
	t.from.limits = t.to.limits;
	ok(near(load_of(-1)->load, 0.25) && l.unsafe == UNSAFE_CLOCK_SLOW,
	   "the time after it has one");
}

static void test_formulas(void)
{
	two_cpus_init();
	t.to.spin = t.to.work = 0.98 * 4; /* all that is left beside the mean tasks */
	ok(near(load_of(-1)->load, 0) && near(l.slowed, 0) && l.seconds == 2 &&
		   near(l.uncertainty, 0.0015),
	   "an idle machine has no load");
	t.to.spin = 2;
	t.to.work = 1.5;
	/* 0.85 of the time was left on the idle machine, and 0.8 were it slowed by a quarter. */
	ok(near(load_of(-1)->load, 0.98 - 0.5 * 0.85 / 0.8) && near(l.slowed, 0.25),
	   "half of the time is taken, and the rest is slowed by a quarter");
	t.to = (struct load_sample){.time = 4};
	ok(near(load_of(1)->load, 0.97) && l.slowed == 0, "one CPU that is wholly taken");
	t.to = t.from;
	ok(isnan(load_of(-1)->load), "no time has no load");
	t.to.time = 1;
	ok(isnan(load_of(-1)->load) && l.seconds == 0, "samples in the wrong order have no load");
	t.to.time = 6;
	t.from.tasks = 0.001;
	ok(load_of(-1)->tasks == 0, "the share of tasks is never below 0");
}

static void test_wake_ups(void)
{
	two_cpus_init();
	t.to.spin = t.to.work = 2;
	t.to.switches = 100000;
	ok(near(load_of(-1)->load, 0.48) && near(l.switches, 50000),
	   "wake-ups are counted, and nothing is subtracted for them");
}

static void test_host(void)
{
	two_cpus_init();
	t.to.spin = t.to.work = 2;
	t.to.host = 0.1;
	ok(near(load_of(-1)->load, 0.48), "where the kernel counts no steal, no host took time");
	t.from.steal = 7;
	t.to.steal = 7.19;
	ok(near(load_of(-1)->load, 0.48 - 0.2 / 4),
	   "the host took what the soakers saw, in proportion");
	t.to.steal = 7.1;
	ok(near(load_of(-1)->load, 0.48 - 0.11 / 4),
	   "the host took a tick more than the kernel counted at most");
	t.to.host = 1;
	ok(near(load_of(-1)->load, 0.48 - 0.1 / 4),
	   "the host took no more than was counted, whatever soakers saw");
}

/* A CPU that had 30 % of its time for its soaker when it was calibrated has all of it now. */
static void test_below_zero(void)
{
	machine_init(1);
	t.b[0].spin = 0.9;
	t.to.time = 3;
	t.to.spin = t.to.work = 2 * 1.04;
	ok(near(load_of(-1)->load, -0.04) && l.unsafe == 0, "a load a little below 0 is safe");
	t.to.spin = t.to.work = 2 / 0.3;
	ok(isnan(load_of(-1)->load) && isnan(l.uncertainty) && l.unsafe == UNSAFE_CALIBRATION,
	   "a load far below 0 is none, and has that reason");
	t.c.all.spin_sd = 5;
	ok(load_of(-1)->load < -2 && l.unsafe == 0,
	   "a load far below 0 that is as uncertain is safe");
}

/* Other programs had a third of the machine in its baseline. */
static void test_busy_baseline(void)
{
	two_cpus_init();
	t.to.spin = t.to.work = 2;
	t.b[0].tasks = 0.55;
	t.c.others = 0.29;
	ok(!isnan(load_of(-1)->load) && l.unsafe == UNSAFE_BASELINE_BUSY,
	   "a baseline of which tasks had 29 %% makes a load unsafe");
	t.b[0].tasks = 0.58;
	t.c.others = 0.305;
	ok(isnan(load_of(-1)->load) && isnan(l.uncertainty) && l.unsafe == UNSAFE_BASELINE_BUSY,
	   "a baseline of which tasks had more than 30 %% leaves no load, and the reason");
	ok(isnan(load_of(1)->load) && l.unsafe == UNSAFE_BASELINE_BUSY,
	   "nor has a single CPU a load then, but the reason");
	t.b[0].tasks = 0;
	t.c.others = 0.31;
	ok(isnan(load_of(-1)->load) && l.unsafe == UNSAFE_BASELINE_BUSY && near(l.others, 0.31),
	   "one of two baselines of which tasks had more than 30 %% leaves no load");
}

static void test_drift(void)
{
	two_cpus_init();
	t.to.spin = t.to.work = 2;
	t.b[0].drift = -0.3;
	t.b[1].drift = -0.08;
	ok(near(load_of(-1)->uncertainty, 0.19 / 2),
	   "half of the interval is half of the drift of the baselines at least");
}

/* One CPU of a virtual machine, of which the kernel counts what the host takes. */
static void test_steal(void)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);

	machine_init(1);
	t.from.steal = 7;
	t.to.time = 3;
	t.to.spin = t.to.work = 1.5;
	t.to.steal = 7.2;
	ok(near(load_of(-1)->load, 0.25 - (0.2 - tick) / 2) &&
		   near(l.uncertainty, hypot(0.003, tick / 2)),
	   "what no soaker saw of the host is uncertain by a tick");
	t.from.steal = NAN;
	ok(near(load_of(-1)->load, 0.25),
	   "without a first reading of the host's time nothing is subtracted");
	t.from.steal = 7;
	t.to.steal = NAN;
	ok(near(load_of(-1)->load, 0.25),
	   "without a last reading of the host's time nothing is subtracted");
	t.to.steal = 3;
	ok(near(load_of(-1)->load, 0.25),
	   "where the counter of the host's time stepped back nothing is subtracted");
	t.to.steal = 8;
	t.to.spin = t.to.work = 2;
	ok(near(load_of(-1)->load, -tick / 2), "the host took no time in which the soakers spun");
}

/* One CPU in 1 s: its edges are worth 6 ms. */
static void test_bursts(void)
{
	const double q = student_t(15) * 0.01;

	machine_init(1);
	t.c.windows = 2;
	t.to.spin = t.to.work = 1;
	t.c.all.tasks_sd = 0.01;
	t.c.windows = 16;
	ok(near(load_of(-1)->uncertainty, hypot(0.006, hypot(q / 2, q / 4))),
	   "in 1 s the bursts of tasks are worth half of those in a window of a quarter");
	ok(near(l.shared, 0.006), "what its own baselines do not know varies between runs");
	t.to.time = 101;
	t.to.spin = t.to.work = 100;
	ok(near(load_of(-1)->uncertainty, hypot(0.00006, hypot(q / 20, q / 4))),
	   "the error of a baseline of 16 windows does not shrink with the length of the run");
	t.c.shared = true;
	ok(near(load_of(-1)->shared, hypot(0.00006, q / 4)),
	   "all loads share the error of a file's baseline");
	t.from = (struct load_sample){.time = 1.9, .spin = 0.9, .work = 0.9};
	t.to = (struct load_sample){.time = 2, .spin = 1, .work = 1};
	ok(near(load_of(-1)->uncertainty, hypot(0.06, hypot(q, q / 4))),
	   "in less than a window the bursts of tasks are no more than in one");
	t.c.all.spin_sd = 0.1;
	ok(near(load_of(-1)->shared, hypot(hypot(0.06, 0.2), q / 4)),
	   "all loads share the error of the share that soakers spin, too");
}

/* What the host and the slowing add to the uncertainty. */
static void test_slowing(void)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);

	machine_init(1);
	t.c.windows = 2;
	t.to.spin = t.to.work = 1;
	t.to.work = 0.8;
	ok(near(load_of(-1)->slowed, 0.2) && near(l.uncertainty, 0.006),
	   "where no host takes time a slowing makes no load uncertain");
	t.from.steal = t.to.steal = 7;
	ok(near(load_of(-1)->uncertainty, hypot(hypot(0.006, 0.02), 0)) &&
		   near(l.shared, l.uncertainty),
	   "where the host takes time a tenth of the slowing is uncertain");
	t.to.work = 0.2;
	ok(near(load_of(-1)->uncertainty, hypot(0.006, 0.05)),
	   "a slowing of more than half is no more uncertain than that");
	t.to.work = t.to.spin = 0.5;
	t.from.steal = 0.1;
	t.to.steal = 0.3;
	t.to.host = 0.1;
	ok(near(load_of(-1)->load, 0.5 - 0.2) && near(l.uncertainty, hypot(0.006, tick)),
	   "the host's time is subtracted from its first second on");
	t.to.host = 0.2 * 1.1 + tick + 1e-6;
	ok(near(load_of(-1)->load, 0.5 - 0.2),
	   "what soakers saw beyond the count of the host was not the host");
}

/* A transfer that takes 1.2 % of many CPUs for 3 s, where the traffic slows all by a fifth. */
static void test_many_cpus(void)
{
	static struct baseline b[256];
	int i, n;

	machine_init(0);
	t.c.cpu = b;
	t.c.windows = 8;
	t.c.all = (struct baseline){.spin_sd = 0.0001, .tasks_sd = 0.0002};
	t.from.time = 0;
	for (i = 0; i < 256; i++)
		b[i] = (struct baseline){.tasks = 0.001, .spin = 0.999, .speed = 1};
	for (n = 128; n <= 256; n += 128) {
		t.c.cpus.n = n;
		t.to = (struct load_sample){.time = 3 * n, .spin = 3 * n * (0.999 - 0.012)};
		t.to.work = 0.8 * t.to.spin;
		ok(fabs(load_of(-1)->load - 0.012) < 0.0005 && l.uncertainty < 0.001,
		   "a load of 1.2%% of %d CPUs is known to a tenth of a point", n);
	}
}

/* Of one CPU of two: its own baseline, its own time. */
static void test_one_cpu(void)
{
	two_cpus_init();
	t.from.time = 0;
	t.to = (struct load_sample){.time = 2, .spin = 1, .work = 1};
	ok(near(load_of(0)->load, 0.99 - 0.5) && l.seconds == 2 && l.cpus == 1,
	   "one CPU has the seconds and the baseline that are its own");
}

/* The soakers of two CPUs, whose counts stand still.  No gap is open. */
static struct soaker *two_soakers(void)
{
	struct soaker *s = calloc(1, sizeof(*s) + 2 * sizeof(s->cpu[0]));
	int i;

	if (s == NULL)
		err(EXIT_FAILURE, "soaker");
	s->n = 2;
	s->keeper = 1; /* no child of this process */
	for (i = 0; i < 2; i++) {
		s->cpu[i].last_ns = 1;
		s->cpu[i].gap_min = UINT64_MAX / 2;
		s->cpu[i].gap_ns = 2000000000u + (unsigned)i;
		s->cpu[i].dirty_ns = 500000000;
		s->cpu[i].turns = 900;
		s->cpu[i].tasks_ns = 3000000000u;
		s->cpu[i].host_ns = 4000000000u;
		s->cpu[i].switches = 5;
	}
	return s;
}

static void test_sample(void)
{
	struct soaker *s = two_soakers();
	const struct instrument in = instrument_soak(s);
	struct load_sample sum, each[2];
	double last;

	two_cpus_init();
	in.kind->sample(&in, &t.c, &sum, each);
	last = (double)each[1].ns / 1e9;
	ok(near(each[1].time, last) && near(each[1].spin, (last - 2.500000001) / 0.8),
	   "a soaker spun while it had no gap and did not wait for memory, by its baseline");
	ok(near(each[0].work, 900 / (0.9 * 10)) && near(each[1].work, 900 / (0.8 * 20)),
	   "the work of a soaker is its turns, by its baseline");
	ok(each[0].tasks == 3 && each[0].host == 4 && each[0].switches == 5,
	   "counts of a soaker are in seconds");
	ok(near(sum.time, each[0].time + each[1].time) &&
		   near(sum.spin, each[0].spin + each[1].spin) &&
		   near(sum.work, each[0].work + each[1].work) && sum.tasks == 6 && sum.host == 8 &&
		   sum.switches == 10 && sum.ns == each[1].ns,
	   "the sample of all CPUs is the sum of theirs");
	ok(each[0].steal == sum.steal / 2, "each CPU has its part of the host's time");
	s->cpu[0].gap_min = 1000;
	s->cpu[1].last_ns = 0;
	in.kind->sample(&in, &t.c, &sum, each);
	ok(near(each[0].tasks, each[0].time + 3 - 1e-9) && each[0].spin == 0,
	   "a gap that is open is the time of a task");
	ok(near(each[1].tasks, each[1].time) && each[1].spin == 0,
	   "a soaker that has not begun spun for no time");
	free(s);
}

int main(void)
{
	test_sample();
	test_bursts();
	test_slowing();
	test_many_cpus();
	test_one_cpu();
	test_below_zero();
	test_busy_baseline();
	test_drift();
	test_steal();
	test_formulas();
	test_wake_ups();
	test_host();
	test_disturbed();
	return done();
}
