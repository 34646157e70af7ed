#include "lib/load/load.h"

#include "lib/load/statistics.h"

#include "lib/load/baseline.h"
#include "lib/load/keeper.h"
#include "tests/unit/unit.h"

/* load_between() with the means of the CPUs' baselines, as a baseline has them. */
static void between(const struct calibration *c, const struct load_sample *from,
		    const struct load_sample *to, int i, struct load *l)
{
	struct calibration with = *c;
	int k;

	for (k = 0; k < c->cpus.n; k++) {
		with.all.tasks += c->cpu[k].tasks / c->cpus.n;
		with.all.spin += c->cpu[k].spin / c->cpus.n;
		with.all.drift += c->cpu[k].drift / c->cpus.n;
	}
	load_between(&with, from, to, i, l);
}

/* What disturbed the soakers of two CPUs. */
static void test_disturbed(void)
{
	struct baseline b[2] = {{.spin = 1, .speed = 1}, {.spin = 1, .speed = 1}};
	struct calibration c = {.cpus = {.n = 2}, .cpu = b};
	struct load_sample from = {.time = 2}, to = {.time = 6};
	struct load l;

	to.spin = to.work = 3;
	to.limits = (struct limits_mark){.now = UNSAFE_CLOCK_SLOW, .moved = 1, .stops = 1};
	between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.25) && l.cpus == 2 &&
		   l.unsafe == (UNSAFE_CLOCK_SLOW | UNSAFE_SOAKER_MOVED | UNSAFE_SOAKER_STOPPED),
	   "the load of a time in which soakers were moved or stopped is unsafe");
	from.limits = to.limits;
	between(&c, &from, &to, -1, &l);
	ok(l.unsafe == UNSAFE_CLOCK_SLOW,
	   "what happened before a measurement makes no load unsafe, what still holds does");
	to.limits.lost = 1;
	between(&c, &from, &to, -1, &l);
	ok(isnan(l.load) && l.unsafe == (UNSAFE_CLOCK_SLOW | UNSAFE_CPU_OFFLINE),
	   "a time in which a CPU went offline has no load, and the reason");
	from.limits = to.limits;
	between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.25) && l.unsafe == UNSAFE_CLOCK_SLOW, "the time after it has one");
}

/* Two CPUs: the load is what the formulas of zc(7) make of the samples. */
struct two_cpus {
	struct baseline b[2];
	struct calibration c;
	struct load_sample from, to;
};

static void two_cpus_init(struct two_cpus *t)
{
	memset(t, 0, sizeof(*t));
	t->b[0] = (struct baseline){.tasks = 0.01, .spin = 0.9, .speed = 10};
	t->b[1] = (struct baseline){.tasks = 0.03, .spin = 0.8, .speed = 20};
	t->c.cpus.n = 2;
	t->c.cpu = t->b;
	t->from.time = 2;
	t->to.time = 6;
}

static void test_formulas(void)
{
	static struct two_cpus t;
	struct load_sample one = {.time = 4};
	struct load l;

	two_cpus_init(&t);
	t.to.spin = t.to.work = 0.98 * 4; /* all that is left beside the mean tasks */
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(near(l.load, 0) && near(l.slowed, 0) && l.seconds == 2 && near(l.uncertainty, 0.0015),
	   "an idle machine has no load");
	t.to.spin = 2;
	t.to.work = 1.5;
	between(&t.c, &t.from, &t.to, -1, &l);
	/* 0.85 of the time was left on the idle machine, and 0.8 were it slowed by a quarter. */
	ok(near(l.load, 0.98 - 0.5 * 0.85 / 0.8) && near(l.slowed, 0.25),
	   "half of the time is taken, and the rest is slowed by a quarter");
	between(&t.c, &t.from, &one, 1, &l);
	ok(near(l.load, 0.97) && l.slowed == 0, "one CPU that is wholly taken");
	between(&t.c, &t.to, &t.to, -1, &l);
	ok(isnan(l.load), "no time has no load");
	between(&t.c, &t.to, &t.from, -1, &l);
	ok(isnan(l.load) && l.seconds == 0, "samples in the wrong order have no load");
	t.to.spin = t.to.work = 0;
	t.from.tasks = 0.001;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(l.tasks == 0, "the share of tasks is never below 0");
}

static void test_wake_ups(void)
{
	static struct two_cpus t;
	struct load l;

	two_cpus_init(&t);
	t.to.spin = t.to.work = 2;
	t.to.switches = 100000;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(near(l.load, 0.48) && near(l.switches, 50000),
	   "wake-ups are counted, and nothing is subtracted for them");
}

static void test_host(void)
{
	static struct two_cpus t;
	struct load l;

	two_cpus_init(&t);
	t.to.spin = t.to.work = 2;
	t.to.host = 0.1;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(near(l.load, 0.48), "where the kernel counts no steal, no host took time");
	t.from.steal = 7;
	t.to.steal = 7.19;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(near(l.load, 0.48 - 0.2 / 4), "the host took what the soakers saw, in proportion");
	t.to.steal = 7.1;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(near(l.load, 0.48 - 0.11 / 4),
	   "the host took a tick more than the kernel counted at most");
	t.to.host = 1;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(near(l.load, 0.48 - 0.1 / 4),
	   "the host took no more than was counted, whatever soakers saw");
}

/* A CPU that had 30 % of its time for its soaker when it was calibrated has all of it now. */
static void test_below_zero(void)
{
	struct baseline b[1] = {{.spin = 0.9, .speed = 1}};
	struct calibration c = {.cpus = {.n = 1}, .cpu = b};
	struct load_sample from = {.time = 1}, to = {.time = 3};
	struct load l;

	to.spin = to.work = 2 * 1.04;
	between(&c, &from, &to, -1, &l);
	ok(near(l.load, -0.04) && l.unsafe == 0, "a load a little below 0 is safe");
	to.spin = to.work = 2 / 0.3;
	between(&c, &from, &to, -1, &l);
	ok(isnan(l.load) && isnan(l.uncertainty) && l.unsafe == UNSAFE_CALIBRATION,
	   "a load far below 0 is none, and has that reason");
	c.all.spin_sd = 5;
	between(&c, &from, &to, -1, &l);
	ok(l.load < -2 && l.unsafe == 0, "a load far below 0 that is as uncertain is safe");
}

/* Other programs had a third of the machine in its baseline. */
static void test_busy_baseline(void)
{
	static struct two_cpus t;
	struct load l;

	two_cpus_init(&t);
	t.to.spin = t.to.work = 2;
	t.b[0].tasks = 0.55;
	t.c.others = 0.29;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(!isnan(l.load) && l.unsafe == UNSAFE_BASELINE_BUSY,
	   "a baseline of which tasks had 29 %% makes a load unsafe");
	t.b[0].tasks = 0.58;
	t.c.others = 0.305;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(isnan(l.load) && isnan(l.uncertainty) && l.unsafe == UNSAFE_BASELINE_BUSY,
	   "a baseline of which tasks had more than 30 %% leaves no load, and the reason");
	between(&t.c, &t.from, &t.to, 1, &l);
	ok(isnan(l.load) && l.unsafe == UNSAFE_BASELINE_BUSY,
	   "nor has a single CPU a load then, but the reason");
	t.b[0].tasks = 0;
	t.c.others = 0.31;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(isnan(l.load) && l.unsafe == UNSAFE_BASELINE_BUSY && near(l.others, 0.31),
	   "one of two baselines of which tasks had more than 30 %% leaves no load");
}

static void test_drift(void)
{
	static struct two_cpus t;
	struct load l;

	two_cpus_init(&t);
	t.to.spin = t.to.work = 2;
	t.b[0].drift = -0.3;
	t.b[1].drift = -0.08;
	between(&t.c, &t.from, &t.to, -1, &l);
	ok(near(l.uncertainty, 0.19 / 2),
	   "half of the interval is half of the drift of the baselines at least");
}

/* One CPU of a virtual machine, of which the kernel counts what the host takes. */
static void test_steal(void)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	struct baseline b[1] = {{.spin = 1, .speed = 1}};
	struct calibration c = {.cpus = {.n = 1}, .cpu = b};
	struct load_sample from = {.time = 1, .steal = 7}, to = {.time = 3};
	struct load l;

	to.spin = to.work = 1.5;
	to.steal = 7.2;
	between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.25 - (0.2 - tick) / 2) && near(l.uncertainty, hypot(0.003, tick / 2)),
	   "what no soaker saw of the host is uncertain by a tick");
	from.steal = NAN;
	between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.25), "without a first reading of the host's time nothing is subtracted");
	from.steal = 7;
	to.steal = NAN;
	between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.25), "without a last reading of the host's time nothing is subtracted");
	to.steal = 3;
	between(&c, &from, &to, -1, &l);
	ok(near(l.load, 0.25),
	   "where the counter of the host's time stepped back nothing is subtracted");
	to.steal = 8;
	to.spin = to.work = 2;
	between(&c, &from, &to, -1, &l);
	ok(near(l.load, -tick / 2), "the host took no time in which the soakers spun");
}

/* One CPU in 1 s: its edges are worth 6 ms. */
struct one_cpu {
	struct baseline b[1];
	struct calibration c;
	struct load_sample from, to;
};

static void one_cpu_init(struct one_cpu *o)
{
	*o = (struct one_cpu){.b = {{.spin = 1, .speed = 1}},
			      .c = {.cpus = {.n = 1}, .windows = 2}};
	o->c.cpu = o->b;
	o->from = (struct load_sample){.time = 1};
	o->to = (struct load_sample){.time = 2, .spin = 1, .work = 1};
}

static void test_bursts(void)
{
	const double t = student_t(15) * 0.01;
	static struct one_cpu o;
	struct load l;

	one_cpu_init(&o);
	o.c.all.tasks_sd = 0.01;
	o.c.windows = 16;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.uncertainty, hypot(0.006, hypot(t / 2, t / 4))),
	   "in 1 s the bursts of tasks are worth half of those in a window of a quarter");
	ok(near(l.shared, 0.006), "what its own baselines do not know varies between runs");
	o.to.time = 101;
	o.to.spin = o.to.work = 100;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.uncertainty, hypot(0.00006, hypot(t / 20, t / 4))),
	   "the error of a baseline of 16 windows does not shrink with the length of the run");
	o.c.shared = true;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.shared, hypot(0.00006, t / 4)), "all loads share the error of a file's baseline");
	o.from = (struct load_sample){.time = 1.9, .spin = 0.9, .work = 0.9};
	o.to = (struct load_sample){.time = 2, .spin = 1, .work = 1};
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.uncertainty, hypot(0.06, hypot(t, t / 4))),
	   "in less than a window the bursts of tasks are no more than in one");
	o.c.all.spin_sd = 0.1;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.shared, hypot(hypot(0.06, 0.2), t / 4)),
	   "all loads share the error of the share that soakers spin, too");
}

/* What the host and the slowing add to the uncertainty. */
static void test_slowing(void)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	static struct one_cpu o;
	struct load l;

	one_cpu_init(&o);
	o.to.work = 0.8;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.slowed, 0.2) && near(l.uncertainty, 0.006),
	   "where no host takes time a slowing makes no load uncertain");
	o.from.steal = o.to.steal = 7;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.uncertainty, hypot(hypot(0.006, 0.02), 0)) && near(l.shared, l.uncertainty),
	   "where the host takes time a tenth of the slowing is uncertain");
	o.to.work = 0.2;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.uncertainty, hypot(0.006, 0.05)),
	   "a slowing of more than half is no more uncertain than that");
	o.to.work = o.to.spin = 0.5;
	o.from.steal = 0.1;
	o.to.steal = 0.3;
	o.to.host = 0.1;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.load, 0.5 - 0.2) && near(l.uncertainty, hypot(0.006, tick)),
	   "the host's time is subtracted from its first second on");
	o.to.host = 0.2 * 1.1 + tick + 1e-6;
	between(&o.c, &o.from, &o.to, -1, &l);
	ok(near(l.load, 0.5 - 0.2),
	   "what soakers saw beyond the count of the host was not the host");
}

/* A transfer that takes 1.2 % of many CPUs for 3 s, where the traffic slows all by a fifth. */
static void test_many_cpus(void)
{
	static struct baseline b[256];
	struct calibration c = {
		.cpu = b, .windows = 8, .all = {.spin_sd = 0.0001, .tasks_sd = 0.0002}};
	struct load_sample from = {.time = 0}, to = {.time = 0};
	struct load l;
	int i, n;

	for (i = 0; i < 256; i++)
		b[i] = (struct baseline){.tasks = 0.001, .spin = 0.999, .speed = 1};
	for (n = 128; n <= 256; n += 128) {
		c.cpus.n = n;
		to.time = 3 * n;
		to.spin = 3 * n * (0.999 - 0.012);
		to.work = 0.8 * to.spin;
		between(&c, &from, &to, -1, &l);
		ok(fabs(l.load - 0.012) < 0.0005 && l.uncertainty < 0.001,
		   "a load of 1.2%% of %d CPUs is known to a tenth of a point", n);
	}
}

/* Of one CPU of two: its own baseline, its own time. */
static void test_one_cpu(void)
{
	static struct two_cpus t;
	struct load l;

	two_cpus_init(&t);
	t.from.time = 0;
	t.to = (struct load_sample){.time = 2, .spin = 1, .work = 1};
	between(&t.c, &t.from, &t.to, 0, &l);
	ok(near(l.load, 0.99 - 0.5) && l.seconds == 2 && l.cpus == 1,
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
	static struct two_cpus t;
	struct soaker *s = two_soakers();
	const struct instrument in = instrument_soak(s);
	struct load_sample sum, each[2];
	double last;

	two_cpus_init(&t);
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
