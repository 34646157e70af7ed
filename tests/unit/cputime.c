/* The part itself, for what it has of its own. */
#include "lib/load/cputime.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

/* Ticks: user nice system idle iowait irq softirq steal guest guest_nice. */
static char stat[] = "cpu  10 0 20 700 30 0 5 8 0 0\n"
		     "cpu0 5 0 10 300 10 0 3 6 0 0\n"
		     "cpu2 5 0 10 410 20 0 2 2 0 0\n"
		     "intr 1 2 3\n";

static void test_read(void)
{
	/* Of which CPUs; how many are online, and for each and all: user, idle, iowait and steal. */
	static const struct {
		struct cpus cpus;
		bool whole;
		const char *want;
	} rows[] = {
		{{2, {0, 2}}, true, "2: 5 300 10 6; 5 410 20 2; 10 700 30 8;"},
		{{2, {0, 2}}, false, "2: 5 300 10 6; 5 410 20 2; 10 710 30 8;"},
		{{1, {0}}, true, "2: 5 300 10 6; 5 300 10 6;"}, /* another one is online */
		{{1, {2}}, false, "2: 5 410 20 2; 5 410 20 2;"},
		{{3, {0, 1, 2}},
		 false,
		 "2: 5 300 10 6; nan nan nan nan; 5 410 20 2; nan nan nan nan;"},
		{{2, {0, 1}}, true, "2: 5 300 10 6; nan nan nan nan; nan nan nan nan;"},
	};
	const double hz = (double)sysconf(_SC_CLK_TCK);
	const int files = open_files();
	const uint64_t begun = raw_ns();
	cpu_times at[4];
	uint64_t moment;
	char got[128];
	size_t i;
	int k;

	for (i = 0; i < LENGTH(rows); i++) {
		snprintf(got, sizeof(got), "%d:",
			 times_read(fmemopen(stat, strlen(stat), "r"), &rows[i].cpus, rows[i].whole,
				    at, &moment));
		for (k = 0; k <= rows[i].cpus.n; k++)
			string_append(got, sizeof(got), " %g %g %g %g;", hz * at[k][CPU_USER],
				      hz * at[k][CPU_IDLE], hz * at[k][CPU_IOWAIT],
				      hz * at[k][CPU_STEAL]);
		is(got, rows[i].want,
		   "each CPU has the times of its line, and all have their sum, or the kernel's: %zu",
		   i);
	}
	ok(moment >= begun && moment <= raw_ns() &&
		   times_read(NULL, &rows[2].cpus, true, at, &moment) == 0 &&
		   isnan(at[1][CPU_IDLE]) && moment >= begun,
	   "a reading has its moment, also of a file that cannot be read");
	cpu_times_read(&rows[2].cpus, false, at, &moment);
	ok(open_files() == files, "the file is closed");
}

/* Names as the kernel has them; the file, and whether idle time is then sampled by a kernel of that version. */
static void test_measured(void)
{
	static char old[] =
		"0000000000000000 T get_cpu_idle_time_us\n0000000000000000 t x\t[veth]\n",
		    new[] = "0000000000000000 T tick\n0000000000000000 T kcpustat_dyntick_start\n",
		    none[] = "\n";
	const struct {
		char *symbols;
		const char *release;
		bool sampled;
	} cases[] = {{old, "6.12.95+deb12-amd64", false},
		     {old, "7.2.13", false},
		     {new, "7.2.13", true},
		     {new, "6.18.99", true},
		     {NULL, "7.1.99", false},
		     {NULL, "7.2.0-rc1", true},
		     {NULL, "8.0", true},
		     {NULL, "6.18.5", false},
		     {none, "7.10.1", false}};
	const struct cpus cpus = {3, {1, 4, 5}};
	const int files = open_files();
	const char *lists = "|(null)|0|2-3,6|0,2-7|5", *list;
	int want[] = {-1, -1, -1, -1, 4, 5}, i;

	for (i = 0; i < (int)LENGTH(cases); i++)
		ok(is_sampled(cases[i].symbols == NULL
				      ? fopen("/dev/null", "r")
				      : fmemopen(cases[i].symbols, strlen(cases[i].symbols), "r"),
			      cases[i].release) == cases[i].sampled,
		   "Linux %s %s idle time: by its symbols, or where it has none its version",
		   cases[i].release, cases[i].sampled ? "samples" : "measures");
	ok(is_sampled(NULL, "7.2.1") && open_files() == files,
	   "without the file the version counts");
	for (i = 0; (list = next_of(&lists)) != NULL; i++)
		ok(find_common(&cpus, list) == want[i], "nohz_full '%s': CPU %d of 1, 4 and 5",
		   list, want[i]);
}

TESTS(test_read, test_measured)
