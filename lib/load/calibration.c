#include "lib/load/calibration.h"

#include <sys/utsname.h>

#include "lib/base/files.h"
#include "lib/load/baseline.h"

#define CAL_ROUNDS  5 /* of a second each */
#define CAL_WINDOWS 4 /* of a round */

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

/* Measures rounds of a second, and prints each. */
static void calibrate(struct soaker *s, struct calibration *c)
{
	const struct instrument in = {&by_soaking, .soaker = s};
	struct windows *w = windows_start(&in, &c->cpus);
	const struct load_sample *from, *to;
	int i;

	while (w->n < CAL_ROUNDS * CAL_WINDOWS) {
		for (i = 0; i < CAL_WINDOWS; i++)
			windows_add(w);
		from = windows_at(w, w->n - CAL_WINDOWS, c->cpus.n);
		to = windows_at(w, w->n, c->cpus.n);
		report("calibrating: %.0f loops/sec\n",
		       (to->work - from->work) * c->cpus.n / (to->time - from->time));
	}
	windows_store(w, w->n, c);
	for (i = 0; i < c->cpus.n; i++)
		c->total += (1 - c->cpu[i].tasks) * c->cpu[i].spin * c->cpu[i].speed;
	free(w);
}

void calibrate_or_die(const struct cpus *cpus, const char *path, bool force, double wait)
{
	static const char busy[] = "the machine is not idle: other programs took %.1f%% of it "
				   "(see top(1)): %s";
	struct calibration c = {.cpus = *cpus};
	struct lock_holder h;
	struct soaker *s;
	const char *why;
	int held;

	path = path != NULL ? path : CALIBRATION_FILE;
	file_replace_or_die(path, NULL, NULL); /* before it takes five seconds */
	describe_machine(c.machine, sizeof(c.machine));
	limits_warn(cpus->n == sysconf(_SC_NPROCESSORS_ONLN));
	why = soaker_start(&s, &c.cpus, wait, false, &h);
	if (why != NULL)
		die("%s", why);
	calibrate(s, &c);
	soaker_stop(s);
	held = baseline_starved(&c);
	if (c.others > CAL_BUSY && !force)
		die(busy, 100 * c.others,
		    "stop them, or calibrate while it is idle, such as after a boot: that "
		    "calibration still holds when it is busy");
	if (held >= 0)
		die("CPU %d was fully busy: stop what has the CPU, and repeat", cpus->id[held]);
	if (c.others > CAL_BUSY)
		warnx(busy, 100 * c.others,
		      c.others > CAL_FULL ? "the load is not measured by this calibration"
					  : "loads against this calibration are too low");
	file_replace_or_die(path, calibration_print, &c);
	report("calibrated OK.  %.0f loops/sec\n", c.total);
	free(c.cpu);
}

/*
 * Reading the file.
 */

#define MOST 1e300 /* of a number that is not infinite */

static bool is_within(double v, double most)
{
	return v >= 0 && v <= most;
}

static const char damaged[] = "is not a calibration file";

/* Reads the lines after the first two. */
static bool lines_read(FILE *f, struct calibration *c)
{
	char list[CPU_LIST_MAX], rest;
	struct baseline *b;
	int i, id;

	/* NOLINTNEXTLINE(cert-err34-c): all numbers are checked */
	if (fscanf(f, " machine %255[^\n] cpus %65535[0-9,-] all %lf %lf %lf", c->machine, list,
		   &c->windows, &c->all.tasks_sd, &c->all.spin_sd) != 5 ||
	    parse_cpus(list, &c->cpus) != NULL || !is_within(c->windows, MOST) || c->windows < 2 ||
	    !is_within(c->all.tasks_sd, 1) || !is_within(c->all.spin_sd, 1))
		return false;
	c->cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "calibration");
	for (i = 0, b = c->cpu; i < c->cpus.n; i++, b++) {
		/* NOLINTNEXTLINE(cert-err34-c): all numbers are checked */
		if (fscanf(f, " cpu %d %lf %lf %lf %lf %lf %lf", &id, &b->tasks, &b->tasks_sd,
			   &b->spin, &b->spin_sd, &b->speed, &b->speed_sd) != 7 ||
		    id != c->cpus.id[i] || !is_within(b->tasks, 1) || b->tasks == 1 ||
		    !is_within(b->tasks_sd, 1) || !is_within(b->spin, 1) || b->spin == 0 ||
		    !is_within(b->spin_sd, 1) || !is_within(b->speed, MOST) || b->speed == 0 ||
		    !is_within(b->speed_sd, MOST))
			return false;
		c->all.tasks += b->tasks / c->cpus.n;
		c->all.spin += b->spin / c->cpus.n;
	}
	c->others = c->all.tasks;
	return fscanf(f, " %c", &rest) == EOF;
}

const char *calibration_read(FILE *f, struct calibration *c)
{
	long version;
	int n;

	*c = (struct calibration){.kind = &by_soaking, .of_file = true};
	/* NOLINTNEXTLINE(cert-err34-c): all numbers are checked */
	n = fscanf(f, "%lf soaker %ld", &c->total, &version);
	if (n > 0 && is_within(c->total, MOST)) {
		if (n < 2 || version != SOAK_FORMAT)
			return "was not made by this version's soaker";
		if (lines_read(f, c))
			return NULL;
	}
	free(c->cpu);
	c->cpu = NULL;
	return damaged;
}

bool calibration_find_or_die(struct calibration *c, const char *path, bool needed)
{
	const char *file = path != NULL ? path : CALIBRATION_FILE, *why;
	const bool must_fit = path != NULL || needed;
	const struct cpus cpus = c->cpus;
	char machine[sizeof(c->machine)];
	FILE *f;
	int fd;

	if (!must_fit && faccessat(AT_FDCWD, file, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	fd = open_retry(file, O_RDONLY | O_NONBLOCK); /* a FIFO would block until it has a writer */
	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (f == NULL)
		die("cannot read the calibration %s: %s: run 'cyclesoak -C' here on the idle machine, or give --idle",
		    file, strerror(errno));
	why = calibration_read(f, c);
	/* cppcheck-suppress nullPointer ; die() does not return */
	fclose(f);
	describe_machine(machine, sizeof(machine));
	if (why == NULL && (c->cpus.n != cpus.n ||
			    memcmp(c->cpus.id, cpus.id, (size_t)cpus.n * sizeof(cpus.id[0])) != 0))
		why = "is for other CPUs than these (-N, --on-cpus)";
	else if (why == NULL && strcmp(machine, c->machine) != 0)
		why = "was made on another machine or kernel";
	if (why == NULL)
		return true;
	if (must_fit || why == damaged)
		die("%s %s: run 'cyclesoak -C'", file, why);
	warnx("%s %s: run 'cyclesoak -C'; own baselines are used", file, why);
	free(c->cpu);
	*c = (struct calibration){.cpus = cpus};
	return false;
}
