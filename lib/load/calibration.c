#include "lib/load/calibration.h"

#include <ctype.h>
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

void calibration_warn_spread(double spread)
{
	if (spread > CAL_TOLERANCE)
		warnx("the machine is unsteady: the last rounds differ by %.1f points of load",
		      100 * spread);
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
	s = soaker_start_or_die(&c.cpus, wait);
	tasks = baseline_calibrate(s, &c, report_round, force ? INFINITY : CAL_BUSY, &spread);
	soaker_stop(s);
	if (tasks > CAL_BUSY && !force)
		die(busy, 100 * tasks,
		    "stop them, or calibrate while it is idle, such as after a boot: that "
		    "calibration still holds when it is busy");
	baseline_check_or_die(&c);
	calibration_warn_spread(spread);
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

/* The next word of *line as a finite number of at least 0. */
static bool next_number(char **line, double *v)
{
	char *word = strsep(line, " "), *end;

	if (word == NULL || !isdigit((unsigned char)*word) ||
	    word[strspn(word, "0123456789.")] != '\0')
		return false;
	*v = strtod(word, &end);
	return *end == '\0' && isfinite(*v);
}

/* `cpu NUMBER tasks tasks_sd spin spin_sd speed speed_sd`: the CPUs come in the list's order. */
static bool baseline_parse(char *line, struct calibration *c, int n)
{
	struct baseline b = {0};
	double id = 0, *const v[] = {&id,        &b.tasks, &b.tasks_sd, &b.spin,
				     &b.spin_sd, &b.speed, &b.speed_sd};
	size_t i;

	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (!next_number(&line, v[i]))
			return false;
	if (line != NULL || c->cpu == NULL || n >= c->cpus.n || id != c->cpus.id[n])
		return false;
	c->cpu[n] = b;
	return b.tasks < 1 && b.tasks_sd <= 1 && b.spin > 0 && b.spin <= 1 && b.spin_sd <= 1 &&
	       b.speed > 0;
}

static const char other_version[] = "was not made by this version's soaker";

/* `all windows tasks_sd spin_sd`: of the machine as a whole. */
static bool machine_parse(char *line, struct calibration *c)
{
	return next_number(&line, &c->windows) && next_number(&line, &c->all.tasks_sd) &&
	       next_number(&line, &c->all.spin_sd) && line == NULL && c->windows >= 2 &&
	       c->all.tasks_sd <= 1 && c->all.spin_sd <= 1;
}

/* One line after the first; *n counts the CPUs.  Keys of later versions are ignored. */
static const char *calibration_line(char *line, struct calibration *c, bool *version, int *n)
{
	char *key = strsep(&line, " ");
	bool ascend;
	double v;
	int i;

	if (line == NULL)
		return "is not a calibration";
	if (strcmp(key, "soaker") == 0) {
		*version = next_number(&line, &v) && line == NULL && v == SOAK_FORMAT;
		if (!*version)
			return other_version;
	} else if (strcmp(key, "machine") == 0) {
		snprintf(c->machine, sizeof(c->machine), "%s", line);
		make_printable(c->machine);
	} else if (strcmp(key, "cpus") == 0) {
		ascend = c->cpu == NULL && parse_cpus(line, &c->cpus) == NULL;
		for (i = 1; i < c->cpus.n; i++)
			ascend &= c->cpus.id[i] > c->cpus.id[i - 1];
		if (!ascend)
			return "has a bad CPU list";
		c->cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "calibration");
	} else if (strcmp(key, "all") == 0 && !machine_parse(line, c)) {
		return "has a bad line for all CPUs";
	} else if (strcmp(key, "cpu") == 0 && !baseline_parse(line, c, (*n)++)) {
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

/* Parses the whole text.  Returns NULL, or what is wrong: the caller then frees c->cpu. */
static const char *calibration_lines(char *text, struct calibration *c)
{
	char *line = strsep(&text, "\n");
	const char *why = NULL;
	bool version = false;
	double sum = 0;
	int n = 0;

	if (!next_number(&line, &c->total) || line != NULL)
		return "does not begin with a number of loops per second";
	while (why == NULL && (line = strsep(&text, "\n")) != NULL &&
	       (*line != '\0' || text != NULL))
		why = calibration_line(line, c, &version, &n);
	if (why != NULL)
		return why;
	if (!version)
		return other_version;
	if (c->cpu == NULL || n != c->cpus.n)
		return "lacks a CPU";
	if (c->windows == 0)
		machine_assume(c);
	while (n-- > 0)
		sum += (1 - c->cpu[n].tasks) * c->cpu[n].spin * c->cpu[n].speed;
	return !isfinite(sum) || fabs(sum - c->total) > 0.001 * sum ? "contradicts itself" : NULL;
}

const char *calibration_parse(const char *text, size_t len, struct calibration *c)
{
	const char *why;
	char *copy;
	size_t i;

	memset(c, 0, sizeof(*c));
	c->shared = true;
	if (len == 0)
		return "is empty";
	for (i = 0; i < len; i++) /* a message may print the text on a terminal */
		if (iscntrl((unsigned char)text[i]) && text[i] != '\n')
			return "is not a text file";
	copy = alloc_or_die(len + 1, 1, "calibration");
	memcpy(copy, text, len);
	why = calibration_lines(copy, c);
	free(copy);
	if (why != NULL) {
		free(c->cpu);
		c->cpu = NULL;
	}
	return why;
}

#define CALIBRATION_MAX (1024 * 1024) /* bytes: more than CPUS_MAX CPUs need */

/*
 * Reads the file whole, if it is a regular one: to open another may act on a device, or wake a
 * program that waits at a FIFO.  A descriptor of O_PATH does neither, and through it the kernel
 * opens the same file that was looked at.
 */
static char *calibration_read_or_die(const char *path, size_t *len, struct stat *file)
{
	char self[64], *text = alloc_or_die(1, CALIBRATION_MAX, path);
	int named = open_retry(path, O_PATH);
	struct stat st;
	FILE *f;

	if (named >= 0 &&
	    (fstat(named, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > CALIBRATION_MAX))
		die("%s is not a calibration file: run 'cyclesoak -C'", path);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", named);
	f = named < 0 ? NULL : fopen_retry(self);
	if (f == NULL)
		die("no calibration: %s: %s: run 'cyclesoak -C' here on the idle system", path,
		    strerror(errno));
	if (st.st_uid != 0 && st.st_uid != geteuid())
		warnx("%s belongs to another user (UID %u), who may have made up its figures: "
		      "run 'cyclesoak -C'",
		      path, st.st_uid);
	*file = st;
	*len = fread(text, 1, CALIBRATION_MAX, f);
	if (ferror(f) || fclose(f) != 0)
		die_errno("%s", path);
	close(named);
	return text;
}

/* When a file was written, of CLOCK_BOOTTIME.  One that is of the future was written now. */
static int64_t time_written(const struct stat *file)
{
	const int64_t age = (int64_t)clock_ns(CLOCK_REALTIME) -
			    file->st_mtim.tv_sec * INT64_C(1000000000);

	return (int64_t)clock_ns(CLOCK_BOOTTIME) - (age > 0 ? age : 0);
}

/* Formats a CPU list for a message, which has room for the beginning of a long one. */
static const char *cpus_brief(const struct cpus *cpus, char buf[100])
{
	if (!cpus_format(cpus, buf, 100))
		strcpy(buf + 100 - sizeof("..."), "...");
	return buf;
}

/*
 * Reads the file.  Returns false if it is a calibration that does not fit: `misfit` then has the
 * reason, and c only the CPUs.
 */
static bool calibration_load(struct calibration *c, const char *path, const struct cpus *want,
			     char misfit[DIE_MAX])
{
	char has[100], wants[100], machine[sizeof(c->machine)], *text;
	const char *why;
	struct stat file;
	size_t len;

	text = calibration_read_or_die(path, &len, &file);
	why = calibration_parse(text, len, c);
	free(text);
	c->taken_ns = time_written(&file);
	if (why != NULL && why != other_version)
		die("%s %s: run 'cyclesoak -C'", path, why);
	describe_machine(machine, sizeof(machine));
	if (why != NULL)
		snprintf(misfit, DIE_MAX, "%s %s: run 'cyclesoak -C'", path, why);
	else if (c->cpus.n != want->n ||
		 memcmp(c->cpus.id, want->id, (size_t)want->n * sizeof(want->id[0])) != 0)
		snprintf(misfit, DIE_MAX,
			 "%s is for CPUs %s, not for %s: run 'cyclesoak -C', or give the same CPUs "
			 "(-N, --on-cpus)",
			 path, cpus_brief(&c->cpus, has), cpus_brief(want, wants));
	else if (strcmp(machine, c->machine) != 0)
		snprintf(misfit, DIE_MAX,
			 "%s was made on another machine or kernel (%s): run 'cyclesoak -C'", path,
			 c->machine);
	else
		return true;
	free(c->cpu);
	*c = (struct calibration){.cpus = *want};
	return false;
}

void calibration_load_or_die(struct calibration *c, const char *path, const struct cpus *cpus)
{
	char misfit[DIE_MAX];

	if (!calibration_load(c, path, cpus, misfit))
		die("%s", misfit);
}

bool calibration_find_or_die(struct calibration *c, const char *path, const struct cpus *cpus)
{
	char misfit[DIE_MAX];
	struct stat st;

	if (path != NULL) {
		calibration_load_or_die(c, path, cpus);
		return true;
	}
	if (lstat(CALIBRATION_FILE, &st) != 0 && errno == ENOENT) {
		c->cpus = *cpus;
		return false;
	}
	if (calibration_load(c, CALIBRATION_FILE, cpus, misfit))
		return true;
	warnx("%s; own baselines are used", misfit);
	return false;
}
