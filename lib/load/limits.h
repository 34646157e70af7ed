/*
 * limits.h: what makes a load unsafe on this machine, as warnings on stderr, a line each.
 *
 *	limits_warn();
 *	...
 *	limits_warn_run(&calibration.cpus, &from, &to, &load);
 */
#pragma once

#include "lib/load/counters.h"
#include "lib/load/load.h"

/* Before a measurement: warns of a CPU quota, and of an affinity smaller than the machine. */
void limits_warn(void);

/*
 * After it: warns of steal, of soaked CPUs that went offline, and of real-time throttling, by the
 * counters before and after and the load between them.
 */
void limits_warn_run(const struct cpus *soaked, const struct counters *from,
		     const struct counters *to, const struct load *l);
