#include "lib/load/soaker.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/load/cgroup.h"
#include "lib/load/lock.h"

#define SOAK_MEMORY    (1024 * 1024) /* bytes that each soaker walks over */
#define SOAK_LINE      64            /* bytes from one dirtied line to the next */
#define SOAK_DIRTY_NS  100000        /* between two: 10,000 lines a second, as in 2001 */
#define SOAK_GAP_NS    1000          /* the shortest gap; the shortest interrupts take longer */
#define SOAK_GAP_TURNS 16            /* and not shorter than these turns, where clocks are slow */
#define SOAK_START_NS  5000000000u
#define SOAK_SETTLE_NS 100000000 /* for the bustle of starting them to be over */

/* The locks that libatomic has instead are those of one process, but these counts are shared. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "zc needs a CPU with 64-bit atomics");

/* What a soaker counts, on cache lines (and their prefetched neighbours) of its own. */
struct soak_cpu {
	_Atomic uint64_t turns;
	_Atomic uint64_t
		last_ns; /* when the last turn was, 0 before the first; then a gap is open */
	_Atomic uint64_t
		gap_ns; /* sum of the gaps that are closed, and the time before the first turn */
	_Atomic uint64_t tasks_ns; /* time in which it did not run, up to the last gap */
	_Atomic uint64_t dirty_ns; /* time in which it waited for memory */
	_Atomic uint64_t switches; /* how often it was switched out */
} __attribute__((aligned(128)));

/* Between the program, the keeper and the soakers. */
struct soak_shared {
	_Atomic int autogroup_errno; /* why the session's weight could not be lowered */
	_Atomic int group_errno;     /* why there is no control group for them */
	_Atomic int bind_errno;      /* why a thread could not be bound, and to which CPU */
	_Atomic int bind_cpu;
	_Atomic bool in_subgroup; /* the program is in a control group that is not the root */
	struct soak_cpu cpu[];
};

struct soaker {
	pid_t keeper;
	int leash; /* a pipe's end: the keeper's work is done when it is closed, by whatever */
	int lock, root_lock; /* the second is -1 if it cannot be had */
	int n;
	size_t map_size;
	struct soak_shared *shared;
};

struct soak_thread {
	struct soak_shared *shared;
	int index, cpu;
};

/*
 * Sessions share a CPU by the nice value of their autogroup, whatever runs inside (sched(7)).  The
 * kernel lets an ordinary user change one only every 100 ms, machine-wide.
 */
static int autogroup_lower(void)
{
	int fd, i, r = EAGAIN;

	fd = open_retry("/proc/self/autogroup", O_WRONLY);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno; /* ENOENT: a kernel without autogroups */
	for (i = 0; i < 40 && (r == EAGAIN || r == EINTR); i++) {
		if (r == EAGAIN && i > 0)
			sleep_ns(50000000);
		r = write(fd, "19", 2) == 2 ? 0 : errno;
	}
	close(fd);
	return r;
}

/*
 * The loop.  Between two readings of the clock there is nothing, so that a long turn is time that
 * was taken, whatever the clock frequency; and the reading, which waits for what was begun before
 * it, leaves the core's units to a sibling.  Every SOAK_DIRTY_NS it dirties a cache line, and the
 * turn in which it does is not spinning but waiting for memory: traffic that takes bandwidth or
 * cache makes it longer.  At the end of a gap it asks how long it had the CPU: only then, as that
 * is a system call.
 */
static _Noreturn void soak_loop(struct soak_cpu *me, volatile unsigned char *memory,
				uint64_t gap_min)
{
	uint64_t turns = 0, dirty = 0, start = raw_ns(),
		 cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t last = start, now, dirty_at = start, switches = 0;
	uint64_t gaps = start, tasks = start; /* it did not run before */
	bool dirtied = false;
	size_t line = 0;

	atomic_store_explicit(&me->tasks_ns, tasks, memory_order_relaxed);
	atomic_store_explicit(&me->gap_ns, gaps, memory_order_relaxed);
	for (;;) {
		now = raw_ns();
		if (now - last > gap_min) {
			gaps += now - last;
			last = tasks;
			tasks = now - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start);
			switches += tasks > last + SOAK_GAP_NS;
			atomic_store_explicit(&me->tasks_ns, tasks, memory_order_relaxed);
			atomic_store_explicit(&me->switches, switches, memory_order_relaxed);
			last = now;
			now = raw_ns();
			/* Not the question: a switch on the way back from it. */
			if (now - last > gap_min)
				gaps += now - last;
			atomic_store_explicit(&me->gap_ns, gaps, memory_order_relaxed);
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
		}
		atomic_store_explicit(&me->turns, ++turns, memory_order_relaxed);
		atomic_store_explicit(&me->last_ns, now, memory_order_release);
	}
}

/* The shortest gap to count: more than a turn of the slowest clock can be. */
static uint64_t shortest_gap(void)
{
	uint64_t best = UINT64_MAX, last = raw_ns(), now;
	int i;

	for (i = 0; i < 1000; i++) {
		now = raw_ns();
		if (now - last < best)
			best = now - last;
		last = now;
	}
	return best * SOAK_GAP_TURNS > SOAK_GAP_NS ? best * SOAK_GAP_TURNS : SOAK_GAP_NS;
}

static void *soak_thread(void *arg)
{
	struct soak_thread *t = arg;
	unsigned char *memory;

	if (cpu_bind(t->cpu) != 0) {
		atomic_store(&t->shared->bind_cpu, t->cpu);
		atomic_store(&t->shared->bind_errno, errno);
		_exit(EXIT_FAILURE);
	}
	memory = malloc(SOAK_MEMORY);
	if (memory == NULL)
		_exit(EXIT_FAILURE);
	memset(memory, 1, SOAK_MEMORY); /* here, so that it is this CPU's node that has it */
	soak_loop(&t->shared->cpu[t->index], memory, shortest_gap());
}

static void start_threads(struct soak_shared *shared, const struct cpus *cpus)
{
	struct soak_thread *t;
	pthread_t id;
	int i;

	for (i = 0; i < cpus->n; i++) {
		t = malloc(sizeof(*t));
		if (t == NULL)
			_exit(EXIT_FAILURE);
		*t = (struct soak_thread){.shared = shared, .index = i, .cpu = cpus->id[i]};
		if (thread_start(&id, soak_thread, t) != 0)
			_exit(EXIT_FAILURE);
	}
}

/* To be called first in a child: it ends with its parent, whatever ends that. */
static void end_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before we asked */
		_exit(EXIT_FAILURE);
}

static _Noreturn void soaker_main(struct soak_shared *shared, const struct cpus *cpus, pid_t parent)
{
	const struct sched_param none = {0};

	end_with_parent(parent);
	prctl(PR_SET_NAME, "zc-soaker");
	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_IDLE, &none);
	start_threads(shared, cpus);
	for (;;)
		pause();
}

/* Closes what descriptors of its parent's the keeper has, but the locks. */
static void close_others(const struct soaker *s)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int fd;

	while (d != NULL && (e = readdir(d)) != NULL) {
		fd = (int)strtol(e->d_name, NULL, 10);
		if (fd > STDERR_FILENO && fd != s->lock && fd != s->root_lock && fd != dirfd(d))
			close(fd);
	}
	if (d != NULL)
		closedir(d);
}

/*
 * Keeps nothing of its parent's but the locks, and the pipe as standard input: no port, no
 * terminal.  The pipe's other end must go even where there is no /proc.
 */
static void let_go(const struct soaker *s, const int leash[2])
{
	int null = open_retry("/dev/null", O_RDWR);

	close(leash[1]);
	while (dup2(leash[0], STDIN_FILENO) < 0)
		if (errno != EINTR)
			_exit(EXIT_FAILURE);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	close_others(s);
}

static void wake_up(int sig)
{
	(void)sig;
}

/*
 * Runs the soaker until the program closes its end of the pipe, if only by its death, or until the
 * soaker has died.  No signal says the first: the program may have become another user since.
 */
static int keep_soaker(struct soak_shared *shared, const struct cpus *cpus, const sigset_t *waiting)
{
	struct pollfd leash = {.fd = STDIN_FILENO};
	pid_t keeper = getpid(), pid = fork();
	int status = 0;

	if (pid < 0)
		return EXIT_FAILURE;
	if (pid == 0)
		soaker_main(shared, cpus, keeper);
	while (ppoll(&leash, 1, NULL, waiting) <= 0)
		if (TEMP_FAILURE_RETRY(waitpid(pid, &status, WNOHANG)) == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : EXIT_FAILURE;
	kill(pid, SIGKILL);
	TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
	return EXIT_SUCCESS;
}

/*
 * Between the program and the soakers stands a process that spins not but cleans up: it outlives
 * a program that is killed for as long as it takes to end the soakers and remove their group.
 */
static _Noreturn void keeper_main(struct soaker *s, const struct cpus *cpus, const int leash[2])
{
	const struct sigaction chld = {.sa_handler = wake_up};
	struct cpu_cgroup group = {.v2 = false};
	char dir[300] = "";
	sigset_t all, waiting;
	int status;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL); /* nothing but SIGKILL ends it */
	waiting = all;
	sigdelset(&waiting, SIGCHLD);
	sigaction(SIGCHLD, &chld, NULL);
	prctl(PR_SET_NAME, "zc-keeper");
	setsid();
	let_go(s, leash);
	atomic_store(&s->shared->autogroup_errno, autogroup_lower());
	if (cpu_cgroup_find(&group)) {
		atomic_store(&s->shared->in_subgroup, strcmp(group.own, "/") != 0);
		atomic_store(&s->shared->group_errno, idle_group_enter(&group, dir));
	}
	status = keep_soaker(s->shared, cpus, &waiting);
	if (dir[0] != '\0') {
		/* A group must be empty to be removed. */
		file_write(group.root, "cgroup.procs", "0");
		rmdir(dir);
	}
	_exit(status);
}

/* The soakers must not die unseen: the work they no longer do would be taken for load. */
void soaker_check_or_die(const struct soaker *s)
{
	int status, e;

	if (TEMP_FAILURE_RETRY(waitpid(s->keeper, &status, WNOHANG)) != s->keeper)
		return;
	if (WIFSIGNALED(status)) {
		idle_group_remove();
		die("the keeper of the soakers was killed by signal %d", WTERMSIG(status));
	}
	if ((e = atomic_load(&s->shared->bind_errno)) != 0)
		die("cannot soak CPU %d: %s", atomic_load(&s->shared->bind_cpu), strerror(e));
	if (WEXITSTATUS(status) > 128)
		die("the soaker was killed by signal %d", WEXITSTATUS(status) - 128);
	die("the soaker could not be started or was stopped");
}

/* The first CPU whose soaker has not run yet, -1 if all have. */
static int first_silent(const struct soaker *s)
{
	int i;

	for (i = 0; i < s->n; i++)
		if (atomic_load_explicit(&s->shared->cpu[i].turns, memory_order_relaxed) == 0)
			return i;
	return -1;
}

/* A CPU that real-time programs hold whole never runs its soaker: that is load, not failure. */
static void wait_until_running(const struct soaker *s, const struct cpus *cpus)
{
	uint64_t until = now_ns() + SOAK_START_NS;
	int silent, e;

	while ((silent = first_silent(s)) >= 0 && now_ns() < until) {
		sleep_ns(1000000);
		soaker_check_or_die(s);
	}
	if (silent >= 0)
		warnx("CPU %d left its soaker no time in 5 seconds: a real-time program holds it",
		      cpus->id[silent]);
	if ((e = atomic_load(&s->shared->group_errno)) == 0)
		return;
	if (atomic_load(&s->shared->in_subgroup))
		warnx("the soakers share this control group's weight and may take CPU from others: "
		      "no idle group for them: %s",
		      strerror(e));
	else if ((e = atomic_load(&s->shared->autogroup_errno)) != 0)
		warnx("the soakers take CPU from other sessions: /proc/PID/autogroup: %s",
		      strerror(e));
}

struct soaker *soaker_start_or_die(const struct cpus *cpus)
{
	const struct sigaction chld = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
	struct soaker *s = calloc(1, sizeof(*s));
	int leash[2];

	if (s == NULL || pipe2(leash, O_CLOEXEC) != 0)
		die_errno("soaker");
	s->n = cpus->n;
	s->map_size = sizeof(*s->shared) + (size_t)cpus->n * sizeof(s->shared->cpu[0]);
	s->shared = mmap(NULL, s->map_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			 0);
	if (s->shared == MAP_FAILED)
		die_errno("soaker memory");
	lock_take_or_die(&s->lock, &s->root_lock);
	sigaction(SIGCHLD, &chld, NULL); /* were it ignored, the keeper could not be waited for */
	s->keeper = fork();
	if (s->keeper < 0)
		die_errno("fork");
	if (s->keeper == 0)
		keeper_main(s, cpus, leash);
	close(leash[0]);
	s->leash = leash[1];
	wait_until_running(s, cpus);
	sleep_ns(SOAK_SETTLE_NS);
	return s;
}

void soaker_stop(struct soaker *s)
{
	int status = 0;

	soaker_check_or_die(s);
	close(s->leash);
	TEMP_FAILURE_RETRY(waitpid(s->keeper, &status, 0));
	if (WIFSIGNALED(status))
		idle_group_remove();
	close(s->lock);
	if (s->root_lock >= 0)
		close(s->root_lock);
	munmap(s->shared, s->map_size);
	free(s);
}

/*
 * A gap that is open now is counted up to now, and as switched out.  The first is that since the
 * clock's zero, before the soaker ran at all; it may begin to after this has looked.
 */
void soak_count(const struct soaker *s, int i, uint64_t ns, struct soak_count *c)
{
	const struct soak_cpu *cpu = &s->shared->cpu[i];
	uint64_t begun = atomic_load_explicit(&cpu->last_ns, memory_order_acquire);
	uint64_t gap = atomic_load_explicit(&cpu->gap_ns, memory_order_acquire);
	uint64_t last = atomic_load_explicit(&cpu->last_ns, memory_order_acquire), open;

	if (begun == 0) {
		*c = (struct soak_count){.tasks_ns = ns};
		return;
	}
	c->tasks_ns = atomic_load_explicit(&cpu->tasks_ns, memory_order_relaxed);
	c->turns = atomic_load_explicit(&cpu->turns, memory_order_relaxed);
	c->switches = atomic_load_explicit(&cpu->switches, memory_order_relaxed);
	open = ns > last + SOAK_GAP_NS ? ns - last : 0;
	c->tasks_ns += open;
	c->spin_ns = ns - gap - open - atomic_load_explicit(&cpu->dirty_ns, memory_order_relaxed);
}
