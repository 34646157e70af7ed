/*
 * soaker.h: keeps every CPU busy at the lowest priority, and counts what that could do.
 *
 *	s = soaker_start(&cpus, SOAK_WAIT, why);
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

#define SOAK_FORMAT    5         /* version of the calibration file, and of the loop it counts */
#define SOAK_SETTLE_NS 100000000 /* from the soakers' start until they count undisturbed */

struct soaker;

/* The program that has the lock of the soakers. */
struct lock_holder {
	pid_t pid;     /* 0: not known */
	char name[64]; /* made up if its process cannot be read */
};

/*
 * What a soaker has done up to a moment, or all of them: counted, or (spin, work) against a baseline in
 * CPU-seconds of the idle machine.
 */
struct load_sample {
	uint64_t ns;  /* the moment, of raw_ns() */
	double time;  /* CPU-seconds since the clock's zero */
	double spin;  /* time in which the loop turned and did not wait for memory */
	double work;  /* turns; of idle time: iowait */
	double tasks; /* time that other tasks had the CPU, by the scheduler's clock */
	double host;  /* time that the host of a virtual machine took from the soaker */
	double steal; /* time that the host took, as the kernel counts it; of one CPU: the mean */
	double switches;           /* how often a task displaced a soaker */
	struct limits_mark limits; /* of all CPUs, in every sample */
};

/* Seconds to wait for another set of soakers, in which those of a killed program end. */
#define SOAK_WAIT 2

/*
 * Starts soaking and returns when every CPU's soaker runs.  If another set still runs after `wait`
 * seconds, returns NULL and names its holder in `why`, which SOAK_WAY_OUT is to follow.  Dies
 * if a CPU cannot be had; warns of a CPU that leaves its soaker no time, if the soakers may take CPU
 * from others, and if they do not yield to others.  To be called before there are threads.
 */
struct soaker *soaker_start(const struct cpus *cpus, double wait, char why[DIE_MAX]);

#define SOAK_WAY_OUT "wait for it (--wait SECS) or stop it (on one host one -c has both ends)"

/*
 * The same for a program that does not soak all of the time.  Where another set runs, *h has its
 * holder and these soakers are parked from the start: they sleep, without the machine's lock.  Otherwise
 * h->pid is -1.
 */
struct soaker *soaker_start_parkable(const struct cpus *cpus, struct lock_holder *h);

/* Puts the soakers to sleep, unlocks the machine.  Their counts are invalid until they are back. */
void soaker_park(struct soaker *s);

/*
 * Has the soakers go on, if no other set runs; otherwise returns false and stores its holder in
 * *h.  They count undisturbed SOAK_SETTLE_NS later: a sample is compared with others that
 * were taken since.  Dies if the soakers have ended.
 */
bool soaker_unpark(struct soaker *s, struct lock_holder *h);

/* Dies if the soakers have ended: the work that they no longer do would be taken for load. */
void soaker_check_or_die(const struct soaker *s);

/* Reads what the soaker of the i-th CPU has counted up to now; `steal` and the limits are not of it. */
void soak_count(const struct soaker *s, int i, struct load_sample *c);

/* Reads what disturbs the soakers.  Any thread may call it. */
void soaker_limits(const struct soaker *s, struct limits_mark *m);

/* Ends the soakers, waits until they are gone, and frees s. */
void soaker_stop(struct soaker *s);
