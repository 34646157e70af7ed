#include "lib/load/keeper.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "lib/load/cpus.h"

#define SOAK_MEMORY    (1024 * 1024) /* bytes that each soaker walks over */
#define SOAK_LINE      64            /* bytes from one dirtied line to the next */
#define SOAK_DIRTY_NS  100000        /* between two dirtied lines: 10,000/s, as in 2001 */
#define SOAK_GAP_TURNS 16            /* turns in the shortest gap if the clock is slow */
#define SOAK_GAP_CALLS 3             /* system calls in it if they are slow (audit, seccomp) */
#define SOAK_REST_NS   125           /* the longest turn with a rest: eight in the shortest gap */
#define SOAK_CALLS     4             /* shortest gaps that the calls of count_gap() take at most */
#define SOAK_ENTER_NS  20000         /* from one system call of the loop to the next */
#define SOAK_RETRY_NS  10000000      /* between two tries to get back to a CPU */

/* The state that the loop of one soaker keeps for its thread. */
struct soak_thread {
	uint64_t gap_min;    /* the shortest gap, in ns */
	uint64_t turn;       /* a turn's time, in ns, at least 1 */
	bool rests;          /* each turn rests, and leaves the core's units to the sibling */
	uint64_t ran_before; /* the thread's CPU time when the loop began, in ns */
	long switched;       /* context switches so far, as the kernel counts them */
};

/*
 * Counts the gap between two turns, at `last` and at `now`.  If the kernel has counted a context switch, other tasks
 * had the CPU.  Otherwise the thread had it, and its CPU clock may lack the time that the hypervisor
 * took, or that interrupts took: lib/load/kernel.h.  Returns the time of the next turn.
 */
static uint64_t count_gap(struct soak_cpu *me, struct soak_thread *t, uint64_t last, uint64_t now,
			  uint64_t *turns)
{
	uint64_t gap = now - last, tasks = me->tasks_ns, stolen = me->stolen_ns, lacking, after;
	struct rusage used;

	/* A reader in another process reads the counts again if `changes` has risen meanwhile. */
	atomic_store_explicit(&me->changes, me->changes + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	getrusage(RUSAGE_THREAD, &used);
	lacking = raw_ns() - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - t->ran_before);
	lacking = lacking > tasks + stolen ? lacking - tasks - stolen : 0;
	if (used.ru_nivcsw + used.ru_nvcsw != t->switched) {
		t->switched = used.ru_nivcsw + used.ru_nvcsw;
		atomic_store_explicit(&me->tasks_ns, tasks + lacking, memory_order_relaxed);
		atomic_store_explicit(&me->switches, me->switches + 1, memory_order_relaxed);
	} else {
		atomic_store_explicit(&me->stolen_ns, stolen + lacking, memory_order_relaxed);
	}
	after = raw_ns();
	/* The system calls count as turns, or as a gap if the thread was switched out in them. */
	if (after - now > SOAK_CALLS * t->gap_min)
		gap += after - now;
	else
		*turns += (after - now) / t->turn;
	atomic_store_explicit(&me->gap_ns, me->gap_ns + gap, memory_order_relaxed);
	atomic_store_explicit(&me->last_ns, after, memory_order_relaxed);
	atomic_store_explicit(&me->changes, me->changes + 1, memory_order_release);
	return after;
}

/*
 * Binds a soaker to its CPU again if it is on another one: the kernel moves it when the CPU goes offline or leaves the
 * cpuset, and so may taskset(1).  While the CPU is unavailable the soaker sleeps, or it would take half of the CPU of
 * another soaker.
 */
static void stay_bound(struct soak_cpu *me)
{
	const int cpu = sched_getcpu();

	if (cpu == me->id)
		return;
	if (cpu_bind(me->id) == 0) {
		atomic_fetch_add(&me->soaker->moved, 1);
		return;
	}
	atomic_store(&me->away, true);
	atomic_fetch_add(&me->soaker->lost, 1);
	while (cpu_bind(me->id) != 0)
		sleep_ns(SOAK_RETRY_NS);
	atomic_store(&me->away, false);
}

/* Leaves the core's units to its other hardware thread for some tens of cycles. */
static inline void rest(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * Spins and counts without end.  Between two readings of the clock the loop only rests: a long turn is time that
 * something else took, whatever the clock frequency.  Every SOAK_DIRTY_NS the loop dirties a cache line, and that turn
 * counts as waiting for memory, not as spinning: traffic that takes bandwidth or cache makes it longer.  The kernel's
 * figures of the thread are read only at the end of a gap, as that takes system calls.
 *
 * Every SOAK_ENTER_NS the loop makes the cheapest system call.  A kernel with lazy preemption (Linux 6.13) wakes a task
 * without an interrupt if a fair task, even a SCHED_IDLE one, runs on that CPU: the woken task waits for the next tick,
 * or until the running task enters the kernel.
 */
static _Noreturn void soak_loop(struct soak_cpu *me, volatile unsigned char *memory,
				struct soak_thread t)
{
	_Atomic uint32_t *const parked = &me->soaker->parked;
	const uint64_t start = raw_ns();
	uint64_t last = start, dirty_at = start, enter_at = start, turns = 0, dirty = 0, now;
	bool dirtied = false;
	size_t line = 0;

	/* Before the start the soaker did not run. */
	atomic_store_explicit(&me->tasks_ns, start, memory_order_relaxed);
	atomic_store_explicit(&me->gap_ns, start, memory_order_relaxed);
	t.ran_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (;;) {
		if (t.rests)
			rest();
		now = raw_ns();
		if (now - last > t.gap_min) {
			stay_bound(me);
			now = count_gap(me, &t, last, now, &turns);
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
			(void)getppid();
			/* Parked, it sleeps.  That time counts as a task's, but is not read. */
			while (atomic_load_explicit(parked, memory_order_relaxed) != 0)
				syscall(SYS_futex, parked, FUTEX_WAIT, 1, NULL, NULL, 0);
			enter_at = now + SOAK_ENTER_NS;
		}
		atomic_store_explicit(&me->turns, ++turns, memory_order_relaxed);
		atomic_store_explicit(&me->last_ns, now, memory_order_release);
	}
}

/* The shortest time, of a thousand, that a clock reading and a call of `what` (unless NULL) take, in ns. */
static uint64_t fastest(void (*what)(void))
{
	uint64_t best = UINT64_MAX, from, took;
	int i;

	for (i = 0; i < 1000; i++) {
		from = raw_ns();
		if (what != NULL)
			what();
		took = raw_ns() - from;
		best = took < best ? took : best;
	}
	return best;
}

static void enter_kernel(void)
{
	(void)getppid();
}

/* A thread's state.  On a machine with a slow clock, or slow system calls, the shortest gap is longer. */
static struct soak_thread thread_state(void)
{
	const uint64_t plain = fastest(NULL), rested = fastest(rest);
	const uint64_t call = SOAK_GAP_CALLS * fastest(enter_kernel);
	struct soak_thread t = {.rests = rested <= SOAK_REST_NS};

	t.turn = t.rests ? rested : plain;
	t.turn = t.turn > 0 ? t.turn : 1;
	t.gap_min = plain * SOAK_GAP_TURNS > call ? plain * SOAK_GAP_TURNS : call;
	t.gap_min = t.gap_min > SOAK_GAP_NS ? t.gap_min : SOAK_GAP_NS;
	return t;
}

static void *soak_thread(void *arg)
{
	unsigned char *memory = malloc(SOAK_MEMORY);
	struct soak_cpu *me = arg;
	struct soak_thread t;

	if (cpu_bind(me->id) != 0)
		atomic_store(&me->bind_errno, errno);
	if (memory == NULL || atomic_load(&me->bind_errno) != 0)
		_exit(EXIT_FAILURE);
	memset(memory, 1, SOAK_MEMORY); /* here, so that the memory is the node's of this CPU */
	atomic_store(&me->tid, (int)syscall(SYS_gettid)); /* gettid(3) needs glibc 2.30 */
	t = thread_state();
	atomic_store(&me->gap_min, t.gap_min);
	soak_loop(me, memory, t);
}

_Noreturn void spin_main(struct soaker *s, pid_t parent)
{
	const struct sched_param none = {0};
	struct pollfd program = {.fd = STDIN_FILENO};
	pthread_t id;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the soakers end when the keeper does */
	if (getppid() != parent)          /* the keeper has ended already */
		_exit(EXIT_FAILURE);
	prctl(PR_SET_NAME, SOAKER_NAME);
	/* The name comes first: in the group a process may wait for seconds until it has a CPU. */
	atomic_store(&s->group_errno,
		     s->group.root[0] != '\0' ? idle_group_enter(&s->group) : ENOENT);
	if (setpriority(PRIO_PROCESS, 0, 19) != 0)
		atomic_store(&s->policy_errno, errno);
	if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
		atomic_store(&s->policy_errno, errno);
	for (i = 0; i < s->n; i++)
		if (thread_start(&id, soak_thread, &s->cpu[i]) != 0)
			_exit(EXIT_FAILURE);
	/* The keeper ends the soakers when the program has ended, unless the keeper is stopped. */
	TEMP_FAILURE_RETRY(poll(&program, 1, -1));
	_exit(EXIT_FAILURE);
}
