/*
 * yield.h: tests whether soakers leave the CPUs to other programs, and let them wake up in time, as priorities,
 * control groups and schedulers promise.
 *
 *	yield_measure(&cpus, soaker_ran, soaker, &y);
 *	if (y.kept < YIELD_KEPT || y.late > YIELD_LATE)
 *		...
 */
#pragma once

#include "lib/load/cpus.h"

#define YIELD_KEPT 0.97 /* the least share of its CPU that a working thread must keep */
#define YIELD_LATE 1e-4 /* the greatest delay of a wake-up, in seconds */

struct yield {
	double kept; /* a thread's share of the CPU time that it and the soaker had, on the worst CPU */
	double late; /* seconds for which a soaker kept a woken thread waiting: the worst CPU's median */
};

struct soaker;

/*
 * Lets a thread on each CPU work for 30 ms.  Then it works and sleeps alternately, for as long: it works while the thread
 * of a neighbouring CPU sleeps, and then wakes that thread.  ran(s, i) is the CPU time that the soaker of the i-th CPU
 * has had up to now, in ns: what other programs take does not count.  A figure is NAN if no thread worked, or none was
 * woken while a soaker ran: a thread of one CPU has no neighbour to wake it.
 */
void yield_measure(const struct cpus *cpus, uint64_t (*ran)(const struct soaker *s, int i),
		   const struct soaker *s, struct yield *y);
