#include "lib/load/baseline.h"
#include "lib/load/keeper.h"
#include "lib/load/statistics.h"

#define MIN_RAN                                                                                    \
	0.1 /* share of the time: soakers that ran for less saw too little of the hypervisor */

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
	at[n] = (struct load_sample){.steal = times[n][CPU_STEAL], .limits = limits};
	for (i = 0; i < n; i++) {
		soak_count(in->soaker, i, &at[i]);
		at[i].steal = times[i][CPU_STEAL];
		at[i].limits = limits;
		sums_add(&at[n], &at[i], offsetof(struct load_sample, steal));
	}
	free(times);
}

/*
 * The CPU time that the hypervisor took, in seconds, of `total` in which the soakers
 * spun for `spin`; *doubt is by how much that may be wrong.  The kernel has `counted` it, within a tick.  The soakers
 * saw `seen` of it, exactly: what was taken from them; from the tasks the hypervisor took as much in proportion.  On kernels
 * on which a soaker cannot tell it from interrupts, or does not see it, `seen` is NAN.  The kernel may count late what
 * was taken before: not more was taken than the soakers lack.  The same rule holds for baselines and loads.
 */
static double time_stolen(double seen, double counted, double spin, double total, double *doubt)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	const double likely = seen / fmax(spin / total, MIN_RAN);
	double took = counted;

	*doubt = tick;
	if (seen <= 1.1 * counted + tick) { /* not where it is NAN */
		took = fmin(fmax(likely, counted - tick), counted + tick);
		if (likely <= counted + tick && likely >= counted - tick)
			*doubt = fmin(tick, likely - seen);
	}
	return fmin(took, fmax(0, total - spin) + tick);
}

/* What the soaker of a CPU counted from one reading to another. */
static struct load_sample counted(const struct load_sample *from, const struct load_sample *to)
{
	struct load_sample s = {.steal = steal_between(from->steal, to->steal)};

	rises_between(from, to, &s, offsetof(struct load_sample, steal));
	s.tasks = fmin(s.time, s.tasks);
	return s;
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

/*
 * The share of its time that a soaker would spin on the idle machine, were that slowed as much: the
 * rest is interrupts, which take longer on a slower CPU.
 */
static double spin_slowed(double spin, double slowed)
{
	slowed = fmin(fmax(slowed, -SLOWED_MOST), SLOWED_MOST);
	return fmax(spin / 2, 1 - (1 - spin) / (1 - slowed));
}

/* The load by what the soakers spun between two samples, less what the hypervisor took. */
static void load_of_spin(const struct calibration *c, const struct baseline *b,
			 const struct load_sample *from, const struct load_sample *to,
			 struct load *l)
{
	const double total = to->time - from->time;
	double spin = to->spin - from->spin, stolen = 0, doubt = 0;
	const bool has_steal = to->steal > 0;

	if (has_steal)
		stolen = time_stolen(to->stolen - from->stolen,
				     steal_between(from->steal, to->steal), spin, total, &doubt);
	l->slowed = spin > 0 ? 1 - (to->work - from->work) / spin : 0;
	spin *= b->spin / spin_slowed(b->spin, l->slowed);
	/* A sample counts an open gap as a task's; if it was not one, the next sample has less. */
	l->tasks = fmax(0, to->tasks - from->tasks) / total;
	l->switches = fmax(0, to->switches - from->switches) / l->seconds;
	l->load = 1 - b->tasks - (spin + stolen) / total;
	load_uncertainty(c, b, spin / total, doubt / total, has_steal, l);
}

const struct instrument_kind by_soaking = {
	LOAD_BY_SOAKING, "",   "soaking",    "",           "-c",        true,
	start,           stop, read_soakers, store_shares, load_of_spin};
