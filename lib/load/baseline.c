#include "lib/load/baseline.h"

#define CAL_WINDOWS 4  /* of one round: a second */
#define CAL_ROUNDS  10 /* at most */
#define CAL_AGREE   4  /* rounds in a row that must agree */

/* What is measured in a window of BASELINE_WINDOW: the means of struct baseline, by column. */
enum { TASKS, SPIN, SPEED, COLUMNS };

/* A measurement that goes on, window after window. */
struct windows {
	const struct soaker *soaker;
	int cpus, n;              /* of CPUs, and of windows so far */
	uint64_t ns;              /* when the last window ended */
	struct soak_count *last;  /* what each CPU's soaker had counted then */
	double (*value)[COLUMNS]; /* of CPU i in window w at [w * cpus + i] */
	double *column;           /* one CPU's values in one column */
};

static void windows_start(struct windows *w, const struct soaker *s, int cpus, int max)
{
	int i;

	*w = (struct windows){.soaker = s, .cpus = cpus, .ns = raw_ns()};
	w->last = alloc_or_die((size_t)cpus, sizeof(*w->last), "calibration");
	w->value = alloc_or_die((size_t)cpus * (size_t)max, sizeof(*w->value), "calibration");
	w->column = alloc_or_die((size_t)max, sizeof(*w->column), "calibration");
	for (i = 0; i < cpus; i++)
		soak_count(s, i, w->ns, &w->last[i]);
}

static void windows_free(struct windows *w)
{
	free(w->last);
	free(w->value);
	free(w->column);
}

/* Measures one more window; returns the turns per second of all CPUs in it. */
static double windows_add(struct windows *w)
{
	struct soak_count to, *from;
	double total = 0, length, spin, tasks, turns, *value;
	uint64_t ns;
	int i;

	sleep_ns((uint64_t)(BASELINE_WINDOW * 1e9));
	soaker_check_or_die(w->soaker);
	ns = raw_ns();
	length = (double)(ns - w->ns);
	for (i = 0; i < w->cpus; i++) {
		from = &w->last[i];
		value = w->value[w->n * w->cpus + i];
		soak_count(w->soaker, i, ns, &to);
		spin = (double)(to.spin_ns - from->spin_ns);
		turns = (double)(to.turns - from->turns);
		tasks = seconds_between(from->tasks_ns, to.tasks_ns) * 1e9 / length;
		value[TASKS] = fmin(1, tasks);
		value[SPIN] = tasks < 1 ? fmin(1, spin / length / (1 - tasks)) : 0;
		value[SPEED] = spin > 0 ? turns * 1e9 / spin : 0;
		total += turns * 1e9 / length;
		*from = to;
	}
	w->n++;
	w->ns = ns;
	return total;
}

/* One column of CPU i's last n windows, to be changed by the caller. */
static double *windows_column(struct windows *w, int column, int i, int n)
{
	int k;

	for (k = 0; k < n; k++)
		w->column[k] = w->value[(w->n - n + k) * w->cpus + i][column];
	return w->column;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * The mean of the middle half of n values, so that one burst does not become the baseline, and
 * their standard deviation, estimated from the median deviation (times 1.4826, which holds for a
 * normal distribution).
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

/* The mean and standard deviation of n values whose bursts count. */
static void mean_of(const double *v, int n, double *mean, double *sd)
{
	int i;

	for (*mean = 0, i = 0; i < n; i++)
		*mean += v[i] / n;
	for (*sd = 0, i = 0; i < n; i++)
		*sd += (v[i] - *mean) * (v[i] - *mean) / (n - 1);
	*sd = sqrt(*sd);
}

/* Makes a baseline of the last n windows; returns the share of the machine that others had. */
static double windows_baseline(struct windows *w, int n, struct calibration *c)
{
	double tasks = 0;
	struct baseline *b;
	int i;

	c->total = 0;
	for (i = 0; i < w->cpus; i++) {
		b = &c->cpu[i];
		mean_of(windows_column(w, TASKS, i, n), n, &b->tasks, &b->tasks_sd);
		middle(windows_column(w, SPIN, i, n), n, &b->spin, &b->spin_sd);
		middle(windows_column(w, SPEED, i, n), n, &b->speed, &b->speed_sd);
		c->total += (1 - b->tasks) * b->spin * b->speed;
		tasks += b->tasks / w->cpus;
	}
	return tasks;
}

void calibration_alloc(struct calibration *c)
{
	c->cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "calibration");
}

double baseline_measure(const struct soaker *s, double seconds, struct calibration *c)
{
	int n = (int)fmax(2, ceil(seconds / BASELINE_WINDOW));
	struct windows w;
	double tasks;

	windows_start(&w, s, c->cpus.n, n);
	while (w.n < n)
		windows_add(&w);
	tasks = windows_baseline(&w, n, c);
	windows_free(&w);
	return tasks;
}

/* By how much the values of the last rounds differ. */
static double spread_of(const double *share, int n)
{
	double min = share[n - 1], max = share[n - 1];
	int i;

	for (i = n - CAL_AGREE; i < n; i++) {
		min = fmin(min, share[i]);
		max = fmax(max, share[i]);
	}
	return max - min;
}

/* Measures one round; returns the share of the machine's time that the soakers spun in it. */
static double calibrate_round(struct windows *w, void (*each)(double total))
{
	double total = 0, share = 0;
	int i, k;

	for (i = 0; i < CAL_WINDOWS; i++) {
		total += windows_add(w) / CAL_WINDOWS;
		for (k = (w->n - 1) * w->cpus; k < w->n * w->cpus; k++)
			share += (1 - w->value[k][TASKS]) * w->value[k][SPIN];
	}
	each(total);
	return share / w->cpus / CAL_WINDOWS;
}

double baseline_calibrate(const struct soaker *s, struct calibration *c, void (*each)(double total),
			  double *spread)
{
	double share[CAL_ROUNDS], tasks;
	struct windows w;
	int n = 0;

	windows_start(&w, s, c->cpus.n, CAL_ROUNDS * CAL_WINDOWS);
	do {
		share[n++] = calibrate_round(&w, each);
		*spread = n < CAL_AGREE ? INFINITY : spread_of(share, n);
	} while (n<CAL_ROUNDS && * spread> CAL_TOLERANCE);
	tasks = windows_baseline(&w, CAL_AGREE * CAL_WINDOWS, c);
	windows_free(&w);
	return tasks;
}

/* The mean of two values; their difference widens the deviation. */
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

void baseline_check_or_die(const struct calibration *c)
{
	int i;

	for (i = 0; i < c->cpus.n; i++)
		if (c->cpu[i].spin <= 0 || c->cpu[i].speed <= 0)
			die("CPU %d left its soaker no time: the system must be idle",
			    c->cpus.id[i]);
}
