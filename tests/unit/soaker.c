/* The part itself, for what it has of its own. */
#include "lib/load/soaker.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include <sys/prctl.h>

#include "tests/unit/unit.h"

#define NAME "a holder"

/* One more open file of the same file, whose lock is its own. */
static int reopen(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDWR);
}

/* Starts a process that locks a file, and holds it for `ns` nanoseconds. */
static pid_t hold(int fd, uint64_t ns)
{
	int ready[2];
	char c = 0;
	pid_t pid;

	if (pipe(ready) != 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		prctl(PR_SET_NAME, NAME);
		/* cppcheck-suppress leakNoVarFunctionCall ; the lock lasts until the process ends */
		if (flock(reopen(fd), LOCK_EX) == 0 && write(ready[1], &c, 1) == 1)
			sleep_ns(ns);
		_exit(EXIT_SUCCESS);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		abort();
	close(ready[0]);
	return pid;
}

int main(void)
{
	const int files = open_files(), l = memfd_create("lock", 0), other = reopen(l);
	struct lock_holder h = {0};
	pid_t pid;

	ok(lock_try(l, &h) && flock(other, LOCK_EX | LOCK_NB) != 0, "a free lock is taken");
	flock(l, LOCK_UN);
	pid = hold(l, 60000000000);
	ok(!lock_try(l, &h) && h.pid == pid && strcmp(h.name, NAME) == 0,
	   "a lock that another process has is not taken, and the holder and its name are known");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	pid = hold(l, 30000000);
	ok(lock_take(l, 60, &h), "a lock is taken when its holder ends within the time to wait");
	waitpid(pid, NULL, 0);
	close(l);
	close(other);
	ok(open_files() == files, "no descriptor of a lock stays open");
	return done();
}
