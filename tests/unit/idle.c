#include "lib/load/baseline.h"
#include "lib/load/cputime.h"
#include "lib/load/idle_clock.h"
#include "lib/load/kernel.h"
#include "lib/load/soaker.h"

/*
 * A machine whose time goes on by a microsecond, of this thread, with each look at the clock, and by each sleep; a fifth
 * of its idle time is iowait.
 */
static struct machine {
	bool is_on;
	double others;               /* the share of the time that other programs have */
	bool is_blind, is_still;     /* the columns do not have this thread's work, or anything */
	bool is_silenced, is_asleep; /* the clock is, or does not see what ends a sleep */
	int missing, bound; /* a CPU without columns, and that of this thread; 0: none, all */
	unsigned denied;    /* a set of CPUs */
	const char *columns, *clock; /* why there are none; NULL: there are */
	int reads, turns, clocks;    /* readings of the clock; turns; clocks that are open */
	unsigned slept;              /* the CPUs on which this thread did */
	uint64_t now, ran;
} the;

static uint64_t read_clock(clockid_t clock)
{
	if (!the.is_on)
		return clock_ns(clock);
	if (++the.reads > 100000000) /* whoever waits for it waits for ever */
		abort();
	if (clock == CLOCK_MONOTONIC_RAW) {
		the.now += 1000;
		the.ran += the.others < 1 ? 1000 : 0;
	}
	return clock == CLOCK_THREAD_CPUTIME_ID ? the.ran : the.now;
}

static struct idle_clock_cpu clock_counts[8];

static void pass(uint64_t ns)
{
	the.now += ns;
	the.slept |= the.bound > 0 ? 1u << the.bound : 0;
	if (!the.is_asleep && the.bound > 0)
		clock_counts[the.bound].interrupts++;
}

static double idle_seconds(bool is_blind)
{
	return 1e-9 *
	       (fmax(0, 1 - the.others) * (double)the.now - (is_blind ? 0 : (double)the.ran));
}

static int read_columns(const struct cpus *cpus, cpu_times *at, uint64_t *ns)
{
	const double idle = idle_seconds(the.is_blind);
	int i, n;

	*ns = the.now;
	memset(at, 0, ((size_t)cpus->n + 1) * sizeof(*at));
	for (i = 0; i <= cpus->n && !the.is_still; i++) {
		n = i < cpus->n ? 1 : cpus->n;
		at[i][CPU_USER] = n * (1e-9 * (double)the.now - idle);
		at[i][CPU_IDLE] = i < cpus->n && cpus->id[i] == the.missing ? NAN : n * 0.8 * idle;
		at[i][CPU_IOWAIT] = n * 0.2 * idle;
	}
	return cpus->n;
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

#define clock_ns(clock) read_clock(clock)
#define sleep_ns(ns)    (the.is_on ? pass(ns) : sleep_ns(ns))
#define cpu_bind(cpu)   (the.is_on ? run_on(cpu) : (cpu_bind)(cpu))
#define sched_getaffinity(p, n, set)                                                               \
	(the.is_on ? (memset(set, 77, n), 0) : (sched_getaffinity)(p, n, set))
#define sched_setaffinity(p, n, set)                                                               \
	(the.is_on ? the.bound = *(const char *)(set) == 77 ? 0 : 1                                \
		   : (sched_setaffinity)(p, n, set))
#define device_lock(fd, seconds)  (the.turns += (fd) >= 0)
#define busiest_find()            "; BUSIEST"
#define cpu_times_check(cpus)     (the.columns)
#define idle_clock_open(c, last)  open_clock(c, last)
#define idle_clock_close(c)       (the.clocks--)
#define idle_clock_is_silenced(c) (the.is_on ? the.is_silenced : (idle_clock_is_silenced)(c))
#define idle_clock_seconds(c, cpu, n)                                                              \
	(the.is_on ? idle_seconds(false) : (idle_clock_seconds)(c, cpu, n))
#define cpu_times_read(cpus, whole, at, ns)                                                        \
	(the.is_on ? read_columns(cpus, at, ns) : (cpu_times_read)(cpus, whole, at, ns))

/* The part itself, for what it has of its own. */
#include "lib/load/idle.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

/* One second a window, of which each of two CPUs was idle for 0.9; in the second the hypervisor took 0.2. */
static void test_baseline(void)
{
	static const struct cpus none = {0};
	struct windows *w = alloc_or_die(1, sizeof(*w) + 3 * sizeof(w->at[0]), "windows");
	struct baseline b;

	w->cpus = &none; /* there is only the sum */
	w->n = 2;
	w->at[0].cut = 0.0004;
	w->at[1] = (struct load_sample){.time = 2, .spin = 1.8, .cut = 100};
	w->at[2] = (struct load_sample){.time = 4, .spin = 3.4, .steal = 0.2, .cut = 0.0005};
	b = share(w, 2, 0);
	ok(near(b.tasks, 1 - (3.4 + 0.1) / 4) && b.spin == 1 && b.tasks_sd == 0,
	   "half of what the hypervisor took was taken from idleness");
	ok(near(b.step, 1.96 * 0.03 / 4),
	   "the error of the steps is that of the first and the last reading");
	w->at[2].work = 0.01;
	ok(near(share(w, 2, 0).step, sqrt(2) * b.step), "iowait that rose has an error of its own");
	w->at[0].cut = w->at[1].cut = w->at[2].cut = 0;
	ok(near(share(w, 2, 0).tasks_sd, fabs(0.1 - 0.15) / sqrt(2)),
	   "two windows without steps deviate by what they differ");
	w->at[0].cut = w->at[1].cut = w->at[2].cut = 0.0004;
	ok(near(share(w, 2, 0).tasks_sd, deviation_of((double[]){0.1, 0.15}, 2, 6 * 0.0004 / 16)),
	   "each reading of windows has the variance of its steps");
	w->at[0].cut = w->at[1].cut = w->at[2].cut = 0;
	w->at[1].own = w->at[2].own = 0.02;
	ok(near(share(w, 2, 0).tasks, b.tasks - 0.01) &&
		   near(share(w, 2, 0).tasks_sd, fabs(0.1 - 0.15) / sqrt(2)),
	   "what the readings took of a window is omitted from it");
	free(w);
}

/* Windows of errors and of bursts with a known variance. */
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
	ok(steps < 0.29 / 12,
	   "of the variance of steps at both ends less than a seventh is taken for bursts");
	ok(fabs(variance - 9.0 / 12) < 0.05 * 9 / 12, "bursts are found beside steps");
	ok(near(deviation_of((double[]){0.01, 0.03}, 2, 0), sqrt(2) * 0.01) &&
		   deviation_of((double[]){0.01, 0.03}, 2, 0.01) == 0,
	   "windows deviate from their mean, unless they differ by less than a step");
}

/* CPU 0 of this machine, by a mean of readings and by one that follows. */
static void test_readings(void)
{
	struct instrument in = {.whole = false};
	const struct cpus first = {1, {0}}, both = {2, {0, CPUS_MAX - 1}};
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK), even[] = {0, 0.25, 0.5, 2.75};
	const uint64_t begun = raw_ns();
	struct load_sample mean[3], last[3];
	cpu_mask all;

	sched_getaffinity(0, sizeof(all), all);
	ok(near(cut_variance(even, 1, 9), 1.0 / 12) && near(cut_variance(even, 4, 4), 1.0 / 12) &&
		   near(cut_variance(even, 4, 1), 1.0 / 12 / 16),
	   "readings that are whole steps apart err like one, and those that divide a step by the part");
	cpu_bind(0);
	read_all(&in, &first, mean, true);
	sched_setaffinity(0, sizeof(all), all);
	ok(mean[0].own > 0 && mean[0].own < 1 && mean[1].own == mean[0].own,
	   "what the readings of a baseline take of a CPU is counted, to be omitted");
	read_all(&in, &first, last, false);
	ok(mean[0].time > (double)begun / 1e9 && last[0].time - mean[0].time > 4e-3 &&
		   near(last[0].cut, tick * tick / 12) && near(last[1].cut, last[0].cut) &&
		   mean[0].cut < last[0].cut / 2,
	   "the readings are spread over a tick");
	read_all(&in, &(const struct cpus){1, {CPUS_MAX - 1}}, mean, true);
	ok(mean[0].own == 0 && mean[1].own == 0, "what is read elsewhere is not omitted");
	read_all(&in, &both, mean, false);
	in.whole = true;
	read_all(&in, &both, last, false);
	ok(near(mean[2].cut, 2 * mean[0].cut) && near(last[2].cut, last[0].cut),
	   "a sum of lines of /proc/stat has the steps of each, and the kernel's sum those of one");
}

/* CPUs that go offline. */
static void test_away(void)
{
	const struct cpus first = {1, {0}}, both = {2, {0, CPUS_MAX - 1}};
	const struct instrument in = {&by_idle_time, .online = CPUS_MAX};
	struct load_sample at[3], later[3];

	read_all(&in, &first, at, false);
	read_all(&in, &first, later, false);
	ok(at[0].limits.lost != 0 && at[1].limits.lost == at[0].limits.lost &&
		   limits_between(&at[1].limits, &later[1].limits) == 0,
	   "a CPU that stays online has the same number");
	read_all(&in, &both, later, false);
	ok(later[2].limits.now == UNSAFE_CPU_OFFLINE, "a CPU that is offline is a reason");
}

/* CPU 0 has been idle for 2 s, and was for 3 s before. */
static void test_clock(void)
{
	const struct idle_clock_cpu counts = {.word = 6000000001 - 2 * (now_ns() - 2000000000)};
	struct idle_clock clock = {.cpu = &counts, .setting = -1, .watch = -1};
	const struct instrument in = {&by_clock, .clock = &clock, .whole = true,
				      .online = CPUS_MAX};
	struct load_sample at[2];

	read_all(&in, &(const struct cpus){1, {0}}, at, false);
	ok(at[0].spin >= 5 && at[0].spin < 60 && at[1].spin == at[0].spin && at[1].work == 0 &&
		   at[0].time <= (double)now_ns() / 1e9 && at[0].cut == 0 &&
		   at[0].limits.now != UNSAFE_CPU_OFFLINE,
	   "with the clock idle time is the clock's, in step with its time, and has no steps");
}

/* Each message with its longest values: each reason of the columns stands beside each of the clock. */
static void test_messages(void)
{
	static const char busiest[] =
		"; the busiest program was name-of-a-task- (pid 4194304), 6400% of a CPU";
	const char *columns[] = {text_of(NOT_RIGHT, "the kernel does", CPUS_MAX),
				 "CPU 8191 is in nohz_full, and its idle time is not measured",
				 "Linux 7.2.13+deb14-cloud-amd64 does not measure idle time"};
	const char *clock[] = {KERNEL_BTF ": No such file or directory: the kernel needs "
					  "CONFIG_DEBUG_INFO_BTF",
			       SILENCED, text_of(NOT_SEEN, CPUS_MAX),
			       text_of(NOT_RIGHT, "BPF programs do", CPUS_MAX)};
	size_t i;

	for (i = 0; i < LENGTH(columns) * LENGTH(clock); i++)
		ok(is_short(text_of(NEITHER, columns[i % LENGTH(columns)],
				    clock[i / LENGTH(columns)], soak_instead())),
		   "two reasons take three lines: %zu", i);
	ok(strlen(clock[0]) <= WHY_MOST, "tests of the clock know the longest");
	ok(is_short(text_of("--idle: " NOT_COUNTED, CPUS_MAX, soak_instead())) &&
		   is_short(text_of("--idle: " NEVER_SLEEPS, CPUS_MAX, wait_for_others(),
				    busiest)) &&
		   is_short(text_of("--idle: " IS_BUSY, 100., wait_for_others(), busiest)),
	   "so do those about other programs");
}

/* Two CPUs that were idle for 6 of 8 s, by the columns and by the clock, and a CPU that comes online. */
static void test_sources(void)
{
	const struct cpus cpus = {2, {3, 5}};
	struct idle_clock clock = {.cpu = clock_counts};
	struct instrument in = {.online = 2};
	struct load_sample at[3];

	memset(&the, 0, sizeof(the));
	the.is_on = true;
	the.others = 0.25;
	the.now = 8000000000;
	read_all(&in, &cpus, at, false);
	ok(near(at[1].spin, 6) && near(at[1].work, 1.2) && near(at[1].time, 8) &&
		   near(at[2].spin, 12) && near(at[2].time, 16) && at[2].limits.now == 0,
	   "idle time is that of both columns, of each CPU and of all");
	in.clock = &clock;
	read_all(&in, &cpus, at, false);
	ok(near(at[1].spin, 6) && near(at[2].spin, 12) && at[1].work == 0 && at[2].work == 0,
	   "the clock has no iowait");
	in.online = 1;
	the.missing = 3;
	read_all(&in, &cpus, at, false);
	ok(isnan(at[0].spin) && near(at[1].spin, 6) && isnan(at[2].spin) &&
		   at[0].limits.now == (UNSAFE_CPU_ONLINE | UNSAFE_CPU_OFFLINE),
	   "a CPU that came online is a reason, and one that is offline has no idle time, nor has the sum");
	the.is_on = false;
}

#define NO_COLUMNS "CPU 3 is in nohz_full"
#define NO_CLOCK   "no BPF"
#define CLOCK_ONLY "--idle=clock: "
#define UNCOUNTED(cpu)                                                                             \
	"--idle: /proc/stat cannot be read, or does not count CPU " cpu                            \
	" (a container may have one of its own): "

/* What a machine shows of its CPUs 3 and 5, and what follows: the source, or why idle time is not measured. */
static void test_trial(void)
{
	static const struct {
		const char *title;
		struct machine machine;
		const char *want, *program;
		const struct instrument_kind *kind;
		unsigned lacks;
	} rows[] = {
		{"a kernel that counts", .want = "columns"},
		{"other programs that go on", {.others = 0.3}, .want = "columns"},
		{"one CPU of the two", {.denied = 8}, .want = "columns"},
		{"no time to sleep",
		 {.others = 1},
		 .lacks = UNSAFE_BASELINE_BUSY,
		 .want = "--idle: CPU 5 never sleeps, since programs run, spin or soak there: "
			 "give --wait-idle SECS; BUSIEST"},
		{"too many programs",
		 {.others = 0.5, .is_blind = true},
		 .lacks = UNSAFE_BASELINE_BUSY,
		 .want = "--idle: the machine is busy, or others measure now: they had 50% of a "
			 "CPU in a trial: give --wait-idle SECS; BUSIEST"},
		{"no time to sleep on a server",
		 {.others = 1},
		 .program = "zcs",
		 .lacks = UNSAFE_BASELINE_BUSY,
		 .want = "--idle: CPU 5 never sleeps, since programs run, spin or soak there: start "
			 "again when they rest; BUSIEST"},
		{"columns that stand still",
		 {.is_still = true},
		 .lacks = UNSAFE_NOT_MEASURED,
		 .want = UNCOUNTED("5") "try -c"},
		{"a CPU without columns",
		 {.missing = 3},
		 .program = "cyclesoak",
		 .want = UNCOUNTED("3") "omit --idle"},
		{"columns that lack work, and no clock",
		 {.is_blind = true, .clock = NO_CLOCK},
		 .want = "--idle: the kernel does not measure the idle time of CPU 5; " NO_CLOCK
			 "; or try -c"},
		{"columns that lack work", {.is_blind = true}, .want = "clock"},
		{"no columns", {.columns = NO_COLUMNS}, .want = "clock"},
		{"no CPU for this thread",
		 {.denied = 40},
		 .want = "--idle: this program may run on none of the measured CPUs: check the "
			 "cpuset, or choose others by --on-cpus; this program may not run on CPU "
			 "3: check the cpuset, or choose others by --on-cpus; or try -c"},
		{"a clock that counts", .kind = &by_clock, .want = "clock"},
		{"no clock", {.clock = NO_CLOCK}, .kind = &by_clock, .want = CLOCK_ONLY NO_CLOCK},
		{"a clock that is silenced",
		 {.is_silenced = true},
		 .kind = &by_clock,
		 .lacks = UNSAFE_NOT_MEASURED,
		 .want = CLOCK_ONLY SILENCED},
		{"a clock that sees no interrupts",
		 {.is_asleep = true},
		 .kind = &by_clock,
		 .want = CLOCK_ONLY "BPF programs do not see the interrupts that end the sleep of "
				    "CPU 5"},
	};
	const struct cpus cpus = {2, {3, 5}};
	char *const name = program_invocation_short_name;
	struct instrument in;
	const char *why;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		memset(clock_counts, 0, sizeof(clock_counts));
		the = rows[i].machine;
		the.is_on = true;
		in = (struct instrument){.kind = rows[i].kind != NULL ? rows[i].kind
								      : &by_idle_time};
		program_invocation_short_name = (char *)(rows[i].program != NULL ? rows[i].program
										 : "zcc");
		why = start(&in, &cpus);
		program_invocation_short_name = name;
		is(why != NULL ? why : in.kind->source, rows[i].want,
		   "%s: idle time is measured, or not", rows[i].title);
		ok(in.missing == rows[i].lacks && the.bound == 0 &&
			   the.turns == (the.missing == 0) &&
			   (in.clock != NULL) == (strcmp(rows[i].want, "clock") == 0) &&
			   the.clocks == (in.clock != NULL) &&
			   (in.clock == NULL || the.slept == 40),
		   "%s: a trial waits for its turn, leaves the thread on its CPUs, and keeps a clock that counts all",
		   rows[i].title);
		stop(&in);
		ok(in.clock == NULL && the.clocks == 0, "%s: the clock is closed", rows[i].title);
	}
	the.is_on = false;
}

TESTS(test_baseline, test_deviation, test_readings, test_away, test_clock, test_sources,
      test_messages, test_trial)
