#include "lib/load/wakeup.h"

#include <sys/eventfd.h>

#define CPUS_DRAWN 4       /* CPUs that are measured, at most */
#define WAKE_UPS   9       /* of each CPU, at most */
#define LEAST      3       /* wake-ups of each CPU, even if they exceed BUDGET_NS */
#define BUDGET_NS  2000000 /* for each CPU, and as long again for the last wake-up */
#define ASLEEP_NS  300000  /* for the woken thread to be asleep again */
#define JOIN_S     2       /* until a thread that a busy CPU keeps from ending is left alone */

/* The data shared by the waking thread, the woken thread and the program that waits for them. */
struct wakeup {
	int cpu, waker_cpu;
	int event;                 /* eventfd(2): a write wakes */
	_Atomic uint64_t wrote_ns; /* when; 0 ends the woken thread */
	_Atomic int n;             /* wake-ups so far */
	double seconds[WAKE_UPS];
	double late; /* seconds in which a wake-up did not come; 0 if all came */
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
		if (w->n <= k) {
			w->late = seconds_between(w->wrote_ns, now_ns());
			break;
		}
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

/* Waits for a thread to end, but times out: real-time programs may occupy the CPU fully. */
static bool try_join(pthread_t id)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += JOIN_S;
	if (pthread_timedjoin_np(id, NULL, &until) == 0)
		return true;
	pthread_detach(id);
	return false;
}

/* Runs both threads.  Returns whether they have ended, so that *w is no longer used. */
static bool run_threads(struct wakeup *w)
{
	pthread_t woken, waker;
	bool ended = true;

	if (w->event < 0 || thread_start(&woken, woken_main, w) != 0) {
		w->failed = true;
		return true;
	}
	if (thread_start(&waker, waker_main, w) == 0) {
		ended = try_join(waker);
	} else {
		w->failed = true;
		eventfd_write(w->event, 1);
	}
	return try_join(woken) && ended;
}

/* The median of the wake-ups.  One that did not come took as long as it was waited for, at least. */
static double median(struct wakeup *w)
{
	int n = w->n;

	if (w->late > 0 && n < WAKE_UPS)
		w->seconds[n++] = w->late;
	if (w->failed || n == 0)
		return NAN;
	qsort(w->seconds, (size_t)n, sizeof(w->seconds[0]), by_length);
	return w->seconds[n / 2];
}

/*
 * Stores the median of one CPU's wake-ups from another.  Returns false if a thread could not end: it
 * keeps what it uses.
 */
static bool measure_cpu(int cpu, int waker_cpu, double *seconds)
{
	struct wakeup *w = alloc_or_die(1, sizeof(*w), "wake-ups");

	*w = (struct wakeup){.cpu = cpu, .waker_cpu = waker_cpu, .event = eventfd(0, EFD_CLOEXEC)};
	*seconds = NAN;
	if (!run_threads(w))
		return false;
	*seconds = median(w);
	if (w->event >= 0)
		close(w->event);
	free(w);
	return true;
}

double wakeup_measure(const struct cpus *cpus)
{
	double longest = NAN, seconds;
	struct cpus online;
	bool ended = true;
	int i, k, cpu;

	cpus_online(&online);
	for (i = 0; i < CPUS_DRAWN && i < cpus->n && online.n > 1 && ended; i++) {
		k = cpus->n <= CPUS_DRAWN ? i : (int)(now_ns() / 1000 % (uint64_t)cpus->n);
		cpu = cpus->id[k];
		ended = measure_cpu(cpu, online.id[online.id[0] == cpu], &seconds);
		longest = fmax(longest, seconds);
	}
	return longest;
}
