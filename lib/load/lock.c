#include "lib/load/lock.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define LOCK_FILE    "/dev/zero"
#define ROOT_LOCK    "/run/zc-soaker.lock"
#define LOCK_TRIES   200       /* of 10 ms */
#define HOLDER_NS    200000000 /* for which a holder of the lock is watched: it soaks if it */
#define HOLDER_SHARE 0.9       /* takes this share of a CPU, its descendants included */

/* The pid of the lock's holder as /proc/locks has it (proc_locks(5)), 0 if it has none. */
static pid_t lock_holder(int fd)
{
	FILE *f = fopen_retry("/proc/locks");
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

/* Reads one line of a file of /proc/PID; the process may have gone or belong to a container. */
static bool process_read(pid_t pid, const char *name, char *line, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return pid > 0 && file_read_line(path, line, size) == 0;
}

/* Tries to take the lock for two seconds; returns whether the caller has it. */
static bool lock_or_die(int fd, const char *path)
{
	int i;

	for (i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			die_errno("lock on %s", path);
		if (i == LOCK_TRIES)
			return false;
		sleep_ns(10000000);
	}
	return true;
}

/* The parent of a process (proc_pid_stat(5)); 0 if it has none or has gone. */
static pid_t process_parent(pid_t pid)
{
	char line[1024], *end;
	int parent = 0;

	if (process_read(pid, "stat", line, sizeof(line)) && (end = strrchr(line, ')')) != NULL)
		/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
		sscanf(end, ") %*c %d", &parent);
	return parent;
}

/* The CPU time that a process and those descended from it have used, in seconds. */
static double family_seconds(pid_t eldest)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	clockid_t clock;
	double sum = 0;
	pid_t pid, p;

	while (d != NULL && (e = readdir(d)) != NULL) {
		p = pid = (pid_t)strtol(e->d_name, NULL, 10);
		while (p > 0 && p != eldest)
			p = process_parent(p);
		if (p > 0 && clock_getcpuclockid(pid, &clock) == 0)
			sum += (double)clock_ns(clock) / 1e9;
	}
	if (d != NULL)
		closedir(d);
	return sum;
}

void lock_take_or_die(int *lock, int *root_lock)
{
	char name[64];
	pid_t holder;
	bool root_free, soaks = true;
	double used;

	/* In /run nobody but root can make the file, and nobody but root can open one of mode 0600. */
	*root_lock = geteuid() == 0 ? open_retry(ROOT_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW) : -1;
	*lock = open_retry(LOCK_FILE, O_RDONLY);
	if (*lock < 0)
		die_errno(LOCK_FILE);
	root_free = *root_lock < 0 || lock_or_die(*root_lock, ROOT_LOCK);
	if (root_free && lock_or_die(*lock, LOCK_FILE))
		return;
	holder = lock_holder(root_free ? *lock : *root_lock);
	if (!process_read(holder, "comm", name, sizeof(name)))
		strcpy(name, "a program that cannot be seen");
	/* A holder's name proves nothing, but soakers and what started them take CPU time. */
	if (root_free && *root_lock >= 0 && holder > 0) {
		used = family_seconds(holder);
		sleep_ns(HOLDER_NS);
		soaks = family_seconds(holder) - used >= HOLDER_SHARE * HOLDER_NS / 1e9;
	}
	if (soaks)
		die("CPUs are being soaked already, by %s (pid %d): wait for it, or stop it", name,
		    holder);
	warnx("%s (pid %d) holds the lock on " LOCK_FILE " and soaks nothing: going on without it",
	      name, holder);
}
