#include "lib/compare/saved.h"

#include "lib/compare/comparison.h"
#include "lib/compare/name.h"

#define READ_FIRST     65536 /* bytes of a file, and twice as many each time that there are more */
#define READ_MOST      (1u << 30) /* a thousand rounds of a thousand runs have 175 MB */
#define NOT_SAVED      "was not written by --save of this version"
#define REASON_LETTERS "abcdefghijklmnopqrstuvwxyz,"
#define COLUMNS_MAX    96
#define SETTINGS_MAX   512 /* of a session */

/* What a column has; `which` is the factor, the measure or the end, and `unit` is that of the measure. */
struct field {
	enum { ROUND, FACTOR, MEASURE, REASONS, PROFILE, SETTING } kind;
	int which;
	char key[64];
	const struct figure *row;
	double unit;
};

struct fields {
	struct field field[COLUMNS_MAX];
	int n;
};

static bool is_remote(const char *key)
{
	return strncmp(key, PLAN_REMOTE, strlen(PLAN_REMOTE)) == 0;
}

static struct field field_named(const struct plan_kind *kind, const char *name)
{
	const struct alias *a = kind->alias;
	struct field f = {.kind = SETTING, .unit = 1};
	const char *key;
	int i;

	while (a < kind->alias + kind->aliases && strcmp(a->name, name) != 0)
		a++;
	if (a < kind->alias + kind->aliases) {
		name = a->key;
		f.unit = a->factor;
	}
	snprintf(f.key, sizeof(f.key), "%s", name);
	key = is_remote(name) ? name + strlen(PLAN_REMOTE) : name;
	if (strcmp(name, "round") == 0)
		f.kind = ROUND;
	if (strcmp(key, "unsafe") == 0 || strcmp(key, "profile_unsafe") == 0) {
		f.kind = *key == 'u' ? REASONS : PROFILE;
		f.which = is_remote(name);
	}
	for (i = 0; i < kind->factors; i++)
		if (strcmp(kind->factor[i].key, name) == 0) {
			f.kind = FACTOR;
			f.which = i;
		}
	for (i = 0; i < kind->measures; i++)
		if (strcmp(kind->measure[i].key, key) == 0 &&
		    kind->measure[i].end == is_remote(name)) {
			f.kind = MEASURE;
			f.which = i;
			f.row = figure_named(key);
			f.unit = figure_factor(f.row) / f.unit;
		}
	return f;
}

static void add_field(struct fields *all, const struct plan_kind *kind, int end, const char *key)
{
	all->field[all->n++] = field_named(kind, text_of("%s%s", end == 1 ? PLAN_REMOTE : "", key));
}

/* The columns of a session that is written.  All sessions of a file have a profile, or none. */
static struct fields fields_of(const struct plan *p)
{
	const bool profiled = plan_setting(p, PLAN_PROFILE)[0] != '\0';
	const struct plan_kind *kind = p->kind;
	const unsigned parts = differing_in(p);
	struct fields all = {.n = 0};
	int i;

	add_field(&all, kind, 0, "round");
	for (i = 0; i < kind->factors; i++)
		if (!kind->factor[i].is_apart || parts & 1u << i)
			add_field(&all, kind, 0, kind->factor[i].key);
	for (i = 0; i < kind->measures; i++)
		if (kind->measure[i].group == NULL || profiled)
			add_field(&all, kind, kind->measure[i].end, kind->measure[i].key);
	for (i = 0; i < 2; i++)
		add_field(&all, kind, i, "unsafe");
	for (i = 0; i < 2 && profiled; i++)
		add_field(&all, kind, i, "profile_unsafe");
	return all;
}

/*
 * Writing.
 */

/* `-` is what is not known, or cannot be read again. */
static void print_field(FILE *f, const struct plan *p, const struct field *c, int round, int run)
{
	const struct plan_run *r = &p->run[run];
	const char *text = "";
	double value;

	switch (c->kind) {
	case ROUND: text = text_of("%d", round + 1); break;
	case FACTOR: text = plan_value(r, c->which); break;
	case REASONS: text = limits_format(r->reasons[c->which][round]); break;
	case PROFILE: text = r->profile_unsafe[c->which][round]; break;
	case SETTING: break; /* no session has it in a column */
	case MEASURE:
		value = r->figure[c->which][round];
		if (figure_is_possible(c->row->kind, value))
			text = text_of("%.9g", value * c->unit);
	}
	fputs(text[0] != '\0' ? text : "-", f);
}

/* The names of columns, in a line to be freed. */
static char *names_of(const struct fields *all)
{
	char *names = alloc_or_die(COLUMNS_MAX, sizeof(all->field[0].key), "a session");
	int k;

	for (k = 0; k < all->n; k++)
		sprintf(names + strlen(names), "%s%c", all->field[k].key,
			k < all->n - 1 ? '\t' : '\n');
	return names;
}

/* Whether the last names of columns in a text are these, a line. */
static bool has_names(const char *text, size_t len, const char *names)
{
	const char *last = memmem(text, len, "\nround\t", 7), *next = last;

	while (next != NULL) {
		last = next;
		next = memmem(last + 1, len - (size_t)(last + 1 - text), "\nround\t", 7);
	}
	return last != NULL && strncmp(last + 1, names, strlen(names)) == 0;
}

/*
 * Returns the text of a plan's session, to be freed, behind that of others: it has the columns' names unless those
 * in force are the same.
 */
static char *session_text(const struct plan *p, const char *before, size_t len)
{
	const struct fields all = fields_of(p);
	char *names = names_of(&all), *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int i, k;

	if (f == NULL)
		die_errno("a session");
	fprintf(f, "# %s\n", p->machine);
	for (i = 0; i < p->settings; i++)
		if (p->setting[i].value[0] != '\0')
			fprintf(f, "# %s: %s\n", p->setting[i].key, p->setting[i].value);
	if (!has_names(before, len, names))
		fputs(names, f);
	free(names);
	for (i = 0; i < p->rounds * p->n; i++)
		for (k = 0; k < all.n; k++) {
			print_field(f, p, &all.field[k], i / p->n, i % p->n);
			fputc(k < all.n - 1 ? '\t' : '\n', f);
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

	saved_read_or_die(&now, p->kind, "--save", path);
	if (now.last != NULL)
		comparison_check_or_die(p, now.last, "--save", path);
	own = p->text != NULL ? strstr(now.text, p->text) : NULL;
	c.text = now.text;
	c.behind = own != NULL ? own + strlen(p->text) : now.text + strlen(now.text);
	c.before = (size_t)((own != NULL ? own : c.behind) - now.text);
	if (p->rounds > 0) {
		free(p->text);
		c.session = p->text = session_text(p, now.text, c.before);
	}
	file_replace_or_die(path, p->rounds > 0 || c.before > 0 ? print_content : NULL, &c);
	saved_close(&now);
	close(lock);
}

/*
 * Reading.
 */

/* Returns false if it is not what the column has, or no host can have measured it.  Adds reasons to *unsafe. */
static bool parse_field(char *text, struct plan *p, const struct field *c, int round, int run,
			unsigned *unsafe)
{
	struct plan_run *r = &p->run[run];
	unsigned reasons = 0;
	double value;
	char *end;

	if (strcmp(text, "-") == 0)
		return c->kind != ROUND;
	value = strtod(text, &end);
	switch (c->kind) {
	case ROUND: return *end == '\0' && value == round + 1;
	case FACTOR:
		plan_set_value(r, c->which, text);
		return !p->kind->factor[c->which].is_number ||
		       (end > text && *end == '\0' && figure_is_possible(FIGURE_COUNT, value));
	case REASONS:
		if (!limits_parse(text, &reasons))
			return false;
		r->reasons[c->which][round] = reasons;
		r->unsafe[c->which] |= reasons;
		*unsafe |= reasons;
		return true;
	case PROFILE:
		if (strlen(text) >= PROFILE_REASONS || text[strspn(text, REASON_LETTERS)] != '\0')
			return false;
		strcpy(r->profile_unsafe[c->which][round], text);
		return true;
	case SETTING:
		if (round == 0 && run == 0)
			plan_set(p, c->key, "%s", text);
		return true;
	default:
		value /= c->unit;
		r->figure[c->which][round] = value;
		return end > text && *end == '\0' && figure_is_possible(c->row->kind, value);
	}
}

/* The lines are in the order of the rounds; each round has the runs of the session before. */
static bool parse_lines(char *text, int lines, struct plan *p, const struct fields *columns)
{
	char *line, *field;
	unsigned unsafe;
	int i, k;

	for (i = 0; i < lines; i++) {
		unsafe = 0;
		line = strsep(&text, "\n");
		for (k = 0; k < columns->n && (field = strsep(&line, "\t")) != NULL; k++)
			if (!parse_field(field, p, &columns->field[k], i / p->n, i % p->n, &unsafe))
				return false;
		plan_count(p, i % p->n, unsafe);
		if (k < columns->n || line != NULL ||
		    (p->earlier != NULL &&
		     (p->n != p->earlier->n ||
		      !plan_is_same_run(p->kind, &p->run[i % p->n], &p->earlier->run[i % p->n]))))
			return false;
	}
	p->rounds = lines / p->n;
	return true;
}

/* Reads the names of the columns. */
static bool parse_names(char *line, const struct plan_kind *kind, struct fields *columns)
{
	char *name;

	columns->n = 0;
	while ((name = strsep(&line, "\t")) != NULL && columns->n < COLUMNS_MAX)
		columns->field[columns->n++] = field_named(kind, name);
	return name == NULL;
}

/* Reads the lines `# KEY: VALUE` at the beginning of a text. */
static bool parse_settings(char *text, struct plan *p)
{
	char *line, *value;

	while (strncmp(text, "# ", 2) == 0) {
		line = strsep(&text, "\n") + 2;
		value = strstr(line, ": ");
		if (value == NULL || p->settings == SETTINGS_MAX)
			return false;
		*value = '\0';
		plan_set(p, line, "%s", value + 2);
	}
	return true;
}

/* Adds a session of which `text` has the lines, behind `# `. */
static const char *parse_session(char *text, const struct plan_kind *kind, struct fields *columns,
				 struct saved *s)
{
	const char *machine = strsep(&text, "\n"), *c;
	char *settings = text;
	int lines = 0, runs = 0;
	struct plan *p;

	while (strncmp(text, "# ", 2) == 0)
		text = strchr(text, '\n') + 1;
	if (strncmp(text, "round\t", 6) == 0 && !parse_names(strsep(&text, "\n"), kind, columns))
		return NOT_SAVED;
	for (c = text; *c != '\0'; c = strchr(c, '\n') + 1, lines++)
		runs += strncmp(c, "1\t", 2) == 0;
	if (runs == 0 || lines % runs != 0 || runs > PLAN_RUNS_MAX ||
	    lines / runs > PLAN_ROUNDS_MAX)
		return "has no complete round";
	p = alloc_or_die(1, sizeof(*p), "a session");
	plan_open(p, kind, runs, lines / runs);
	plan_set_machine(p, machine);
	p->earlier = s->last;
	s->last = p;
	if (!parse_settings(settings, p) || columns->n == 0 || columns->field[0].kind != ROUND ||
	    !parse_lines(text, lines, p, columns))
		return "has a line that --save of this version has not written there";
	return NULL;
}

const char *saved_parse(char *text, const struct plan_kind *kind, struct saved *s)
{
	struct fields columns = {.n = 0};
	char head[32], *next;
	const char *why = NULL;

	snprintf(head, sizeof(head), "\n# %s ", kind->program);
	if (strstr(text, head + 1) != text || text[strlen(text) - 1] != '\n')
		return NOT_SAVED;
	for (; text != NULL && why == NULL; text = next) {
		next = strstr(text + 1, head);
		if (next != NULL)
			*++next = '\0';
		why = parse_session(text + 2, kind, &columns, s);
	}
	if (why != NULL)
		saved_close(s);
	return why;
}

/*
 * Reads a whole file, and stores its length.  Returns NULL if it does not begin as one of --save: it may have no end, as
 * a pipe of yes(1).
 */
static char *read_all_or_die(int fd, const char *program, const char *option, const char *path,
			     size_t *len)
{
	size_t size = READ_FIRST;
	char *text = alloc_or_die(size, 1, path);
	ssize_t n;

	for (*len = 0; (n = TEMP_FAILURE_RETRY(read(fd, text + *len, size - 1 - *len))) > 0;) {
		*len += (size_t)n;
		if (*len >= 2 + strlen(program) &&
		    (strncmp(text, "# ", 2) != 0 ||
		     strncmp(text + 2, program, strlen(program)) != 0)) {
			free(text);
			return NULL;
		}
		if (size - 1 > *len)
			continue;
		size *= 2;
		text = size <= READ_MOST ? realloc(text, size) : NULL;
		if (text == NULL)
			die("%s: %s is too long", option, printable(path));
	}
	if (n < 0)
		die_errno("%s: %s", option, printable(path));
	text[*len] = '\0';
	return text;
}

void saved_read_or_die(struct saved *s, const struct plan_kind *kind, const char *option,
		       const char *path)
{
	const int fd = open_retry(path, O_RDONLY | O_NONBLOCK);
	const char *why;
	char *copy;
	size_t len;

	*s = (struct saved){.text = alloc_or_die(1, 1, path)};
	if (fd < 0 && errno == ENOENT)
		return;
	/* A FIFO without a writer is empty; of one that has a writer, all is waited for. */
	if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0)
		die_errno("%s: %s", option, printable(path));
	free(s->text);
	s->text = read_all_or_die(fd, kind->program, option, path, &len);
	close(fd);
	if (s->text == NULL || strlen(s->text) != len)
		die("%s: %s %s", option, printable(path), NOT_SAVED);
	if (len == 0)
		return;
	copy = strcpy(alloc_or_die(len + 1, 1, path), s->text);
	why = saved_parse(copy, kind, s);
	free(copy);
	if (why != NULL)
		die("%s: %s %s", option, printable(path), why);
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
