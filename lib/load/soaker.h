/*
 * soaker.h: keeps every CPU busy at the lowest priority, and counts what it could do.
 */
#ifndef ZC_LOAD_SOAKER_H
#define ZC_LOAD_SOAKER_H

#include <stdint.h>

#include "common.h"

struct soaker;

/*
 * Starts soaking and returns when every CPU's soaker runs.  Dies with a line when another set is
 * running (it names its holder) or a CPU is out of reach.  Call it before there are threads.  The
 * soakers end with the program, however it ends.
 */
struct soaker *soaker_start_or_die(const struct cpus *cpus);

/* Ends the soakers and waits until they are gone. */
void soaker_stop(struct soaker *s);

#define SOAK_FORMAT 3 /* of the calibration file and the loop that it counts */

/* What one soaker has counted up to `ns`. */
struct soak_count {
	uint64_t turns, spin_ns, tasks_ns, switches;
};

/* Dies with a line if the soakers have ended. */
void soaker_check_or_die(const struct soaker *s);

/* Reads what the soaker of the i-th CPU has counted up to `ns` (raw_ns). */
void soak_count(const struct soaker *s, int i, uint64_t ns, struct soak_count *c);

#endif
