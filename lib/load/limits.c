#include "lib/load/limits.h"

#include "lib/load/cgroup.h"

void limits_warn(void)
{
	const int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct cpu_cgroup group;
	char value[64];
	cpu_mask set;

	if (cpu_cgroup_find(&group) && cpu_cgroup_quota(&group, value, sizeof(value)))
		warnx("a CPU quota is on this control group (%s): what it throttles reads as idle",
		      value);
	if (sched_getaffinity(0, sizeof(set), set) == 0 && CPU_COUNT_S(sizeof(set), set) < online)
		warnx("this program may run on %d of the %d CPUs: the load is that of the machine",
		      CPU_COUNT_S(sizeof(set), set), online);
}

#define STEAL_MAX  0.01  /* share of the host's time that is worth a warning */
#define RT_LIMIT   0.95  /* of a CPU, which is what real-time throttling leaves */
#define RT_NEAR    0.004 /* a load that is this close to the limit was held there */
#define RT_RUNTIME "/proc/sys/kernel/sched_rt_runtime_us" /* sched(7); -1: no limit */

void limits_warn_run(const struct cpus *soaked, const struct counters *from,
		     const struct counters *to, const struct load *l)
{
	struct cpus online;
	struct rates r;
	char value[32];
	int i;

	counters_rates(from, to, &r);
	if (r.cpu[CPU_STEAL] > STEAL_MAX)
		warnx("the host of this virtual machine took %.1f%% of its CPU time (steal): "
		      "the load leaves it out, and is less certain",
		      100 * r.cpu[CPU_STEAL]);
	cpus_online(&online);
	for (i = 0; i < soaked->n && i < online.n && online.id[i] == soaked->id[i]; i++)
		;
	if (i < soaked->n)
		warnx("CPU %d went offline during the measurement: the load is wrong",
		      soaked->id[i]);
	if (fabs(l->load - RT_LIMIT) < RT_NEAR &&
	    file_read_line(RT_RUNTIME, value, sizeof(value)) == 0 && value[0] != '-')
		warnx("a real-time program may have wanted more: real-time throttling "
		      "(kernel.sched_rt_runtime_us) leaves 5%% to others");
}
