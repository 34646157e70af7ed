#include "lib/load/yield.h"

#include <sys/eventfd.h>

#include "lib/load/statistics.h"

#define BUSY_NS  30000000u /* of work without a pause: some timer ticks */
#define YIELD_NS 60000000u /* how long it takes */
#define WORK_NS  500000u   /* of work in one turn */
#define TURNS    100       /* at most: there are YIELD_NS / WORK_NS */
#define RAN      1e-7      /* seconds: less is rounded off */

/* One CPU's thread. */
struct yielder {
	int i, cpu;                                  /* the index and the number of the CPU */
	uint64_t (*ran)(const struct soaker *, int); /* the CPU time of the soaker there */
	const struct soaker *soaker;
	struct yielder *next; /* whom it wakes: one on another CPU, if there is one, else itself */
	uint64_t end_ns;
	int event;             /* eventfd(2), on which it sleeps */
	_Atomic uint64_t woke; /* the soaker's CPU time when the thread was woken */
	bool begins;           /* it works first */
	pthread_t thread;
	double worked, soaked; /* its CPU time, and the soaker's, while it worked */
	int n;                 /* times that it was woken while the soaker ran */
	double late[TURNS];    /* seconds each, for which the soaker ran on */
};

static uint64_t soaker_ran(const struct yielder *w)
{
	return w->ran(w->soaker, w->i);
}

static void work(struct yielder *w, uint64_t ns)
{
	const uint64_t begun = raw_ns(), worked = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t soaked = soaker_ran(w);

	while (raw_ns() < begun + ns)
		;
	w->worked += seconds_between(worked, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	w->soaked += seconds_between(soaked, soaker_ran(w));
}

static void wake_next(struct yielder *w)
{
	if (w->next == w)
		sleep_ns(WORK_NS);
	w->next->woke = soaker_ran(w->next);
	eventfd_write(w->next->event, 1);
}

/* Sleeps until the thread is woken; returns false if the time is up. */
static bool wait_turn(struct yielder *w)
{
	struct pollfd p = {.fd = w->event, .events = POLLIN};
	struct timespec t = ns_to_timespec(w->end_ns > raw_ns() ? w->end_ns - raw_ns() : 0);
	eventfd_t value;

	if (raw_ns() > w->end_ns || ppoll(&p, 1, &t, NULL) <= 0 ||
	    eventfd_read(w->event, &value) != 0)
		return false;
	w->late[w->n] = seconds_between(w->woke, soaker_ran(w));
	w->n += w->late[w->n] > RAN; /* else another program had the CPU */
	return true;
}

static void *worker_main(void *arg)
{
	struct yielder *w = arg;

	if (cpu_bind(w->cpu) != 0)
		return NULL;
	work(w, BUSY_NS);
	if (w->begins)
		wake_next(w);
	while (w->n < TURNS && wait_turn(w)) {
		work(w, WORK_NS);
		wake_next(w);
	}
	return NULL;
}

/* The threads wake each other in pairs, the last three of an odd number in a ring; one alone wakes itself. */
static int next_of_pair(int i, int n)
{
	const bool in_ring = n % 2 == 1 && n > 1 && i >= n - 3;

	return in_ring ? (i < n - 1 ? i + 1 : n - 3) : n == 1 ? i : i ^ 1;
}

void yield_measure(const struct cpus *cpus, uint64_t (*ran)(const struct soaker *s, int i),
		   const struct soaker *s, struct yield *y)
{
	struct yielder *all = alloc_or_die((size_t)cpus->n, sizeof(*all), "a test of yielding");
	struct yielder *w;
	int i, n = 0;

	*y = (struct yield){.kept = NAN, .late = NAN};
	for (i = 0; i < cpus->n; i++) {
		all[i] = (struct yielder){.i = i,
					  .cpu = cpus->id[i],
					  .ran = ran,
					  .soaker = s,
					  .begins = i % 2 == 0 && (i == 0 || i + 1 < cpus->n)};
		all[i].next = &all[next_of_pair(i, cpus->n)];
		all[i].event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		all[i].end_ns = raw_ns() + YIELD_NS;
	}
	while (n < cpus->n && thread_start(&all[n].thread, worker_main, &all[n]) == 0)
		n++;
	for (i = 0; i < n; i++)
		pthread_join(all[i].thread, NULL);
	/* fmin() and fmax() of a figure and NAN are the figure. */
	for (w = all; w < all + cpus->n; w++) {
		if (w->worked > 0)
			y->kept = fmin(y->kept, w->worked / (w->worked + w->soaked));
		y->late = fmax(y->late, median_of(w->late, w->n));
		close(w->event);
	}
	free(all);
}
