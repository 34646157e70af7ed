#include "lib/load/wakecost.h"

#include <sys/prctl.h>

#define PARTS     4          /* measurements of each CPU, whose differences are the deviation */
#define WAKE_UPS  150        /* of each measurement */
#define SLEEP_NS  100000     /* from one wake-up to the next */
#define PART_NS   200000000u /* for a measurement: it takes 20 ms on a machine that wakes in time */
#define COST_MOST 1e-4       /* seconds: more is no wake-up's cost but a burst of something else */

/* A thread that measures the wake-ups of one CPU. */
struct waker {
	const struct soaker *soaker;
	const struct calibration *calibration;
	int i;              /* index of the CPU */
	double cost[PARTS]; /* seconds each; NAN: not known */
	pthread_t id;
	bool started;
};

/* The cost of a wake-up between two readings, in which the thread itself had the CPU for `ran`. */
static double cost_between(const struct soak_count *from, const struct soak_count *to,
			   const struct baseline *b, uint64_t ran)
{
	double time = (double)(to->ns - from->ns), spun = (double)(to->spin_ns - from->spin_ns);
	double host = (double)(to->host_ns - from->host_ns);
	double n = (double)(to->switches - from->switches);
	double cost = ((1 - b->tasks) * time - host - spun / b->spin - (double)ran) / n / 1e9;

	return n >= WAKE_UPS / 2.0 && fabs(cost) < COST_MOST ? cost : NAN;
}

/* Sleeps as programs do that wait for something, in poll(2). */
static void doze(uint64_t ns)
{
	const struct timespec t = ns_to_timespec(ns);

	ppoll(NULL, 0, &t, NULL);
}

static void *waker_main(void *arg)
{
	struct waker *w = arg;
	struct soak_count from, to;
	uint64_t ran, until;
	int part, k;

	if (cpu_bind(w->calibration->cpus.id[w->i]) != 0)
		return NULL;
	prctl(PR_SET_TIMERSLACK, 1);
	for (part = 0; part < PARTS; part++) {
		doze(SLEEP_NS);
		until = now_ns() + PART_NS;
		ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		soak_count(w->soaker, w->i, &from);
		for (k = 0; k < WAKE_UPS && now_ns() < until; k++)
			doze(SLEEP_NS);
		soak_count(w->soaker, w->i, &to);
		ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
		w->cost[part] = cost_between(&from, &to, &w->calibration->cpu[w->i], ran);
	}
	return NULL;
}

struct wake_cost wake_cost_of(const double *cost, int n)
{
	double known = 0, sum = 0, squares = 0;
	int i;

	for (i = 0; i < n; i++) {
		known += !isnan(cost[i]);
		sum += isnan(cost[i]) ? 0 : cost[i];
		squares += isnan(cost[i]) ? 0 : cost[i] * cost[i];
	}
	if (known < 2)
		return (struct wake_cost){WAKE_COST, WAKE_COST};
	return (struct wake_cost){fmax(0, sum / known),
				  sqrt(fmax(0, squares - sum * sum / known) / (known - 1) / known)};
}

struct wake_cost wake_cost_measure(const struct soaker *s, const struct calibration *c)
{
	const int cpus = c->cpus.n;
	struct waker *w = alloc_or_die((size_t)cpus, sizeof(*w), "wake-ups");
	double *cost = alloc_or_die((size_t)cpus * PARTS, sizeof(*cost), "wake-ups");
	struct wake_cost mean;
	int i;

	for (i = 0; i < cpus; i++) {
		w[i] = (struct waker){s, c, i, {NAN, NAN, NAN, NAN}, 0, false};
		/* On a CPU that left its soaker no time a thread might never run. */
		w[i].started = c->cpu[i].spin > 0 && thread_start(&w[i].id, waker_main, &w[i]) == 0;
	}
	for (i = 0; i < cpus; i++) {
		if (w[i].started)
			pthread_join(w[i].id, NULL);
		memcpy(cost + (size_t)i * PARTS, w[i].cost, sizeof(w[i].cost));
	}
	mean = wake_cost_of(cost, cpus * PARTS);
	free(cost);
	free(w);
	return mean;
}
