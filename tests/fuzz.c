/*
 * fuzz: the parsers fed with what nobody would send: valid input made at random and
 * then damaged.  Each target checks, beside that nothing breaks, what must hold of the result; most
 * have a second reading of the same text to compare with, written without zc's own code.
 *
 *	fuzz -l				the targets, a line each
 *	fuzz target [-s seed] [-n cases]
 *		tries so many cases, 100000 by default, the same ones for the same seed, and prints
 *		`target: N cases, N accepted, seed N`; a case that fails is shown, and it aborts
 *	fuzz target -x hex | file...	tries these cases
 *	fuzz target [-s seed] -d dir	stores valid cases there, for others to begin from
 *
 * With -DLIBFUZZER -DTARGET=target it is libFuzzer's, which `make fuzz` builds.
 */
#include "common.h"
#include "lib/load/baseline.h"
#include "lib/load/calibration.h"
#include "lib/load/cgroup.h"
#include "lib/load/counters.h"
#include "lib/load/cpus.h"
#include "lib/load/limits.h"
#include "lib/load/load.h"
#include "lib/load/soaker.h"
#include "lib/net/socket.h"
#include "lib/net/wire.h"
#include "lib/report/receipt.h"
#include "lib/report/json.h"
#include "lib/report/terms.h"
#include "lib/report/units.h"

#include <ctype.h>
#include <err.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define CASE_MAX (512 * 1024) /* bytes: a calibration of CPUS_MAX CPUs has less */

/*
 * Chance.  The same seed gives the same cases; what a target chooses depends on the case alone, so
 * that a case fails again by itself.
 */
static uint64_t chance;

static uint64_t mixed(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u; /* splitmix64 */
	v = (v ^ v >> 27) * 0x94d049bb133111ebu;
	return v ^ v >> 31;
}

static uint64_t any(void)
{
	chance += 0x9e3779b97f4a7c15u;
	return mixed(chance);
}

static size_t below(size_t n)
{
	return n == 0 ? 0 : (size_t)(any() % n);
}

static bool one_in(size_t n)
{
	return below(n) == 0;
}

static uint64_t hash(const unsigned char *p, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	while (len-- > 0)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

/*
 * The case that is tried, for whom it fails.
 */
struct text {
	size_t len;
	char s[CASE_MAX];
};

struct target {
	const char *name;
	bool string; /* the case is a string: it ends at a NUL and has one */
	bool (*run)(const char *s, size_t len); /* whether it was accepted */
	void (*make)(struct text *t);           /* a valid case, or nearly */
	const char *words;                      /* that mean something to it; NULL: headers do */
};

static struct {
	const struct target *target;
	const char *s;
	size_t len;
	uint64_t seed, number;
	bool shown;
} now;

static void show_case(void)
{
	size_t i;

	if (now.shown || now.s == NULL)
		return;
	now.shown = true;
	fprintf(stderr, "case %llu of seed %llu: fuzz %s -x ", (unsigned long long)now.number,
		(unsigned long long)now.seed, now.target->name);
	for (i = 0; i < now.len; i++)
		fprintf(stderr, "%02x", (unsigned char)now.s[i]);
	fprintf(stderr, "\n");
}

static void holds(bool it_does, const char *what)
{
	if (it_does)
		return;
	fprintf(stderr, "%s: does not hold: %s\n", now.target->name, what);
	show_case();
	abort();
}

/* What is wrong is said in one line that can be put after a name. */
static void reason_holds(const char *why)
{
	holds(*why != '\0' && strpbrk(why, "\r\n\t") == NULL && strlen(why) < 80,
	      "a refusal has a reason");
}

/*
 * Text.
 */
static void put_bytes(struct text *t, const void *p, size_t n)
{
	if (n > CASE_MAX - 1 - t->len)
		n = CASE_MAX - 1 - t->len;
	memcpy(t->s + t->len, p, n);
	t->len += n;
}

static void put_char(struct text *t, char c)
{
	put_bytes(t, &c, 1);
}

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->s + t->len, CASE_MAX - t->len, fmt, ap);
	va_end(ap);
	t->len += n < (int)(CASE_MAX - t->len) ? (size_t)n : CASE_MAX - 1 - t->len;
}

/* One of the words of a list, which `|` separates. */
static void put_word(struct text *t, const char *list)
{
	size_t n = 1, i;

	for (i = 0; list[i] != '\0'; i++)
		n += list[i] == '|';
	for (n = below(n); n > 0; n--)
		list += strcspn(list, "|") + 1;
	put_bytes(t, list, strcspn(list, "|"));
}

/* Numbers at the edges of types, and what only looks like a number. */
static const char odd_numbers[] =
	"0|1|-1|-0|8191|8192|2147483647|2147483648|4294967295|4294967296|4294967299|"
	"9223372036854775807|9223372036854775808|18446744073709551615|18446744073709551616|"
	"99999999999999999999|1000000000000000|999999999999999|nan|inf|-inf|1e999|1e3|0x10|00|.5|5.|"
	"1.2.3|0.000000|0.0000001|0.999999999|1.0|+1|--1|1-2| 1||.|-";

/* Digits, so many that they are beyond or below a double. */
static void put_digits(struct text *t)
{
	size_t n = one_in(2) ? 300 + below(20) : below(400);

	if (one_in(2))
		put(t, "0.");
	while (n-- > 0)
		put_char(t, (char)('0' + (one_in(4) ? below(10) : one_in(2) ? 0 : 9)));
}

static void put_odd_number(struct text *t)
{
	if (one_in(16))
		put_digits(t);
	else if (one_in(8))
		put(t, "%llu", (unsigned long long)(any() >> below(64)));
	else
		put_word(t, odd_numbers);
}

/*
 * A second reading of numbers.
 */

/* digits [ `.` [digits] ] at *s, up to `stop` or the end of the text; moves *s behind it. */
static bool read_decimal(const char **s, char stop, double *v)
{
	const char *p = *s;
	size_t whole = strspn(p, "0123456789");

	p += whole;
	if (*p == '.') {
		p++;
		p += strspn(p, "0123456789");
	}
	if (whole == 0 || (*p != stop && *p != '\0'))
		return false;
	*v = strtod(*s, NULL);
	*s = p;
	return isfinite(*v);
}

/* digits at *s; a value that 64 bits do not hold sets *large. */
static bool read_whole(const char **s, uint64_t *v, bool *large)
{
	const char *begin = *s;

	*v = 0;
	for (*large = false; **s >= '0' && **s <= '9'; ++*s) {
		*large |= __builtin_mul_overflow(*v, 10, v);
		*large |= __builtin_add_overflow(*v, **s - '0', v);
	}
	return *s > begin;
}

/*
 * wire: the case is what a client sends.  It must be taken alike however it is cut into pieces, and
 * whether bodies are looked at or skipped.
 */
struct stream {
	uint64_t used, loops, files, bytes, body_left;
	uint32_t empty_loops;
	unsigned have; /* bytes of a header that is not complete */
	bool has_file, forever;
	enum wire_state state;
};

static bool take_header(struct stream *m, const unsigned char *p, size_t len, enum wire_state state,
			uint32_t *v)
{
	m->state = state;
	p += m->used;
	len -= m->used;
	m->have = len < 4 ? (unsigned)len : 0;
	m->used += len < 4 ? len : 4;
	if (len < 4)
		return false;
	*v = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	return true;
}

/* zc(7), The wire.  `sparse`: the case has no bodies, which all come whole. */
static void read_stream(struct stream *m, const unsigned char *p, size_t len, bool sparse)
{
	uint32_t n_loops, n_files, length, i, f;
	uint64_t here;

	memset(m, 0, sizeof(*m));
	if (!take_header(m, p, len, WIRE_LOOPS, &n_loops))
		return;
	m->forever = n_loops == 0xffffffff;
	for (i = 0; m->forever || i < n_loops; i++) {
		if (!take_header(m, p, len, WIRE_FILES, &n_files))
			return;
		if (n_files == 0 && !m->has_file)
			m->empty_loops++;
		for (f = 0; f < n_files; f++) {
			if (!take_header(m, p, len, WIRE_LENGTH, &length))
				return;
			m->has_file = true;
			here = sparse || length < len - m->used ? length : len - m->used;
			m->bytes += here;
			m->used += sparse ? 0 : here;
			if (here < length) {
				m->state = WIRE_BODY;
				m->body_left = length - here;
				return;
			}
			m->files++;
		}
		m->loops++;
	}
	m->state = WIRE_DONE;
}

static void stream_holds(const struct wire *w, const struct stream *m)
{
	bool proper = m->state == WIRE_DONE || m->forever;
	const char *where = NULL;

	holds(w->state == m->state && w->have == m->have && w->forever == m->forever,
	      "what comes next");
	holds(w->loops == m->loops && w->files == m->files && w->bytes == m->bytes, "the counts");
	holds(w->has_file == m->has_file && w->empty_loops == m->empty_loops,
	      "how long the warm-up is");
	holds(wire_body_left(w) == m->body_left, "how much of a body is left");
	holds(wire_header_left(w) == (m->state < WIRE_BODY ? 4 - m->have : 0),
	      "how much of a header is left");
	holds(wire_ended(w, &where) == proper && (where == NULL) == proper,
	      "whether the end is proper");
	if (!proper)
		reason_holds(where);
}

static void same_wire(const struct wire *a, const struct wire *b)
{
	holds(a->state == b->state && a->have == b->have && a->header == b->header &&
		      a->loops_left == b->loops_left && a->files_left == b->files_left &&
		      a->body_left == b->body_left && a->forever == b->forever &&
		      a->loops == b->loops && a->files == b->files && a->bytes == b->bytes &&
		      a->empty_loops == b->empty_loops && a->has_file == b->has_file,
	      "pieces give what the whole gives");
}

/* In pieces of at most `most` bytes. */
static size_t feed_pieces(struct wire *w, const char *s, size_t len, size_t most)
{
	size_t at, n, took;

	wire_init(w, false);
	for (at = 0; at < len; at += took) {
		n = 1 + below(len - at < most ? len - at : most);
		took = wire_feed(w, s + at, n);
		holds(took <= n, "no more is taken than there is");
		if (took < n) {
			holds(w->state == WIRE_DONE, "less is taken where the wire ends alone");
			return at + took;
		}
	}
	return at;
}

/* As zcs does where bodies are not looked at: headers by themselves, in pieces too. */
static size_t skip_bodies(struct wire *w, const char *s, size_t len, bool sparse)
{
	size_t at = 0, n, left;

	wire_init(w, false);
	while ((left = wire_body_left(w)) > 0 || ((left = wire_header_left(w)) > 0 && at < len)) {
		if (wire_body_left(w) == 0) {
			n = 1 + below(left < len - at ? left : len - at);
			holds(wire_feed(w, s + at, n) == n, "a header is taken whole");
			at += n;
		} else if (sparse) {
			wire_skip(w, one_in(2) ? left : 1 + below(left));
		} else if (at < len) {
			n = 1 + below(left < len - at ? left : len - at);
			wire_skip(w, n);
			at += n;
		} else {
			break;
		}
	}
	return at;
}

static bool run_wire(const char *s, size_t len)
{
	struct wire whole, w;
	struct stream m;
	const char *where;
	bool ended;

	read_stream(&m, (const unsigned char *)s, len, false);
	wire_init(&whole, false);
	holds(wire_feed(&whole, s, len) == m.used, "what is taken belongs to the wire");
	stream_holds(&whole, &m);
	holds(feed_pieces(&w, s, len, 1) == m.used, "a byte at a time as much is taken");
	same_wire(&w, &whole);
	holds(feed_pieces(&w, s, len, 1 + below(64)) == m.used, "in pieces as much is taken");
	same_wire(&w, &whole);
	holds(skip_bodies(&w, s, len, false) == m.used, "with bodies skipped as much is taken");
	same_wire(&w, &whole);
	ended = wire_ended(&w, &where);

	/* Bodies as long as they say, without having them. */
	read_stream(&m, (const unsigned char *)s, len, true);
	holds(skip_bodies(&w, s, len, true) == m.used, "the headers are taken");
	stream_holds(&w, &m);

	wire_init(&w, true);
	holds(wire_feed(&w, s, len) == len && w.bytes == len, "raw, all is data");
	wire_skip(&w, len);
	holds(w.bytes == 2 * len && w.state == WIRE_RAW && w.files == 0 && w.loops == 0 &&
		      wire_body_left(&w) == SIZE_MAX && wire_header_left(&w) == 0 &&
		      wire_ended(&w, &where),
	      "raw, there are no headers");
	return ended;
}

static void put_header(struct text *t, uint32_t v)
{
	const unsigned char p[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16),
				    (unsigned char)(v >> 8), (unsigned char)v};

	put_bytes(t, p, sizeof(p));
}

static uint32_t odd_header(void)
{
	static const uint32_t odd[] = {0,          1,          2,          255,       65536,
				       0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};

	return one_in(4) ? (uint32_t)(any() >> (32 + below(32)))
			 : odd[below(sizeof(odd) / sizeof(odd[0]))];
}

static void make_wire(struct text *t)
{
	static const char body[64];
	size_t loops = below(5), i, files, length;
	bool forever = one_in(4);

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
 * size, seconds, cpus: arguments of options.
 */
static bool run_size(const char *s, size_t len)
{
	const uint64_t untouched = 0x5a5a5a5a5a5a5a5a;
	static const char suffixes[] = "kKmMgGtT";
	const char *p = s, *suffix, *why;
	uint64_t got = untouched, v;
	bool good, large;
	int shift = 0;

	(void)len;
	good = read_whole(&p, &v, &large);
	if (good && *p != '\0' && (suffix = strchr(suffixes, *p)) != NULL) {
		shift = (int)((suffix - suffixes) / 2 + 1) * 10;
		p++;
	}
	good = good && *p == '\0' && !large && v <= UINT64_MAX >> shift;
	why = parse_size(s, &got);
	holds((why == NULL) == good, "a size is taken, and nothing else");
	if (why == NULL)
		holds(got == v << shift, "the size is that");
	else
		holds(got == untouched, "a refusal leaves the result as it was");
	if (why != NULL)
		reason_holds(why);
	return why == NULL;
}

static void make_size(struct text *t)
{
	static const char suffixes[] = "kmgtKMGT";

	put(t, "%llu", (unsigned long long)(any() >> below(64)));
	if (one_in(2))
		put_char(t, suffixes[below(8)]);
}

static bool run_seconds(const char *s, size_t len)
{
	const char *p = s, *why;
	double v, got = -7;
	bool good;

	(void)len;
	good = read_decimal(&p, '\0', &v);
	why = parse_seconds(s, &got);
	holds((why == NULL) == good, "a number of seconds is taken, and nothing else");
	if (why == NULL)
		holds(isfinite(got) && got == v && got >= 0 && !signbit(got),
		      "the seconds are that");
	else
		holds(got == -7, "a refusal leaves the result as it was");
	if (why != NULL)
		reason_holds(why);
	return why == NULL;
}

static void make_seconds(struct text *t)
{
	if (one_in(8))
		put_digits(t);
	else if (one_in(2))
		put(t, "%u", (unsigned)(any() >> (32 + below(32))));
	else
		put(t, "%.*f", (int)below(12), (double)(any() >> below(64)) / 1e6);
}

/* The list at s, which ends there; -1 if it is none. */
static int read_cpus(const char *s, int id[CPUS_MAX])
{
	uint64_t first, last;
	bool large, larger;
	int n = 0;

	for (;; s++) {
		if (!read_whole(&s, &first, &large))
			return -1;
		last = first;
		larger = large;
		if (*s == '-') {
			s++;
			if (!read_whole(&s, &last, &larger))
				return -1;
		}
		if (large || larger || last >= CPUS_MAX || first > last ||
		    last - first >= (uint64_t)(CPUS_MAX - n))
			return -1;
		for (; first <= last; first++)
			id[n++] = (int)first;
		if (*s == '\0')
			return n;
		if (*s != ',')
			return -1;
	}
}

static bool ascending(const int *id, int n)
{
	int i;

	for (i = 1; i < n; i++)
		if (id[i - 1] >= id[i])
			return false;
	return true;
}

/* Written as a list it reads the same, and what does not fit is cut off. */
static void cpus_format_holds(const struct cpus *c)
{
	static struct cpus again;
	size_t size = one_in(64) ? 6 * CPUS_MAX : 1 + below(6 * (size_t)c->n + 8), len;
	char *text = malloc(size), *full = malloc(6 * (size_t)c->n);

	if (text == NULL || full == NULL)
		err(EXIT_FAILURE, "fuzz");
	cpus_format(c, full, 6 * (size_t)c->n); /* `8191,` each, and a NUL */
	len = strlen(full);
	holds(cpus_format(c, text, size) == (len < size), "a list that is cut off is reported");
	holds(strncmp(text, full, size - 1) == 0 && strlen(text) == (len < size ? len : size - 1),
	      "a list is cut off where the buffer ends");
	holds(parse_cpus(full, &again) == NULL && again.n == c->n &&
		      memcmp(again.id, c->id, (size_t)c->n * sizeof(c->id[0])) == 0,
	      "a list that is written reads the same");
	free(text);
	free(full);
}

static bool run_cpus(const char *s, size_t len)
{
	static struct cpus got, untouched;
	static int want[CPUS_MAX];
	const char *why;
	int n;

	(void)len;
	if (untouched.n == 0)
		memset(&untouched, 0x5a, sizeof(untouched));
	memcpy(&got, &untouched, 64 * sizeof(int));
	n = read_cpus(s, want);
	why = parse_cpus(s, &got);
	holds((why == NULL) == (n > 0), "a CPU list is taken, and nothing else");
	if (why != NULL) {
		holds(memcmp(&got, &untouched, 64 * sizeof(int)) == 0,
		      "a refusal leaves the result as it was");
		reason_holds(why);
		return false;
	}
	holds(got.n == n && memcmp(got.id, want, (size_t)n * sizeof(want[0])) == 0,
	      "the CPUs are those");
	if (ascending(want, n))
		cpus_format_holds(&got);
	return true;
}

static void put_cpus(struct text *t, int most)
{
	int id = one_in(8) ? (int)below(CPUS_MAX) : (int)below(8), n = 1 + (int)below((size_t)most),
	    i, last;

	if (one_in(2000)) { /* as many as there can be */
		for (i = 0; i < CPUS_MAX; i++)
			put(t, i > 0 ? ",%d" : "%d", i);
		return;
	}
	for (i = 0; i < n && id < CPUS_MAX; i++) {
		last = id + (int)below(one_in(64) ? CPUS_MAX : 4);
		put(t, i > 0 ? ",%d" : "%d", id);
		if (last > id && last < CPUS_MAX)
			put(t, "-%d", last);
		id = one_in(32) ? (int)below(8) : last + 1 + (int)below(4);
	}
}

static void make_cpus(struct text *t)
{
	put_cpus(t, 6);
}

/*
 * receipt: what a server answers.
 */
#define RECEIPT_NUMBER_MAX 1e15 /* zc(7), The wire: numbers are below */

static const struct key {
	const char *name;
	enum { COUNT, SHARE, NUMBER, WORD } type; /* a share may be below 0 */
	size_t offset;
} keys[] = {
	{"bytes", COUNT, offsetof(struct figures, bytes)},
	{"seconds", NUMBER, offsetof(struct figures, seconds)},
	{"files", COUNT, offsetof(struct figures, files)},
	{"reads", COUNT, offsetof(struct figures, calls)},
	{"warmup", COUNT, offsetof(struct figures, warmup)},
	{"clients", COUNT, offsetof(struct figures, clients)},
	{"method", WORD, offsetof(struct figures, method)},
	{"refused", WORD, offsetof(struct figures, refused)},
	{"cpu", NUMBER, offsetof(struct figures, cpu)},
	{"load", SHARE, offsetof(struct figures, load)},
	{"uncertainty", NUMBER, offsetof(struct figures, uncertainty)},
	{"cpus", NUMBER, offsetof(struct figures, cpus)},
	{"slowed", SHARE, offsetof(struct figures, slowed)},
	{"tasks", NUMBER, offsetof(struct figures, tasks)},
	{"interrupts", NUMBER, offsetof(struct figures, rates.interrupts)},
	{"packets_in", NUMBER, offsetof(struct figures, rates.packets_in)},
	{"packets_out", NUMBER, offsetof(struct figures, rates.packets_out)},
	{"user", NUMBER, offsetof(struct figures, rates.cpu[CPU_USER])},
	{"nice", NUMBER, offsetof(struct figures, rates.cpu[CPU_NICE])},
	{"system", NUMBER, offsetof(struct figures, rates.cpu[CPU_SYSTEM])},
	{"idle", NUMBER, offsetof(struct figures, rates.cpu[CPU_IDLE])},
	{"iowait", NUMBER, offsetof(struct figures, rates.cpu[CPU_IOWAIT])},
	{"irq", NUMBER, offsetof(struct figures, rates.cpu[CPU_IRQ])},
	{"softirq", NUMBER, offsetof(struct figures, rates.cpu[CPU_SOFTIRQ])},
	{"steal", NUMBER, offsetof(struct figures, rates.cpu[CPU_STEAL])},
	{"rcv_rtt", NUMBER, offsetof(struct figures, tcp.rcv_rtt)},
	{"rcv_mss", NUMBER, offsetof(struct figures, tcp.rcv_mss)},
	{"out_of_order", NUMBER, offsetof(struct figures, tcp.rcv_ooo)},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static uint64_t *count_of(struct figures *f, const struct key *k)
{
	return (uint64_t *)(void *)((char *)f + k->offset);
}

static double *number_of(struct figures *f, const struct key *k)
{
	return (double *)(void *)((char *)f + k->offset);
}

static char *word_of(struct figures *f, const struct key *k)
{
	return (char *)f + k->offset;
}

/* The value of a key, as zc(7) describes it. */
static bool read_value(const char *s, const struct key *k, struct figures *f)
{
	const char *digits = s + (*s == '-');
	double *v = number_of(f, k);
	bool large;

	switch (k->type) {
	case COUNT: return read_whole(&s, count_of(f, k), &large) && !large && *s == '\0';
	case WORD:
		snprintf(word_of(f, k), 16, "%s", s);
		return strlen(s) < 16 && s[strspn(s, "abcdefghijklmnopqrstuvwxyz")] == '\0';
	default:
		if (!read_decimal(&digits, '\0', v))
			return false;
		*v = *s == '-' ? -*v : *v;
		return *v < RECEIPT_NUMBER_MAX && *v >= (k->type == SHARE ? -1000 : 0);
	}
}

static bool read_receipt(char *s, size_t len, struct figures *f)
{
	bool seen[KEYS] = {false};
	char *end, *equals;
	size_t i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < KEYS; i++)
		if (keys[i].type == NUMBER || keys[i].type == SHARE)
			*number_of(f, &keys[i]) = NAN;
	if (len == 0 || len > 4096 || s[len - 1] != '\n')
		return false;
	for (i = 0; i < len - 1; i++)
		if ((unsigned char)s[i] < 32 || (unsigned char)s[i] > 126)
			return false;
	for (s[len - 1] = ' '; *s != '\0'; s = end + 1) {
		end = strchr(s, ' ');
		*end = '\0';
		equals = s + strspn(s, "abcdefghijklmnopqrstuvwxyz_0123456789");
		if (equals == s || *equals != '=' || equals[1] == '\0')
			return false;
		*equals = '\0';
		for (i = 0; i < KEYS && strcmp(keys[i].name, s) != 0; i++)
			;
		if (i < KEYS && (seen[i] || !read_value(equals + 1, &keys[i], f)))
			return false;
		if (i < KEYS)
			seen[i] = true;
	}
	if (!(f->cpus >= 1))
		f->load = NAN;
	return (seen[0] && seen[1]) || f->refused[0] != '\0';
}

/* Of what is there in both; `exactly`, or as a number of six decimals can have it. */
static void same_figures(struct figures *a, struct figures *b, bool exactly)
{
	const struct key *k;
	double v, w;

	for (k = keys; k < keys + KEYS; k++) {
		if (k->type == COUNT) {
			holds(*count_of(a, k) == *count_of(b, k), "a count is that");
		} else if (k->type == WORD) {
			holds(strcmp(word_of(a, k), word_of(b, k)) == 0, "a word is that");
		} else {
			v = *number_of(a, k);
			w = *number_of(b, k);
			holds(isnan(v) == isnan(w), "a number is there, or is not");
			holds(isnan(v) || v == w ||
				      (!exactly && fabs(v - w) <= 0.500001e-6 + fabs(v) * 1e-15),
			      "a number is that");
		}
	}
}

/* Whatever an end measured, what it sends is a receipt; numbers that cannot be in one stay out. */
static void any_receipt_holds(void)
{
	static const double odd[] = {0,    -0.0,  1,     -1,       0.5,
				     1e-9, -1e-9, -1000, -1000.5,  999999999999999,
				     1e15, 1e300, NAN,   INFINITY, -INFINITY};
	struct figures f, got;
	char *line = malloc(RECEIPT_MAX);
	const struct key *k;
	size_t len, i;

	if (line == NULL)
		err(EXIT_FAILURE, "fuzz");
	figures_init(&f);
	for (k = keys; k < keys + KEYS; k++) {
		if (k->type == COUNT)
			*count_of(&f, k) = any() >> below(64);
		else if (k->type == WORD)
			for (i = below(16); i > 0; i--)
				word_of(&f, k)[i - 1] = (char)('a' + below(26));
		else
			*number_of(&f, k) = odd[below(sizeof(odd) / sizeof(odd[0]))];
	}
	f.seconds = (double)(any() >> 32) / 1e6;
	len = receipt_format(&f, line);
	holds(len > 0 && len <= RECEIPT_MAX && line[len - 1] == '\n', "a receipt has room");
	holds(receipt_parse(line, len, &got) == NULL, "what is sent is a receipt");
	free(line);
}

static bool run_receipt(const char *s, size_t len)
{
	static char copy[CASE_MAX];
	struct figures f, want, again;
	char line[RECEIPT_MAX], line_again[RECEIPT_MAX];
	size_t used;
	const char *why;
	bool good;

	memcpy(copy, s, len);
	copy[len] = '\0';
	good = read_receipt(copy, len, &want);
	why = receipt_parse(s, len, &f);
	holds((why == NULL) == good, "a receipt is taken, and nothing else");
	if (one_in(8))
		any_receipt_holds();
	if (why != NULL) {
		reason_holds(why);
		return false;
	}
	same_figures(&f, &want, true);
	used = receipt_format(&f, line);
	holds(used <= RECEIPT_MAX && receipt_parse(line, used, &again) == NULL,
	      "a receipt that is written is one");
	if (!isnan(f.cpus) && f.cpus < 1 && again.cpus >= 1)
		again.load = NAN; /* rounded up to a CPU */
	same_figures(&f, &again, false);
	holds(receipt_format(&again, line_again) == used && memcmp(line, line_again, used) == 0,
	      "a receipt that is written reads the same");
	return true;
}

static void put_value(struct text *t, const struct key *k)
{
	if (one_in(32))
		put_odd_number(t);
	else if (k->type == COUNT)
		put(t, "%llu", (unsigned long long)(any() >> below(64)));
	else if (k->type == WORD)
		put(t, "%s", one_in(2) ? "trunc" : "full");
	else
		put(t, "%s%.*f", k->type == SHARE && one_in(4) ? "-" : "", (int)below(9),
		    (double)(any() >> 40) / (one_in(2) ? 1e7 : 1));
}

static void make_receipt(struct text *t)
{
	size_t i, first = below(KEYS), padding;

	for (i = 0; i < KEYS; i++) {
		const struct key *k = &keys[(first + i) % KEYS];

		if (strcmp(k->name, "refused") == 0 ? !one_in(16) : one_in(k - keys > 1 ? 2 : 32))
			continue;
		put(t, "%s%s=", t->len > 0 ? " " : "", k->name);
		put_value(t, k);
	}
	if (one_in(8) && t->len < RECEIPT_MAX / 2) {
		put(t, " later_%zu=", below(10));
		padding = one_in(8) ? RECEIPT_MAX - 2 - t->len + below(4) : below(20);
		while (padding-- > 0)
			put_char(t, 'x');
	}
	put(t, "\n");
}

/*
 * calibration: a file that anyone may have put there.
 */
struct known {
	int n, id[CPUS_MAX], lines;
	struct baseline cpu[CPUS_MAX];
	double total, sum;
	bool has_cpus, version;
	char machine[256];
};

/* `rest` is a line behind its key. */
static bool read_line_of(const char *key, const char *rest, struct known *c)
{
	struct baseline *b = &c->cpu[c->lines];
	double *const field[] = {&b->tasks,   &b->tasks_sd, &b->spin,
				 &b->spin_sd, &b->speed,    &b->speed_sd};
	double v;
	size_t i;

	if (strcmp(key, "soaker") == 0) {
		c->version = read_decimal(&rest, '\0', &v) && v == 4;
		return c->version;
	}
	if (strcmp(key, "machine") == 0) {
		snprintf(c->machine, sizeof(c->machine), "%s", rest);
		for (i = 0; c->machine[i] != '\0'; i++)
			/* U+0080 to U+009F */
			if (strncmp(&c->machine[i], "\xc2", 1) == 0 &&
			    ((unsigned char)c->machine[i + 1] & 0xe0) == 0x80)
				c->machine[i] = c->machine[i + 1] = '?';
	}
	if (strcmp(key, "cpus") == 0) {
		c->n = c->has_cpus ? -1 : read_cpus(rest, c->id);
		c->has_cpus = true;
		return c->n > 0 && ascending(c->id, c->n);
	}
	if (strcmp(key, "wake") == 0)
		return read_decimal(&rest, ' ', &v) && v <= 1e6 && *rest++ == ' ' &&
		       read_decimal(&rest, '\0', &v) && v <= 1e6 && *rest == '\0';
	if (strcmp(key, "cpu") != 0)
		return true;
	if (c->lines >= c->n || !read_decimal(&rest, ' ', &v) || v != c->id[c->lines++])
		return false;
	for (i = 0; i < 6; i++)
		if (*rest++ != ' ' || !read_decimal(&rest, ' ', field[i]))
			return false;
	c->sum += (1 - b->tasks) * b->spin * b->speed;
	return *rest == '\0' && b->tasks < 1 && b->spin > 0 && b->spin <= 1 && b->speed > 0;
}

/* zc(7), Calibration. */
static bool read_calibration(char *s, size_t len, struct known *c)
{
	char *end, *space;
	const char *first = s;
	size_t i;

	c->n = c->lines = 0;
	c->sum = 0;
	c->has_cpus = c->version = false;
	c->machine[0] = '\0';
	for (i = 0; i < len; i++)
		if (((unsigned char)s[i] < ' ' && s[i] != '\n') || s[i] == 127)
			return false;
	if (!read_decimal(&first, '\n', &c->total))
		return false;
	for (s += first - s; *s == '\n' && s[1] != '\0'; s = end) {
		s++;
		end = s + strcspn(s, "\n");
		space = memchr(s, ' ', (size_t)(end - s));
		if (space == NULL)
			return false;
		i = (unsigned char)*end; /* it is a newline or the end of the text */
		*space = *end = '\0';
		if (!read_line_of(s, space + 1, c))
			return false;
		*end = (char)i;
	}
	return c->version && c->n > 0 && c->lines == c->n && isfinite(c->sum);
}

static void calibration_holds(const struct calibration *c, const struct known *k)
{
	int i;

	holds(c->cpus.n == k->n && memcmp(c->cpus.id, k->id, (size_t)k->n * sizeof(k->id[0])) == 0,
	      "the CPUs are those");
	holds(c->total == k->total && strcmp(c->machine, k->machine) == 0,
	      "the total and the machine are those");
	for (i = 0; i < k->n; i++) {
		const struct baseline *a = &c->cpu[i], *b = &k->cpu[i];

		holds(a->tasks == b->tasks && a->tasks_sd == b->tasks_sd && a->spin == b->spin &&
			      a->spin_sd == b->spin_sd && a->speed == b->speed &&
			      a->speed_sd == b->speed_sd,
		      "a CPU's baseline is that");
	}
}

static bool run_calibration(const char *s, size_t len)
{
	static struct calibration c;
	static struct known known;
	static char copy[CASE_MAX];
	const char *why;
	double gap;
	bool good;

	memcpy(copy, s, len);
	copy[len] = '\0';
	good = read_calibration(copy, len, &known);
	why = calibration_parse(s, len, &c);
	/* Whether it adds up is not compared where the sums may differ by how they were rounded. */
	gap = fabs(known.sum - known.total) - 0.001 * known.sum;
	if (!good || fabs(gap) > 1e-9 * known.sum)
		holds((why == NULL) == (good && gap <= 0),
		      "a calibration is taken, and nothing else");
	if (why != NULL) {
		holds(c.cpu == NULL, "a refusal leaves no baselines");
		reason_holds(why);
		return false;
	}
	calibration_holds(&c, &known);
	free(c.cpu);
	return true;
}

/* The line of a CPU; returns what it adds to the total. */
static double put_cpu(struct text *t, int id, double speed)
{
	size_t tasks = below(1000000) / (1 + below(100)), spin = 1 + below(1000000);

	speed *= 0.5 + (double)below(1000000) / 2e6;
	put(t, "cpu %d 0.%06zu 0.%06zu %zu.%06zu 0.%06zu ", id, tasks, below(1000000),
	    spin / 1000000, spin % 1000000, below(1000000));
	put(t, speed < 1e9 ? "%.9f 0\n" : "%.0f 0\n", speed);
	return (1 - (double)tasks / 1e6) * (double)spin / 1e6 * speed;
}

static void make_calibration(struct text *t)
{
	static struct text lines;
	static int id[CPUS_MAX];
	double speed = one_in(128) ? 1e-5 : one_in(128) ? 1.7e308 : 4.5e7, sum = 0;
	size_t list;
	int n, i;

	/* The first line is the sum of those of the CPUs, so they are made before it. */
	lines.len = 0;
	put(&lines, "\nsoaker 4\nmachine host 6.1 CPU @ %zu GHz\ncpus ", below(9));
	list = lines.len;
	put_cpus(&lines, one_in(2) ? 1 : 2);
	lines.s[lines.len] = '\0';
	n = read_cpus(lines.s + list, id);
	put(&lines, "\n%s%s", one_in(2) ? "wake 2.104 0.3\n" : "", one_in(4) ? "later key\n" : "");
	if (n > 5 && !one_in(64))
		n = 5; /* it lacks CPUs then */
	for (i = 0; i < n; i++)
		sum += put_cpu(&lines, id[i], speed);
	put(t, "%.*f", sum < 1 ? 12 : 0, isfinite(sum) ? sum : 1e308);
	put_bytes(t, lines.s, lines.len);
}

/*
 * The table of targets.
 */
static const char size_words[] = "k|M|g|T|kk|e3|.|-| ";
static const char seconds_words[] = ".|e|-|0x|nan|inf| |s";
static const char cpus_words[] = ",|-|0-8191|8191|,0|-1| |\n|0x|:2";
static const char receipt_words[] =
	"bytes=|seconds=|load=|cpus=|cpus=0.9999999|slowed=-|method=|later=| refused=full| |=|\n|.|-|"
	" bytes=0 seconds=0\n|\033[2J|\177|\200";
static const char calibration_words[] =
	"\n|soaker 4\n|soaker 4294967299\n|machine |wake |wake 1 2|cpus |cpu |cpu 0 0 0 1 0 1 0\n|later x\n| |,|-|.|"
	"\033[2J|\t|\r\n|\200";

static const struct target targets[] = {
	{"wire", false, run_wire, make_wire, NULL},
	{"receipt", false, run_receipt, make_receipt, receipt_words},
	{"calibration", false, run_calibration, make_calibration, calibration_words},
	{"size", true, run_size, make_size, size_words},
	{"seconds", true, run_seconds, make_seconds, seconds_words},
	{"cpus", true, run_cpus, make_cpus, cpus_words},
};
#define TARGETS (sizeof(targets) / sizeof(targets[0]))

static const struct target *target_called(const char *name)
{
	size_t i;

	for (i = 0; i < TARGETS; i++)
		if (strcmp(targets[i].name, name) == 0)
			return &targets[i];
	errx(EXIT_USAGE, "no target %s", name);
}

/* In memory of just its size, so that a sanitizer sees a byte read beyond it. */
static bool try_case(const struct target *target, const char *s, size_t len)
{
	bool accepted;
	char *copy;

	if (target->string)
		len = strnlen(s, len);
	copy = malloc(len + target->string);
	if (copy == NULL)
		err(EXIT_FAILURE, "fuzz");
	memcpy(copy, s, len);
	if (target->string)
		copy[len] = '\0';
	now.target = target;
	now.s = copy;
	now.len = len;
	chance = hash((const unsigned char *)s, len);
	accepted = target->run(copy, len);
	now.s = NULL;
	free(copy);
	return accepted;
}

/*
 * Damage.
 */

/* Makes room for n bytes at `at`, or of what is left. */
static void open_gap(struct text *t, size_t at, size_t n)
{
	memmove(t->s + at + n, t->s + at, t->len - at);
	t->len += n;
}

static void cut(struct text *t, size_t from, size_t to)
{
	memmove(t->s + from, t->s + to, t->len - to);
	t->len -= to - from;
}

static void insert(struct text *t, size_t at, const char *s, size_t n)
{
	if (n > CASE_MAX - 1 - t->len)
		return;
	open_gap(t, at, n);
	memcpy(t->s + at, s, n);
}

/* Some bytes, or all from one separator to the next. */
static void any_span(const struct text *t, size_t *from, size_t *to)
{
	*from = *to = below(t->len);
	if (one_in(2)) {
		*to += 1 + below((size_t)1 << below(7));
	} else {
		while (*from > 0 && strchr(" ,\n", t->s[*from - 1]) == NULL)
			--*from;
		while (*to < t->len && strchr(" ,\n", t->s[*to]) == NULL)
			++*to;
		++*to;
	}
	if (*to > t->len)
		*to = t->len;
}

static void double_span(struct text *t)
{
	static char copy[CASE_MAX];
	size_t from, to;

	any_span(t, &from, &to);
	memcpy(copy, t->s + from, to - from);
	insert(t, one_in(2) ? to : below(t->len + 1), copy, to - from);
}

/* The beginning of one and the end of another. */
static void splice_with_another(struct text *t, const struct target *target)
{
	static struct text other;
	size_t from;

	other.len = 0;
	target->make(&other);
	from = below(other.len + 1);
	t->len = below(t->len + 1);
	put_bytes(t, other.s + from, other.len - from);
}

/* The number at or behind some place. */
static void replace_number(struct text *t, const struct target *target)
{
	static struct text number;
	size_t from = below(t->len), to;

	number.len = 0;
	if (target->words == NULL) {
		put_header(&number, odd_header());
		from -= one_in(4) ? 0 : from % 4;
		memcpy(t->s + from, number.s, t->len - from < 4 ? t->len - from : 4);
		return;
	}
	while (from < t->len && !isdigit((unsigned char)t->s[from]))
		from++;
	while (from > 0 && (isdigit((unsigned char)t->s[from - 1]) || t->s[from - 1] == '.'))
		from--;
	for (to = from; to < t->len && (isdigit((unsigned char)t->s[to]) || t->s[to] == '.'); to++)
		;
	cut(t, from, to);
	put_odd_number(&number);
	insert(t, from, number.s, number.len);
}

static void damage(struct text *t, const struct target *target)
{
	static struct text word;
	size_t from, to;
	char byte;

	if (t->len == 0) {
		target->make(t);
		return;
	}
	any_span(t, &from, &to);
	switch (below(9)) {
	case 0: t->s[from] = (char)(t->s[from] ^ 1 << below(8)); break;
	case 1: t->s[from] = (char)any(); break;
	case 2:
		byte = (char)any();
		insert(t, from, &byte, 1);
		break;
	case 3: cut(t, from, to); break;
	case 4: double_span(t); break;
	case 5: splice_with_another(t, target); break;
	case 6: replace_number(t, target); break;
	case 7:
		word.len = 0;
		if (target->words != NULL)
			put_word(&word, target->words);
		else
			put_header(&word, odd_header());
		if (one_in(2))
			cut(t, from, to);
		insert(t, from, word.s, word.len);
		break;
	default: t->len = one_in(4) ? from : t->len - 1; break;
	}
}

#ifdef LIBFUZZER
/*
 * libFuzzer.
 */
#define NAME_OF(target) #target
#define NAME(target)    NAME_OF(target)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < CASE_MAX)
		try_case(target_called(NAME(TARGET)), (const char *)data, len);
	return 0;
}

/* Its ways to damage a case, and ours. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
	static struct text t;

	chance = seed;
	if (one_in(2) || len >= CASE_MAX)
		return LLVMFuzzerMutate(data, len, max);
	t.len = 0;
	put_bytes(&t, data, len);
	damage(&t, target_called(NAME(TARGET)));
	len = t.len < max ? t.len : max;
	memcpy(data, t.s, len);
	return len;
}

#else
/*
 * The random driver.
 */

/* Of the sanitizers, where there is one: called before it ends the program. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): its name there */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* A crash says of which case it is; SIGPROF, each 10 seconds of CPU time, finds one without end. */
static void on_signal(int sig)
{
	static uint64_t last = UINT64_MAX;

	if (sig == SIGPROF && now.number != last) {
		last = now.number;
		return;
	}
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): what was interrupted has ended */
	fprintf(stderr, "%s: signal %d%s\n", now.target->name, sig,
		sig == SIGPROF ? ", no end" : "");
	show_case();
	signal(sig, SIG_DFL);
	raise(sig == SIGPROF ? SIGABRT : sig);
}

static void watch(void)
{
	const struct itimerval every = {{10, 0}, {10, 0}};

	signal(SIGPROF, on_signal);
	setitimer(ITIMER_PROF, &every, NULL);
	signal(SIGABRT, on_signal);
	if (__sanitizer_set_death_callback != NULL) {
		__sanitizer_set_death_callback(show_case);
		return;
	}
	signal(SIGSEGV, on_signal);
	signal(SIGBUS, on_signal);
	signal(SIGFPE, on_signal);
	signal(SIGILL, on_signal);
}

static void make_case(struct text *t, const struct target *target)
{
	size_t n;

	chance = mixed(now.seed) + mixed(now.number);
	n = below(5);
	t->len = 0;
	target->make(t);
	while (n-- > 0)
		damage(t, target);
}

static void try_random(const struct target *target, uint64_t cases)
{
	static struct text t;
	uint64_t accepted = 0;

	for (now.number = 0; now.number < cases; now.number++) {
		make_case(&t, target);
		accepted += try_case(target, t.s, t.len);
	}
	printf("%s: %llu cases, %llu accepted, seed %llu\n", target->name,
	       (unsigned long long)cases, (unsigned long long)accepted,
	       (unsigned long long)now.seed);
}

static void try_hex(const struct target *target, const char *hex)
{
	static struct text t;
	char byte[3] = "";

	for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
		memcpy(byte, hex, 2);
		put_char(&t, (char)strtoul(byte, NULL, 16));
	}
	printf("%s\n", try_case(target, t.s, t.len) ? "accepted" : "refused");
}

static void try_file(const struct target *target, const char *path)
{
	static struct text t;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		err(EXIT_FAILURE, "%s", path);
	t.len = fread(t.s, 1, CASE_MAX - 1, f);
	if (ferror(f) || fgetc(f) != EOF)
		errx(EXIT_FAILURE, "%s cannot be read, or has more than %d bytes", path,
		     CASE_MAX - 1);
	fclose(f);
	printf("%s: %s\n", path, try_case(target, t.s, t.len) ? "accepted" : "refused");
}

static void store_valid(const struct target *target, const char *dir)
{
	static struct text t;
	char path[4096];
	FILE *f;

	for (now.number = 0; now.number < 64; now.number++) {
		chance = mixed(now.seed) + mixed(now.number);
		t.len = 0;
		target->make(&t);
		snprintf(path, sizeof(path), "%s/%s-%02d", dir, target->name, (int)now.number);
		f = fopen(path, "we");
		if (f == NULL || fwrite(t.s, 1, t.len, f) != t.len || fclose(f) != 0)
			err(EXIT_FAILURE, "%s", path);
	}
}

int main(int argc, char **argv)
{
	const struct target *target;
	const char *dir = NULL, *hex = NULL;
	uint64_t cases = 100000;
	size_t i;
	int o;

	now.seed = 1;
	while ((o = getopt(argc, argv, "ls:n:x:d:")) != -1) {
		switch (o) {
		case 'l':
			for (i = 0; i < TARGETS; i++)
				puts(targets[i].name);
			return 0;
		case 's': now.seed = strtoull(optarg, NULL, 10); break;
		case 'n': cases = strtoull(optarg, NULL, 10); break;
		case 'x': hex = optarg; break;
		case 'd': dir = optarg; break;
		default: return EXIT_USAGE;
		}
	}
	if (optind == argc)
		errx(EXIT_USAGE, "which target?  See fuzz -l");
	now.target = target = target_called(argv[optind++]);
	watch();
	if (dir != NULL)
		store_valid(target, dir);
	else if (hex != NULL)
		try_hex(target, hex);
	else if (optind == argc)
		try_random(target, cases);
	for (; optind < argc; optind++, now.number++)
		try_file(target, argv[optind]);
	return 0;
}
#endif
