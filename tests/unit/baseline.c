/* Baselines, and the instrument that soaks, beside soakers, a clock and a kernel that are a script. */
#include "lib/load/baseline.h"

#include "lib/load/keeper.h"
#include "lib/load/statistics.h"
#include "tests/unit/unit.h"

/* Two CPUs that idle, with soakers; the hypervisor takes 0.1 s of each window from the second. */
static struct machine {
	double tasks, others; /* the shares of the first window, and of all, that programs have */
	double seen; /* the part of what the hypervisor takes that a soaker sees; NAN: not known */
	double spin; /* the share of the time that is left in which the second soaker spins */
	unsigned unsafe;  /* what disturbs the second window */
	int64_t boot;     /* the clock that goes on in a suspend */
	int reads, stops; /* readings, and after how many of them a signal comes */
	int checks;       /* whether the soakers have ended */
} the;

static const struct cpus two = {2, {0, 1}};
static _Atomic int stopped;

static uint64_t script_clock(clockid_t clock)
{
	return clock == CLOCK_BOOTTIME ? (uint64_t)the.boot : 7;
}

/* The time of a window that tasks have. */
static double tasks_in(int window)
{
	return 0.25 * (the.others + (window == 0 ? the.tasks : 0.01 * (window % 2)));
}

static void script_count(int i, struct load_sample *c)
{
	int k;

	*c = (struct load_sample){.time = 1, .own = 3, .switches = 5, .cut = 2};
	for (k = 0; k < the.reads - 1; k++) {
		const double left = 0.25 - tasks_in(k) - 0.1 * i;
		const double spun = left * (i == 1 ? the.spin : 0.9);

		c->time += 0.25;
		c->tasks += tasks_in(k);
		c->spin += spun;
		c->work += spun * (k == 0 ? 200 : 100);
		c->stolen += i * the.seen * 0.05355; /* while it spun */
	}
}

static int script_times(const struct cpus *cpus, bool whole, cpu_times *times, uint64_t *ns)
{
	int i;

	*ns = 0;
	for (i = 0; i <= cpus->n; i++)
		times[i][CPU_STEAL] = whole ? 7 + i + (i > 0 ? 0.1 * (the.reads - 1) : 0) : NAN;
	return cpus->n;
}

static void script_limits(struct limits_mark *m)
{
	if (++the.reads == the.stops)
		stopped = 1;
	*m = (struct limits_mark){.now = the.reads == 2 ? the.unsafe : 0};
}

#define clock_ns(clock) script_clock(clock)
#define sleep_ns(ns)    (the.boot += (int64_t)(ns))
#define soaker_start(s, cpus, wait, parks, h)                                                      \
	(*(s) = NULL, (void)(cpus), text_of("wait %g, park %d", wait, parks))
#define soaker_stop(s)                         ((void)&(s), the.reads = -1)
#define soaker_check_or_die(s)                 (the.checks += (s)->whole)
#define soaker_limits(s, m)                    script_limits(m)
#define soak_count(s, i, c)                    script_count(i, c)
#define cpu_times_read(cpus, whole, times, ns) script_times(cpus, whole, times, ns)
#define profile_read(p, counts)                ((counts)->n[0] = 10 * the.reads)
#include "lib/load/baseline.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
#include "lib/load/soaking.c"  /* NOLINT(bugprone-suspicious-include): this, too */

static void show(const char *what, const void *doubles, size_t size)
{
	const double *d = doubles, *end = d + size / sizeof(*d);

	printf("%s:", what);
	for (; d < end; d++)
		printf(" %.5g", near(*d, 0) ? 0 : *d);
	printf("\n");
}

static void show_baselines(const struct calibration *c)
{
	int i;

	printf("%g windows, others %g, unsafe %x, taken at %g s, %g samples, starved: %d\n",
	       c->windows, c->others, c->unsafe, 1e-9 * (double)c->taken_ns, c->profile.n[0],
	       baseline_starved(c));
	show("all", &c->all, sizeof(c->all));
	for (i = 0; i < c->cpus.n; i++)
		show(text_of("CPU %d", c->cpus.id[i]), &c->cpu[i], sizeof(c->cpu[i]));
}

static void show_sample(const char *what, const struct load_sample *s)
{
	printf("%x, %g samples, ", s->limits.now, s->profile.n[0]);
	show(what, s, offsetof(struct load_sample, limits));
}

static struct instrument soakers(void)
{
	struct instrument in = {.kind = &by_soaking,
				.soaker = two_empty_soakers(),
				.profile = (struct profile *)&the};

	in.soaker->whole = true;
	return in;
}

/* Six windows of which five are stored. */
static void measure(const struct machine *machine, struct calibration *c)
{
	const struct instrument in = soakers();
	struct windows *w;
	int k;

	the = *machine;
	*c = (struct calibration){.cpus = two};
	w = windows_start(&in, &c->cpus);
	for (k = 0; k < 6; k++)
		windows_add(w);
	windows_store(w, 5, c);
	free(w);
}

static void test_baselines(void)
{
	static const struct machine rows[] = {
		{.tasks = 0.5, .seen = 1, .spin = 0.9},
		{.tasks = 0.5, .seen = NAN, .spin = 0.9},
		{.others = 0.1, .seen = 1, .spin = 0.05, .unsafe = UNSAFE_SCHEDULER},
		{.seen = 1, .unsafe = UNSAFE_CPU_OFFLINE},
	};
	struct calibration c[LENGTH(rows)];
	struct load_sample at[3] = {{.time = 9}}, one;
	const struct instrument in = soakers();
	size_t i;
	int k;

	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(rows); i++) {
		measure(&rows[i], &c[i]);
		c[i].all.step = c[i].cpu[1].step = 0.003 + (double)i / 2000;
		show_baselines(&c[i]);
	}
	the = rows[0];
	the.reads = 1;
	instrument_read(&in, &two, at, false);
	for (k = -1; k < 2; k++) {
		show_sample("read", &at[k + 1]);
		one = baseline_sample(&c[0], at, k);
		show_sample(text_of("CPU %d", k), &one);
	}
	for (i = 0; i < 2; i++) {
		c[i].kind = i == 0 ? &by_soaking : &by_idle_time;
		printf("drift %.5g\n", baseline_merge(&c[i], &c[2]));
		show_baselines(&c[i]);
	}
	one = baseline_sample(&c[1], at, -1);
	show_sample("idle time", &one);
	for (i = 0; i < LENGTH(rows); i++)
		free(c[i].cpu);
	baseline_none(&in, &c[0]);
	show_baselines(&c[0]);
	free(c[0].cpu);
	expect(captured(), "baselines of five windows, samples by them, and the means of two");
}

static void test_measure(void)
{
	const struct instrument in = soakers();
	struct calibration c = {.cpus = two};
	int i;

	the = (struct machine){.seen = 1, .spin = 0.9, .boot = 1000000000};
	ok(baseline_measure(&in, &c, 8, NULL) && c.windows == 8 && c.taken_ns == 3000000000 &&
		   the.checks == 9,
	   "a baseline takes a quarter of the time of a load, and has the time of its end");
	free(c.cpu);
	the = (struct machine){.seen = 1, .spin = 0.9, .stops = 4};
	ok(!baseline_measure(&in, &c, 8, &stopped) && the.reads == 4, "a signal ends a baseline");
	ok(baseline_windows(1) == 4 && baseline_windows(99) == 20, "a baseline takes 1 to 5 s");
	for (i = 0; i < 4; i++) {
		c.taken_ns = i < 3 ? 5 : 0;
		the.boot = 5 + OLD_NS + i - 1;
		ok(baseline_is_old(&c) == (i == 2),
		   "a baseline is old after more than an hour, but not that of a file: %d", i);
	}
	is(by_soaking.start(&(struct instrument){.wait = 3, .parks = true}, &two), "wait 3, park 1",
	   "soakers start as the instrument says, or say why not");
	by_soaking.stop(&(struct instrument){.wait = 0});
	ok(the.reads == -1, "soakers are stopped");
}

TESTS(test_baselines, test_measure)
