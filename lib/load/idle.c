#include "lib/load/baseline.h"
#include "lib/load/counters.h"
#include "lib/load/statistics.h"

#define LINE_MOST   256 /* bytes of a CPU's line in /proc/stat: ten numbers */
#define WINDOWS_MAX 32  /* of a baseline: 5 s have 20 */

/* The time that a CPU, or all that are watched, slept since the boot, and that the host took. */
struct idle_count {
	uint64_t ns;        /* the moment, of raw_ns() */
	double idle, steal; /* CPU seconds, in steps of a tick; NAN where the CPU is offline */
	double iowait;      /* the part of `idle` in which a task waited for a disk */
};

struct idle {
	struct cpus cpus; /* that are watched, ascending */
	bool whole;       /* they are all that were online at the start */
	int fd;           /* of /proc/stat, which is read anew from its beginning each time */
	size_t size;      /* bytes that its lines of CPUs take at most */
};

/*
 * Reading.
 */

/* Reads the columns of a line, from `user` on. */
static void parse_columns(const char *numbers, struct idle_count *c)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	double column[CPU_COLUMNS] = {0};
	char *rest;
	int i;

	for (i = 0; i < CPU_COLUMNS; i++, numbers = rest)
		column[i] = (double)strtoull(numbers, &rest, 10);
	c->idle = tick * (column[CPU_IDLE] + column[CPU_IOWAIT]);
	c->iowait = tick * column[CPU_IOWAIT];
	c->steal = tick * column[CPU_STEAL];
}

/*
 * Stores the CPUs' counts from the text of /proc/stat: the sum that the kernel has of them if they are
 * all that are online, as that is exact to one tick, else the sum of their lines.  The times are those
 * of all->ns.  Returns how many CPUs have a line.
 */
static int parse(const char *text, const struct cpus *cpus, bool whole, struct idle_count *all,
		 struct idle_count *each)
{
	const char *line, *end;
	int i, id, online = 0;
	char *numbers;

	all->idle = all->steal = all->iowait = whole ? NAN : 0;
	for (i = 0; i < cpus->n; i++)
		each[i] = (struct idle_count){all->ns, NAN, NAN, NAN};
	i = 0;
	for (line = text; strncmp(line, "cpu", 3) == 0 && (end = strchr(line, '\n')) != NULL;
	     line = end + 1) {
		if (line[3] == ' ') {
			if (whole)
				parse_columns(line + 3, all);
			continue;
		}
		online++;
		id = (int)strtol(line + 3, &numbers, 10);
		while (i < cpus->n && cpus->id[i] < id)
			i++;
		if (i < cpus->n && cpus->id[i] == id)
			parse_columns(numbers, &each[i]);
	}
	for (i = 0; i < cpus->n && !whole; i++) {
		all->idle += each[i].idle;
		all->iowait += each[i].iowait;
		all->steal += each[i].steal;
	}
	return online;
}

/* Reads the counts of all CPUs together, and of each.  Returns how many CPUs are online. */
static int read_all(const struct idle *w, struct idle_count *all, struct idle_count *each)
{
	char *text = alloc_or_die(1, w->size + 1, "/proc/stat");
	const uint64_t before = raw_ns();
	const ssize_t n = TEMP_FAILURE_RETRY(pread(w->fd, text, w->size, 0));
	int online;

	/* The kernel reads its own clock about in the middle. */
	all->ns = before + (raw_ns() - before) / 2;
	text[n > 0 ? n : 0] = '\0';
	online = parse(text, &w->cpus, w->whole, all, each);
	free(text);
	return online;
}

static struct idle_count read_cpu(const struct idle *w, int i)
{
	struct idle_count *each = alloc_or_die((size_t)w->cpus.n, sizeof(*each), "idle time");
	struct idle_count all, one;

	read_all(w, &all, each);
	one = each[i];
	free(each);
	return one;
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

/* A trial on one CPU, in shares of its time. */
struct trial {
	const struct idle *watch;
	int i;         /* the index of the CPU */
	double worked; /* by the thread's own clock */
	double awake;  /* by the kernel's columns; NAN: not known */
	double others; /* by those, before the thread works; 0 where that was not tried */
};

/* The share of a fifth of a second in which the CPU was awake, while the thread works and sleeps in turn. */
static double share_awake(struct trial *t, uint64_t work_ns)
{
	const struct idle_count from = read_cpu(t->watch, t->i);
	const uint64_t ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct idle_count to;
	uint64_t next, until;
	double seconds;

	for (next = raw_ns(); next < from.ns + TRY_NS; next += TRY_PERIOD) {
		until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_ns;
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
			;
		sleep_ns((uint64_t)(1e9 * seconds_between(raw_ns(), next + TRY_PERIOD)));
	}
	t->worked = seconds_between(ran, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	to = read_cpu(t->watch, t->i);
	seconds = seconds_between(from.ns, to.ns);
	t->worked /= seconds;
	return 1 - (to.idle - from.idle) / seconds;
}

static void *trial_main(void *arg)
{
	struct trial *t = arg;
	double rests = 0;

	if (cpu_bind(t->watch->cpus.id[t->i]) != 0)
		return NULL;
	if (isnan(t->others)) {
		t->others = share_awake(t, 0);
		rests = t->worked;
	}
	t->awake = share_awake(t, TRY_WORK_NS);
	t->worked -= rests;
	return NULL;
}

/*
 * Whether the columns are measured.  A machine that is not idle is tried again on other CPUs, and
 * what its programs had before the thread worked is taken to go on.
 */
static bool is_measured(const struct idle *w, char why[DIE_MAX])
{
	struct trial t;
	pthread_t id;
	int i;

	for (i = 0; i < TRY_MOST; i++) {
		t = (struct trial){w, i % w->cpus.n, NAN, NAN, i > 0 ? NAN : 0};
		if (thread_start(&id, trial_main, &t) == 0)
			pthread_join(id, NULL);
		if (isnan(t.awake)) {
			snprintf(why, DIE_MAX, "the idle time of CPU %d cannot be tried",
				 w->cpus.id[t.i]);
			return false;
		}
		/* Where nothing was left to the thread, both differ by nothing. */
		if (t.awake <= 1 - TRY_ASLEEP && fabs(t.awake - t.others - t.worked) <= TRY_DOUBT)
			return true;
	}
	if (t.awake > 1 - TRY_ASLEEP)
		snprintf(
			why, DIE_MAX,
			"CPU %d never sleeps, since a program soaks it or spins there: end it, or use -c",
			w->cpus.id[t.i]);
	else
		snprintf(why, DIE_MAX,
			 "the kernel does not measure the idle time of CPU %d: it counted %.0f%% "
			 "beside work of %.0f%% (no NO_HZ, Linux 7.2 or later, or a busy machine): "
			 "use -c",
			 w->cpus.id[t.i], 100 * (t.awake - t.others), 100 * t.worked);
	return false;
}

static void close_watch(struct idle *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

struct idle *idle_open(const struct cpus *cpus, char why[DIE_MAX])
{
	struct idle *w = alloc_or_die(1, sizeof(*w), "idle time");
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	w->cpus = *cpus;
	w->whole = cpus->n == online;
	w->size = (size_t)(online + 1) * LINE_MOST;
	w->fd = open_retry("/proc/stat", O_RDONLY);
	if (w->fd < 0)
		snprintf(why, DIE_MAX, "/proc/stat: %s", strerror(errno));
	else if (is_measured(w, why))
		return w;
	close_watch(w);
	return NULL;
}

/*
 * Baselines and samples.
 */

/* The share of `cpus` CPUs that was not idle; half of what the host took was taken from idleness. */
static double busy_between(const struct idle_count *from, const struct idle_count *to, int cpus)
{
	const double time = cpus * seconds_between(from->ns, to->ns);

	return 1 - (to->idle - from->idle + steal_between(from->steal, to->steal) / 2) / time;
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
	return fmin(1, w->cpus.n * (EDGE_POLL_NS / 1e9) * (double)sysconf(_SC_CLK_TCK));
}

/* Reads as read_all() does, as soon as the idle time of all has risen. */
static void read_at_edge(const struct idle *w, struct idle_count *all, struct idle_count *each)
{
	double before;
	int i;

	read_all(w, all, each);
	before = all->idle;
	for (i = 0; i < EDGE_POLLS && w->whole && edge_share(w) < 1 && all->idle == before; i++) {
		sleep_ns(EDGE_POLL_NS);
		read_all(w, all, each);
	}
}

/*
 * The figures of one CPU, or of all, from the readings before the first of n windows and after each.
 * The idle time in the readings is known to the share `edge` of its step.
 */
static struct baseline baseline_of(const struct idle_count *at, size_t stride, int n, int cpus,
				   int lines, double edge)
{
	const struct idle_count *end = at + (size_t)n * stride;
	const double seconds = cpus * seconds_between(at->ns, end->ns);
	const double step = edge * load_step(lines, end->iowait > at->iowait);
	struct baseline b = {.spin = 1, .speed = 1, .step = step / seconds};
	double busy[WINDOWS_MAX];
	int k;

	b.tasks = busy_between(at, end, cpus);
	for (k = 0; k < n; k++, at += stride)
		busy[k] = busy_between(at, at + stride, cpus);
	b.tasks_sd = deviation_of(busy, n, b.step * n);
	return b;
}

/* The share of a CPU that was not idle is that of `tasks`. */
static double measure_baseline(const struct instrument *in, struct calibration *c, double seconds,
			       const _Atomic int *stop)
{
	const struct idle *w = in->idle;
	const int n = baseline_windows(seconds), cpus = w->cpus.n;
	const size_t stride = (size_t)cpus;
	struct idle_count all[WINDOWS_MAX + 1], *each;
	int i, k;

	each = alloc_or_die((size_t)(n + 1) * stride, sizeof(*each), "idle time");
	read_at_edge(w, &all[0], each);
	for (k = 1; k <= n && (stop == NULL || *stop == 0); k++) {
		sleep_ns((uint64_t)(BASELINE_WINDOW * 1e9));
		read_at_edge(w, &all[k], each + (size_t)k * stride);
	}
	if (k <= n) {
		free(each);
		return NAN;
	}
	*c = (struct calibration){.cpus = w->cpus, .lines = w->whole ? 1 : cpus, .windows = n};
	c->taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
	c->cpu = alloc_or_die(stride, sizeof(*c->cpu), "idle time");
	for (i = 0; i < cpus; i++)
		c->cpu[i] = baseline_of(each + i, stride, n, 1, 1, 1);
	c->all = baseline_of(all, 1, n, cpus, c->lines, w->whole ? edge_share(w) : 1);
	free(each);
	return c->all.tasks;
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
	const struct idle *w = in->idle;
	struct idle_count all, *one = alloc_or_die((size_t)w->cpus.n, sizeof(*one), "idle time");
	const int online = read_all(w, &all, one);
	const double now = (double)all.ns / 1e9;
	int i;

	*sum = (struct load_sample){.ns = all.ns,
				    .time = w->cpus.n * now,
				    .spin = all.idle,
				    .work = all.iowait,
				    .steal = all.steal};
	if (online < w->cpus.n || isnan(all.idle))
		sum->limits.now |= UNSAFE_CPU_OFFLINE;
	if (w->whole && online > w->cpus.n)
		sum->limits.now |= UNSAFE_CPU_ONLINE;
	(void)c;
	for (i = 0; i < w->cpus.n && each != NULL; i++) {
		each[i] = *sum;
		each[i].time = now;
		each[i].spin = one[i].idle;
		each[i].work = one[i].iowait;
		each[i].steal = one[i].steal;
	}
	free(one);
}

static void read_limits(const struct instrument *in, struct limits_mark *m)
{
	struct load_sample s;

	sample(in, NULL, &s, NULL);
	*m = s.limits;
}

static void close_instrument(struct instrument *in)
{
	close_watch(in->idle);
}

struct instrument instrument_idle(struct idle *w)
{
	static const struct instrument_kind watching = {
		.sample = sample,
		.baseline = measure_baseline,
		.limits = read_limits,
		.close = close_instrument,
	};

	return (struct instrument){.kind = &watching, .idle = w};
}
