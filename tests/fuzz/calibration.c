#include "lib/load/baseline.h"

#include "tests/fuzz/fuzz.h"

/*
 * The case is a file that anyone may have put there.  What is accepted is a baseline that can be
 * measured against, and is the same when it is written and read again.
 */

#define TEXT_OF(macro) #macro
#define TEXT(macro)    TEXT_OF(macro)
#define SOAKER         "soaker " TEXT(SOAK_FORMAT)

/* A number of at least 0, with as many digits as it takes to read the same number. */
static void put_number(struct text *t, double v)
{
	put(t, " %.*f", v > 0 && v < 1 ? 18 - (int)floor(log10(v)) : 18, v);
}

static void put_calibration(struct text *t, const struct calibration *c)
{
	const struct baseline *b;
	int i;

	put(t, "%.40f\n" SOAKER "\nmachine %s\ncpus ", c->total, c->machine);
	cpus_format(&c->cpus, t->s + t->len, CASE_MAX - t->len);
	t->len += strlen(t->s + t->len);
	put(t, "\nall %.9f %.9f %.9f\n", c->windows, c->all.tasks_sd, c->all.spin_sd);
	for (i = 0, b = c->cpu; i < c->cpus.n; i++, b++) {
		const double v[] = {b->tasks,   b->tasks_sd, b->spin,
				    b->spin_sd, b->speed,    b->speed_sd};
		size_t k;

		put(t, "cpu %d", c->cpus.id[i]);
		for (k = 0; k < sizeof(v) / sizeof(v[0]); k++)
			put_number(t, v[k]);
		put(t, "\n");
	}
}

static void writing_holds(const struct calibration *c)
{
	static struct calibration again;
	static struct text t;

	t.len = 0;
	put_calibration(&t, c);
	holds(calibration_parse(t.s, t.len, &again) == NULL,
	      "a calibration that is written is one");
	holds(again.cpus.n == c->cpus.n &&
		      memcmp(again.cpus.id, c->cpus.id,
			     (size_t)c->cpus.n * sizeof(c->cpus.id[0])) == 0 &&
		      memcmp(again.cpu, c->cpu, (size_t)c->cpus.n * sizeof(c->cpu[0])) == 0 &&
		      strcmp(again.machine, c->machine) == 0 &&
		      fabs(again.windows - c->windows) <= 1e-9 * c->windows &&
		      fabs(again.all.tasks_sd - c->all.tasks_sd) <= 1e-9 &&
		      fabs(again.all.spin_sd - c->all.spin_sd) <= 1e-9,
	      "a calibration that is written reads the same");
	free(again.cpu);
}

static void baselines_hold(const struct calibration *c)
{
	const struct baseline *b;
	int i;

	for (i = 0, b = c->cpu; i < c->cpus.n; i++, b++) {
		holds(b->tasks >= 0 && b->tasks < 1 && b->spin > 0 && b->spin <= 1 &&
			      b->speed > 0 && isfinite(b->speed) && b->tasks_sd >= 0 &&
			      b->spin_sd >= 0 && b->speed_sd >= 0 &&
			      isfinite(b->tasks_sd + b->spin_sd) && isfinite(b->speed_sd),
		      "a CPU's baseline is one");
	}
	holds(isfinite(c->windows) && c->windows >= 2 && c->all.tasks_sd >= 0 &&
		      c->all.spin_sd >= 0,
	      "the machine's deviations are those of two windows or more");
}

static bool run_calibration(const char *s, size_t len)
{
	static struct calibration c;
	const char *why = calibration_parse(s, len, &c);

	if (why != NULL) {
		holds(c.cpu == NULL, "a refusal leaves no baselines");
		reason_holds(why);
		return false;
	}
	holds(c.cpus.n > 0 && c.cpus.n <= CPUS_MAX && c.total == strtod(s, NULL),
	      "a calibration has CPUs, and begins with their total");
	baselines_hold(&c);
	if (c.cpus.n <= 64) /* of more it would be too long */
		writing_holds(&c);
	free(c.cpu);
	return true;
}

/* The line of a CPU; returns what it adds to the total. */
static double put_cpu(struct text *t, int id, double speed)
{
	size_t tasks = below(1000000) / (1 + below(100)), spin = 1 + below(1000000);

	speed *= 0.5 + (double)below(1000000) / 2e6;
	put(t, "cpu %d 0.%06zu 0.%06zu %zu.%06zu 0.%06zu ", id, tasks, below(1000000),
	    spin / 1000000, spin % 1000000, below(1000000));
	put(t, speed < 1e9 ? "%.9f 0\n" : "%.0f 0\n", speed);
	return (1 - (double)tasks / 1e6) * (double)spin / 1e6 * speed;
}

/* A CPU list of at most `most` ranges. */
static void put_cpus(struct text *t, int most)
{
	int id = one_in(8) ? (int)below(CPUS_MAX) : (int)below(8), n = 1 + (int)below((size_t)most),
	    i, last;

	if (one_in(2000)) { /* as many as there can be */
		for (i = 0; i < CPUS_MAX; i++)
			put(t, i > 0 ? ",%d" : "%d", i);
		return;
	}
	for (i = 0; i < n && id < CPUS_MAX; i++) {
		last = id + (int)below(one_in(64) ? CPUS_MAX : 4);
		put(t, i > 0 ? ",%d" : "%d", id);
		if (last > id && last < CPUS_MAX)
			put(t, "-%d", last);
		id = one_in(32) ? (int)below(8) : last + 1 + (int)below(4);
	}
}

static void make_calibration(struct text *t)
{
	static struct text lines;
	static struct cpus cpus;
	double speed = one_in(128) ? 1e-5 : one_in(128) ? 1.7e308 : 4.5e7, sum = 0;
	size_t list;
	int n, i;

	/* The first line is the sum of those of the CPUs, so they are made before it. */
	lines.len = 0;
	put(&lines, "\n" SOAKER "\nmachine host 6.1 CPU @ %zu GHz\ncpus ", below(9));
	list = lines.len;
	put_cpus(&lines, one_in(2) ? 1 : 2);
	lines.s[lines.len] = '\0';
	n = parse_cpus(lines.s + list, &cpus) == NULL ? cpus.n : 0;
	put(&lines, "\nall 16 0.002 0.001\n");
	if (n > 5 && !one_in(64))
		n = 5; /* it lacks CPUs then */
	for (i = 0; i < n; i++)
		sum += put_cpu(&lines, cpus.id[i], speed);
	put(t, "%.*f", sum < 1 ? 12 : 0, isfinite(sum) ? sum : 1e308);
	put_bytes(t, lines.s, lines.len);
}

const struct fuzz_target calibration_target = {
	"calibration", false, run_calibration, make_calibration,
	"\n|" SOAKER "\n|soaker \n|machine |all |all 2 0 0|cpus |cpu |cpu 0 0 0 1 0 1 0\n|"
	"later x\n| |,|-|.|\033[2J|\t|\r\n|\200"};
