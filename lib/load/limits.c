#include "lib/load/limits.h"

#include <dirent.h>

#include "lib/load/keeper.h"

#define STEAL_MAX 0.01 /* share of the host's time that is worth a warning */

#define AGAIN "start again, or run 'cyclesoak -C', on the idle system"

/* In the order of their bits: the name, and the line on stderr unless another part prints one. */
static const struct {
	const char *name, *line;
} reason[UNSAFE_REASONS] = {
	{"cpu_offline", "a CPU went offline or came back, or a cpuset lacked it: "
			"there is no load while it is away"},
	{"cpu_online", "a CPU came online that is not measured: the load omits what runs there; "
		       "start again"},
	{"soaker_moved", "a soaker was moved to another CPU and is back: the load is unsafe"},
	{"soaker_stopped", "the soakers were stopped (SIGSTOP): that time counts as load"},
	{"clock_slow", "the clock or a system call is slow: the load omits short interrupts"},
	{"clock_changed", "the clock source changed: the load is wrong; calibrate and start again"},
	{"weight", NULL},
	{"steal", "the host of this virtual machine took more than 1% of its CPU time (steal): "
		  "the load is unsafe"},
	{"baseline_old", "the baseline is more than an hour old: the load is unsafe; " AGAIN},
	{"baseline_busy",
	 "the baseline was measured on a busy machine: the load is unsafe; " AGAIN},
	{"calibration", "the load is below 0: the machine was not idle when it was calibrated, or "
			"is another now: run 'cyclesoak -C' on the idle system"},
	{"soaked_already", NULL},
	{"not_measured", NULL},
	{"scheduler", "a sched_ext scheduler runs, which need not let others go first: "
		      "the load is unsafe"},
	{"other", NULL},
};

const char *limits_name(int i)
{
	return reason[i].name;
}

const char *limits_format(unsigned unsafe, char buf[UNSAFE_STRLEN])
{
	int i;

	*buf = '\0';
	for (i = 0; i < UNSAFE_REASONS; i++)
		if (unsafe & 1u << i)
			string_append(buf, UNSAFE_STRLEN, "%s%s", *buf != '\0' ? "," : "",
				      reason[i].name);
	return buf;
}

bool limits_parse(const char *list, unsigned *unsafe)
{
	char *rest = strdupa(list), *name;
	int i;

	*unsafe = 0;
	while ((name = strsep(&rest, ",")) != NULL) {
		if (*name == '\0')
			return false;
		for (i = 0; i < UNSAFE_REASONS - 1 && strcmp(name, reason[i].name) != 0; i++)
			;
		*unsafe |= 1u << i;
	}
	return true;
}

void limits_warn(void)
{
	const int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct cpu_cgroup group;
	char value[64];
	cpu_mask set;

	if (cpu_cgroup_find(&group) && cpu_cgroup_quota(&group, value, sizeof(value)))
		warnx("this control group has a CPU quota (%s): throttled time counts as idle",
		      value);
	if (sched_getaffinity(0, sizeof(set), set) == 0 && CPU_COUNT_S(sizeof(set), set) < online)
		warnx("this program may run on %d of the %d CPUs: the load is that of the machine",
		      CPU_COUNT_S(sizeof(set), set), online);
}

unsigned limits_between(const struct limits_mark *from, const struct limits_mark *to)
{
	return from->now | to->now | (from->lost != to->lost ? UNSAFE_CPU_OFFLINE : 0u) |
	       (from->moved != to->moved ? UNSAFE_SOAKER_MOVED : 0u) |
	       (from->stops != to->stops ? UNSAFE_SOAKER_STOPPED : 0u);
}

unsigned limits_steal(const struct rates *r)
{
	return r->cpu[CPU_STEAL] > STEAL_MAX ? UNSAFE_STEAL : 0;
}

void limits_say(unsigned unsafe, struct limits_said *said)
{
	const unsigned most = said->most > 0 ? said->most : SAY_MOST;
	const unsigned fresh = unsafe & ~atomic_exchange(&said->reasons, unsafe);
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++)
		if (fresh & 1u << i && reason[i].line != NULL &&
		    atomic_fetch_add(&said->n[i], 1) < most)
			warnx("%s%s%s", said->place != NULL ? said->place : "",
			      said->place != NULL ? ": " : "", reason[i].line);
}

/*
 * The busiest program.
 */

#define WATCH_NS    200000000u
#define USAGES_MAX  8192 /* processes that are watched */
#define SHARE_LEAST 0.1  /* of a CPU */

/* The CPU time that a process has used, in clock ticks. */
struct usage {
	pid_t pid, parent;
	int cpu; /* on which it ran last */
	unsigned long ticks;
};

/* Reads /proc/PID/stat (proc_pid_stat(5)); the process may have gone. */
static bool usage_read(pid_t pid, struct usage *u)
{
	char path[32], line[1024], *end;
	unsigned long user, system;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read_line(path, line, sizeof(line)) != 0 || (end = strrchr(line, ')')) == NULL)
		return false;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	if (sscanf(end,
		   ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d "
		   "%*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
		   &u->parent, &user, &system, &u->cpu) != 4)
		return false;
	u->pid = pid;
	u->ticks = user + system;
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
	char path[32], name[32];
	int i;

	sleep_ns(WATCH_NS);
	for (i = 0; i < n; i++) {
		if (then[i].parent == keeper || !usage_read(then[i].pid, &now))
			continue;
		share = ((double)now.ticks - (double)then[i].ticks) * tick /
			seconds_between(begin, now_ns());
		rank = share + (now.cpu == cpu ? CPUS_MAX : 0); /* those of the CPU come first */
		snprintf(path, sizeof(path), "/proc/%d/comm", now.pid);
		if (share < SHARE_LEAST || rank <= most ||
		    file_read_line(path, name, sizeof(name)) != 0)
			continue;
		most = rank;
		snprintf(text, BUSIEST_STRLEN, "%s (pid %d), %.0f%% of a CPU", name, now.pid,
			 100 * share);
	}
	free(then);
	return most > 0;
}
