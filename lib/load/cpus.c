#include "lib/load/cpus.h"

#include <ctype.h>

const char *parse_cpus(const char *s, struct cpus *cpus)
{
	struct cpus *r = calloc(1, sizeof(*r));
	const char *why = NULL;
	unsigned long first, last;
	char *end = NULL;

	if (r == NULL)
		return "takes more memory than there is";
	do {
		first = last = isdigit((unsigned char)*s) ? strtoul(s, &end, 10) : CPUS_MAX;
		if (first < CPUS_MAX && *end == '-')
			last = isdigit((unsigned char)end[1]) ? strtoul(end + 1, &end, 10) : 0;
		if (first >= CPUS_MAX || last < first || last >= CPUS_MAX ||
		    (*end != ',' && *end != '\0'))
			why = "is not a CPU list, like 0,2-5";
		else if (last - first >= (unsigned long)(CPUS_MAX - r->n))
			why = "has more CPUs than any kernel";
		while (why == NULL && first <= last)
			r->id[r->n++] = (int)first++;
		s = why == NULL ? end + 1 : s;
	} while (why == NULL && *end == ',');
	if (why == NULL)
		*cpus = *r;
	free(r);
	return why;
}

void arg_cpus(const char *opt, const char *s, struct cpus *cpus)
{
	const char *why = parse_cpus(s, cpus);

	if (why != NULL)
		usage_error("%s: '%s' %s", opt, s, why);
}

cpu_set_t *cpu_set_new(size_t *size)
{
	*size = CPU_ALLOC_SIZE(CPUS_MAX);
	return alloc_or_die(1, *size, "CPU set");
}

void cpus_online(struct cpus *cpus)
{
	char buf[CPU_LIST_MAX];
	cpu_set_t *set;
	size_t size;
	int i;

	if (file_read_line("/sys/devices/system/cpu/online", buf, sizeof(buf)) == 0 &&
	    parse_cpus(buf, cpus) == NULL)
		return;
	set = cpu_set_new(&size);
	if (sched_getaffinity(0, size, set) != 0)
		die_errno("sched_getaffinity");
	cpus->n = 0;
	for (i = 0; i < CPUS_MAX; i++)
		if (CPU_ISSET_S(i, size, set))
			cpus->id[cpus->n++] = i;
	CPU_FREE(set);
}

void cpus_to_soak(int n, struct cpus *cpus)
{
	cpus_online(cpus);
	if (n > cpus->n)
		usage_error("-N, --cpus: %d is more than the %d CPUs that are online", n, cpus->n);
	if (n > 0)
		cpus->n = n;
}

bool cpus_format(const struct cpus *cpus, char *buf, size_t size)
{
	size_t used = 0;
	int i, j;

	buf[0] = '\0';
	for (i = 0; i < cpus->n && used < size; i = j + 1) {
		for (j = i; j + 1 < cpus->n && cpus->id[j + 1] == cpus->id[j] + 1; j++)
			;
		used += (size_t)snprintf(buf + used, size - used, i == j ? "%s%d" : "%s%d-%d",
					 i > 0 ? "," : "", cpus->id[i], cpus->id[j]);
	}
	return used < size;
}

int cpu_bind(int cpu)
{
	size_t size;
	cpu_set_t *set = cpu_set_new(&size);
	int r;

	CPU_SET_S((size_t)cpu, size, set);
	r = sched_setaffinity(0, size, set);
	CPU_FREE(set);
	return r;
}

int cpu_of(const struct cpus *cpus, int i)
{
	return cpus->n > 0 ? cpus->id[i % cpus->n] : -1;
}

void cpu_bind_or_die(const struct cpus *cpus, int i)
{
	if (cpus->n > 0 && cpu_bind(cpu_of(cpus, i)) != 0)
		die_errno("cannot bind to CPU %d", cpu_of(cpus, i));
}

void cpus_try_or_die(const struct cpus *cpus)
{
	int i;

	for (i = cpus->n - 1; i >= 0; i--)
		cpu_bind_or_die(cpus, i);
}
