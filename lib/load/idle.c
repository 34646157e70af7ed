#include "lib/load/baseline.h"

#include "lib/load/idle_clock.h"
#include "lib/load/statistics.h"

/*
 * Reading: a sample of each CPU, and after them the sum of all.
 */

/*
 * Reads the times as cpu_times_read() does, and *ns, of another clock, is the moment of the idle time.  With the clock
 * idle time is that of the clock; a CPU that is offline still has none.  A clock that was silenced has no times.
 */
static int times_read(struct idle_clock *clock, const struct cpus *cpus, bool whole, cpu_times *at,
		      uint64_t *ns)
{
	const int n = cpus->n, online = cpu_times_read(cpus, whole, at, ns);
	bool is_silenced;
	int i;

	if (clock == NULL)
		return online;
	*ns = now_ns();
	is_silenced = idle_clock_is_silenced(clock);
	at[n][CPU_IDLE] = 0;
	for (i = 0; i < n; i++) {
		if (is_silenced)
			at[i][CPU_IDLE] = NAN;
		else if (!isnan(at[i][CPU_IDLE]))
			at[i][CPU_IDLE] = idle_clock_seconds(clock, cpus->id[i], *ns);
		at[i][CPU_IOWAIT] = 0;
		at[n][CPU_IDLE] += at[i][CPU_IDLE];
	}
	at[n][CPU_IOWAIT] = 0;
	return is_silenced ? 0 : online;
}

static void read_once(const struct instrument *in, const struct cpus *cpus, struct load_sample *at)
{
	const int n = cpus->n;
	cpu_times *times = alloc_or_die((size_t)n + 1, sizeof(*times), "idle time");
	struct limits_mark limits = {.now = 0};
	int i, online;
	uint64_t ns;

	online = times_read(in->clock, cpus, in->whole, times, &ns);
	if (online == 0)
		limits.now |= UNSAFE_NOT_MEASURED;
	else if (isnan(times[n][CPU_IDLE]))
		limits.now |= UNSAFE_CPU_OFFLINE;
	if (online > in->online)
		limits.now |= UNSAFE_CPU_ONLINE;
	for (i = 0; i <= n; i++)
		at[i] = (struct load_sample){.time = (i < n ? 1 : n) * ((double)ns / 1e9),
					     .spin = times[i][CPU_IDLE] + times[i][CPU_IOWAIT],
					     .work = times[i][CPU_IOWAIT],
					     .steal = times[i][CPU_STEAL],
					     .limits = limits};
	free(times);
}

/*
 * The trial.
 */

#define TRY_NS       200000000u /* how long a trial takes */
#define TRY_WORK_NS  1000000u   /* of work in each period */
#define TRY_PERIOD   4000000u /* ns: near the tick of most kernels, where sampling is most wrong */
#define TRY_MOST     4        /* trials: other programs may disturb one */
#define TRY_DOUBT    0.1      /* by how much the two shares may differ: two ticks in a trial */
#define TRY_CLOCK    0.05     /* the same for the clock, which has no ticks */
#define TRY_ASLEEP   0.05     /* share of the time: a CPU that sleeps less counts as never asleep */
#define TRY_PAUSE    (4ull * TRY_NS) /* the longest pause between two trials */
#define VISIT_NS     1000000u
#define TURN_FILE    "/dev/full"
#define TURN_SECONDS 3 /* to wait for other programs' trials at most */

/* Why idle time is not measured. */
#define NOT_COUNTED                                                                                \
	"/proc/stat cannot be read, or does not count CPU %d (a container may have one of its "    \
	"own): %s"
#define NEVER_SLEEPS "CPU %d never sleeps, since programs run, spin or soak there: %s%s"
#define IS_BUSY                                                                                    \
	"the machine is busy, or others measure now: they had %.0f%% of a CPU in a trial: %s%s"
#define SILENCED  "kernel.ftrace_enabled is 0: 'sysctl kernel.ftrace_enabled=1' first"
#define NOT_SEEN  "BPF programs do not see the interrupts that end the sleep of CPU %d"
#define NOT_RIGHT "%s not measure the idle time of CPU %d"
#define NEITHER   "--idle: %s; %s; or %s"

static bool is_program(const char *name)
{
	return strcmp(program_invocation_short_name, name) == 0;
}

/* Soaking has a trial of its own, which takes soakers. */
static const char *soak_instead(void)
{
	return is_program("cyclesoak") ? "omit --idle" : "try -c";
}

static const char *wait_for_others(void)
{
	return is_program("zcs") ? "start again when they rest" : "give --wait-idle SECS";
}

/* What a trial of a CPU shows, in shares of a fifth of a second. */
struct trial {
	double awake; /* in which the CPU was not idle, by the columns or the clock; NAN: they stood still */
	double worked; /* in which this thread ran, by its CPU clock */
	bool woken;    /* the clock saw most of the interrupts that ended this thread's sleeps */
};

/* Works and sleeps alternately on a CPU, on which the thread is.  `clock` may be NULL. */
static struct trial try_cpu(struct idle_clock *clock, int cpu, uint64_t work_ns)
{
	const struct cpus one = {1, {cpu}};
	const uint64_t before = clock != NULL ? clock->cpu[cpu].interrupts : 0;
	uint64_t begin, end, next, until, ran, sleeps = 0;
	struct trial t = {.woken = true};
	cpu_times from[2], to[2];
	double counted = 0, idle;
	int i;

	times_read(clock, &one, false, from, &begin);
	ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	/* Beside many programs a millisecond of CPU time may take seconds. */
	for (next = raw_ns(), end = next + TRY_NS; next < end && raw_ns() < end;
	     next += TRY_PERIOD) {
		until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_ns;
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until && raw_ns() < end)
			;
		sleeps += raw_ns() < next + TRY_PERIOD;
		sleep_ns((uint64_t)(1e9 * seconds_between(raw_ns(), next + TRY_PERIOD)));
	}
	t.worked = seconds_between(ran, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	times_read(clock, &one, false, to, &end);
	t.worked /= seconds_between(begin, end);
	for (i = 0; i < CPU_COLUMNS; i++)
		counted += to[0][i] - from[0][i];
	idle = to[0][CPU_IDLE] - from[0][CPU_IDLE] + to[0][CPU_IOWAIT] - from[0][CPU_IOWAIT];
	/* A file of another machine, as in some containers, or no file, counts nothing. */
	t.awake = counted > 0 ? 1 - idle / seconds_between(begin, end) : NAN;
	if (clock != NULL)
		t.woken = clock->cpu[cpu].interrupts - before >= sleeps / 2;
	return t;
}

/* Binds the thread to the next of these CPUs, behind the i-th, on which it may run.  Returns its index, or -1. */
static int bind_next(const struct cpus *cpus, int i)
{
	int tries;

	for (tries = 0; tries < cpus->n; tries++) {
		i = (i + 1) % cpus->n;
		if (cpu_bind(cpus->id[i]) == 0)
			return i;
	}
	return -1;
}

/*
 * Waits until no other program tries its CPUs, since each would take the other's work for what it counts.  The lock is
 * that of a device node, for the same reasons as the soakers' (soaker.c).  Containers may have nodes of their own: the
 * trials there begin on different CPUs, and at different times, by chance.  Returns the lock's descriptor, or -1.
 */
static int turn_take(void)
{
	const int fd = open_retry(TURN_FILE, O_RDONLY);

	(void)device_lock(fd, TURN_SECONDS);
	return fd;
}

/*
 * Returns NULL if a trial shows that idle time is measured, or why it is not known to be.  If the machine is not idle the
 * trial is repeated on other CPUs, and other programs are assumed to go on as they did before the thread worked.  Stores
 * in *missing whether other programs disturbed it, or the last CPU was not counted.  Leaves the thread on that CPU.
 */
static const char *trial(struct idle_clock *clock, const struct cpus *cpus, unsigned *missing)
{
	const double doubt = clock != NULL ? TRY_CLOCK : TRY_DOUBT;
	struct trial t = {.awake = 1}, rest = {.awake = 0};
	int i, cpu;
	double others = 0;
	bool busy;

	for (i = 0; i < TRY_MOST; i++) {
		if (i > 0)
			sleep_ns(raw_ns() % TRY_PAUSE);
		cpu = bind_next(cpus, (int)(raw_ns() % (unsigned)cpus->n));
		if (cpu < 0)
			return "this program may run on none of the measured CPUs: check the cpuset, or "
			       "choose others by --on-cpus";
		if (i > 0)
			rest = try_cpu(clock, cpus->id[cpu], 0);
		others = fmax(others, rest.awake);
		t = try_cpu(clock, cpus->id[cpu], TRY_WORK_NS);
		t.worked -= rest.worked;
		/* If the CPU never slept the thread had no time to work, and both shares are alike. */
		busy = !(t.awake <= 1 - TRY_ASLEEP); /* where it is NAN, too */
		*missing = isnan(t.awake) ? UNSAFE_NOT_MEASURED : busy ? UNSAFE_BASELINE_BUSY : 0;
		if (!busy && t.woken && fabs(t.awake - rest.awake - t.worked) <= doubt)
			return NULL;
	}
	if (clock != NULL && idle_clock_is_silenced(clock))
		return SILENCED;
	if (isnan(t.awake))
		return text_of(NOT_COUNTED, cpus->id[cpu], soak_instead());
	if (busy)
		return text_of(NEVER_SLEEPS, cpus->id[cpu], wait_for_others(), busiest_find());
	if (others > doubt) {
		*missing = UNSAFE_BASELINE_BUSY;
		return text_of(IS_BUSY, 100 * others, wait_for_others(), busiest_find());
	}
	if (!t.woken)
		return text_of(NOT_SEEN, cpus->id[cpu]);
	return text_of(NOT_RIGHT, clock != NULL ? "BPF programs do" : "the kernel does",
		       cpus->id[cpu]);
}

/* The first of these CPUs that /proc/stat lacks; -1: none. */
static int find_missing(const struct cpus *cpus)
{
	cpu_times *times = alloc_or_die((size_t)cpus->n + 1, sizeof(*times), "idle time");
	uint64_t ns;
	int i = 0;

	cpu_times_read(cpus, false, times, &ns);
	while (i < cpus->n && !isnan(times[i][CPU_IDLE]))
		i++;
	free(times);
	return i < cpus->n ? cpus->id[i] : -1;
}

/* Runs, and sleeps, on each of these CPUs: the clock counts it from then on.  Returns NULL or why it cannot. */
static const char *visit_cpus(const struct cpus *cpus)
{
	int i;

	for (i = 0; i < cpus->n; i++) {
		if (cpu_bind(cpus->id[i]) != 0)
			return text_of(
				"this program may not run on CPU %d: check the cpuset, or choose "
				"others by --on-cpus",
				cpus->id[i]);
		sleep_ns(VISIT_NS);
	}
	return NULL;
}

static void stop(struct instrument *in)
{
	if (in->clock != NULL)
		idle_clock_close(in->clock);
	free(in->clock);
	in->clock = NULL;
}

/* Opens the clock.  Returns NULL, or why it cannot be had here, or a trial shows that it does not count. */
static const char *clock_start(struct instrument *in, const struct cpus *cpus)
{
	const char *why;

	in->clock = alloc_or_die(1, sizeof(*in->clock), "idle time");
	why = idle_clock_open(in->clock, cpus->id[cpus->n - 1]);
	if (why == NULL)
		why = visit_cpus(cpus);
	if (why == NULL)
		why = trial(in->clock, cpus, &in->missing);
	if (why != NULL)
		stop(in);
	return why;
}

static const char *start(struct instrument *in, const struct cpus *cpus)
{
	const int missing = find_missing(cpus);
	const char *columns = "", *clock = "";
	cpu_mask bound;
	int turn;

	in->whole = cpus_are_all(cpus);
	in->online = cpus->n == sysconf(_SC_NPROCESSORS_ONLN) ? cpus->n : CPUS_MAX;
	if (missing >= 0)
		return text_of("--idle: " NOT_COUNTED, missing, soak_instead());
	sched_getaffinity(0, sizeof(bound), bound);
	if (in->kind != &by_clock)
		columns = cpu_times_check(cpus);
	turn = turn_take();
	if (columns == NULL)
		columns = trial(NULL, cpus, &in->missing);
	if (columns != NULL && in->missing == 0)
		clock = clock_start(in, cpus);
	if (turn >= 0)
		close(turn);
	sched_setaffinity(0, sizeof(bound), bound);
	if (clock == NULL)
		in->kind = &by_clock;
	if (columns == NULL || clock == NULL)
		return NULL;
	if (in->kind == &by_clock)
		return text_of("--idle=clock: %s", clock);
	if (in->missing != 0)
		return text_of("--idle: %s", *clock != '\0' ? clock : columns);
	return text_of(NEITHER, columns, clock, soak_instead());
}

/*
 * The instrument.
 */

/* The share of the time that was not idle.  Half of what the hypervisor took counts as idle time. */
static double busy_between(const struct load_sample *from, const struct load_sample *to)
{
	const double steal = steal_between(from->steal, to->steal);

	return 1 - (to->spin - from->spin + steal / 2) / (to->time - from->time);
}

/*
 * A weighted mean of square[j] - error[j], 1 <= j < n.  A square of the expectation e has the variance 2 e^2, and is worth
 * its inverse; the expectation is taken to be `likely` + error[j].
 */
static double variance_of(const double *square, const double *error, int n, double likely)
{
	double sum = 0, weights = 0, weight;
	int j;

	for (j = 1; j < n; j++) {
		weight = pow(likely + error[j], -2);
		sum += weight * (square[j] - error[j]);
		weights += weight;
	}
	return fmax(0, sum / weights);
}

/*
 * The standard deviation of n windows' shares, without what comes from counting in steps: a reading, whose error has the
 * variance `cut`, ends one window and begins the next.  Each wave of the windows' cosine transform has the variance of the
 * bursts.  The slower the wave, the less it has of the steps' variance, and the more it counts.
 */
static double deviation_of(const double *busy, int n, double cut)
{
	double square[WINDOWS_MAX], error[WINDOWS_MAX], angle, sum, variance;
	int j, k;

	for (j = 1; j < n; j++) {
		angle = M_PI * j / n;
		for (sum = 0, k = 0; k < n; k++)
			sum += cos(angle * (k + 0.5)) * busy[k];
		square[j] = 2 * sum * sum / n;
		error[j] = cut * (2 - 2 * cos(angle) + 2 * (1 + cos(angle)) / n);
	}
	variance = variance_of(square, error, n, 1); /* so that all weigh about the same */
	if (cut > 0)
		variance = variance_of(square, error, n, variance);
	return sqrt(variance);
}

/*
 * Idle time is counted in steps of a tick, 10 ms of a column.  A baseline takes the mean of readings that are spread over
 * a tick, in which the steps even out; the clock has no steps.  The first reading is at a random moment, so that the
 * errors of two means are independent.  The pauses grow: on 8 or 16 CPUs, after equal pauses, the sum would often have gone
 * on by whole steps, and all readings would err alike.  What the readings take of a CPU is omitted from its load.
 */
#define READINGS  10
#define PAUSE_NS  600000u
#define LONGER_NS 90000u
#define CHANCE_NS 10000u /* times the last three digits of the clock */

/*
 * The variance of the mean of n values, each cut to a whole step.  They grow by `rate` steps a second from when[0] on,
 * where the part of a step is not known.  The errors of two that are d steps apart have the covariance below.
 */
static double cut_variance(const double *when, int n, double rate)
{
	double sum = 0, d;
	int i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++) {
			d = fabs(when[i] - when[k]) * rate;
			d -= floor(d);
			sum += 1.0 / 12 - d * (1 - d) / 2;
		}
	return fmax(0, sum) / (n * n);
}

/* Reads as read_once() does; for a baseline takes the mean. */
static void read_all(const struct instrument *in, const struct cpus *cpus, struct load_sample *at,
		     bool for_baseline)
{
	const int n = cpus->n, readings = for_baseline && in->clock == NULL ? READINGS : 1;
	const double hz = (double)sysconf(_SC_CLK_TCK);
	struct load_sample *one = alloc_or_die((size_t)n + 1, sizeof(*one), "idle time");
	const uint64_t generation = cpus_generation(cpus);
	double when[READINGS], each, all, own;
	uint64_t begun;
	int i, k;

	memset(at, 0, ((size_t)n + 1) * sizeof(*at));
	if (readings > 1)
		sleep_ns(raw_ns() % 1000 * CHANCE_NS);
	for (k = 0; k < readings; k++) {
		if (k > 0)
			sleep_ns(PAUSE_NS + (uint64_t)k * LONGER_NS);
		begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		read_once(in, cpus, one);
		own = seconds_between(begun, clock_ns(CLOCK_THREAD_CPUTIME_ID));
		i = cpus_index(cpus, sched_getcpu());
		if (i >= 0) {
			at[i].own += own;
			at[n].own += own;
		}
		when[k] = one[0].time;
		for (i = 0; i <= n; i++) {
			at[i].time += one[i].time / readings;
			at[i].spin += one[i].spin / readings;
			at[i].work += one[i].work / readings;
			at[i].steal += one[i].steal / readings;
			at[i].limits = one[i].limits;
		}
	}
	each = cut_variance(when, readings, hz) / (hz * hz);
	all = in->whole ? cut_variance(when, readings, n * hz) / (hz * hz) : n * each;
	for (i = 0; i <= n; i++) {
		at[i].tasks = NAN; /* it does not tell them from interrupts */
		at[i].limits.lost = generation;
		if (in->clock == NULL)
			at[i].cut = i < n ? each : all;
	}
	free(one);
}

/*
 * Half of the 95 % confidence interval of the rise of idle + iowait between two samples, in seconds, as both are counted
 * in steps.  Where iowait did not rise, both of its errors are the same: it then has none.
 */
static double load_step(const struct load_sample *from, const struct load_sample *to)
{
	const int columns = to->work > from->work ? 2 : 1;

	return 1.96 * sqrt(columns * (from->cut + to->cut));
}

/* The figures of the i-th CPU, or of all, in the last n windows. */
static struct baseline share(const struct windows *w, int n, int i)
{
	const struct load_sample *from = windows_at(w, w->n - n, i), *to = windows_at(w, w->n, i),
				 *at, *next;
	const double total = to->time - from->time;
	struct baseline b = {.spin = 1, .speed = 1, .step = load_step(from, to) / total};
	double busy[WINDOWS_MAX], step = 0, own = 0;
	int k;

	for (k = 0; k < n; k++) {
		at = windows_at(w, w->n - n + k, i);
		next = windows_at(w, w->n - n + k + 1, i);
		busy[k] = busy_between(at, next) - next->own / (next->time - at->time);
		own += next->own;
		step = hypot(step, load_step(at, next) / (next->time - at->time));
	}
	b.tasks = busy_between(from, to) - own / total;
	b.tasks_sd = deviation_of(busy, n, step * step / (2 * n * 1.96 * 1.96));
	return b;
}

/* All time that was not idle counts as time of tasks. */
static void store_shares(const struct windows *w, int n, struct calibration *c)
{
	int i;

	for (i = 0; i < c->cpus.n; i++)
		c->cpu[i] = share(w, n, i);
	c->all = share(w, n, i);
}

/* The load by the idle time between two samples: the half of what the hypervisor took was idle time, too. */
static void load_of_idle(const struct calibration *c, const struct baseline *b,
			 const struct load_sample *from, const struct load_sample *to,
			 struct load *l)
{
	const double total = to->time - from->time, idle = to->spin - from->spin;
	const double stolen = steal_between(from->steal, to->steal) / 2;

	l->load = 1 - b->tasks - (idle + stolen) / total;
	load_uncertainty(c, b, 0, hypot(stolen, load_step(from, to)) / total, false, l);
}

#define KIND(source)                                                                               \
	{                                                                                          \
		LOAD_BY_IDLE, source, "idle time", "unsoaked ", "--idle", false, start, stop,      \
			read_all, store_shares, load_of_idle                                       \
	}

const struct instrument_kind by_idle_time = KIND("columns"), by_clock = KIND("clock");
