/*
 * baseline.h: measures what the soakers do on the idle machine, and how steadily; and the file that
 * keeps it, a calibration.
 *
 *	calibrate_or_die(&cpus, CALIBRATION_FILE, false, SOAK_WAIT);
 *	...
 *	if (!calibration_find_or_die(&c, NULL, false)) {
 *		in = (struct instrument){&by_soaking, .soaker = s};
 *		in.kind->baseline(&in, &c, 10, NULL);
 *	}
 *
 * The lines of the file: the turns per second of all CPUs, as in 2001; `soaker`, the version of the file
 * and of the loop; `machine`; `cpus`, a CPU list; `all`, the number of windows and the machine's two
 * standard deviations; and for each of those CPUs `cpu NUMBER` and the six numbers of struct baseline.
 */
#pragma once

#include "lib/load/load.h"

#define CALIBRATION_FILE "./counts_per_sec"

/*
 * The instrument, until soaker_stop().  Its baseline is that of the CPUs of c->cpus: the total
 * and cpu[], which it allocates.
 */
extern const struct instrument_kind by_soaking;

/* The windows of BASELINE_WINDOW seconds that a baseline takes for a load of `seconds`. */
int baseline_windows(double seconds);

/* The index of the first CPU without a baseline, as something else held it whole; -1: all have one. */
int baseline_held(const struct calibration *c);

/*
 * Prints that a CPU has no baseline, which baseline_held() has found: when it was measured ("before the",
 * "run"), what results, and which program is the busiest.
 */
void baseline_warn_held(const struct calibration *c, const char *when, const char *what,
			const char *result);

#define CAL_TOLERANCE 0.005 /* shares of load by which rounds may differ that agree */
#define CAL_AGREE     4     /* rounds in a row that must agree */

/* Makes c the mean of two baselines; returns by how much they differ, in shares of load. */
double baseline_merge(struct calibration *c, const struct calibration *other);

/*
 * Calibrates on these CPUs, prints as it goes, and writes the file `path`, or if that is NULL
 * CALIBRATION_FILE: a reader sees the old file or all of the new one.  A machine that is busy meanwhile
 * is an error, or with `force` a warning.  Another set of soakers that still runs after `wait` seconds
 * is an error, too.
 */
void calibrate_or_die(const struct cpus *cpus, const char *path, bool force, double wait);

/*
 * Reads the file `path`, or if that is NULL CALIBRATION_FILE, into c, whose cpu[] it allocates.  c has
 * nothing but the CPUs that the file is to be for.  Dies of a file that is no calibration.  One that does
 * not fit this version, this machine, its kernel or those CPUs is an error, too, if the user has named it
 * or it is needed; otherwise there may be none, and one that does not fit is ignored with a line on
 * stderr.  c is then left as it was, and the result is false.
 */
bool calibration_find_or_die(struct calibration *c, const char *path, bool needed);

/*
 * Reads such a file.  Returns NULL, or what is wrong with its text; c->cpu is then NULL.
 */
const char *calibration_read(FILE *f, struct calibration *c);
