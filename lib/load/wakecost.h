/*
 * wakecost.h: what it costs a CPU to wake a task, beside the time of the task itself: the timer's
 * interrupt, the scheduler's work, two switches.  Beside soakers this is time that they lack.
 *
 *	c.wake = wake_cost_measure(soaker, &c);
 */
#pragma once

#include "lib/load/load.h"

/*
 * Wakes a thread on each CPU of c->cpus a few hundred times, for about a tenth of a second and less
 * than a second on a busy machine, and returns what a wake-up cost beside the thread's CPU time, by
 * the baselines in c->cpu; WAKE_COST where that is not known.
 */
struct wake_cost wake_cost_measure(const struct soaker *s, const struct calibration *c);

/*
 * The mean of n measurements in seconds, at least 0, and its standard error; NAN is none.  Of fewer
 * than two both are WAKE_COST.
 */
struct wake_cost wake_cost_of(const double *cost, int n);
