/*
 * cgroup.h: the control group of the cpu controller, cgroups(7), of version 1 or 2: its CPU quota,
 * and a group for the soakers whose tasks run only when nobody else wants the CPU.
 *
 *	if (cpu_cgroup_find(&g) && idle_group_enter(&g, dir) == 0)
 *		...
 *	idle_group_remove();
 */
#pragma once

#include "common.h"

struct cpu_cgroup {
	char root[256]; /* where the hierarchy is mounted */
	char own[256];  /* the path of this process in it */
	bool v2;
};

/* Finds the group of the calling process; false if no cpu controller is mounted. */
bool cpu_cgroup_find(struct cpu_cgroup *g);

/*
 * Whether a CPU quota is set in the group or one above it; its text is stored into value: cpu.max
 * of v2, cpu.cfs_quota_us of v1.
 */
bool cpu_cgroup_quota(const struct cpu_cgroup *g, char *value, size_t size);

/*
 * Moves the calling process into the idle group, whose path is stored into dir: 0 or an errno
 * value.
 */
int idle_group_enter(const struct cpu_cgroup *g, char dir[300]);

/* Removes the idle group, for a keeper that was killed.  Its processes have two seconds to end. */
void idle_group_remove(void);
