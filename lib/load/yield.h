/*
 * yield.h: whether soakers leave the CPUs to other programs, and wake them in time.  This judges what
 * priorities, control groups and schedulers only promise.
 *
 *	soaker = soaker_start(&cpus, SOAK_WAIT, true);
 *	yield_measure(&cpus, &y);
 *	if (y.kept < YIELD_KEPT || y.late > YIELD_LATE)
 *		...
 */
#pragma once

#include "lib/load/cpus.h"

#define YIELD_KEPT 0.97 /* share of its CPU that a working thread keeps at least */
#define YIELD_LATE 1e-4 /* seconds by which it is woken late at most */

struct yield {
	double kept; /* share of its time that the thread of the worst CPU worked */
	int kept_cpu;
	double late; /* seconds: the longest of the CPUs' median times until a woken thread runs */
	int late_cpu;
};

/*
 * For 50 ms a thread on each CPU works and sleeps in turn.  It works while the thread of a neighbour
 * sleeps, which it then wakes, so that wake-ups come from another CPU where there is one.  The figures
 * are NAN where a thread could not be had, or did not run.
 */
void yield_measure(const struct cpus *cpus, struct yield *y);
