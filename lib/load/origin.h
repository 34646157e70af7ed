/*
 * origin.h: what was read of the machine when soaking began.
 */
#pragma once

#include "lib/load/cpus.h"

/* The machine when soaking began. */
struct soak_origin {
	char online[CPU_LIST_MAX]; /* the CPUs online, as the kernel lists them; empty: not known */
	char clock[32];            /* the kernel's clock source; empty: not known */
	struct cpus soaked;        /* the CPUs that have soakers */
};

/*
 * How long a wake-up from another CPU takes, in seconds (wakeup.h), before soaking began and since;
 * NAN where that is not known.
 */
struct soaker_wakeup {
	double unsoaked, soaked;
};
