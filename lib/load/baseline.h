/*
 * baseline.h: measures what the soakers do on the idle machine, and how steadily.
 */
#ifndef ZC_LOAD_BASELINE_H
#define ZC_LOAD_BASELINE_H

#include "common.h"
#include "lib/load/load.h"

/*
 * Measures the baseline of the CPUs being soaked for that long and stores it into c, whose cpu[]
 * it allocates.  Says so on stderr when other tasks kept the machine busy meanwhile.
 */
void baseline_measure(const struct soaker *s, const struct cpus *cpus, double seconds,
		      struct calibration *c);

/* Makes c the middle of two baselines; returns by how much they differ, in shares of load. */
double baseline_merge(struct calibration *c, const struct calibration *other);

#define CAL_BUSY 0.03 /* share that other tasks may have: an idle system has below 1 % */

/* Allocates the baselines of c->cpus, or dies. */
void calibration_alloc(struct calibration *c);

/* Dies if something held a CPU whole, so that it has no baseline. */
void baseline_check_or_die(const struct calibration *c);

/* Measures until the rounds agree, stores the baseline, and returns the share of the machine that other programs had. */
double baseline_calibrate(const struct soaker *s, struct calibration *c);

#endif
