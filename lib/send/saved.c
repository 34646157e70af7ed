#include <sys/utsname.h>

#include "lib/send/plan.h"

#define NOT_SAVED "was not written by --save of this version"

/*
 * What a column has: the round, a number, a string or reasons of a run (with the offset of a member), a
 * setting, or a figure.
 */
enum kind { ROUND, COUNT, WORD, REASONS, SETTING, FIGURE };

#define RUN(kind, member) kind, offsetof(struct plan_run, member)

static const struct column {
	const char *name;
	enum kind kind;
	size_t which;
} columns[] = {
	{"round", ROUND, 0},
	{"method", RUN(WORD, sent.method)},
	{"buffer_bytes", RUN(COUNT, chunk)},
	{"streams", RUN(COUNT, streams)},
	{"baseline", SETTING, PLAN_BASELINE},
	{"kib_per_second", FIGURE, PLAN_RATE},
	{"load_percent", FIGURE, PLAN_LOAD},
	{"load_uncertainty_percent", FIGURE, PLAN_UNCERTAINTY},
	{"cost_us_per_kib", FIGURE, PLAN_COST},
	{"unsafe", RUN(REASONS, unsafe[0])},
	{"receiver_load_percent", FIGURE, PLAN_REMOTE_LOAD},
	{"receiver_load_uncertainty_percent", FIGURE, PLAN_REMOTE_SHARED},
	{"receiver_cost_us_per_kib", FIGURE, PLAN_REMOTE_COST},
	{"receiver_unsafe", RUN(REASONS, unsafe[1])},
	{"congestion", SETTING, PLAN_CONGESTION},
	{"pace_bytes_per_second", SETTING, PLAN_PACE},
	{"offloads", SETTING, PLAN_OFFLOADS},
	{"load_shared_percent", FIGURE, PLAN_SHARED},
	{"drift_percent", FIGURE, PLAN_DRIFT},
	{"instrument", RUN(WORD, instrument)},
	{"server", SETTING, PLAN_SERVER},
	{"interface", SETTING, PLAN_INTERFACE},
	{"seconds", SETTING, PLAN_SECONDS},
	{"warmup_seconds", SETTING, PLAN_WARMUP},
	{"date", SETTING, PLAN_DATE},
	{"title", SETTING, PLAN_TITLE},
};

#define COLUMNS ((int)(sizeof(columns) / sizeof(columns[0])))

/* Where a plan has a field of a line, from 0; the round is in *round. */
static void *field_of(struct plan *p, int line, const struct column *c, uint64_t *round)
{
	struct plan_run *run = &p->run[line % p->n];

	switch (c->kind) {
	case ROUND: return round;
	case SETTING: return p->setting[c->which];
	case FIGURE: return &run->figure[c->which][line / p->n];
	default: return (char *)run + c->which;
	}
}

/* The row of a column's figure, at either end. */
static const struct figure *figure_of(const struct column *c)
{
	return figure_named(strncmp(c->name, "receiver_", 9) == 0 ? c->name + 9 : c->name);
}

/*
 * Writing.
 */

/* `-` is what is not known, or cannot be read again. */
static void print_field(FILE *f, const struct column *c, const void *field)
{
	char buf[UNSAFE_STRLEN] = "";
	const char *text = buf;

	switch (c->kind) {
	case ROUND:
	case COUNT: snprintf(buf, sizeof(buf), "%" PRIu64, *(const uint64_t *)field); break;
	case WORD:
	case SETTING: text = field; break;
	case REASONS: limits_format(*(const unsigned *)field, buf); break;
	case FIGURE:
		if (figure_is_possible(figure_of(c)->kind, *(const double *)field))
			snprintf(buf, sizeof(buf), "%.9g",
				 *(const double *)field * figure_factor(figure_of(c)));
	}
	fputs(text[0] != '\0' ? text : "-", f);
}

/* Returns the text of a plan's session, to be freed; the first of a file has the columns' names. */
static char *session_text(struct plan *p, bool is_first)
{
	struct utsname u;
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);
	uint64_t round;
	int i, k;

	if (f == NULL)
		die_errno("a session");
	uname(&u);
	fprintf(f, "# zcc %s, %s %s %s, %s\n", VERSION, u.sysname, u.release, u.machine,
		u.nodename);
	for (k = 0; k < COLUMNS && is_first; k++)
		fprintf(f, "%s%c", columns[k].name, k < COLUMNS - 1 ? '\t' : '\n');
	for (i = 0; i < p->rounds * p->n; i++)
		for (k = 0; k < COLUMNS; k++) {
			round = (uint64_t)(i / p->n) + 1;
			print_field(f, &columns[k], field_of(p, i, &columns[k], &round));
			fputc(k < COLUMNS - 1 ? '\t' : '\n', f);
		}
	if (fclose(f) != 0)
		die_errno("a session");
	return text;
}

/* What a file is to have: a session between those before and behind it. */
struct content {
	size_t before; /* bytes */
	const char *text, *session, *behind;
};

static void print_content(FILE *f, const void *content)
{
	const struct content *c = content;

	fwrite(c->text, 1, c->before, f);
	fprintf(f, "%s%s", c->session, c->behind);
}

void saved_append_or_die(struct plan *p, const char *path)
{
	const int lock = file_lock_or_die(path);
	struct content c = {.session = ""};
	struct saved now;
	const char *own;

	saved_read_or_die(&now, "--save", path);
	if (now.last != NULL)
		comparison_check_or_die(p, now.last, "--save", path);
	own = p->text != NULL ? strstr(now.text, p->text) : NULL;
	c.text = now.text;
	c.behind = own != NULL ? own + strlen(p->text) : now.text + strlen(now.text);
	c.before = (size_t)((own != NULL ? own : c.behind) - now.text);
	if (p->rounds > 0) {
		free(p->text);
		c.session = p->text = session_text(p, c.before == 0);
	}
	file_replace_or_die(path, p->rounds > 0 || c.before > 0 ? print_content : NULL, &c);
	saved_close(&now);
	close(lock);
}

/*
 * Reading.
 */

/*
 * Stores a field, unless it is not known; false if it is not what the column has, or no host can have
 * measured it.
 */
static bool parse_field(const char *text, const struct column *c, void *field)
{
	const struct figure *figure = c->kind == FIGURE ? figure_of(c) : NULL;
	double value;
	char *end;

	if (strcmp(text, "-") == 0)
		return true;
	if (c->kind == WORD || c->kind == SETTING) {
		snprintf(field, c->kind == WORD ? PLAN_WORD : PLAN_TEXT, "%s", text);
		make_printable(field);
		return true;
	}
	if (c->kind == REASONS)
		return limits_parse(text, field);
	value = strtod(text, &end) / (figure != NULL ? figure_factor(figure) : 1);
	if (end == text || *end != '\0' ||
	    !figure_is_possible(figure != NULL ? figure->kind : FIGURE_COUNT, value))
		return false;
	if (figure != NULL)
		*(double *)field = value;
	else
		*(uint64_t *)field = (uint64_t)value;
	return true;
}

/* The lines are in the order of the rounds; each round has the runs of the session before. */
static bool parse_lines(char *text, int lines, struct plan *p)
{
	char *line, *field;
	uint64_t round = 0;
	int i, k;

	for (i = 0; i < lines; i++) {
		line = strsep(&text, "\n");
		for (k = 0; k < COLUMNS && (field = strsep(&line, "\t")) != NULL; k++)
			if (!parse_field(field, &columns[k], field_of(p, i, &columns[k], &round)))
				return false;
		if (k < COLUMNS || line != NULL || round != (uint64_t)(i / p->n) + 1 ||
		    (p->earlier != NULL &&
		     (p->n != p->earlier->n ||
		      !plan_is_same_run(&p->run[i % p->n], &p->earlier->run[i % p->n]))))
			return false;
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
		(void)strsep(&text, "\n"); /* the columns' names */
	for (c = text; *c != '\0'; c = strchr(c, '\n') + 1, lines++)
		runs += strncmp(c, "1\t", 2) == 0;
	if (runs == 0 || lines % runs != 0 || runs > PLAN_RUNS_MAX ||
	    lines / runs > PLAN_ROUNDS_MAX)
		return "has no complete round";
	p = alloc_or_die(1, sizeof(*p), "a session");
	plan_open(p, runs, lines / runs);
	p->earlier = s->last;
	s->last = p;
	if (!parse_lines(text, lines, p))
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
	const int fd = open_retry(path, O_RDONLY | O_NONBLOCK);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	size_t size = 1;
	ssize_t len = -1;
	const char *why;
	char *copy;

	*s = (struct saved){.text = alloc_or_die(size, 1, path)};
	if (f == NULL && errno == ENOENT)
		return;
	/* A FIFO without a writer is empty; of one that has a writer, all is waited for. */
	if (f == NULL || fcntl(fd, F_SETFL, 0) != 0 ||
	    ((len = getdelim(&s->text, &size, '\0', f)) < 0 && !feof(f)))
		die_errno("%s: %s", option, printable(path));
	/* cppcheck-suppress nullPointerRedundantCheck ; die_errno() does not return */
	fclose(f);
	if (len <= 0)
		return;
	copy = strcpy(alloc_or_die(strlen(s->text) + 1, 1, path), s->text);
	why = s->text[len - 1] == '\0' ? NOT_SAVED : saved_parse(copy, s);
	if (why != NULL)
		die("%s: %s %s", option, printable(path), why);
	free(copy);
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
