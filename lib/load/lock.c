#include "lib/load/lock.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define LOCK_FILE    "/dev/zero"
#define ROOT_LOCK    "/run/zc-soaker.lock"
#define LOCK_TRY_NS  10000000 /* between two tries */
#define HOLDER_SHARE 0.9 /* of a CPU: a holder that takes more, its descendants included, soaks */

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

void lock_open_or_die(struct lock *l)
{
	/* In /run nobody but root can make the file, and nobody but root can open one of mode 0600. */
	l->root_fd = geteuid() == 0 ? open_retry(ROOT_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW) : -1;
	l->fd = open_retry(LOCK_FILE, O_RDONLY);
	if (l->fd < 0)
		die_errno(LOCK_FILE);
}

/* Whether a flock(2) was had; dies of an error that waiting does not mend. */
static bool lock_one(int fd, const char *path)
{
	while (flock(fd, LOCK_EX | LOCK_NB) != 0)
		if (errno == EWOULDBLOCK)
			return false;
		else if (errno != EINTR)
			die_errno("lock on %s", path);
	return true;
}

static void find_holder(const struct lock *l, bool root_free, struct lock_holder *h)
{
	*h = (struct lock_holder){.pid = lock_holder(root_free ? l->fd : l->root_fd)};
	if (!process_read(h->pid, "comm", h->name, sizeof(h->name)))
		strcpy(h->name, LOCK_HIDDEN);
	/* A holder's name proves nothing, but soakers and what started them take CPU time. */
	h->watched = root_free && l->root_fd >= 0 && h->pid > 0;
	h->since_ns = now_ns();
	if (h->watched)
		h->used = family_seconds(h->pid);
}

bool lock_try(const struct lock *l, struct lock_holder *h)
{
	const bool root_free = l->root_fd < 0 || lock_one(l->root_fd, ROOT_LOCK);

	if (root_free && lock_one(l->fd, LOCK_FILE))
		return true;
	if (h != NULL)
		find_holder(l, root_free, h);
	if (root_free && l->root_fd >= 0)
		flock(l->root_fd, LOCK_UN);
	return false;
}

bool lock_try_beside(const struct lock *l, const struct lock_holder *h)
{
	const double most = HOLDER_SHARE * seconds_between(h->since_ns, now_ns());

	return h->watched && lock_holder(l->fd) == h->pid &&
	       family_seconds(h->pid) - h->used < most && lock_one(l->root_fd, ROOT_LOCK);
}

void lock_warn_beside(const struct lock_holder *h)
{
	warnx("%s (pid %d) holds the lock on " LOCK_FILE
	      " but soaks nothing: continuing without it",
	      h->name, h->pid);
}

bool lock_take(const struct lock *l, double seconds, struct lock_holder *h)
{
	long tries = lround(seconds * 1e9 / LOCK_TRY_NS);
	sigset_t stop, old;

	stop_signals(&stop);
	while (tries-- > 0) {
		if (lock_try(l, NULL))
			return true;
		/* A program that has blocked the signals that end it takes them here, too. */
		sigprocmask(SIG_UNBLOCK, &stop, &old);
		sleep_ns(LOCK_TRY_NS);
		sigprocmask(SIG_SETMASK, &old, NULL);
	}
	if (lock_try(l, h))
		return true;
	if (!h->watched)
		return false;
	sleep_ns(LOCK_WATCH_NS);
	if (!lock_try_beside(l, h))
		return false;
	lock_warn_beside(h);
	return true;
}

void lock_release(const struct lock *l)
{
	flock(l->fd, LOCK_UN);
	if (l->root_fd >= 0)
		flock(l->root_fd, LOCK_UN);
}

void lock_close(const struct lock *l)
{
	close(l->fd);
	if (l->root_fd >= 0)
		close(l->root_fd);
}
