#include "lib/load/load.h"

#include "lib/load/statistics.h"

#define MIN_RAN                                                                                    \
	0.1 /* share of the time: soakers that ran for less saw too little of the hypervisor */

double time_stolen(double seen, double counted, double spin, double total, double *doubt)
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

/*
 * What makes a load uncertain, beside its baseline's unsteadiness: starting and ending a measurement
 * (forks, readings, the last wake-ups), which take CPU time once, however many CPUs there are; and the
 * hypervisor, which also slows CPUs and then takes of their time.  Both constants were measured where
 * tests/bench/accuracy found the load of a known program off.
 */
#define EDGE_SECONDS     6e-3 /* of CPU time */
#define HYPERVISOR_SHARE 0.1  /* of the slowing */
#define SLOWED_MOST      0.5  /* a slowing beyond this is no hypervisor's doing */

double load_step(const struct load_sample *from, const struct load_sample *to)
{
	const int columns = to->work > from->work ? 2 : 1;

	return 1.96 * sqrt(columns * (from->cut + to->cut));
}

/*
 * Stores half of the 95 % confidence interval, and the part of it that all runs share.  Six things are uncertain:
 * which share of its time the soaker spins, in the share `left` to it; what the idle machine's tasks
 * took in the time of the load, and in that of its baseline, as the bursts even out over either;
 * the edges; the time that the hypervisor took (`stolen`, a share; with it stands the step in which idle time
 * is counted), and how it slowed.
 */
static void uncertainty(const struct calibration *c, const struct baseline *b, struct load *l,
			double left, double stolen, bool has_steal)
{
	const double windows = fmax(2, c->windows), tasks = student_t(windows - 1) * b->tasks_sd;
	const double spin = 2 * b->spin_sd * fmin(1, left), idle = tasks / sqrt(windows);
	const double bursts = tasks * fmin(1, sqrt(BASELINE_WINDOW / l->seconds));
	const double edge = EDGE_SECONDS / l->seconds / l->cpus;
	const double hypervisor = has_steal ? HYPERVISOR_SHARE * fmin(fabs(l->slowed), SLOWED_MOST)
					    : 0;
	const double baseline = hypot(hypot(spin, idle), b->step), always = hypot(edge, hypervisor);

	l->uncertainty = hypot(hypot(baseline, always), hypot(bursts, stolen));
	l->shared = c->of_file ? hypot(baseline, always) : always;
	/* Between two baselines that differ any other may have been the right one. */
	l->uncertainty = fmax(l->uncertainty, fabs(b->drift) / 2);
}

/*
 * A load cannot be below 0 by much: no soaker spins for more than all of the time.  One that is was
 * measured against a machine on which the soakers had less.
 */
#define BELOW_ZERO 0.05

/*
 * The share of its time that a soaker would spin on the idle machine, were that slowed as much: the
 * rest is interrupts, which take longer on a slower CPU.
 */
static double spin_slowed(double spin, double slowed)
{
	slowed = fmin(fmax(slowed, -SLOWED_MOST), SLOWED_MOST);
	return fmax(spin / 2, 1 - (1 - spin) / (1 - slowed));
}

/* The load by the idle time between two samples: the half of what the hypervisor took was idle time, too. */
static void load_of_idle(const struct calibration *c, const struct baseline *b,
			 const struct load_sample *from, const struct load_sample *to,
			 struct load *l)
{
	const double total = to->time - from->time, idle = to->spin - from->spin;
	const double stolen = steal_between(from->steal, to->steal) / 2;

	strcpy(l->instrument, LOAD_BY_IDLE);
	strcpy(l->source, c->clock ? IDLE_CLOCK : IDLE_COLUMNS);
	l->load = 1 - b->tasks - (idle + stolen) / total;
	uncertainty(c, b, l, 0, hypot(stolen, load_step(from, to)) / total, false);
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
	strcpy(l->instrument, LOAD_BY_SOAKING);
	l->slowed = spin > 0 ? 1 - (to->work - from->work) / spin : 0;
	spin *= b->spin / spin_slowed(b->spin, l->slowed);
	/* A sample counts an open gap as a task's; if it was not one, the next sample has less. */
	l->tasks = fmax(0, to->tasks - from->tasks) / total;
	l->switches = fmax(0, to->switches - from->switches) / l->seconds;
	l->load = 1 - b->tasks - (spin + stolen) / total;
	uncertainty(c, b, l, spin / total, doubt / total, has_steal);
}

void load_init(struct load *l)
{
	memset(l, 0, sizeof(*l));
	set_unknown(l, offsetof(struct load, unsafe));
}

void load_between(const struct calibration *c, const struct load_sample *from,
		  const struct load_sample *to, int i, struct load *l)
{
	const struct baseline b = i < 0 ? c->all : c->cpu[i];
	const double total = to->time - from->time;
	bool is_below_zero;

	load_init(l);
	l->cpus = i < 0 ? c->cpus.n : 1;
	l->seconds = fmax(0, total) / l->cpus;
	l->others = c->others;
	if (total <= 0) /* there is nothing to be marked */
		return;
	if (l->seconds >= TICKS_SECONDS)
		l->steal = steal_between(from->steal, to->steal) / total;
	l->unsafe = c->unsafe | limits_between(&from->limits, &to->limits);
	if (c->idle)
		load_of_idle(c, &b, from, to, l);
	else
		load_of_spin(c, &b, from, to, l);
	if (b.tasks > CAL_BUSY || l->others > CAL_FULL)
		l->unsafe |= UNSAFE_BASELINE_BUSY;
	is_below_zero = l->load < -BELOW_ZERO - l->uncertainty;
	if (is_below_zero)
		l->unsafe |= UNSAFE_CALIBRATION;
	if (is_below_zero || l->others > CAL_FULL || l->unsafe & UNSAFE_UNKNOWN)
		l->load = l->uncertainty = l->shared = NAN;
}

void load_profile(const struct calibration *c, const struct load_sample *from,
		  const struct load_sample *to, struct load *l)
{
	struct profile_counts counts;

	profile_difference(&from->profile, &to->profile, &counts);
	profile_shares(&counts, &c->profile, to->time - from->time, l->load, l->uncertainty,
		       &l->profile, l->profile_unsafe);
}
