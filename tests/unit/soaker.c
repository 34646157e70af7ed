/* The part itself, for what it has of its own. */
#include "lib/load/soaker.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include <sys/prctl.h>

#include "tests/unit/unit.h"

#define NAME "a holder"

/* Starts a process that locks a file by a descriptor of its own, and holds the lock for `ns` nanoseconds. */
static pid_t hold(int fd, uint64_t ns)
{
	char path[32], c;
	int ready[2];
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (pipe(ready) != 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		prctl(PR_SET_NAME, NAME);
		/* cppcheck-suppress leakNoVarFunctionCall ; the lock lasts until the process ends */
		if (flock(open(path, O_RDWR), LOCK_EX) == 0 && close(ready[1]) == 0)
			sleep_ns(ns);
		_exit(EXIT_SUCCESS);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 0) /* until the child has closed the other end, too */
		abort();
	close(ready[0]);
	return pid;
}

int main(void)
{
	const int files = open_files(), l = memfd_create("lock", 0);
	struct lock_holder h = {0};
	pid_t pid;

	pid = hold(l, 60000000000);
	ok(!lock_try(l, &h) && h.pid == pid && strcmp(h.name, NAME) == 0,
	   "a lock that another process has is not taken, and the holder and its name are known");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pid = hold(l, 30000000);
	ok(lock_take(l, 60, &h), "a lock is taken when its holder ends within the time to wait");
	waitpid(pid, NULL, 0);
	close(l);
	ok(open_files() == files, "no descriptor of a lock stays open");
	return done();
}
