/*
 * cgroup.h: the control group of the cpu controller, cgroups(7), of version 1 or 2.
 */
#ifndef ZC_LOAD_CGROUP_H
#define ZC_LOAD_CGROUP_H

#include <stdbool.h>

#include "common.h"

struct cpu_cgroup {
	char root[256]; /* where the hierarchy is mounted */
	char own[256];  /* the path of this process in it */
	bool v2;
};

/* Finds the group of the calling process; false if no cpu controller is mounted. */
bool cpu_cgroup_find(struct cpu_cgroup *g);

/* Enters the idle group of the soakers, whose path is stored into dir: 0 or an errno value. */
int idle_group_enter(const struct cpu_cgroup *g, char dir[300]);

#define SOAK_LOCK_TRIES 200 /* of 10 ms: for the soakers of a killed program to be gone */

/* Removes the idle group where a keeper that was killed could not. */
void idle_group_remove(void);

#endif
