#include "lib/load/baseline.h"
#include "lib/load/cputime.h"
#include "lib/load/idle_clock.h"
#include "lib/load/kernel.h"
#include "lib/load/soaker.h"

#include "tests/unit/script.h"

/*
 * A machine whose time goes on by a microsecond, of this thread, with each look at the clock, by three with each reading, and by
 * each sleep; a fifth of its idle time is iowait.
 */
static struct machine {
	double others; /* the share of the time that other programs have */
	double blind,
		dim;   /* the share of this thread's work that the columns lack, and the clock */
	bool is_still; /* the columns have nothing */
	bool is_silenced, is_asleep; /* the clock is, or sees of the sleeps that end only */
	int seen;                    /* the first ones */
	int missing, bound; /* a CPU without columns, and that of this thread; 0: none, all */
	unsigned denied;    /* a set of CPUs */
	const char *columns, *clock; /* why there are none; NULL: there are */
	int reads, turns, clocks;    /* readings of the clock; turns; clocks that are open */
	unsigned slept;              /* the CPUs on which this thread did */
	uint64_t now, ran;
} the;

static struct idle_clock_cpu clock_counts[8];
static const struct cpus both = {2, {3, 5}};

static void work(uint64_t ns)
{
	the.now += ns;
	the.ran += the.others < 1 ? ns : 0;
}

static uint64_t read_clock(clockid_t clock)
{
	if (++the.reads > 100000000) /* whoever waits for it waits for ever */
		abort();
	if (clock == CLOCK_MONOTONIC_RAW)
		work(1000);
	return clock == CLOCK_THREAD_CPUTIME_ID ? the.ran : the.now;
}

static void pass(uint64_t ns)
{
	the.now += ns;
	the.slept |= the.bound > 0 ? 1u << the.bound : 0;
	if (the.bound > 0 && (!the.is_asleep || the.seen-- > 0))
		clock_counts[the.bound].interrupts++;
}

static double idle_seconds(double lacks)
{
	return 1e-9 * (fmax(0, 1 - the.others) * (double)the.now - (1 - lacks) * (double)the.ran);
}

static int read_columns(const struct cpus *of, cpu_times *at, uint64_t *ns)
{
	double idle;
	int i, n;

	work(3000);
	idle = idle_seconds(the.blind);
	*ns = the.now;
	memset(at, 0, ((size_t)of->n + 1) * sizeof(*at));
	for (i = 0; i <= of->n && !the.is_still; i++) {
		n = i < of->n ? 1 : of->n;
		at[i][CPU_USER] = n * (1e-9 * (double)the.now - idle);
		at[i][CPU_IDLE] = i < of->n && of->id[i] == the.missing ? NAN : n * 0.8 * idle;
		at[i][CPU_IOWAIT] = n * 0.2 * idle;
		at[i][CPU_STEAL] = n * 0.5;
	}
	return of->n;
}

static const char *open_clock(struct idle_clock *c, int last)
{
	c->cpu = clock_counts;
	the.clocks += last == 5;
	return the.clock;
}

static int run_on(int cpu)
{
	the.bound = cpu;
	return the.denied & 1u << cpu ? -1 : 0;
}

#define clock_ns(clock)                     read_clock(clock)
#define sleep_ns(ns)                        pass(ns)
#define cpu_bind(cpu)                       run_on(cpu)
#define sched_getcpu()                      (the.bound)
#define sched_getaffinity(p, n, set)        memset(set, 77, n)
#define sched_setaffinity(p, n, set)        (the.bound = *(const char *)(set) == 77 ? 0 : 1)
#define device_lock(fd, seconds)            (the.turns += (fd) >= 0)
#define busiest_find()                      "; BUSIEST"
#define cpu_times_check(cpus)               (the.columns)
#define idle_clock_open(c, last)            open_clock(c, last)
#define idle_clock_close(c)                 (the.clocks--)
#define idle_clock_is_silenced(c)           (the.is_silenced)
#define idle_clock_seconds(c, cpu, n)       (idle_seconds(the.dim) + (cpu))
#define cpu_times_read(cpus, whole, at, ns) read_columns(cpus, at, ns)
#define cpus_generation(cpus)               ((uint64_t)(cpus)->n)
/* The part itself, for what it has of its own. */
#include "lib/load/idle.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* One second a window, of which each of two CPUs was idle for 0.9; in the second the hypervisor took 0.2. */
static void test_baseline(void)
{
	/* The errors of three readings, iowait, their own time; the tasks, their deviation, the step. */
	static const struct {
		const char *title;
		double v[8];
	} rows[] = {
		{"half of what the hypervisor took is idle time; the first and the last reading err",
		 {.0004, 100, .0005, 0, 0, .125, 0, 1.96 * .03 / 4}},
		{"iowait that rose errs, too",
		 {.0004, 100, .0005, .01, 0, .125, 0, 1.96 * .03 * M_SQRT2 / 4}},
		{"two windows without steps deviate by what they differ",
		 {0, 0, 0, 0, 0, .125, .05 * M_SQRT1_2, 0}},
		{"the readings of windows have the variance of their steps",
		 {.0004, .0004, .0004, 0, 0, .125, .03082207, 1.96 * .0282842712 / 4}},
		{"what the readings took of a window is omitted from it",
		 {0, 0, 0, 0, .02, .115, .05 * M_SQRT1_2, 0}},
	};
	static const struct cpus none = {0}; /* there is only the sum */
	struct windows *w = alloc_or_die(1, sizeof(*w) + 3 * sizeof(w->at[0]), "windows");
	const double *v;
	struct baseline b;
	size_t i;

	w->cpus = &none;
	w->n = 2;
	for (i = 0; i < LENGTH(rows); i++) {
		v = rows[i].v;
		w->at[0] = (struct load_sample){.cut = v[0]};
		w->at[1] = (struct load_sample){.time = 2, .spin = 1.8, .cut = v[1], .own = v[4]};
		w->at[2] = (struct load_sample){.time = 4,
						.spin = 3.4,
						.steal = .2,
						.work = v[3],
						.cut = v[2],
						.own = v[4]};
		b = share(w, 2, 0);
		is(text_of("%.8f %.8f %.8f, %g %g", b.tasks, b.tasks_sd, b.step, b.spin, b.speed),
		   text_of("%.8f %.8f %.8f, 1 1", v[5], v[6], v[7]), "%s", rows[i].title);
	}
	free(w);
}

/* The variance of bursts is found beside errors of steps, which both ends of a window have. */
static void test_deviation(void)
{
	double errors[WINDOWS_MAX + 1], busy[WINDOWS_MAX], variance = 0, steps = 0;
	const int times = 2000, n = 10;
	int i, k;

	srand48(1);
	for (i = 0; i < times; i++) {
		for (k = 0; k <= n; k++)
			errors[k] = drand48() - 0.5;
		for (k = 0; k < n; k++)
			busy[k] = errors[k + 1] - errors[k];
		steps += pow(deviation_of(busy, n, 1.0 / 12), 2) / times;
		for (k = 0; k < n; k++)
			busy[k] += 3 * (drand48() - 0.5);
		variance += pow(deviation_of(busy, n, 1.0 / 12), 2) / times;
	}
	ok(steps < 0.29 / 12 && fabs(variance - 9.0 / 12) < 0.05 * 9 / 12,
	   "of the steps' variance less than a seventh is taken for bursts, which are found");
}

/* Samples of CPUs 3 and 5, and of both; errors are in steps of the columns. */
static void test_readings(void)
{
	static const struct {
		const char *title;
		struct machine machine;
		bool has_clock, is_whole, for_baseline;
		int online;
	} rows[] = {
		{"columns", .machine = {.bound = 5}, .online = 2},
		{"the kernel's sum", .machine = {.bound = 0}, .is_whole = true, .online = 2},
		{"a baseline", .machine = {.bound = 3}, .for_baseline = true, .online = 2},
		{"a baseline of the whole", .machine = {.bound = 4}, .is_whole = true,
		 .for_baseline = true, .online = 2},
		{"the clock", .machine = {.bound = 3}, .has_clock = true, .for_baseline = true,
		 .online = 2},
		{"a clock that is silenced", .machine = {.is_silenced = true}, .has_clock = true,
		 .online = 2},
		{"a CPU more", .machine = {.bound = 3}, .online = 1},
		{"a CPU less", .machine = {.missing = 3}, .has_clock = true, .online = 2},
	};
	const double even[] = {0, 0.25, 0.5, 2.75}, hz = (double)sysconf(_SC_CLK_TCK);
	struct idle_clock clock = {.cpu = clock_counts};
	struct instrument in;
	struct load_sample at[3], *s;
	size_t i;

	script.calls[0] = '\0';
	for (i = 0; i < LENGTH(rows); i++) {
		the = rows[i].machine;
		the.others = 0.25;
		the.now = 8000000000;
		in = (struct instrument){.clock = rows[i].has_clock ? &clock : NULL,
					 .whole = rows[i].is_whole,
					 .online = rows[i].online};
		read_all(&in, &both, at, rows[i].for_baseline);
		note("%s:", rows[i].title);
		for (s = at; s < at + 3; s++)
			note(" %.6f %.6f %g %g %.0f %.4f %x %d %g%s", s->time, s->spin, s->work,
			     s->steal, 1e6 * s->own, sqrt(s->cut) * hz, s->limits.now,
			     (int)s->limits.lost, s->tasks, s == at + 2 ? "\n" : ";");
	}
	/* Time, idle time, iowait, steal, the readings' own time in us, error in steps, reasons, CPUs, tasks. */
	expect(script.calls, "CPU 3, CPU 5 and the sum of both have a sample");
	ok(near(cut_variance(even, 1, 9), 1.0 / 12) && near(cut_variance(even, 4, 4), 1.0 / 12) &&
		   near(cut_variance(even, 4, 1), 1.0 / 12 / 16),
	   "readings that are whole steps apart err like one, and those that divide a step by the part");
}

/* That a load is not measured takes three lines, also with the longest values, and where two sources have reasons. */
static void test_messages(void)
{
	static const char busiest[] =
		"; the busiest program was name-of-a-task- (pid 4194304), 6400% of a CPU";

	ok(is_short(text_of(NEITHER, text_of(NOT_RIGHT, "the kernel does", CPUS_MAX),
			    KERNEL_BTF ": No such file or directory: the kernel needs "
				       "CONFIG_DEBUG_INFO_BTF",
			    soak_instead())) &&
		   is_short(text_of("--idle: " NOT_COUNTED, CPUS_MAX, soak_instead())) &&
		   is_short(text_of("--idle: " NEVER_SLEEPS, CPUS_MAX, wait_for_others(),
				    busiest)) &&
		   is_short(text_of("--idle: " IS_BUSY, 100., wait_for_others(), busiest)),
	   "the longest reasons take three lines");
}

/* What a machine shows of its CPUs 3 and 5, and what follows: the source, or why idle time is not measured. */
static void test_trial(void)
{
	static const struct {
		const char *title;
		struct machine machine;
		const char *program;
		const struct instrument_kind *kind;
	} rows[] = {
		{"a kernel that counts", .machine = {.others = 0}},
		{"other programs that go on", .machine = {.others = 0.3}},
		{"one CPU of the two", .machine = {.denied = 8}},
		{"the other one", .machine = {.denied = 32}},
		{"columns that lack some work", .machine = {.blind = 0.3}},
		{"a clock that lacks some", .machine = {.dim = 0.3}, .kind = &by_clock},
		{"no time to sleep", .machine = {.others = 1}},
		{"too many programs", .machine = {.others = 0.5, .blind = 1}},
		{"no time to sleep on a server", .machine = {.others = 1}, .program = "zcs"},
		{"columns that stand still", .machine = {.is_still = true}},
		{"a CPU without columns", .machine = {.missing = 3}, .program = "cyclesoak"},
		{"another one", .machine = {.missing = 5}},
		{"columns that lack work, and no clock",
		 .machine = {.blind = 1, .clock = "no BPF"}},
		{"columns that lack work", .machine = {.blind = 1}},
		{"no columns", .machine = {.columns = "CPU 3 is in nohz_full"}},
		{"no CPU for this thread", .machine = {.denied = 40}},
		{"a clock that counts", .kind = &by_clock},
		{"no clock", .machine = {.clock = "no BPF"}, .kind = &by_clock},
		{"a clock that is silenced", .machine = {.is_silenced = true}, .kind = &by_clock},
		{"a clock that sees half of the interrupts",
		 .machine = {.is_asleep = true, .seen = 27}, .kind = &by_clock},
		{"a clock that sees less", .machine = {.is_asleep = true, .seen = 26},
		 .kind = &by_clock},
	};
	char *const name = program_invocation_short_name;
	struct instrument in;
	const char *why;
	size_t i;

	script.calls[0] = '\0';
	for (i = 0; i < LENGTH(rows); i++) {
		memset(clock_counts, 0, sizeof(clock_counts));
		the = rows[i].machine;
		in = (struct instrument){.kind = rows[i].kind != NULL ? rows[i].kind
								      : &by_idle_time};
		program_invocation_short_name = (char *)(rows[i].program != NULL ? rows[i].program
										 : "zcc");
		why = start(&in, &both);
		program_invocation_short_name = name;
		note("%x %d %d %x %d ", in.missing, the.bound, the.turns,
		     in.clock != NULL ? the.slept : 0, the.clocks - (in.clock != NULL));
		stop(&in);
		note("%d %s: %s\n", the.clocks + (in.clock != NULL), rows[i].title,
		     why != NULL ? why : in.kind->source);
	}
	/* What is missing, the CPU and turns of the thread, where it slept, and clocks that are left. */
	expect(script.calls, "a trial decides whether idle time is measured, and leaves nothing");
}

TESTS(test_baseline, test_deviation, test_readings, test_messages, test_trial)
