#include "lib/load/baseline.h"
#include "lib/load/keeper.h"
#include "lib/load/statistics.h"

static const char *start(struct instrument *in, const struct cpus *cpus)
{
	return soaker_start(&in->soaker, cpus, in->wait, in->parks, &in->holder);
}

static void stop(struct instrument *in)
{
	soaker_stop(in->soaker);
}

static void read_soakers(const struct instrument *in, const struct cpus *cpus,
			 struct load_sample *at, bool for_baseline)
{
	const int n = cpus->n;
	cpu_times *times = alloc_or_die((size_t)n + 1, sizeof(*times), "load");
	struct limits_mark limits;
	uint64_t ns;
	int i;

	(void)for_baseline;
	soaker_check_or_die(in->soaker);
	soaker_limits(in->soaker, &limits); /* before the clock, as it takes some time */
	cpu_times_read(cpus, in->soaker->whole, times, &ns);
	for (i = 0; i <= n; i++) {
		at[i] = (struct load_sample){.ns = 0};
		if (i < n)
			soak_count(in->soaker, i, &at[i]);
		at[i].steal = times[i][CPU_STEAL];
		at[i].limits = limits;
	}
	free(times);
}

/* What the soaker of a CPU counted from one reading to another. */
static struct load_sample counted(const struct load_sample *from, const struct load_sample *to)
{
	const double time = to->time - from->time;

	return (struct load_sample){.time = time,
				    .tasks = fmin(time, fmax(0, to->tasks - from->tasks)),
				    .stolen = to->stolen - from->stolen,
				    .spin = fmax(0, to->spin - from->spin),
				    .work = to->work - from->work,
				    .steal = steal_between(from->steal, to->steal)};
}

/*
 * `spin` is the share of the time that tasks and the hypervisor left to a soaker.  The figures of the machine are those of
 * the mean of its CPUs in a window.
 */
static void store_shares(const struct windows *w, int n, struct calibration *c)
{
	const int cpus = w->cpus->n, first = w->n - n;
	double tasks[WINDOWS_MAX], spin[WINDOWS_MAX], speed[WINDOWS_MAX];
	double all_tasks[WINDOWS_MAX] = {0}, all_spin[WINDOWS_MAX] = {0};
	double took, doubt, left;
	struct load_sample all, one;
	struct baseline *b = c->cpu;
	int i, k;

	for (i = 0; i < cpus; i++, b++) {
		all = counted(windows_at(w, first, i), windows_at(w, w->n, i));
		took = windows_at(w, w->n, i)->steal > 0
			       ? time_stolen(all.stolen, all.steal, all.spin, all.time, &doubt)
			       : 0;
		for (k = 0; k < n; k++) {
			one = counted(windows_at(w, first + k, i), windows_at(w, first + k + 1, i));
			left = one.time - one.tasks -
			       took * (all.stolen > 0 ? one.stolen / all.stolen
						      : one.time / all.time);
			tasks[k] = one.tasks / one.time;
			spin[k] = left > 0 ? fmin(1, one.spin / left) : 0;
			speed[k] = one.spin > 0 ? one.work / one.spin : 0;
			all_tasks[k] += tasks[k] / cpus;
			all_spin[k] += spin[k] / cpus;
		}
		mean_of(tasks, n, &b->tasks, &b->tasks_sd);
		mean_of_middle(spin, n, &b->spin, &b->spin_sd);
		mean_of_middle(speed, n, &b->speed, &b->speed_sd);
	}
	mean_of(all_tasks, n, &c->all.tasks, &c->all.tasks_sd);
	mean_of_middle(all_spin, n, &c->all.spin, &c->all.spin_sd);
}

const struct instrument_kind by_soaking = {start, stop, read_soakers, store_shares};
