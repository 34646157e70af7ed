#include "lib/load/baseline.h"
#include "lib/load/keeper.h"
#include "tests/unit/unit.h"

static struct baseline next = {.spin = 1}; /* that is measured */
static unsigned disturbed;                 /* reasons in its measurement */

static bool measure_one(struct calibration *c, const _Atomic int *stop)
{
	*c = (struct calibration){.kind = &by_soaking,
				  .cpus.n = 1,
				  .windows = 8,
				  .others = next.tasks,
				  .all = next,
				  .unsafe = disturbed};
	c->cpu = alloc_or_die(1, sizeof(*c->cpu), "cpu");
	c->cpu[0] = next;
	return stop == NULL || *stop == 0;
}

static cpu_times risen; /* of each of the CPUs in a second of another machine */

static int read_risen(const struct cpus *cpus, cpu_times *at, uint64_t *ns)
{
	int k;

	*ns = now_ns();
	for (k = 0; k < CPU_COLUMNS; k++)
		at[cpus->n][k] = 1e-9 * (double)*ns * cpus->n * risen[k];
	return cpus->n;
}

#define cpu_times_read(cpus, whole, at, ns) read_risen(cpus, at, ns)

/* An instrument that starts, or says why not. */
static struct machine {
	const char *why, *no_profile;
	unsigned missing;
	pid_t holder; /* 0: none */
} the;

static struct {
	int stops, profiles, starts;
	double seconds; /* for which a baseline is to stand */
	double time;    /* of the last sample */
} done_with;

static const char *start(struct instrument *in, const struct cpus *cpus)
{
	(void)cpus;
	in->missing = the.missing;
	in->holder.pid = the.holder - 1;
	return the.why;
}

static void stop(struct instrument *in)
{
	(void)in;
	done_with.stops++;
}

static void read_nothing(const struct instrument *in, const struct cpus *cpus,
			 struct load_sample *at, bool for_baseline)
{
	(void)in;
	memset(at, 0, ((size_t)cpus->n + 1) * sizeof(*at));
	at[cpus->n].time = at[0].time = ++done_with.time;
	done_with.time += for_baseline;
}

static const struct instrument_kind fake = {"idle", "columns", "",           "",   "",  false,
					    start,  stop,      read_nothing, NULL, NULL},
				    fake_clock = {"idle", "clock", "",           "",   "",  false,
						  start,  stop,    read_nothing, NULL, NULL};

static struct profile *open_fake(const char **missing, const char **why)
{
	done_with.profiles++;
	*missing = the.no_profile;
	*why = "the reason";
	return the.no_profile != NULL ? NULL : (struct profile *)&the;
}

/* The part itself, with baselines that take no time, and a hundredth of each sleep. */
#define baseline_measure(in, c, time, stop)      (done_with.seconds = (time), measure_one(c, stop))
#define sleep_ns(ns)                             sleep_ns((ns) / 100)
#define by_idle_time                             fake
#define by_clock                                 fake_clock
#define busiest_find()                           "; BUSIEST"
#define instrument_read(in, cpus, at, whole)     (in)->kind->read(in, cpus, at, whole)
#define soaker_thread(soaker, i)                 (i)
#define profile_open(cpus, soaker, missing, why) open_fake(missing, why)
#define profile_start(p)                         (done_with.starts += (p) != NULL)
#define profile_close(p)                         (done_with.starts -= (p) != NULL)
#define profile_event(p)                         ((p) != NULL ? "timer" : "?")
#include "lib/load/gauge.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* Two seconds of one CPU, of which its soaker spun for a half. */
static struct load_sample from[] = {{.time = 1}, {.time = 1}},
			  to[] = {{.time = 3, .spin = 1, .work = 1}, {.time = 3}};
static const struct gauge_setup soaking = {.soak = true, .what = "test"};
static const struct gauge own = {.setup = &soaking,
				 .instrument = {.kind = &by_soaking},
				 .baseline = BASELINE_OWN,
				 .from.at = from,
				 .to.at = to};

/* That measurement, and a baseline after it, of which tasks have a share: whether its load is unsafe. */
static bool is_busy(struct gauge *g, double tasks)
{
	struct load l;

	next.tasks = tasks;
	next.speed++;
	take_baseline(g);
	gauge_after(g, NULL);
	gauge_load(g, &l);
	ok(done_with.seconds == 2 && !isnan(l.load) && l.bracketed == (next.spin > 0),
	   "a load has a second baseline, which stands for its seconds, unless a CPU was held in it");
	return l.unsafe & UNSAFE_BASELINE_BUSY;
}

static void test_next(void)
{
	static const double tasks[] = {0, 0.1, 0, 0}, drift[] = {0, 0.1, -0.1, 0};
	struct gauge g = own;
	int i;

	next.speed = 6;
	measure_idle(&g, false, &g.calibration, NULL);
	for (i = 0; i < 4; i++)
		ok(is_busy(&g, tasks[i]) == (i == 1 || i == 2) && near(g.drift, drift[i]),
		   "a busy baseline makes the measurements before and after it unsafe: %d", i);
	next.spin = 0;
	ok(is_busy(&g, 0) && near(g.calibration.cpu[0].spin, 1) && isnan(g.drift),
	   "a CPU that is held in the baseline after a measurement makes it unsafe");
	g.instrument.kind = NULL;
	gauge_stop(&g);
	ok(g.after.cpu == NULL && g.calibration.cpu == NULL, "the end frees the last baseline");
}

/* A load that was disturbed at its end, between two baselines, of which one or the other was, too. */
static void test_disturbed(void)
{
	const unsigned reasons[] = {UNSAFE_SOAKER_STOPPED, UNSAFE_CPU_OFFLINE};
	struct gauge g = own;
	struct load l;
	int i;

	next = (struct baseline){.spin = 1, .speed = 1};
	to[1].limits.now = UNSAFE_SCHEDULER;
	for (i = 0; i < 4; i++) {
		disturbed = i % 2 == 0 ? reasons[i / 2] : 0;
		measure_idle(&g, false, &g.calibration, NULL);
		disturbed = i % 2 == 1 ? reasons[i / 2] : 0;
		gauge_after(&g, NULL);
		gauge_load(&g, &l);
		ok(l.unsafe == (UNSAFE_SCHEDULER | reasons[i / 2]) && isnan(l.load) == (i / 2 == 1),
		   "a load has its own reason and that of the baseline %s it: %s",
		   i % 2 == 0 ? "before" : "after", limits_format(l.unsafe));
		free(g.after.cpu);
		free(g.calibration.cpu);
	}
	disturbed = 0;
	to[1].limits.now = 0;
}

/* The marks of a period until `end`, with a baseline that was measured so many seconds ago, or is of a file. */
static unsigned aged(int64_t seconds, bool is_bracketed, const struct load_sample *end)
{
	struct baseline b = {.spin = 1, .speed = 1};
	struct gauge g = own;
	struct load l;

	g.calibration = (struct calibration){.kind = &by_soaking, .cpus.n = 1, .cpu = &b, .all = b};
	if (seconds > 0)
		g.calibration.taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME) - seconds * 1000000000;
	g.bracketed = is_bracketed;
	gauge_between(&g, from, end, -1, &l);
	return l.unsafe;
}

static void test_old(void)
{
	ok(aged(3601, false, to) == UNSAFE_BASELINE_OLD && aged(3541, false, to) == 0 &&
		   aged(0, false, to) == 0,
	   "a period with a baseline of more than an hour is unsafe, unless it is a file's");
	ok(aged(3601, true, to) == 0 && aged(3601, false, from) == 0,
	   "between two baselines, or in no time, a baseline may be old");
}

/* Two seconds of two CPUs, from the second of which the hypervisor took 3 %. */
static void test_steal(void)
{
	struct baseline b[2] = {{.spin = 1, .speed = 1}, {.spin = 1, .speed = 1}};
	struct gauge g = {.instrument.kind = &by_soaking,
			  .calibration = {.kind = &by_soaking, .cpus.n = 2, .cpu = b, .all = b[0]}};
	struct load_sample first[3] = {{.time = 1, .steal = 5}, {.time = 1, .steal = 5}}, last[3];
	const struct load *each;
	struct load l;
	int i;

	g.from.at = first;
	g.to.at = last;
	for (i = 0; i < 2; i++)
		last[i] = (struct load_sample){
			.time = 3, .spin = 1, .work = 1, .steal = 5 + 0.06 * i};
	each = gauge_load_each(&g, UNSAFE_WEIGHT);
	for (i = 0; i < 2; i++)
		ok(each[i].unsafe == (UNSAFE_WEIGHT | (i == 1 ? UNSAFE_STEAL : 0)) &&
			   near(each[i].steal, 0.03 * i),
		   "a CPU has the reasons of all, and steal if the hypervisor took 1 %% of it: CPU %d",
		   i);
	free(g.each);
	memset(last, 0, sizeof(last));
	last[2] = (struct load_sample){.time = 4, .steal = 0.05};
	gauge_load(&g, &l);
	ok(l.unsafe == UNSAFE_STEAL, "two CPUs of which the hypervisor took 1.25 %% are unsafe");
	last[2].time = 0.19;
	gauge_load(&g, &l);
	ok(l.unsafe == 0, "in less than 0.1 s a step of the counter is no reason");
	gauge_between(&g, &first[1], &last[1], -1, &l);
	ok(l.unsafe == 0, "what the hypervisor took is no reason for an interval");
}

/* Beside the soakers of two CPUs, of which one had its CPU, and the other had its up to that time. */
static const char *busy(uint64_t last_ns)
{
	static _Alignas(128) char memory[sizeof(struct soaker) + 2 * sizeof(struct soak_cpu)];
	const struct gauge_setup setup = {.soak = true, .wait_idle = 0.1};
	struct soaker *s = (struct soaker *)(void *)memory;
	struct baseline b[2] = {{.spin = 1, .speed = 1}, {.spin = 1, .speed = 1}};
	struct gauge g = {.instrument = {&by_soaking, .soaker = s},
			  .calibration = {.kind = &by_soaking, .cpus.n = 2, .cpu = b}};

	s->keeper = 1; /* no child of this process */
	s->cpu[0].last_ns = last_ns;
	s->cpu[1].last_ns = UINT64_MAX;
	return gauge_wait_idle(&g, &setup, NULL);
}

/* Baselines that were disturbed: the line on stderr, and what was stored. */
static void test_lines(void)
{
	static const struct {
		bool second;
		double tasks, spin;
	} rows[] = {{false, 0, 1},  {false, 0.1, 1}, {true, 0.2, 1},  {false, 0.5, 1},
		    {true, 0.6, 1}, {true, 0.1, 0},  {false, 0.1, 0}, {false, NAN, 1}};
	static char all[4096];
	struct gauge g = own;
	bool is_whole;
	size_t i;
	int k;

	for (i = 0; i < LENGTH(rows); i++) {
		g.said.reasons = g.said.missing = 0;
		for (k = 0; k < 2; k++) {
			next = (struct baseline){
				.tasks = rows[i].tasks, .spin = rows[i].spin, .speed = 1};
			capture(STDERR_FILENO);
			is_whole = measure_idle(&g, rows[i].second, &g.calibration, NULL);
			captured();
			string_append(all, sizeof(all), "%d, half %d, said %x %x%s", is_whole,
				      g.half, g.said.reasons, g.said.missing,
				      printed[0] != '\0' ? strchr(printed, ':') : "\n");
			free(g.calibration.cpu);
		}
	}
	expect(all, "a baseline that is disturbed has a line, once");
}

/* How a measurement starts, and what is left of it. */
static void test_start(void)
{
	static const struct {
		struct gauge_setup setup;
		struct machine machine;
		double tasks, held;
	} rows[] = {
		{.setup = {.idle = IDLE_BY_BEST}},
		{.setup = {.idle = IDLE_BY_BEST, .debug = true}},
		{.setup = {.idle = IDLE_BY_CLOCK, .debug = true, .never_idle = true}},
		{.setup = {.idle = IDLE_BY_BEST}, .tasks = 0.5},
		{.setup = {.idle = IDLE_BY_BEST}, .held = 1},
		{.setup = {.idle = IDLE_BY_BEST}, .machine.why = "a reason"},
		{.setup = {.idle = IDLE_BY_BEST}, .machine = {.why = "a reason", .missing = 2}},
		{.setup = {.idle = IDLE_BY_BEST}, .machine = {.why = "a reason", .holder = 1}},
		{.setup = {.idle = IDLE_BY_BEST, .profile = true}},
		{.setup = {.idle = IDLE_BY_BEST, .profile = true}, .machine.holder = 10},
		{.setup = {.idle = IDLE_BY_BEST, .profile = true}, .machine.no_profile = "kernel"},
		{.setup = {.idle = 0}},
	};
	static char all[8192];
	struct gauge_setup setup;
	struct gauge g;
	struct load l;
	bool begun;
	size_t i;
	int k;

	for (i = 0; i < LENGTH(rows); i++) {
		setup = rows[i].setup;
		setup.n_cpus = 1;
		setup.what = "run";
		memset(&done_with, 0, sizeof(done_with));
		the = rows[i].machine;
		next = (struct baseline){
			.tasks = rows[i].tasks, .spin = 1 - rows[i].held, .speed = 1};
		gauge_prepare_or_die(&g, &setup);
		for (k = 0; k < 2; k++) {
			g.missing = rows[i].setup.idle != 0;
			g.drift = 3;
			g.half = g.bracketed = true;
			capture(STDERR_FILENO);
			begun = gauge_start(&g, 5);
			gauge_between(&g, &(struct load_sample){.time = 1},
				      &(struct load_sample){.time = 1}, -1, &l);
			captured();
			if (k == 0)
				string_append(
					all, sizeof(all),
					"%d, missing %x, %g %d %d, baseline %d for %g s of %d, '%s' '%s' '%s'",
					begun, g.missing, g.drift, g.half, g.bracketed, g.baseline,
					g.seconds, g.calibration.cpus.n, l.no_load, l.no_profile,
					l.event);
			string_append(all, sizeof(all), "; %.*s", (int)strcspn(printed, "\n"),
				      printed);
			gauge_stop(&g);
		}
		string_append(all, sizeof(all), "; %d stops, %d profiles, %d left\n",
			      done_with.stops, done_with.profiles, done_with.starts);
		gauge_close(&g);
	}
	expect(all, "a measurement that is started twice: its baseline, its reasons and its lines");
}

static void start_by_clock(void *never_idle)
{
	const struct gauge_setup setup = {.idle = never_idle != NULL ? IDLE_BY_BEST : IDLE_BY_CLOCK,
					  .never_idle = never_idle != NULL};
	struct gauge g;

	gauge_prepare_or_die(&g, &setup);
	gauge_start(&g, 1);
}
/* gcc's analyzer takes the child of died() for one that goes on: it does not see through this. */
static void (*volatile start_or_die)(void *never_idle) = start_by_clock;

/* Beside a file's baseline, and without any instrument. */
static void test_rest(void)
{
	const struct gauge_setup setup = {.idle = IDLE_BY_BEST, .n_cpus = 1}, off = {.idle = 0};
	struct load_sample sum = {.time = 3};
	struct load l = {.unsafe = 0};
	_Atomic int stopped = 1;
	struct gauge g;
	int i;

	the.why = "the instrument's reason";
	ok(died(start_or_die, NULL) == EXIT_FAILURE && died(start_or_die, &the) == EXIT_FAILURE &&
		   strstr(printed, the.why) != NULL,
	   "an instrument that was asked for, and cannot start, is an error");
	the.why = NULL;
	gauge_prepare_or_die(&g, &setup);
	g.file = (struct calibration){
		.kind = &fake, .cpus.n = 1, .cpu = alloc_or_die(1, sizeof(*g.file.cpu), "cpu")};
	ok(gauge_start(&g, 1) && g.baseline == BASELINE_FILE && g.calibration.cpu == g.file.cpu,
	   "the baseline of a file is not measured again");
	done_with.time = 0;
	gauge_sample(&g, &sum);
	ok(sum.time == 1 && gauge_load_each(&g, 0) != NULL,
	   "an instrument that runs is read, of each CPU");
	gauge_begin(&g, "lo");
	gauge_end(&g);
	ok(g.from.at[0].time == 2 && g.to.at[0].time == 3 &&
		   strcmp(g.to.counters.interface, "lo") == 0 &&
		   g.to.counters.ns >= g.from.counters.ns && g.from.counters.ns > 0,
	   "both ends of a measurement are read, with the counters of the interface");
	for (i = 0; i < 2; i++) {
		g.baseline = i == 0 ? BASELINE_FILE : BASELINE_OWN;
		g.bracketed = true;
		gauge_after(&g, &stopped);
		ok(!g.bracketed && isnan(g.drift) && g.after.cpu == NULL && g.after.cpus.n == i,
		   "a file's baseline has no second one, nor has a measurement that is interrupted: %d",
		   i);
	}
	g.said.reasons = UNSAFE_WEIGHT;
	gauge_say(&g, &l, true);
	ok(g.said.reasons == UNSAFE_WEIGHT,
	   "what was said of the whole is not said again after an interval");
	gauge_say(&g, &l, false);
	ok(g.said.reasons == 0, "reasons of the whole are forgotten after it");
	done_with.stops = 0;
	gauge_close(&g);
	ok(done_with.stops == 1, "an instrument that runs at the end is stopped");
	gauge_prepare_or_die(&g, &off);
	gauge_sample(&g, &sum);
	ok(sum.time == 1 && gauge_load_each(&g, 0) == NULL &&
		   gauge_sample_of(&g, &g.to, 0).time == 0,
	   "where no instrument runs none is read");
	gauge_begin(&g, "");
	sleep_ns(1000000);
	gauge_end(&g);
	gauge_load(&g, &l);
	ok(l.seconds > 0 && l.rates.interrupts > 0,
	   "where the load is not measured there are the kernel's rates");
	gauge_close(&g);
}

/* What is waited for beside CPUs that do this; an empty text: nothing. */
static const char *waited(const cpu_times in_second, int stopped)
{
	static const struct gauge_setup setup = {.idle = IDLE_BY_BEST, .wait_idle = 0.1};
	const bool one = sysconf(_SC_NPROCESSORS_ONLN) != 1; /* fewer or more than are online */
	const struct gauge g = {.calibration.cpus = {one ? 1 : 2, {0, 1}}};
	const _Atomic int stop_now = stopped;
	const char *why;

	memcpy(risen, in_second, sizeof(risen));
	capture(STDERR_FILENO);
	why = gauge_wait_idle(&g, &setup, &stop_now);
	captured();
	return why != NULL ? why : "";
}

static void test_wait_columns(void)
{
	is(waited((cpu_times){[CPU_IDLE] = 0.93, [CPU_IOWAIT] = 0.02, [CPU_STEAL] = 0.05}, 0), "",
	   "what the hypervisor takes is no other program's");
	/* A program of another CPU could be the busiest one, and named. */
	ok(strstr(waited((cpu_times){[CPU_IDLE] = 0.9, [CPU_USER] = 0.01}, 0),
		  "took 10.0% of CPU 0") != NULL,
	   "the CPUs that are measured are judged, and named, by what they did not rest");
	is(strchrnul(printed, ':'),
	   ": waiting for other programs, which take 10.0% of CPU 0 (--wait-idle)\n",
	   "one line says what is waited for");
	is(waited((cpu_times){[CPU_IDLE] = 0.9}, 1), "interrupted",
	   "a wait for the idle machine can be interrupted");
	ok(strstr(waited((cpu_times){0}, 0), "does not count what other programs take") != NULL,
	   "columns that stand still say nothing of other programs");
}

/* The tests may run on a busy machine, or on an idle one. */
static void test_wait_idle(void)
{
	double percent = 0;

	ok(busy(UINT64_MAX) == NULL, "soakers that had all of the CPUs are not waited for");
	ok(sscanf(busy(1), "--wait-idle 0.1: other programs took %lf%%", &percent) == 1 &&
		   percent > 3 && percent < 60,
	   "what the soakers did not have is other programs', here half of the machine: %g%%",
	   percent);
}

TESTS(test_next, test_disturbed, test_old, test_steal, test_lines, test_start, test_rest,
      test_wait_columns, test_wait_idle)
