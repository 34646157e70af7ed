/*
 * keeper.h: the processes of the soakers and of their keeper, and the memory that they share with the program.
 * soaker.h says what the processes are for.
 *
 *	pipe2(ends, O_CLOEXEC);
 *	pid = fork();
 *	if (pid == 0)
 *		keeper_main(s, ends);
 */
#pragma once

#include "lib/load/cgroup.h"

#define SOAKER_NAME "zc-soaker" /* the name of the soakers' process in ps(1) */
#define SOAK_GAP_NS 1000        /* the shortest gap; the shortest interrupts take longer */

/* Processes share the counts, but libatomic's locks work only within one process. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "zc needs a CPU with 64-bit atomics");

/*
 * One CPU's soaker and its counts, on cache lines (with their prefetched neighbours) of their own.  A gap is the
 * time between two turns that are far apart: something else had the CPU.
 */
struct soak_cpu {
	_Atomic uint64_t turns;    /* of the loop */
	_Atomic uint64_t last_ns;  /* when the last turn was; 0 before the first */
	_Atomic uint64_t gap_ns;   /* sum of the closed gaps, and the time before the first turn */
	_Atomic uint64_t tasks_ns; /* time in which the soaker did not run, up to the last gap */
	_Atomic uint64_t dirty_ns; /* time in which the soaker waited for memory */
	_Atomic uint64_t switches; /* how often the soaker was switched out */
	_Atomic uint64_t
		stolen_ns; /* time that the thread's CPU clock lacks although it had the CPU */
	_Atomic uint32_t changes; /* odd while counts that belong together are changed */
	_Atomic uint64_t gap_min; /* the shortest gap that counts, in ns */
	_Atomic bool away;        /* the CPU is unavailable, and the soaker sleeps */
	_Atomic int bind_errno;   /* why the thread could not be bound; 0 if it could */
	_Atomic int tid;          /* the thread's id */
	int id;                   /* the CPU's number */
	struct soaker *soaker;    /* the struct that this one is part of */
} __attribute__((aligned(128)));

/* All of the soakers, in memory that the program, the keeper and the soakers share. */
struct soaker {
	pid_t keeper;
	int pipe; /* the write end; when it is closed, the keeper ends the soakers */
	int lock; /* the lock's descriptor; the program has the lock unless the soakers are parked */
	struct cpu_cgroup group;     /* the program's own, found by the keeper before group_errno */
	_Atomic int group_errno;     /* why the soakers have no idle group; 0 if they have one */
	_Atomic int autogroup_errno; /* why the session's weight could not be lowered */
	_Atomic int policy_errno;    /* why nice 19 or SCHED_IDLE could not be set */
	_Atomic uint64_t lost, moved; /* as in struct limits_mark */
	_Atomic uint64_t
		stops; /* how often the soakers were stopped or continued: odd if they are stopped */
	_Atomic uint32_t parked; /* the soakers sleep: a futex(2) on which they wait for 0 */
	bool weight;             /* the soakers may take CPU from other programs */
	bool sees_steal; /* a thread's CPU clock lacks what the hypervisor took, and nothing else */
	char clock[32];  /* the kernel's clock source at the start; empty: not known */
	long online;     /* how many CPUs were online at the start */
	bool whole;      /* the CPUs soaked are all that the machine has */
	int n;           /* how many CPUs are soaked */
	struct soak_cpu cpu[];
};

/*
 * Makes this process, a child that does nothing but wait for the end of its program, a keeper of that name: with a session
 * of its own, deaf to all signals but SIGKILL, and without the descriptors that it has inherited, so that it holds neither
 * a port nor a terminal.  The read end of the pipe becomes its standard input; the lock stays, unless it is -1.
 */
void keeper_become(const char *name, const int ends[2], int lock);

/*
 * The keeper starts the soakers and waits until they end, or the write end of the pipe is closed.  Its
 * exit status is 128 and the signal that killed the soakers, or EXIT_FAILURE if they ended otherwise.
 */
_Noreturn void keeper_main(struct soaker *s, const int ends[2]);

/*
 * Soaks each CPU of *s with a thread, until the process is killed, its parent ends, or the write end of the pipe that
 * is its standard input is closed.
 */
_Noreturn void spin_main(struct soaker *s, pid_t parent);
