#include "lib/load/soaker.h"

#include <dirent.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/load/cgroup.h"
#include "lib/load/lock.h"
#include "lib/load/wakeup.h"

#define SOAK_MEMORY    (1024 * 1024) /* bytes that each soaker walks over */
#define SOAK_LINE      64            /* bytes from one dirtied line to the next */
#define SOAK_DIRTY_NS  100000        /* from one such line to the next: as in 2001, 10,000/s */
#define SOAK_GAP_NS    1000          /* the shortest gap; the shortest interrupts take longer */
#define SOAK_GAP_TURNS 16            /* turns in the shortest gap, where the clock is slow */
#define SOAK_CALLS     4             /* shortest gaps in which count_gap() has made its calls */
#define SOAK_ENTER_NS  20000         /* from one system call of the loop to the next */
#define SOAK_DELAY     1e-4        /* seconds that soaking may add to a wake-up without a warning */
#define SOAK_READ_NS   50000       /* for a reading of the counts, which is else repeated */
#define SOAK_START_NS  5000000000u /* until a CPU that has no time for its soaker is reported */
#define SOAK_RETRY_NS  10000000    /* between two tries to get back to a CPU */
#define SOAK_SILENT_NS 100000000   /* without a turn, until a soaker's state is looked at */

/* Processes share the counts, and libatomic's locks work inside one process only. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "zc needs a CPU with 64-bit atomics");

/* What happens to the soakers, as the processes notice it. */
struct soak_events {
	_Atomic uint64_t lost, moved, stops;          /* as in struct soak_trouble */
	_Atomic int lost_cpu, moved_cpu;              /* CPU numbers */
	_Atomic bool soakers_stopped, keeper_stopped; /* by SIGSTOP, as their parents see it */
	_Atomic bool weight;                          /* the soakers may take CPU from others */
	_Atomic uint32_t parked; /* the soakers sleep: a futex(2) on which they wait for 0 */
};

/*
 * One CPU's soaker and its counts, on cache lines (and their prefetched neighbours) of its own.  A
 * gap is the time between two turns that are too far apart: something else had the CPU then.
 */
struct soak_cpu {
	_Atomic uint64_t turns;    /* of the loop */
	_Atomic uint64_t last_ns;  /* when the last turn was; 0 before the first */
	_Atomic uint64_t gap_ns;   /* sum of the closed gaps, and the time before the first turn */
	_Atomic uint64_t tasks_ns; /* time in which the soaker did not run, up to the last gap */
	_Atomic uint64_t dirty_ns; /* time in which the soaker waited for memory */
	_Atomic uint64_t switches; /* how often the soaker was switched out */
	_Atomic uint64_t host_ns;  /* time that the thread's clock lacks though it had the CPU */
	_Atomic uint32_t changes;  /* odd while counts are changed that belong together */
	_Atomic uint64_t away_ns; /* time in which the CPU was unavailable, up to the last return */
	_Atomic uint64_t left_ns; /* since when it is unavailable; 0: it is not */
	_Atomic uint64_t gap_min; /* the shortest gap that it counts, in ns */
	_Atomic int bind_errno;   /* why the thread could not be bound; 0 if it could */
	_Atomic int tid;          /* the thread's id */
	int id;                   /* the CPU's number */
	struct soak_events *events;
} __attribute__((aligned(128)));

/* All of the soakers, in memory that the program, the keeper and the soakers share. */
struct soaker {
	pid_t keeper;
	int pipe;                /* the write end; when it is closed, the keeper ends the soakers */
	struct lock lock;        /* which the program holds unless the soakers are parked */
	struct cpu_cgroup group; /* the program's own, found by the keeper before group_errno */
	_Atomic int group_errno; /* why the soakers have no idle group; 0 if they have */
	_Atomic int autogroup_errno; /* why the session's weight could not be lowered */
	struct soaker_wakeup wakeup;
	_Atomic int policy_errno;   /* why nice 19 or SCHED_IDLE could not be set */
	struct soak_events *events; /* those below, also for who may only read the rest */
	struct soak_events own_events;
	struct soak_origin origin;
	int n; /* number of CPUs */
	struct soak_cpu cpu[];
};

/*
 * The soakers' process.
 */

/* What the loop of one soaker knows of its thread. */
struct soak_thread {
	uint64_t gap_min;    /* the shortest gap, in ns */
	uint64_t ran_before; /* the thread's CPU time when the loop began, in ns */
	long switched;       /* context switches so far, as the kernel counts them */
};

/*
 * What stands between these two changes together: a reader in another process reads it again if it
 * was changed meanwhile.
 */
static void change_begin(struct soak_cpu *me)
{
	atomic_store_explicit(&me->changes, me->changes + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void change_end(struct soak_cpu *me)
{
	atomic_store_explicit(&me->changes, me->changes + 1, memory_order_release);
}

/*
 * Counts the gap between two turns, at `last` and at `now`.  If the kernel has counted a context
 * switch, others had the CPU.  Otherwise the thread had it, and what its CPU clock lacks the host of
 * a virtual machine took, or on a kernel with IRQ_TIME_ACCOUNTING an interrupt.  Returns the time of
 * the turn that follows.
 */
static uint64_t count_gap(struct soak_cpu *me, struct soak_thread *t, uint64_t last, uint64_t now)
{
	uint64_t gap = now - last, tasks = me->tasks_ns, host = me->host_ns, lacking, after;
	struct rusage used;

	change_begin(me);
	getrusage(RUSAGE_THREAD, &used);
	lacking = raw_ns() - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - t->ran_before);
	lacking = lacking > tasks + host ? lacking - tasks - host : 0;
	if (used.ru_nivcsw + used.ru_nvcsw != t->switched) {
		t->switched = used.ru_nivcsw + used.ru_nvcsw;
		atomic_store_explicit(&me->tasks_ns, tasks + lacking, memory_order_relaxed);
		atomic_store_explicit(&me->switches, me->switches + 1, memory_order_relaxed);
	} else {
		atomic_store_explicit(&me->host_ns, host + lacking, memory_order_relaxed);
	}
	after = raw_ns();
	/* The system calls are no gap, but to be switched out in them is one. */
	if (after - now > SOAK_CALLS * t->gap_min)
		gap += after - now;
	atomic_store_explicit(&me->gap_ns, me->gap_ns + gap, memory_order_relaxed);
	atomic_store_explicit(&me->last_ns, after, memory_order_relaxed);
	change_end(me);
	return after;
}

/*
 * Gets a soaker back to its CPU if it is found elsewhere: the kernel moves it when the CPU goes
 * offline or its cpuset loses it, and anybody may who may bind it.  While the CPU is unavailable the
 * soaker sleeps, so as not to take half of the CPU of another.  That begins when it notices:
 * before that it may have been displaced on its own CPU for long, which is load.
 */
static void stay_bound(struct soak_cpu *me)
{
	struct soak_events *e = me->events;
	const int cpu = sched_getcpu();
	uint64_t left;

	if (cpu == me->id || cpu < 0)
		return;
	if (cpu_bind(me->id) == 0) {
		atomic_store(&e->moved_cpu, me->id);
		atomic_fetch_add(&e->moved, 1);
		return;
	}
	left = raw_ns();
	atomic_store(&me->left_ns, left);
	atomic_store(&e->lost_cpu, me->id);
	atomic_fetch_add(&e->lost, 1);
	while (cpu_bind(me->id) != 0)
		sleep_ns(SOAK_RETRY_NS);
	atomic_store(&e->lost_cpu, me->id);
	atomic_fetch_add(&e->lost, 1);
	change_begin(me);
	atomic_store(&me->left_ns, 0);
	atomic_fetch_add(&me->away_ns, raw_ns() - left);
	change_end(me);
}

/* Sleeps while the soakers are parked.  The time counts as a task's: nobody reads it. */
static void wait_while_parked(struct soak_events *e)
{
	while (atomic_load(&e->parked) != 0)
		syscall(SYS_futex, &e->parked, FUTEX_WAIT, 1, NULL, NULL, 0);
}

/*
 * Spins and counts without end.  Between two readings of the clock the loop does nothing, so that a
 * long turn is time that was taken, whatever the clock frequency; and the reading, which waits for
 * earlier instructions, leaves the core's units to a sibling.  Every SOAK_DIRTY_NS the loop dirties
 * a cache line, and that turn counts as waiting for memory, not as spinning: traffic that takes
 * bandwidth or cache makes it longer.  What the kernel knows of the thread is read at the end of a
 * gap only, as that takes system calls.
 *
 * Every SOAK_ENTER_NS the loop makes the cheapest system call.  A kernel with lazy preemption
 * (Linux 6.13) sends no interrupt to the CPU on which it wakes a task while a fair one runs there,
 * also an idle one: the task waits for the next tick, or until the one that runs enters the kernel.
 */
static _Noreturn void soak_loop(struct soak_cpu *me, volatile unsigned char *memory,
				uint64_t gap_min)
{
	const uint64_t start = raw_ns();
	struct soak_thread t = {gap_min, clock_ns(CLOCK_THREAD_CPUTIME_ID), 0};
	uint64_t last = start, dirty_at = start, enter_at = start, turns = 0, dirty = 0, now;
	bool dirtied = false;
	size_t line = 0;

	/* Before the start the soaker did not run. */
	atomic_store_explicit(&me->tasks_ns, start, memory_order_relaxed);
	atomic_store_explicit(&me->gap_ns, start, memory_order_relaxed);
	for (;;) {
		now = raw_ns();
		if (now - last > gap_min) {
			stay_bound(me);
			now = count_gap(me, &t, last, now);
		} else if (dirtied) {
			dirty += now - last;
			atomic_store_explicit(&me->dirty_ns, dirty, memory_order_relaxed);
		}
		last = now;
		dirtied = now >= dirty_at;
		if (dirtied) {
			memory[line]++;
			line = (line + SOAK_LINE) % SOAK_MEMORY;
			dirty_at = now + SOAK_DIRTY_NS;
		} else if (now >= enter_at) {
			if (atomic_load_explicit(&me->events->parked, memory_order_relaxed) == 0)
				(void)getppid();
			else
				wait_while_parked(me->events);
			enter_at = now + SOAK_ENTER_NS;
		}
		atomic_store_explicit(&me->turns, ++turns, memory_order_relaxed);
		atomic_store_explicit(&me->last_ns, now, memory_order_release);
	}
}

/* The shortest gap to count, in ns: longer than a turn that only reads a slow clock. */
static uint64_t shortest_gap(void)
{
	uint64_t best = UINT64_MAX, from, turn;
	int i;

	for (i = 0; i < 1000; i++) {
		from = raw_ns();
		turn = raw_ns() - from;
		best = turn < best ? turn : best;
	}
	return best * SOAK_GAP_TURNS > SOAK_GAP_NS ? best * SOAK_GAP_TURNS : SOAK_GAP_NS;
}

static void *soak_thread(void *arg)
{
	unsigned char *memory = malloc(SOAK_MEMORY);
	struct soak_cpu *me = arg;

	if (cpu_bind(me->id) != 0)
		atomic_store(&me->bind_errno, errno);
	if (memory == NULL || atomic_load(&me->bind_errno) != 0)
		_exit(EXIT_FAILURE);
	memset(memory, 1, SOAK_MEMORY); /* here, so that the memory is the node's of this CPU */
	atomic_store(&me->tid, (int)syscall(SYS_gettid)); /* gettid(3) needs glibc 2.30 */
	atomic_store(&me->gap_min, shortest_gap());
	soak_loop(me, memory, atomic_load(&me->gap_min));
}

static _Noreturn void soaker_main(struct soaker *s, pid_t parent)
{
	const struct sched_param none = {0};
	pthread_t id;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the soakers end when the keeper does */
	if (getppid() != parent)          /* the keeper has ended already */
		_exit(EXIT_FAILURE);
	prctl(PR_SET_NAME, "zc-soaker");
	if (setpriority(PRIO_PROCESS, 0, 19) != 0)
		atomic_store(&s->policy_errno, errno);
	if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
		atomic_store(&s->policy_errno, errno);
	for (i = 0; i < s->n; i++)
		if (thread_start(&id, soak_thread, &s->cpu[i]) != 0)
			_exit(EXIT_FAILURE);
	for (;;)
		pause();
}

/*
 * The keeper's process.
 */

/*
 * Sessions share a CPU by the nice value of their autogroup, whatever runs inside (sched(7)).  The
 * kernel lets an ordinary user change one only every 100 ms, machine-wide.  Returns an errno value.
 */
static int autogroup_lower(void)
{
	int tries = 40;

	while (file_write("/proc/self", "autogroup", "19") != 0) {
		if (errno != EAGAIN || --tries == 0)
			return errno == ENOENT ? 0
					       : errno; /* ENOENT: a kernel without autogroups */
		sleep_ns(50000000);
	}
	return 0;
}

/*
 * Closes what the keeper has inherited, except the locks, and makes the pipe its standard input:
 * the keeper must hold neither a port nor a terminal.  The pipe's write end is closed even where
 * there is no /proc.
 */
static void keeper_close_files(const struct soaker *s, const int ends[2])
{
	int null = open_retry("/dev/null", O_RDWR), fd;
	struct dirent *e;
	DIR *d;

	close(ends[1]);
	if (TEMP_FAILURE_RETRY(dup2(ends[0], STDIN_FILENO)) < 0)
		_exit(EXIT_FAILURE);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	d = opendir("/proc/self/fd");
	while (d != NULL && (e = readdir(d)) != NULL) {
		fd = (int)strtol(e->d_name, NULL, 10);
		if (fd > STDERR_FILENO && fd != s->lock.fd && fd != s->lock.root_fd &&
		    fd != dirfd(d))
			close(fd);
	}
	if (d != NULL)
		closedir(d);
}

/* Counts that a child was stopped, or was and goes on, by what waitpid(2) stored. */
static void count_stop(struct soak_events *e, _Atomic bool *stopped, int status)
{
	if (WIFSTOPPED(status) || !atomic_load(stopped))
		atomic_fetch_add(&e->stops, 1);
	atomic_store(stopped, WIFSTOPPED(status));
}

static void interrupt_poll(int sig)
{
	(void)sig;
}

/*
 * Runs the soakers until they end or the program closes its end of the pipe, as its death also
 * does.  A signal could not replace the pipe: the program may have become another user.  Returns
 * the keeper's exit status.
 */
static int keeper_run(struct soaker *s, const sigset_t *waiting)
{
	struct pollfd program = {.fd = STDIN_FILENO};
	pid_t keeper = getpid(), pid = fork();
	int status = 0;

	if (pid < 0)
		return EXIT_FAILURE;
	if (pid == 0)
		soaker_main(s, keeper);
	while (ppoll(&program, 1, NULL, waiting) <= 0)
		while (TEMP_FAILURE_RETRY(
			       waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED)) == pid) {
			if (WIFSIGNALED(status) || WIFEXITED(status))
				return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : EXIT_FAILURE;
			count_stop(s->events, &s->events->soakers_stopped, status);
		}
	kill(pid, SIGKILL);
	TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
	return EXIT_SUCCESS;
}

/*
 * The keeper stands between the program and the soakers.  When the program is killed, the keeper
 * lives on until it has ended the soakers and removed their group.
 */
static _Noreturn void keeper_main(struct soaker *s, const int ends[2])
{
	const struct sigaction chld = {.sa_handler = interrupt_poll};
	const struct sched_param none = {0};
	sigset_t waiting;
	int status;

	sigfillset(&waiting);
	sigprocmask(SIG_BLOCK, &waiting, NULL); /* nothing but SIGKILL ends the keeper */
	sigdelset(&waiting, SIGCHLD);
	sigaction(SIGCHLD, &chld, NULL);
	prctl(PR_SET_NAME, "zc-keeper");
	setsid();
	keeper_close_files(s, ends);
	/* A group without a real-time budget takes no process of such a policy, as run_rr's is. */
	sched_setscheduler(0, SCHED_OTHER, &none);
	atomic_store(&s->autogroup_errno, autogroup_lower());
	atomic_store(&s->group_errno,
		     cpu_cgroup_find(&s->group) ? idle_group_enter(&s->group) : ENOENT);
	status = keeper_run(s, &waiting);
	if (file_write(s->group.root, "cgroup.procs", "0") == 0)
		idle_group_remove(&s->group);
	_exit(status);
}

/*
 * The program's process.
 */

void soaker_check_or_die(const struct soaker *s)
{
	int status, i, e;

	do {
		if (TEMP_FAILURE_RETRY(waitpid(s->keeper, &status,
					       WNOHANG | WUNTRACED | WCONTINUED)) != s->keeper)
			return;
		if (WIFSTOPPED(status) || WIFCONTINUED(status))
			count_stop(s->events, &s->events->keeper_stopped, status);
	} while (WIFSTOPPED(status) || WIFCONTINUED(status));
	idle_group_remove(&s->group);
	if (WIFSIGNALED(status))
		die("the keeper of the soakers was killed by signal %d", WTERMSIG(status));
	for (i = 0; i < s->n; i++)
		if ((e = atomic_load(&s->cpu[i].bind_errno)) != 0)
			die("cannot soak CPU %d: %s", s->cpu[i].id, strerror(e));
	if (WEXITSTATUS(status) > 128)
		die("the soaker was killed by signal %d", WEXITSTATUS(status) - 128);
	die("the soaker could not be started or was stopped");
}

/* Warns if the soakers may take CPU from others, which makes each load unsafe. */
static void warn_of_weight(const struct soaker *s)
{
	const int group = atomic_load(&s->group_errno), policy = atomic_load(&s->policy_errno);
	const int autogroup = atomic_load(&s->autogroup_errno);
	const bool inside = group == 0 && !cpu_cgroup_sees_root(&s->group);
	const bool shared = group != 0 && cpu_cgroup_is_shared(&s->group);

	if (policy != 0)
		warnx("the soakers may take CPU from others: no lowest priority for them: %s",
		      strerror(policy));
	if (inside)
		warnx("the soakers share this control group's weight and may take CPU from others: "
		      "their idle group is inside a container");
	else if (shared)
		warnx("the soakers share this control group's weight and may take CPU from others: "
		      "no idle group for them: %s",
		      strerror(group));
	else if (group != 0 && autogroup != 0)
		warnx("the soakers take CPU from other sessions: /proc/PID/autogroup: %s",
		      strerror(autogroup));
	atomic_store(&s->events->weight,
		     policy != 0 || inside || shared || (group != 0 && autogroup != 0));
}

/*
 * Waits until each CPU's soaker has run.  A CPU that other programs have whole never runs its soaker:
 * that is load, not failure.
 */
static void wait_until_running(const struct soaker *s)
{
	const uint64_t until = now_ns() + SOAK_START_NS;
	int i;

	for (i = 0; i < s->n; i++) {
		while (atomic_load(&s->cpu[i].turns) == 0 && now_ns() < until) {
			sleep_ns(1000000);
			soaker_check_or_die(s);
		}
		if (atomic_load(&s->cpu[i].turns) == 0)
			break;
	}
	if (i < s->n)
		warnx("CPU %d left its soaker no time in 5 seconds: another program, or a real-time "
		      "one, has all of it",
		      s->cpu[i].id);
}

static struct soaker *soaker_new_or_die(const struct cpus *cpus)
{
	const size_t size = sizeof(struct soaker) + (size_t)cpus->n * sizeof(struct soak_cpu);
	struct soaker *s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				0);
	int i;

	if (s == MAP_FAILED)
		die_errno("soaker");
	s->n = cpus->n;
	s->events = &s->own_events;
	s->origin.soaked = *cpus;
	s->wakeup = (struct soaker_wakeup){NAN, NAN};
	file_read_line(CPUS_ONLINE, s->origin.online, sizeof(s->origin.online));
	file_read_line(CLOCK_SOURCE, s->origin.clock, sizeof(s->origin.clock));
	for (i = 0; i < s->n; i++) {
		s->cpu[i].id = cpus->id[i];
		s->cpu[i].events = s->events;
	}
	return s;
}

/* Starts the keeper, and waits until the soakers run, or have run and are parked. */
static void soaker_fork_or_die(struct soaker *s)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		die_errno("soaker");
	signal(SIGCHLD, SIG_DFL); /* were it ignored, the keeper could not be waited for */
	pid = fork();
	if (pid < 0)
		die_errno("fork");
	if (pid == 0)
		keeper_main(s, ends);
	s->keeper = pid;
	close(ends[0]);
	s->pipe = ends[1];
	wait_until_running(s);
	warn_of_weight(s);
}

static bool is_delayed(const struct soaker *s)
{
	return s->wakeup.soaked > s->wakeup.unsoaked + SOAK_DELAY;
}

/* Starts the soakers of a program that has the lock. */
static void soaker_soak_or_die(struct soaker *s)
{
	s->wakeup.unsoaked = wakeup_measure(&s->origin.soaked);
	soaker_fork_or_die(s);
	sleep_ns(SOAK_SETTLE_NS);
	s->wakeup.soaked = wakeup_measure(&s->origin.soaked);
	if (is_delayed(s)) /* if other programs did that, they hardly do so twice */
		s->wakeup.soaked = fmin(s->wakeup.soaked, wakeup_measure(&s->origin.soaked));
	if (is_delayed(s))
		warnx("soaking delays wake-ups: one from another CPU takes %.0f us, and %.0f us "
		      "without soakers: programs that wait for each other are slowed",
		      1e6 * s->wakeup.soaked, 1e6 * s->wakeup.unsoaked);
}

struct soaker *soaker_start_or_die(const struct cpus *cpus)
{
	struct soaker *s = soaker_new_or_die(cpus);

	lock_take_or_die(&s->lock);
	soaker_soak_or_die(s);
	return s;
}

struct soaker *soaker_start_parkable_or_die(const struct cpus *cpus, struct lock_holder *h)
{
	struct soaker *s = soaker_new_or_die(cpus);

	lock_open_or_die(&s->lock);
	if (lock_take(&s->lock, h)) {
		soaker_soak_or_die(s);
	} else {
		atomic_store(&s->events->parked, 1);
		soaker_fork_or_die(s);
	}
	return s;
}

bool soaker_is_parked(const struct soaker *s)
{
	return atomic_load(&s->events->parked) != 0;
}

void soaker_park(struct soaker *s)
{
	atomic_store(&s->events->parked, 1);
	lock_release(&s->lock);
}

/* Wakes the soakers of a program that has the lock. */
static void wake_soakers(struct soaker *s)
{
	atomic_store(&s->events->parked, 0);
	syscall(SYS_futex, &s->events->parked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool soaker_unpark(struct soaker *s, struct lock_holder *h)
{
	soaker_check_or_die(s);
	if (!lock_try(&s->lock, h))
		return false;
	wake_soakers(s);
	return true;
}

bool soaker_unpark_beside(struct soaker *s, const struct lock_holder *h)
{
	soaker_check_or_die(s);
	if (!lock_try_beside(&s->lock, h))
		return false;
	lock_warn_beside(h);
	wake_soakers(s);
	return true;
}

struct soaker_wakeup soaker_wakeup(const struct soaker *s)
{
	return s->wakeup;
}

void soaker_say_wakeup(const struct soaker *s)
{
	if (!isnan(s->wakeup.soaked + s->wakeup.unsoaked))
		warnx("a wake-up from another CPU takes %.0f us, and %.0f us without soakers",
		      1e6 * s->wakeup.soaked, 1e6 * s->wakeup.unsoaked);
}

void soaker_stop(struct soaker *s)
{
	soaker_check_or_die(s);
	close(s->pipe);
	kill(s->keeper, SIGCONT); /* it may be stopped */
	TEMP_FAILURE_RETRY(waitpid(s->keeper, NULL, 0));
	idle_group_remove(&s->group); /* it is still there if the keeper was killed */
	lock_close(&s->lock);
	munmap(s, sizeof(*s) + (size_t)s->n * sizeof(s->cpu[0]));
}

/*
 * Whether a soaker is in no state to run.  One that is displaced is runnable all the same (R); a
 * stopped one is in state T, a frozen one sleeps (S or D), by the freezer of control groups.
 */
static bool is_halted(const struct soak_cpu *cpu, uint64_t ns)
{
	const uint64_t last = atomic_load(&cpu->last_ns);
	char path[32], line[512], *state;

	if (last == 0 || ns < last + SOAK_SILENT_NS || atomic_load(&cpu->left_ns) != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", atomic_load(&cpu->tid));
	if (file_read_line(path, line, sizeof(line)) != 0)
		return false;
	state = strrchr(line, ')');
	return state != NULL && state[1] == ' ' && state[2] != 'R';
}

void soaker_trouble(const struct soaker *s, struct soak_trouble *t)
{
	const struct soak_events *e = s->events;
	const uint64_t ns = raw_ns();
	uint64_t gap_min;
	int i;

	*t = (struct soak_trouble){
		.lost = atomic_load(&e->lost),
		.moved = atomic_load(&e->moved),
		.stops = atomic_load(&e->stops),
		.lost_cpu = atomic_load(&e->lost_cpu),
		.moved_cpu = atomic_load(&e->moved_cpu),
		.stopped = atomic_load(&e->soakers_stopped) || atomic_load(&e->keeper_stopped),
		.weight = atomic_load(&e->weight),
		.origin = &s->origin,
	};
	for (i = 0; i < s->n; i++) {
		gap_min = atomic_load(&s->cpu[i].gap_min);
		t->away += atomic_load(&s->cpu[i].left_ns) != 0;
		t->gap_min = gap_min > t->gap_min ? gap_min : t->gap_min;
		t->stopped = t->stopped || (!soaker_is_parked(s) && is_halted(&s->cpu[i], ns));
	}
}

/*
 * A gap that is open at the time of the reading is counted up to then, as time in which the soaker
 * was switched out; before the first turn all of the time since the clock's zero is such a gap.  The
 * counts are read again if a gap was counted meanwhile, or if the reader lost the CPU; a soaker that
 * is switched out while it counts a gap does not keep the reader for long.
 */
void soak_count(const struct soaker *s, int i, struct soak_count *c)
{
	const struct soak_cpu *cpu = &s->cpu[i];
	uint64_t last, gap, dirty, open, left;
	uint32_t changes;
	int tries = 100;

	do {
		changes = atomic_load_explicit(&cpu->changes, memory_order_acquire);
		c->ns = raw_ns();
		last = atomic_load_explicit(&cpu->last_ns, memory_order_acquire);
		gap = atomic_load_explicit(&cpu->gap_ns, memory_order_relaxed);
		dirty = atomic_load_explicit(&cpu->dirty_ns, memory_order_relaxed);
		c->tasks_ns = atomic_load_explicit(&cpu->tasks_ns, memory_order_relaxed);
		c->host_ns = atomic_load_explicit(&cpu->host_ns, memory_order_relaxed);
		c->switches = atomic_load_explicit(&cpu->switches, memory_order_relaxed);
		c->away_ns = atomic_load_explicit(&cpu->away_ns, memory_order_relaxed);
		left = atomic_load_explicit(&cpu->left_ns, memory_order_relaxed);
		c->turns = atomic_load_explicit(&cpu->turns, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
	} while ((changes % 2 != 0 ||
		  changes != atomic_load_explicit(&cpu->changes, memory_order_relaxed) ||
		  raw_ns() - c->ns > SOAK_READ_NS) &&
		 --tries > 0);
	c->away_ns += left != 0 && c->ns > left ? c->ns - left : 0;
	open = c->ns > last + atomic_load(&cpu->gap_min) ? c->ns - last : 0;
	c->spin_ns = last != 0 && c->ns > gap + open + dirty ? c->ns - gap - open - dirty : 0;
	c->tasks_ns = last != 0 ? c->tasks_ns + open : c->ns;
}
