/*
 * hasten: a library to preload.  Under it no sleep takes longer than $HASTEN_US microseconds, and
 * with 0 none takes any time.  Sleeps of more than $HASTEN_UP_TO_US, if that is set, stay as they are.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

/* cppcheck-suppress unusedFunction ; the program that it is preloaded to calls it */
int nanosleep(const struct timespec *t, struct timespec *left)
{
	static int (*real)(const struct timespec *, struct timespec *);
	const char *us = getenv("HASTEN_US");
	const char *up_to = getenv("HASTEN_UP_TO_US");
	struct timespec most = {0, us != NULL ? atol(us) * 1000 : 0};

	if (us == NULL || (up_to != NULL && (t->tv_sec > 0 || t->tv_nsec > atol(up_to) * 1000)) ||
	    (t->tv_sec == 0 && t->tv_nsec <= most.tv_nsec))
		most = *t;
	if (real == NULL)
		real = (int (*)(const struct timespec *, struct timespec *))dlsym(RTLD_NEXT,
										  "nanosleep");
	if (most.tv_sec == 0 && most.tv_nsec == 0)
		return 0;
	return real(&most, left);
}
