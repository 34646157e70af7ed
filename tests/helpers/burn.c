/*
 * burn: a load of known size, by its own CPU clock.
 *
 *	burn CPUS SECONDS [PERCENT [MICROSECONDS]]
 *		A thread for each CPU of a list such as 0,2-3, bound to it, burns PERCENT (default 100) of each
 *		period (default 23 ms, no multiple of a tick) and sleeps for the rest; with 0 it only wakes up.
 *		Prints how many CPUs they had on average, and a line of wakes= (sleeps that ended) and cpu= (CPU
 *		seconds of the process until now).
 */
#include <sys/param.h>
#include <sys/prctl.h>

#include "common.h"
#include "lib/load/cpus.h"

#define DEBT_PERIODS 4 /* A thread makes up for time that it lost in this many periods, not more. */

struct worker {
	pthread_t thread;
	int cpu;
	uint64_t wakes;
};

static struct {
	uint64_t start, end, period, quota; /* ns */
} load;

static uint64_t thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Burns until the thread has had `target` ns.  Its CPU clock costs a system call: it is read when it may have. */
static void burn(uint64_t target)
{
	uint64_t cpu, until;

	while ((cpu = thread_ns()) < target && now_ns() < load.end) {
		until = MIN(now_ns() + target - cpu, load.end);
		while (now_ns() < until)
			;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct timespec until;
	uint64_t target, next;

	if (cpu_bind(w->cpu) != 0)
		die_errno("CPU %d", w->cpu);
	target = thread_ns();
	for (next = load.start; next < load.end;) {
		target = MIN(target + load.quota, thread_ns() + (1 + DEBT_PERIODS) * load.quota);
		burn(load.quota < load.period ? target : UINT64_MAX / 2);
		next += load.period;
		until = ns_to_timespec(MIN(next, load.end));
		w->wakes += now_ns() < next;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker w[CPUS_MAX];
	const double seconds = argc > 2 ? atof(argv[2]) : 0;
	double cpu;
	uint64_t wakes = 0;
	struct cpus cpus;
	int i;

	if (argc < 3 || argc > 5 || parse_cpus(argv[1], &cpus) != NULL)
		errx(2, "usage: burn CPUS SECONDS [PERCENT [MICROSECONDS]]");
	load.period = argc > 4 ? 1000 * (uint64_t)atol(argv[4]) : 23000000;
	load.quota = (uint64_t)((argc > 3 ? atof(argv[3]) : 100) / 100 * (double)load.period);
	prctl(PR_SET_TIMERSLACK, 1);
	load.start = now_ns();
	load.end = load.start + (uint64_t)(seconds * 1e9);
	for (i = 0; i < cpus.n; i++) {
		w[i].cpu = cpus.id[i];
		if (thread_start(&w[i].thread, work, &w[i]) != 0)
			errx(1, "thread");
	}
	for (i = 0; i < cpus.n; i++) {
		pthread_join(w[i].thread, NULL);
		wakes += w[i].wakes;
	}
	cpu = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
	printf("%.4f\nwakes=%" PRIu64 " cpu=%.6f\n", cpu / seconds_between(load.start, now_ns()),
	       wakes, cpu);
	return 0;
}
