/*
 * hasten: a library to preload.  Under it no sleep takes longer than $HASTEN_US microseconds, and
 * with 0 none takes any time.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

/* cppcheck-suppress unusedFunction ; the program that it is preloaded to calls it */
int nanosleep(const struct timespec *t, struct timespec *left)
{
	static int (*real)(const struct timespec *, struct timespec *);
	const char *us = getenv("HASTEN_US");
	struct timespec most = {0, us != NULL ? atol(us) * 1000 : 0};

	if (us == NULL || (t->tv_sec == 0 && t->tv_nsec <= most.tv_nsec))
		most = *t;
	if (real == NULL)
		real = (int (*)(const struct timespec *, struct timespec *))dlsym(RTLD_NEXT,
										  "nanosleep");
	if (most.tv_sec == 0 && most.tv_nsec == 0)
		return 0;
	return real(&most, left);
}
