#include "tests/fuzz/fuzz.h"

#include <ctype.h>
#include <stdarg.h>

/*
 * Chance.
 */
static uint64_t chance;

void chance_begin(uint64_t seed)
{
	chance = seed;
}

uint64_t mixed(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u; /* splitmix64 */
	v = (v ^ v >> 27) * 0x94d049bb133111ebu;
	return v ^ v >> 31;
}

uint64_t any(void)
{
	chance += 0x9e3779b97f4a7c15u;
	return mixed(chance);
}

size_t below(size_t n)
{
	return n == 0 ? 0 : (size_t)(any() % n);
}

bool one_in(size_t n)
{
	return below(n) == 0;
}

/*
 * Text.
 */
void put_bytes(struct text *t, const void *p, size_t n)
{
	if (n > CASE_MAX - 1 - t->len)
		n = CASE_MAX - 1 - t->len;
	memcpy(t->s + t->len, p, n);
	t->len += n;
}

void put_char(struct text *t, char c)
{
	put_bytes(t, &c, 1);
}

void put(struct text *t, const char *fmt, ...)
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

/* Puts enough digits to be beyond or below a double. */
void put_digits(struct text *t)
{
	size_t n = one_in(2) ? 300 + below(20) : below(400);

	if (one_in(2))
		put(t, "0.");
	while (n-- > 0)
		put_char(t, (char)('0' + (one_in(4) ? below(10) : one_in(2) ? 0 : 9)));
}

void put_odd_number(struct text *t)
{
	if (one_in(16))
		put_digits(t);
	else if (one_in(8))
		put(t, "%llu", (unsigned long long)(any() >> below(64)));
	else
		put_word(t, odd_numbers);
}

void put_header(struct text *t, uint32_t v)
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
static void splice_with_another(struct text *t, const struct fuzz_target *target)
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
static void replace_number(struct text *t, const struct fuzz_target *target)
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

void damage(struct text *t, const struct fuzz_target *target)
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
