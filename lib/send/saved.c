#include "lib/send/saved.h"

#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "lib/load/limits.h"

#define SAVED_MAX (64 * 1024 * 1024) /* bytes: more than a plan with all its rounds needs */

#define PERCENT 0.01 /* the unit of a load in a file */

/* The columns.  Files of earlier versions have only the first of them. */
enum column {
	COLUMN_ROUND,
	COLUMN_METHOD,
	COLUMN_CHUNK,
	COLUMN_STREAMS,
	COLUMN_BASELINE,
	COLUMN_UNSAFE = 9,
	COLUMN_REMOTE_UNSAFE = 13,
	COLUMN_CONGESTION,
	COLUMN_PACE,
	COLUMN_OFFLOADS,
	COLUMN_SHARED,
	COLUMN_DRIFT,
	COLUMNS
};

/* A figure of the plan is in units of `unit`. */
static const struct {
	const char *name;
	enum plan_figure figure;
	enum figure_kind kind;
	double unit;
} columns[] = {
	[COLUMN_ROUND] = {"round"},
	[COLUMN_METHOD] = {"method"},
	[COLUMN_CHUNK] = {"buffer_bytes"},
	[COLUMN_STREAMS] = {"streams"},
	[COLUMN_BASELINE] = {"baseline"},
	{"kib_per_second", PLAN_RATE, FIGURE_RATE, 1},
	{"load_percent", PLAN_LOAD, FIGURE_LOAD, PERCENT},
	{"load_uncertainty_percent", PLAN_UNCERTAINTY, FIGURE_SHARE, PERCENT},
	{"cost_us_per_kib", PLAN_COST, FIGURE_COST, 1},
	[COLUMN_UNSAFE] = {"unsafe"},
	{"receiver_load_percent", PLAN_REMOTE_LOAD, FIGURE_LOAD, PERCENT},
	{"receiver_load_uncertainty_percent", PLAN_REMOTE_SHARED, FIGURE_SHARE, PERCENT},
	{"receiver_cost_us_per_kib", PLAN_REMOTE_COST, FIGURE_COST, 1},
	[COLUMN_REMOTE_UNSAFE] = {"receiver_unsafe"},
	[COLUMN_CONGESTION] = {"congestion"},
	[COLUMN_PACE] = {"pace_bytes_per_second"},
	[COLUMN_OFFLOADS] = {"offloads"},
	[COLUMN_SHARED] = {"load_shared_percent", PLAN_SHARED, FIGURE_SHARE, PERCENT},
	[COLUMN_DRIFT] = {"drift_percent", PLAN_DRIFT, FIGURE_LOAD, PERCENT},
};

/*
 * Writing.
 */

/* A figure in units of `unit`; `-` where it is not known, as far as it can be read again. */
static void print_figure(FILE *f, enum figure_kind kind, double unit, double value)
{
	if (figure_is_possible(kind, value))
		fprintf(f, "%.9g", value / unit);
	else
		fputs("-", f);
}

static void print_word(FILE *f, const char *word)
{
	fputs(word[0] != '\0' ? word : "-", f);
}

static void print_column(FILE *f, enum column k, const struct plan *p, int round,
			 const struct plan_run *run)
{
	char text[UNSAFE_STRLEN];

	switch (k) {
	case COLUMN_ROUND: fprintf(f, "%d", round + 1); break;
	case COLUMN_METHOD: fputs(run->method, f); break;
	case COLUMN_CHUNK: fprintf(f, "%" PRIu64, run->chunk); break;
	case COLUMN_STREAMS: fprintf(f, "%d", run->streams); break;
	case COLUMN_BASELINE: fputs(p->one_baseline ? "one" : "own", f); break;
	case COLUMN_UNSAFE: print_word(f, limits_format(run->unsafe, text)); break;
	case COLUMN_REMOTE_UNSAFE: print_word(f, limits_format(run->remote_unsafe, text)); break;
	case COLUMN_CONGESTION: print_word(f, p->settings.congestion); break;
	case COLUMN_PACE: fprintf(f, "%" PRIu64, p->settings.pace); break;
	case COLUMN_OFFLOADS: print_word(f, p->settings.offloads); break;
	default:
		print_figure(f, columns[k].kind, columns[k].unit,
			     run->figure[columns[k].figure][round]);
	}
}

static void print_names(FILE *f)
{
	int k;

	for (k = 0; k < COLUMNS; k++)
		fprintf(f, "%s%c", columns[k].name, k < COLUMNS - 1 ? '\t' : '\n');
}

static void print_plan(FILE *f, const void *plan)
{
	const struct plan *p = plan;
	struct utsname u;
	int round, i, k;

	uname(&u);
	fprintf(f, "# zcc %s, %s %s %s, %s\n", VERSION, u.sysname, u.release, u.machine,
		u.nodename);
	print_names(f);
	for (round = 0; round < p->rounds; round++)
		for (i = 0; i < p->n; i++)
			for (k = 0; k < COLUMNS; k++) {
				print_column(f, (enum column)k, p, round, &p->run[i]);
				fputc(k < COLUMNS - 1 ? '\t' : '\n', f);
			}
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

/* What a line has. */
struct row {
	int round; /* from 1 */
	struct plan_run run;
	double figure[PLAN_FIGURES];
	struct plan_settings settings;
	bool one_baseline;
};

/*
 * A field as a figure in units of `unit`: `-` is NAN.  If no host can have measured it, returns NAN and
 * sets *wrong.
 */
static double parse_figure(const char *field, enum figure_kind kind, double unit, bool *wrong)
{
	double value;
	char *end;

	if (strcmp(field, "-") == 0)
		return NAN;
	value = strtod(field, &end) * unit;
	if (end != field && *end == '\0' && figure_is_possible(kind, value))
		return value;
	*wrong = true;
	return NAN;
}

static uint64_t parse_count(const char *field, double max, bool *wrong)
{
	const double value = parse_figure(field, FIGURE_COUNT, 1, wrong);

	*wrong |= isnan(value) || value > max;
	return *wrong ? 0 : (uint64_t)value;
}

static unsigned parse_reasons(const char *field, bool *wrong)
{
	unsigned unsafe = 0;

	*wrong |= strcmp(field, "-") != 0 && !limits_parse(field, &unsafe);
	return unsafe;
}

/* Stores a word; `-` is an empty one. */
static void parse_word(const char *field, char *buf, size_t size)
{
	snprintf(buf, size, "%s", strcmp(field, "-") == 0 ? "" : field);
	make_printable(buf);
}

static void parse_column(const char *field, enum column k, struct row *r, bool *wrong)
{
	struct plan_settings *s = &r->settings;

	switch (k) {
	case COLUMN_ROUND: r->round = (int)parse_count(field, PLAN_ROUNDS_MAX, wrong); break;
	case COLUMN_METHOD: parse_word(field, r->run.method, sizeof(r->run.method)); break;
	case COLUMN_CHUNK: r->run.chunk = parse_count(field, 1e15, wrong); break;
	case COLUMN_STREAMS: r->run.streams = (int)parse_count(field, 1e6, wrong); break;
	case COLUMN_BASELINE: r->one_baseline = strcmp(field, "one") == 0; break;
	case COLUMN_UNSAFE: r->run.unsafe = parse_reasons(field, wrong); break;
	case COLUMN_REMOTE_UNSAFE: r->run.remote_unsafe = parse_reasons(field, wrong); break;
	case COLUMN_CONGESTION: parse_word(field, s->congestion, sizeof(s->congestion)); break;
	case COLUMN_PACE: s->pace = parse_count(field, 1e16, wrong); break;
	case COLUMN_OFFLOADS: parse_word(field, s->offloads, sizeof(s->offloads)); break;
	default:
		r->figure[columns[k].figure] = parse_figure(field, columns[k].kind, columns[k].unit,
							    wrong);
	}
}

/* A line of so many columns; false where it is wrong. */
static bool parse_row(char *line, int n, struct row *r)
{
	bool wrong = false;
	const char *field;
	int k;

	memset(r, 0, sizeof(*r));
	set_unknown(r->figure, sizeof(r->figure));
	for (k = 0; k < n && (field = strsep(&line, "\t")) != NULL; k++)
		parse_column(field, (enum column)k, r, &wrong);
	/* Before it was known what rounds share, all of an uncertainty counted. */
	if (n <= COLUMN_SHARED)
		r->figure[PLAN_SHARED] = r->figure[PLAN_UNCERTAINTY];
	return !wrong && k == n && line == NULL;
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
static const char *parse_runs(char *text, int lines, int names, struct plan *p)
{
	struct row r;
	int i, k;

	for (i = 0; i < lines; i++) {
		if (!parse_row(strsep(&text, "\n"), names, &r) || r.round != i / p->n + 1)
			return "has a line that is wrong or in the wrong place";
		if (i == 0)
			p->settings = r.settings;
		if (r.round > 1 && !same_run(&r.run, &p->run[i % p->n]))
			return "has rounds that differ";
		if (!same_settings(&r.settings, &p->settings))
			return "has lines with different settings";
		for (k = 0; k < PLAN_FIGURES; k++) {
			r.run.figure[k] = p->run[i % p->n].figure[k];
			r.run.figure[k][r.round - 1] = r.figure[k];
		}
		p->run[i % p->n] = r.run;
		p->one_baseline |= r.one_baseline;
	}
	p->rounds = lines / p->n;
	return NULL;
}

/* How many columns a line names, each in its place: all, or those of an earlier version; else 0. */
static int parse_names(char *line)
{
	const char *name;
	int k;

	for (k = 0; k < COLUMNS && (name = strsep(&line, "\t")) != NULL; k++)
		if (strcmp(name, columns[k].name) != 0)
			return 0;
	if (line != NULL || (k != COLUMN_CONGESTION && k != COLUMN_SHARED && k != COLUMNS))
		return 0;
	return k;
}

const char *saved_parse(char *text, struct saved *s)
{
	char *head = strsep(&text, "\n"), *names = strsep(&text, "\n");
	int lines = 0, first = 0, n;
	const char *why, *c;

	*s = (struct saved){.plan.n = 0};
	n = names != NULL ? parse_names(names) : 0;
	if (strncmp(head, "# zcc ", 6) != 0 || n == 0)
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
	s->plan.has_settings = n > COLUMN_CONGESTION;
	why = parse_runs(text, lines, n, &s->plan);
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
