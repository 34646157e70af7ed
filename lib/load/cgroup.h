/*
 * cgroup.h: the control group of the cpu controller, version 1 or 2 (cgroups(7)): its CPU quota, and a group for the
 * soakers, whose tasks run only if no other task wants the CPU.
 *
 *	if (cpu_cgroup_find(&g) && cpu_cgroup_quota(&g, text, sizeof(text)))
 *		warnx("there is a CPU quota: %s", text);
 */
#pragma once

#include "common.h"

struct cpu_cgroup {
	char root[256]; /* where the hierarchy is mounted; empty: nowhere */
	char own[960];  /* the path of this process's group in the hierarchy */
	bool v2;
};

/* Finds the group of the calling process; false, and no root, if no cpu controller is mounted. */
bool cpu_cgroup_find(struct cpu_cgroup *g);

/*
 * Whether the calling process's group may share the CPU with other groups: the group is below the root, or the
 * process is in a namespace of control groups, where its group looks like the root (cgroup_namespaces(7)).
 */
bool cpu_cgroup_is_shared(const struct cpu_cgroup *g);

/*
 * Whether the mounted hierarchy begins with the machine's root group.  In a container it may begin with the
 * container's group, which shares the CPU by its weight with other groups.
 */
bool cpu_cgroup_sees_root(const struct cpu_cgroup *g);

/*
 * Whether the group, or a group above it, has a CPU quota; stores the quota's text: of cpu.max (v2) or
 * cpu.cfs_quota_us (v1).
 */
bool cpu_cgroup_quota(const struct cpu_cgroup *g, char *value, size_t size);

/* Makes the idle group and moves the calling process into it.  Returns 0 or an errno value. */
int idle_group_enter(const struct cpu_cgroup *g);

/*
 * Removes the idle group, which the caller must not be in.  Waits `tries` times 10 ms at most for other processes in
 * the group to end.  Does nothing if g was not found.
 */
void idle_group_remove(const struct cpu_cgroup *g, int tries);
