/*
 * slow: a library to preload.  Under it a reading of CLOCK_MONOTONIC_RAW takes a microsecond longer, as
 * that of an emulated or external timer does.
 */
#include <dlfcn.h>
#include <time.h>

/* cppcheck-suppress unusedFunction ; the program that it is preloaded to calls it */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	struct timespec begin;
	int r;

	if (real == NULL)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	r = real(clock, t);
	begin = *t;
	while (r == 0 && clock == CLOCK_MONOTONIC_RAW &&
	       (t->tv_sec - begin.tv_sec) * 1000000000 + t->tv_nsec - begin.tv_nsec < 1000)
		real(clock, t);
	return r;
}
