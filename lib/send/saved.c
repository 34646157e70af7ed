#include "lib/send/saved.h"

#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "lib/load/limits.h"

#define SAVED_MAX (64 * 1024 * 1024) /* bytes: more than a plan with all its rounds needs */

#define COLUMNS                                                                                    \
	"round\tmethod\tbuffer_bytes\tstreams\tbaseline\tkib_per_second\tload_percent\t"           \
	"load_uncertainty_percent\tcost_us_per_kib\tunsafe\treceiver_load_percent\t"               \
	"receiver_load_uncertainty_percent\treceiver_cost_us_per_kib\treceiver_unsafe"

static const char columns_without_settings[] = COLUMNS; /* before the settings were saved */
static const char columns[] = COLUMNS "\tcongestion\tpace_bytes_per_second\toffloads";

#define PERCENT 0.01 /* the unit of a load in a file */

/*
 * Writing.
 */

/* A tab and a figure in units of `unit`; `-` where it is not known, as far as it can be read again. */
static void print_figure(FILE *f, enum figure_kind kind, double unit, double value)
{
	if (figure_is_possible(kind, value))
		fprintf(f, "\t%.9g", value / unit);
	else
		fprintf(f, "\t-");
}

static void print_reasons(FILE *f, unsigned unsafe)
{
	char text[UNSAFE_STRLEN];

	fprintf(f, "\t%s", unsafe == 0 ? "-" : limits_format(unsafe, text));
}

static const char *word_or_dash(const char *word)
{
	return word[0] != '\0' ? word : "-";
}

static void print_run(FILE *f, const struct plan *p, int round, const struct plan_run *run)
{
	fprintf(f, "%d\t%s\t%" PRIu64 "\t%d\t%s", round + 1, run->method, run->chunk, run->streams,
		p->one_baseline ? "one" : "own");
	print_figure(f, FIGURE_RATE, 1, run->figure[PLAN_RATE][round]);
	print_figure(f, FIGURE_LOAD, PERCENT, run->figure[PLAN_LOAD][round]);
	print_figure(f, FIGURE_SHARE, PERCENT, run->uncertainty);
	print_figure(f, FIGURE_COST, 1, run->figure[PLAN_COST][round]);
	print_reasons(f, run->unsafe);
	print_figure(f, FIGURE_LOAD, PERCENT, run->figure[PLAN_REMOTE_LOAD][round]);
	print_figure(f, FIGURE_SHARE, PERCENT, run->remote_uncertainty);
	print_figure(f, FIGURE_COST, 1, run->figure[PLAN_REMOTE_COST][round]);
	print_reasons(f, run->remote_unsafe);
	fprintf(f, "\t%s\t%" PRIu64 "\t%s\n", word_or_dash(p->settings.congestion),
		p->settings.pace, word_or_dash(p->settings.offloads));
}

static void print_plan(FILE *f, const void *plan)
{
	const struct plan *p = plan;
	struct utsname u;
	int round, i;

	uname(&u);
	fprintf(f, "# zcc %s, %s %s %s, %s\n%s\n", VERSION, u.sysname, u.release, u.machine,
		u.nodename, columns);
	for (round = 0; round < p->rounds; round++)
		for (i = 0; i < p->n; i++)
			print_run(f, p, round, &p->run[i]);
}

void saved_try_or_die(const char *path)
{
	char *file = file_target_or_die(path);
	const char *dir = dirname(strdupa(file)), *slash = strrchr(file, '/'),
		   *name = slash != NULL ? slash + 1 : file;
	struct stat st;

	if (*name == '\0' ||
	    (lstat(file, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
		die("--save: '%s' is not a regular file", printable(path));
	if (access(dir, W_OK) != 0)
		die_errno("--save: cannot write to the directory %s", printable(dir));
	/* file_replace_or_die() adds to the name until the file is complete. */
	if (strlen(name) > NAME_MAX - 8)
		die("--save: %s: file name too long", printable(path));
	free(file);
}

void saved_write_or_die(const struct plan *p, const char *path)
{
	file_replace_or_die(path, print_plan, p);
}

/*
 * Reading.
 */

/*
 * The next field as a figure in units of `unit`: `-` is NAN.  If no host can have measured it, returns
 * NAN and sets *wrong.
 */
static double figure_next(char **line, enum figure_kind kind, double unit, bool *wrong)
{
	const char *field = strsep(line, "\t");
	double value;
	char *end;

	if (field == NULL || strcmp(field, "-") == 0) {
		*wrong |= field == NULL;
		return NAN;
	}
	value = strtod(field, &end) * unit;
	if (end != field && *end == '\0' && figure_is_possible(kind, value))
		return value;
	*wrong = true;
	return NAN;
}

static uint64_t count(char **line, double max, bool *wrong)
{
	const double value = figure_next(line, FIGURE_COUNT, 1, wrong);

	*wrong |= isnan(value) || value > max;
	return *wrong ? 0 : (uint64_t)value;
}

static unsigned reasons(char **line, bool *wrong)
{
	const char *field = strsep(line, "\t");
	unsigned unsafe = 0;

	if (field == NULL || (strcmp(field, "-") != 0 && !limits_parse(field, &unsafe)))
		*wrong = true;
	return unsafe;
}

/* Stores a word; `-` is an empty one. */
static void word(char **line, char *buf, size_t size, bool *wrong)
{
	const char *field = strsep(line, "\t");

	*wrong |= field == NULL;
	snprintf(buf, size, "%s", field == NULL || strcmp(field, "-") == 0 ? "" : field);
	make_printable(buf);
}

/*
 * A line, as far as it belongs to a run, and the settings if the plan has them; returns its round,
 * from 1, or 0 where it is wrong.
 */
static int parse_run(char *line, struct plan_run *run, double figure[PLAN_FIGURES],
		     struct plan_settings *settings, struct plan *p)
{
	bool wrong = false;
	const int round = (int)count(&line, PLAN_ROUNDS_MAX, &wrong);
	const char *method = strsep(&line, "\t"), *baseline;

	snprintf(run->method, sizeof(run->method), "%s", method != NULL ? method : "");
	make_printable(run->method);
	run->chunk = count(&line, 1e15, &wrong);
	run->streams = (int)count(&line, 1e6, &wrong);
	baseline = strsep(&line, "\t");
	p->one_baseline |= baseline != NULL && strcmp(baseline, "one") == 0;
	figure[PLAN_RATE] = figure_next(&line, FIGURE_RATE, 1, &wrong);
	figure[PLAN_LOAD] = figure_next(&line, FIGURE_LOAD, PERCENT, &wrong);
	run->uncertainty = fmax(0, figure_next(&line, FIGURE_SHARE, PERCENT, &wrong));
	figure[PLAN_COST] = figure_next(&line, FIGURE_COST, 1, &wrong);
	run->unsafe = reasons(&line, &wrong);
	figure[PLAN_REMOTE_LOAD] = figure_next(&line, FIGURE_LOAD, PERCENT, &wrong);
	run->remote_uncertainty = fmax(0, figure_next(&line, FIGURE_SHARE, PERCENT, &wrong));
	figure[PLAN_REMOTE_COST] = figure_next(&line, FIGURE_COST, 1, &wrong);
	run->remote_unsafe = reasons(&line, &wrong);
	if (p->has_settings) {
		word(&line, settings->congestion, sizeof(settings->congestion), &wrong);
		settings->pace = count(&line, 1e16, &wrong);
		word(&line, settings->offloads, sizeof(settings->offloads), &wrong);
	}
	return wrong || line != NULL ? 0 : round;
}

static bool same_run(const struct plan_run *a, const struct plan_run *b)
{
	return strcmp(a->method, b->method) == 0 && a->chunk == b->chunk &&
	       a->streams == b->streams;
}

static bool same_settings(const struct plan_settings *a, const struct plan_settings *b)
{
	return strcmp(a->congestion, b->congestion) == 0 && a->pace == b->pace &&
	       strcmp(a->offloads, b->offloads) == 0;
}

/* The lines in the order of the rounds; each round has the runs, and each line the settings, of the first. */
static const char *parse_runs(char *text, int lines, struct plan *p)
{
	double figure[PLAN_FIGURES];
	struct plan_run run = {.chunk = 0};
	struct plan_settings settings = {.pace = 0};
	int i, k, round;

	for (i = 0; i < lines; i++) {
		round = parse_run(strsep(&text, "\n"), &run, figure, &settings, p);
		if (i == 0)
			p->settings = settings;
		if (round != i / p->n + 1)
			return "has a line that is wrong or in the wrong place";
		if (round > 1 && !same_run(&run, &p->run[i % p->n]))
			return "has rounds that differ";
		if (!same_settings(&settings, &p->settings))
			return "has lines with different settings";
		for (k = 0; k < PLAN_FIGURES; k++) {
			run.figure[k] = p->run[i % p->n].figure[k];
			run.figure[k][round - 1] = figure[k];
		}
		p->run[i % p->n] = run;
	}
	p->rounds = lines / p->n;
	return NULL;
}

const char *saved_parse(char *text, struct saved *s)
{
	char *head = strsep(&text, "\n"), *names = strsep(&text, "\n");
	int lines = 0, first = 0;
	const char *why, *c;

	*s = (struct saved){.plan.n = 0};
	if (strncmp(head, "# zcc ", 6) != 0 || names == NULL ||
	    (strcmp(names, columns) != 0 && strcmp(names, columns_without_settings) != 0))
		return "was not written by --save of this version";
	snprintf(s->machine, sizeof(s->machine), "%s", head + 2);
	make_printable(s->machine);
	for (c = text; c != NULL && *c != '\0'; c = strchr(c, '\n') + 1, lines++) {
		if (strchr(c, '\n') == NULL)
			return "ends within a line";
		first += strncmp(c, "1\t", 2) == 0;
	}
	if (first == 0 || lines % first != 0 || first > PLAN_RUNS_MAX ||
	    lines / first > PLAN_ROUNDS_MAX)
		return "has no complete round";
	plan_open(&s->plan, first, lines / first);
	s->plan.has_settings = strcmp(names, columns) == 0;
	why = parse_runs(text, lines, &s->plan);
	if (why != NULL)
		plan_close(&s->plan);
	return why;
}

void saved_read_or_die(struct saved *s, const char *path)
{
	struct stat st;
	const char *why;
	char *text;
	size_t n;
	FILE *f;

	if (stat(path, &st) != 0)
		die_errno("--against: %s", printable(path));
	/* To open a file that is not regular may block and never time out. */
	if (!S_ISREG(st.st_mode) || st.st_size > SAVED_MAX)
		die("--against: %s is not a file that --save has written", printable(path));
	text = alloc_or_die((size_t)st.st_size + 1, 1, path);
	f = fopen_retry(path);
	n = f == NULL ? 0 : fread(text, 1, (size_t)st.st_size, f);
	if (f == NULL || ferror(f) || fclose(f) != 0)
		die_errno("--against: %s", printable(path));
	text[n] = '\0';
	why = saved_parse(text, s);
	if (why != NULL)
		die("--against: %s %s", printable(path), why);
	free(text);
}

const char *saved_difference(const struct saved *s, const struct plan *now, enum saved_setting k,
			     char buf[SAVED_DIFFERENCE])
{
	const struct plan_settings *a = &s->plan.settings, *b = &now->settings;
	char then_pace[32] = "none", now_pace[32] = "none";

	if (!s->plan.has_settings || !now->has_settings)
		return NULL;
	if (k == SAVED_PACE) {
		if (a->pace == b->pace)
			return NULL;
		if (a->pace > 0)
			snprintf(then_pace, sizeof(then_pace), "%" PRIu64 " bytes/s", a->pace);
		if (b->pace > 0)
			snprintf(now_pace, sizeof(now_pace), "%" PRIu64 " bytes/s", b->pace);
		snprintf(buf, SAVED_DIFFERENCE, "pace differs: %s then, %s now", then_pace,
			 now_pace);
		return buf;
	}
	if (k == SAVED_CONGESTION && strcmp(a->congestion, b->congestion) != 0 &&
	    a->congestion[0] != '\0' && b->congestion[0] != '\0')
		snprintf(buf, SAVED_DIFFERENCE, "congestion differs: %s then, %s now",
			 a->congestion, b->congestion);
	else if (k == SAVED_OFFLOADS && strcmp(a->offloads, b->offloads) != 0 &&
		 a->offloads[0] != '\0' && b->offloads[0] != '\0')
		snprintf(buf, SAVED_DIFFERENCE, "offloads differ: %s then, %s now", a->offloads,
			 b->offloads);
	else
		return NULL;
	return buf;
}

void saved_close(struct saved *s)
{
	plan_close(&s->plan);
}
