#include "lib/load/baseline.h"

#include "lib/load/statistics.h"

void instrument_read(const struct instrument *in, const struct cpus *cpus, struct load_sample *at,
		     bool for_baseline)
{
	in->kind->read(in, cpus, at, for_baseline);
	if (in->profile != NULL)
		profile_read(in->profile, &at[cpus->n].profile);
}

/*
 * Windows.
 */

const struct load_sample *windows_at(const struct windows *w, int k, int i)
{
	return &w->at[(size_t)k * ((size_t)w->cpus->n + 1) + (size_t)i];
}

static void windows_read(struct windows *w)
{
	instrument_read(w->in, w->cpus, &w->at[(size_t)w->n * ((size_t)w->cpus->n + 1)], true);
}

struct windows *windows_start(const struct instrument *in, const struct cpus *cpus)
{
	const size_t samples = (WINDOWS_MAX + 1) * ((size_t)cpus->n + 1);
	struct windows *w = alloc_or_die(1, sizeof(*w) + samples * sizeof(w->at[0]),
					 "the idle machine");

	w->in = in;
	w->cpus = cpus;
	windows_read(w);
	return w;
}

void windows_add(struct windows *w)
{
	sleep_ns((uint64_t)(BASELINE_WINDOW * 1e9));
	w->n++;
	windows_read(w);
}

void windows_store(const struct windows *w, int n, struct calibration *c)
{
	const struct load_sample *from = windows_at(w, w->n - n, w->cpus->n),
				 *to = windows_at(w, w->n, w->cpus->n);
	int k;

	baseline_none(w->in, c);
	c->windows = n;
	c->taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
	for (k = w->n - n; k < w->n; k++)
		c->unsafe |= limits_between(&windows_at(w, k, 0)->limits,
					    &windows_at(w, k + 1, 0)->limits);
	w->in->kind->shares(w, n, c);
	rises_between(&from->profile, &to->profile, &c->profile, sizeof(c->profile));
	c->profile.time = to->time - from->time;
	c->others = c->unsafe & UNSAFE_UNKNOWN ? NAN : c->all.tasks;
}

/*
 * Baselines and samples.
 */

int baseline_windows(double seconds)
{
	return (int)(fmin(fmax(seconds / 4, 1), 5) / BASELINE_WINDOW);
}

bool baseline_measure(const struct instrument *in, struct calibration *c, double seconds,
		      const _Atomic int *stop)
{
	const int n = baseline_windows(seconds);
	struct windows *w = windows_start(in, &c->cpus);
	bool is_whole;

	while (w->n < n && (stop == NULL || *stop == 0))
		windows_add(w);
	is_whole = w->n == n;
	if (is_whole)
		windows_store(w, n, c);
	free(w);
	return is_whole;
}

void baseline_none(const struct instrument *in, struct calibration *c)
{
	int i;

	c->kind = in->kind;
	c->all = (struct baseline){.spin = 1, .speed = 1};
	c->cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "the idle machine");
	for (i = 0; i < c->cpus.n; i++)
		c->cpu[i] = c->all;
}

struct load_sample baseline_sample(const struct calibration *c, const struct load_sample *at, int i)
{
	const int first = i < 0 ? 0 : i, last = i < 0 ? c->cpus.n - 1 : i;
	struct load_sample s = at[i < 0 ? c->cpus.n : i];
	int k;

	if (!c->kind->weighs)
		return s;
	s.spin = s.work = 0;
	for (k = first; k <= last; k++) {
		s.spin += at[k].spin / c->cpu[k].spin;
		s.work += at[k].work / (c->cpu[k].spin * c->cpu[k].speed);
	}
	return s;
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

	c->others = fmax(c->others, other->others);
	c->unsafe |= other->unsafe;
	sums_add(&c->profile, &other->profile, sizeof(c->profile));
	/* The mean of both is as certain as a mean of this number of windows. */
	c->windows = 4 / (1 / c->windows + 1 / other->windows);
	for (i = 0; i < c->cpus.n; i++, b++, o++) {
		b->drift = merge(&b->tasks, o->tasks, &b->tasks_sd, o->tasks_sd) -
			   merge(&b->spin, o->spin, &b->spin_sd, o->spin_sd);
		drift += b->drift / c->cpus.n;
		merge(&b->speed, o->speed, &b->speed_sd, o->speed_sd);
		b->step = hypot(b->step, o->step) / 2;
	}
	c->all.step = hypot(c->all.step, other->all.step) / 2;
	if (!c->kind->weighs)
		drift = other->all.tasks - c->all.tasks;
	c->all.drift = drift;
	/* The windows of both deviate from the mean of both. */
	c->all.tasks_sd = hypot(hypot(c->all.tasks_sd, other->all.tasks_sd) / sqrt(2),
				(c->all.tasks - other->all.tasks) / 2);
	c->all.tasks = (c->all.tasks + other->all.tasks) / 2;
	c->all.spin = (c->all.spin + other->all.spin) / 2;
	c->all.spin_sd = fmax(fmax(c->all.spin_sd, other->all.spin_sd), fabs(drift) / 2);
	return drift;
}

#define OLD_NS 3600000000000 /* an hour, by CLOCK_BOOTTIME */

bool baseline_is_old(const struct calibration *c)
{
	return c->taken_ns != 0 && (int64_t)clock_ns(CLOCK_BOOTTIME) - c->taken_ns > OLD_NS;
}

int baseline_starved(const struct calibration *c)
{
	int i;

	for (i = 0; i < c->cpus.n; i++)
		if (c->cpu[i].spin <= 0 || c->cpu[i].speed <= 0)
			return i;
	return -1;
}

const char *baseline_disturbed(const struct calibration *c, const char *when)
{
	const int i = baseline_starved(c);

	return i >= 0 ? text_of("CPU %d was fully busy %s", c->cpus.id[i], when)
		      : text_of("the machine is not idle %s: other programs took %.1f%% of it",
				when, 100 * c->others);
}
