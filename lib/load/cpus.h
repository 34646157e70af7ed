/*
 * cpus.h: lists of CPUs, and binding to them.
 *
 *	cpus = cpus_to_soak(0, &list);
 *	cpus_format(&cpus, text, sizeof(text));
 *	report("binding to the first of %s\n", text);
 *	cpu_bind_or_die(&cpus, 0);
 */
#pragma once

#include <sched.h>

#include "common.h"

#define CPUS_MAX     8192        /* the largest NR_CPUS of any kernel configuration (x86, MAXSMP) */
#define CPU_LIST_MAX (64 * 1024) /* bytes: a list of every second CPU takes 20 KiB */

struct cpus {
	int n;
	int id[CPUS_MAX]; /* in the order given, not sorted; repeats are kept */
};

/*
 * Reads a CPU list as the kernel writes it, `0,2-5` (Documentation/admin-guide/kernel-parameters.rst).
 * There may be blanks around a number or range, and a comma after the last.  Returns NULL, or
 * what is wrong with the text, to be printed after it; *cpus is then unchanged.
 */
const char *parse_cpus(const char *s, struct cpus *cpus);

/* A set of CPUs with room for all of them, for sched_getaffinity(2) and CPU_ISSET_S(3). */
typedef cpu_set_t cpu_mask[CPUS_MAX / CPU_SETSIZE];

/*
 * Stores the CPUs that are online, ascending, as /sys/devices/system/cpu/online lists them
 * (Documentation/admin-guide/cputopology.rst); without /sys the first CPUs, as many as there are.
 */
void cpus_online(struct cpus *cpus);

/*
 * The CPUs to measure: those of the list, ascending, or if the list is empty the first `n` that are online, or
 * all of them if n is 0.  It is a usage error of -N if n is greater than their number, and one of --on-cpus if a
 * CPU of the list is not online.
 */
struct cpus cpus_to_soak(int n, const struct cpus *list);

/* Writes `cpus`, which must be ascending, as a kernel CPU list: CPU_LIST_MAX has room for any. */
void cpus_format(const struct cpus *cpus, char *buf, size_t size);

/* The index of that CPU in the list; -1: the list does not have it. */
int cpus_index(const struct cpus *cpus, int id);

/* Whether the list has that CPU. */
bool cpus_have(const struct cpus *cpus, int id);

/* Whether these are all CPUs that the machine has, offline ones included. */
bool cpus_are_all(const struct cpus *cpus);

/* A number that is another one as soon as one of these CPUs has gone offline, even if the CPU is back. */
uint64_t cpus_generation(const struct cpus *cpus);

/* Stores the CPUs' model, as /proc/cpuinfo names it, or an empty string if it names none. */
void cpu_model(char *buf, size_t size);

/* Binds the calling thread to one CPU. */
int cpu_bind(int cpu);

/* The i-th CPU of the list, which starts again after its end; -1 if the list is empty. */
int cpu_of(const struct cpus *cpus, int i);

/* Binds the calling thread to that CPU; an empty list binds nothing. */
void cpu_bind_or_die(const struct cpus *cpus, int i);

/* Binds the calling thread to one CPU of the list after the other, to the first CPU last. */
void cpus_try_or_die(const struct cpus *cpus);
