/*
 * keeper.h: the soakers' processes: what they share with the program, how the keeper begins and the
 * soakers, the control group that gives them the lowest weight, and whether they yield to others.
 * soaker.h has what they are.
 *
 *	pipe2(ends, O_CLOEXEC);
 *	pid = fork();
 *	if (pid == 0)
 *		keeper_main(s, ends);
 *	...
 *	yield_measure(&cpus, &y);
 *	if (y.kept < YIELD_KEPT || y.late > YIELD_LATE)
 *		...
 */
#pragma once

#include "lib/load/cpus.h"

/*
 * The control group of the cpu controller, cgroups(7), of version 1 or 2: its CPU quota, and a group for
 * the soakers whose tasks run only when nobody else wants the CPU.
 */
struct cpu_cgroup {
	char root[256]; /* where the hierarchy is mounted */
	char own[256];  /* the path of this process in it */
	bool v2;
};

/* Finds the group of the calling process; false, and no root, if no cpu controller is mounted. */
bool cpu_cgroup_find(struct cpu_cgroup *g);

/*
 * Whether other groups may be beside the calling process's: it is in one below the root, or in a
 * namespace of control groups, which shows it its own as the root (cgroup_namespaces(7)).
 */
bool cpu_cgroup_is_shared(const struct cpu_cgroup *g);

/*
 * Whether the mounted hierarchy begins with the machine's root group: in a container that may mount
 * one it begins with the container's, which shares the CPU by its weight with what is beside it.
 */
bool cpu_cgroup_sees_root(const struct cpu_cgroup *g);

/*
 * Whether a CPU quota is set in the group or one above it; its text is stored into value: cpu.max
 * of v2, cpu.cfs_quota_us of v1.
 */
bool cpu_cgroup_quota(const struct cpu_cgroup *g, char *value, size_t size);

/* Makes the idle group and moves the calling process into it.  Returns 0 or an errno value. */
int idle_group_enter(const struct cpu_cgroup *g);

/*
 * Removes the idle group, in which the caller is not; other processes in it have as many times 10 ms to
 * end.  Does nothing where g was never found.
 */
void idle_group_remove(const struct cpu_cgroup *g, int tries);

/*
 * Whether soakers leave the CPUs to other programs, and wake them in time: this judges what priorities,
 * control groups and schedulers only promise.
 */

#define YIELD_KEPT 0.97 /* share of its CPU that a working thread keeps at least */
#define YIELD_LATE 1e-4 /* seconds by which it is woken late at most */

struct yield {
	double kept; /* share of its time that the thread of the worst CPU worked */
	double late; /* seconds: the longest of the CPUs' median times until a woken thread runs */
};

/*
 * For 50 ms a thread on each CPU works and sleeps in turn.  It works while the thread of a neighbour
 * sleeps, which it then wakes, so that wake-ups come from another CPU where there is one.  The figures
 * are NAN where a thread could not be had, or did not run.
 */
void yield_measure(const struct cpus *cpus, struct yield *y);

/*
 * The processes.
 */

#define SOAKER_NAME "zc-soaker" /* as ps(1) has the soakers' process */
#define SOAK_GAP_NS 1000        /* the shortest gap; the shortest interrupts take longer */

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
	_Atomic uint64_t host_ns;  /* time that the thread's clock lacks though it had the CPU */
	_Atomic uint32_t changes;  /* odd while counts are changed that belong together */
	_Atomic uint64_t gap_min;  /* the shortest gap that it counts, in ns */
	_Atomic bool away;         /* the CPU is unavailable, and the soaker sleeps */
	_Atomic int bind_errno;    /* why the thread could not be bound; 0 if it could */
	_Atomic int tid;           /* the thread's id */
	int id;                    /* the CPU's number */
	struct soaker *soaker;     /* that it is of */
} __attribute__((aligned(128)));

/* All of the soakers, in memory that the program, the keeper and the soakers share. */
struct soaker {
	pid_t keeper;
	int pipe; /* the write end; when it is closed, the keeper ends the soakers */
	int lock; /* its descriptor, which the program holds unless the soakers are parked */
	struct cpu_cgroup group;     /* the program's own, found by the keeper before group_errno */
	_Atomic int group_errno;     /* why the soakers have no idle group; 0 if they have */
	_Atomic int autogroup_errno; /* why the session's weight could not be lowered */
	_Atomic int policy_errno;    /* why nice 19 or SCHED_IDLE could not be set */
	_Atomic uint64_t lost, moved; /* as in struct limits_mark */
	_Atomic uint64_t
		stops; /* of the soakers and their continuations: odd while they are stopped */
	_Atomic uint32_t parked; /* the soakers sleep: a futex(2) on which they wait for 0 */
	bool weight;             /* the soakers may take CPU from other programs */
	char clock[32]; /* the kernel's clock source when soaking began; empty: not known */
	long online;    /* how many CPUs were online then */
	int n;          /* how many CPUs are soaked */
	struct soak_cpu cpu[];
};

/*
 * The keeper starts the soakers and waits until they end, or the write end of the pipe is closed.  Its
 * exit status is 128 and the signal that killed the soakers, or EXIT_FAILURE if they ended otherwise.
 */
_Noreturn void keeper_main(struct soaker *s, const int ends[2]);

/* Soaks each CPU of *s with a thread, until the process is killed or its parent ends. */
_Noreturn void spin_main(struct soaker *s, pid_t parent);
