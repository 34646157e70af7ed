/*
 * wakeup: a library to preload.  Under it whoever waits for an event is woken late, once the process has
 * made another: as if its soakers kept the wake-ups.  By $WAKEUP_US microseconds, else a millisecond.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static _Atomic bool has_forked;

/* cppcheck-suppress unusedFunction ; the program that it is preloaded to calls it */
pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	has_forked = true;
	return real();
}

/* cppcheck-suppress unusedFunction ; likewise */
int eventfd_read(int fd, eventfd_t *value)
{
	int (*real)(int, eventfd_t *) = (int (*)(int, eventfd_t *))dlsym(RTLD_NEXT, "eventfd_read");
	const char *us = getenv("WAKEUP_US");
	int r = real(fd, value);

	if (has_forked)
		usleep(us != NULL ? (useconds_t)atoi(us) : 1000);
	return r;
}
