#include "lib/load/cputime.h"

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
	sum_up(at, n, whole);
	if (f != NULL)
		fclose(f);
	return online;
}

int cpu_times_read(const struct cpus *cpus, bool whole, cpu_times *at, uint64_t *ns)
{
	return times_read(fopen("/proc/stat", "re"), cpus, whole, at, ns);
}

double steal_between(double from, double to)
{
	return to > from ? to - from : 0;
}
