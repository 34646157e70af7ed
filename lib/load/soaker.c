#include "lib/load/soaker.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "lib/load/cgroup.h"
#include "lib/load/lock.h"

#define SOAK_MEMORY    (1024 * 1024) /* bytes that each soaker walks over */
#define SOAK_LINE      64            /* bytes from one dirtied line to the next */
#define SOAK_DIRTY_NS  100000        /* from one such line to the next: as in 2001, 10,000/s */
#define SOAK_GAP_NS    1000          /* the shortest gap; the shortest interrupts take longer */
#define SOAK_GAP_TURNS 16            /* turns in the shortest gap, where the clock is slow */
#define SOAK_START_NS  5000000000u   /* until a CPU that has no time for its soaker is reported */
#define SOAK_SETTLE_NS 100000000     /* from the soakers' start until they count undisturbed */

/* Processes share the counts, and libatomic's locks work inside one process only. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "zc needs a CPU with 64-bit atomics");

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
	_Atomic int bind_errno;    /* why the thread could not be bound; 0 if it could */
	int id;                    /* the CPU's number */
} __attribute__((aligned(128)));

/* All of the soakers, in memory that the program, the keeper and the soakers share. */
struct soaker {
	pid_t keeper;
	int pipe;                /* the write end; when it is closed, the keeper ends the soakers */
	int lock, root_lock;     /* descriptors; the second is -1 where root's lock cannot be had */
	struct cpu_cgroup group; /* the program's own, found by the keeper before group_errno */
	_Atomic int group_errno; /* why the soakers have no idle group; 0 if they have */
	_Atomic int autogroup_errno; /* why the session's weight could not be lowered */
	int n;                       /* number of CPUs */
	struct soak_cpu cpu[];
};

/*
 * The soakers' process.
 */

/*
 * Spins and counts without end.  Between two readings of the clock the loop does nothing, so that a
 * long turn is time that was taken, whatever the clock frequency; and the reading, which waits for
 * earlier instructions, leaves the core's units to a sibling.  Every SOAK_DIRTY_NS the loop dirties
 * a cache line, and that turn counts as waiting for memory, not as spinning: traffic that takes
 * bandwidth or cache makes it longer.  How long the thread had the CPU is read at the end of a gap
 * only, as that is a system call.
 */
static _Noreturn void soak_loop(struct soak_cpu *me, volatile unsigned char *memory,
				uint64_t gap_min)
{
	const uint64_t start = raw_ns(), ran_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t last = start, dirty_at = start, turns = 0, dirty = 0, switches = 0, now;
	uint64_t gaps = start, tasks = start, tasks_before; /* before the start it did not run */
	bool dirtied = false;
	size_t line = 0;

	atomic_store_explicit(&me->tasks_ns, tasks, memory_order_relaxed);
	atomic_store_explicit(&me->gap_ns, gaps, memory_order_relaxed);
	for (;;) {
		now = raw_ns();
		if (now - last > gap_min) {
			gaps += now - last;
			tasks_before = tasks;
			tasks = now - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran_before);
			switches += tasks > tasks_before + SOAK_GAP_NS;
			atomic_store_explicit(&me->tasks_ns, tasks, memory_order_relaxed);
			atomic_store_explicit(&me->switches, switches, memory_order_relaxed);
			last = now;
			now = raw_ns();
			/* The system call is no gap, but to be switched out in it is one. */
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
	soak_loop(me, memory, shortest_gap());
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
	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_IDLE, &none);
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
		if (fd > STDERR_FILENO && fd != s->lock && fd != s->root_lock && fd != dirfd(d))
			close(fd);
	}
	if (d != NULL)
		closedir(d);
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
		if (TEMP_FAILURE_RETRY(waitpid(pid, &status, WNOHANG)) == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : EXIT_FAILURE;
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
	sigset_t waiting;
	int status;

	sigfillset(&waiting);
	sigprocmask(SIG_BLOCK, &waiting, NULL); /* nothing but SIGKILL ends the keeper */
	sigdelset(&waiting, SIGCHLD);
	sigaction(SIGCHLD, &chld, NULL);
	prctl(PR_SET_NAME, "zc-keeper");
	setsid();
	keeper_close_files(s, ends);
	atomic_store(&s->autogroup_errno, autogroup_lower());
	if (cpu_cgroup_find(&s->group))
		atomic_store(&s->group_errno, idle_group_enter(&s->group));
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

	if (TEMP_FAILURE_RETRY(waitpid(s->keeper, &status, WNOHANG)) != s->keeper)
		return;
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

/*
 * Waits until each CPU's soaker has run.  A CPU that real-time programs hold whole never runs its
 * soaker: that is load, not failure.  Warns if the soakers may take CPU from others.
 */
static void wait_until_running(const struct soaker *s)
{
	const uint64_t until = now_ns() + SOAK_START_NS;
	int i, e;

	for (i = 0; i < s->n; i++) {
		while (atomic_load(&s->cpu[i].turns) == 0 && now_ns() < until) {
			sleep_ns(1000000);
			soaker_check_or_die(s);
		}
		if (atomic_load(&s->cpu[i].turns) == 0)
			break;
	}
	if (i < s->n)
		warnx("CPU %d left its soaker no time in 5 seconds: a real-time program holds it",
		      s->cpu[i].id);
	e = atomic_load(&s->group_errno);
	if (e != 0 && strcmp(s->group.own, "/") != 0)
		warnx("the soakers share this control group's weight and may take CPU from others: "
		      "no idle group for them: %s",
		      strerror(e));
	else if (e != 0 && (e = atomic_load(&s->autogroup_errno)) != 0)
		warnx("the soakers take CPU from other sessions: /proc/PID/autogroup: %s",
		      strerror(e));
}

struct soaker *soaker_start_or_die(const struct cpus *cpus)
{
	struct soaker *s;
	const size_t size = sizeof(*s) + (size_t)cpus->n * sizeof(s->cpu[0]);
	int ends[2], i;
	pid_t pid;

	s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0)
		die_errno("soaker");
	s->n = cpus->n;
	for (i = 0; i < s->n; i++)
		s->cpu[i].id = cpus->id[i];
	lock_take_or_die(&s->lock, &s->root_lock);
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
	sleep_ns(SOAK_SETTLE_NS);
	return s;
}

void soaker_stop(struct soaker *s)
{
	soaker_check_or_die(s);
	close(s->pipe);
	TEMP_FAILURE_RETRY(waitpid(s->keeper, NULL, 0));
	idle_group_remove(&s->group); /* it is still there if the keeper was killed */
	close(s->lock);
	if (s->root_lock >= 0)
		close(s->root_lock);
	munmap(s, sizeof(*s) + (size_t)s->n * sizeof(s->cpu[0]));
}

/*
 * A gap that is open at `ns` is counted up to then, as time in which the soaker was switched out.
 * A soaker that has not turned yet has such a gap alone.  Its gap_ns may be unset: last_ns, which
 * says so, is therefore read before gap_ns as well as after.
 */
void soak_count(const struct soaker *s, int i, uint64_t ns, struct soak_count *c)
{
	const struct soak_cpu *cpu = &s->cpu[i];
	uint64_t begun = atomic_load_explicit(&cpu->last_ns, memory_order_acquire);
	uint64_t gap = atomic_load_explicit(&cpu->gap_ns, memory_order_acquire);
	uint64_t last = atomic_load_explicit(&cpu->last_ns, memory_order_acquire);
	uint64_t open = ns > last + SOAK_GAP_NS ? ns - last : 0;
	uint64_t lost = gap + open + atomic_load_explicit(&cpu->dirty_ns, memory_order_relaxed);

	*c = (struct soak_count){.tasks_ns = ns};
	if (begun == 0)
		return;
	c->tasks_ns = atomic_load_explicit(&cpu->tasks_ns, memory_order_relaxed) + open;
	c->turns = atomic_load_explicit(&cpu->turns, memory_order_relaxed);
	c->switches = atomic_load_explicit(&cpu->switches, memory_order_relaxed);
	/* A gap may have been closed since `ns`; one that hardly ever spins has then lost more. */
	c->spin_ns = ns > lost ? ns - lost : 0;
}
