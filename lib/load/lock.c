#include "lib/load/lock.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define LOCK_FILE   "/dev/zero"
#define LOCK_TRY_NS 10000000 /* between two tries */

/* The pid of the lock's holder as /proc/locks has it (proc_locks(5)), 0 if it has none. */
static pid_t lock_holder(int fd)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned major, minor;
	unsigned long long inode;
	struct stat st = {0};
	char line[256];
	int pid, found = 0, n;

	fstat(fd, &st);
	while (f != NULL && found == 0 && fgets(line, sizeof(line), f) != NULL) {
		/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
		n = sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &major, &minor, &inode);
		if (n == 4 && inode == st.st_ino && makedev(major, minor) == st.st_dev)
			found = pid;
	}
	if (f != NULL)
		fclose(f);
	return found;
}

int lock_open_or_die(void)
{
	const int fd = open_retry(LOCK_FILE, O_RDONLY);

	if (fd < 0)
		die_errno(LOCK_FILE);
	return fd;
}

bool lock_try(int fd, struct lock_holder *h)
{
	char path[64];

	if (TEMP_FAILURE_RETRY(flock(fd, LOCK_EX | LOCK_NB)) == 0)
		return true;
	if (errno != EWOULDBLOCK) /* waiting does not mend it */
		die_errno("lock on " LOCK_FILE);
	if (h == NULL)
		return false;
	h->pid = lock_holder(fd);
	snprintf(path, sizeof(path), "/proc/%d/comm", h->pid);
	if (h->pid <= 0 || file_read_line(path, h->name, sizeof(h->name)) != 0)
		strcpy(h->name, LOCK_HIDDEN);
	return false;
}

bool lock_take(int fd, double seconds, struct lock_holder *h)
{
	long tries = lround(seconds * 1e9 / LOCK_TRY_NS);
	sigset_t stop, old;

	stop_signals(&stop);
	while (tries-- > 0) {
		if (lock_try(fd, NULL))
			return true;
		/* A program that has blocked the signals that end it takes them here, too. */
		sigprocmask(SIG_UNBLOCK, &stop, &old);
		sleep_ns(LOCK_TRY_NS);
		sigprocmask(SIG_SETMASK, &old, NULL);
	}
	return lock_try(fd, h);
}

void lock_release(int fd)
{
	flock(fd, LOCK_UN);
}
