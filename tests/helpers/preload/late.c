/*
 * late: a library to preload.  Under it a thread is late at a moment where another thread may be
 * faster, so that a race is lost each time.
 *
 *	LATE=end	a thread that has read the end of a stream sleeps when it has next read the
 *			clock: it knows the time, and nobody else knows that it does
 *	LATE=start	whoever has started a thread waits until there is a file `served`: that thread
 *			does its work meanwhile
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LATE_US 600000
#define LOOK_US 10000 /* between two looks at the file `served`, of which there are LOOKS at most */
#define LOOKS   1000

static _Thread_local bool ended;

static bool is_late(const char *where)
{
	const char *late = getenv("LATE");

	return late != NULL && strcmp(late, where) == 0;
}

/* cppcheck-suppress unusedFunction ; the program that it is preloaded to calls it */
ssize_t read(int fd, void *buf, size_t len)
{
	ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
	ssize_t n = real(fd, buf, len);

	ended = n == 0 && len > 0;
	return n;
}

/* cppcheck-suppress unusedFunction ; likewise */
int clock_gettime(clockid_t id, struct timespec *t)
{
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int r = real(id, t);

	if (ended && is_late("end")) {
		ended = false;
		usleep(LATE_US);
	}
	return r;
}

/* cppcheck-suppress unusedFunction ; likewise */
int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		    void *) = dlsym(RTLD_NEXT, "pthread_create");
	int r = real(id, attr, start, arg), looks;

	if (is_late("start"))
		for (looks = 0; looks < LOOKS && access("served", F_OK) != 0; looks++)
			usleep(LOOK_US);
	return r;
}
