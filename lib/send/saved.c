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
	COLUMN_INSTRUMENT,
	COLUMN_SERVER,
	COLUMN_INTERFACE,
	COLUMN_SECONDS,
	COLUMN_WARMUP,
	COLUMN_DATE,
	COLUMN_TITLE,
	COLUMNS
};

/* A figure of the plan is in units of `unit`. */
static const struct {
	const char *name;
	enum plan_figure figure;
	enum figure_kind kind;
	double unit;
} columns[] = {
	[COLUMN_ROUND] = {.name = "round"},
	[COLUMN_METHOD] = {.name = "method"},
	[COLUMN_CHUNK] = {.name = "buffer_bytes"},
	[COLUMN_STREAMS] = {.name = "streams"},
	[COLUMN_BASELINE] = {.name = "baseline"},
	{"kib_per_second", PLAN_RATE, FIGURE_RATE, 1},
	{"load_percent", PLAN_LOAD, FIGURE_LOAD, PERCENT},
	{"load_uncertainty_percent", PLAN_UNCERTAINTY, FIGURE_SHARE, PERCENT},
	{"cost_us_per_kib", PLAN_COST, FIGURE_COST, 1},
	[COLUMN_UNSAFE] = {.name = "unsafe"},
	{"receiver_load_percent", PLAN_REMOTE_LOAD, FIGURE_LOAD, PERCENT},
	{"receiver_load_uncertainty_percent", PLAN_REMOTE_SHARED, FIGURE_SHARE, PERCENT},
	{"receiver_cost_us_per_kib", PLAN_REMOTE_COST, FIGURE_COST, 1},
	[COLUMN_REMOTE_UNSAFE] = {.name = "receiver_unsafe"},
	[COLUMN_CONGESTION] = {.name = "congestion"},
	[COLUMN_PACE] = {.name = "pace_bytes_per_second"},
	[COLUMN_OFFLOADS] = {.name = "offloads"},
	[COLUMN_SHARED] = {"load_shared_percent", PLAN_SHARED, FIGURE_SHARE, PERCENT},
	[COLUMN_DRIFT] = {"drift_percent", PLAN_DRIFT, FIGURE_LOAD, PERCENT},
	[COLUMN_INSTRUMENT] = {.name = "instrument"},
	[COLUMN_SERVER] = {.name = "server"},
	[COLUMN_INTERFACE] = {.name = "interface"},
	[COLUMN_SECONDS] = {.name = "seconds"},
	[COLUMN_WARMUP] = {.name = "warmup_seconds"},
	[COLUMN_DATE] = {.name = "date"},
	[COLUMN_TITLE] = {.name = "title"},
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
	const struct plan_settings *s = &p->settings;
	char text[UNSAFE_STRLEN];

	switch (k) {
	case COLUMN_ROUND: fprintf(f, "%d", round + 1); break;
	case COLUMN_METHOD: fputs(run->method, f); break;
	case COLUMN_CHUNK: fprintf(f, "%" PRIu64, run->chunk); break;
	case COLUMN_STREAMS: fprintf(f, "%d", run->streams); break;
	case COLUMN_BASELINE: fputs(p->one_baseline ? "one" : "own", f); break;
	case COLUMN_UNSAFE: print_word(f, limits_format(run->unsafe, text)); break;
	case COLUMN_REMOTE_UNSAFE: print_word(f, limits_format(run->remote_unsafe, text)); break;
	case COLUMN_CONGESTION: print_word(f, s->congestion); break;
	case COLUMN_PACE: fprintf(f, "%" PRIu64, s->pace); break;
	case COLUMN_OFFLOADS: print_word(f, s->offloads); break;
	case COLUMN_INSTRUMENT: print_word(f, run->instrument); break;
	case COLUMN_SERVER: print_word(f, s->server); break;
	case COLUMN_INTERFACE: print_word(f, s->interface); break;
	case COLUMN_SECONDS: print_figure(f, FIGURE_SECONDS, 1, s->seconds); break;
	case COLUMN_WARMUP: print_figure(f, FIGURE_SECONDS, 1, s->warmup); break;
	case COLUMN_DATE: print_word(f, s->date); break;
	case COLUMN_TITLE: print_word(f, s->title); break;
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
	case COLUMN_INSTRUMENT:
		parse_word(field, r->run.instrument, sizeof(r->run.instrument));
		break;
	case COLUMN_SERVER: parse_word(field, s->server, sizeof(s->server)); break;
	case COLUMN_INTERFACE: parse_word(field, s->interface, sizeof(s->interface)); break;
	case COLUMN_SECONDS: s->seconds = parse_figure(field, FIGURE_SECONDS, 1, wrong); break;
	case COLUMN_WARMUP: s->warmup = parse_figure(field, FIGURE_SECONDS, 1, wrong); break;
	case COLUMN_DATE: parse_word(field, s->date, sizeof(s->date)); break;
	case COLUMN_TITLE: parse_word(field, s->title, sizeof(s->title)); break;
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
	r->settings.seconds = r->settings.warmup = NAN;
	for (k = 0; k < n && (field = strsep(&line, "\t")) != NULL; k++)
		parse_column(field, (enum column)k, r, &wrong);
	/* Before it was known what rounds share, all of an uncertainty counted. */
	if (n <= COLUMN_SHARED)
		r->figure[PLAN_SHARED] = r->figure[PLAN_UNCERTAINTY];
	return !wrong && k == n && line == NULL;
}

bool saved_is_run(const struct plan_run *a, const struct plan_run *b)
{
	const bool known = a->instrument[0] != '\0' && b->instrument[0] != '\0';

	return strcmp(a->method, b->method) == 0 && a->chunk == b->chunk &&
	       a->streams == b->streams && (!known || strcmp(a->instrument, b->instrument) == 0);
}

static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool same_settings(const struct plan_settings *a, const struct plan_settings *b)
{
	return strcmp(a->title, b->title) == 0 && strcmp(a->date, b->date) == 0 &&
	       strcmp(a->server, b->server) == 0 && strcmp(a->interface, b->interface) == 0 &&
	       strcmp(a->congestion, b->congestion) == 0 && a->pace == b->pace &&
	       same_number(a->seconds, b->seconds) && same_number(a->warmup, b->warmup) &&
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
		if (r.round > 1 && !saved_is_run(&r.run, &p->run[i % p->n]))
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
	/* Before there was another one, soaking was the instrument. */
	for (i = 0; i < p->n && names <= COLUMN_INSTRUMENT; i++)
		if (!isnan(statistics_mean(p->run[i].figure[PLAN_LOAD], p->rounds).value))
			strcpy(p->run[i].instrument, LOAD_BY_SOAKING);
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
	s->plan.has_settings = *names > COLUMN_CONGESTION;
	why = parse_runs(text, lines, *names, &s->plan);
	if (why != NULL)
		plan_close(&s->plan);
	return why;
}

static bool same_plan(const struct plan *a, const struct plan *b)
{
	int i;

	for (i = 0; i < a->n && a->n == b->n; i++)
		if (!saved_is_run(&a->run[i], &b->run[i]))
			return false;
	return a->n == b->n;
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
		if (why == NULL && !same_plan(&s->session[0].plan, &s->session[s->n - 1].plan))
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
	char *text, *whole;
	size_t n;
	FILE *f;

	if (stat(path, &st) != 0)
		die_errno("%s: %s", option, printable(path));
	/* To open a file that is not regular may block and never time out. */
	if (!S_ISREG(st.st_mode) || st.st_size > SAVED_MAX)
		die("%s: %s is not a file that --save has written", option, printable(path));
	text = alloc_or_die((size_t)st.st_size + 1, 1, path);
	f = fopen_retry(path);
	n = f == NULL ? 0 : fread(text, 1, (size_t)st.st_size, f);
	if (f == NULL || ferror(f) || fclose(f) != 0)
		die_errno("%s: %s", option, printable(path));
	text[n] = '\0';
	whole = strdup(text);
	if (whole == NULL)
		die_errno("%s: %s", option, printable(path));
	why = saved_parse(text, s);
	if (why != NULL)
		die("%s: %s %s", option, printable(path), why);
	free(text);
	s->text = whole;
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

/* `interface differs: eth0 then, lo now`; NULL if both are the same, or one is empty. */
static const char *differ(char *buf, const char *what, const char *then, const char *now)
{
	if (then[0] == '\0' || now[0] == '\0' || strcmp(then, now) == 0)
		return NULL;
	snprintf(buf, SAVED_DIFFERENCE, "%s: %s then, %s now", what, then, now);
	return buf;
}

/* The same of seconds, which may be unknown. */
static const char *differ_seconds(char *buf, const char *what, double then, double now)
{
	char a[32] = "", b[32] = "";

	if (!isnan(then))
		snprintf(a, sizeof(a), "%g s", then);
	if (!isnan(now))
		snprintf(b, sizeof(b), "%g s", now);
	return differ(buf, what, a, b);
}

static void pace_text(uint64_t pace, char buf[32])
{
	if (pace > 0)
		snprintf(buf, 32, "%" PRIu64 " bytes/s", pace);
	else
		strcpy(buf, "none");
}

const char *saved_difference(const struct plan *then, const struct plan *now, enum saved_setting k,
			     char buf[SAVED_DIFFERENCE])
{
	const struct plan_settings *a = &then->settings, *b = &now->settings;
	char then_pace[32], now_pace[32];

	if (!then->has_settings || !now->has_settings)
		return NULL;
	switch (k) {
	case SAVED_SERVER: return differ(buf, "server differs", a->server, b->server);
	case SAVED_INTERFACE: return differ(buf, "interface differs", a->interface, b->interface);
	case SAVED_SECONDS: return differ_seconds(buf, "-t differs", a->seconds, b->seconds);
	case SAVED_WARMUP: return differ_seconds(buf, "warm-up differs", a->warmup, b->warmup);
	case SAVED_CONGESTION:
		return differ(buf, "congestion differs", a->congestion, b->congestion);
	case SAVED_OFFLOADS: return differ(buf, "offloads differ", a->offloads, b->offloads);
	case SAVED_PACE:
	case SAVED_SETTINGS: break;
	}
	pace_text(a->pace, then_pace);
	pace_text(b->pace, now_pace);
	return differ(buf, "pace differs", then_pace, now_pace);
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
