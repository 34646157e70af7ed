/*
 * idle.h: how long the CPUs slept, as the kernel counts it: the instrument that disturbs nothing.
 *
 *	why = idle_start(&in, &cpus, false);
 *	if (why != NULL)
 *		die("%s", why);
 *	...
 *	idle_stop(&in);
 *
 * The kernel measures the columns idle and iowait of /proc/stat (proc_stat(5)) where it has NO_HZ: from
 * the entry of the idle loop to its exit or the next interrupt, up to the reading (get_cpu_idle_time_us(),
 * kernel/time/tick-sched.c).  It samples all other columns at ticks.  From Linux 7.2 on, and on CPUs of nohz_full,
 * it measures idle time only in part: BPF programs then count it at the same places (idle_clock.h).
 */
#pragma once

#include "lib/load/baseline.h"

/*
 * Starts to measure these CPUs: by the columns, if the kernel measures them and `by_clock` is false; otherwise by the
 * clock.  For either a trial decides.  On one CPU, for a fifth of a second, a thread works for 1 ms in every 4 ms, and
 * its own CPU clock tells for how long; the clock must also see the interrupts that wake it.  If other programs disturb
 * the trial it is repeated; programs that start together try one after the other.  Returns NULL, or why neither
 * measures, as if a CPU never sleeps.
 */
const char *idle_start(struct instrument *in, const struct cpus *cpus, bool by_clock);

/* Ends what idle_start() has started; does nothing to other instruments. */
void idle_stop(struct instrument *in);
