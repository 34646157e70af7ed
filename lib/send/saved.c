#include <sys/stat.h>
#include <sys/utsname.h>

#include "lib/send/plan.h"

#define NOT_SAVED "was not written by --save of this version"

/* What a line has: run of a round. */
struct row {
	uint64_t round; /* from 1 */
	struct plan_run run;
	double figure[PLAN_FIGURES];
	char setting[PLAN_SETTINGS][PLAN_TEXT];
};

/* What a column has: a uint64_t, a string, a set of UNSAFE_*, or a double of the row of its name. */
enum kind { COUNT, WORD, REASONS, FIGURE };

#define AT(member) offsetof(struct row, member), sizeof(((struct row *)0)->member)

static const struct column {
	const char *name;
	enum kind kind;
	size_t offset, size;
} columns[] = {
	{"round", COUNT, AT(round)},
	{"method", WORD, AT(run.method)},
	{"buffer_bytes", COUNT, AT(run.chunk)},
	{"streams", COUNT, AT(run.streams)},
	{"baseline", WORD, AT(setting[PLAN_BASELINE])},
	{"kib_per_second", FIGURE, AT(figure[PLAN_RATE])},
	{"load_percent", FIGURE, AT(figure[PLAN_LOAD])},
	{"load_uncertainty_percent", FIGURE, AT(figure[PLAN_UNCERTAINTY])},
	{"cost_us_per_kib", FIGURE, AT(figure[PLAN_COST])},
	{"unsafe", REASONS, AT(run.unsafe[0])},
	{"receiver_load_percent", FIGURE, AT(figure[PLAN_REMOTE_LOAD])},
	{"receiver_load_uncertainty_percent", FIGURE, AT(figure[PLAN_REMOTE_SHARED])},
	{"receiver_cost_us_per_kib", FIGURE, AT(figure[PLAN_REMOTE_COST])},
	{"receiver_unsafe", REASONS, AT(run.unsafe[1])},
	{"congestion", WORD, AT(setting[PLAN_CONGESTION])},
	{"pace_bytes_per_second", WORD, AT(setting[PLAN_PACE])},
	{"offloads", WORD, AT(setting[PLAN_OFFLOADS])},
	{"load_shared_percent", FIGURE, AT(figure[PLAN_SHARED])},
	{"drift_percent", FIGURE, AT(figure[PLAN_DRIFT])},
	{"instrument", WORD, AT(run.instrument)},
	{"server", WORD, AT(setting[PLAN_SERVER])},
	{"interface", WORD, AT(setting[PLAN_INTERFACE])},
	{"seconds", WORD, AT(setting[PLAN_SECONDS])},
	{"warmup_seconds", WORD, AT(setting[PLAN_WARMUP])},
	{"date", WORD, AT(setting[PLAN_DATE])},
	{"title", WORD, AT(setting[PLAN_TITLE])},
};

#define COLUMNS ((int)(sizeof(columns) / sizeof(columns[0])))

/* The row of a column's figure, at either end. */
static const struct figure *figure_of(const struct column *c)
{
	return figure_named(strncmp(c->name, "receiver_", 9) == 0 ? c->name + 9 : c->name);
}

/*
 * Writing.
 */

/* `-` is what is not known, or cannot be read again. */
static void print_field(FILE *f, const struct column *c, const struct row *r)
{
	const void *member = (const char *)r + c->offset;
	char buf[UNSAFE_STRLEN] = "";
	const char *text = buf;

	switch (c->kind) {
	case COUNT: snprintf(buf, sizeof(buf), "%" PRIu64, *(const uint64_t *)member); break;
	case WORD: text = member; break;
	case REASONS: limits_format(*(const unsigned *)member, buf); break;
	case FIGURE:
		if (figure_is_possible(figure_of(c)->kind, *(const double *)member))
			snprintf(buf, sizeof(buf), "%.9g",
				 *(const double *)member * figure_factor(figure_of(c)));
	}
	fputs(text[0] != '\0' ? text : "-", f);
}

static void print_run(FILE *f, const struct plan *p, int round, int i)
{
	struct row r = {.round = (uint64_t)round + 1, .run = p->run[i]};
	int k;

	memcpy(r.setting, p->setting, sizeof(r.setting));
	for (k = 0; k < PLAN_FIGURES; k++)
		r.figure[k] = p->run[i].figure[k][round];
	for (k = 0; k < COLUMNS; k++) {
		print_field(f, &columns[k], &r);
		fputc(k < COLUMNS - 1 ? '\t' : '\n', f);
	}
}

/* What a file is to have: the sessions that were read, and that of a plan. */
struct content {
	const struct saved *saved;
	const struct plan *plan;
};

static void print_content(FILE *f, const void *content)
{
	const struct content *c = content;
	struct utsname u;
	int i, k;

	if (c->saved->text != NULL)
		fputs(c->saved->text, f);
	if (c->plan->rounds == 0)
		return;
	uname(&u);
	fprintf(f, "# zcc %s, %s %s %s, %s\n", VERSION, u.sysname, u.release, u.machine,
		u.nodename);
	for (k = 0; k < COLUMNS && c->saved->last == NULL; k++)
		fprintf(f, "%s%c", columns[k].name, k < COLUMNS - 1 ? '\t' : '\n');
	for (i = 0; i < c->plan->rounds * c->plan->n; i++)
		print_run(f, c->plan, i / c->plan->n, i % c->plan->n);
}

void saved_append_or_die(const struct saved *s, const struct plan *p, const char *path)
{
	file_replace_or_die(path, print_content, &(struct content){s, p});
}

/*
 * Reading.
 */

/* Stores a field; false if it is not what the column has, or no host can have measured it. */
static bool parse_field(const char *field, const struct column *c, struct row *r)
{
	const bool is_known = strcmp(field, "-") != 0;
	const struct figure *figure = c->kind == FIGURE ? figure_of(c) : NULL;
	void *member = (char *)r + c->offset;
	double value;
	char *end;

	if (c->kind == WORD) {
		snprintf(member, c->size, "%s", is_known ? field : "");
		make_printable(member);
		return true;
	}
	if (c->kind == REASONS)
		return !is_known || limits_parse(field, member);
	if (figure != NULL && !is_known)
		return true;
	value = strtod(field, &end) / (figure != NULL ? figure_factor(figure) : 1);
	if (figure != NULL)
		*(double *)member = value;
	else if (figure_is_possible(FIGURE_COUNT, value))
		*(uint64_t *)member = (uint64_t)value;
	return end != field && *end == '\0' &&
	       figure_is_possible(figure != NULL ? figure->kind : FIGURE_COUNT, value);
}

static bool parse_row(char *line, struct row *r)
{
	bool is_right = true;
	const char *field;
	int k;

	memset(r, 0, sizeof(*r));
	set_unknown(r->figure, sizeof(r->figure));
	for (k = 0; k < COLUMNS && (field = strsep(&line, "\t")) != NULL; k++)
		is_right &= parse_field(field, &columns[k], r);
	return is_right && k == COLUMNS && line == NULL;
}

/* The lines are in the order of the rounds; all have the settings of the first. */
static bool parse_runs(char *text, int lines, struct plan *p)
{
	const struct plan *e = p->earlier;
	const struct plan_run *same;
	struct plan_run *run;
	struct row r;
	int i, k;

	if (e != NULL && e->n != p->n)
		return false;
	for (i = 0; i < lines; i++) {
		run = &p->run[i % p->n];
		/* The same run in the round before, or in the session before. */
		same = i >= p->n ? run : e != NULL ? &e->run[i] : &r.run;
		if (!parse_row(strsep(&text, "\n"), &r) || r.round != (uint64_t)(i / p->n + 1) ||
		    !plan_is_same_run(&r.run, same) ||
		    (i > 0 && memcmp(r.setting, p->setting, sizeof(p->setting)) != 0))
			return false;
		memcpy(p->setting, r.setting, sizeof(p->setting));
		for (k = 0; k < PLAN_FIGURES; k++) {
			r.run.figure[k] = run->figure[k];
			r.run.figure[k][r.round - 1] = r.figure[k];
		}
		*run = r.run;
	}
	p->rounds = lines / p->n;
	return true;
}

/* Adds a session of which `text` has the lines, behind `# `. */
static const char *parse_session(char *text, struct saved *s)
{
	const char *machine = strsep(&text, "\n"), *c;
	int lines = 0, runs = 0;
	struct plan *p;

	if (strncmp(machine, "zcc ", 4) != 0)
		return NOT_SAVED;
	if (strncmp(text, "round\t", 6) == 0)
		strsep(&text, "\n"); /* the columns' names */
	for (c = text; *c != '\0'; c = strchr(c, '\n') + 1, lines++)
		runs += strncmp(c, "1\t", 2) == 0;
	if (runs == 0 || lines % runs != 0 || runs > PLAN_RUNS_MAX ||
	    lines / runs > PLAN_ROUNDS_MAX)
		return "has no complete round";
	p = alloc_or_die(1, sizeof(*p), "a session");
	plan_open(p, runs, lines / runs);
	p->earlier = s->last;
	s->last = p;
	if (!parse_runs(text, lines, p))
		return "has a line that --save of this version has not written there";
	plan_set(p, PLAN_MACHINE, "%s", machine);
	return NULL;
}

const char *saved_parse(char *text, struct saved *s)
{
	const char *why = NULL;
	char *next;

	if (strncmp(text, "# ", 2) != 0 || text[strlen(text) - 1] != '\n')
		return NOT_SAVED;
	for (; text != NULL && why == NULL; text = next) {
		next = strstr(text + 1, "\n# ");
		if (next != NULL)
			*++next = '\0';
		why = parse_session(text + 2, s);
	}
	if (why != NULL)
		saved_close(s);
	return why;
}

void saved_read_or_die(struct saved *s, const char *option, const char *path)
{
	FILE *f = fopen(path, "re");
	size_t size = 1;
	const char *why;
	char *copy;

	*s = (struct saved){.text = alloc_or_die(size, 1, path)};
	if (f == NULL || (getdelim(&s->text, &size, '\0', f) < 0 && !feof(f)))
		die_errno("%s: %s", option, printable(path));
	fclose(f);
	copy = strdup(s->text);
	why = copy != NULL ? saved_parse(copy, s) : strerror(errno);
	if (why != NULL)
		die("%s: %s %s", option, printable(path), why);
	free(copy);
}

void saved_find_or_die(struct saved *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && st.st_size > 0)
		saved_read_or_die(s, "--save", path);
}

void saved_close(struct saved *s)
{
	struct plan *p, *earlier;

	for (p = s->last; p != NULL; p = earlier) {
		earlier = p->earlier;
		plan_close(p);
		free(p);
	}
	free(s->text);
	*s = (struct saved){.last = NULL};
}
