#include "lib/load/baseline.h"
#include "lib/load/cputime.h"
#include "lib/load/statistics.h"

#define WINDOWS_MAX 32 /* of a baseline: 5 s have 20 */

/*
 * Reading: a sample of each CPU, and after them the sum of all.
 */

static void read_all(const struct cpus *cpus, bool whole, struct load_sample *at)
{
	const int n = cpus->n;
	cpu_times *times = alloc_or_die((size_t)n + 1, sizeof(*times), "idle time");
	struct limits_mark limits = {.now = 0};
	int i, online;
	uint64_t ns;

	online = cpu_times_read(cpus, whole, times, &ns);
	if (online == 0)
		limits.now |= UNSAFE_NOT_MEASURED;
	else if (isnan(times[n][CPU_IDLE]))
		limits.now |= UNSAFE_CPU_OFFLINE;
	if (whole && online > n)
		limits.now |= UNSAFE_CPU_ONLINE;
	for (i = 0; i <= n; i++)
		at[i] = (struct load_sample){.ns = ns,
					     .time = (i < n ? 1 : n) * ((double)ns / 1e9),
					     .spin = times[i][CPU_IDLE] + times[i][CPU_IOWAIT],
					     .work = times[i][CPU_IOWAIT],
					     .steal = times[i][CPU_STEAL],
					     .limits = limits};
	free(times);
}

/* Allocates room for `readings` of n CPUs. */
static struct load_sample *alloc_readings(int n, int readings)
{
	return alloc_or_die((size_t)readings * ((size_t)n + 1), sizeof(struct load_sample),
			    "idle time");
}

/*
 * The trial.
 */

#define TRY_NS      200000000u /* how long a trial takes */
#define TRY_WORK_NS 1000000u   /* of work in each period */
#define TRY_PERIOD  4000000u   /* ns: near the tick of most kernels, where sampling is most wrong */
#define TRY_MOST    4          /* trials: other programs may disturb one */
#define TRY_DOUBT   0.1        /* by how much the two shares may differ: two ticks in a trial */
#define TRY_ASLEEP  0.05 /* share of the time: a CPU that sleeps less counts as never asleep */

#define NOT_COUNTED                                                                                \
	"--idle: /proc/stat cannot be read, or does not count CPU %d (a container may have one "   \
	"of its own): " SOAK_INSTEAD

/* Soaking has a trial of its own, which takes soakers. */
#define SOAK_INSTEAD "try soaking, which says if it does not work here"

/*
 * The share of a fifth of a second in which a CPU was awake by the kernel's columns, while this thread, on that CPU,
 * works and sleeps in turn; NAN if the kernel counted nothing.  *worked is the thread's own share, by its CPU clock.
 */
static double share_awake(int cpu, uint64_t work_ns, double *worked)
{
	const struct cpus one = {1, {cpu}};
	cpu_times from[2], to[2], rise;
	uint64_t begin, end, next, until, ran;
	double counted = 0;
	int i;

	cpu_times_read(&one, false, from, &begin);
	ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (next = raw_ns(); next < begin + TRY_NS; next += TRY_PERIOD) {
		until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_ns;
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
			;
		sleep_ns((uint64_t)(1e9 * seconds_between(raw_ns(), next + TRY_PERIOD)));
	}
	*worked = seconds_between(ran, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	cpu_times_read(&one, false, to, &end);
	*worked /= seconds_between(begin, end);
	for (i = 0; i < CPU_COLUMNS; i++) {
		rise[i] = to[0][i] - from[0][i];
		counted += rise[i];
	}
	if (!(counted > 0)) /* a file of another machine, as in some containers, or no file */
		return NAN;
	return 1 - (rise[CPU_IDLE] + rise[CPU_IOWAIT]) / seconds_between(begin, end);
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
 * Whether a trial shows that the columns are measured.  If the machine is not idle it is repeated on other CPUs, and
 * other programs are assumed to go on as they did before the thread worked.  Leaves the thread on the last CPU.
 */
static bool trial_passes(const struct cpus *cpus, char why[DIE_MAX])
{
	double awake = 1, others = 0, rested = 0, worked = 0;
	int i, cpu = -1;

	for (i = 0; i < TRY_MOST; i++) {
		cpu = bind_next(cpus, cpu);
		if (cpu < 0) {
			snprintf(why, DIE_MAX,
				 "--idle: this program may run on none of the measured CPUs: "
				 "check the cpuset, or choose others by --on-cpus");
			return false;
		}
		if (i > 0)
			others = share_awake(cpus->id[cpu], 0, &rested);
		awake = share_awake(cpus->id[cpu], TRY_WORK_NS, &worked);
		worked -= rested;
		/* If the CPU never slept the thread had no time to work, and both shares are alike. */
		if (awake <= 1 - TRY_ASLEEP && fabs(awake - others - worked) <= TRY_DOUBT)
			return true;
	}
	if (isnan(awake))
		snprintf(why, DIE_MAX, NOT_COUNTED, cpus->id[cpu]);
	else if (awake > 1 - TRY_ASLEEP)
		snprintf(
			why, DIE_MAX,
			"--idle: CPU %d never sleeps, since a program soaks it or spins there: end it",
			cpus->id[cpu]);
	else
		snprintf(
			why, DIE_MAX,
			"--idle: the kernel does not measure the idle time of CPU %d: it counted "
			"%.0f%% beside work of %.0f%% (no NO_HZ, or a busy machine): " SOAK_INSTEAD,
			cpus->id[cpu], 100 * (awake - others), 100 * worked);
	return false;
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

bool idle_try(const struct cpus *cpus, bool *whole, char why[DIE_MAX])
{
	const int missing = find_missing(cpus);
	char reason[DIE_MAX - 100];
	cpu_mask bound;
	bool measured;

	*whole = cpus->n == sysconf(_SC_NPROCESSORS_ONLN);
	if (!cpu_times_are_measured(cpus, reason, sizeof(reason))) {
		snprintf(why, DIE_MAX, "--idle: %s: " SOAK_INSTEAD, reason);
		return false;
	}
	if (missing >= 0) {
		snprintf(why, DIE_MAX, NOT_COUNTED, missing);
		return false;
	}
	sched_getaffinity(0, sizeof(bound), bound);
	measured = trial_passes(cpus, why);
	sched_setaffinity(0, sizeof(bound), bound);
	return measured;
}

/*
 * Baselines and samples.
 */

/* The share of the time that was not idle.  Half of what the host took counts as idle time. */
static double busy_between(const struct load_sample *from, const struct load_sample *to)
{
	const double steal = steal_between(from->steal, to->steal);

	return 1 - (to->spin - from->spin + steal / 2) / (to->time - from->time);
}

/* The deviation of n windows' shares, without the deviation that comes from counting in steps. */
static double deviation_of(const double *busy, int n, double step)
{
	double mean, sd;

	mean_of(busy, n, &mean, &sd);
	step /= 1.96;
	return sqrt(fmax(0, sd * sd - step * step));
}

/*
 * Idle time is counted in steps of a tick.  On an idle machine a baseline polls for the moment at which the
 * column rises, and is then wrong by the time between two polls only.  With many CPUs the sum rises all the time,
 * and polling gains nothing.
 */
#define EDGE_POLL_NS 1000000u
#define EDGE_POLLS   12 /* at most: a tick of the column has 10 ms */

/* By which share of a step idle time may still be wrong. */
static double edge_share(int n, bool whole)
{
	return whole ? fmin(1, n * (EDGE_POLL_NS / 1e9) * (double)sysconf(_SC_CLK_TCK)) : 1;
}

/* Reads as read_all() does, as soon as the idle time of all CPUs has risen. */
static void read_at_edge(const struct cpus *cpus, bool whole, struct load_sample *at)
{
	const struct load_sample *all = &at[cpus->n];
	double before;
	int i;

	read_all(cpus, whole, at);
	before = all->spin;
	for (i = 0; i < EDGE_POLLS && edge_share(cpus->n, whole) < 1 && all->spin == before; i++) {
		sleep_ns(EDGE_POLL_NS);
		read_all(cpus, whole, at);
	}
}

/*
 * The figures of one CPU, or of all, from n + 1 readings: before the first of n windows, and after each.
 * The idle time in the readings may be wrong by the share `edge` of a step.
 */
static struct baseline baseline_of(const struct load_sample *at, size_t stride, int n, int lines,
				   double edge)
{
	const struct load_sample *end = at + (size_t)n * stride;
	const double step = edge * load_step(lines, end->work > at->work);
	struct baseline b = {.spin = 1, .speed = 1, .step = step / (end->time - at->time)};
	double busy[WINDOWS_MAX];
	int k;

	b.tasks = busy_between(at, end);
	for (k = 0; k < n; k++, at += stride)
		busy[k] = busy_between(at, at + stride);
	b.tasks_sd = deviation_of(busy, n, b.step * n);
	return b;
}

/* All time that was not idle counts as time of tasks. */
static bool measure_baseline(const struct instrument *in, struct calibration *c, double seconds,
			     const _Atomic int *stop)
{
	const int n = baseline_windows(seconds), cpus = c->cpus.n;
	const size_t stride = (size_t)cpus + 1;
	struct load_sample *at = alloc_readings(cpus, n + 1);
	int i, k;

	read_at_edge(&c->cpus, in->whole, at);
	for (k = 1; k <= n && (stop == NULL || *stop == 0); k++) {
		sleep_ns((uint64_t)(BASELINE_WINDOW * 1e9));
		read_at_edge(&c->cpus, in->whole, at + (size_t)k * stride);
	}
	if (k > n) {
		idle_gross(in, c);
		c->windows = n;
		c->taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
		for (i = 0; i < cpus; i++)
			c->cpu[i] = baseline_of(at + i, stride, n, 1, 1);
		c->all = baseline_of(at + i, stride, n, c->lines, edge_share(cpus, in->whole));
		c->others = c->all.tasks;
		c->begin = at->limits;
		c->end = at[(size_t)n * stride].limits;
	}
	free(at);
	return k > n;
}

void idle_gross(const struct instrument *in, struct calibration *c)
{
	const struct cpus cpus = c->cpus;
	int i;

	*c = (struct calibration){.cpus = cpus, .lines = in->whole ? 1 : cpus.n};
	c->all = (struct baseline){.spin = 1, .speed = 1};
	c->cpu = alloc_or_die((size_t)cpus.n, sizeof(*c->cpu), "idle time");
	for (i = 0; i < cpus.n; i++)
		c->cpu[i] = c->all;
}

/* The samples do not depend on the baseline: load_between() subtracts what tasks have on the idle machine. */
static void sample(const struct instrument *in, const struct calibration *c,
		   struct load_sample *sum, struct load_sample *each)
{
	struct load_sample *at = alloc_readings(c->cpus.n, 1);

	read_all(&c->cpus, in->whole, at);
	*sum = at[c->cpus.n];
	if (each != NULL)
		memcpy(each, at, (size_t)c->cpus.n * sizeof(*each));
	free(at);
}

const struct instrument_kind by_idle_time = {.sample = sample, .baseline = measure_baseline};
