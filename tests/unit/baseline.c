#include "lib/load/baseline.h"

#include <err.h>
#include <sys/utsname.h>

#include "tests/unit/unit.h"

static void test_merge(void)
{
	struct baseline a[2] = {{.tasks = 0.01, .spin = 0.9, .spin_sd = 0.02, .speed = 100},
				{.tasks = 0.02, .spin = 0.8, .speed = 50}};
	struct baseline b[2] = {{.tasks = 0.03, .spin = 0.8, .spin_sd = 0.01, .speed = 80},
				{.tasks = 0.02, .tasks_sd = 0.005, .spin = 0.8, .speed = 50}};
	struct calibration c = {.cpus = {.n = 2},
				.cpu = a,
				.windows = 4,
				.all = {.tasks_sd = 0.01},
				.others = 0.015};
	const struct calibration other = {
		.cpus = {.n = 2}, .cpu = b, .windows = 12, .others = 0.025};
	double drift = baseline_merge(&c, &other);

	/* Less time to spin and more for tasks are load that the first baseline had not. */
	ok(near(drift, (0.02 + 0.1 + 0) / 2), "two baselines differ by 6 points of load");
	ok(near(a[0].drift, 0.12) && near(a[1].drift, 0), "each CPU has its own difference");
	ok(near(a[0].tasks, 0.02) && near(a[0].spin, 0.85) && near(a[0].speed, 90) &&
		   near(a[1].spin, 0.8),
	   "the mean of two baselines is between both");
	ok(near(a[0].spin_sd, 0.05) && near(a[0].tasks_sd, 0.01) && near(a[0].speed_sd, 10),
	   "half of the difference is a standard deviation, where it is the largest");
	ok(near(a[1].tasks_sd, 0.005) && a[1].spin_sd == 0,
	   "the larger of two standard deviations stays");
	ok(near(c.others, 0.025),
	   "the share of other tasks is that of the baseline with more of them");
	ok(near(c.windows, 12), "the mean of 4 and of 12 windows is as certain as that of 12");
	ok(near(c.all.spin_sd, 0.03) && near(c.all.tasks_sd, 0.01 / sqrt(2)),
	   "spinning deviates by half of the difference at least, tasks as in both on average");
}

static void test_whole(void)
{
	struct baseline b[2] = {{.spin = 0.9, .speed = 100}, {.spin = 0.9, .speed = 100}};
	const struct calibration c = {.cpus = {.n = 2, .id = {3, 5}}, .cpu = b};

	ok(baseline_is_whole(&c), "a baseline in which every CPU spun is whole");
	b[1].spin = 0;
	ok(!baseline_is_whole(&c), "a CPU that had no time to spin has no baseline");
	b[1] = b[0];
	b[0].speed = 0; /* cppcheck-suppress unreadVariable ; c has it */
	ok(!baseline_is_whole(&c), "a CPU that made no turn has no baseline");
}

static void test_spread(void)
{
	const double share[] = {0.1, 0.95, 0.93, 0.96, 0.94};

	ok(isinf(baseline_spread(share, 3)), "three rounds are too few to agree");
	ok(near(baseline_spread(share, 4), 0.86) && near(baseline_spread(share, 5), 0.03),
	   "the last four rounds must agree, whatever was before");
}

#define TEXT_OF(macro) #macro
#define TEXT(macro)    TEXT_OF(macro)
#define FORMAT         TEXT(SOAK_FORMAT)
#define SOAKER         "soaker " FORMAT

/* A machine of two CPUs that are not neighbours. */
static const char good[] = "2000\n" SOAKER "\nmachine m 1 x\ncpus 1,4\nall 2 0.25 0.125\n"
			   "cpu 1 0.5 0.1 0.5 0.1 4000 1\ncpu 4 0 0 1 0 1000 1\n";

static void test_good(void)
{
	struct calibration c;
	size_t len, accepted = 0;

	ok(calibration_parse(good, strlen(good), &c) == NULL && c.cpus.n == 2 &&
		   c.cpus.id[0] == 1 && c.cpus.id[1] == 4 && c.total == 2000,
	   "a calibration of two CPUs is read");
	ok(c.cpu != NULL && c.cpu[0].tasks == 0.5 && c.cpu[0].tasks_sd == 0.1 &&
		   c.cpu[0].spin == 0.5 && c.cpu[0].spin_sd == 0.1 && c.cpu[0].speed == 4000 &&
		   c.cpu[0].speed_sd == 1 && c.cpu[1].spin == 1,
	   "the numbers of a CPU are stored in their places");
	is(c.machine, "m 1 x", "the machine of a calibration is read");
	ok(c.windows == 2 && c.all.tasks_sd == 0.25 && c.all.spin_sd == 0.125 && c.shared,
	   "the line for all CPUs has the windows and the machine's standard deviations");
	ok(c.others == 0.25, "the tasks of a calibration are those of its CPUs on average");
	free(c.cpu);
	for (len = 0; len < strlen(good) - 1; len++)
		accepted += calibration_parse(good, len, &c) == NULL;
	ok(accepted == 0, "no beginning of a calibration is one");
	ok(calibration_parse(good, strlen(good) - 1, &c) == NULL,
	   "a calibration may lack its last newline");
	free(c.cpu);
}

/* Copies the good calibration with `put` in the place of the first `find`. */
static void replace(char *text, const char *find, const char *put)
{
	const char *at = strstr(good, find);

	sprintf(text, "%.*s%s%s", (int)(at - good), good, put, at + strlen(find));
}

static void test_bad(void)
{
	const char *bad = /* what is put for what */
		"2000>-2000|2000>nan|2000>2000 |2000>|1,4>1,5|1,4>1,4,5|1,4>4,1|1,4>x|cpus 1,4\n>"
		"|cpus 1,4\n>cpus 1,4\ncpus 1,4\n|cpu 1 0.5>cpu 1 1|cpu 4 0>cpu 4.5 0|4000>nan|4000>1e999"
		"|4000>inf|4000>0|4000>-4000|4000 1>4000|4000 1>4000 1 1|4000 1>4000 inf|4000 1>4000 -1"
		"|0.5 0.1 0.5>nan 0.1 0.5|0.5 0.1 0.5>0.5 0.1 1.5|0.5 0.1 0.5>0.5 0.1 0"
		"|" SOAKER ">soaker 3|" SOAKER ">" SOAKER "x|" SOAKER ">" SOAKER " " FORMAT
		"|" SOAKER ">x " FORMAT
		"|all 2 0.25 0.125\n>|all 2>later key|all 2 0.25 0.125>all 16 0"
		"|all 2 0.25 0.125>all 16 0 x|all 2>all 2 0|all 2>all 1|0.25 0.125>1.1 0|0.25 0.125>0 1.1"
		"|all 2 0.25>all 2 -1";
	char text[512], find[64], *put;
	const char *change;
	struct calibration c;

	while ((change = next_of(&bad)) != NULL) {
		strcpy(find, change);
		put = strchrnul(find, '>');
		*put++ = '\0';
		replace(text, find, put);
		ok(calibration_parse(text, strlen(text), &c) != NULL && c.cpu == NULL,
		   "a calibration with '%s' for '%s' is rejected", put, find);
	}
}

/* A calibration of one CPU. */
#define ONE_CPU(total, line) total "\n" SOAKER "\nmachine m\ncpus 1\nall 2 0 0\ncpu 1 " line "\n"

static void test_odd(void)
{
	static const struct {
		const char *what, *text;
	} odd[] = {
		{"a list of CPUs that it lacks",
		 "5\n" SOAKER "\nmachine m\ncpus 1,1\nall 2 0 0\ncpu 1 0 0 1 0 2 0\n"},
		{"two lists of CPUs",
		 "5\n" SOAKER "\ncpus 1\ncpus 0-99\nall 2 0 0\ncpu 1 0 0 1 0 2 0\n"},
		{"a share of tasks of 1", ONE_CPU("1", "1 0 1 0 2 0")},
		{"a share of spinning of 0", ONE_CPU("1", "0 0 0 0 2 0")},
		{"a share of spinning above 1", ONE_CPU("3", "0 0 1.5 0 2 0")},
		{"a speed of 0", ONE_CPU("1", "0 0 1 0 0 0")},
		{"two versions",
		 "2\nsoaker 3\n" SOAKER "\nmachine m\ncpus 1\nall 2 0 0\ncpu 1 0 0 1 0 2 0\n"},
		{"no version", "2\nmachine m\ncpus 1\nall 2 0 0\ncpu 1 0 0 1 0 2 0\n"},
	};
	static const char one_cpu[] = ONE_CPU("2", "0 0 1 0 2 0");
	struct calibration c;
	char text[512];
	size_t i;

	for (i = 0; i < LENGTH(odd); i++)
		ok(calibration_parse(odd[i].text, strlen(odd[i].text), &c) != NULL && c.cpu == NULL,
		   "a calibration with %s is rejected", odd[i].what);
	ok(calibration_parse(one_cpu, strlen(one_cpu), &c) == NULL, "one CPU is a calibration");
	free(c.cpu);
	snprintf(text, sizeof(text), "2\nsoaker %llu\n%s", (1ull << 32) + SOAK_FORMAT,
		 strstr(one_cpu, "machine"));
	ok(calibration_parse(text, strlen(text), &c) != NULL && c.cpu == NULL,
	   "a calibration of the version 2^32 + " FORMAT " is rejected");
	ok(calibration_parse(good, sizeof(good), &c) != NULL && c.cpu == NULL,
	   "a calibration with a NUL is rejected");
}

static void load_or_die(void *path)
{
	struct calibration c = {.cpu = NULL};

	cpus_online(&c.cpus);
	calibration_find_or_die(&c, path, false);
}

/* No machine has CPU 8191 and no other. */
static void test_misfit(void)
{
	static const char text[] = "1\n" SOAKER
				   "\nmachine m\ncpus 8191\nall 2 0 0\ncpu 8191 0 0 1 0 1 0\n";
	char path[] = "/tmp/zc-50%%-XXXXXX", want[128];
	const int fd = mkstemp(path);

	ok(write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0,
	   "a calibration of another machine is written");
	ok(died(load_or_die, path) == EXIT_FAILURE, "a calibration of other CPUs is rejected");
	unlink(path);
	snprintf(want, sizeof(want), ": %s is for other CPUs than these ", path);
	ok(strstr(printed, want) != NULL, "the error names the file, as it is");
}

/* Writes a calibration of this machine's CPUs and a machine of that name. */
static void write_of(const char *path, const char *machine)
{
	FILE *f = fopen(path, "w");
	char list[CPU_LIST_MAX];
	struct cpus cpus;
	int i;

	if (f == NULL)
		err(EXIT_FAILURE, "%s", path);
	cpus_online(&cpus);
	cpus_format(&cpus, list, sizeof(list));
	fprintf(f, "%d\n" SOAKER "\nmachine %s\ncpus %s\nall 2 0 0\n", cpus.n, machine, list);
	for (i = 0; i < cpus.n; i++)
		fprintf(f, "cpu %d 0 0 1 0 1 0\n", cpus.id[i]);
	fclose(f);
}

/* The machine's name has three parts: that of the host, the kernel and the CPU model. */
static void test_machine(void)
{
	char path[] = "/tmp/zc-XXXXXX", machine[1024], model[120];
	struct utsname u;
	const char *host = u.nodename, *kernel = u.release;

	close(mkstemp(path));
	uname(&u);
	cpu_model(model, sizeof(model));
	if (model[0] == '\0')
		strcpy(model, u.machine);
	snprintf(machine, sizeof(machine), "%s %s %s", host, kernel, model);
	write_of(path, machine);
	ok(died(load_or_die, path) == -1,
	   "a calibration of this host, kernel and CPU model is accepted: %s", printed);
	snprintf(machine, sizeof(machine), "elsewhere %s %s", kernel, model);
	write_of(path, machine);
	ok(died(load_or_die, path) == EXIT_FAILURE, "a calibration of another host is rejected");
	snprintf(machine, sizeof(machine), "%s 1.0 %s", host, model);
	write_of(path, machine);
	ok(died(load_or_die, path) == EXIT_FAILURE &&
		   strstr(printed, "made on another machine or kernel") != NULL,
	   "a calibration of another kernel is rejected, and the error has the reason");
	snprintf(machine, sizeof(machine), "%s %s CPU", host, kernel);
	write_of(path, machine);
	ok(died(load_or_die, path) == EXIT_FAILURE,
	   "a calibration of another CPU model is rejected");
	unlink(path);
}

int main(void)
{
	test_merge();
	test_spread();
	test_whole();
	test_good();
	test_bad();
	test_odd();
	test_misfit();
	test_machine();
	return done();
}
