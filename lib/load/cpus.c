#include "lib/load/cpus.h"

#include "lib/base/proc.h"

#include <sys/stat.h>

const char *parse_cpus(const char *s, struct cpus *cpus)
{
	struct cpus r = {.n = 0};
	unsigned long first = 0, last = 0;
	int used = 0, n;

	do {
		/* NOLINTNEXTLINE(cert-err34-c): a number that does not fit is the largest one */
		n = sscanf(s, " %lu%n-%lu%n", &first, &used, &last, &used);
		last = n == 2 ? last : first;
		s += used + (int)strspn(s + used, " \t");
		if (n < 1 || last < first || last >= CPUS_MAX || (*s != ',' && *s != '\0'))
			return "is not a CPU list, like 0,2-5 (an address is --bind)";
		if (last - first >= (unsigned long)(CPUS_MAX - r.n))
			return "has more CPUs than any kernel";
		while (first <= last)
			r.id[r.n++] = (int)first++;
		if (*s == ',')
			s += 1 + strspn(s + 1, " \t");
	} while (*s != '\0');
	*cpus = r;
	return NULL;
}

void cpus_online(struct cpus *cpus)
{
	const int n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	char buf[CPU_LIST_MAX];

	if (file_read_line("/sys/devices/system/cpu/online", buf, sizeof(buf)) == 0 &&
	    parse_cpus(buf, cpus) == NULL)
		return;
	for (cpus->n = 0; cpus->n < n; cpus->n++)
		cpus->id[cpus->n] = cpus->n;
}

int cpus_index(const struct cpus *cpus, int id)
{
	int i = cpus->n - 1;

	while (i >= 0 && cpus->id[i] != id)
		i--;
	return i;
}

bool cpus_have(const struct cpus *cpus, int id)
{
	return cpus_index(cpus, id) >= 0;
}

struct cpus cpus_to_soak(int n, const struct cpus *list)
{
	struct cpus cpus;
	int i, kept = 0;

	cpus_online(&cpus);
	if (n > cpus.n)
		usage_error("-N, --cpus: %d is more than the %d CPUs that are online", n, cpus.n);
	for (i = 0; i < list->n; i++)
		if (!cpus_have(&cpus, list->id[i]))
			usage_error("--on-cpus: CPU %d is not online", list->id[i]);
	for (i = 0; i < cpus.n; i++)
		if (list->n > 0 ? cpus_have(list, cpus.id[i]) : n == 0 || i < n)
			cpus.id[kept++] = cpus.id[i];
	cpus.n = kept;
	return cpus;
}

bool cpus_are_all(const struct cpus *cpus)
{
	return cpus->n == sysconf(_SC_NPROCESSORS_CONF);
}

uint64_t cpus_generation(const struct cpus *cpus)
{
	uint64_t sum = 0;
	char path[64];
	struct stat st;
	int i;

	/* The kernel makes this directory when the CPU comes online (drivers/base/topology.c). */
	for (i = 0; i < cpus->n; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology", cpus->id[i]);
		if (stat(path, &st) == 0)
			sum += st.st_ino;
	}
	return sum;
}

void cpus_format(const struct cpus *cpus, char *buf, size_t size)
{
	int i, j;

	buf[0] = '\0';
	for (i = 0; i < cpus->n; i = j + 1) {
		for (j = i; j + 1 < cpus->n && cpus->id[j + 1] == cpus->id[j] + 1; j++)
			;
		string_append(buf, size, i == j ? "%s%d" : "%s%d-%d", i > 0 ? "," : "", cpus->id[i],
			      cpus->id[j]);
	}
}

void cpu_model(char *buf, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], model[256] = "";

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "model name : %255[^\n]", model) == 1)
			break;
	snprintf(buf, size, "%s", model);
	make_printable(buf);
	if (f != NULL)
		fclose(f);
}

int cpu_bind(int cpu)
{
	cpu_mask set;

	CPU_ZERO_S(sizeof(set), set);
	CPU_SET_S((size_t)cpu, sizeof(set), set);
	return sched_setaffinity(0, sizeof(set), set);
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
