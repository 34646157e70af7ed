#include "lib/load/busiest.h"

#include <dirent.h>

#include "lib/load/cpus.h"

#define WATCH_NS    200000000u
#define USAGES_MAX  8192 /* processes that are watched */
#define SHARE_LEAST 0.1  /* of a CPU */

/* The CPU time that a process has used, in clock ticks. */
struct usage {
	pid_t pid, parent;
	int cpu; /* on which it ran last */
	unsigned long ticks;
	char name[32];
};

/*
 * Reads /proc/PID/stat (proc_pid_stat(5)); the process may have gone.  It is one line, unless a name
 * has more.
 */
static bool usage_read(pid_t pid, struct usage *u)
{
	char path[32], line[1024], *name, *end;
	unsigned long user, system;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	line[fread(line, 1, sizeof(line) - 1, f)] = '\0';
	fclose(f);
	name = strchr(line, '(');
	end = strrchr(line, ')');
	if (name == NULL || end == NULL || end < name)
		return false;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	if (sscanf(end,
		   ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d "
		   "%*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
		   &u->parent, &user, &system, &u->cpu) != 4)
		return false;
	u->pid = pid;
	u->ticks = user + system;
	snprintf(u->name, sizeof(u->name), "%.*s", (int)(end - name - 1), name + 1);
	make_printable(u->name);
	return true;
}

/* Reads those of all processes, and returns how many there are. */
static int usages_read(struct usage *u)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t pid;
	int n = 0;

	while (d != NULL && n < USAGES_MAX && (e = readdir(d)) != NULL) {
		pid = (pid_t)strtol(e->d_name, NULL, 10);
		n += pid > 0 && usage_read(pid, &u[n]);
	}
	if (d != NULL)
		closedir(d);
	return n;
}

bool busiest_find(int cpu, pid_t keeper, char text[BUSIEST_STRLEN])
{
	struct usage *then = alloc_or_die(USAGES_MAX, sizeof(*then), "processes"), now;
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	const uint64_t begin = now_ns();
	const int n = usages_read(then);
	double share, rank, most = 0;
	int i;

	sleep_ns(WATCH_NS);
	for (i = 0; i < n; i++) {
		if (then[i].parent == keeper || !usage_read(then[i].pid, &now) ||
		    now.ticks < then[i].ticks) /* another process has its id now */
			continue;
		share = (double)(now.ticks - then[i].ticks) * tick /
			seconds_between(begin, now_ns());
		rank = share + (now.cpu == cpu ? CPUS_MAX : 0); /* those of the CPU come first */
		if (share < SHARE_LEAST || rank <= most)
			continue;
		most = rank;
		snprintf(text, BUSIEST_STRLEN, "%s (pid %d), %.0f%% of a CPU", now.name, now.pid,
			 100 * share);
	}
	free(then);
	return most > 0;
}
