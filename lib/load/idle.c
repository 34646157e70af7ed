#include "lib/load/baseline.h"
#include "lib/load/counters.h"
#include "lib/load/statistics.h"

#define WINDOWS_MAX 32 /* of a baseline: 5 s have 20 */

struct idle {
	struct cpus cpus; /* that are watched, ascending */
	bool whole;       /* they are all that were online at the start */
};

/*
 * Reading: a sample of each CPU, and behind them that of all.
 */

/* Stores the columns of a line, from `user` on. */
static void parse_columns(const char *numbers, struct load_sample *s)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	double column[CPU_COLUMNS];
	char *rest;
	int i;

	for (i = 0; i < CPU_COLUMNS; i++, numbers = rest)
		column[i] = tick * (double)strtoull(numbers, &rest, 10);
	s->spin = column[CPU_IDLE] + column[CPU_IOWAIT];
	s->work = column[CPU_IOWAIT];
	s->steal = column[CPU_STEAL];
}

/*
 * Reads /proc/stat, of which the kernel makes the text at the first call: of all, the sum that it has of
 * them if they are all that are online, as that is exact to one tick, else the sum of their lines.
 * It closes the file.  Where that cannot be opened (NULL) the sample has no time, and there is no load.
 */
static void parse(const struct idle *w, FILE *f, struct load_sample *at)
{
	const int n = w->cpus.n;
	struct load_sample *all = &at[n];
	const uint64_t begun = raw_ns();
	uint64_t ns = 0;
	int i, id, online = 0;
	char line[256], *numbers;

	for (i = 0; i <= n; i++)
		at[i] = (struct load_sample){.spin = NAN, .work = NAN, .steal = NAN};
	i = 0;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL && strncmp(line, "cpu", 3) == 0) {
		/* The kernel reads its own clock about in the middle. */
		if (ns == 0)
			ns = begun + (raw_ns() - begun) / 2;
		if (line[3] == ' ') {
			if (w->whole)
				parse_columns(line + 3, all);
			continue;
		}
		online++;
		id = (int)strtol(line + 3, &numbers, 10);
		while (i < n && w->cpus.id[i] < id)
			i++;
		if (i < n && w->cpus.id[i] == id)
			parse_columns(numbers, &at[i]);
	}
	if (!w->whole)
		all->spin = all->work = all->steal = 0;
	for (i = 0; i < n && !w->whole; i++) {
		all->spin += at[i].spin;
		all->work += at[i].work;
		all->steal += at[i].steal;
	}
	if (online < n || isnan(all->spin))
		all->limits.now |= UNSAFE_CPU_OFFLINE;
	if (w->whole && online > n)
		all->limits.now |= UNSAFE_CPU_ONLINE;
	for (i = 0; i <= n; i++) {
		at[i].ns = ns;
		at[i].time = (i < n ? 1 : n) * ((double)ns / 1e9);
		at[i].limits = all->limits;
	}
	if (f != NULL)
		fclose(f);
}

static void read_all(const struct idle *w, struct load_sample *at)
{
	parse(w, fopen("/proc/stat", "re"), at);
}

/* Allocates room for n readings. */
static struct load_sample *alloc_readings(const struct idle *w, int n)
{
	return alloc_or_die((size_t)n * ((size_t)w->cpus.n + 1), sizeof(struct load_sample),
			    "idle time");
}

/*
 * The trial.
 */

#define TRY_NS      200000000u /* how long a trial takes */
#define TRY_WORK_NS 1000000u   /* of work in each period */
#define TRY_PERIOD  4000000u   /* ns: near the tick of most kernels, where sampling errs most */
#define TRY_MOST    4          /* trials: other programs may disturb one */
#define TRY_DOUBT   0.1  /* share of the time by which both may differ: two ticks in a trial */
#define TRY_ASLEEP  0.05 /* share of the time: a CPU that slept for less never sleeps */

/*
 * The share of a fifth of a second in which the i-th CPU was awake by the kernel's columns, while this
 * thread works and sleeps in turn on it; *worked is the thread's own share, by its clock.
 */
static double share_awake(const struct idle *w, int i, uint64_t work_ns, double *worked)
{
	struct load_sample *at = alloc_readings(w, 2), *from = &at[i], *to = from + w->cpus.n + 1;
	uint64_t next, until, ran;
	double awake;

	read_all(w, at);
	ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (next = raw_ns(); next < from->ns + TRY_NS; next += TRY_PERIOD) {
		until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_ns;
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
			;
		sleep_ns((uint64_t)(1e9 * seconds_between(raw_ns(), next + TRY_PERIOD)));
	}
	*worked = seconds_between(ran, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	read_all(w, to - i);
	*worked /= seconds_between(from->ns, to->ns);
	awake = 1 - (to->spin - from->spin) / seconds_between(from->ns, to->ns);
	free(at);
	return awake;
}

/*
 * Whether the columns are measured.  A machine that is not idle is tried again on other CPUs, and
 * what its programs had before the thread worked is taken to go on.  Leaves the thread on the last CPU.
 */
static bool is_measured(const struct idle *w, char why[DIE_MAX])
{
	double awake = 1, others = 0, rested = 0, worked = 0;
	int i, id = 0;

	for (i = 0; i < TRY_MOST; i++) {
		id = w->cpus.id[i % w->cpus.n];
		if (cpu_bind(id) != 0) {
			snprintf(
				why, DIE_MAX,
				"this program cannot run on CPU %d: check the cpuset and taskset(1)",
				id);
			return false;
		}
		if (i > 0)
			others = share_awake(w, i % w->cpus.n, 0, &rested);
		awake = share_awake(w, i % w->cpus.n, TRY_WORK_NS, &worked);
		worked -= rested;
		/* Where nothing was left to the thread, both differ by nothing. */
		if (awake <= 1 - TRY_ASLEEP && fabs(awake - others - worked) <= TRY_DOUBT)
			return true;
	}
	if (awake > 1 - TRY_ASLEEP)
		snprintf(
			why, DIE_MAX,
			"CPU %d never sleeps, since a program soaks it or spins there: end it, or measure by soaking",
			id);
	else
		snprintf(why, DIE_MAX,
			 "the kernel does not measure the idle time of CPU %d: it counted %.0f%% "
			 "beside work of %.0f%% (no NO_HZ, Linux 7.2 or later, or a busy machine): "
			 "measure by soaking",
			 id, 100 * (awake - others), 100 * worked);
	return false;
}

struct idle *idle_open(const struct cpus *cpus, char why[DIE_MAX])
{
	struct idle *w = alloc_or_die(1, sizeof(*w), "idle time");
	cpu_mask bound;
	bool measured;

	w->cpus = *cpus;
	w->whole = cpus->n == sysconf(_SC_NPROCESSORS_ONLN);
	sched_getaffinity(0, sizeof(bound), bound);
	measured = is_measured(w, why);
	sched_setaffinity(0, sizeof(bound), bound);
	if (measured)
		return w;
	free(w);
	return NULL;
}

/*
 * Baselines and samples.
 */

/* The share of the time that was not idle; half of what the host took was taken from idleness. */
static double busy_between(const struct load_sample *from, const struct load_sample *to)
{
	const double steal = steal_between(from->steal, to->steal);

	return 1 - (to->spin - from->spin + steal / 2) / (to->time - from->time);
}

/* The deviation of n windows' shares beyond that of the steps in which they are counted. */
static double deviation_of(const double *busy, int n, double step)
{
	double mean, sd;

	mean_of(busy, n, &mean, &sd);
	step /= 1.96;
	return sqrt(fmax(0, sd * sd - step * step));
}

/*
 * On an idle machine the step in which idle time is counted need not be waited out: the moment at which a
 * column rises is known as finely as it is looked at.  Many CPUs make the sum of all rise all the time.
 */
#define EDGE_POLL_NS 1000000u
#define EDGE_POLLS   12 /* at most: a tick of the column has 10 ms */

/* The share of the column's step that remains of it. */
static double edge_share(const struct idle *w)
{
	if (!w->whole)
		return 1;
	return fmin(1, w->cpus.n * (EDGE_POLL_NS / 1e9) * (double)sysconf(_SC_CLK_TCK));
}

/* Reads as read_all() does, as soon as the idle time of all has risen. */
static void read_at_edge(const struct idle *w, struct load_sample *at)
{
	const struct load_sample *all = &at[w->cpus.n];
	double before;
	int i;

	read_all(w, at);
	before = all->spin;
	for (i = 0; i < EDGE_POLLS && edge_share(w) < 1 && all->spin == before; i++) {
		sleep_ns(EDGE_POLL_NS);
		read_all(w, at);
	}
}

/*
 * The figures of one CPU, or of all, from the readings before the first of n windows and after each.
 * The idle time in the readings is known to the share `edge` of its step.
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

/* The share of a CPU that was not idle is that of `tasks`. */
static bool measure_baseline(const struct instrument *in, struct calibration *c, double seconds,
			     const _Atomic int *stop)
{
	const struct idle *w = in->idle;
	const int n = baseline_windows(seconds);
	const size_t stride = (size_t)w->cpus.n + 1;
	struct load_sample *at = alloc_readings(w, n + 1);
	int i, k;

	read_at_edge(w, at);
	for (k = 1; k <= n && (stop == NULL || *stop == 0); k++) {
		sleep_ns((uint64_t)(BASELINE_WINDOW * 1e9));
		read_at_edge(w, at + (size_t)k * stride);
	}
	if (k > n) {
		idle_gross(w, c);
		c->windows = n;
		c->taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
		for (i = 0; i < w->cpus.n; i++)
			c->cpu[i] = baseline_of(at + i, stride, n, 1, 1);
		c->all = baseline_of(at + i, stride, n, c->lines, edge_share(w));
		c->others = c->all.tasks;
		c->begin = at->limits;
		c->end = at[(size_t)n * stride].limits;
	}
	free(at);
	return k > n;
}

void idle_gross(const struct idle *w, struct calibration *c)
{
	int i;

	*c = (struct calibration){.cpus = w->cpus, .lines = w->whole ? 1 : w->cpus.n};
	c->all = (struct baseline){.spin = 1, .speed = 1};
	c->cpu = alloc_or_die((size_t)w->cpus.n, sizeof(*c->cpu), "idle time");
	for (i = 0; i < w->cpus.n; i++)
		c->cpu[i] = c->all;
}

/* On the idle machine a CPU sleeps for all of the time that tasks leave: no baseline is needed. */
static void sample(const struct instrument *in, const struct calibration *c,
		   struct load_sample *sum, struct load_sample *each)
{
	const size_t n = (size_t)in->idle->cpus.n;
	struct load_sample *at = alloc_readings(in->idle, 1);

	(void)c;
	read_all(in->idle, at);
	*sum = at[n];
	if (each != NULL)
		memcpy(each, at, n * sizeof(*each));
	free(at);
}

const struct instrument_kind by_idle_time = {.sample = sample, .baseline = measure_baseline};
