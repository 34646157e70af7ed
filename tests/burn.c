/*
 * burn: keeps one CPU busy with arithmetic.
 *
 *	burn cpu seconds [percent]	prints the share of the time that it had the CPU; with
 *					percent it sleeps for the rest of each 20 ms
 */
#include <err.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	cpu_set_t set;
	double start = clock_s(CLOCK_MONOTONIC), now = start, seconds, share = 1;
	volatile uint64_t x = 1;
	int i;

	if (argc != 3 && argc != 4)
		errx(2, "usage: burn cpu seconds [percent]");
	if (argc == 4)
		share = atof(argv[3]) / 100;
	CPU_ZERO(&set);
	CPU_SET((size_t)atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		err(1, "CPU %s", argv[1]);
	seconds = atof(argv[2]);
	while (now - start < seconds) {
		for (i = 0; i < 10000; i++)
			x = x * 3 + 1;
		if (fmod(now - start, 0.02) > 0.02 * share)
			usleep((useconds_t)(1e6 * (0.02 - fmod(now - start, 0.02))));
		now = clock_s(CLOCK_MONOTONIC);
	}
	printf("%.4f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID) / (clock_s(CLOCK_MONOTONIC) - start));
	return 0;
}
