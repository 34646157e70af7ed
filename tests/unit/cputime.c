/* The part itself, for what it has of its own. */
#include "lib/load/cputime.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

/* Ticks: user nice system idle iowait irq softirq steal guest guest_nice. */
static char stat[] = "cpu  10 0 20 700 30 0 5 8 0 0\n"
		     "cpu0 5 0 10 300 10 0 3 6 0 0\n"
		     "cpu2 5 0 10 410 20 0 2 2 0 0\n"
		     "intr 1 2 3\n";

static double ticks(double n)
{
	return n / (double)sysconf(_SC_CLK_TCK);
}

static cpu_times at[4];
static uint64_t moment;

/* Stores the times of those CPUs, and last those of all of them. */
/* cppcheck-suppress unusedFunction ; cppcheck overlooks calls with a compound literal */
static int read_stat(struct cpus cpus, bool whole)
{
	return times_read(fmemopen(stat, strlen(stat), "r"), &cpus, whole, at, &moment);
}

static void test_read(void)
{
	const uint64_t begun = raw_ns();
	const int files = open_files();

	ok(read_stat((struct cpus){2, {0, 2}}, true) == 2 && near(at[0][CPU_IDLE], ticks(300)) &&
		   near(at[1][CPU_IOWAIT], ticks(20)) && near(at[0][CPU_STEAL], ticks(6)),
	   "each CPU has the times of its line");
	ok(near(at[2][CPU_IDLE], ticks(700)) && near(at[2][CPU_STEAL], ticks(8)),
	   "where the CPUs are the whole machine the kernel's own sum counts");
	read_stat((struct cpus){1, {0}}, true);
	ok(near(at[1][CPU_IDLE], ticks(300)),
	   "the kernel's sum does not count while another CPU is online");
	ok(moment >= begun && moment <= raw_ns(), "a reading has its moment");
	read_stat((struct cpus){2, {0, 2}}, false);
	ok(near(at[2][CPU_IDLE], ticks(710)), "the sum of some CPUs is that of their lines");
	ok(read_stat((struct cpus){1, {2}}, false) == 2 && near(at[1][CPU_STEAL], ticks(2)),
	   "what the hypervisor took from another CPU is not in the sum of one");
	ok(read_stat((struct cpus){3, {0, 1, 2}}, false) == 2 && isnan(at[3][CPU_IDLE]) &&
		   isnan(at[1][CPU_STEAL]) && near(at[2][CPU_IDLE], ticks(410)),
	   "a CPU without a line has no times, nor has the sum");
	read_stat((struct cpus){2, {0, 1}}, true);
	ok(isnan(at[2][CPU_IDLE]),
	   "the kernel's sum does not count if another CPU is in the place of one");
	ok(times_read(NULL, &(struct cpus){1, {0}}, true, at, &moment) == 0 &&
		   isnan(at[1][CPU_IDLE]) && moment >= begun,
	   "where the file cannot be read nothing is known but the moment");
	cpu_times_read(&(struct cpus){1, {0}}, false, at, &moment);
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
	   "without the file the version counts; the file is closed");
	for (i = 0; (list = next_of(&lists)) != NULL; i++)
		ok(find_common(&cpus, list) == want[i], "nohz_full '%s': CPU %d of 1, 4 and 5",
		   list, want[i]);
}

TESTS(test_read, test_measured)
