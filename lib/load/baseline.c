#include "lib/load/baseline.h"

#include "lib/load/busiest.h"
#include "lib/load/counters.h"
#include "lib/load/statistics.h"

#define CAL_WINDOWS     4  /* windows of a round: a second */
#define CAL_ROUNDS      10 /* rounds at most */
#define CAL_BUSY_ROUNDS 2 /* in a row, that show a busy machine: one may be a passing disturbance */
#define WINDOWS_MAX     (CAL_ROUNDS * CAL_WINDOWS)

/* The figures of one CPU's soaker in each window, in the units of struct baseline. */
struct cpu_windows {
	struct soak_count last; /* what it had counted when the last window ended */
	double tasks[WINDOWS_MAX], spin[WINDOWS_MAX], speed[WINDOWS_MAX];
	double host[WINDOWS_MAX]; /* share that the host took while the soaker had the CPU */
};

/* A measurement that goes on, window after window. */
struct windows {
	const struct soaker *soaker;
	int cpus, n;                   /* of CPUs, and of windows so far */
	double steal[WINDOWS_MAX + 1]; /* steal_seconds() before the first and after each window */
	double seconds[WINDOWS_MAX];   /* length of each */
	struct cpu_windows cpu[];
};

/* Begins a measurement of `cpus` CPUs, which windows_end() ends. */
static struct windows *windows_start(const struct soaker *s, int cpus)
{
	struct windows *w = alloc_or_die(1, sizeof(*w) + (size_t)cpus * sizeof(w->cpu[0]),
					 "calibration");
	int i;

	*w = (struct windows){.soaker = s, .cpus = cpus, .steal = {steal_seconds()}};
	for (i = 0; i < cpus; i++)
		soak_count(s, i, &w->cpu[i].last);
	return w;
}

/*
 * Measures one more window.  Adds its part to the means of a round: to *turns the turns per second
 * of all CPUs, to *share the share of the machine's time that the soakers spun.
 */
static void windows_add(struct windows *w, double *turns, double *share)
{
	struct cpu_windows *cpu;
	struct soak_count to;
	double length = 0, spin, tasks, turned;
	int i;

	sleep_ns((uint64_t)(BASELINE_WINDOW * 1e9));
	soaker_check_or_die(w->soaker);
	for (i = 0; i < w->cpus; i++) {
		cpu = &w->cpu[i];
		soak_count(w->soaker, i, &to);
		length = (double)(to.ns - cpu->last.ns);
		spin = seconds_between(cpu->last.spin_ns, to.spin_ns) * 1e9;
		turned = (double)(to.turns - cpu->last.turns);
		tasks = seconds_between(cpu->last.tasks_ns, to.tasks_ns) * 1e9 / length;
		cpu->tasks[w->n] = fmin(1, tasks);
		cpu->host[w->n] = (double)(to.host_ns - cpu->last.host_ns) / length;
		cpu->spin[w->n] = spin / length;
		cpu->speed[w->n] = spin > 0 ? turned * 1e9 / spin : 0;
		cpu->last = to;
		*turns += turned * 1e9 / length / CAL_WINDOWS;
		*share += (cpu->spin[w->n] + cpu->host[w->n]) / w->cpus / CAL_WINDOWS;
	}
	w->seconds[w->n] = length / 1e9;
	w->steal[++w->n] = steal_seconds();
}

/* Makes the share that a CPU's soaker spun one of the time that tasks and the host left to it. */
static void windows_without_host(struct windows *w, int first, int n)
{
	double seen = 0, spin = 0, total = 0, took = 0, doubt, host, left;
	struct cpu_windows *cpu;
	int i, k;

	for (i = 0; i < w->cpus; i++)
		for (k = first; k < first + n; k++) {
			seen += w->cpu[i].host[k] * w->seconds[k];
			spin += w->cpu[i].spin[k] * w->seconds[k];
			total += w->seconds[k];
		}
	if (w->steal[first + n] > 0)
		took = host_took(seen, steal_between(w->steal[first], w->steal[first + n]), spin,
				 total, &doubt);
	for (i = 0; i < w->cpus; i++) {
		cpu = &w->cpu[i];
		for (k = first; k < first + n; k++) {
			host = seen > 0 ? cpu->host[k] * took / seen : took / total;
			left = 1 - cpu->tasks[k] - host;
			cpu->spin[k] = left > 0 ? fmin(1, cpu->spin[k] / left) : 0;
		}
	}
}

/* Stores the standard deviations of the machine: of the mean that its CPUs have in a window. */
static void machine_deviations(const struct windows *w, int first, int n, struct calibration *c)
{
	double tasks[WINDOWS_MAX] = {0}, spin[WINDOWS_MAX] = {0}, mean;
	int i, k;

	for (k = 0; k < n; k++)
		for (i = 0; i < w->cpus; i++) {
			tasks[k] += w->cpu[i].tasks[first + k] / w->cpus;
			spin[k] += w->cpu[i].spin[first + k] / w->cpus;
		}
	mean_of(tasks, n, &mean, &c->all.tasks_sd);
	mean_of_middle(spin, n, &mean, &c->all.spin_sd);
}

/*
 * Stores the baselines of the last n windows into c, whose cpu[] it allocates, and frees w.  Returns
 * the share of the machine that other tasks had.
 */
static double windows_end(struct windows *w, int n, struct calibration *c)
{
	const int first = w->n - n;
	double tasks = 0;
	struct baseline *b;
	int i;

	c->cpu = alloc_or_die((size_t)w->cpus, sizeof(*c->cpu), "calibration");
	c->total = 0;
	c->windows = n;
	c->taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
	windows_without_host(w, first, n);
	machine_deviations(w, first, n, c);
	for (i = 0; i < w->cpus; i++) {
		b = &c->cpu[i];
		mean_of(w->cpu[i].tasks + first, n, &b->tasks, &b->tasks_sd);
		mean_of_middle(w->cpu[i].spin + first, n, &b->spin, &b->spin_sd);
		mean_of_middle(w->cpu[i].speed + first, n, &b->speed, &b->speed_sd);
		c->total += (1 - b->tasks) * b->spin * b->speed;
		tasks += b->tasks / w->cpus;
	}
	free(w);
	return tasks;
}

int baseline_windows(double seconds)
{
	return (int)(fmin(fmax(seconds / 4, 1), 5) / BASELINE_WINDOW);
}

static double measure(const struct instrument *in, struct calibration *c, double seconds,
		      const _Atomic int *stop)
{
	const int n = baseline_windows(seconds);
	struct windows *w = windows_start(in->soaker, c->cpus.n);
	double turns = 0, share = 0;

	while (w->n < n && (stop == NULL || *stop == 0))
		windows_add(w, &turns, &share);
	if (w->n == n)
		return windows_end(w, n, c);
	free(w);
	return NAN;
}

static void sample(const struct instrument *in, const struct calibration *c,
		   struct load_sample *sum, struct load_sample *each)
{
	load_sample_read(in->soaker, c, sum, each);
}

static void read_limits(const struct instrument *in, struct limits_mark *m)
{
	soaker_limits(in->soaker, m);
}

static void close_instrument(struct instrument *in)
{
	soaker_stop(in->soaker);
}

struct instrument instrument_soak(struct soaker *s)
{
	static const struct instrument_kind soaking = {
		.sample = sample,
		.baseline = measure,
		.limits = read_limits,
		.close = close_instrument,
	};

	return (struct instrument){.kind = &soaking, .soaker = s};
}

double baseline_tasks(const struct calibration *c)
{
	double tasks = 0;
	int i;

	for (i = 0; i < c->cpus.n; i++)
		tasks += c->cpu[i].tasks / c->cpus.n;
	return tasks;
}

double baseline_spread(const double *share, int n)
{
	double min = INFINITY, max = -INFINITY;
	int i;

	if (n < CAL_AGREE)
		return INFINITY;
	for (i = n - CAL_AGREE; i < n; i++) {
		min = fmin(min, share[i]);
		max = fmax(max, share[i]);
	}
	return max - min;
}

/* The share of the machine that other tasks had in the last round. */
static double windows_tasks(const struct windows *w)
{
	double tasks = 0;
	int i, k;

	for (i = 0; i < w->cpus; i++)
		for (k = w->n - CAL_WINDOWS; k < w->n; k++)
			tasks += w->cpu[i].tasks[k] / w->cpus / CAL_WINDOWS;
	return tasks;
}

double baseline_calibrate(const struct soaker *s, struct calibration *c, void (*each)(double turns),
			  double most, double *spread)
{
	struct windows *w = windows_start(s, c->cpus.n);
	double share[CAL_ROUNDS] = {0}, turns;
	int n = 0, busy = 0;

	do {
		turns = 0;
		while (w->n < (n + 1) * CAL_WINDOWS)
			windows_add(w, &turns, &share[n]);
		each(turns);
		busy = windows_tasks(w) > most ? busy + 1 : 0;
		*spread = baseline_spread(share, ++n);
	} while (*spread > CAL_TOLERANCE && n < CAL_ROUNDS && busy < CAL_BUSY_ROUNDS);
	n = busy < CAL_BUSY_ROUNDS ? CAL_AGREE : busy;
	return windows_end(w, n * CAL_WINDOWS, c);
}

/* Makes *a the mean of two values; widens *sd by their difference, which it returns. */
static double merge(double *a, double b, double *sd, double b_sd)
{
	double difference = b - *a;

	*sd = fmax(fmax(*sd, b_sd), fabs(difference) / 2);
	*a += difference / 2;
	return difference;
}

double baseline_merge(struct calibration *c, const struct calibration *other)
{
	const struct baseline *o = other->cpu;
	struct baseline *b = c->cpu;
	double drift = 0;
	int i;

	c->others = fmax(baseline_tasks(c), baseline_tasks(other));
	/* The mean of two means is as certain as that of so many windows. */
	c->windows = 4 / (1 / c->windows + 1 / other->windows);
	for (i = 0; i < c->cpus.n; i++, b++, o++) {
		b->drift = merge(&b->tasks, o->tasks, &b->tasks_sd, o->tasks_sd) -
			   merge(&b->spin, o->spin, &b->spin_sd, o->spin_sd);
		drift += b->drift / c->cpus.n;
		merge(&b->speed, o->speed, &b->speed_sd, o->speed_sd);
		b->step = hypot(b->step, o->step) / 2;
	}
	c->all.step = hypot(c->all.step, other->all.step) / 2;
	c->all.drift = other->all.tasks - c->all.tasks;
	c->all.tasks += c->all.drift / 2;
	c->all.tasks_sd = hypot(c->all.tasks_sd, other->all.tasks_sd) / sqrt(2);
	c->all.spin_sd = fmax(fmax(c->all.spin_sd, other->all.spin_sd), fabs(drift) / 2);
	return c->lines > 0 ? c->all.drift : drift;
}

int baseline_held(const struct calibration *c)
{
	int i;

	for (i = 0; i < c->cpus.n; i++)
		if (c->cpu[i].spin <= 0 || c->cpu[i].speed <= 0)
			return i;
	return -1;
}

bool baseline_is_whole(const struct calibration *c)
{
	return baseline_held(c) < 0;
}

void baseline_warn_held(const struct soaker *s, const struct calibration *c, const char *when,
			const char *what, const char *result)
{
	const int cpu = c->cpus.id[baseline_held(c)];
	char busiest[BUSIEST_STRLEN];
	const bool found = busiest_find(cpu, soaker_keeper(s), busiest);

	warnx("CPU %d left its soaker no time %s %s: %s%s%s", cpu, when, what, result,
	      found ? "; the busiest program was " : "", found ? busiest : "");
}

void baseline_check_or_die(const struct calibration *c)
{
	const int i = baseline_held(c);

	if (i >= 0)
		die("CPU %d left its soaker no time: the system must be idle", c->cpus.id[i]);
}
