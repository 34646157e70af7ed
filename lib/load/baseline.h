/*
 * baseline.h: measures what the soakers do on the idle machine, and how steadily; and the file that
 * keeps it, which zc calls a calibration.
 *
 *	struct calibration c = {.cpus = cpus};
 *
 *	in = instrument_soak(soaker);
 *	tasks = in.kind->baseline(&in, &c, 10, NULL);
 *	if (tasks > CAL_BUSY)
 *		warnx("the machine is not idle: other programs took %.1f%% of it", 100 * tasks);
 *
 * The first line of the file is the number of turns per second of all CPUs, as in 2001.  Lines with a key each
 * follow it: first `soaker`, the version of the file and of the loop; `machine`; `cpus`, a CPU list; `all`,
 * the number of windows and the machine's two standard deviations, which may be missing; and for each of those CPUs `cpu
 * NUMBER` and the six numbers of struct baseline.
 */
#pragma once

#include "lib/load/load.h"

/*
 * The instrument, whose end stops the soakers.  Its baseline is that of the CPUs of c->cpus: the total
 * and cpu[], which it allocates.
 */
struct instrument instrument_soak(struct soaker *s);

/* The windows of BASELINE_WINDOW seconds that a baseline for a load of so many seconds takes. */
int baseline_windows(double seconds);

/* The share of the machine that other tasks had when a baseline was measured. */
double baseline_tasks(const struct calibration *c);

/* The index of the first CPU without a baseline, as something else held it whole; -1: all have one. */
int baseline_held(const struct calibration *c);

/* Whether each CPU has a baseline. */
bool baseline_is_whole(const struct calibration *c);

/*
 * Prints that a CPU has no baseline, where baseline_is_whole() is false: when it was measured ("before
 * the", "run"), what results, and which program is the busiest.
 */
void baseline_warn_held(const struct soaker *s, const struct calibration *c, const char *when,
			const char *what, const char *result);

/*
 * Measures a baseline in rounds of a second until four in a row agree, ten rounds at most.  Ends early, after
 * two rounds in a row in which other tasks had more than the share `most`, and returns their share.
 * Calls `each` after a round with its turns per second.  *spread is by how much the last four rounds
 * differ, in shares of load: above CAL_TOLERANCE they do not agree.
 */
#define CAL_TOLERANCE 0.005
#define CAL_AGREE     4 /* rounds in a row that must agree */

double baseline_calibrate(const struct soaker *s, struct calibration *c, void (*each)(double turns),
			  double most, double *spread);

/* By how much the shares of the last CAL_AGREE of n rounds differ; INFINITY if n is less. */
double baseline_spread(const double *share, int n);

/* Makes c the mean of two baselines; returns by how much they differ, in shares of load. */
double baseline_merge(struct calibration *c, const struct calibration *other);

/* Dies if something held a CPU whole, so that it has no baseline. */
void baseline_check_or_die(const struct calibration *c);

/*
 * The file.
 */

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
