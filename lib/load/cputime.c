#include "lib/load/cputime.h"

#include "lib/base/proc.h"

#include <sys/utsname.h>

const char *const cpu_column[CPU_COLUMNS] = {"user",   "nice", "system",  "idle",
					     "iowait", "irq",  "softirq", "steal"};

void cpu_times_parse(const char *numbers, cpu_times t)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	char *rest;
	int i;

	for (i = 0; i < CPU_COLUMNS; i++, numbers = rest)
		t[i] = tick * (double)strtoull(numbers, &rest, 10);
}

/* Makes the last of n + 1 times the sum of the others; what the kernel has summed stays, if all others are known. */
static void sum_up(cpu_times *at, int n, bool whole)
{
	double sum;
	int i, k;

	for (k = 0; k < CPU_COLUMNS; k++) {
		sum = 0;
		for (i = 0; i < n; i++)
			sum += at[i][k];
		if (!whole || isnan(sum))
			at[n][k] = sum;
	}
}

/* Reads the file, which may be NULL, and closes it.  The kernel makes its text at the first call. */
static int times_read(FILE *f, const struct cpus *cpus, bool whole, cpu_times *at, uint64_t *ns)
{
	const int n = cpus->n;
	char line[256], *numbers;
	int i, k, id, online = 0;

	for (i = 0; i <= n; i++)
		for (k = 0; k < CPU_COLUMNS; k++)
			at[i][k] = NAN;
	*ns = raw_ns();
	i = 0;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL && strncmp(line, "cpu", 3) == 0) {
		if (line[3] ==
		    ' ') { /* the first line: the kernel read its clock about in the middle */
			*ns += (raw_ns() - *ns) / 2;
			cpu_times_parse(line + 3, at[n]);
			continue;
		}
		online++;
		id = (int)strtol(line + 3, &numbers, 10);
		while (i < n && cpus->id[i] < id)
			i++;
		if (i < n && cpus->id[i] == id)
			cpu_times_parse(numbers, at[i]);
	}
	sum_up(at, n, whole && online == n); /* the kernel's has any other CPU, too */
	if (f != NULL)
		fclose(f);
	return online;
}

int cpu_times_read(const struct cpus *cpus, bool whole, cpu_times *at, uint64_t *ns)
{
	return times_read(fopen("/proc/stat", "re"), cpus, whole, at, ns);
}

/*
 * Linux 7.2 and later measure idle time only while the tick is stopped, and sample it otherwise ("tick/sched: Unify
 * idle cputime accounting"): the kernel then has a function of that name.  Where its symbols cannot be read the
 * version counts.  Closes the file, which may be NULL.
 */
static bool is_sampled(FILE *symbols, const char *release)
{
	bool is_found = false, is_empty = true;
	int major = 0, minor = 0;
	char line[256];

	while (symbols != NULL && !is_found && fgets(line, sizeof(line), symbols) != NULL) {
		is_found = strstr(line, " kcpustat_dyntick_start") != NULL;
		is_empty = false;
	}
	if (symbols != NULL)
		fclose(symbols);
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	sscanf(release, "%d.%d", &major, &minor);
	return is_empty ? major > 7 || (major == 7 && minor >= 2) : is_found;
}

/* The first of these CPUs that is in the list; -1: none, as where the list is empty, or `(null)`. */
static int find_common(const struct cpus *cpus, const char *list)
{
	struct cpus *others = alloc_or_die(1, sizeof(*others),
					   "CPUs"); /* a thread's stack is small */
	int i, found = -1;

	if (parse_cpus(list, others) == NULL)
		for (i = 0; i < cpus->n && found < 0; i++)
			if (cpus_have(others, cpus->id[i]))
				found = cpus->id[i];
	free(others);
	return found;
}

const char *cpu_times_check(const struct cpus *cpus)
{
	static int sampled = -1; /* for each run of a comparison the symbols would be read again */
	char *list;
	struct utsname u;
	int id;

	uname(&u);
	if (sampled < 0)
		sampled = is_sampled(fopen("/proc/kallsyms", "re"), u.release);
	if (sampled > 0)
		return text_of("Linux %s does not measure idle time", u.release);
	list = alloc_or_die(1, CPU_LIST_MAX, "CPUs");
	file_read_line("/sys/devices/system/cpu/nohz_full", list, CPU_LIST_MAX);
	id = find_common(cpus, list);
	free(list);
	return id < 0 ? NULL
		      : text_of("CPU %d is in nohz_full, and its idle time is not measured", id);
}

double steal_between(double from, double to)
{
	return to > from ? to - from : 0;
}
