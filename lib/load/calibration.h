/*
 * calibration.h: the file that keeps the idle machine's baseline, and how it is made.
 *
 *	calibrate_or_die(&cpus, CALIBRATION_FILE, false, SOAK_WAIT);
 *	...
 *	if (calibration_find_or_die(&c, NULL, &cpus, false))
 *		soaker = soaker_start(&c.cpus, SOAK_WAIT, true);
 *
 * The first line is the number of turns per second of all CPUs, as in 2001.  Lines with a key each
 * follow it: first `soaker`, the version of the file and of the loop; `machine`; `cpus`, a CPU list; `all`,
 * the number of windows and the machine's two standard deviations, which may be missing; and for each of those CPUs `cpu
 * NUMBER` and the six numbers of struct baseline.
 */
#pragma once

#include "lib/load/load.h"

#define CALIBRATION_FILE "./counts_per_sec"

/*
 * Calibrates on these CPUs, prints as it goes, and writes the file: a reader
 * sees the old file or all of the new one.  A machine that is busy meanwhile is an error, or with
 * `force` a warning.  Another set of soakers that still runs after `wait` seconds is an error, too.
 */
void calibrate_or_die(const struct cpus *cpus, const char *path, bool force, double wait);

/*
 * Reads the file `path`, or if that is NULL CALIBRATION_FILE, into c, whose cpu[] it allocates.  Dies of
 * a file that is no calibration.  One that does not fit this version, this machine, its kernel or those
 * CPUs is an error, too, if the user has named it or it is needed; otherwise there may be none, and one
 * that does not fit is ignored with a line on stderr.  Then it stores the CPUs only, and returns false.
 */
bool calibration_find_or_die(struct calibration *c, const char *path, const struct cpus *cpus,
			     bool needed);

/*
 * Parses the text of such a file, `len` bytes.  Returns NULL, or what is wrong with the text; c->cpu is
 * then NULL.
 */
const char *calibration_parse(const char *text, size_t len, struct calibration *c);
