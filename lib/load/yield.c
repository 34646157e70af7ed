#include "lib/load/yield.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "lib/load/statistics.h"

#define YIELD_NS 50000000u /* how long it takes */
#define WORK_NS  500000u   /* of work in one turn */
#define TURNS    100       /* at most: YIELD_NS / WORK_NS */

/* One CPU's thread. */
struct worker {
	int cpu;
	struct worker *partner; /* on another CPU: each wakes the other; NULL: there is none */
	uint64_t end_ns;
	int event;                /* eventfd(2), on which it sleeps */
	_Atomic uint64_t woke_ns; /* when it was woken */
	bool begins;              /* it works first */
	pthread_t thread;
	uint64_t worked_ns, had_ns; /* CPU time while it worked, and the time that this took */
	int n;                      /* times that it was woken */
	double late[TURNS];         /* seconds each */
};

/* Works for a while, and wakes the partner.  A thread without a partner wakes itself. */
static void work(struct worker *w)
{
	struct worker *next = w->partner != NULL ? w->partner : w;
	const uint64_t begun = raw_ns(), ran = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	while (raw_ns() < begun + WORK_NS)
		;
	w->worked_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran;
	w->had_ns += raw_ns() - begun;
	if (next == w)
		sleep_ns(WORK_NS);
	next->woke_ns = raw_ns();
	eventfd_write(next->event, 1);
}

/* Sleeps until it is woken, or the time is up: then returns false. */
static bool wait_turn(struct worker *w)
{
	struct pollfd p = {.fd = w->event, .events = POLLIN};
	struct timespec t = ns_to_timespec(w->end_ns > raw_ns() ? w->end_ns - raw_ns() : 0);
	eventfd_t value;

	if (ppoll(&p, 1, &t, NULL) <= 0 || eventfd_read(w->event, &value) != 0)
		return false;
	w->late[w->n++] = seconds_between(w->woke_ns, raw_ns());
	return true;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	if (cpu_bind(w->cpu) != 0)
		return NULL;
	if (w->begins)
		work(w);
	while (w->n < TURNS && wait_turn(w))
		work(w);
	return NULL;
}

/* Takes the worse of a CPU's figures and those of the CPUs before it. */
static void judge(struct worker *w, struct yield *y)
{
	const double kept = (double)w->worked_ns / (double)w->had_ns;
	const double late = median_of(w->late, w->n);

	if (isnan(y->kept) || kept < y->kept) {
		y->kept = kept;
		y->kept_cpu = w->cpu;
	}
	if (isnan(y->late) || late > y->late) {
		y->late = late;
		y->late_cpu = w->cpu;
	}
}

void yield_measure(const struct cpus *cpus, struct yield *y)
{
	struct worker *worker = alloc_or_die((size_t)cpus->n, sizeof(*worker),
					     "a test of yielding");
	struct worker *w;
	int i, n;

	*y = (struct yield){.kept = NAN, .late = NAN};
	for (i = 0, w = worker; i < cpus->n; i++, w++) {
		*w = (struct worker){.cpu = cpus->id[i], .begins = i % 2 == 0};
		w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		w->end_ns = raw_ns() + YIELD_NS;
		if (i % 2 == 1 || i + 1 < cpus->n)
			w->partner = w + (i % 2 == 1 ? -1 : 1);
	}
	for (n = 0, w = worker; n < cpus->n; n++, w++)
		if (thread_start(&w->thread, worker_main, w) != 0)
			break;
	for (i = 0; i < n; i++)
		pthread_join(worker[i].thread, NULL);
	for (w = worker; w < worker + cpus->n; w++) {
		if (w->n > 0 && w->had_ns > 0)
			judge(w, y);
		close(w->event);
	}
	free(worker);
}
