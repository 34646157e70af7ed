/*
 * calibration.h: a baseline of the soakers in a file.
 *
 *	calibrate_or_die(&cpus, CALIBRATION_FILE, false, SOAK_WAIT);
 *	...
 *	if (!calibration_find_or_die(&c, NULL, false))
 *		baseline_measure(&in, &c, 10, NULL);
 *
 * The lines of the file: the turns per second of all CPUs, as in 2001; `soaker`, the version of the file
 * and of the loop; `machine`; `cpus`, a CPU list; `all`, the number of windows and the machine's two
 * standard deviations; and for each of those CPUs `cpu NUMBER` and the six numbers of struct baseline.
 */
#pragma once

#include "lib/load/load.h"

#define CALIBRATION_FILE "./counts_per_sec"

/*
 * Calibrates on these CPUs, prints a line for each round, and replaces the file `path`, or if that is NULL
 * CALIBRATION_FILE: a reader sees the old file or the whole new one.  A busy machine is an error, or with
 * `force` a warning.  Another set of soakers that still runs after `wait` seconds is an error, too.
 */
void calibrate_or_die(const struct cpus *cpus, const char *path, bool force, double wait);

/*
 * Reads the file `path`, or if that is NULL CALIBRATION_FILE, into c, whose cpu[] it allocates.  c has
 * nothing but the CPUs that the file must be for.  Dies of a file that is no calibration.  A calibration that
 * does not fit this version, this machine, its kernel or those CPUs is an error, too, if the user named the file
 * (`path`) or a calibration is needed.  Otherwise the file may be missing, and one that does not fit is ignored
 * with a line on stderr: the result is then false, and c is left as it was.
 */
bool calibration_find_or_die(struct calibration *c, const char *path, bool needed);

/* Reads a calibration.  Returns NULL, or what is wrong with the text; c->cpu is then NULL. */
const char *calibration_read(FILE *f, struct calibration *c);
