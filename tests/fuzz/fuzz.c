/*
 * fuzz: feeds zc's readers of what others wrote with valid input that is made at random and then damaged.
 *
 *	fuzz                         prints the targets, a line each
 *	fuzz TARGET [CASES [SEED]]   tries that many cases; each has a seed of its own, the first one this
 *
 * With -DLIBFUZZER -DTARGET=target it is libFuzzer's, which `make fuzz` builds.
 *
 * A target makes valid cases, runs one through a reader of zc's, and checks what must hold.  It is a few functions, and a
 * row of targets[].
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "lib/net/wire.h"
#include "lib/send/sender.h"
#include "lib/send/trials.h"

struct text {
	char *s;
	size_t len;
};

struct reader {
	const char *name;
	bool (*run)(const char *s, size_t len); /* whether it was accepted */
	void (*make)(FILE *f);                  /* writes a valid case, or nearly */
	const char
		*words; /* that mean something to it, between `|`; NULL: headers of the wire do */
};

static void holds(bool it_does, const char *what)
{
	if (it_does)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* A file that becomes a text when it is closed. */
static FILE *begin(struct text *t)
{
	FILE *f = open_memstream(&t->s, &t->len);

	if (f == NULL)
		err(EXIT_FAILURE, "fuzz");
	return f;
}

/* A reason for a rejection is one line that can be printed behind a name. */
static bool rejected(const char *why)
{
	if (why != NULL)
		holds(*why != '\0' && strpbrk(why, "\r\n\t") == NULL && strlen(why) < 80,
		      "a rejection has a reason");
	return why != NULL;
}

/*
 * Chance: srandom(3) is given what depends on the case alone, so that a case fails again by itself.
 */
static uint64_t any(void)
{
	return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

static size_t below(size_t n)
{
	return n == 0 ? 0 : (size_t)(any() % n);
}

static bool one_in(size_t n)
{
	return below(n) == 0;
}

static void put_header(FILE *f, uint64_t v)
{
	char p[WIRE_HEADER];

	wire_put(p, (uint32_t)v);
	fwrite(p, 1, sizeof(p), f);
}

/* Writes one of the words of a list. */
static void put_word(FILE *f, const char *list)
{
	size_t n = 1, i;

	for (i = 0; list[i] != '\0'; i++)
		n += list[i] == '|';
	for (n = below(n); n > 0; n--)
		list += strcspn(list, "|") + 1;
	fwrite(list, 1, strcspn(list, "|"), f);
}

/* Writes what a target may stumble over: one of its words, or a number at the edge of a type, or that is none. */
static void put_odd(FILE *f, const char *words)
{
	if (words == NULL)
		put_header(f, one_in(4) ? any() >> below(64) : (1ull << below(33)) - below(3));
	else if (one_in(2))
		put_word(f, words);
	else if (one_in(8))
		fprintf(f, "9%0*" PRIu64, one_in(2) ? 310 : 0, any() >> below(64));
	else
		put_word(f, "0|1|-1|-0|8191|8192|2147483647|2147483648|4294967295|4294967296|"
			    "4294967299|9223372036854775807|9223372036854775808|"
			    "18446744073709551615|18446744073709551616|99999999999999999999|"
			    "1000000000000000|999999999999999|nan|inf|-inf|1e999|1e3|0x10|00|.5|5.|"
			    "1.2.3|0.000000|0.0000001|0.999999999|1.0|+1|--1|1-2| 1||.|-");
}

/*
 * What a client sends: it must be read alike however it is cut into pieces, and whether bodies are looked at
 * or skipped.  The model reads it as zc-wire(5) describes it.
 */
static bool model_header(struct wire *m, const char *s, size_t len, size_t *used, uint32_t *v)
{
	const unsigned char *p = (const unsigned char *)s + *used;
	const size_t n = len - *used < WIRE_HEADER ? len - *used : WIRE_HEADER;

	*used += n;
	m->have = n % WIRE_HEADER;
	if (n == WIRE_HEADER)
		*v = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	return n == WIRE_HEADER;
}

/* Returns how many bytes belong to the wire.  `sparse`: the case has no bodies, which all come whole. */
static size_t model(struct wire *m, const char *s, size_t len, bool sparse)
{
	uint32_t loops, files, length;
	size_t used = 0, here;

	*m = (struct wire){.state = WIRE_LOOPS};
	if (!model_header(m, s, len, &used, &loops))
		return used;
	m->forever = loops == 0xffffffff;
	for (; m->forever || loops > 0; loops--) {
		m->state = WIRE_FILES;
		if (!model_header(m, s, len, &used, &files))
			return used;
		for (m->empty_loops += files == 0 && !m->has_file; files > 0; files--) {
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
		      w->empty_loops == m->empty_loops && wire_begun(w) == (m->state != WIRE_LOOPS),
	      "the counts, and how long the warm-up is");
	holds(wire_ended(w, &where) == proper && rejected(where) == !proper,
	      "whether the end is proper");
}

enum way { FEED, SKIP, SPARSE };

/*
 * Takes a case in pieces of up to `most` bytes; returns how many bytes of it were taken.  Unless all is fed bodies are
 * skipped, as where zcs discards them; a sparse case has none.
 */
static size_t take(struct wire *w, const char *s, size_t len, enum way way, size_t most)
{
	size_t at = 0, n, body, took;

	*w = (struct wire){.state = WIRE_LOOPS};
	do {
		body = way == FEED ? 0 : wire_body_left(w);
		n = body > 0 ? body : way == FEED ? len : wire_header_left(w);
		if (body == 0 || way == SKIP)
			n = n < len - at ? n : len - at;
		n = n < most ? n : most;
		n = n == 0 || one_in(2) ? n : 1 + below(n);
		took = body > 0 ? n : wire_feed(w, s + at, n);
		if (body > 0)
			wire_skip(w, n);
		at += body > 0 && way == SPARSE ? 0 : took;
	} while (n > 0 && took == n);
	return at;
}

/* Without headers all is data; and what begins as a record of TLS with a number of loops is known by eight bytes. */
static void other_wires_hold(const char *s, size_t len)
{
	struct wire w = {.state = WIRE_RAW};
	const char *where;
	int i;

	holds(!wire_begun(&w), "raw, nothing has begun");
	for (i = 0; i < 2; i++) {
		wire_skip(&w, 1);
		holds(wire_begun(&w) && wire_feed(&w, s, len) == len, "raw, all is taken");
	}
	holds(w.bytes == 2 * (1 + len) && w.files == 0 && wire_ended(&w, &where) &&
		      wire_body_left(&w) == SIZE_MAX && wire_header_left(&w) == 0,
	      "raw, all is data");
	w = (struct wire){.state = WIRE_LOOPS};
	if (len >= 8 && wire_feed(&w, s, 8) == 8)
		holds(wire_is_tls(&w) ==
			      (memcmp(s, "\x17\3\3", 4) == 0 && (s[4] == 0x14 || s[4] == 0x15)),
		      "the head of a record of TLS");
}

static bool run_wire(const char *s, size_t len)
{
	static const struct {
		enum way way;
		size_t most;
	} ways[] = {{FEED, 1}, {FEED, 64}, {SKIP, SIZE_MAX}, {SPARSE, SIZE_MAX}, {FEED, SIZE_MAX}};
	const char *where;
	struct wire m, w;
	size_t i;

	other_wires_hold(s, len);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		holds(model(&m, s, len, ways[i].way == SPARSE) ==
			      take(&w, s, len, ways[i].way, ways[i].most),
		      "what is taken belongs to the wire");
		wire_holds(&w, &m);
	}
	return wire_ended(&w, &where);
}

static void make_wire(FILE *f)
{
	static const char body[64];
	size_t loops = below(5), i, files, length;
	const bool forever = one_in(4);

	if (one_in(16)) {
		put_header(f, 0x17030300);
		put_header(f, (0x13 + below(4)) << 24);
	}
	put_header(f, forever ? 0xffffffff : loops);
	for (i = 0; i < loops; i++) {
		files = one_in(3) ? 0 : below(5);
		put_header(f, files);
		while (files-- > 0) {
			length = one_in(4) ? 0 : below(sizeof(body));
			put_header(f, length);
			fwrite(body, 1, forever && one_in(4) ? 0 : length, f);
		}
	}
	fputs(one_in(4) ? "more" : "", f);
}

/*
 * A receipt: what is written of its figures reads the same.
 */
static bool run_receipt(const char *s, size_t len)
{
	char written[RECEIPT_MAX + 1], again[RECEIPT_MAX];
	struct figures f, g;
	size_t used;

	if (rejected(receipt_parse(s, len, &f)))
		return false;
	holds(len <= RECEIPT_MAX && receipt_parse(s, len - 1, &g) != NULL,
	      "a receipt is one line, with its newline");
	holds(isnan(f.host.load) || f.host.cpus >= 1, "a load is that of CPUs");
	used = receipt_format(&f, written);
	holds(used <= RECEIPT_MAX, "a receipt that is written has room");
	holds(receipt_parse(written, used, &g) == NULL && receipt_format(&g, again) == used &&
		      memcmp(written, again, used) == 0,
	      "a receipt that is written reads the same");
	return true;
}

/* Writes bytes and seconds, and so many sixteenths of the others. */
static void put_receipt(FILE *f, size_t share)
{
	const struct figure *row;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		if (row->receipt == NULL || (row > figure_table + 1 && below(16) >= share))
			continue;
		fprintf(f, row > figure_table ? " %s=" : "%s=", row->receipt);
		if (row->kind == FIGURE_COUNT)
			fprintf(f, "%" PRIu64, any() >> (5 + below(59)));
		else if (row->kind == FIGURE_REASONS)
			fputs("steal,weight", f);
		else if (row->kind >= FIGURE_WORD)
			fprintf(f, "%.*s", (int)row->size - 1, "abcdefghijklmno");
		else
			fprintf(f, "%zu.000000", one_in(8) ? 100 : below(one_in(2) ? 2 : 64));
	}
}

static void make_receipt(FILE *f)
{
	put_receipt(f, 12);
	if (one_in(8))
		fprintf(f, " later_%zu=%0*ld", below(10),
			one_in(8) ? (int)(RECEIPT_MAX - 11 - ftell(f) + (long)below(4)) : 9, 0L);
	fputc('\n', f);
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

/* Prints the comparison of a plan.  A name in the case `s` may be one of the words that no figure is. */
static void comparison_holds(struct plan *p, bool json, const char *s)
{
	static const char none[][16] = {"nan", " inf", "-inf", "_ratio\":{}"};
	static const struct compare_options against = {.against = "file"};
	struct comparison c = {.plan = p, .opt = &against, .begin_json = begin_json, .json = json};
	FILE *const before = stdout;
	struct text t;
	size_t i;

	stdout = begin(&t);
	comparison_print(&c, NULL);
	fclose(stdout);
	stdout = before;
	holds(t.len > 0, "something is printed");
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		holds(strstr(t.s, none[i]) == NULL ||
			      strstr(s, none[i] + (*none[i] == ' ')) != NULL,
		      "a figure that is printed is a number");
	free(t.s);
}

static bool run_saved(const char *s, size_t len)
{
	char *const text = strndup(s, len), *at;
	FILE *f = fmemopen(text, strlen(text) + 1, "r");
	struct plan *last, *p, then;
	bool is_rejected = rejected(saved_parse(f, &trials_kind, NULL, &last)), same = true;
	int lines = 0, i;

	fclose(f);
	for (at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
		lines += *at != '#' && strncmp(at + strcspn(at, "\t\n"), "\t#", 2) != 0;
	for (p = last; p != NULL; p = p->earlier) {
		lines -= p->n * p->rounds;
		same &= p->n == last->n;
		for (i = 0; i < p->n; i++)
			holds(p->run[i].reference >= 0 && p->run[i].reference < p->n,
			      "a run is compared with one of its session");
	}
	holds(lines >= 0, "each run that was read has a line");
	/* Sessions that have other runs are rejected: comparison_check_or_die(). */
	for (i = 0; last != NULL && same && i < 4; i++) {
		then = *last;
		then.result = NULL;
		last->before = i < 2 ? NULL : &then;
		comparison_holds(last, i % 2 != 0, text);
		last->before = NULL;
		free(then.result);
	}
	saved_close(last);
	free(text);
	return !is_rejected && lines == 0;
}

/* Sessions of rounds, of which some lack lines. */
static void make_saved(FILE *f)
{
	const size_t runs = 1 + below(3), sessions = 1 + below(3), rounds = 1 + below(3);
	size_t session, round, i;

	fputs("#zc-save 2\n", f);
	for (session = 0; session < sessions; session++) {
		fprintf(f, "%016zx\t#\truns: %zu\n%016zx\t#\tmachine: zcc 2.0\n", session, runs,
			session);
		for (round = 1; round <= rounds; round++)
			for (i = 0; i < runs - one_in(64); i++) {
				fprintf(f,
					"%016zx\t%zu\tsetting=a\twords=-m %c\treference=%ld\tsent=",
					session, round,
					(char)('a' + (round % 2 == 1 ? i : runs - 1 - i)),
					(long)below(runs + 2) - 1);
				put_receipt(f, 3);
				fputs(one_in(2) ? "\treceived=" : "\tother=", f);
				put_receipt(f, 3);
				fputs(one_in(2) ? "\tlocal=1\n" : "\n", f);
			}
	}
}

enum { wire, receipt, saved };
static const struct reader targets[] = {
	[wire] = {"wire", run_wire, make_wire, NULL},
	[receipt] =
		{"receipt", run_receipt, make_receipt,
		 "bytes=|seconds=|load=|cpus=|cpus=0.9999999|slowed=-|method=|later=| refused=full| |=|\n|.|-|"
		 " bytes=0 seconds=0\n|\033[2J|\177|\200|999999999999999|00000000|uncertainty=99|0"},
	[saved] =
		{"saved", run_saved, make_saved,
		 "\t|\n|-|0|1e|e9|e300|.|nan|inf|-1|other|later|\t-\t|1\t|runs:|99999|\tfailed=\\x00\t"},
};

/*
 * Cases.
 */
static struct text made(const struct reader *target)
{
	struct text t;
	FILE *f = begin(&t);

	target->make(f);
	fclose(f);
	return t;
}

/* Chooses a span: of any length, or a word, a number, or a header of the wire.  Returns its length. */
static size_t any_span(const struct text *t, const struct reader *target, size_t *from)
{
	static const char ends[] = " ,=\t\n";
	size_t n = below((size_t)1 << below(8));

	*from = below(t->len + 1);
	if (one_in(2) && target->words == NULL) {
		*from -= *from % WIRE_HEADER;
		n = WIRE_HEADER;
	} else if (one_in(2) && target->words != NULL) {
		while (*from > 0 && strchr(ends, t->s[*from - 1]) == NULL)
			--*from;
		n = strcspn(t->s + *from, ends) + one_in(2);
	}
	return n < t->len - *from ? n : t->len - *from;
}

/* Returns the case with one thing wrong, in its place. */
static struct text damaged(struct text t, const struct reader *target)
{
	struct text worse, other;
	FILE *f = begin(&worse);
	size_t from, n = any_span(&t, target, &from), at;

	fwrite(t.s, 1, from, f);
	switch (below(4)) {
	case 0: /* another bit */
		if (n > 0)
			fputc(t.s[from] ^ 1 << below(8), f);
		n = n > 0;
		break;
	case 1: break; /* a span less */
	case 2:        /* a word or a number in its place, or before it */
		put_odd(f, target->words);
		n = one_in(2) ? 0 : n;
		break;
	default: /* some of the case once more, or of another */
		other = one_in(2) ? t : made(target);
		at = below(other.len + 1);
		fwrite(other.s + at, 1, below(other.len - at + 1), f);
		if (other.s != t.s)
			free(other.s);
	}
	fwrite(t.s + from + n, 1, t.len - from - n, f);
	fclose(f);
	free(t.s);
	return worse;
}

/* The case is in memory of just its size, so that a sanitizer sees a byte read beyond it. */
static bool try_case(const struct reader *target, const char *s, size_t len)
{
	char *copy = alloc_or_die(1, len, "a case");
	bool accepted;

	memcpy(copy, s, len);
	srandom((unsigned)len);
	accepted = target->run(copy, len);
	free(copy);
	return accepted;
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	try_case(&targets[TARGET], (const char *)data, len);
	return 0;
}

/* libFuzzer begins with no case, so that some are made. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
	const struct reader *target = &targets[TARGET];
	struct text t;

	srandom(seed);
	t = made(target);
	if (len > 1 && !one_in(16)) {
		free(t.s);
		t = (struct text){alloc_or_die(1, len + 1, "a case"), len};
		memcpy(t.s, data, len);
	}
	t = damaged(t, target);
	len = t.len < max ? t.len : max;
	memcpy(data, t.s, len);
	free(t.s);
	return len;
}

#else

static struct text case_of(const struct reader *target, uint64_t seed)
{
	struct text t;
	size_t n;

	srandom((unsigned)seed);
	t = made(target);
	for (n = below(6); n > 0; n--)
		t = damaged(t, target);
	return t;
}

/* A process of its own tries the cases, since it may crash, or hang. */
int main(int argc, char **argv)
{
	const uint64_t cases = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
	const uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	const struct reader *target = targets;
	struct {
		uint64_t seed, accepted;
	} *now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	struct text t;
	pid_t child;
	int status;

	for (; target <= &targets[saved] && (argc < 2 || strcmp(target->name, argv[1]) != 0);
	     target++)
		if (argc < 2)
			puts(target->name);
	if (target > &targets[saved])
		return argc < 2 ? EXIT_SUCCESS : EXIT_USAGE;
	if (now == MAP_FAILED)
		err(EXIT_FAILURE, "fuzz");
	now->seed = first;
	child = fork();
	for (; child == 0 && now->seed < first + cases; now->seed++) {
		alarm(60);
		t = case_of(target, now->seed);
		now->accepted += try_case(target, t.s, t.len);
		free(t.s);
	}
	if (child == 0)
		exit(EXIT_SUCCESS);
	if (waitpid(child, &status, 0) < 0)
		err(EXIT_FAILURE, "fuzz");
	if (status != 0) {
		t = case_of(target, now->seed);
		fwrite(t.s, 1, t.len, stdout);
		errx(EXIT_FAILURE, "status %d at: fuzz %s 1 %" PRIu64, status, target->name,
		     now->seed);
	}
	printf("%s: %" PRIu64 " cases, %" PRIu64 " accepted\n", target->name, cases, now->accepted);
	return 0;
}
#endif
