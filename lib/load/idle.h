/*
 * idle.h: how long the CPUs slept, as the kernel counts it: the instrument that disturbs nothing.
 *
 *	w = idle_open(&cpus, why);
 *	if (w == NULL)
 *		die("%s", why);
 *	idle_baseline(w, &calibration, 10, NULL);
 *	idle_sample(w, &from, NULL);
 *	...
 *	idle_sample(w, &to, NULL);
 *	load_between(&calibration, &from, &to, -1, &l);
 *
 * The kernel measures the columns idle and iowait of /proc/stat (proc_stat(5)) where it has NO_HZ: from
 * the entry of the idle loop to its exit or the next interrupt, up to the reading (get_cpu_idle_time_us(),
 * kernel/time/tick-sched.c).  It samples all other columns at ticks.  From Linux 7.2 on it samples
 * short idle periods, too, so that idle_open() tries the column before it is believed.
 */
#pragma once

#include "lib/load/load.h"

struct idle;

/*
 * Prepares to watch these CPUs.  Tries on one of them, for a fifth of a second, whether the kernel
 * measures idleness: a thread works for 1 ms in every 4 ms, and its own clock tells for how long.  Where
 * other programs disturb that it is tried again, for longer.  Returns NULL where the kernel does not
 * measure, or the CPU never sleeps: `why` then has a line about it.
 */
struct idle *idle_open(const struct cpus *cpus, char why[DIE_MAX]);

void idle_close(struct idle *w);

/* The time that a CPU, or all that are watched, slept since the boot, and that the host took. */
struct idle_count {
	uint64_t ns;        /* the moment, of raw_ns() */
	double idle, steal; /* CPU seconds, in steps of a tick; NAN where the CPU is offline */
	double iowait;      /* the part of `idle` in which a task waited for a disk */
};

/*
 * Reads the counts of all CPUs together, and unless `each` is NULL those of every CPU.  Returns how
 * many CPUs are online.  Any thread may call it.
 */
int idle_read(const struct idle *w, struct idle_count *all, struct idle_count *each);

/*
 * Stores the CPUs' counts from the text of /proc/stat: the sum that the kernel has of them if they
 * are all that are online, as that is exact to one tick, else the sum of their lines.  The times are
 * those of all->ns.  Returns how many CPUs have a line.
 */
int idle_parse(const char *text, const struct cpus *cpus, bool whole, struct idle_count *all,
	       struct idle_count *each);

/*
 * Measures the idle machine, as baseline_measure() does: the share of a CPU that was not idle is that
 * of `tasks`.  Returns it, of the machine.
 */
double idle_baseline(const struct idle *w, struct calibration *c, double seconds,
		     const _Atomic int *stop);

/* Stores a baseline of a machine that does nothing: all that is not idle is load. */
void idle_gross(const struct idle *w, struct calibration *c);

/* Reads samples against such a baseline, as load_sample_read() does: what is spun is time asleep. */
void idle_sample(const struct idle *w, struct load_sample *sum, struct load_sample *each);
