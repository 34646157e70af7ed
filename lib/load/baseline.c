#include "lib/load/baseline.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAL_WINDOWS   4     /* of one round: a second */
#define CAL_ROUNDS    10    /* at most */
#define CAL_AGREE     4     /* rounds in a row that must agree */
#define CAL_TOLERANCE 0.005 /* in the share of the time that they spun */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * The mean of the middle half of n values, so that one burst does not become the baseline, and
 * their standard deviation as the middle deviation tells it (x 1.4826 for a normal distribution).
 */
static void middle(double *v, int n, double *mean, double *sd)
{
	int skip = n / 4, i;

	qsort(v, (size_t)n, sizeof(*v), by_value);
	for (*mean = 0, i = skip; i < n - skip; i++)
		*mean += v[i] / (n - 2 * skip);
	for (i = 0; i < n; i++)
		v[i] = fabs(v[i] - *mean);
	qsort(v, (size_t)n, sizeof(*v), by_value);
	*sd = 1.4826 * (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* The mean and standard deviation of n values: of those whose bursts count. */
static void mean_of(const double *v, int n, double *mean, double *sd)
{
	int i;

	for (*mean = 0, i = 0; i < n; i++)
		*mean += v[i] / n;
	for (*sd = 0, i = 0; i < n; i++)
		*sd += (v[i] - *mean) * (v[i] - *mean) / (n - 1);
	*sd = sqrt(*sd);
}

/* The windows of a baseline: for CPU i and window w at [w * n_cpus + i]. */
struct windows {
	int cpus, n, max;
	double *tasks, *spin, *speed;
};

static void windows_alloc(struct windows *w, int cpus, int max)
{
	memset(w, 0, sizeof(*w));
	w->cpus = cpus;
	w->max = max;
	w->tasks = calloc((size_t)cpus * (size_t)max, sizeof(*w->tasks));
	w->spin = calloc((size_t)cpus * (size_t)max, sizeof(*w->spin));
	w->speed = calloc((size_t)cpus * (size_t)max, sizeof(*w->speed));
	if (w->tasks == NULL || w->spin == NULL || w->speed == NULL)
		die_errno("calibration");
}

static void windows_free(struct windows *w)
{
	free(w->tasks);
	free(w->spin);
	free(w->speed);
}

/* What CPU i did in the window between two counts; returns its turns. */
static double window_set(struct windows *w, int i, const struct soak_count *from,
			 const struct soak_count *to, double ns)
{
	size_t at = (size_t)w->n * (size_t)w->cpus + (size_t)i;
	double spin = (double)(to->spin_ns - from->spin_ns);
	double turns = (double)(to->turns - from->turns);
	double tasks = to->tasks_ns > from->tasks_ns ? (double)(to->tasks_ns - from->tasks_ns) / ns
						     : 0;

	w->tasks[at] = fmin(1, tasks);
	w->spin[at] = tasks < 1 ? fmin(1, spin / ns / (1 - tasks)) : 0;
	w->speed[at] = spin > 0 ? turns * 1e9 / spin : 0;
	return turns;
}

/* Takes one more window; returns the turns per second of all CPUs in it. */
static double window_add(struct windows *w, const struct soaker *s, struct soak_count *from,
			 uint64_t *from_ns)
{
	struct soak_count to;
	double total = 0, length;
	uint64_t ns;
	int i;

	sleep_ns((uint64_t)(BASELINE_WINDOW * 1e9));
	soaker_check_or_die(s);
	ns = raw_ns();
	length = (double)(ns - *from_ns);
	for (i = 0; i < w->cpus; i++) {
		soak_count(s, i, ns, &to);
		total += window_set(w, i, &from[i], &to, length);
		from[i] = to;
	}
	w->n++;
	*from_ns = ns;
	return total * 1e9 / length;
}

/* The counts from which the first window starts. */
static struct soak_count *windows_start(const struct soaker *s, int n, uint64_t *ns)
{
	struct soak_count *c = calloc((size_t)n, sizeof(*c));
	int i;

	if (c == NULL)
		die_errno("calibration");
	*ns = raw_ns();
	for (i = 0; i < n; i++)
		soak_count(s, i, *ns, &c[i]);
	return c;
}

/* One value in CPU i's last n windows. */
static double *column_of(const struct windows *w, const double *column, int i, int n, double *v)
{
	int k;

	for (k = 0; k < n; k++)
		v[k] = column[(w->n - n + k) * w->cpus + i];
	return v;
}

/* Makes a baseline of the last n windows; returns the share of the machine that others had. */
static double windows_middle(const struct windows *w, int n, struct calibration *c)
{
	double *v = calloc((size_t)n, sizeof(*v)), tasks = 0;
	struct baseline *b;
	int i;

	if (v == NULL)
		die_errno("calibration");
	c->total = 0;
	for (i = 0; i < w->cpus; i++) {
		b = &c->cpu[i];
		mean_of(column_of(w, w->tasks, i, n, v), n, &b->tasks, &b->tasks_sd);
		middle(column_of(w, w->spin, i, n, v), n, &b->spin, &b->spin_sd);
		middle(column_of(w, w->speed, i, n, v), n, &b->speed, &b->speed_sd);
		c->total += (1 - b->tasks) * b->spin * b->speed;
		tasks += b->tasks / w->cpus;
	}
	free(v);
	return tasks;
}

void calibration_alloc(struct calibration *c)
{
	c->cpu = calloc((size_t)c->cpus.n, sizeof(*c->cpu));
	if (c->cpu == NULL)
		die_errno("calibration");
}

/* A CPU that was held whole has no baseline. */
void baseline_check_or_die(const struct calibration *c)
{
	int i;

	for (i = 0; i < c->cpus.n; i++)
		if (c->cpu[i].spin <= 0 || c->cpu[i].speed <= 0)
			die("CPU %d left its soaker no time: the system must be idle",
			    c->cpus.id[i]);
}

void baseline_measure(const struct soaker *s, const struct cpus *cpus, double seconds,
		      struct calibration *c)
{
	int n = (int)fmax(2, ceil(seconds / BASELINE_WINDOW)), i;
	struct soak_count *from;
	struct windows w;
	uint64_t ns;
	double tasks;

	c->cpus = *cpus;
	calibration_alloc(c);
	windows_alloc(&w, cpus->n, n);
	from = windows_start(s, cpus->n, &ns);
	for (i = 0; i < n; i++)
		window_add(&w, s, from, &ns);
	tasks = windows_middle(&w, n, c);
	baseline_check_or_die(c);
	if (tasks > CAL_BUSY)
		warnx("the machine is not idle beside the command: "
		      "other programs took %.1f%% of it",
		      100 * tasks);
	windows_free(&w);
	free(from);
}

/* The middle of two values; their difference widens the deviation. */
static double merge(double *a, double b, double *sd, double b_sd)
{
	double difference = b - *a;

	*sd = fmax(fmax(*sd, b_sd), fabs(difference) / 2);
	*a += difference / 2;
	return difference;
}

double baseline_merge(struct calibration *c, const struct calibration *other)
{
	const struct baseline *o;
	struct baseline *b;
	double drift = 0;
	int i;

	for (i = 0; i < c->cpus.n; i++) {
		b = &c->cpu[i];
		o = &other->cpu[i];
		drift += merge(&b->tasks, o->tasks, &b->tasks_sd, o->tasks_sd);
		drift -= merge(&b->spin, o->spin, &b->spin_sd, o->spin_sd);
		merge(&b->speed, o->speed, &b->speed_sd, o->speed_sd);
	}
	return drift / c->cpus.n;
}

/* By how much the spinning shares of the last rounds differ. */
static double spread(const double *share, int n)
{
	double min = share[n - 1], max = share[n - 1];
	int i;

	for (i = n - CAL_AGREE; i < n; i++) {
		min = fmin(min, share[i]);
		max = fmax(max, share[i]);
	}
	return max - min;
}

/* One round of windows: prints its turns per second; returns the share that was spun. */
static double calibrate_round(struct windows *w, const struct soaker *s, struct soak_count *from,
			      uint64_t *ns)
{
	double total = 0, share = 0;
	int i, k;

	for (i = 0; i < CAL_WINDOWS; i++) {
		total += window_add(w, s, from, ns) / CAL_WINDOWS;
		for (k = 0; k < w->cpus; k++)
			share += (1 - w->tasks[(w->n - 1) * w->cpus + k]) *
				 w->spin[(w->n - 1) * w->cpus + k] / w->cpus / CAL_WINDOWS;
	}
	report("calibrating: %.0f loops/sec\n", total);
	return share;
}

/* Runs rounds until they agree and makes the baseline of the last; returns others' share. */
double baseline_calibrate(const struct soaker *s, struct calibration *c)
{
	double share[CAL_ROUNDS] = {0}, tasks;
	int round = 0;
	struct windows w;
	uint64_t ns;
	struct soak_count *from = windows_start(s, c->cpus.n, &ns);

	windows_alloc(&w, c->cpus.n, CAL_ROUNDS * CAL_WINDOWS);
	do {
		share[round++] = calibrate_round(&w, s, from, &ns);
	} while (round < CAL_AGREE || (round < CAL_ROUNDS && spread(share, round) > CAL_TOLERANCE));
	if (spread(share, round) > CAL_TOLERANCE)
		warnx("the machine is unsteady: the last rounds differ by %.1f points of load",
		      100 * spread(share, round));
	tasks = windows_middle(&w, CAL_AGREE * CAL_WINDOWS, c);
	windows_free(&w);
	free(from);
	return tasks;
}
