#include "lib/load/lock.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "lib/load/cgroup.h"

#define SOAK_LOCK_FILE    "/dev/zero"
#define SOAK_ROOT_LOCK    "/run/zc-soaker.lock"
#define SOAK_HOLDER_NS    200000000 /* for which a holder of the lock is watched: it soaks if it */
#define SOAK_HOLDER_SHARE 0.9       /* takes this share of a CPU, its descendants included */

/* Who holds the lock: its pid as /proc/locks has it (proc_locks(5)), 0 if that does not tell. */
static pid_t lock_holder(int fd)
{
	FILE *f = fopen_retry("/proc/locks");
	unsigned major, minor;
	unsigned long long inode;
	char line[256];
	struct stat st;
	int pid, found = 0, n;

	if (f == NULL)
		return 0;
	if (fstat(fd, &st) != 0)
		st.st_ino = 0;
	while (found == 0 && fgets(line, sizeof(line), f) != NULL) {
		/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
		n = sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &pid, &major, &minor, &inode);
		if (n == 4 && inode == st.st_ino && makedev(major, minor) == st.st_dev)
			found = pid;
	}
	fclose(f);
	return found;
}

/* The name of a process, which may have gone or belong to a container. */
static const char *process_name(pid_t pid, char name[64])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	return pid > 0 && file_read_line(path, name, 64) == 0 ? name
							      : "a program that cannot be seen";
}

static _Noreturn void die_of_holder(pid_t pid)
{
	char name[64];

	die("CPUs are being soaked already, by %s (pid %d): wait for it, or stop it",
	    process_name(pid, name), pid);
}

/* Tries for two seconds; returns whether it has the lock. */
static bool lock_or_die(int fd, const char *path)
{
	int i;

	for (i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			die_errno("lock on %s", path);
		if (i == SOAK_LOCK_TRIES)
			return false;
		sleep_ns(10000000);
	}
	return true;
}

/* The CPU time that a process has used, in ns; 0 if it has gone. */
static uint64_t process_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The parent of a process (proc_pid_stat(5)); 0 if it has none or has gone. */
static pid_t process_parent(pid_t pid)
{
	char path[64], line[1024], *end;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read_line(path, line, sizeof(line)) == 0 && (end = strrchr(line, ')')) != NULL)
		/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
		sscanf(end, ") %*c %d", &parent);
	return parent;
}

/* The CPU time that a process and those descended from it have used, in ns. */
static uint64_t family_ns(pid_t eldest)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	uint64_t sum = 0;
	pid_t pid, p;

	while (d != NULL && (e = readdir(d)) != NULL) {
		pid = (pid_t)strtol(e->d_name, NULL, 10);
		for (p = pid; p > 0 && p != eldest; p = process_parent(p))
			;
		if (p > 0)
			sum += process_ns(pid);
	}
	if (d != NULL)
		closedir(d);
	return sum;
}

/* Whether a process takes as much CPU time as soakers do.  Its name, anybody can give it. */
static bool is_soaking(pid_t pid)
{
	uint64_t start = raw_ns(), from = family_ns(pid), to, ns;

	sleep_ns(SOAK_HOLDER_NS);
	ns = raw_ns() - start;
	to = family_ns(pid);
	return to > from && (double)(to - from) >= SOAK_HOLDER_SHARE * (double)ns;
}

/* Opens a file that nobody but root can lock; -1 if this is not root, or no such file can be had. */
static int open_root_lock(void)
{
	struct stat st;
	int fd;

	if (geteuid() != 0)
		return -1;
	fd = open_retry(SOAK_ROOT_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	    (st.st_mode & 077) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * There is one set of soakers per machine.  The lock is a flock(2) on a device node: every user can
 * open it, nobody can remove it, it is one file for all network, process and mount namespaces that
 * have the machine's /dev (devtmpfs), and the kernel unlocks it when its last holder, the soaker
 * included, has gone.  Since any user can hold it and do nothing, root has a lock of its own as
 * well, with which it may soak beside a holder that does not.
 */
void lock_take_or_die(int *lock, int *root_lock)
{
	char name[64];
	pid_t holder;

	*root_lock = open_root_lock();
	if (*root_lock >= 0 && !lock_or_die(*root_lock, SOAK_ROOT_LOCK))
		die_of_holder(lock_holder(*root_lock));
	*lock = open_retry(SOAK_LOCK_FILE, O_RDONLY);
	if (*lock < 0)
		die_errno(SOAK_LOCK_FILE);
	if (lock_or_die(*lock, SOAK_LOCK_FILE))
		return;
	holder = lock_holder(*lock);
	if (*root_lock < 0 || holder <= 0 || is_soaking(holder))
		die_of_holder(holder);
	warnx("%s (pid %d) holds the lock on " SOAK_LOCK_FILE " and soaks nothing: going on "
	      "without it",
	      process_name(holder, name), holder);
}
