#include "lib/report/receipt.h"

#include <ctype.h>
#include <limits.h>

/* The keys of a receipt.  A new one is one line here and one member of struct figures. */
static const struct receipt_key {
	const char *name;
	enum { KEY_COUNT, KEY_NUMBER, KEY_WORD, KEY_NAME, KEY_REASONS } type;
	size_t offset;
	size_t size;           /* of a word or a name, with its end */
	enum figure_kind kind; /* of a count or number: what it can be */
} receipt_keys[] = {
#define COUNT(member)                                                                              \
	.type = KEY_COUNT, .offset = offsetof(struct figures, member), .kind = FIGURE_COUNT
#define NUMBER(member, k)                                                                          \
	.type = KEY_NUMBER, .offset = offsetof(struct figures, member), .kind = FIGURE_##k
#define TEXT(member)                                                                               \
	.offset = offsetof(struct figures, member), .size = sizeof(((struct figures *)0)->member)
#define WORD(member)    .type = KEY_WORD, TEXT(member)
#define NAME(member)    .type = KEY_NAME, TEXT(member)
#define REASONS(member) .type = KEY_REASONS, .offset = offsetof(struct figures, member)
	{"bytes", COUNT(bytes)},
	{"seconds", NUMBER(seconds, SECONDS)},
	{"files", COUNT(files)},
	{"reads", COUNT(calls)},
	{"warmup", COUNT(warmup)},
	{"clients", COUNT(clients)},
	{"method", WORD(method)},
	{"refused", WORD(refused)},
	{"cpu", NUMBER(cpu, CPU)},
	{"load", NUMBER(host.load, LOAD)},
	{"uncertainty", NUMBER(host.uncertainty, SHARE)},
	{"cpus", NUMBER(host.cpus, CPUS)},
	{"slowed", NUMBER(host.slowed, LOAD)},
	{"tasks", NUMBER(host.tasks, SHARE)},
	{"interrupts", NUMBER(host.rates.interrupts, RATE)},
	{"packets_in", NUMBER(host.rates.packets_in, RATE)},
	{"packets_out", NUMBER(host.rates.packets_out, RATE)},
	{"user", NUMBER(host.rates.cpu[CPU_USER], SHARE)},
	{"nice", NUMBER(host.rates.cpu[CPU_NICE], SHARE)},
	{"system", NUMBER(host.rates.cpu[CPU_SYSTEM], SHARE)},
	{"idle", NUMBER(host.rates.cpu[CPU_IDLE], SHARE)},
	{"iowait", NUMBER(host.rates.cpu[CPU_IOWAIT], SHARE)},
	{"irq", NUMBER(host.rates.cpu[CPU_IRQ], SHARE)},
	{"softirq", NUMBER(host.rates.cpu[CPU_SOFTIRQ], SHARE)},
	{"steal", NUMBER(host.rates.cpu[CPU_STEAL], SHARE)},
	{"rcv_rtt", NUMBER(tcp.rcv_rtt, RATE)},
	{"rcv_mss", NUMBER(tcp.rcv_mss, COUNT)},
	{"out_of_order", NUMBER(tcp.rcv_ooo, COUNT)},
	{"unsafe", REASONS(host.unsafe)},
	{"softnet_dropped", NUMBER(host.rates.softnet_dropped, RATE)},
	{"softnet_squeezed", NUMBER(host.rates.softnet_squeezed, RATE)},
	{"version", NAME(version)},
	{"kernel", NAME(kernel)},
	{"no_load", WORD(no_load)},
	{"switches", NUMBER(host.switches, RATE)},
	{"instrument", WORD(host.instrument)},
};
#define RECEIPT_KEYS     (sizeof(receipt_keys) / sizeof(receipt_keys[0]))
#define RECEIPT_REQUIRED 3 /* a bit for each of bytes and seconds, the first keys */

_Static_assert(
	RECEIPT_KEYS * 64 + UNSAFE_STRLEN + RELEASE_SIZE <= RECEIPT_MAX,
	"a key and its value have at most 64 bytes, but the reasons and the kernel's release");

/* The types of which a value may have a character: a name is that of a version or a release. */
#define TYPE(name) (1u << KEY_##name)
static const unsigned char types_with[UCHAR_MAX + 1] = {
	['0' ... '9'] = TYPE(COUNT) | TYPE(NUMBER) | TYPE(NAME) | TYPE(REASONS),
	['a' ... 'z'] = TYPE(WORD) | TYPE(NAME) | TYPE(REASONS),
	['A' ... 'Z'] = TYPE(NAME),
	['-'] = TYPE(NUMBER) | TYPE(NAME),
	['.'] = TYPE(NUMBER) | TYPE(NAME),
	['_'] = TYPE(NAME) | TYPE(REASONS),
	[','] = TYPE(NAME) | TYPE(REASONS),
	['+'] = TYPE(NAME),
	['~'] = TYPE(NAME),
	[':'] = TYPE(NAME),
	['@'] = TYPE(NAME),
	['/'] = TYPE(NAME),
};

static bool has_characters(const struct receipt_key *key, const char *value)
{
	const char *p = value;

	while ((types_with[(unsigned char)*p] & 1u << key->type) != 0)
		p++;
	return p > value && *p == '\0';
}

static char *put_count(char *p, uint64_t v)
{
	char digits[24], *d = digits + sizeof(digits);

	*--d = '\0';
	do {
		*--d = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	return stpcpy(p, d);
}

/*
 * Writes a number with six decimals.  printf(3) made a receipt cost a tenth of a client of 50 bytes; it
 * is left what has more than 15 digits, or a sign.
 */
static char *put_number(char *p, double v)
{
	uint64_t millionths;
	int i;

	if (signbit(v) || !(v < 1e9))
		return p + sprintf(p, "%.6f", v);
	millionths = (uint64_t)(v * 1e6 + 0.5);
	p = put_count(p, millionths / 1000000);
	millionths %= 1000000;
	*p = '.';
	for (i = 6; i > 0; i--) {
		p[i] = (char)('0' + millionths % 10);
		millionths /= 10;
	}
	return p + 7;
}

/* Appends a value with its key, and a blank. */
static char *put_key(char *p, const struct receipt_key *key, const void *member)
{
	char reasons[UNSAFE_STRLEN];

	p = stpcpy(p, key->name);
	*p++ = '=';
	switch (key->type) {
	case KEY_COUNT: p = put_count(p, *(const uint64_t *)member); break;
	case KEY_NUMBER: p = put_number(p, *(const double *)member); break;
	case KEY_REASONS: p = stpcpy(p, limits_format(*(const unsigned *)member, reasons)); break;
	default: p = stpcpy(p, member);
	}
	*p = ' ';
	return p + 1;
}

/* Whether a receipt has the key with this value. */
static bool is_known(const struct receipt_key *key, const void *member)
{
	switch (key->type) {
	case KEY_COUNT: return true;
	case KEY_NUMBER: return figure_is_possible(key->kind, *(const double *)member);
	case KEY_REASONS: return *(const unsigned *)member != 0;
	default: return has_characters(key, member);
	}
}

size_t receipt_format(const struct figures *f, char *buf)
{
	const struct receipt_key *key;
	const void *member;
	char *p = buf;

	for (key = receipt_keys; key < receipt_keys + RECEIPT_KEYS; key++) {
		member = (const char *)f + key->offset;
		if (is_known(key, member))
			p = put_key(p, key, member);
	}
	p[-1] = '\n';
	return (size_t)(p - buf);
}

/* Stores the value of a key; returns false if the key cannot have it. */
static bool receipt_set(struct figures *f, const struct receipt_key *key, const char *value)
{
	void *member = (char *)f + key->offset;
	char *end;

	if (!has_characters(key, value))
		return false;
	if (key->type == KEY_WORD || key->type == KEY_NAME)
		return (size_t)snprintf(member, key->size, "%s", value) < key->size;
	if (key->type == KEY_REASONS)
		return limits_parse(value, member);
	if (key->type == KEY_NUMBER) {
		*(double *)member = strtod(value, &end);
		return *end == '\0' && isdigit((unsigned char)value[value[0] == '-']) &&
		       figure_is_possible(key->kind, *(double *)member);
	}
	errno = 0;
	*(uint64_t *)member = strtoull(value, NULL, 10);
	return errno == 0 && figure_is_possible(key->kind, (double)*(uint64_t *)member);
}

/* Reads the string `key=value`.  *seen has a bit for each key that the receipt has had so far. */
static bool receipt_pair(struct figures *f, char *pair, uint64_t *seen)
{
	char *value = strchr(pair, '=');
	bool repeated;
	size_t i;

	if (value == NULL || value == pair || value[1] == '\0')
		return false;
	*value++ = '\0';
	if (pair[strspn(pair, "abcdefghijklmnopqrstuvwxyz_0123456789")] != '\0')
		return false;
	for (i = 0; i < RECEIPT_KEYS && strcmp(pair, receipt_keys[i].name) != 0; i++)
		;
	if (i == RECEIPT_KEYS)
		return true;
	repeated = *seen & 1ull << i;
	*seen |= 1ull << i;
	return !repeated && receipt_set(f, &receipt_keys[i], value);
}

const char *receipt_parse(const char *buf, size_t len, struct figures *f)
{
	char line[RECEIPT_MAX], *rest = line, *pair;
	uint64_t seen = 0;
	size_t i;

	figures_init(f);
	if (len == 0 || len > sizeof(line) || buf[len - 1] != '\n')
		return "is not one line";
	for (i = 0; i < len - 1; i++)
		if (buf[i] < ' ' || buf[i] > '~')
			return "has characters that are not text";
	memcpy(line, buf, len);
	line[len - 1] = '\0';
	while ((pair = strsep(&rest, " ")) != NULL)
		if (!receipt_pair(f, pair, &seen))
			return "has a bad key=value";
	if ((seen & RECEIPT_REQUIRED) != RECEIPT_REQUIRED && f->refused[0] == '\0')
		return "lacks bytes or seconds";
	if (isnan(f->host.cpus) || f->host.cpus < 1)
		f->host.load = NAN; /* it would be a share of nothing */
	return NULL;
}
