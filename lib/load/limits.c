#include "lib/load/limits.h"

#include <err.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "lib/load/cgroup.h"

/* Whether a quota is set in `dir` or a group above it: cpu.max of v2, cpu.cfs_quota_us of v1. */
static bool has_quota(const struct cpu_cgroup *g, char *value, size_t size)
{
	char path[600], own[sizeof(g->own)], *slash;

	strcpy(own, g->own);
	for (;;) {
		snprintf(path, sizeof(path), "%s%s/%s", g->root, own,
			 g->v2 ? "cpu.max" : "cpu.cfs_quota_us");
		if (file_read_line(path, value, size) == 0 && value[0] != '-' &&
		    strncmp(value, "max", 3) != 0)
			return true;
		slash = strrchr(own, '/');
		if (slash == NULL || own[0] == '\0')
			return false;
		*slash = '\0';
	}
}

void limits_warn(void)
{
	struct cpu_cgroup group;
	struct cpus *online = malloc(sizeof(*online));
	char value[64];
	cpu_set_t *set;
	size_t size;

	if (online == NULL)
		die_errno("CPUs");
	if (cpu_cgroup_find(&group) && has_quota(&group, value, sizeof(value)))
		warnx("a CPU quota is on this control group (%s): what it throttles reads as idle",
		      value);
	set = cpu_set_new(&size);
	cpus_online(online);
	if (sched_getaffinity(0, size, set) == 0 && CPU_COUNT_S(size, set) < online->n)
		warnx("this program may run on %d of the %d CPUs: the load is that of the machine",
		      CPU_COUNT_S(size, set), online->n);
	CPU_FREE(set);
	free(online);
}

#define STEAL_MAX 0.01 /* share of the host's time that is worth a word */
#define RT_LIMIT  0.95 /* of a CPU, which is what real-time throttling leaves */

/* Real-time programs get sched_rt_runtime_us of each period while soakers wait (sched(7)). */
static bool rt_throttles(void)
{
	char value[32];

	return file_read_line("/proc/sys/kernel/sched_rt_runtime_us", value, sizeof(value)) == 0 &&
	       value[0] != '-';
}

void limits_warn_run(const struct cpus *soaked, const struct counters *from,
		     const struct counters *to, const struct load *l)
{
	struct cpus *online = malloc(sizeof(*online));
	struct rates r;
	int i;

	if (online == NULL)
		die_errno("CPUs");
	counters_rates(from, to, &r);
	if (r.cpu[CPU_STEAL] > STEAL_MAX)
		warnx("the host of this virtual machine took %.1f%% of its CPU time (steal): "
		      "the load includes it",
		      100 * r.cpu[CPU_STEAL]);
	cpus_online(online);
	for (i = 0; i < soaked->n && i < online->n && online->id[i] == soaked->id[i]; i++)
		;
	if (i < soaked->n)
		warnx("CPU %d went offline during the measurement: the load is wrong",
		      soaked->id[i]);
	if (fabs(l->load - RT_LIMIT) < 0.004 && rt_throttles())
		warnx("a real-time program may have wanted more: real-time throttling "
		      "(kernel.sched_rt_runtime_us) leaves 5%% to others");
	free(online);
}
