#include "lib/compare/saved.h"

#include <ctype.h>
#include <limits.h>
#include <search.h>
#include <sys/stat.h>

#include "lib/base/files.h"
#include "lib/base/texts.h"

#define HEAD        "#zc-save 2"
#define LINE_MOST   16384
#define RUN_MOST    8192 /* bytes of a run's line before its receipts */
#define VALUES_MOST 16   /* that a run has */
#define FACTS_MOST  1000 /* that a session has */
#define TOLD_MOST   10   /* lines that are ignored, of each of which is told */

/*
 * Writing.
 */

/* Writes a field: a \ is doubled, and bytes are escaped that control a terminal, or are no text. */
static void print_field(FILE *f, const char *text)
{
	size_t n;

	for (; *text != '\0'; text += n) {
		n = utf8_length(text);
		if (*text == '\t' || *text == '\n' || *text == '\\')
			fprintf(f, "\\%c", *text == '\t' ? 't' : *text == '\n' ? 'n' : '\\');
		else if (n == 0 || (unsigned char)*text < ' ' || *text == '\x7f')
			fprintf(f, "\\x%02x", (unsigned char)*text);
		else
			fwrite(text, 1, n, f);
		n += n == 0;
	}
}

/* Writes what a line has of run i before its receipts.  Returns how many bytes. */
static long print_run(FILE *f, const struct plan *p, int i)
{
	const long from = ftell(f);
	int k;

	fprintf(f, "%s\t%d", p->id, p->rounds + 1);
	for (k = 0; k < p->kind->keys; k++)
		if (plan_value(&p->run[i], k)[0] != '\0') {
			fprintf(f, "\t%s=", p->kind->key[k].name);
			print_field(f, plan_value(&p->run[i], k));
		}
	if (p->run[i].reference > 0)
		fprintf(f, "\treference=%d", p->run[i].reference);
	return ftell(f) - from;
}

void saved_try_or_die(const struct plan *p, const char *path)
{
	char *text;
	size_t size;
	FILE *f = text_open_or_die(&text, &size, "a session");
	int i;

	for (i = 0; i < p->n; i++)
		if (print_run(f, p, i) > RUN_MOST)
			die("--save: run %d has more than %d bytes: give it a shorter command",
			    i + 1, RUN_MOST);
	text_close_or_die(f, "a session");
	free(text);
	if (access(path, F_OK) == 0)
		close(file_append_or_die(path));
	else
		file_replace_or_die(path, NULL, NULL);
}

/* The lines of the facts. */
static void print_facts(FILE *f, const struct plan *p)
{
	int i;

	fprintf(f, "%s\t#\truns: %d\n", p->id, p->n);
	for (i = 0; i < p->facts; i++) {
		if (p->fact[i].value[0] == '\0')
			continue;
		fprintf(f, "%s\t#\t%s: ", p->id, p->fact[i].key);
		print_field(f, p->fact[i].value);
		fputc('\n', f);
	}
}

void saved_run(struct saving *s, const struct plan *p, int i, const struct ends *ends,
	       const char *failed)
{
	long from;

	if (s->f == NULL)
		s->f = text_open_or_die(&s->text, &s->size, "a session");
	from = ftell(s->f);
	(void)print_run(s->f, p, i);
	if (failed != NULL) {
		fputs("\tfailed=", s->f);
		print_field(s->f, failed);
	} else {
		fprintf(s->f, "\tsent=%s", receipt_format_kept(ends->sent));
		if (ends->received != NULL)
			fprintf(s->f, "\treceived=%s", receipt_format_kept(ends->received));
		fputs(ends->local ? "\tlocal=1" : "", s->f);
	}
	if (ftell(s->f) - from > LINE_MOST - 2)
		die("--save: a run has more than %d bytes: give it a shorter command", LINE_MOST);
	fputc('\n', s->f);
}

/* The text of a write: what the file lacks before the lines, then these. */
static char *whole_text(const struct saving *s, const struct plan *p, int fd, size_t *size)
{
	struct stat st;
	char last = '\n', *text;
	FILE *f = text_open_or_die(&text, size, "a session");

	if (fstat(fd, &st) != 0)
		die_errno("a session");
	if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n')
		fputc('\n', f);
	if (st.st_size == 0)
		fputs(HEAD "\n", f);
	if (!s->has_facts)
		print_facts(f, p);
	fwrite(s->text, 1, s->size, f);
	text_close_or_die(f, "a session");
	return text;
}

void saved_round_or_die(struct saving *s, const struct plan *p, const char *path)
{
	char *text;
	size_t size, at;
	ssize_t n;
	int fd;

	if (s->f == NULL)
		return;
	text_close_or_die(s->f, "a session");
	if (path != NULL) {
		fd = file_append_or_die(path);
		text = whole_text(s, p, fd, &size);
		for (at = 0; at < size; at += (size_t)n) {
			n = TEMP_FAILURE_RETRY(write(fd, text + at, size - at));
			if (n < 0)
				die_errno("cannot write %s", printable(path));
		}
		close(fd);
		free(text);
		s->has_facts = true;
	}
	free(s->text);
	s->f = NULL;
}

/*
 * Reading.
 */

/* A session of the file. */
struct session {
	struct plan plan;
	int runs;  /* that a round has; the plan has them while there is one */
	int round; /* the number of the last one that is complete */
};

/* A run of a round. */
struct record {
	int run;
	struct figures end[2];
	struct ends ends;
	char failed[DIE_MAX]; /* why; empty: it did not */
	long reference;
	char *value[VALUES_MOST];
};

struct reader {
	const struct plan_kind *kind;
	const char *path;
	struct plan *last;       /* session that was found */
	void *sessions;          /* a tree of tsearch(3) */
	struct session *session; /* whose lines are read; NULL: none that has begun */
	int round;               /* whose lines are read, which are neighbours; 0: none */
	bool is_void;            /* further lines of the round are ignored */
	int runs;                /* of the round so far */
	struct record *record;
	int most;           /* runs of a round of any session */
	long line, ignored; /* the number of the line; how many of them are */
	bool is_foreign;    /* a session is of another program */
};

/* Replaces \t, \n, \xHH and \\ in place.  Returns false if something else follows a \. */
static bool unescape(char *text)
{
	char *to = text, hex[3] = "";

	for (; *text != '\0'; text++) {
		if (*text != '\\') {
			*to++ = *text;
			continue;
		}
		text++;
		if (*text == 'x' && isxdigit((unsigned char)text[1]) &&
		    isxdigit((unsigned char)text[2])) {
			memcpy(hex, text + 1, 2);
			*to = (char)strtoul(hex, NULL, 16);
			if (*to++ == '\0')
				return false;
			text += 2;
		} else if (*text != '\0' && strchr("tn\\", *text) != NULL) {
			*to++ = (char)(*text == 't' ? '\t' : *text == 'n' ? '\n' : '\\');
		} else {
			return false;
		}
	}
	*to = '\0';
	return true;
}

/* Prints that a line is ignored, and voids the round it is in. */
static void reject_line(struct reader *r, const char *why)
{
	if (r->path != NULL && r->ignored++ < TOLD_MOST)
		warnx("%s: line %ld is ignored: %s", printable(r->path), r->line, why);
	r->is_void = true;
}

/* Adds a round that is complete: further lines of it, and of earlier ones, are ignored. */
static void add_round(struct reader *r)
{
	const struct record *rec;

	for (rec = r->record; rec < r->record + r->runs; rec++)
		if (rec->failed[0] != '\0')
			plan_fail(&r->session->plan, rec->run, rec->failed);
		else
			plan_add(&r->session->plan, rec->run, &rec->ends);
	r->session->round = r->round;
	r->is_void = true;
}

/* Forgets what there is of a round. */
static void end_round(struct reader *r)
{
	r->is_void = false;
	r->runs = r->round = 0;
	if (r->session != NULL && r->session->plan.rounds == 0)
		plan_set_runs(&r->session->plan, 0);
}

static int compare_ids(const void *a, const void *b)
{
	const struct session *const one = a, *const other = b;

	return strcmp(one->plan.id, other->plan.id);
}

/*
 * Finds the session of a line, mostly that of the line before: rounds of several sessions may take turns.  If none has
 * the id, one `begins`.
 */
static void find_session(struct reader *r, const char *id, bool begins)
{
	struct session *s = r->session, wanted = {.runs = 0}, *const * found;

	if (s != NULL && strcmp(s->plan.id, id) == 0)
		return;
	end_round(r);
	strcpy(wanted.plan.id, id);
	found = tfind(&wanted, &r->sessions, compare_ids);
	r->session = found != NULL ? *found : NULL;
	if (found != NULL || !begins)
		return;
	r->session = s = alloc_or_die(1, sizeof(*s), "a session");
	plan_open(&s->plan, r->kind, 0);
	plan_set(&s->plan, "machine", "%s", "");
	strcpy(s->plan.id, id);
	s->plan.earlier = r->last;
	r->last = &s->plan;
	if (tsearch(s, &r->sessions, compare_ids) == NULL)
		die_errno("a session");
}

/* For tdestroy(3). */
static void keep_session(void *session)
{
	(void)session;
}

/* Removes the sessions without a complete round. */
static void end_sessions(struct reader *r)
{
	struct plan **at = &r->last, *p;

	tdestroy(r->sessions, keep_session);
	while ((p = *at) != NULL) {
		if (p->rounds > 0) {
			r->is_foreign |= strncmp(plan_fact(p, "machine"), r->kind->program,
						 strlen(r->kind->program)) != 0;
			at = &p->earlier;
		} else {
			*at = p->earlier;
			plan_close(p);
			free(p);
		}
	}
}

static const char *parse_fact(struct reader *r, char *text)
{
	char *value = strstr(text, ": ");
	struct session *s = r->session;
	double runs;

	if (value == NULL || !unescape(value))
		return "it is no fact";
	*value = '\0';
	value += 2;
	if (strcmp(text, "runs") != 0) {
		if (s->plan.facts == FACTS_MOST)
			return "its session has too many facts";
		plan_set(&s->plan, text, "%s", value);
		return NULL;
	}
	if (s->runs > 0)
		return "its session is there already: a round counts once";
	runs = strtod(value, NULL);
	if (!(runs >= 1 && runs <= PLAN_RUNS_MAX))
		return "it has no number of runs";
	s->runs = (int)runs;
	r->most = (int)fmax(r->most, runs);
	r->record = reallocarray(r->record, (size_t)r->most, sizeof(*r->record));
	if (r->record == NULL)
		die_errno("a session");
	return NULL;
}

static const char *parse_end(char *text, struct figures *f, const struct figures **end)
{
	*end = f;
	return receipt_parse_kept(text, f) == NULL ? NULL : "a receipt does not parse";
}

/* A field of a run; one that is not known is ignored. */
static const char *parse_value(const struct plan_kind *kind, const char *key, char *value,
			       struct record *rec)
{
	int k;

	if (strcmp(key, "sent") == 0)
		return parse_end(value, &rec->end[0], &rec->ends.sent);
	if (strcmp(key, "received") == 0)
		return parse_end(value, &rec->end[1], &rec->ends.received);
	rec->ends.local |= strcmp(key, "local") == 0 && strcmp(value, "1") == 0;
	if (strcmp(key, "failed") == 0)
		snprintf(rec->failed, sizeof(rec->failed), "%s", unescape(value) ? value : "?");
	if (strcmp(key, "reference") == 0)
		rec->reference = strtol(value, NULL, 10);
	for (k = 0; k < kind->keys; k++)
		if (strcmp(kind->key[k].name, key) == 0) {
			if (!unescape(value))
				return "it has a \\ before a wrong character";
			rec->value[k] = value;
		}
	return NULL;
}

/* Finds the run of a record: the values of the first round are those of the session. */
static bool find_run(struct reader *r, struct record *rec)
{
	const struct plan_run own = {.value = rec->value};
	struct plan *p = &r->session->plan;
	int k;

	if (p->n == 0)
		plan_set_runs(p, r->session->runs);
	rec->run = r->round % 2 == 1 ? r->runs : p->n - 1 - r->runs;
	for (k = 0; p->rounds == 0 && k < p->kind->keys; k++)
		plan_set_value(&p->run[rec->run], k, plan_value(&own, k));
	if (rec->reference >= 0 && rec->reference < p->n)
		p->run[rec->run].reference = (int)rec->reference;
	return plan_is_same_run(&p->run[rec->run], &own);
}

static const char *parse_run(struct reader *r, char *text)
{
	struct record *rec = &r->record[r->runs];
	char *key, *value;
	const char *why;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a session has records before it has a run */
	rec->ends = (struct ends){.sent = NULL};
	rec->failed[0] = '\0';
	rec->reference = 0;
	memset(rec->value, 0, sizeof(rec->value));
	while ((key = strsep(&text, "\t")) != NULL) {
		value = strchr(key, '=');
		if (value == NULL)
			return "a field has no =";
		*value++ = '\0';
		why = parse_value(r->kind, key, value, rec);
		if (why != NULL)
			return why;
	}
	if (rec->ends.sent == NULL && rec->failed[0] == '\0')
		return "it has no receipt";
	if (!find_run(r, rec))
		return "its round has other runs than the first one";
	if (++r->runs == r->session->runs)
		add_round(r);
	return NULL;
}

static const char *parse_line(struct reader *r, char *line)
{
	char *id = strsep(&line, "\t"), *round = strsep(&line, "\t"), *end;
	bool is_fact;
	long n;

	if (line == NULL || strlen(id) != 16 || id[strspn(id, "0123456789abcdef")] != '\0')
		return "it does not begin with a session and a round";
	find_session(r, id, strncmp(line, "runs: ", 6) == 0);
	is_fact = strcmp(round, "#") == 0;
	if (r->session == NULL || (r->session->runs == 0 && !is_fact))
		return "no line before it tells how many runs a round has";
	if (is_fact)
		return parse_fact(r, line);
	n = strtol(round, &end, 10);
	if (*end != '\0' || n < 1 || n > INT_MAX)
		return "it has no round";
	if (n != r->round)
		end_round(r);
	r->round = (int)n;
	r->is_void |= n <= r->session->round;
	return r->is_void ? NULL : parse_run(r, line);
}

/* What is wrong with the first line of a file, which may have no end; NULL: nothing. */
static const char *check_head(FILE *f)
{
	char line[sizeof(HEAD) + 1] = "";

	if (fgets(line, sizeof(line), f) == NULL)
		return NULL;
	if (strncmp(line, "# zcc ", 6) == 0 || strncmp(line, "# cyclesoak", 11) == 0)
		return "is of zc 1.x, whose files this version does not read: give a new file";
	return strcmp(line, HEAD "\n") != 0 ? "was not written by --save" : NULL;
}

/* Reads the next line, without its newline; of one that is too long, or has a NUL, the beginning.  Returns false at the end. */
static bool next_line(FILE *f, char line[LINE_MOST + 1], bool *is_whole)
{
	size_t n;
	int c = 0;

	if (fgets(line, LINE_MOST + 1, f) == NULL)
		return false;
	n = strlen(line);
	*is_whole = n > 0 && (line[n - 1] == '\n' || feof(f));
	while (!*is_whole && (c = getc(f)) != EOF && c != '\n')
		;
	if (n > 0 && line[n - 1] == '\n')
		line[n - 1] = '\0';
	return true;
}

const char *saved_parse(FILE *f, const struct plan_kind *kind, const char *path, struct plan **last)
{
	struct reader r = {.kind = kind, .path = path, .line = 1};
	char line[LINE_MOST + 1];
	const char *why = check_head(f), *wrong;
	bool is_whole;

	while (why == NULL && next_line(f, line, &is_whole)) {
		r.line++;
		if (line[0] == '#')
			continue;
		wrong = is_whole ? parse_line(&r, line) : "it is too long, or has a byte that is 0";
		if (wrong != NULL)
			reject_line(&r, wrong);
	}
	if (r.ignored > TOLD_MOST)
		warnx("%s: %ld more lines are ignored", printable(path), r.ignored - TOLD_MOST);
	end_sessions(&r);
	free(r.record);
	*last = r.last;
	return why != NULL ? why : r.is_foreign ? "was written by another program" : NULL;
}

struct plan *saved_read_or_die(const struct plan_kind *kind, const char *option, const char *path)
{
	const int fd = open_retry(path, O_RDONLY | O_NONBLOCK);
	/* A FIFO without a writer is empty; of one that has a writer, all is waited for. */
	FILE *f = fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "r") : NULL;
	struct plan *last;
	const char *why;
	int e;

	if (f == NULL && errno == ENOENT)
		return NULL;
	if (f == NULL)
		die_errno("%s: %s", option, printable(path));
	errno = 0;
	why = saved_parse(f, kind, path, &last);
	e = ferror(f) ? errno : 0;
	fclose(f);
	if (e != 0)
		die_of(e, "%s: %s", option, printable(path));
	if (why != NULL)
		die("%s: %s %s", option, printable(path), why);
	return last;
}

void saved_close(struct plan *last)
{
	struct plan *p, *earlier;

	for (p = last; p != NULL; p = earlier) {
		earlier = p->earlier;
		plan_close(p);
		free(p);
	}
}
