#include "lib/report/figures.h"

#include <ctype.h>

#include "tests/fuzz/fuzz.h"

/*
 * The case is what a server answers.  What is accepted is written and read again; it must have the
 * values that its text has.
 */

#define KEY_BYTES "abcdefghijklmnopqrstuvwxyz_0123456789"

/* The value of a key in the receipt `line`, a string; NULL if it has none. */
static const char *value_of(const char *line, const char *key, size_t len)
{
	while (strncmp(line, key, len) != 0 || line[len] != '=') {
		line += strcspn(line, " \n") + 1;
		if (line[-1] != ' ')
			return NULL;
	}
	return line + len + 1;
}

static size_t value_length(const char *value)
{
	return strcspn(value, " \n");
}

/* Whether a value as it came is the one that was written. */
static bool same_value(const char *came, const char *written)
{
	double v, w;

	if (memchr(written, '.', value_length(written)) != NULL) {
		v = strtod(came, NULL);
		w = strtod(written, NULL);
		return fabs(v - w) <= 0.500001e-6 + fabs(v) * 1e-15;
	}
	while (isdigit((unsigned char)*came) && *came == '0' && value_length(came) > 1)
		came++;
	return value_length(came) == value_length(written) &&
	       memcmp(came, written, value_length(written)) == 0;
}

/* Every figure that is written was in the case, with that value.  Reasons may be of a newer version. */
static void values_hold(const char *s, size_t len, const char *written)
{
	char line[RECEIPT_MAX + 1];
	const char *value;
	size_t n;

	memcpy(line, s, len);
	line[len] = '\0';
	for (; *written != '\0'; written += n + 2 + value_length(written + n + 1)) {
		n = strspn(written, KEY_BYTES);
		value = value_of(line, written, n);
		/* A count that did not come is 0. */
		holds(value != NULL ||
			      (written[n + 1] == '0' && value_length(written + n + 1) == 1),
		      "a figure that is written was in the receipt");
		if (value != NULL && strncmp(written, "unsafe=", 7) != 0)
			holds(same_value(value, written + n + 1),
			      "a figure has the value that came");
	}
}

static bool run_receipt(const char *s, size_t len)
{
	char line[RECEIPT_MAX + 1], line_again[RECEIPT_MAX];
	struct figures f, again;
	const char *why = receipt_parse(s, len, &f);
	size_t used;

	if (why != NULL) {
		reason_holds(why);
		return false;
	}
	holds(len <= RECEIPT_MAX && receipt_parse(s, len - 1, &again) != NULL,
	      "a receipt is one line, with its newline");
	used = receipt_format(&f, line);
	holds(used <= RECEIPT_MAX, "a receipt that is written has room");
	line[used] = '\0';
	values_hold(s, len, line);
	holds(receipt_parse(line, used, &again) == NULL, "a receipt that is written is one");
	holds(receipt_format(&again, line_again) == used && memcmp(line, line_again, used) == 0,
	      "a receipt that is written reads the same");
	return true;
}

static double any_double(void)
{
	static const double odd[] = {0,    -0.0,  1,     -1,       0.5,
				     1e-9, -1e-9, -1000, -1000.5,  999999999999999,
				     1e15, 1e300, NAN,   INFINITY, -INFINITY};

	return one_in(2) ? odd[below(sizeof(odd) / sizeof(odd[0]))]
			 : (double)(any() >> 40) / (one_in(2) ? 1e7 : 1);
}

/* Whatever an end measured, what it sends is a receipt; numbers that cannot be in one are omitted. */
static void make_figures(struct figures *f)
{
	double *const v[] = {&f->cpu,
			     &f->host.load,
			     &f->host.uncertainty,
			     &f->host.cpus,
			     &f->host.slowed,
			     &f->host.tasks,
			     &f->tcp.rcv_rtt,
			     &f->tcp.rcv_mss,
			     &f->tcp.rcv_ooo,
			     &f->host.rates.interrupts,
			     &f->host.rates.packets_in,
			     &f->host.rates.packets_out};
	uint64_t *const n[] = {&f->bytes, &f->files, &f->calls, &f->warmup, &f->clients};
	size_t i;

	figures_init(f);
	for (i = 0; i < sizeof(n) / sizeof(n[0]); i++)
		*n[i] = any() >> (5 + below(59)); /* what figure_is_possible() of a count */
	for (i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		*v[i] = any_double();
	for (i = 0; i < CPU_COLUMNS; i++)
		f->host.rates.cpu[i] = any_double();
	for (i = below(sizeof(f->method)); i > 0; i--)
		f->method[i - 1] = (char)('a' + below(26));
	if (one_in(16))
		strcpy(f->refused, REFUSED_FULL);
	f->host.unsafe = one_in(2) ? 0 : (unsigned)below(1u << UNSAFE_REASONS);
	f->seconds = (double)(any() >> 32) / 1e6;
}

static void make_receipt(struct text *t)
{
	char line[RECEIPT_MAX];
	struct figures f;
	size_t len, padding;

	make_figures(&f);
	len = receipt_format(&f, line);
	holds(receipt_parse(line, len, &f) == NULL, "what is sent is a receipt");
	put_bytes(t, line, len - 1);
	if (one_in(8)) {
		put(t, " later_%zu=", below(10));
		padding = one_in(8) ? RECEIPT_MAX - 2 - t->len + below(4) : 1 + below(20);
		while (padding-- > 0)
			put_char(t, 'x');
	}
	put(t, "\n");
}

const struct fuzz_target receipt_target = {
	"receipt", false, run_receipt, make_receipt,
	"bytes=|seconds=|load=|cpus=|cpus=0.9999999|slowed=-|method=|later=| refused=full| |=|\n|.|-|"
	" bytes=0 seconds=0\n|\033[2J|\177|\200"};
