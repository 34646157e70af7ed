#include "lib/load/calibration.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include "lib/load/baseline.h"
#include "lib/load/limits.h"

/* Host name, kernel and CPU model: a calibration holds only where they are the same. */
static void describe_machine(char *buf, size_t size)
{
	char model[120];
	struct utsname u;

	uname(&u);
	cpu_model(model, sizeof(model));
	snprintf(buf, size, "%s %s %s", u.nodename, u.release,
		 model[0] != '\0' ? model : u.machine);
	make_printable(buf);
}

/*
 * Writing the file.
 */

static void calibration_print(FILE *f, const void *calibration)
{
	const struct calibration *c = calibration;
	const struct baseline *b;
	char cpus[CPU_LIST_MAX];
	int i;

	cpus_format(&c->cpus, cpus, sizeof(cpus)); /* ascending CPUs always fit */
	fprintf(f, "%.0f\nsoaker %d\nmachine %s\ncpus %s\n", c->total, SOAK_FORMAT, c->machine,
		cpus);
	fprintf(f, "all %.0f %.6f %.6f\n", c->windows, c->all.tasks_sd, c->all.spin_sd);
	for (i = 0; i < c->cpus.n; i++) {
		b = &c->cpu[i];
		fprintf(f, "cpu %d %.6f %.6f %.6f %.6f %.1f %.1f\n", c->cpus.id[i], b->tasks,
			b->tasks_sd, b->spin, b->spin_sd, b->speed, b->speed_sd);
	}
}

static void report_round(double total)
{
	report("calibrating: %.0f loops/sec\n", total);
}

void calibrate_or_die(const struct cpus *cpus, const char *path, bool force, double wait)
{
	static const char busy[] = "the machine is not idle: other programs took %.1f%% of it "
				   "(see top(1)): %s";
	struct calibration c = {.total = 0};
	struct soaker *s;
	double tasks, spread;

	c.cpus = *cpus;
	describe_machine(c.machine, sizeof(c.machine));
	limits_warn();
	s = soaker_start(&c.cpus, wait, true);
	tasks = baseline_calibrate(s, &c, report_round, force ? INFINITY : CAL_BUSY, &spread);
	soaker_stop(s);
	if (tasks > CAL_BUSY && !force)
		die(busy, 100 * tasks,
		    "stop them, or calibrate while it is idle, such as after a boot: that "
		    "calibration still holds when it is busy");
	baseline_check_or_die(&c);
	if (spread > CAL_TOLERANCE)
		warnx("the machine is unsteady: the last rounds differ by %.1f points of load",
		      100 * spread);
	if (tasks > CAL_FULL)
		warnx(busy, 100 * tasks, "no load is reported against this calibration");
	else if (tasks > CAL_BUSY)
		warnx(busy, 100 * tasks, "loads against this calibration are too low");
	file_replace_or_die(path, calibration_print, &c);
	report("calibrated OK.  %.0f loops/sec\n", c.total);
	free(c.cpu);
}

/*
 * Reading the file.
 */

static bool is_amount(double v)
{
	return v >= 0 && isfinite(v);
}

static bool is_share(double v)
{
	return v >= 0 && v <= 1;
}

/* `cpu NUMBER tasks tasks_sd spin spin_sd speed speed_sd`: the CPUs come in the list's order. */
static bool cpu_parse(const char *line, struct calibration *c, int n)
{
	struct baseline b = {0};
	int id, end = 0;

	/* NOLINTNEXTLINE(cert-err34-c): all numbers are looked at */
	if (sscanf(line, "cpu %d %lf %lf %lf %lf %lf %lf%n", &id, &b.tasks, &b.tasks_sd, &b.spin,
		   &b.spin_sd, &b.speed, &b.speed_sd, &end) != 7 ||
	    line[end] != '\0' || c->cpu == NULL || n >= c->cpus.n || id != c->cpus.id[n])
		return false;
	c->cpu[n] = b;
	return is_share(b.tasks) && b.tasks < 1 && is_share(b.tasks_sd) && is_share(b.spin) &&
	       b.spin > 0 && is_share(b.spin_sd) && is_amount(b.speed) && b.speed > 0 &&
	       is_amount(b.speed_sd);
}

/* `all windows tasks_sd spin_sd`: of the machine as a whole. */
static bool machine_parse(const char *line, struct calibration *c)
{
	int end = 0;

	/* NOLINTNEXTLINE(cert-err34-c): all numbers are looked at */
	return sscanf(line, "all %lf %lf %lf%n", &c->windows, &c->all.tasks_sd, &c->all.spin_sd,
		      &end) == 3 &&
	       line[end] == '\0' && is_amount(c->windows) && c->windows >= 2 &&
	       is_share(c->all.tasks_sd) && is_share(c->all.spin_sd);
}

static bool is_key(const char *line, const char *key)
{
	return strncmp(line, key, strlen(key)) == 0;
}

/* One line after the first two; *n counts the CPUs.  Keys of later versions are ignored. */
static const char *line_parse(const char *line, struct calibration *c, int *n)
{
	if (is_key(line, "machine ")) {
		snprintf(c->machine, sizeof(c->machine), "%s", line + strlen("machine "));
		make_printable(c->machine);
	} else if (is_key(line, "cpus ")) {
		if (c->cpu != NULL || parse_cpus(line + strlen("cpus "), &c->cpus) != NULL)
			return "has a bad CPU list";
		c->cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "calibration");
	} else if (is_key(line, "all ") && !machine_parse(line, c)) {
		return "has a bad line for all CPUs";
	} else if (is_key(line, "cpu ") && !cpu_parse(line, c, (*n)++)) {
		return "has a bad line for a CPU";
	}
	return NULL;
}

/* Without a line for all CPUs their errors are taken to be one and the same. */
static void machine_assume(struct calibration *c)
{
	int i;

	c->windows = 2;
	for (i = 0; i < c->cpus.n; i++) {
		c->all.tasks_sd += c->cpu[i].tasks_sd / c->cpus.n;
		c->all.spin_sd += c->cpu[i].spin_sd / c->cpus.n;
	}
}

static const char other_version[] = "was not made by this version's soaker";

/* Parses the whole text.  Returns NULL, or what is wrong: the caller then frees c->cpu. */
static const char *lines_parse(char *text, struct calibration *c)
{
	const char *line = strsep(&text, "\n"), *why = NULL;
	int end = 0, n = 0;
	long version;

	/* NOLINTNEXTLINE(cert-err34-c): the number is looked at */
	if (sscanf(line, "%lf%n", &c->total, &end) != 1 || line[end] != '\0' ||
	    !is_amount(c->total))
		return "does not begin with a number of loops per second";
	line = strsep(&text, "\n");
	/* NOLINTNEXTLINE(cert-err34-c): the number is looked at */
	if (line == NULL || sscanf(line, "soaker %ld%n", &version, &end) != 1 ||
	    line[end] != '\0' || version != SOAK_FORMAT)
		return other_version;
	while (why == NULL && (line = strsep(&text, "\n")) != NULL)
		why = line_parse(line, c, &n);
	if (why != NULL)
		return why;
	if (c->cpu == NULL || n != c->cpus.n)
		return "lacks a CPU";
	if (c->windows == 0)
		machine_assume(c);
	return NULL;
}

const char *calibration_parse(const char *text, size_t len, struct calibration *c)
{
	char *copy = alloc_or_die(len + 1, 1, "calibration");
	const char *why;

	memset(c, 0, sizeof(*c));
	c->shared = true;
	memcpy(copy, text, len);
	why = strlen(copy) == len ? lines_parse(copy, c) : "is not a text file";
	free(copy);
	if (why != NULL) {
		free(c->cpu);
		c->cpu = NULL;
	}
	return why;
}

#define CALIBRATION_MAX (1024 * 1024) /* bytes: more than CPUS_MAX CPUs need */

/*
 * Reads a file whole, if it is a regular one: a device may have no end, and one who opens a FIFO would
 * wait for its writer.
 */
static char *file_read_or_die(const char *path, size_t *len, struct stat *st)
{
	const int fd = open_retry(path, O_RDONLY | O_NONBLOCK);
	char *text = alloc_or_die(1, CALIBRATION_MAX, path);
	FILE *f;

	if (fd < 0)
		die("no calibration: %s: %s: run 'cyclesoak -C' here on the idle system", path,
		    strerror(errno));
	else if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode) || st->st_size > CALIBRATION_MAX)
		die("%s is not a calibration file: run 'cyclesoak -C'", path);
	/* cppcheck-suppress invalidFunctionArg ; die() does not return */
	f = fdopen(fd, "r");
	*len = f != NULL ? fread(text, 1, CALIBRATION_MAX, f) : 0;
	if (f == NULL || ferror(f) || fclose(f) != 0)
		die_errno("%s", path);
	return text;
}

/* When a file was written, of CLOCK_BOOTTIME.  One that is of the future was written now. */
static int64_t time_written(const struct stat *file)
{
	const int64_t age = (int64_t)clock_ns(CLOCK_REALTIME) -
			    file->st_mtim.tv_sec * INT64_C(1000000000);

	return (int64_t)clock_ns(CLOCK_BOOTTIME) - (age > 0 ? age : 0);
}

/* Reads the file.  Returns why it does not fit, or NULL; dies if it is no calibration. */
static const char *calibration_read_or_die(struct calibration *c, const char *path,
					   const struct cpus *want)
{
	char machine[sizeof(c->machine)], *text;
	const char *why;
	struct stat file;
	size_t len;

	text = file_read_or_die(path, &len, &file);
	why = calibration_parse(text, len, c);
	free(text);
	c->taken_ns = time_written(&file);
	if (why == other_version)
		return why;
	if (why != NULL)
		die("%s %s: run 'cyclesoak -C'", path, why);
	if (c->cpus.n != want->n ||
	    memcmp(c->cpus.id, want->id, (size_t)want->n * sizeof(want->id[0])) != 0)
		return "is for other CPUs than these (-N, --on-cpus)";
	describe_machine(machine, sizeof(machine));
	return strcmp(machine, c->machine) != 0 ? "was made on another machine or kernel" : NULL;
}

bool calibration_find_or_die(struct calibration *c, const char *path, const struct cpus *cpus,
			     bool needed)
{
	const char *file = path != NULL ? path : CALIBRATION_FILE, *why;
	const bool must_fit = path != NULL || needed;
	struct stat st;

	*c = (struct calibration){.cpus = *cpus};
	if (!must_fit && lstat(file, &st) != 0 && errno == ENOENT)
		return false;
	why = calibration_read_or_die(c, file, cpus);
	if (why == NULL)
		return true;
	if (must_fit)
		die("%s %s: run 'cyclesoak -C'", file, why);
	warnx("%s %s: run 'cyclesoak -C'; own baselines are used", file, why);
	free(c->cpu);
	*c = (struct calibration){.cpus = *cpus};
	return false;
}
