#include "lib/load/load.h"

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
	*sum = (struct load_sample){.ns = raw_ns(), .limits = limits};
	for (i = 0; i < c->cpus.n; i++, b++) {
		soak_count(s, i, sum->ns, &n);
		one.ns = sum->ns;
		one.spin = (double)n.spin_ns / 1e9 / b->spin;
		one.work = (double)n.turns / (b->spin * b->speed);
		one.tasks = (double)n.tasks_ns / 1e9;
		one.switches = (double)n.switches;
		one.away_ns = n.away_ns;
		one.limits = sum->limits;
		sum->spin += one.spin;
		sum->work += one.work;
		sum->tasks += one.tasks;
		sum->switches += one.switches;
		sum->away_ns += one.away_ns;
		if (each != NULL)
			each[i] = one;
	}
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
		mean.spin_sd += c->cpu[k].spin_sd / c->cpus.n;
	}
	return mean;
}

/*
 * What makes a load uncertain, beside its baseline's unsteadiness.  Each constant was measured
 * where tests/bench/accuracy found the load of a known program off: zc(7) has the figures.
 */
#define EDGE_SECONDS   3e-3 /* of starting and ending a measurement: forks, readings, wake-ups */
#define SWITCH_SECONDS 1e-6 /* of a switch to a task and back, which the task's own time may have */
#define WAKE_SECONDS   8e-6 /* of the timer or interrupt that woke the task, at most */
#define HOST_SHARE     0.05 /* of the slowing: a host that slows CPUs also takes of their time */

/*
 * Half of the 95 % interval.  Five things are uncertain: which share of its time the soaker spins,
 * in the share `left` to it; what the idle machine's tasks take, whose bursts even out over time;
 * the edges; what the host takes; and the switches, of which there are `rate` a second and CPU.
 *
 * Each time that a task displaces a soaker there are a wake-up and two switches.  They are time
 * taken, but on a machine without soakers the switches would be from and to idleness.  The wake-ups'
 * time is in the load and not in the tasks' time.
 */
static double uncertainty(const struct baseline *b, const struct load *l, double left, double rate)
{
	double beside_tasks = fmax(0, l->load - (l->tasks - b->tasks));
	double spin = 2 * b->spin_sd * fmin(1, left);
	double tasks = 2 * b->tasks_sd * fmin(1, sqrt(BASELINE_WINDOW / l->seconds));
	double edge = EDGE_SECONDS / l->seconds;
	double host = HOST_SHARE * l->slowed;
	double switches = rate * SWITCH_SECONDS + fmin(rate * WAKE_SECONDS, beside_tasks);

	return sqrt(spin * spin + tasks * tasks + edge * edge + host * host + switches * switches);
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
	double total, away, spin = to->spin - from->spin;

	l->seconds = seconds_between(from->ns, to->ns);
	away = fmin(l->seconds * (i < 0 ? c->cpus.n : 1),
		    seconds_between(from->away_ns, to->away_ns));
	l->cpus = cpus_soaked(i < 0 ? c->cpus.n : 1, l->seconds, away);
	l->unsafe = limits_between(&from->limits, &to->limits);
	total = l->seconds * l->cpus;
	if (total <= 0) {
		l->unsafe = 0;
		l->load = l->uncertainty = l->slowed = l->tasks = NAN;
		return;
	}
	l->load = 1 - b.tasks - spin / total;
	l->slowed = spin > 0 ? 1 - (to->work - from->work) / spin : 0;
	/* A sample counts an open gap as a task's; if it was not one, the next sample has less. */
	l->tasks = fmax(0, to->tasks - from->tasks - away) / total;
	l->uncertainty = uncertainty(&b, l, spin / total, (to->switches - from->switches) / total);
}
