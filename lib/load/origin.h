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
