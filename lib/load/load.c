#include "lib/load/load.h"

#include "lib/load/statistics.h"

/*
 * What makes a load uncertain, beside its baseline's unsteadiness: starting and ending a measurement
 * (forks, readings, the last wake-ups), which take CPU time once, however many CPUs there are; and the
 * hypervisor, which also slows CPUs and then takes of their time.  Both constants were measured where
 * tests/bench/accuracy found the load of a known program off.
 */
#define EDGE_SECONDS     6e-3 /* of CPU time */
#define HYPERVISOR_SHARE 0.1  /* of the slowing */

void load_uncertainty(const struct calibration *c, const struct baseline *b, double left,
		      double stolen, bool has_steal, struct load *l)
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

const struct instrument_kind *instrument_named(const char *name)
{
	static const struct instrument_kind other = {
		.name = "", .source = "", .title = "", .adjective = "", .option = ""};

	return strcmp(name, by_soaking.name) == 0     ? &by_soaking
	       : strcmp(name, by_idle_time.name) == 0 ? &by_idle_time
						      : &other;
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
	strcpy(l->instrument, c->kind->name);
	strcpy(l->source, c->kind->source);
	c->kind->load(c, &b, from, to, l);
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

	rises_between(&from->profile, &to->profile, &counts, sizeof(counts));
	profile_shares(&counts, &c->profile, to->time - from->time, l->load, l->uncertainty,
		       &l->profile, l->profile_unsafe);
}
