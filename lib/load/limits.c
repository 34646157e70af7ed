#include "lib/load/limits.h"

#include <stdarg.h>

#include "lib/load/cgroup.h"
#include "lib/load/cpus.h"

#define STEAL_MAX    0.01        /* share of the host's time that is worth a warning */
#define SLOW_GAP_NS  2000        /* the shortest gap above which a clock is slow */
#define SAY_STRLEN   512         /* bytes of a line on stderr */
#define ONLINE_STACK (24 * 1024) /* bytes: a list of every second of CPUS_MAX CPUs has 20 KiB */

static const char *const unsafe_name[UNSAFE_REASONS] = {
	"cpu_offline",   "cpu_online",     "soaker_moved", "soaker_stopped", "clock_slow",
	"clock_changed", "weight",         "steal",        "baseline_old",   "baseline_busy",
	"calibration",   "soaked_already", "not_measured", "scheduler",      "other",
};

const char *limits_name(int i)
{
	return unsafe_name[i];
}

const char *limits_format(unsigned unsafe, char buf[UNSAFE_STRLEN])
{
	int i;

	*buf = '\0';
	for (i = 0; i < UNSAFE_REASONS; i++)
		if (unsafe & 1u << i)
			string_append(buf, UNSAFE_STRLEN, "%s%s", *buf != '\0' ? "," : "",
				      unsafe_name[i]);
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
		for (i = 0; i < UNSAFE_REASONS - 1 && strcmp(name, unsafe_name[i]) != 0; i++)
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

/* Whether the list `all` of CPUs has this one. */
static bool has_cpu(const struct cpus *all, int cpu)
{
	int i;

	for (i = 0; i < all->n && all->id[i] != cpu; i++)
		;
	return i < all->n;
}

/* The change of the list of CPUs online since the start: the first CPUs, -1 if none. */
struct online_change {
	int added;     /* that came online and is not soaked */
	int missing;   /* that is soaked and not online */
	int n_missing; /* how many those are */
};

static void compare_online(const struct soak_origin *o, const char *online, struct online_change *c)
{
	struct cpus *now = malloc(sizeof(*now)), *then = malloc(sizeof(*then));
	bool known = now != NULL && then != NULL && parse_cpus(online, now) == NULL &&
		     parse_cpus(o->online, then) == NULL;
	int i;

	for (i = known ? now->n - 1 : -1; i >= 0; i--)
		if (!has_cpu(then, now->id[i]) && !has_cpu(&o->soaked, now->id[i]))
			c->added = now->id[i];
	for (i = known ? o->soaked.n - 1 : -1; i >= 0; i--)
		if (!has_cpu(now, o->soaked.id[i])) {
			c->missing = o->soaked.id[i];
			c->n_missing++;
		}
	free(now);
	free(then);
}

static void read_online(const struct soak_origin *o, struct online_change *c)
{
	char online[ONLINE_STACK];

	*c = (struct online_change){.added = -1, .missing = -1};
	if (file_read_line(CPUS_ONLINE, online, sizeof(online)) == 0 && o->online[0] != '\0' &&
	    strcmp(online, o->online) != 0)
		compare_online(o, online, c);
}

/* Reads the clock source if it is not that of the start; else `clock` becomes empty. */
static void read_new_clock(const struct soak_origin *o, char clock[sizeof(o->clock)])
{
	if (file_read_line(CLOCK_SOURCE, clock, sizeof(o->clock)) != 0 || o->clock[0] == '\0' ||
	    strcmp(clock, o->clock) == 0)
		clock[0] = '\0';
}

/* Documentation/scheduler/sched-ext.rst */
static bool has_scheduler(void)
{
	char state[32];

	return file_read_line("/sys/kernel/sched_ext/state", state, sizeof(state)) == 0 &&
	       strcmp(state, "enabled") == 0;
}

void limits_read(const struct soaker *s, struct limits_mark *m)
{
	struct soak_trouble t;
	struct online_change c;
	char clock[sizeof(t.origin->clock)];

	soaker_trouble(s, &t);
	*m = (struct limits_mark){.lost = t.lost, .moved = t.moved, .stops = t.stops};
	if (t.stopped)
		m->now |= UNSAFE_SOAKER_STOPPED;
	if (t.weight)
		m->now |= UNSAFE_WEIGHT;
	if (has_scheduler())
		m->now |= UNSAFE_SCHEDULER;
	if (t.gap_min > SLOW_GAP_NS)
		m->now |= UNSAFE_CLOCK_SLOW;
	read_online(t.origin, &c);
	if (c.added >= 0)
		m->now |= UNSAFE_CPU_ONLINE;
	/*
	 * A soaker that does not know yet that its CPU is offline or back, or a CPU that is online
	 * without a soaker, since a cpuset lacks it.
	 */
	if (c.n_missing != t.away)
		m->now |= UNSAFE_CPU_OFFLINE;
	read_new_clock(t.origin, clock);
	if (clock[0] != '\0')
		m->now |= UNSAFE_CLOCK_CHANGED;
}

unsigned limits_between(const struct limits_mark *from, const struct limits_mark *to)
{
	unsigned unsafe = from->now | to->now;

	if (from->lost != to->lost)
		unsafe |= UNSAFE_CPU_OFFLINE;
	if (from->moved != to->moved)
		unsafe |= UNSAFE_SOAKER_MOVED;
	if (from->stops != to->stops)
		unsafe |= UNSAFE_SOAKER_STOPPED;
	return unsafe;
}

unsigned limits_steal(const struct rates *r)
{
	return r->cpu[CPU_STEAL] > STEAL_MAX ? UNSAFE_STEAL : 0;
}

/* Prints a line on stderr, behind the run that it is about. */
static __attribute__((format(printf, 2, 3))) void say(const struct limits_said *said,
						      const char *fmt, ...)
{
	const bool has_place = said->place != NULL;
	char line[SAY_STRLEN];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	warnx("%s%s%s", has_place ? said->place : "", has_place ? ": " : "", line);
}

static void say_of_cpus(const struct limits_said *said, const struct soak_trouble *t,
			unsigned unsafe)
{
	struct online_change c;

	read_online(t->origin, &c);
	if (unsafe & UNSAFE_CPU_OFFLINE)
		say(said,
		    "CPU %d went offline or came back, or was outside the cpuset: the load is unsafe, "
		    "and omits that CPU while it is away",
		    c.missing >= 0 ? c.missing : t->lost_cpu);
	if (unsafe & UNSAFE_CPU_ONLINE && c.added >= 0)
		say(said,
		    "CPU %d came online and is not soaked: the load omits what runs there; "
		    "calibrate and start again",
		    c.added);
	else if (unsafe & UNSAFE_CPU_ONLINE)
		say(said,
		    "a CPU that is not soaked was online for some time: the load omits what ran "
		    "there");
	if (unsafe & UNSAFE_SOAKER_MOVED)
		say(said,
		    "the soaker of CPU %d was moved to another CPU and is back: the load is unsafe",
		    t->moved_cpu);
	if (unsafe & UNSAFE_SOAKER_STOPPED)
		say(said, "the soakers were stopped (SIGSTOP, or a frozen control group): "
			  "that time counts as load");
}

static void say_of_scheduler(const struct limits_said *said, unsigned unsafe)
{
	if (unsafe & UNSAFE_SCHEDULER)
		say(said, "a sched_ext scheduler runs, which need not let others go first: "
			  "the load is unsafe");
}

static void say_of_clock(const struct limits_said *said, const struct soak_trouble *t,
			 unsigned unsafe)
{
	const char *then = t->origin->clock[0] != '\0' ? t->origin->clock : "unknown";
	char clock[sizeof(t->origin->clock)];

	read_new_clock(t->origin, clock);
	if (unsafe & UNSAFE_CLOCK_SLOW)
		say(said,
		    "the clock (source %s) or a system call is slow: the load omits interrupts of less "
		    "than %.1f us",
		    then, (double)t->gap_min / 1e3);
	if (unsafe & UNSAFE_CLOCK_CHANGED)
		say(said,
		    "the clock source changed from %s%s%s: the load is wrong; "
		    "calibrate and start again",
		    then, clock[0] != '\0' ? " to " : ", and back", clock);
}

static void say_of_baseline(const struct limits_said *said, unsigned unsafe, bool soaked)
{
	const char *mend = soaked ? "run 'cyclesoak -C' on the idle system and start again"
				  : "start again on the idle system";

	if (unsafe & UNSAFE_BASELINE_OLD)
		say(said, "the baseline is more than an hour old: the load is unsafe; %s", mend);
	if (unsafe & UNSAFE_BASELINE_BUSY)
		say(said, "the baseline was measured on a busy machine: the load is unsafe; %s",
		    mend);
}

static void say_of_load(const struct limits_said *said, const struct rates *r, unsigned unsafe)
{
	if (unsafe & UNSAFE_STEAL)
		say(said,
		    "the host of this virtual machine took %.1f%% of its CPU time (steal): "
		    "the load is unsafe",
		    100 * r->cpu[CPU_STEAL]);
	if (unsafe & UNSAFE_CALIBRATION)
		say(said,
		    "the load is below 0: the machine was not idle when it was calibrated, or is "
		    "another now: run 'cyclesoak -C' on the idle system");
}

unsigned limits_fresh(struct limits_said *said, unsigned unsafe, unsigned unknown)
{
	const unsigned most = said->most > 0 ? said->most : SAY_MOST;
	unsigned before = atomic_load(&said->reasons), fresh;
	int i;

	while (!atomic_compare_exchange_weak(&said->reasons, &before, unsafe | (before & unknown)))
		;
	fresh = unsafe & ~before;
	for (i = 0; i < UNSAFE_REASONS; i++)
		if (fresh & 1u << i && atomic_fetch_add(&said->n[i], 1) >= most)
			fresh &= ~(1u << i);
	return fresh;
}

/* Prints that the lines which were just printed for some reasons were the last of them. */
static void say_of_end(const struct limits_said *said, unsigned fresh)
{
	int i;

	for (i = 0; i < UNSAFE_REASONS; i++)
		if (said->most == 0 && fresh & 1u << i && said->n[i] == SAY_MOST)
			warnx("that was the last of %d lines about %s: "
			      "the reports still mark the loads",
			      SAY_MOST, unsafe_name[i]);
}

/* What disturbs the soakers. */
static void say_of_soakers(const struct limits_said *said, const struct soaker *s, unsigned unsafe)
{
	struct soak_trouble t;

	soaker_trouble(s, &t);
	say_of_cpus(said, &t, unsafe);
	say_of_scheduler(said, unsafe);
	say_of_clock(said, &t, unsafe);
}

/* What disturbs the other instrument, idle time. */
static void say_of_watched(const struct limits_said *said, unsigned unsafe)
{
	if (unsafe & UNSAFE_CPU_OFFLINE)
		say(said, "a CPU that is watched was offline for some time: the load is unsafe");
	if (unsafe & UNSAFE_CPU_ONLINE)
		say(said, "a CPU came online that is not watched: the load omits what runs there");
}

void limits_say(const struct soaker *s, const struct rates *r, unsigned unsafe,
		struct limits_said *said)
{
	const unsigned unknown = isnan(r->cpu[CPU_STEAL]) ? UNSAFE_STEAL : 0;
	const unsigned fresh = limits_fresh(said, unsafe, unknown);

	if (fresh == 0)
		return;
	flockfile(stderr); /* of zcs, where warnx(3) would let other lines come between */
	if (s != NULL)
		say_of_soakers(said, s, fresh);
	else
		say_of_watched(said, fresh);
	say_of_baseline(said, fresh, s != NULL);
	say_of_load(said, r, fresh);
	say_of_end(said, fresh);
	funlockfile(stderr);
}
