/* A gauge beside a machine that is a script: how it starts, what it prints, and the loads between its marks. */
#include "lib/load/gauge.h"

#include "tests/unit/unit.h"

static struct machine {
	const char *why, *no_profile; /* the instrument, or the profile, does not start */
	unsigned missing;
	int holder;    /* of the soakers' lock, and 1; 0: none */
	bool has_file; /* a calibration */
	double tasks[3],
		held[3];     /* of the baselines: what other programs took, or a soaker lacked */
	unsigned reasons[3]; /* what disturbed them */
	unsigned unsafe;     /* what disturbs the loads */
	double steal;        /* of the last CPU */
	int age, stop;       /* of the baselines; a signal ends those after a load */
} the;

static struct {
	double seconds; /* the time, which goes on by a second with each reading */
	int baselines, files, stops, profiles, starts;
	bool soaks; /* a soaker has the idle time of the CPUs */
	double idle,
		rest; /* the share of the time that CPUs are idle until then; below 0: they stand still */
} now;

/* The idle time of a CPU. */
static double idle_seconds(void)
{
	return now.seconds - (1 - now.idle) * fmin(now.seconds, now.rest);
}

static bool script_baseline(struct calibration *c, double seconds, const _Atomic int *stop)
{
	const int k = now.baselines++ % 3;
	int i;

	if (stop != NULL && *stop != 0)
		return false;
	c->all = (struct baseline){.tasks = the.tasks[k], .spin = 1 - the.held[k], .speed = 1};
	c->windows = 8 * seconds;
	c->others = the.tasks[k];
	c->unsafe = the.reasons[k];
	c->taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME) - 1000000000LL * the.age;
	c->cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "cpu");
	for (i = 0; i < c->cpus.n; i++)
		c->cpu[i] = c->all;
	return true;
}

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
	now.stops++;
}

/* Each CPU spins for a half of its time. */
static void script_read(const struct instrument *in, const struct cpus *cpus,
			struct load_sample *at, bool for_baseline)
{
	const int n = cpus->n;
	int i;

	(void)in;
	now.seconds += for_baseline ? 1000 : 1;
	at[n] = (struct load_sample){.limits.now = the.unsafe};
	for (i = 0; i < n; i++) {
		at[i] = (struct load_sample){.time = now.seconds,
					     .spin = now.seconds / 2,
					     .work = now.seconds / 2,
					     .tasks = now.seconds - idle_seconds(),
					     .limits = at[n].limits};
		if (the.steal > 0)
			at[i].steal = 5 + (i == n - 1 ? the.steal * now.seconds : 0);
		sums_add(&at[n], &at[i], offsetof(struct load_sample, limits));
	}
}

static struct instrument_kind soaking, sleeping, clocks;

static void make_kinds(void)
{
	soaking = by_soaking;
	sleeping = by_idle_time;
	clocks = by_clock;
	soaking.start = sleeping.start = clocks.start = start;
	soaking.stop = sleeping.stop = clocks.stop = stop;
	soaking.read = sleeping.read = clocks.read = script_read;
}

static bool find_file(struct calibration *c, const char *path, bool needed)
{
	now.files += 1 + 10 * needed;
	if (the.has_file && strcmp(path, "file") == 0) {
		script_baseline(c, 5, NULL);
		c->kind = &soaking;
		c->taken_ns = 0;
	}
	return the.has_file;
}

static struct profile *open_fake(const pid_t *soaker, const char **missing, const char **why)
{
	now.profiles += soaker[1];
	*missing = the.no_profile;
	*why = "the reason";
	return the.no_profile != NULL ? NULL : (struct profile *)&the;
}

static void script_counters(struct counters *c, const char *interface)
{
	now.seconds += 0.5;
	c->ns = (uint64_t)(1e9 * now.seconds);
	c->total.interrupts = 100 * now.seconds;
	strcpy(c->interface, interface);
}

static int read_times(const struct cpus *cpus, bool whole, cpu_times *at, uint64_t *ns)
{
	const double idle = whole || now.soaks || now.idle < 0 ? 0 : cpus->n * idle_seconds();

	*ns = (uint64_t)(1e9 * now.seconds);
	at[cpus->n][CPU_IDLE] = 0.6 * idle;
	at[cpus->n][CPU_IOWAIT] = at[cpus->n][CPU_STEAL] = 0.2 * idle;
	at[cpus->n][CPU_USER] = now.idle < 0 ? 0 : cpus->n * now.seconds - idle;
	return cpus->n;
}

/* The part itself. */
#define baseline_measure(in, c, seconds, stop)                                                     \
	((c)->kind = (in)->kind, script_baseline(c, seconds, stop))
#define calibration_find_or_die(c, path, needed) find_file(c, path, needed)
#define calibrate_or_die(cpus, file, force, wait)                                                  \
	printf("calibrate %d CPUs, %s, force %d, wait %g\n", (cpus)->n, file, force, wait)
#define limits_warn(whole)                       printf("warn of %s\n", (whole) ? "all" : "some")
#define cpus_to_soak(number, list)               ((struct cpus){(number) + (list)->n, {0, 1}})
#define by_soaking                               soaking
#define by_idle_time                             sleeping
#define by_clock                                 clocks
#define busiest_find()                           "; BUSIEST"
#define instrument_read(in, cpus, at, whole)     (in)->kind->read(in, cpus, at, whole)
#define soaker_thread(soaker, i)                 (i)
#define profile_open(cpus, soaker, missing, why) open_fake(soaker, missing, why)
#define profile_start(p)                         (now.starts += (p) != NULL)
#define profile_close(p)                         (now.starts -= (p) != NULL)
#define profile_event(p)                         ((p) != NULL ? "timer" : "?")
#define counters_read(c, interface)              script_counters(c, interface)
#define cpu_times_read(cpus, whole, at, ns)      read_times(cpus, whole, at, ns)
#define clock_ns(clock)                          ((uint64_t)(1e9 * now.seconds))
#define sleep_ns(ns)                             (now.seconds += 1e-9 * (ns))
#define sysconf(name)                            2
#include "lib/load/gauge.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* What a measurement prints in the end: the loads of an interval, of the whole, and the reasons of each CPU. */
static const char *measure(struct gauge *g)
{
	const _Atomic int stopped = the.stop;
	struct load interval, none, l;
	struct load_sample from;
	const struct load *each;

	gauge_begin(g, "lo");
	gauge_end(g);
	load_of(g, -1, &interval);
	from = gauge_sample_of(g, &g->from, -1);
	gauge_between(g, &from, &from, -1, &none);
	gauge_say(g, &interval, true);
	gauge_after(g, &stopped);
	gauge_load(g, &l);
	each = gauge_load_each(g, UNSAFE_WEIGHT);
	gauge_say(g, &l, false);
	return text_of(
		"%.3g '%s' '%s', %.3g '%s' of %g s, %s /%s, drift %.3g%s, by %d, %s,%s,%s, %s %.3g/s",
		interval.load, limits_format(interval.unsafe), limits_format(none.unsafe), l.load,
		limits_format(l.unsafe), l.seconds,
		each != NULL ? limits_format(each[0].unsafe) : "",
		each != NULL ? limits_format(each[1].unsafe) : "", l.drift,
		l.bracketed ? " of two" : "", l.baseline, l.no_load, l.no_profile, l.event,
		g->to.counters.interface, l.rates.interrupts);
}

/* A gauge that starts, measures twice, and starts twice more. */
static void run(const struct gauge_setup *options, const struct machine *machine)
{
	struct gauge_setup setup = *options;
	const char *second;
	char first[512];
	struct gauge g;
	bool begun;
	int turn;

	the = *machine;
	memset(&now, 0, sizeof(now));
	setup.n_cpus = 2;
	setup.what = "run";
	setup.file = "file";
	gauge_prepare_or_die(&g, &setup);
	for (turn = 0; turn < 2; turn++) {
		g.missing = gauge_is_wanted(&setup) ? UNSAFE_OTHER : 0;
		g.half = g.bracketed = true;
		begun = gauge_start(&g, 0.5);
		if (turn == 0) {
			strcpy(first, measure(&g));
			printf("%s %x, %s", begun ? "starts" : "does not start", g.missing, first);
			second = begun ? measure(&g) : first;
			if (strcmp(second, first) != 0)
				printf("\n\tthen %s", second);
		}
		gauge_stop(&g);
	}
	if (gauge_is_wanted(&setup))
		gauge_start_instrument(&g);
	gauge_close(&g);
	printf(", said %x %x; %d files, %d stops, %d profiles, %d left, %d baselines\n",
	       g.said.reasons, g.said.missing, now.files, now.stops, now.profiles, now.starts,
	       now.baselines);
}

static void test_runs(void)
{
	static const struct {
		const char *title;
		struct gauge_setup setup;
		struct machine machine;
	} rows[] = {
		{"a load between two baselines", {.soak = true}, {.steal = 0.03}},
		{"others before", {.soak = true, .debug = true}, {.tasks = {CAL_FULL}}},
		{"others after the first", {.soak = true}, {.tasks = {0, 0.1}}},
		{"many before", {.soak = true}, {.tasks = {0.5}}},
		{"no time before", {.soak = true}, {.held = {1}}},
		{"no time after the first", {.soak = true}, {.held = {0, 1}}},
		{"a CPU was away before", {.soak = true}, {.tasks = {NAN}, .reasons = {1}}},
		{"a load that is disturbed, and a baseline",
		 {.soak = true},
		 {.unsafe = UNSAFE_SCHEDULER, .reasons = {0, UNSAFE_SOAKER_STOPPED}}},
		{"old baselines", {.soak = true}, {.age = 3601}},
		{"an old baseline, and a signal", {.soak = true}, {.age = 3601, .stop = 1}},
		{"a file", {.soak = true, .never_idle = true}, {.has_file = true}},
		{"a file for own baselines", {.soak = true, .own = true}, {.has_file = true}},
		{"a file for a profile", {.soak = true, .profile = true}, {.has_file = true}},
		{"no profile", {.soak = true, .profile = true}, {.no_profile = "kernel"}},
		{"parked soakers", {.soak = true, .profile = true, .parks = true}, {.holder = 10}},
		{"no soakers", {.soak = true}, {.why = "a reason", .holder = 1}},
		{"idle time",
		 {.idle = IDLE_BY_BEST, .debug = true, .parks = true},
		 {.steal = 0.03}},
		{"the clock",
		 {.idle = IDLE_BY_CLOCK, .debug = true, .never_idle = true},
		 {.age = 3601}},
		{"idle time without words", {.idle = IDLE_BY_BEST}, {.age = 0}},
		{"no idle time", {.idle = IDLE_BY_BEST}, {.why = "a reason"}},
		{"no idle time of a CPU",
		 {.idle = IDLE_BY_BEST},
		 {.why = "a reason", .missing = 2}},
		{"nothing", {.idle = 0}, {.age = 0}},
	};
	size_t i;

	capture_all();
	setlinebuf(stdout);
	for (i = 0; i < LENGTH(rows); i++) {
		printf("%s: ", rows[i].title);
		run(&rows[i].setup, &rows[i].machine);
	}
	expect(captured(), "what a gauge that starts twice prints, its baselines and its loads");
}

/* What a program asks for before a measurement, of how many CPUs. */
static void test_setups(void)
{
	static const struct gauge_setup rows[] = {{.soak = true, .on = {.n = 2}},
						  {.soak = true, .n_cpus = 1, .wait = 3},
						  {.idle = IDLE_BY_BEST},
						  {.idle = 0}};
	size_t i;

	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(rows); i++) {
		gauge_warn(&rows[i]);
		gauge_calibrate_or_die(&rows[i], i > 0);
	}
	expect(captured(), "warnings and a calibration are of the CPUs that were chosen");
}

static void start_or_end(void *setup)
{
	struct gauge g;

	gauge_prepare_or_die(&g, setup);
	gauge_start(&g, 1);
}
/* gcc's analyzer takes the child of died() for one that goes on: it does not see through this. */
static void (*volatile start_or_die)(void *setup) = start_or_end;

static void test_errors(void)
{
	static struct gauge_setup rows[] = {{.idle = IDLE_BY_CLOCK},
					    {.idle = IDLE_BY_BEST, .never_idle = true},
					    {.soak = true, .parks = true}};
	size_t i;

	the = (struct machine){.why = "the instrument's reason"};
	for (i = 0; i < LENGTH(rows); i++)
		ok(died(start_or_die, &rows[i]) == EXIT_FAILURE && strstr(printed, the.why) != NULL,
		   "an instrument that was asked for, and cannot start, is an error: %d", (int)i);
}

/* CPUs that are idle for that share of the time until they rest; by soaking the others are tasks. */
static void test_wait_idle(void)
{
	static const struct {
		double idle, rest, seconds;
		bool soak;
		int cpus, stop;
	} rows[] = {
		{0.98, 99, 9, false, 2, 0}, {0.9, 2, 9, false, 2, 0},   {0.5, 99, 1.5, false, 1, 0},
		{0.5, 99, 9, false, 1, 1},  {-1, 99, 9, false, 1, 0},   {0.98, 99, 9, true, 2, 0},
		{0.9, 99, 3, true, 2, 0},   {0.5, 99, 0.5, true, 1, 0}, {0.5, 99, 0, false, 2, 0},
	};
	struct gauge_setup setup;
	_Atomic int stop_now;
	struct gauge g;
	const char *why;
	size_t i;

	capture_all();
	for (i = 0; i < LENGTH(rows); i++) {
		setup = (struct gauge_setup){.soak = rows[i].soak,
					     .idle = !rows[i].soak,
					     .wait_idle = rows[i].seconds,
					     .n_cpus = rows[i].cpus};
		the = (struct machine){.age = 0};
		gauge_prepare_or_die(&g, &setup);
		if (rows[i].soak)
			gauge_start(&g, 1);
		memset(&now, 0, sizeof(now));
		now.soaks = rows[i].soak;
		now.idle = rows[i].idle;
		now.rest = rows[i].rest;
		stop_now = rows[i].stop;
		why = gauge_wait_idle(&g, &setup, &stop_now);
		printf("%g s: %s\n", now.seconds, why != NULL ? why : "");
		gauge_close(&g);
	}
	expect(captured(), "other programs are waited for while they take 3 % of the CPUs");
}

int main(void)
{
	make_kinds();
	test_runs();
	test_setups();
	test_errors();
	test_wait_idle();
	return done();
}
