#include "lib/load/wakeup.h"

#include <sys/eventfd.h>

#define CPUS_DRAWN 4       /* CPUs that are measured, at most */
#define WAKE_UPS   9       /* of each CPU, at most */
#define LEAST      3       /* wake-ups of each CPU, also if they take longer than that */
#define BUDGET_NS  4000000 /* for each CPU */
#define ASLEEP_NS  300000  /* for the woken thread to be asleep again */

/* What the waking and the woken thread share. */
struct wakeup {
	int cpu, waker_cpu;
	int event;                 /* eventfd(2): a write wakes */
	_Atomic uint64_t wrote_ns; /* when; 0 ends the woken thread */
	_Atomic int n;             /* wake-ups so far */
	double seconds[WAKE_UPS];
	_Atomic bool failed;
};

/* Sleeps as programs do that wait for something, in poll(2). */
static void doze(uint64_t ns)
{
	const struct timespec t = ns_to_timespec(ns);

	ppoll(NULL, 0, &t, NULL);
}

static void *woken_main(void *arg)
{
	struct wakeup *w = arg;
	eventfd_t value;

	w->failed |= cpu_bind(w->cpu) != 0;
	while (eventfd_read(w->event, &value) == 0 && w->wrote_ns != 0 && w->n < WAKE_UPS) {
		w->seconds[w->n] = seconds_between(w->wrote_ns, now_ns());
		w->n++;
	}
	return NULL;
}

static void *waker_main(void *arg)
{
	struct wakeup *w = arg;
	const uint64_t until = now_ns() + BUDGET_NS;
	int k;

	w->failed |= cpu_bind(w->waker_cpu) != 0;
	for (k = 0; k < WAKE_UPS && !w->failed && (k < LEAST || now_ns() < until); k++) {
		doze(ASLEEP_NS);
		w->wrote_ns = now_ns();
		eventfd_write(w->event, 1);
		while (w->n <= k && now_ns() < until + BUDGET_NS)
			doze(ASLEEP_NS / 10);
	}
	w->wrote_ns = 0;
	eventfd_write(w->event, 1);
	return NULL;
}

static int by_length(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median of one CPU's wake-ups from another. */
static double measure_cpu(int cpu, int waker_cpu)
{
	struct wakeup w = {.cpu = cpu, .waker_cpu = waker_cpu, .event = eventfd(0, EFD_CLOEXEC)};
	pthread_t woken, waker;
	bool started = false;

	if (w.event >= 0 && thread_start(&woken, woken_main, &w) == 0) {
		started = thread_start(&waker, waker_main, &w) == 0;
		if (started)
			pthread_join(waker, NULL);
		else
			eventfd_write(w.event, 1);
		pthread_join(woken, NULL);
	}
	if (w.event >= 0)
		close(w.event);
	if (!started || w.failed || w.n == 0)
		return NAN;
	qsort(w.seconds, (size_t)w.n, sizeof(w.seconds[0]), by_length);
	return w.seconds[w.n / 2];
}

double wakeup_measure(const struct cpus *cpus)
{
	double longest = NAN;
	struct cpus online;
	int i, k, cpu;

	cpus_online(&online);
	for (i = 0; i < CPUS_DRAWN && i < cpus->n && online.n > 1; i++) {
		k = cpus->n <= CPUS_DRAWN ? i : (int)(now_ns() / 1000 % (uint64_t)cpus->n);
		cpu = cpus->id[k];
		longest = fmax(longest, measure_cpu(cpu, online.id[online.id[0] == cpu]));
	}
	return longest;
}
