/*
 * late: a library to preload.  Under it something is late each time, so that a race is lost or a machine is slow.
 * $LATE has words of these:
 *
 *	end	a thread that has read the end of a stream sleeps when it has next read the
 *			clock: it knows the time, and nobody else knows that it does
 *	start	whoever has started a thread waits until there is a file `served`: that thread
 *			does its work meanwhile
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LATE_US                  600000
#define LOOK_US                  10000 /* between two looks at the file `served`, of which there are LOOKS at most */
#define LOOKS                    1000
#define CALL_REAL(function, ...) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))(__VA_ARGS__)

static _Thread_local bool ended;

static bool is_late(const char *where)
{
	const char *late = getenv("LATE");

	return late != NULL && strstr(late, where) != NULL;
}

ssize_t read(int fd, void *buf, size_t len)
{
	ssize_t n = CALL_REAL(read, fd, buf, len);

	ended = n == 0 && len > 0 && is_late("end");
	return n;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static __typeof__(&clock_gettime)
		real; /* looked for once: the clock is read all the time */
	int r;

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	r = real(clock, t);
	if (ended) {
		ended = false;
		usleep(LATE_US);
	}
	return r;
}

int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int r = CALL_REAL(pthread_create, id, attr, run, arg), looks;

	for (looks = 0; is_late("start") && looks < LOOKS && access("served", F_OK) != 0; looks++)
		usleep(LOOK_US);
	return r;
}
