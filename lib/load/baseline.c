#include "lib/load/baseline.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include "lib/load/cputime.h"
#include "lib/load/keeper.h"
#include "lib/load/statistics.h"

#define CAL_WINDOWS     4  /* windows of a round: a second */
#define CAL_ROUNDS      10 /* rounds at most */
#define CAL_BUSY_ROUNDS 2  /* busy rounds in a row that show a busy machine: one may pass */
#define WINDOWS_MAX     (CAL_ROUNDS * CAL_WINDOWS)

/* Reads what the soaker of each CPU has counted, and what the host took; of all of them only that. */
static void read_all(const struct soaker *s, const struct cpus *cpus, struct load_sample *at)
{
	const int n = cpus->n;
	cpu_times *times = alloc_or_die((size_t)n + 1, sizeof(*times), "calibration");
	uint64_t ns;
	int i;

	cpu_times_read(cpus, n == s->online, times, &ns);
	for (i = 0; i <= n; i++) {
		at[i] = (struct load_sample){.steal = 0};
		if (i < n)
			soak_count(s, i, &at[i]);
		at[i].steal = times[i][CPU_STEAL];
	}
	free(times);
}

/* A measurement in progress, window after window. */
struct windows {
	const struct soaker *soaker;
	const struct cpus *cpus;
	int n; /* the number of windows so far */
	struct load_sample
		at[]; /* of each CPU and of all, before the first and after each window */
};

static struct load_sample *windows_at(struct windows *w, int k)
{
	return &w->at[(size_t)k * ((size_t)w->cpus->n + 1)];
}

/* Begins a measurement of these CPUs, to be freed by free(3). */
static struct windows *windows_start(const struct soaker *s, const struct cpus *cpus)
{
	const size_t samples = ((size_t)cpus->n + 1) * (WINDOWS_MAX + 1);
	struct windows *w = alloc_or_die(1, sizeof(*w) + samples * sizeof(w->at[0]), "calibration");

	w->soaker = s;
	w->cpus = cpus;
	read_all(s, cpus, w->at);
	return w;
}

/* Measures one more window. */
static void windows_add(struct windows *w)
{
	sleep_ns((uint64_t)(BASELINE_WINDOW * 1e9));
	soaker_check_or_die(w->soaker);
	w->n++;
	read_all(w->soaker, w->cpus, windows_at(w, w->n));
}

/* What the soaker of a CPU counted in n windows from the k-th on: seconds, and turns. */
static struct load_sample counted(struct windows *w, int cpu, int k, int n)
{
	const struct load_sample *from = &windows_at(w, k)[cpu], *to = &windows_at(w, k + n)[cpu];
	const double time = to->time - from->time;

	return (struct load_sample){.time = time,
				    .tasks = fmin(time, fmax(0, to->tasks - from->tasks)),
				    .host = to->host - from->host,
				    .spin = fmax(0, to->spin - from->spin),
				    .work = to->work - from->work,
				    .steal = steal_between(from->steal, to->steal)};
}

/* The sum of the last n windows of all CPUs. */
static struct load_sample windows_sum(struct windows *w, int n)
{
	struct load_sample sum = {.time = 0}, one;
	int i;

	for (i = 0; i < w->cpus->n; i++) {
		one = counted(w, i, w->n - n, n);
		sum.time += one.time;
		sum.tasks += one.tasks;
		sum.host += one.host;
		sum.spin += one.spin;
		sum.work += one.work;
	}
	return sum;
}

/* Stores the means of the CPUs' shares. */
static void store_means(struct calibration *c)
{
	int i;

	c->all.tasks = c->all.spin = 0;
	for (i = 0; i < c->cpus.n; i++) {
		c->all.tasks += c->cpu[i].tasks / c->cpus.n;
		c->all.spin += c->cpu[i].spin / c->cpus.n;
	}
	c->others = c->all.tasks;
}

/*
 * Stores the baselines of the last n windows into c, whose cpu[] it allocates.  `spin` is the share of the
 * time that tasks and the host left to a soaker.  The standard deviations of the machine are those of the mean
 * of its CPUs in a window.
 */
static void windows_store(struct windows *w, int n, struct calibration *c)
{
	const int cpus = w->cpus->n, first = w->n - n;
	double tasks[WINDOWS_MAX], spin[WINDOWS_MAX], speed[WINDOWS_MAX];
	double all_tasks[WINDOWS_MAX] = {0}, all_spin[WINDOWS_MAX] = {0};
	double took, doubt, left, mean;
	struct load_sample all, one;
	struct baseline *b;
	int i, k;

	c->cpu = alloc_or_die((size_t)cpus, sizeof(*c->cpu), "calibration");
	c->total = 0;
	c->windows = n;
	c->taken_ns = (int64_t)clock_ns(CLOCK_BOOTTIME);
	for (i = 0, b = c->cpu; i < cpus; i++, b++) {
		all = counted(w, i, first, n);
		took = windows_at(w, w->n)[i].steal > 0
			       ? host_took(all.host, all.steal, all.spin, all.time, &doubt)
			       : 0;
		for (k = 0; k < n; k++) {
			one = counted(w, i, first + k, 1);
			left = one.time - one.tasks -
			       took * (all.host > 0 ? one.host / all.host : one.time / all.time);
			tasks[k] = one.tasks / one.time;
			spin[k] = left > 0 ? fmin(1, one.spin / left) : 0;
			speed[k] = one.spin > 0 ? one.work / one.spin : 0;
			all_tasks[k] += tasks[k] / cpus;
			all_spin[k] += spin[k] / cpus;
		}
		mean_of(tasks, n, &b->tasks, &b->tasks_sd);
		mean_of_middle(spin, n, &b->spin, &b->spin_sd);
		mean_of_middle(speed, n, &b->speed, &b->speed_sd);
		c->total += (1 - b->tasks) * b->spin * b->speed;
	}
	mean_of(all_tasks, n, &mean, &c->all.tasks_sd);
	mean_of_middle(all_spin, n, &mean, &c->all.spin_sd);
	store_means(c);
}

int baseline_windows(double seconds)
{
	return (int)(fmin(fmax(seconds / 4, 1), 5) / BASELINE_WINDOW);
}

static bool measure(const struct instrument *in, struct calibration *c, double seconds,
		    const _Atomic int *stop)
{
	const int n = baseline_windows(seconds);
	struct windows *w;
	bool whole;

	soaker_limits(in->soaker, &c->begin);
	w = windows_start(in->soaker, &c->cpus);
	while (w->n < n && (stop == NULL || *stop == 0))
		windows_add(w);
	whole = w->n == n;
	if (whole)
		windows_store(w, n, c);
	free(w);
	soaker_limits(in->soaker, &c->end);
	return whole;
}

static void sample(const struct instrument *in, const struct calibration *c,
		   struct load_sample *sum, struct load_sample *each)
{
	const int n = c->cpus.n;
	const struct baseline *b = c->cpu;
	struct load_sample *at = alloc_or_die((size_t)n + 1, sizeof(*at), "load"), *one;
	struct limits_mark limits;

	soaker_check_or_die(in->soaker);
	soaker_limits(in->soaker, &limits); /* before the clock, as it takes some time */
	read_all(in->soaker, &c->cpus, at);
	*sum = (struct load_sample){.steal = at[n].steal, .limits = limits};
	for (one = at; one < at + n; one++, b++) {
		one->spin /= b->spin;
		one->work /= b->spin * b->speed;
		one->limits = limits;
		sum->ns = one->ns;
		sum->time += one->time;
		sum->spin += one->spin;
		sum->work += one->work;
		sum->tasks += one->tasks;
		sum->host += one->host;
		sum->switches += one->switches;
	}
	if (each != NULL)
		memcpy(each, at, (size_t)n * sizeof(*each));
	free(at);
}

const struct instrument_kind by_soaking = {.sample = sample, .baseline = measure};

/* By how much the shares of the last CAL_AGREE of n rounds differ; INFINITY for fewer rounds. */
static double baseline_spread(const double *share, int n)
{
	double min = INFINITY, max = -INFINITY;
	int i;

	if (n < CAL_AGREE)
		return INFINITY;
	for (i = n - CAL_AGREE; i < n; i++) {
		min = fmin(min, share[i]);
		max = fmax(max, share[i]);
	}
	return max - min;
}

/* Makes *a the mean of two values; widens *sd by their difference, which it returns. */
static double merge(double *a, double b, double *sd, double b_sd)
{
	double difference = b - *a;

	*sd = fmax(fmax(*sd, b_sd), fabs(difference) / 2);
	*a += difference / 2;
	return difference;
}

double baseline_merge(struct calibration *c, const struct calibration *other)
{
	const struct baseline *o = other->cpu;
	struct baseline *b = c->cpu;
	double drift = 0;
	int i;

	c->others = fmax(c->others, other->others);
	/* The mean of both is as certain as a mean of this number of windows. */
	c->windows = 4 / (1 / c->windows + 1 / other->windows);
	for (i = 0; i < c->cpus.n; i++, b++, o++) {
		b->drift = merge(&b->tasks, o->tasks, &b->tasks_sd, o->tasks_sd) -
			   merge(&b->spin, o->spin, &b->spin_sd, o->spin_sd);
		drift += b->drift / c->cpus.n;
		merge(&b->speed, o->speed, &b->speed_sd, o->speed_sd);
		b->step = hypot(b->step, o->step) / 2;
	}
	c->all.step = hypot(c->all.step, other->all.step) / 2;
	if (c->lines > 0)
		drift = other->all.tasks - c->all.tasks;
	c->all.drift = drift;
	/* The windows of both deviate from the mean of both. */
	c->all.tasks_sd = hypot(hypot(c->all.tasks_sd, other->all.tasks_sd) / sqrt(2),
				(c->all.tasks - other->all.tasks) / 2);
	c->all.tasks = (c->all.tasks + other->all.tasks) / 2;
	c->all.spin = (c->all.spin + other->all.spin) / 2;
	c->all.spin_sd = fmax(fmax(c->all.spin_sd, other->all.spin_sd), fabs(drift) / 2);
	return drift;
}

int baseline_held(const struct calibration *c)
{
	int i;

	for (i = 0; i < c->cpus.n; i++)
		if (c->cpu[i].spin <= 0 || c->cpu[i].speed <= 0)
			return i;
	return -1;
}

void baseline_warn_held(const struct calibration *c, const char *when, const char *what,
			const char *result)
{
	char busiest[BUSIEST_STRLEN];

	busiest_find(busiest);
	warnx("CPU %d left its soaker no time %s %s: %s%s", c->cpus.id[baseline_held(c)], when,
	      what, result, busiest);
}

/*
 * The file.
 */

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

/* The rounds of a calibration so far. */
struct rounds {
	double share[CAL_ROUNDS]; /* of the time that tasks left */
	int n, busy;              /* their number, and that of the busy ones at the end */
	double spread;            /* by how much the last four differ, in shares of load */
};

/* Adds a round.  Returns whether another one is needed: the last four do not agree, and the last two were not busy. */
static bool rounds_add(struct rounds *r, double share, bool is_busy)
{
	r->share[r->n++] = share;
	r->busy = is_busy ? r->busy + 1 : 0;
	r->spread = baseline_spread(r->share, r->n);
	return r->spread > CAL_TOLERANCE && r->n < CAL_ROUNDS && r->busy < CAL_BUSY_ROUNDS;
}

/*
 * Measures rounds of a second, and prints each.  A round is busy in which other tasks had more than the share `most`.
 * *spread is by how much the last four rounds differ: above CAL_TOLERANCE they do not agree.
 */
static void calibrate(const struct soaker *s, struct calibration *c, double most, double *spread)
{
	struct windows *w = windows_start(s, &c->cpus);
	struct rounds r = {.n = 0};
	struct load_sample sum;
	double left;

	do {
		while (w->n < (r.n + 1) * CAL_WINDOWS)
			windows_add(w);
		sum = windows_sum(w, CAL_WINDOWS);
		report("calibrating: %.0f loops/sec\n", sum.work * c->cpus.n / sum.time);
		left = sum.spin + fmax(0, sum.host); /* it may be NAN */
	} while (rounds_add(&r, left / sum.time, sum.tasks / sum.time > most));
	*spread = r.spread;
	windows_store(w, (r.busy < CAL_BUSY_ROUNDS ? CAL_AGREE : r.busy) * CAL_WINDOWS, c);
	free(w);
}

void calibrate_or_die(const struct cpus *cpus, const char *path, bool force, double wait)
{
	static const char busy[] = "the machine is not idle: other programs took %.1f%% of it "
				   "(see top(1)): %s";
	struct calibration c = {.cpus = *cpus};
	struct lock_holder h;
	char why[DIE_MAX];
	struct soaker *s;
	double spread;
	int held;

	describe_machine(c.machine, sizeof(c.machine));
	limits_warn(cpus->n == sysconf(_SC_NPROCESSORS_ONLN));
	s = soaker_start(&c.cpus, wait, false, &h, why);
	if (s == NULL)
		die("%s", why);
	calibrate(s, &c, force ? INFINITY : CAL_BUSY, &spread);
	soaker_stop(s);
	held = baseline_held(&c);
	if (c.others > CAL_BUSY && !force)
		die(busy, 100 * c.others,
		    "stop them, or calibrate while it is idle, such as after a boot: that "
		    "calibration still holds when it is busy");
	if (held >= 0)
		die("CPU %d left its soaker no time: stop what has the CPU, and repeat",
		    cpus->id[held]);
	if (spread > CAL_TOLERANCE)
		warnx("the machine is unsteady: the last rounds differ by %.1f points of load: "
		      "calibrate again",
		      100 * spread);
	if (c.others > CAL_BUSY)
		warnx(busy, 100 * c.others,
		      c.others > CAL_FULL ? "no load is reported against this calibration"
					  : "loads against this calibration are too low");
	file_replace_or_die(path != NULL ? path : CALIBRATION_FILE, calibration_print, &c);
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
	for (i = 0, b = c->cpu; i < c->cpus.n; i++, b++)
		/* NOLINTNEXTLINE(cert-err34-c): all numbers are checked */
		if (fscanf(f, " cpu %d %lf %lf %lf %lf %lf %lf", &id, &b->tasks, &b->tasks_sd,
			   &b->spin, &b->spin_sd, &b->speed, &b->speed_sd) != 7 ||
		    id != c->cpus.id[i] || !is_within(b->tasks, 1) || b->tasks == 1 ||
		    !is_within(b->tasks_sd, 1) || !is_within(b->spin, 1) || b->spin == 0 ||
		    !is_within(b->spin_sd, 1) || !is_within(b->speed, MOST) || b->speed == 0 ||
		    !is_within(b->speed_sd, MOST))
			return false;
	return fscanf(f, " %c", &rest) == EOF;
}

const char *calibration_read(FILE *f, struct calibration *c)
{
	long version;
	int n;

	*c = (struct calibration){.shared = true};
	/* NOLINTNEXTLINE(cert-err34-c): all numbers are checked */
	n = fscanf(f, "%lf soaker %ld", &c->total, &version);
	if (n > 0 && is_within(c->total, MOST)) {
		if (n < 2 || version != SOAK_FORMAT)
			return "was not made by this version's soaker";
		if (lines_read(f, c)) {
			store_means(c);
			return NULL;
		}
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
		die("cannot read the calibration %s: %s: run 'cyclesoak -C' here on the idle machine",
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
