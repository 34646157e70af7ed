/*
 * wakeup.h: how long it takes until a thread runs that another CPU has woken.  Soaking should not
 * make it longer.
 *
 *	alone = wakeup_measure(&cpus);
 *	soaker = soaker_start_or_die(&cpus, SOAK_WAIT);
 *	soaked = wakeup_measure(&cpus);
 */
#pragma once

#include "lib/load/cpus.h"

/*
 * Wakes a thread on some of the CPUs, drawn at random, several times from another CPU, for 16 ms at
 * most if the kernel wakes in time.  Returns, in seconds, the median of the CPU that took longest;
 * NAN where there is no second CPU, or no thread can be started or bound, or a CPU runs none.
 */
double wakeup_measure(const struct cpus *cpus);
