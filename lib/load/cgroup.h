/*
 * cgroup.h: the control group of the cpu controller, cgroups(7), of version 1 or 2: its CPU quota,
 * and a group for the soakers whose tasks run only when nobody else wants the CPU.
 *
 *	if (cpu_cgroup_find(&g) && idle_group_enter(&g) == 0)
 *		...
 *	file_write(g.root, "cgroup.procs", "0");
 *	idle_group_remove(&g, 5);
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
 * Whether other groups may be beside the calling process's: it is in one below the root, or in a
 * namespace of control groups, which shows it its own as the root (cgroup_namespaces(7)).
 */
bool cpu_cgroup_is_shared(const struct cpu_cgroup *g);

/*
 * Whether the mounted hierarchy begins with the machine's root group: in a container that may mount
 * one it begins with the container's, which shares the CPU by its weight with what is beside it.
 */
bool cpu_cgroup_sees_root(const struct cpu_cgroup *g);

/*
 * Whether a CPU quota is set in the group or one above it; its text is stored into value: cpu.max
 * of v2, cpu.cfs_quota_us of v1.
 */
bool cpu_cgroup_quota(const struct cpu_cgroup *g, char *value, size_t size);

/* Makes the idle group and moves the calling process into it.  Returns 0 or an errno value. */
int idle_group_enter(const struct cpu_cgroup *g);

/*
 * Removes the idle group, in which the caller is not; other processes in it have as many times 10 ms to
 * end.  Does nothing where g was never found.
 */
void idle_group_remove(const struct cpu_cgroup *g, int tries);
