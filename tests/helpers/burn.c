/*
 * burn: keeps CPUs busy with arithmetic: a load of known size.
 *
 *	burn cpus seconds [percent]	a thread on each CPU of a list such as 0,2-3; prints how many
 *					CPUs they had on average, by their own clock; with percent
 *					each sleeps for the rest of every 23 ms
 */
#include <math.h>
#include <sched.h>

#include "common.h"
#include "lib/load/cpus.h"

#define CYCLE 0.023 /* seconds; no multiple of a tick, which would see all of the load or nothing */

static struct {
	double seconds, share;
	uint64_t start_ns;
} opt = {.share = 1};

static void *burn(void *cpu)
{
	volatile uint64_t x = 1;
	double now = 0;
	int i;

	if (cpu_bind(*(const int *)cpu) != 0)
		die_errno("CPU %d", *(const int *)cpu);
	while (now < opt.seconds) {
		for (i = 0; i < 10000; i++)
			x = x * 3 + 1;
		if (fmod(now, CYCLE) > CYCLE * opt.share)
			sleep_ns((uint64_t)(1e9 * (CYCLE - fmod(now, CYCLE))));
		now = seconds_between(opt.start_ns, now_ns());
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct cpus cpus;
	pthread_t id[CPUS_MAX];
	int i;

	if ((argc != 3 && argc != 4) || parse_cpus(argv[1], &cpus) != NULL)
		errx(2, "usage: burn cpus seconds [percent]");
	opt.seconds = atof(argv[2]);
	if (argc == 4)
		opt.share = atof(argv[3]) / 100;
	opt.start_ns = now_ns();
	for (i = 0; i < cpus.n; i++)
		if (thread_start(&id[i], burn, &cpus.id[i]) != 0)
			errx(1, "thread");
	for (i = 0; i < cpus.n; i++)
		pthread_join(id[i], NULL);
	printf("%.4f\n", (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9 /
				 seconds_between(opt.start_ns, now_ns()));
	return 0;
}
