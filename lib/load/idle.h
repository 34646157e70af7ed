/*
 * idle.h: how long the CPUs slept, as the kernel counts it: the instrument that disturbs nothing.
 *
 *	w = idle_open(&cpus, why);
 *	if (w == NULL)
 *		die("%s", why);
 *	in = instrument_idle(w);
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

/* Stores a baseline of a machine that does nothing: all that is not idle is load. */
void idle_gross(const struct idle *w, struct calibration *c);

/* The instrument, whose end closes w.  Any thread may read it.  What is spun is time asleep. */
struct instrument instrument_idle(struct idle *w);
