#include "lib/load/soaker.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "lib/base/proc.h"
#include "lib/load/keeper.h"
#include "lib/load/kernel.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

#define YIELD_TRIES   8
#define SOAK_READ_NS  50000       /* a reading of the counts that took longer is repeated */
#define SOAK_START_NS 5000000000u /* until a CPU that has no time for its soaker is reported */
#define SLOW_GAP_NS   2000        /* the shortest gap above which a clock is slow */
#define REMOVE_TRIES  200         /* of 10 ms: the keeper was killed, and its soakers are ending */

/*
 * The lock: there is one set of soakers on a machine, since two would measure each other.  It is a
 * flock(2) on a device node: every user can open it, nobody can remove it, it is one file for all
 * network, process and mount namespaces that have the machine's /dev (devtmpfs), and the kernel unlocks
 * it when its last holder, the soaker included, has gone.  The descriptor stays open: a program that has
 * become another user can lock it again.
 */

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

bool device_lock(int fd, double seconds)
{
	const uint64_t until = now_ns() + (uint64_t)(seconds * 1e9);
	sigset_t stop, old;

	stop_signals(&stop);
	while (TEMP_FAILURE_RETRY(flock(fd, LOCK_EX | LOCK_NB)) != 0) {
		if (errno != EWOULDBLOCK || now_ns() >= until)
			return false;
		/* A signal may end the program here, even if the program has blocked it. */
		sigprocmask(SIG_UNBLOCK, &stop, &old);
		sleep_ns(LOCK_TRY_NS);
		sigprocmask(SIG_SETMASK, &old, NULL);
	}
	return true;
}

/* Tries to take the lock for `seconds`.  If another program still has it then, stores that program in *h. */
static bool lock_take(int fd, double seconds, struct lock_holder *h)
{
	if (device_lock(fd, seconds))
		return true;
	if (errno != EWOULDBLOCK) /* no wait would help */
		die_errno("cannot lock " LOCK_FILE);
	h->pid = lock_holder(fd);
	if (h->pid <= 0 ||
	    file_read_line(text_of("/proc/%d/comm", h->pid), h->name, sizeof(h->name)) != 0)
		strcpy(h->name, "a program of another PID namespace or user");
	return false;
}

/*
 * Start and end.
 */

/* Returns NULL if the soakers run, or why they have ended. */
static const char *end_of(const struct soaker *s)
{
	int status, i, e;

	if (waitpid(s->keeper, &status, WNOHANG) != s->keeper)
		return NULL;
	idle_group_remove(&s->group, REMOVE_TRIES);
	if (WIFSIGNALED(status))
		return text_of("the keeper of the soakers was killed by signal %d",
			       WTERMSIG(status));
	for (i = 0; i < s->n; i++)
		if ((e = atomic_load(&s->cpu[i].bind_errno)) != 0)
			return text_of("cannot soak CPU %d: %s", s->cpu[i].id, strerror(e));
	return WEXITSTATUS(status) > 128
		       ? text_of("the soaker was killed by signal %d", WEXITSTATUS(status) - 128)
		       : "the soakers could not be started: memory or threads ran out (see ulimit -a)";
}

void soaker_check_or_die(const struct soaker *s)
{
	const char *why = end_of(s);

	if (why != NULL)
		die("%s", why);
}

/* Warns that the soakers may take CPU from other programs: each load is then unsafe. */
static void warn_of_weight(struct soaker *s, const char *what, int error)
{
	warnx("the soakers may take CPU from other programs: %s: %s: loads are unsafe (weight): "
	      "%suse --idle",
	      what, error > 0 ? strerror(error) : "it is inside a container",
	      geteuid() != 0 ? "run as root, or " : "");
	s->weight = true;
}

/*
 * Waits until each CPU's soaker has run.  A soaker never runs on a CPU that other programs occupy: that is
 * load, not failure.  Returns NULL, or why the soakers have ended.
 */
static const char *wait_until_running(const struct soaker *s)
{
	const uint64_t until = now_ns() + SOAK_START_NS;
	const char *why;
	int i;

	for (i = 0; i < s->n; i++)
		while (atomic_load(&s->cpu[i].turns) == 0) {
			if (now_ns() > until) {
				warnx("CPU %d was fully busy for 5 seconds: another "
				      "program, perhaps a real-time one, has it: see top(1)",
				      s->cpu[i].id);
				return NULL;
			}
			sleep_ns(1000000);
			why = end_of(s);
			if (why != NULL)
				return why;
		}
	return NULL;
}

/*
 * Starts the keeper, and waits until the soakers run, or have run and are parked.  Returns NULL, or why they could not be
 * started.
 */
static const char *soaker_fork(struct soaker *s)
{
	int ends[2] = {-1, -1};
	const char *why;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
		why = text_of("cannot start the soakers: %s", strerror(errno));
		close(ends[0]);
		close(ends[1]);
		return why;
	}
	if (pid == 0)
		keeper_main(s, ends);
	s->keeper = pid; /* the child shares *s */
	close(ends[0]);
	s->pipe = ends[1];
	why = wait_until_running(s);
	if (why != NULL) {
		close(s->pipe);
		return why;
	}
	if (s->policy_errno != 0)
		warn_of_weight(s, "SCHED_IDLE or nice 19", s->policy_errno);
	if (s->group_errno == 0 ? !cpu_cgroup_sees_root(&s->group)
				: cpu_cgroup_is_shared(&s->group))
		warn_of_weight(s, "the idle control group", s->group_errno);
	else if (s->group_errno != 0 && s->autogroup_errno != 0)
		warn_of_weight(s, "/proc/PID/autogroup", s->autogroup_errno);
	return NULL;
}

pid_t soaker_thread(const struct soaker *s, int i)
{
	return s->cpu[i].tid;
}

/* The CPU time that the soaker of the i-th CPU has had, by its own clock. */
static uint64_t soaker_ran(const struct soaker *s, int i)
{
	struct load_sample c;

	soak_count(s, i, &c);
	return (uint64_t)fmax(0, 1e9 * (c.time - c.tasks - fmax(0, c.stolen))); /* it may be NAN */
}

void soaker_yields(const struct soaker *s, const struct cpus *cpus, struct yield *y)
{
	yield_measure(cpus, soaker_ran, s, y);
}

/*
 * Lets the soakers settle, and warns if they do not yield.  Soakers that do may still take 0.3 % of a CPU, a whole
 * timer tick at once.  Beside a program that wakes up often a third of the trials have such a tick: hardly all in a row.
 */
static void try_yield(struct soaker *s, const struct cpus *cpus)
{
	struct yield y;
	int tries = YIELD_TRIES;

	sleep_ns(SOAK_SETTLE_NS);
	do
		soaker_yields(s, cpus, &y);
	while ((y.kept < YIELD_KEPT || y.late > YIELD_LATE) && --tries > 0);
	if (tries > 0)
		return;
	s->weight = true;
	if (y.kept < YIELD_KEPT)
		warnx("the soakers do not yield: a thread beside them kept %.0f%% of its CPU: "
		      "the load is unsafe, and other programs are slowed: use --idle",
		      100 * y.kept);
	else
		warnx("the soakers delay wake-ups: one kept a woken thread waiting for %.0f us: "
		      "the load is unsafe: use --idle",
		      1e6 * y.late);
}

static void soaker_free(struct soaker *s)
{
	close(s->lock);
	munmap(s, sizeof(*s) + (size_t)s->n * sizeof(s->cpu[0]));
}

const char *soaker_start(struct soaker **started, const struct cpus *cpus, double wait,
			 bool parkable, struct lock_holder *h)
{
	const size_t size = sizeof(struct soaker) + (size_t)cpus->n * sizeof(struct soak_cpu);
	struct soaker *s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				0);
	const char *why;
	int i;

	h->pid = -1;
	if (s == MAP_FAILED || (s->lock = open_retry(LOCK_FILE, O_RDONLY)) < 0) {
		why = text_of("cannot start the soakers: memory, or " LOCK_FILE ": %s",
			      strerror(errno));
		if (s != MAP_FAILED)
			munmap(s, size);
		return why;
	}
	s->n = cpus->n;
	s->online = sysconf(_SC_NPROCESSORS_ONLN);
	s->whole = cpus_are_all(cpus);
	s->sees_steal = kernel_option(KERNEL_STEAL_TIME) == 1 &&
			kernel_option(KERNEL_IRQ_TIME) == 0;
	file_read_line(CLOCK_SOURCE, s->clock, sizeof(s->clock));
	for (i = 0; i < s->n; i++) {
		s->cpu[i].id = cpus->id[i];
		s->cpu[i].soaker = s;
	}
	s->parked = !lock_take(s->lock, wait, h);
	if (s->parked != 0 && !parkable)
		why = text_of(
			"CPUs are being soaked already, by %s (pid %d): wait for it (--wait SECS) or "
			"stop it (on one host one -c measures both ends)",
			h->name, h->pid);
	else
		why = soaker_fork(s);
	if (why != NULL) {
		soaker_free(s);
		return why;
	}
	if (s->parked == 0)
		try_yield(s, cpus);
	*started = s;
	return NULL;
}

void soaker_park(struct soaker *s)
{
	atomic_store(&s->parked, 1);
	flock(s->lock, LOCK_UN);
}

bool soaker_unpark(struct soaker *s, struct lock_holder *h)
{
	soaker_check_or_die(s);
	if (!lock_take(s->lock, 0, h))
		return false;
	atomic_store(&s->parked, 0);
	syscall(SYS_futex, &s->parked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return true;
}

void soaker_stop(struct soaker *s)
{
	int status = 0;

	soaker_check_or_die(s);
	close(s->pipe);
	kill(s->keeper, SIGCONT); /* it may be stopped */
	TEMP_FAILURE_RETRY(waitpid(s->keeper, &status, 0));
	if (WIFSIGNALED(status)) /* otherwise the keeper has removed it */
		idle_group_remove(&s->group, REMOVE_TRIES);
	soaker_free(s);
}

/*
 * Counts.
 */

void soaker_limits(const struct soaker *s, struct limits_mark *m)
{
	char text[sizeof(s->clock)];
	int i;

	*m = (struct limits_mark){.lost = s->lost, .moved = s->moved, .stops = s->stops};
	for (i = 0; i < s->n; i++)
		m->now |= (s->cpu[i].away ? UNSAFE_CPU_OFFLINE : 0u) |
			  (s->cpu[i].gap_min > SLOW_GAP_NS ? UNSAFE_CLOCK_SLOW : 0u);
	m->now |= (m->stops % 2 != 0 ? UNSAFE_SOAKER_STOPPED : 0u) |
		  (s->weight ? UNSAFE_WEIGHT : 0u) |
		  (sysconf(_SC_NPROCESSORS_ONLN) > s->online ? UNSAFE_CPU_ONLINE : 0u);
	/* Documentation/timers/timekeeping.rst, Documentation/scheduler/sched-ext.rst */
	if (s->clock[0] != '\0' && file_read_line(CLOCK_SOURCE, text, sizeof(text)) == 0 &&
	    strcmp(text, s->clock) != 0)
		m->now |= UNSAFE_CLOCK_CHANGED;
	if (file_read_line("/sys/kernel/sched_ext/state", text, sizeof(text)) == 0 &&
	    strcmp(text, "enabled") == 0)
		m->now |= UNSAFE_SCHEDULER;
}

/*
 * A gap that is open when the counts are read counts up to that moment, as time in which the soaker was
 * switched out.  Before the first turn all of the time since the clock's zero is such a gap.  The counts are
 * read again if a gap was counted meanwhile, or if the reader lost the CPU.  The number of tries is limited, as
 * a soaker may be switched out while it counts a gap.
 */
void soak_count(const struct soaker *s, int i, struct load_sample *c)
{
	const struct soak_cpu *cpu = &s->cpu[i];
	uint64_t ns, last, open, away;
	uint32_t changes;
	int tries = 100;

	do {
		changes = cpu->changes;
		ns = raw_ns();
		last = cpu->last_ns;
		open = ns > last + cpu->gap_min ? ns - last : 0;
		away = cpu->gap_ns + open + cpu->dirty_ns;
		*c = (struct load_sample){
			.time = (double)ns / 1e9,
			.spin = last != 0 && ns > away ? (double)(ns - away) / 1e9 : 0,
			.work = (double)cpu->turns,
			.tasks = (double)(last != 0 ? cpu->tasks_ns + open : ns) / 1e9,
			.stolen = s->sees_steal ? (double)cpu->stolen_ns / 1e9 : NAN,
			.switches = (double)cpu->switches};
	} while ((changes % 2 != 0 || changes != cpu->changes || raw_ns() - ns > SOAK_READ_NS) &&
		 --tries > 0);
}
