#include "lib/load/calibration.h"

#include "lib/load/baseline.h"
#include "lib/load/soaker.h"

static struct machine {
	double others; /* the share of other programs */
	int cpus;
	bool is_full, force, prints; /* the last CPU has no time; --force; to stdout */
	const char *why;             /* soaking is not possible; NULL: it is */
} the;

static struct windows *start_windows(const struct cpus *cpus)
{
	const size_t samples = (WINDOWS_MAX + 1) * ((size_t)cpus->n + 1);
	struct windows *w = alloc_or_die(1, sizeof(*w) + samples * sizeof(w->at[0]), "windows");

	w->cpus = cpus;
	return w;
}

static void add_window(struct windows *w)
{
	const int n = ++w->n * (w->cpus->n + 1) + w->cpus->n;

	w->at[n].time = 0.25 * w->cpus->n * w->n;
	w->at[n].work = w->n * w->n;
}

static void store_windows(int n, struct calibration *c)
{
	int i;

	c->cpu = alloc_or_die((size_t)c->cpus.n, sizeof(*c->cpu), "CPUs");
	for (i = 0; i < c->cpus.n; i++)
		c->cpu[i] = (struct baseline){.tasks = 0.25, .spin = 0.8, .speed = 1000 << i};
	c->cpu[i - 1].spin *= !the.is_full;
	c->windows = n;
	c->others = the.others;
}

/* The part itself, beside that machine. */
#define sysconf(what)      2
#define NOTE(...)          fprintf(stderr, __VA_ARGS__)
#define limits_warn(whole) NOTE("limits of %s, ", (whole) ? "all" : "some")
#define soaker_start(s, cpus, wait, parks, h)                                                      \
	(*(s) = NULL, *(h) = (struct lock_holder){.pid = -1},                                      \
	 NOTE("start, wait %g%s, ", wait, (parks) ? ", park" : ""), the.why)
#define soaker_stop(s)          NOTE("stop\n")
#define windows_start(in, cpus) (NOTE("by %s, ", (in)->kind->name), start_windows(cpus))
#define windows_add(w)          add_window(w)
#define windows_store(w, n, c)  store_windows(n, c)
#include "lib/load/calibration.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

#define TEXT_OF(macro) #macro
#define TEXT(macro)    TEXT_OF(macro)
#define FORMAT         TEXT(SOAK_FORMAT)
#define SOAKER         "soaker " FORMAT

/* A machine of two CPUs that are not neighbours. */
static const char good[] = "2000\n" SOAKER "\nmachine m 1 x\ncpus 1,4\nall 2 0.250000 0.125000\n"
			   "cpu 1 0.500000 0.200000 0.510000 0.100000 4000.0 1.0\n"
			   "cpu 4 0.000000 0.000000 1.000000 0.000000 1000.0 0.0\n";

/* Returns why it is none; an empty text: it is one. */
static const char *parse(const char *text, size_t len, struct calibration *c)
{
	FILE *const f = fmemopen((char *)text, len, "r");
	const char *const why = calibration_read(f, c);

	fclose(f);
	return why != NULL ? why : "";
}

static void test_good(void)
{
	struct calibration c;
	size_t len, accepted = 0;
	char text[512], *put;

	ok(*parse(good, strlen(good) - 1, &c) == '\0' && c.others == 0.25 && c.of_file,
	   "a calibration is read even if it lacks its last newline, and has a mean of tasks");
	capture(STDOUT_FILENO);
	calibration_print(stdout, &c);
	is(captured(), good, "a calibration is the same when it is read and written");
	free(c.cpu);
	for (len = 1; len < strlen(good) - strlen("0.0\n"); len++)
		accepted += *parse(good, len, &c) == '\0';
	ok(accepted == 0, "no beginning of a calibration is one");
	put = strstr(strcpy(text, good), "1,4");
	put[0] = '4';
	put[2] = '1';
	len = (size_t)(strstr(text, "cpu 1") - text);
	is(parse(text, len, &c), damaged, "a calibration of CPUs that cannot be read is none");
	is(parse("x", 1, &c), damaged, "a text is no calibration");
	is(parse("2000\nx", 6, &c), "was not made by this version's soaker",
	   "a number alone is a calibration of an old version");
}

static void test_bad(void)
{
	const char *bad = /* what is put for what */
		"2000>-2000|2000>nan|2000>|1,4>1,5|1,4>1,4,5|1,4>4,1|1,4>x|cpus 1,4\n>|1,4>1,1"
		"|cpu 1 0.5>cpu 1 1.0|cpu 4>cpu 4.5|4000.0>nan|4000.0>inf|4000.0>0|4000>-4000"
		"|4000.0 1.0>4000|1.0\n>1 1\n|1.0\n>inf\n|1.0\n>-1\n|0.500000>nan|0.510000>1.5"
		"|0.510000>0|" SOAKER ">soaker 3|" SOAKER ">" SOAKER "x|" SOAKER ">x " FORMAT
		"|all>later key|0.250000>-1|0.250000>1.1|0.125000>1.1|all 2>all 1|0.125000>0 x";
	char text[512], find[64], *put;
	const char *change, *at;
	struct calibration c;

	while ((change = next_of(&bad)) != NULL) {
		strcpy(find, change);
		put = strchrnul(find, '>');
		*put++ = '\0';
		at = strstr(good, find);
		sprintf(text, "%.*s%s%s", (int)(at - good), good, put, at + strlen(find));
		ok(*parse(text, strlen(text), &c) != '\0' && c.cpu == NULL,
		   "a calibration with '%s' for '%s' is rejected", put, find);
	}
}

static void find_or_die(void *path)
{
	struct calibration c = {.cpu = NULL};

	cpus_online(&c.cpus);
	calibration_find_or_die(&c, path, false);
}

/* A calibration of these CPUs; of as many, but others; of others; and of another machine. */
static void test_fit(void)
{
	static const char *const why[] = {"", "other CPUs", "other CPUs", "another machine"};
	static struct baseline b[CPUS_MAX];
	char path[] = "/tmp/zc-50%%-XXXXXX";
	struct calibration c;
	int i, k;

	for (k = 0; k < CPUS_MAX; k++)
		b[k].spin = b[k].speed = 1;
	close(mkstemp(path));
	for (i = 0; i < 4; i++) {
		c = (struct calibration){.cpu = b, .windows = 2};
		cpus_online(&c.cpus);
		if (i == 2)
			c.cpus.n = 1;
		if (i == 1 || i == 2)
			c.cpus.id[c.cpus.n - 1] = CPUS_MAX - 1;
		describe_machine(c.machine, sizeof(c.machine));
		if (i == 3)
			c.machine[0]++;
		file_replace_or_die(path, calibration_print, &c);
		ok((died(find_or_die, path) == EXIT_FAILURE && strstr(printed, path) != NULL &&
		    strstr(printed, why[i]) != NULL) == (i > 0),
		   "of another machine's or other CPUs' calibration the file is named: %d", i);
	}
	unlink(path);
}

static void calibrate_to(void *path)
{
	const struct cpus cpus = {the.cpus, {1, 4}};

	if (!the.prints)
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
	calibrate_or_die(&cpus, path, the.force, 3);
	report_flush();
	_exit(EXIT_SUCCESS);
}

/* What is printed, and what the file then has of the machine. */
static void test_calibrate(void)
{
	static const struct machine rows[] = {
		{.others = 0.03, .cpus = 2, .prints = true},
		{.others = 0.03, .cpus = 1},
		{.others = 0.04, .cpus = 2},
		{.others = CAL_FULL, .cpus = 2, .force = true},
		{.others = 0.4, .cpus = 2, .force = true},
		{.others = 0.03, .cpus = 2, .is_full = true, .force = true},
		{.others = 0.03, .cpus = 2, .why = "others soak"},
	};
	char path[] = "/tmp/zc-calibration-XXXXXX";
	struct calibration c;
	const char *why;
	size_t i;
	int status;
	FILE *f;

	close(mkstemp(path));
	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(rows); i++) {
		the = rows[i];
		if (truncate(path, 0) != 0)
			abort();
		status = died(calibrate_to, path);
		f = fopen(path, "r");
		why = calibration_read(f, &c);
		printf("%s= %d\n%s: %.0f loops of %d CPUs in %.0f windows\n", printed, status,
		       why != NULL ? why : "good", c.total, c.cpus.n, c.windows);
		fclose(f);
		free(c.cpu);
	}
	unlink(path);
	expect(captured(), "what a calibration prints, or why there is none");
}

TESTS(test_good, test_bad, test_fit, test_calibrate)
