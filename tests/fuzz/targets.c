/* The targets of the fuzzer: the readers of zc that take what others wrote, and what zcc prints of it. */
#include "lib/net/wire.h"
#include "lib/send/sender.h"
#include "lib/send/trials.h"

#include "tests/fuzz/fuzz.h"

/* A reason for a rejection is one line that can be printed behind a name. */
static bool rejected(const char *why)
{
	if (why != NULL)
		holds(*why != '\0' && strpbrk(why, "\r\n\t") == NULL && strlen(why) < 80,
		      "a rejection has a reason");
	return why != NULL;
}

/*
 * What a client sends: it must be read alike however it is cut into pieces, and whether bodies are looked at
 * or skipped.  The model reads it as zc-wire(5) describes it.
 */
static bool model_header(struct wire *m, const char *s, size_t len, size_t *used, uint32_t *v)
{
	const unsigned char *p = (const unsigned char *)s + *used;

	m->have = len - *used < 4 ? (unsigned)(len - *used) : 0;
	*used += m->have > 0 || *used == len ? m->have : 4;
	if (m->have > 0 || p == (const unsigned char *)s + len)
		return false;
	*v = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	return true;
}

/* Returns how many bytes belong to the wire.  `sparse`: the case has no bodies, which all come whole. */
static size_t model(struct wire *m, const char *s, size_t len, bool sparse)
{
	uint32_t n_loops, n_files, length, i, f;
	size_t used = 0, here;

	*m = (struct wire){.state = WIRE_LOOPS};
	if (!model_header(m, s, len, &used, &n_loops))
		return used;
	m->forever = n_loops == 0xffffffff;
	for (i = 0; m->forever || i < n_loops; i++) {
		m->state = WIRE_FILES;
		if (!model_header(m, s, len, &used, &n_files))
			return used;
		m->empty_loops += n_files == 0 && !m->has_file;
		for (f = 0; f < n_files; f++) {
			m->state = WIRE_LENGTH;
			if (!model_header(m, s, len, &used, &length))
				return used;
			m->has_file = true;
			here = sparse || length < len - used ? length : len - used;
			m->bytes += here;
			used += sparse ? 0 : here;
			m->state = WIRE_BODY;
			m->body_left = length - (uint32_t)here;
			if (m->body_left > 0)
				return used;
			m->files++;
		}
	}
	m->state = WIRE_DONE;
	return used;
}

static void wire_holds(const struct wire *w, const struct wire *m)
{
	const bool proper = m->state == WIRE_DONE || m->forever;
	const char *where = NULL;

	holds(w->state == m->state && w->have == m->have && w->forever == m->forever &&
		      wire_body_left(w) == m->body_left &&
		      wire_header_left(w) == (m->state < WIRE_BODY ? 4 - m->have : 0),
	      "what comes next, and how much of it");
	holds(w->files == m->files && w->bytes == m->bytes && w->has_file == m->has_file &&
		      w->empty_loops == m->empty_loops,
	      "the counts, and how long the warm-up is");
	holds(wire_ended(w, &where) == proper && rejected(where) == !proper,
	      "whether the end is proper");
}

/* Feeds pieces of at most `most` bytes, or if that is 0 the whole; returns how many were taken. */
static size_t feed(struct wire *w, const char *s, size_t len, size_t most)
{
	size_t at, n, took;

	*w = (struct wire){.state = WIRE_LOOPS};
	for (at = 0; at < len; at += took) {
		n = most == 0 ? len - at : 1 + below(len - at < most ? len - at : most);
		took = wire_feed(w, s + at, n);
		holds(took == n || (took < n && w->state == WIRE_DONE), "all of the wire is taken");
		if (took < n)
			return at + took;
	}
	return at;
}

/* Skips bodies and feeds headers by themselves, in pieces too, as zcs does where it discards bodies. */
static size_t skip(struct wire *w, const char *s, size_t len, bool sparse)
{
	size_t at = 0, n, body, left;

	*w = (struct wire){.state = WIRE_LOOPS};
	for (;;) {
		body = wire_body_left(w);
		left = body > 0 ? body : wire_header_left(w);
		if (left == 0 || (at == len && !(body > 0 && sparse)))
			return at;
		n = sparse && body > 0 ? left : left < len - at ? left : len - at;
		n = one_in(2) ? n : 1 + below(n);
		if (body > 0)
			wire_skip(w, n);
		else
			holds(wire_feed(w, s + at, n) == n, "a header is taken whole");
		at += sparse && body > 0 ? 0 : n;
	}
}

static bool run_wire(const char *s, size_t len)
{
	const size_t most[] = {0, 1, 1 + below(64)};
	const char *where;
	struct wire m, w;
	size_t used = model(&m, s, len, false), i;

	for (i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		holds(feed(&w, s, len, most[i]) == used, "what is taken belongs to the wire");
		wire_holds(&w, &m);
	}
	holds(skip(&w, s, len, false) == used, "with bodies skipped as much is taken");
	wire_holds(&w, &m);
	used = model(&m, s, len, true);
	holds(skip(&w, s, len, true) == used, "the headers are taken");
	wire_holds(&w, &m);
	w = (struct wire){.state = WIRE_RAW};
	holds(wire_feed(&w, s, len) == len && w.bytes == len && w.files == 0 &&
		      wire_ended(&w, &where),
	      "raw, all is data");
	feed(&w, s, len, 0);
	return wire_ended(&w, &where);
}

static void make_wire(struct text *t)
{
	static const char body[64];
	size_t loops = below(5), i, files, length;
	const bool forever = one_in(4);

	put_header(t, forever ? 0xffffffff : (uint32_t)loops);
	for (i = 0; i < loops; i++) {
		files = one_in(3) ? 0 : below(5);
		put_header(t, (uint32_t)files);
		while (files-- > 0) {
			length = one_in(4) ? 0 : below(sizeof(body));
			put_header(t, (uint32_t)length);
			put_bytes(t, body, length);
		}
	}
	if (forever && t->len > 4)
		t->len -= below(t->len - 4);
	else if (one_in(4))
		put(t, "more");
}

/*
 * A file of --save, and what zcc prints of its figures.
 */
static void begin_json(struct json *j, void *unused)
{
	(void)unused;
	json_report_open(j);
	json_open(j, "comparison", '{');
}

/* Prints a comparison of the runs of a plan, alone and with themselves as they were saved.  A name in the case `s` may be
 * one of the words that no figure is. */
static void comparison_holds(struct plan *p, const char *s)
{
	static const char none[][16] = {"nan", " inf", "-inf", "_ratio\":{}"};
	static const struct compare_options against = {.against = "file"};
	struct comparison c = {.plan = p, .opt = &against, .begin_json = begin_json};
	FILE *const before = stdout;
	char *text;
	struct plan then;
	size_t len, i;
	int turn;

	for (turn = 0; turn < 4; turn++) {
		c.json = turn % 2 != 0;
		then = *p;
		then.result = NULL;
		then.before = NULL;
		p->before = turn < 2 ? NULL : &then;
		stdout = open_memstream(&text, &len);
		if (stdout == NULL)
			err(EXIT_FAILURE, "fuzz");
		comparison_print(&c, NULL);
		fclose(stdout);
		stdout = before;
		holds(text[0] != '\0', "something is printed");
		for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
			holds(strstr(text, none[i]) == NULL ||
				      strstr(s, none[i] + (*none[i] == ' ')) != NULL,
			      "a figure that is printed is a number");
		free(text);
		free(then.result);
	}
	p->before = NULL;
}

static bool run_saved(const char *s, size_t len)
{
	FILE *f = fmemopen((void *)s, len + (len == 0), "r");
	struct plan *last, *p;
	const char *why = saved_parse(f, &trials_kind, NULL, &last), *line;
	bool same = true;
	int lines = 0;

	fclose(f);
	for (line = s; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n')
		lines += *line != '#' && strncmp(line + strcspn(line, "\t\n"), "\t#", 2) != 0;
	for (p = last; p != NULL; p = p->earlier) {
		lines -= p->n * p->rounds;
		same &= p->n == last->n;
	}
	holds(lines >= 0, "each run that was read has a line");
	if (last != NULL && same) /* others are rejected: comparison_check_or_die() */
		comparison_holds(last, s);
	saved_close(last);
	return !rejected(why) && lines == 0;
}

static void put_receipt(struct text *t, const char *key)
{
	static const char *const figures[] = {"load",    "cpus",  "uncertainty", "shared",
					      "drift",   "reads", "retransmits", "segments",
					      "elapsed", "busy"};
	size_t i;

	put(t, "\t%s=bytes=%zu seconds=%zu.5", key, below(1000000), below(100));
	for (i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		put(t, " %s=", figures[i]);
		if (one_in(64))
			put_odd_number(t);
		else
			put(t, "%zu", below(100));
	}
	put(t, one_in(4) ? " unsafe=steal,weight" : "");
}

/* Sessions of rounds, of which some lack lines. */
static void make_saved(struct text *t)
{
	const size_t runs = 1 + below(3);
	size_t session, sessions = 1 + below(3), round, i;

	put(t, "#zc-save 2\n");
	for (session = 0; session < sessions; session++) {
		put(t, "%016zx\t#\truns: %zu\n%016zx\t#\tmachine: zcc 2.0\n", session, runs,
		    session);
		for (round = 1; round < 2 + below(3); round++)
			for (i = 0; i < runs - one_in(64); i++) {
				put(t, "%016zx\t%zu\tsetting=a\twords=-m %c\tblksize=%zu", session,
				    round, (char)('a' + (round % 2 == 1 ? i : runs - 1 - i)), i);
				put_receipt(t, "sent");
				if (one_in(2))
					put_receipt(t, "received");
				put(t, one_in(2) ? "\tlocal=1\n" : "\n");
			}
	}
}

/*
 * A receipt: the figures have the values of its text, and what is written of them reads the same.
 */

/* The value of a key in the receipt `line`; NULL if it has none. */
static const char *value_of(const char *line, const char *key)
{
	const size_t len = strlen(key);

	while (strncmp(line, key, len) != 0 || line[len] != '=') {
		line += strcspn(line, " \n") + 1;
		if (line[-1] != ' ')
			return NULL;
	}
	return line + len + 1;
}

/* Whether a row has the value of a receipt, or nothing where that is NULL. */
static bool same_value(const struct figure *row, const struct figures *f, const char *value)
{
	const char *word = figure_member(row, f);
	const double v = figure_value(row, f), w = value != NULL ? strtod(value, NULL) : 0;

	if (row->kind == FIGURE_WORD || row->kind == FIGURE_NAME)
		return value == NULL ? *word == '\0'
				     : strcspn(value, " \n") == strlen(word) &&
					       strncmp(value, word, strlen(word)) == 0;
	return isnan(v) ? value == NULL || row->kind == FIGURE_LOAD
			: fabs(v - w) <= 0.500001e-6 + fabs(w) * 1e-15;
}

static void figures_hold(const struct figures *f, const char *line)
{
	const struct figure *row;

	for (row = figure_table; row < figure_table + figure_rows; row++)
		if (row->receipt != NULL && row->kind != FIGURE_REASONS)
			holds(same_value(row, f,
					 row->is_kept ? NULL : value_of(line, row->receipt)),
			      "a figure has the receipt's value, unless no peer may claim it");
}

static bool run_receipt(const char *s, size_t len)
{
	char line[RECEIPT_MAX + 1], written[RECEIPT_MAX + 1], again[RECEIPT_MAX];
	struct figures f, g;
	size_t used;

	if (rejected(receipt_parse(s, len, &f)))
		return false;
	holds(len <= RECEIPT_MAX && receipt_parse(s, len - 1, &g) != NULL,
	      "a receipt is one line, with its newline");
	memcpy(line, s, len);
	line[len] = '\0';
	figures_hold(&f, line);
	holds(isnan(f.host.load) || f.host.cpus >= 1, "a load is that of CPUs");
	used = receipt_format(&f, written);
	holds(used <= RECEIPT_MAX, "a receipt that is written has room");
	written[used] = '\0';
	figures_hold(&f, written);
	holds(receipt_parse(written, used, &g) == NULL && receipt_format(&g, again) == used &&
		      memcmp(written, again, used) == 0,
	      "a receipt that is written reads the same");
	return true;
}

static void make_receipt(struct text *t)
{
	const struct figure *row;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		if (row->receipt == NULL || (row > figure_table + 1 && one_in(4)))
			continue;
		put(t, row > figure_table ? " %s=" : "%s=", row->receipt);
		if (row->kind == FIGURE_COUNT)
			put(t, "%" PRIu64, any() >> (5 + below(59)));
		else if (row->kind == FIGURE_REASONS)
			put(t, "steal,weight");
		else if (row->kind >= FIGURE_WORD)
			put(t, "%.*s", (int)row->size - 1, "abcdefghijklmno");
		else
			put(t, "%zu.000000", one_in(8) ? 100 : below(one_in(2) ? 2 : 64));
	}
	if (one_in(8))
		put(t, " later_%zu=%0*d", below(10),
		    one_in(8) ? (int)(RECEIPT_MAX - 11 - t->len + below(4)) : 9, 0);
	put(t, "\n");
}

const struct fuzz_target targets[] = {
	{"wire", false, run_wire, make_wire, NULL},
	{"receipt", false, run_receipt, make_receipt,
	 "bytes=|seconds=|load=|cpus=|cpus=0.9999999|slowed=-|method=|later=| refused=full| |=|\n|.|-|"
	 " bytes=0 seconds=0\n|\033[2J|\177|\200|999999999999999|00000000|uncertainty=99|0"},
	{"saved", true, run_saved, make_saved,
	 "\t|\n|-|0|1e|e9|e300|.|nan|inf|-1|other|later|\t-\t|1\t"},
};
const size_t n_targets = sizeof(targets) / sizeof(targets[0]);
