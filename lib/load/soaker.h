/*
 * soaker.h: keeps every CPU busy at the lowest priority, and counts how much idle work was done.
 *
 *	why = soaker_start(&s, &cpus, SOAK_WAIT, false, &holder);
 *	if (why != NULL)
 *		die("%s", why);
 *	soak_count(s, 0, &from);
 *	...
 *	soaker_check_or_die(s);
 *	soak_count(s, 0, &to);
 *	soaker_stop(s);
 *
 * There are two more processes: the soakers, with a thread for each CPU, and their keeper, which
 * ends them and removes their control group when the program ends, however it ends.
 */
#pragma once

#include "lib/load/cpus.h"
#include "lib/load/limits.h"
#include "lib/load/profile.h"
#include "lib/load/yield.h"

#define SOAK_FORMAT    5         /* version of the calibration file, and of the loop it counts */
#define SOAK_SETTLE_NS 100000000 /* from the soakers' start until they count undisturbed */

struct soaker;

/* The program that has the lock of the soakers. */
struct lock_holder {
	pid_t pid;     /* 0: not known */
	char name[64]; /* a description if the process cannot be read */
};

/*
 * What one soaker, or all of them, has done up to a moment: as counted, or with `spin` and `work` divided by
 * a baseline, which makes them CPU-seconds of the idle machine.
 */
struct load_sample {
	double time; /* CPU-seconds since the clock's zero, by raw_ns() */
	double spin; /* time in which the loop turned and did not wait for memory; of idle time: all of it */
	double work;   /* turns; of idle time: the iowait in it */
	double cut;    /* the variance of spin that comes from counting in steps; of idle time */
	double own;    /* of idle time: the CPU time that the readings of this sample took there */
	double tasks;  /* time that other tasks had the CPU, by the scheduler's clock */
	double stolen; /* time that the hypervisor took, as the soaker saw it; NAN: not known */
	double switches; /* how often a task displaced a soaker */
	double steal;    /* `stolen` by the kernel's count, also of all CPUs; NAN: not known */
	struct limits_mark limits;     /* of all CPUs, in every sample */
	struct profile_counts profile; /* of all CPUs, in the sum, if there is a profile */
};

/*
 * Locks a device node, which is open, and which processes of all namespaces can lock; waits for `seconds` at most until no
 * other has it locked.  Returns false, with errno set, if that is not done.
 */
bool device_lock(int fd, double seconds);

/* Seconds to wait for another set of soakers: the soakers of a killed program end in this time. */
#define SOAK_WAIT 2

/*
 * Starts soaking and returns NULL when the soaker of every CPU runs, or why that cannot be.
 * If another set of soakers still runs after `wait` seconds, stores the program that has it in *h, otherwise makes
 * h->pid -1.  Beside another set soakers that are parkable sleep from the start, without the lock; others cannot be.
 * Warns if a CPU leaves its soaker no time, if the soakers may take CPU from other programs, and if they do not yield
 * to them.  To be called before there are threads.
 */
const char *soaker_start(struct soaker **started, const struct cpus *cpus, double wait,
			 bool parkable, struct lock_holder *h);

/* Puts the soakers to sleep, and unlocks the machine.  Their counts are invalid until they run again. */
void soaker_park(struct soaker *s);

/*
 * Wakes the soakers, if no other set runs; otherwise returns false and stores the program that has it in *h.
 * The soakers count undisturbed after SOAK_SETTLE_NS: only samples from then on are compared with each other.
 * Dies if the soakers have ended.
 */
bool soaker_unpark(struct soaker *s, struct lock_holder *h);

/* Dies if the soakers have ended: the work that they no longer do would count as load. */
void soaker_check_or_die(const struct soaker *s);

/* The thread that soaks the i-th CPU. */
pid_t soaker_thread(const struct soaker *s, int i);

/* Reads what the soaker of the i-th CPU has counted up to now: all of a sample but `steal` and the limits. */
void soak_count(const struct soaker *s, int i, struct load_sample *c);

/* Measures how far the soakers of these CPUs yield: yield_measure(). */
void soaker_yields(const struct soaker *s, const struct cpus *cpus, struct yield *y);

/* Reads what disturbs the soakers.  Any thread may call it. */
void soaker_limits(const struct soaker *s, struct limits_mark *m);

/* Ends the soakers, waits until they are gone, and frees s. */
void soaker_stop(struct soaker *s);
