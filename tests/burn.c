/*
 * burn: keeps one CPU busy with arithmetic.
 *
 *	burn cpu seconds	prints the share of the time that it had the CPU
 */
#include <err.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	cpu_set_t set;
	double start, seconds;
	volatile uint64_t x = 1;
	int i;

	if (argc != 3)
		errx(2, "usage: burn cpu seconds");
	CPU_ZERO(&set);
	CPU_SET((size_t)atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		err(1, "CPU %s", argv[1]);
	seconds = atof(argv[2]);
	for (start = clock_s(CLOCK_MONOTONIC); clock_s(CLOCK_MONOTONIC) - start < seconds;)
		for (i = 0; i < 10000; i++)
			x = x * 3 + 1;
	printf("%.4f\n", clock_s(CLOCK_PROCESS_CPUTIME_ID) / (clock_s(CLOCK_MONOTONIC) - start));
	return 0;
}
