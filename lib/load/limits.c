#include "lib/load/limits.h"

#include <dirent.h>

#include "lib/base/proc.h"
#include "lib/load/keeper.h"

#define STEAL_MAX 0.01 /* share of the CPUs that is worth a warning */

#define OLD   "the baseline is more than an hour old: the load is unsafe: "
#define BUSY  "the baseline was measured on a busy machine: the load is unsafe: "
#define AGAIN "start again, or run 'cyclesoak -C', on the idle machine"

/* In the order of the bits: the name, and the line on stderr; NULL if another part prints one. */
static const struct {
	const char *name, *line;
} reason[UNSAFE_REASONS] = {
	{"cpu_offline", NULL},
	{"cpu_online", "a CPU came online and is not measured: start again to measure it"},
	{"soaker_moved", "a soaker was moved to another CPU and is back: the load is unsafe"},
	{"soaker_stopped", "the soakers were stopped (SIGSTOP): that time counts as load"},
	{"clock_slow",
	 "the clock or a system call is slow: the load omits short interrupts: use --idle"},
	{"clock_changed", "the clock source changed: the load is wrong: calibrate and start again"},
	{"weight", NULL},
	{"steal", "the hypervisor took more than 1% of this machine's CPU time (steal): "
		  "the load is unsafe"},
	{"baseline_old", OLD AGAIN},
	{"baseline_busy", BUSY AGAIN},
	{"calibration", NULL},
	{"soaked_already", NULL},
	{"not_measured", NULL},
	{"scheduler", "a sched_ext scheduler runs and may prefer the soakers: the load is unsafe: "
		      "use --idle"},
	{"other", NULL},
};

/* Why a load is not measured: of several reasons the first. */
static const struct {
	const char *word;
	unsigned unsafe;
	const char *by; /* LOAD_BY_*; NULL: of any instrument */
	const char *text;
} no_load[] = {
	{"offline", UNSAFE_CPU_OFFLINE, NULL,
	 "a measured CPU was offline, or missing in the cpuset: wait until it is back"},
	{"uncounted", UNSAFE_NOT_MEASURED, LOAD_BY_IDLE,
	 "idle time is not counted here, or no longer (/proc/stat, kernel.ftrace_enabled): "
	 "try -c (cyclesoak: without --idle)"},
	{"soakers", UNSAFE_NOT_MEASURED, LOAD_BY_SOAKING,
	 "the soakers could not be started: choose CPUs of this cpuset (--on-cpus), raise the "
	 "limits (ulimit -a), or use --idle"},
	{NO_LOAD_HELD, UNSAFE_SOAKED_ALREADY, NULL,
	 "another program soaks the CPUs: stop it, or wait for it (zcc and cyclesoak: --wait)"},
	{"jump", UNSAFE_CALIBRATION, LOAD_BY_IDLE,
	 "the load is below 0: idle time jumped (a suspend?), or the machine was busier before or "
	 "after: measure again"},
	{"negative", UNSAFE_CALIBRATION, LOAD_BY_SOAKING,
	 "the load is below 0: the machine was busier when its baseline was measured, or has "
	 "changed: measure again, or run 'cyclesoak -C' on the idle machine"},
	{NO_LOAD_BASELINE, UNSAFE_BASELINE_BUSY, NULL,
	 "other programs kept the CPUs busy: stop them, or wait until they rest (zcc and "
	 "cyclesoak: --wait-idle)"},
	{NO_LOAD_SHORT, 0, NULL,
	 "the transfer ended before the soakers of zcs had settled: send for longer (-t)"},
	{NO_LOAD_SEVERAL, 0, NULL,
	 "the streams went to several hosts: measure them by zc-hosts(1)"},
	{NO_LOAD_OFF, 0, NULL, "it was not asked for: start zcs with -c or --idle"},
	{"", 0, NULL, "the reason is not known (zcs measures it with -c or --idle)"},
};

const char *limits_name(int i)
{
	return reason[i].name;
}

const char *limits_format(unsigned unsafe)
{
	char names[TEXT_SIZE] = "";
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++)
		if (unsafe & 1u << i)
			string_append(names, TEXT_SIZE, "%s%s", *names != '\0' ? "," : "",
				      reason[i].name);
	return text_of("%s", names);
}

const char *no_load_of(unsigned unsafe, const char *instrument)
{
	size_t i = 0;

	while (no_load[i].unsafe != 0 &&
	       (!(unsafe & no_load[i].unsafe) ||
		(no_load[i].by != NULL && strcmp(no_load[i].by, instrument) != 0)))
		i++;
	return no_load[i].unsafe != 0 ? no_load[i].word : "";
}

const char *no_load_text(const char *word)
{
	size_t i = 0;

	while (no_load[i].word[0] != '\0' && strcmp(word, no_load[i].word) != 0)
		i++;
	return no_load[i].text;
}

bool no_load_is_told(const char *word)
{
	return *word != '\0' && strcmp(word, NO_LOAD_OFF) != 0;
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

void limits_warn(bool whole)
{
	const int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct cpu_cgroup group;
	char value[64];
	cpu_mask set;

	if (cpu_cgroup_find(&group) && cpu_cgroup_quota(&group, value, sizeof(value)))
		warnx("this control group has a CPU quota (%s): it slows what is measured, and "
		      "the load does not show by how much: remove the quota",
		      value);
	if (whole && sched_getaffinity(0, sizeof(set), set) == 0 &&
	    CPU_COUNT_S(sizeof(set), set) < online)
		warnx("this program may run on %d of the %d CPUs: the load counts what runs on "
		      "the others, too: choose the CPUs by --on-cpus",
		      CPU_COUNT_S(sizeof(set), set), online);
}

unsigned limits_between(const struct limits_mark *from, const struct limits_mark *to)
{
	return from->now | to->now | (from->lost != to->lost ? UNSAFE_CPU_OFFLINE : 0u) |
	       (from->moved != to->moved ? UNSAFE_SOAKER_MOVED : 0u) |
	       (from->stops != to->stops ? UNSAFE_SOAKER_STOPPED : 0u);
}

unsigned limits_steal(double share)
{
	return share > STEAL_MAX ? UNSAFE_STEAL : 0;
}

/*
 * The line of a reason; NULL if there is none.  Idle time has no calibration that could be wrong, or help.  That a load
 * is not measured takes the place of what would make it unsafe.
 */
static const char *line_of(int i, const char *instrument, const char *word)
{
	if (*word != '\0' && strcmp(no_load_of(1u << i, instrument), word) == 0)
		return text_of("the load is not measured: %s", no_load_text(word));
	switch (strcmp(instrument, LOAD_BY_IDLE) == 0 ? 1u << i : 0) {
	case UNSAFE_BASELINE_OLD: return OLD "start again on the idle machine";
	case UNSAFE_BASELINE_BUSY: return BUSY "start again on the idle machine";
	default: return reason[i].line;
	}
}

void limits_say(unsigned unsafe, const char *instrument, const char *word, struct limits_said *said)
{
	const unsigned most = said->most > 0 ? said->most : SAY_MOST;
	const unsigned fresh = unsafe & ~atomic_exchange(&said->reasons, unsafe);
	const char *line;
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++) {
		line = fresh & 1u << i ? line_of(i, instrument, word) : NULL;
		if (line != NULL && atomic_fetch_add(&said->n[i], 1) < most)
			warnx("%s%s%s", said->place != NULL ? said->place : "",
			      said->place != NULL ? ": " : "", line);
	}
}

/*
 * The busiest program.
 */

#define WATCH_NS    200000000u
#define USAGES_MAX  8192 /* processes at most */
#define SHARE_LEAST 0.1  /* of a CPU: programs with less are not named */

/* A process, and the CPU time that it has used; 0: it has ended. */
struct usage {
	pid_t pid;
	uint64_t ns;
};

static uint64_t usage_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec t = {.tv_sec = 0};

	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Reads the CPU times of all processes, and returns how many processes there are. */
static int usages_read(struct usage *u)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d != NULL && n < USAGES_MAX && (e = readdir(d)) != NULL) {
		u[n].pid = (pid_t)strtol(e->d_name, NULL, 10);
		u[n].ns = u[n].pid > 0 ? usage_ns(u[n].pid) : 0;
		n += u[n].pid > 0;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

const char *busiest_find(void)
{
	struct usage *u = alloc_or_die(USAGES_MAX, sizeof(*u), "processes");
	const uint64_t begin = now_ns();
	const int n = usages_read(u);
	double share, most = SHARE_LEAST;
	char path[32], name[32];
	const char *text = "";
	int i;

	sleep_ns(WATCH_NS);
	for (i = 0; i < n; i++) {
		share = seconds_between(u[i].ns, usage_ns(u[i].pid)) /
			seconds_between(begin, now_ns());
		snprintf(path, sizeof(path), "/proc/%d/comm", u[i].pid);
		if (share < most || file_read_line(path, name, sizeof(name)) != 0 ||
		    strcmp(name, SOAKER_NAME) == 0)
			continue;
		most = share;
		text = text_of("; the busiest program was %s (pid %d), %.0f%% of a CPU", name,
			       u[i].pid, 100 * share);
	}
	free(u);
	return text;
}
