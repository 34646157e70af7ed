/*
 * limits.h: what makes a load unsafe on this machine, said once on stderr.
 */
#ifndef ZC_LOAD_LIMITS_H
#define ZC_LOAD_LIMITS_H

#include "common.h"
#include "lib/load/counters.h"
#include "lib/load/load.h"

/*
 * Says on stderr, a line each, what makes a load figure of this machine unsafe: a CPU quota, an
 * affinity smaller than the machine, and (with what happened between two readings of the
 * counters) steal and CPUs that came or went.
 */
void limits_warn(void);
void limits_warn_run(const struct cpus *soaked, const struct counters *from,
		     const struct counters *to, const struct load *l);

#endif
