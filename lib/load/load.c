#include "lib/load/load.h"

#include "lib/load/counters.h"

void load_sample_read(const struct soaker *s, const struct calibration *c, struct load_sample *sum,
		      struct load_sample *each)
{
	const struct baseline *b = c->cpu;
	struct limits_mark limits;
	struct load_sample one;
	struct soak_count n;
	int i;

	soaker_check_or_die(s);
	limits_read(s, &limits); /* before the clock, as it takes some time */
	*sum = (struct load_sample){
		.steal = steal_seconds(), .limits = limits, .wakeup = soaker_wakeup(s)};
	one.steal = sum->steal / c->cpus.n;
	for (i = 0; i < c->cpus.n; i++, b++) {
		soak_count(s, i, &n);
		one.ns = n.ns;
		one.time = (double)n.ns / 1e9;
		one.spin = (double)n.spin_ns / 1e9 / b->spin;
		one.work = (double)n.turns / (b->spin * b->speed);
		one.tasks = (double)n.tasks_ns / 1e9;
		one.host = (double)n.host_ns / 1e9;
		one.switches = (double)n.switches;
		one.away_ns = n.away_ns;
		one.limits = sum->limits;
		one.wakeup = sum->wakeup;
		sum->ns = n.ns;
		sum->time += one.time;
		sum->spin += one.spin;
		sum->work += one.work;
		sum->tasks += one.tasks;
		sum->host += one.host;
		sum->switches += one.switches;
		sum->away_ns += one.away_ns;
		if (each != NULL)
			each[i] = one;
	}
}

void load_sample_resume(struct load_sample *s, const struct load_sample *base,
			const struct load_sample *begin)
{
	s->time += base->time - begin->time;
	s->spin += base->spin - begin->spin;
	s->work += base->work - begin->work;
	s->tasks += base->tasks - begin->tasks;
	s->host += base->host - begin->host;
	s->steal += base->steal - begin->steal;
	s->switches += base->switches - begin->switches;
	s->away_ns += base->away_ns - begin->away_ns;
	s->limits.lost += base->limits.lost - begin->limits.lost;
	s->limits.moved += base->limits.moved - begin->limits.moved;
	s->limits.stops += base->limits.stops - begin->limits.stops;
}

/* The baseline of one CPU, or if i < 0 the mean of all: CPUs of one host err together. */
static struct baseline baseline_of(const struct calibration *c, int i)
{
	struct baseline mean = {.tasks = 0};
	int k;

	if (i >= 0)
		return c->cpu[i];
	for (k = 0; k < c->cpus.n; k++) {
		mean.tasks += c->cpu[k].tasks / c->cpus.n;
		mean.tasks_sd += c->cpu[k].tasks_sd / c->cpus.n;
		mean.spin += c->cpu[k].spin / c->cpus.n;
		mean.spin_sd += c->cpu[k].spin_sd / c->cpus.n;
		mean.drift += c->cpu[k].drift / c->cpus.n;
	}
	return mean;
}

#define MIN_RAN 0.1 /* share of the time: soakers that ran for less saw too little of the host */

/*
 * The CPU time that the host took between two samples, in seconds, and by how much that may be wrong.
 * The soakers saw what was taken from them, exactly; from the tasks the host took as much in
 * proportion, within the ticks of the kernel's counter.  Where the soakers saw more than the kernel
 * counted it was not the host: a kernel may leave a thread's interrupts out of its time.  The kernel
 * may count late what was taken before: not more was taken than the soakers lack, of `total` seconds
 * in which they spun for `spin`.
 */
static double host_took(const struct load_sample *from, const struct load_sample *to, double spin,
			double total, double *doubt)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	const double counted = steal_between(from->steal, to->steal);
	const double seen = to->host - from->host, likely = seen / fmax(spin / total, MIN_RAN);
	double took;

	*doubt = 0;
	if (!(to->steal > 0))
		return 0;
	*doubt = tick;
	if (seen > 1.1 * counted + tick)
		return counted;
	took = fmin(fmax(likely, counted - tick), counted + tick);
	if (likely <= counted + tick && likely >= counted - tick)
		*doubt = fmin(tick, likely - seen);
	return fmin(took, fmax(0, total - spin) + tick);
}

/*
 * What makes a load uncertain, beside its baseline's unsteadiness: starting and ending a measurement
 * (forks, readings, the last wake-ups), the host, which also slows CPUs and then takes of their
 * time, and the wake-ups.  The first and the last were measured where tests/bench/accuracy found the
 * load of a known program off.
 */
#define EDGE_SECONDS 3e-3
#define HOST_SHARE   0.1  /* of the slowing */
#define SLOWED_MOST  0.5  /* a slowing beyond this is no host's doing */
#define WAKE_SHARE   1.25 /* of a wake-up's cost: other wake-ups were seen to cost twice as much */

/*
 * Half of the 95 % interval.  Six things are uncertain: which share of its time the soaker spins,
 * in the share `left` to it; what the idle machine's tasks take, whose bursts even out over time;
 * the edges; the time that the host took (`stolen`, a share) and how it slowed; and what the wake-ups
 * cost (`woken`, a share).
 */
static double uncertainty(const struct baseline *b, const struct load *l, double left,
			  double stolen, double woken)
{
	double spin = 2 * b->spin_sd * fmin(1, left);
	double tasks = 2 * b->tasks_sd * fmin(1, sqrt(BASELINE_WINDOW / l->seconds));
	double edge = EDGE_SECONDS / l->seconds;
	double host = HOST_SHARE * fmin(fabs(l->slowed), SLOWED_MOST);

	return sqrt(spin * spin + tasks * tasks + edge * edge + host * host + stolen * stolen +
		    woken * woken);
}

/*
 * A load cannot be below 0 by much: no soaker spins for more than all of the time.  One that is was
 * measured against a machine on which the soakers had less.
 */
#define BELOW_ZERO 0.05

static bool is_below_zero(const struct load *l)
{
	return l->load < -BELOW_ZERO - l->uncertainty;
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

/* The number of CPUs that were soaked in `seconds`, on average; a thousandth of one is none. */
static double cpus_soaked(int cpus, double seconds, double away)
{
	return seconds > 0 ? rint(1000 * (cpus - away / seconds)) / 1000 : cpus;
}

void load_between(const struct calibration *c, const struct load_sample *from,
		  const struct load_sample *to, int i, struct load *l)
{
	const struct baseline b = baseline_of(c, i);
	double spin = to->spin - from->spin, total = to->time - from->time, away, host, doubt, rate,
	       woken;

	l->seconds = fmax(0, total) / (i < 0 ? c->cpus.n : 1);
	away = fmin(fmax(0, total), seconds_between(from->away_ns, to->away_ns));
	l->cpus = cpus_soaked(i < 0 ? c->cpus.n : 1, l->seconds, away);
	l->others = fmax(c->others, baseline_of(c, -1).tasks);
	l->unsafe = limits_between(&from->limits, &to->limits);
	l->wakeup = to->wakeup;
	total -= away;
	if (total <= 0 || l->cpus <= 0) {
		/* There is nothing to be marked, and still a reason that no CPU was soaked. */
		if (i >= 0 || l->seconds == 0)
			l->unsafe = 0;
		l->load = l->uncertainty = l->slowed = l->tasks = NAN;
		return;
	}
	host = host_took(from, to, spin, total, &doubt);
	l->slowed = spin > 0 ? 1 - (to->work - from->work) / spin : 0;
	spin *= b.spin / spin_slowed(b.spin, l->slowed);
	/* A sample counts an open gap as a task's; if it was not one, the next sample has less. */
	l->tasks = fmax(0, to->tasks - from->tasks - away) / total;
	l->load = 1 - b.tasks - (spin + host) / total;
	/* The wake-ups' cost is in the load and not in the tasks' time. */
	rate = (to->switches - from->switches) / total;
	woken = fmin(rate * c->wake.mean, fmax(0, l->load - (l->tasks - b.tasks)));
	l->load -= woken;
	l->uncertainty = uncertainty(&b, l, spin / total, doubt / total,
				     fmax(WAKE_SHARE * woken, 2 * rate * c->wake.sd));
	/* Between two baselines that differ any other may have been the right one. */
	l->uncertainty = fmax(l->uncertainty, fabs(b.drift) / 2);
	if (b.tasks > CAL_BUSY || l->others > CAL_FULL)
		l->unsafe |= UNSAFE_BASELINE_BUSY;
	if (is_below_zero(l))
		l->unsafe |= UNSAFE_CALIBRATION;
	if (is_below_zero(l) || l->others > CAL_FULL)
		l->load = l->uncertainty = NAN;
}
