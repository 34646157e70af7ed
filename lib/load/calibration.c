#include "lib/load/calibration.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/load/baseline.h"
#include "lib/load/limits.h"

/* Host name, kernel and CPU model: what a calibration must not be carried between. */
static void describe_machine(char *buf, size_t size)
{
	FILE *f = fopen_retry("/proc/cpuinfo");
	char line[256], *model = NULL;
	struct utsname u;

	uname(&u);
	while (f != NULL && model == NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "model name", 10) == 0 && (model = strchr(line, ':')) != NULL) {
			model[strcspn(model, "\n")] = '\0';
			model += 1 + strspn(model + 1, " ");
		}
	snprintf(buf, size, "%s %s %s", u.nodename, u.release,
		 model != NULL && *model != '\0' ? model : u.machine);
	make_printable(buf);
	if (f != NULL)
		fclose(f);
}

static void calibration_print(FILE *f, const struct calibration *c)
{
	const struct baseline *b;
	char cpus[CPU_LIST_MAX];
	int i;

	cpus_format(&c->cpus, cpus, sizeof(cpus)); /* ascending CPUs always fit */
	fprintf(f, "%.0f\nsoaker %d\nmachine %s\ncpus %s\n", c->total, SOAK_FORMAT, c->machine,
		cpus);
	for (i = 0; i < c->cpus.n; i++) {
		b = &c->cpu[i];
		fprintf(f, "cpu %d %.6f %.6f %.6f %.6f %.1f %.1f\n", c->cpus.id[i], b->tasks,
			b->tasks_sd, b->spin, b->spin_sd, b->speed, b->speed_sd);
	}
}

/* A file beside `path` that has no name yet, where the file system has those: open(2). */
static int open_unnamed(const char *path)
{
	char *copy = strdup(path);
	int fd;

	if (copy == NULL)
		return -1;
	fd = open_retry(dirname(copy), O_TMPFILE | O_WRONLY);
	free(copy);
	return fd;
}

static int fsync_retry(int fd)
{
	int r;

	do
		r = fsync(fd);
	while (r != 0 && errno == EINTR);
	return r;
}

/* Gives it a name that no other file has: in tmp, the end of which is there to be changed. */
static int give_name(int fd, char *tmp)
{
	char *end = tmp + strlen(tmp) - strlen("XXXXXX"), self[64];
	uint64_t seed = now_ns() / 1000;
	int r = -1, i;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (i = 0; r != 0 && (i == 0 || (errno == EEXIST && i < 100)); i++) {
		snprintf(end, sizeof("XXXXXX"), "%06llx",
			 (unsigned long long)(seed + (uint64_t)i) & 0xffffff);
		r = linkat(AT_FDCWD, self, AT_FDCWD, tmp, AT_SYMLINK_FOLLOW);
	}
	return r;
}

/*
 * Writes to a new file, whole, before that takes the name: a reader sees the old file or all of the
 * new.  *named says whether the new one has the name tmp, which an unnamed one is given last.
 */
static int calibration_write(const struct calibration *c, char *tmp, bool *named, int fd,
			     const char *path)
{
	mode_t mask = umask(0);
	FILE *f = fdopen_retry(fd, "w");
	int r = 0;

	umask(mask);
	if (f == NULL)
		return -1;
	calibration_print(f, c);
	if (fchmod(fd, 0666 & ~mask) != 0 || fflush(f) != 0 || fsync_retry(fd) != 0)
		r = errno;
	if (r == 0 && !*named && give_name(fd, tmp) != 0)
		r = errno;
	*named |= r == 0;
	if (fclose(f) != 0 && r == 0)
		r = errno;
	if (r == 0 && rename(tmp, path) != 0)
		r = errno;
	errno = r;
	return r == 0 ? 0 : -1;
}

static void calibration_save_or_die(const struct calibration *c, const char *path)
{
	sigset_t all, old;
	struct stat st;
	bool named;
	char *tmp;
	int fd, e;

	/* A symbolic link is replaced and not followed; a device or directory is neither. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		die("cannot write %s: not a regular file", path);
	if (asprintf(&tmp, "%s.XXXXXX", path) < 0)
		die_errno("%s", path);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old); /* no signal may leave the new file behind */
	fd = open_unnamed(path);
	named = fd < 0;
	if (named)
		fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		die_errno("cannot write %s", path);
	if (calibration_write(c, tmp, &named, fd, path) != 0) {
		e = errno;
		if (named)
			unlink(tmp);
		die("cannot write %s: %s", path, strerror(e));
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	free(tmp);
}

void calibrate_or_die(int n_cpus, const char *path, bool force)
{
	struct calibration *c = calloc(1, sizeof(*c));
	struct soaker *s;
	double tasks;

	if (c == NULL)
		die_errno("calibration");
	cpus_to_soak(n_cpus, &c->cpus);
	calibration_alloc(c);
	describe_machine(c->machine, sizeof(c->machine));
	limits_warn();
	s = soaker_start_or_die(&c->cpus);
	tasks = baseline_calibrate(s, c);
	soaker_stop(s);
	if (tasks > CAL_BUSY && !force)
		die("the machine is not idle: other programs took %.1f%% of it (see top(1)): stop them, "
		    "or calibrate all the same with --force",
		    100 * tasks);
	if (tasks > CAL_BUSY)
		warnx("the machine is not idle: other programs took %.1f%% of it (see top(1))",
		      100 * tasks);
	baseline_check_or_die(c);
	calibration_save_or_die(c, path);
	report("calibrated OK.  %.0f loops/sec\n", c->total);
	free(c->cpu);
	free(c);
}

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

static bool cpus_ascend(const struct cpus *cpus)
{
	int i;

	for (i = 1; i < cpus->n; i++)
		if (cpus->id[i] <= cpus->id[i - 1])
			return false;
	return true;
}

/* `cpu NUMBER tasks tasks_sd spin spin_sd speed speed_sd`: the CPUs come in the list's order. */
static bool baseline_parse(char *line, struct calibration *c, int n)
{
	struct baseline *b;
	double id;

	if (c->cpu == NULL || n >= c->cpus.n)
		return false;
	b = &c->cpu[n];
	return next_number(&line, &id) && id == c->cpus.id[n] && next_number(&line, &b->tasks) &&
	       next_number(&line, &b->tasks_sd) && next_number(&line, &b->spin) &&
	       next_number(&line, &b->spin_sd) && next_number(&line, &b->speed) &&
	       next_number(&line, &b->speed_sd) && line == NULL && b->tasks < 1 && b->spin > 0 &&
	       b->spin <= 1 && b->speed > 0;
}

static const char other_version[] = "was not made by this version's soaker";

/* One line after the first; *n counts the CPUs.  Keys of later versions are passed over. */
static const char *calibration_line(char *line, struct calibration *c, bool *version, int *n)
{
	char *key = strsep(&line, " ");
	double v;

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
		if (c->cpu != NULL || parse_cpus(line, &c->cpus) != NULL || !cpus_ascend(&c->cpus))
			return "has a bad CPU list";
		calibration_alloc(c);
	} else if (strcmp(key, "cpu") == 0) {
		if (!baseline_parse(line, c, *n))
			return "has a bad line for a CPU";
		++*n;
	}
	return NULL;
}

/* All of it, but leaves what it allocated to its caller when something is wrong. */
static const char *calibration_lines(char *text, struct calibration *c)
{
	bool version = false;
	double sum = 0;
	int n = 0;
	char *line = strsep(&text, "\n");
	const char *why = NULL;

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
	if (len == 0)
		return "is empty";
	for (i = 0; i < len; i++) /* what it says may come to a terminal */
		if (iscntrl((unsigned char)text[i]) && text[i] != '\n')
			return "is not a text file";
	copy = strndup(text, len);
	if (copy == NULL)
		return strerror(errno);
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
 * Opens it to be read, if it is a regular file: opening another may act on a device or wake up who
 * waits at a FIFO.  That is found out by a descriptor of which the kernel opens the same file.
 */
static int calibration_open_or_die(const char *path)
{
	int named = open_retry(path, O_PATH), fd;
	struct stat st;
	char self[64];

	if (named < 0)
		die("no calibration: %s: %s: run 'cyclesoak -C' here on the idle system", path,
		    strerror(errno));
	if (fstat(named, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > CALIBRATION_MAX)
		die("%s is not a calibration file: run 'cyclesoak -C'", path);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", named);
	fd = open_retry(self, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		die("no calibration: %s: %s: run 'cyclesoak -C' here on the idle system", path,
		    strerror(errno));
	close(named);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		warnx("%s belongs to another user (UID %u), who may have made up its figures: "
		      "run 'cyclesoak -C'",
		      path, st.st_uid);
	return fd;
}

/* Reads the file whole; like every error here, what cannot be read says what to run. */
static char *calibration_read_or_die(const char *path, size_t *len)
{
	int fd = calibration_open_or_die(path);
	char *text = malloc(CALIBRATION_MAX);

	if (text == NULL || file_read(fd, text, CALIBRATION_MAX, len) != 0)
		die_errno("%s", path);
	close(fd);
	return text;
}

/* A message has room for the beginning of a long list. */
static const char *cpus_brief(const struct cpus *cpus, char buf[100])
{
	if (!cpus_format(cpus, buf, 100))
		strcpy(buf + 100 - sizeof("..."), "...");
	return buf;
}

void calibration_load_or_die(struct calibration *c, const char *path, int n_cpus)
{
	struct cpus *want = malloc(sizeof(*want));
	char has[100], wants[100], machine[sizeof(c->machine)], *text;
	const char *why;
	size_t len;

	if (want == NULL)
		die_errno("calibration");
	cpus_to_soak(n_cpus, want);
	text = calibration_read_or_die(path, &len);
	why = calibration_parse(text, len, c);
	if (why != NULL)
		die("%s %s: run 'cyclesoak -C'", path, why);
	if (c->cpus.n != want->n ||
	    memcmp(c->cpus.id, want->id, (size_t)want->n * sizeof(want->id[0])) != 0)
		die("%s is for CPUs %s, not for %s: run 'cyclesoak -C', or give its -N", path,
		    cpus_brief(&c->cpus, has), cpus_brief(want, wants));
	describe_machine(machine, sizeof(machine));
	if (strcmp(machine, c->machine) != 0)
		warnx("%s was made on another machine or kernel (%s): run 'cyclesoak -C'", path,
		      c->machine);
	free(text);
	free(want);
}
