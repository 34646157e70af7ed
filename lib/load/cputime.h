/*
 * cputime.h: how the CPUs have spent their time, as the kernel counts it: /proc/stat by CPU (proc_stat(5)).
 *
 *	if (cpu_times_read(&cpus, whole, at, &ns) == 0)
 *		...
 *	steal = at[cpus.n][CPU_STEAL]; (of all of them)
 */
#pragma once

#include "lib/load/cpus.h"

/* The columns of a line that a report shows. */
enum { CPU_USER, CPU_NICE, CPU_SYSTEM, CPU_IDLE, CPU_IOWAIT, CPU_IRQ, CPU_SOFTIRQ, CPU_STEAL };

#define CPU_COLUMNS (CPU_STEAL + 1)

extern const char *const cpu_column[CPU_COLUMNS]; /* the names of the columns */

/* A line: seconds since the boot, counted in steps of 1/sysconf(_SC_CLK_TCK).  NAN: not known. */
typedef double cpu_times[CPU_COLUMNS];

/* Stores the times of a line, of which `numbers` is what follows its name. */
void cpu_times_parse(const char *numbers, cpu_times t);

/*
 * Stores the times of these CPUs, which must be ascending, and after them, in at[cpus->n], those of all of them
 * together.  If they are the `whole` machine, and no other CPU is there, that is the kernel's own sum, which is exact to
 * one step; otherwise it is the sum of their lines.  To be whole they must be all CPUs, offline ones included: the
 * kernel's sum has what those have counted.  A CPU that is offline has no line: its times are not known, nor is the
 * sum.  *ns is the moment, of raw_ns().  Returns how many CPUs have lines; 0 if the file cannot be read.
 */
int cpu_times_read(const struct cpus *cpus, bool whole, cpu_times *at, uint64_t *ns);

/* Returns NULL if the kernel says that it measures the columns idle and iowait of these CPUs, or why it does not. */
const char *cpu_times_check(const struct cpus *cpus);

#define TICKS_SECONDS 0.1 /* in less time there are a few steps, which are noise */

/*
 * The time that the hypervisor took between two readings of its column: 0 where one is not known, or
 * the counter stepped back.
 */
double steal_between(double from, double to);
