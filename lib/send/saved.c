#include "lib/send/saved.h"

#include <libgen.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "lib/load/limits.h"

#define SAVED_MAX (64 * 1024 * 1024) /* bytes: more than a plan with all its rounds needs */

/* The columns of files of earlier versions, which have only the first ones. */
#define WITHOUT_SETTINGS   14
#define WITHOUT_INSTRUMENT 17

/* What a column has. */
enum kind { ROUND, METHOD, CHUNK, STREAMS, INSTRUMENT, REASONS, REMOTE_REASONS, SETTING, FIGURE };

static const struct column {
	const char *name;
	enum kind kind;
	int which; /* setting or figure of the plan */
} columns[] = {
	{.name = "round", .kind = ROUND},
	{.name = "method", .kind = METHOD},
	{.name = "buffer_bytes", .kind = CHUNK},
	{.name = "streams", .kind = STREAMS},
	{.name = "baseline", .kind = SETTING, .which = PLAN_BASELINE},
	{.name = "kib_per_second", .kind = FIGURE, .which = PLAN_RATE},
	{.name = "load_percent", .kind = FIGURE, .which = PLAN_LOAD},
	{.name = "load_uncertainty_percent", .kind = FIGURE, .which = PLAN_UNCERTAINTY},
	{.name = "cost_us_per_kib", .kind = FIGURE, .which = PLAN_COST},
	{.name = "unsafe", .kind = REASONS},
	{.name = "receiver_load_percent", .kind = FIGURE, .which = PLAN_REMOTE_LOAD},
	{.name = "receiver_load_uncertainty_percent", .kind = FIGURE, .which = PLAN_REMOTE_SHARED},
	{.name = "receiver_cost_us_per_kib", .kind = FIGURE, .which = PLAN_REMOTE_COST},
	{.name = "receiver_unsafe", .kind = REMOTE_REASONS},
	{.name = "congestion", .kind = SETTING, .which = PLAN_CONGESTION},
	{.name = "pace_bytes_per_second", .kind = SETTING, .which = PLAN_PACE},
	{.name = "offloads", .kind = SETTING, .which = PLAN_OFFLOADS},
	{.name = "load_shared_percent", .kind = FIGURE, .which = PLAN_SHARED},
	{.name = "drift_percent", .kind = FIGURE, .which = PLAN_DRIFT},
	{.name = "instrument", .kind = INSTRUMENT},
	{.name = "server", .kind = SETTING, .which = PLAN_SERVER},
	{.name = "interface", .kind = SETTING, .which = PLAN_INTERFACE},
	{.name = "seconds", .kind = SETTING, .which = PLAN_SECONDS},
	{.name = "warmup_seconds", .kind = SETTING, .which = PLAN_WARMUP},
	{.name = "date", .kind = SETTING, .which = PLAN_DATE},
	{.name = "title", .kind = SETTING, .which = PLAN_TITLE},
};

#define COLUMNS ((int)(sizeof(columns) / sizeof(columns[0])))

/* What a line about a setting that differs has; the others may differ. */
static const struct {
	const char *key, *what, *unit;
	const char *zero; /* instead of 0 */
} settings[PLAN_SETTINGS] = {
	[PLAN_SERVER] = {"server", "server differs", "", NULL},
	[PLAN_INTERFACE] = {"interface", "interface differs", "", NULL},
	[PLAN_SECONDS] = {"duration", "-t differs", " s", NULL},
	[PLAN_WARMUP] = {"omit", "warm-up differs", " s", NULL},
	[PLAN_CONGESTION] = {"congestion", "congestion differs", "", NULL},
	[PLAN_PACE] = {"pace", "pace differs", " bytes/s", "none"},
	[PLAN_OFFLOADS] = {"offloads", "offloads differ", "", NULL},
};

/* The row of a column's figure, at either end. */
static const struct figure *row_of(const struct column *c)
{
	return figure_named(strncmp(c->name, "receiver_", 9) == 0 ? c->name + 9 : c->name);
}

/*
 * Writing.
 */

static void print_word(FILE *f, const char *word)
{
	fputs(word[0] != '\0' ? word : "-", f);
}

/* `-` where the figure is not known, as far as it can be read again. */
static void print_figure(FILE *f, const struct column *c, double value)
{
	if (figure_is_possible(row_of(c)->kind, value))
		fprintf(f, "%.9g", value * figure_factor(row_of(c)));
	else
		fputs("-", f);
}

static void print_column(FILE *f, const struct column *c, const struct plan *p, int round,
			 const struct plan_run *run)
{
	char text[UNSAFE_STRLEN];

	switch (c->kind) {
	case ROUND: fprintf(f, "%d", round + 1); break;
	case METHOD: fputs(run->method, f); break;
	case CHUNK: fprintf(f, "%" PRIu64, run->chunk); break;
	case STREAMS: fprintf(f, "%d", run->streams); break;
	case INSTRUMENT: print_word(f, run->instrument); break;
	case REASONS: print_word(f, limits_format(run->unsafe, text)); break;
	case REMOTE_REASONS: print_word(f, limits_format(run->remote_unsafe, text)); break;
	case SETTING: print_word(f, p->setting[c->which]); break;
	case FIGURE: print_figure(f, c, run->figure[c->which][round]); break;
	}
}

static void print_names(FILE *f)
{
	int k;

	for (k = 0; k < COLUMNS; k++)
		fprintf(f, "%s%c", columns[k].name, k < COLUMNS - 1 ? '\t' : '\n');
}

/* What a file is to have: the sessions that were read, and that of a plan. */
struct content {
	const struct saved *saved;
	const struct plan *plan;
};

static void print_content(FILE *f, const void *content)
{
	const struct content *c = content;
	const struct plan *p = c->plan;
	struct utsname u;
	int round, i, k;

	if (c->saved->text != NULL)
		fputs(c->saved->text, f);
	uname(&u);
	fprintf(f, "# zcc %s, %s %s %s, %s\n", VERSION, u.sysname, u.release, u.machine,
		u.nodename);
	if (c->saved->columns != COLUMNS)
		print_names(f);
	for (round = 0; round < p->rounds; round++)
		for (i = 0; i < p->n; i++)
			for (k = 0; k < COLUMNS; k++) {
				print_column(f, &columns[k], p, round, &p->run[i]);
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
	free(file);
}

void saved_append_or_die(const struct saved *s, const struct plan *p, const char *path)
{
	const struct content c = {s, p};

	file_replace_or_die(path, print_content, &c);
}

/*
 * Reading.
 */

/* What a line has. */
struct row {
	int round; /* from 1 */
	struct plan_run run;
	double figure[PLAN_FIGURES];
	char setting[PLAN_SETTINGS][PLAN_TEXT];
};

/* A figure: `-` is NAN.  If no host can have measured it, returns NAN and sets *wrong. */
static double parse_figure(const char *field, enum figure_kind kind, double factor, bool *wrong)
{
	double value;
	char *end;

	if (strcmp(field, "-") == 0)
		return NAN;
	value = strtod(field, &end) / factor;
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

static void parse_column(const char *field, const struct column *c, struct row *r, bool *wrong)
{
	struct plan_run *run = &r->run;

	switch (c->kind) {
	case ROUND: r->round = (int)parse_count(field, PLAN_ROUNDS_MAX, wrong); break;
	case METHOD: parse_word(field, run->method, sizeof(run->method)); break;
	case CHUNK: run->chunk = parse_count(field, 1e15, wrong); break;
	case STREAMS: run->streams = (int)parse_count(field, 1e6, wrong); break;
	case INSTRUMENT: parse_word(field, run->instrument, sizeof(run->instrument)); break;
	case REASONS: run->unsafe = parse_reasons(field, wrong); break;
	case REMOTE_REASONS: run->remote_unsafe = parse_reasons(field, wrong); break;
	case SETTING: parse_word(field, r->setting[c->which], PLAN_TEXT); break;
	case FIGURE:
		r->figure[c->which] = parse_figure(field, row_of(c)->kind, figure_factor(row_of(c)),
						   wrong);
		break;
	}
}

/* A line of n columns; false where it is wrong. */
static bool parse_row(char *line, int n, struct row *r)
{
	bool wrong = false;
	const char *field;
	int k;

	memset(r, 0, sizeof(*r));
	set_unknown(r->figure, sizeof(r->figure));
	for (k = 0; k < n && (field = strsep(&line, "\t")) != NULL; k++)
		parse_column(field, &columns[k], r, &wrong);
	/* Before it was known what rounds share, all of an uncertainty counted, of a load by soaking. */
	if (n < COLUMNS)
		r->figure[PLAN_SHARED] = r->figure[PLAN_UNCERTAINTY];
	if (n < COLUMNS && !isnan(r->figure[PLAN_LOAD]))
		strcpy(r->run.instrument, LOAD_BY_SOAKING);
	return !wrong && k == n && line == NULL;
}

static bool is_same_run(const struct plan_run *a, const struct plan_run *b)
{
	const bool known = a->instrument[0] != '\0' && b->instrument[0] != '\0';

	return strcmp(a->method, b->method) == 0 && a->chunk == b->chunk &&
	       a->streams == b->streams && (!known || strcmp(a->instrument, b->instrument) == 0);
}

int saved_differing_run(const struct plan *a, const struct plan *b)
{
	int i = 0;

	while (i < a->n && i < b->n && is_same_run(&a->run[i], &b->run[i]))
		i++;
	return a->n == b->n && i == a->n ? -1 : i;
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
			memcpy(p->setting, r.setting, sizeof(p->setting));
		if (r.round > 1 && !is_same_run(&r.run, &p->run[i % p->n]))
			return "has rounds that differ";
		if (memcmp(r.setting, p->setting, sizeof(p->setting)) != 0)
			return "has lines with different settings";
		for (k = 0; k < PLAN_FIGURES; k++) {
			r.run.figure[k] = p->run[i % p->n].figure[k];
			r.run.figure[k][r.round - 1] = r.figure[k];
		}
		p->run[i % p->n] = r.run;
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
	return line == NULL && (k == WITHOUT_SETTINGS || k == WITHOUT_INSTRUMENT || k == COLUMNS)
		       ? k
		       : 0;
}

/* The lines of a session, behind `# `.  Sets *names if one of them names columns. */
static const char *parse_session(char *text, int *names, struct saved_session *s)
{
	char *head = strsep(&text, "\n");
	int lines = 0, first = 0;
	const char *why, *c;

	if (text != NULL && strncmp(text, "round\t", 6) == 0)
		*names = parse_names(strsep(&text, "\n"));
	if (strncmp(head, "zcc ", 4) != 0 || *names == 0)
		return "was not written by --save of this version";
	snprintf(s->machine, sizeof(s->machine), "%s", head);
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
	why = parse_runs(text, lines, *names, &s->plan);
	if (why != NULL)
		plan_close(&s->plan);
	return why;
}

/* The number of sessions that a text may have: of lines that begin with `# `. */
static size_t count_sessions(const char *text)
{
	size_t n = 1;

	while ((text = strstr(text, "\n# ")) != NULL) {
		text += 3;
		n++;
	}
	return n;
}

const char *saved_parse(char *text, struct saved *s)
{
	const char *why = NULL;
	char *next;
	int i;

	*s = (struct saved){.n = 0};
	if (strncmp(text, "# ", 2) != 0)
		return "was not written by --save of this version";
	s->session = alloc_or_die(count_sessions(text), sizeof(*s->session), "sessions");
	for (; text != NULL && why == NULL; text = next) {
		next = strstr(text, "\n# ");
		if (next != NULL)
			*++next = '\0';
		why = parse_session(text + 2, &s->columns, &s->session[s->n]);
		if (next != NULL)
			*next = '#';
		s->n += why == NULL;
		if (why == NULL &&
		    saved_differing_run(&s->session[0].plan, &s->session[s->n - 1].plan) >= 0)
			why = "has sessions of different plans";
	}
	for (i = 1; i < s->n; i++)
		s->session[i].plan.earlier = &s->session[i - 1].plan;
	if (why != NULL)
		saved_close(s);
	return why;
}

void saved_read_or_die(struct saved *s, const char *option, const char *path)
{
	struct stat st;
	const char *why;
	char *text, *copy;
	size_t size;
	FILE *f;

	if (stat(path, &st) != 0)
		die_errno("%s: %s", option, printable(path));
	/* To open a file that is not regular may block and never time out. */
	if (!S_ISREG(st.st_mode) || st.st_size > SAVED_MAX)
		die("%s: %s is not a file that --save has written", option, printable(path));
	size = (size_t)st.st_size;
	text = alloc_or_die(size + 1, 1, path);
	f = fopen(path, "re");
	if (f == NULL || (fread(text, 1, size, f) < size && ferror(f)) || fclose(f) != 0)
		die_errno("%s: %s", option, printable(path));
	copy = strcpy(alloc_or_die(size + 1, 1, path), text);
	why = saved_parse(copy, s);
	if (why != NULL)
		die("%s: %s %s", option, printable(path), why);
	free(copy);
	s->text = text;
}

void saved_find_or_die(struct saved *s, const char *path)
{
	struct stat st;

	*s = (struct saved){.n = 0};
	if (stat(path, &st) == 0 && st.st_size > 0)
		saved_read_or_die(s, "--save", path);
}

const struct plan *saved_plan(const struct saved *s)
{
	return s->n > 0 ? &s->session[s->n - 1].plan : NULL;
}

/*
 * Differences.
 */

/* A setting as a line has it: with its unit. */
static const char *value_of(const struct plan *p, enum plan_setting k, char buf[PLAN_TEXT + 16])
{
	const bool is_zero = settings[k].zero != NULL && strcmp(p->setting[k], "0") == 0;

	snprintf(buf, PLAN_TEXT + 16, "%s%s", is_zero ? settings[k].zero : p->setting[k],
		 is_zero ? "" : settings[k].unit);
	return buf;
}

const char *saved_difference(const struct plan *then, const struct plan *now, enum plan_setting k,
			     char buf[SAVED_DIFFERENCE])
{
	char old[PLAN_TEXT + 16], new[PLAN_TEXT + 16];

	while (then != NULL &&
	       (then->setting[k][0] == '\0' || strcmp(then->setting[k], now->setting[k]) == 0))
		then = then->earlier;
	if (settings[k].what == NULL || then == NULL || now->setting[k][0] == '\0')
		return NULL;
	snprintf(buf, SAVED_DIFFERENCE, "%s: %s then, %s now", settings[k].what,
		 value_of(then, k, old), value_of(now, k, new));
	return buf;
}

const char *saved_setting_key(enum plan_setting k)
{
	return settings[k].key;
}

void saved_close(struct saved *s)
{
	int i;

	for (i = 0; i < s->n; i++)
		plan_close(&s->session[i].plan);
	free(s->session);
	free(s->text);
	*s = (struct saved){.n = 0};
}
