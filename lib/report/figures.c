#include "lib/report/figures.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys of a receipt.  A new one is one line here and one member of struct figures. */
static const struct {
	const char *key;
	enum { KEY_COUNT, KEY_NUMBER, KEY_WORD } type;
	size_t offset;
	bool required;
} receipt_keys[] = {
#define MEMBER(name) offsetof(struct figures, name)
	{"bytes", KEY_COUNT, MEMBER(bytes), true},
	{"seconds", KEY_NUMBER, MEMBER(seconds), true},
	{"files", KEY_COUNT, MEMBER(files), false},
	{"reads", KEY_COUNT, MEMBER(calls), false},
	{"warmup", KEY_COUNT, MEMBER(warmup), false},
	{"clients", KEY_COUNT, MEMBER(clients), false},
	{"method", KEY_WORD, MEMBER(method), false},
	{"refused", KEY_WORD, MEMBER(refused), false},
	{"cpu", KEY_NUMBER, MEMBER(cpu), false},
	{"load", KEY_NUMBER, MEMBER(load), false},
	{"uncertainty", KEY_NUMBER, MEMBER(uncertainty), false},
	{"cpus", KEY_NUMBER, MEMBER(cpus), false},
	{"slowed", KEY_NUMBER, MEMBER(slowed), false},
	{"tasks", KEY_NUMBER, MEMBER(tasks), false},
	{"interrupts", KEY_NUMBER, MEMBER(rates.interrupts), false},
	{"packets_in", KEY_NUMBER, MEMBER(rates.packets_in), false},
	{"packets_out", KEY_NUMBER, MEMBER(rates.packets_out), false},
	{"user", KEY_NUMBER, MEMBER(rates.cpu[CPU_USER]), false},
	{"nice", KEY_NUMBER, MEMBER(rates.cpu[CPU_NICE]), false},
	{"system", KEY_NUMBER, MEMBER(rates.cpu[CPU_SYSTEM]), false},
	{"idle", KEY_NUMBER, MEMBER(rates.cpu[CPU_IDLE]), false},
	{"iowait", KEY_NUMBER, MEMBER(rates.cpu[CPU_IOWAIT]), false},
	{"irq", KEY_NUMBER, MEMBER(rates.cpu[CPU_IRQ]), false},
	{"softirq", KEY_NUMBER, MEMBER(rates.cpu[CPU_SOFTIRQ]), false},
	{"steal", KEY_NUMBER, MEMBER(rates.cpu[CPU_STEAL]), false},
	{"rcv_rtt", KEY_NUMBER, MEMBER(tcp.rcv_rtt), false},
	{"rcv_mss", KEY_NUMBER, MEMBER(tcp.rcv_mss), false},
	{"out_of_order", KEY_NUMBER, MEMBER(tcp.rcv_ooo), false},
#undef MEMBER
};
#define RECEIPT_KEYS (sizeof(receipt_keys) / sizeof(receipt_keys[0]))

void figures_init(struct figures *f)
{
	*f = (struct figures){.seconds = NAN,
			      .cpu = NAN,
			      .cpus = NAN,
			      .load = NAN,
			      .uncertainty = NAN,
			      .slowed = NAN,
			      .tasks = NAN};
	set_unknown(&f->rates, sizeof(f->rates));
	set_unknown(&f->tcp, sizeof(f->tcp));
}

void figures_load(struct figures *f, const struct load *l, int cpus)
{
	f->cpus = cpus;
	f->load = l->load;
	f->uncertainty = l->uncertainty;
	f->slowed = l->slowed;
	f->tasks = l->tasks;
}

#define RECEIPT_NUMBER_MAX 1e15 /* every number is below; what a receipt is about is, by far */

/*
 * Whether v may be the value of key i.  A share of the time may come out below 0 on a machine that
 * does more than when calibrated.
 */
static bool receipt_fits(size_t i, double v)
{
	bool share = strcmp(receipt_keys[i].key, "load") == 0 ||
		     strcmp(receipt_keys[i].key, "slowed") == 0;

	return v >= (share ? -1000 : 0) && v < RECEIPT_NUMBER_MAX;
}

/* `key=value ` of key i, or nothing where there is no value. */
static int receipt_put(const struct figures *f, size_t i, char *buf, size_t size)
{
	const void *member = (const char *)f + receipt_keys[i].offset;
	const char *key = receipt_keys[i].key;

	switch (receipt_keys[i].type) {
	case KEY_COUNT:
		return snprintf(buf, size, "%s=%llu ", key,
				(unsigned long long)*(const uint64_t *)member);
	case KEY_NUMBER:
		if (!receipt_fits(i, *(const double *)member))
			return 0;
		return snprintf(buf, size, "%s=%.6f ", key, *(const double *)member);
	default: /* KEY_WORD */
		if (*(const char *)member == '\0')
			return 0;
		return snprintf(buf, size, "%s=%s ", key, (const char *)member);
	}
}

size_t receipt_format(const struct figures *f, char *buf)
{
	size_t used = 0, i;

	for (i = 0; i < RECEIPT_KEYS; i++)
		used += (size_t)receipt_put(f, i, buf + used, RECEIPT_MAX - used);
	buf[used - 1] = '\n';
	return used;
}

static bool receipt_count(uint64_t *member, const char *value)
{
	char *end;

	if (!isdigit((unsigned char)value[0]))
		return false;
	errno = 0;
	*member = strtoull(value, &end, 10);
	return errno == 0 && *end == '\0';
}

static bool receipt_number(double *member, const char *value)
{
	char *end;

	if (!isdigit((unsigned char)value[value[0] == '-']) ||
	    value[strspn(value, "-0123456789.")] != '\0')
		return false;
	*member = strtod(value, &end);
	return *end == '\0';
}

static bool receipt_word(char member[16], const char *value)
{
	if (strlen(value) > 15 || value[strspn(value, "abcdefghijklmnopqrstuvwxyz")] != '\0')
		return false;
	strcpy(member, value);
	return true;
}

/* Stores the value of key i; false if it is not what that key has. */
static bool receipt_set(struct figures *f, size_t i, const char *value)
{
	void *member = (char *)f + receipt_keys[i].offset;

	switch (receipt_keys[i].type) {
	case KEY_COUNT: return receipt_count(member, value);
	case KEY_NUMBER:
		return receipt_number(member, value) && receipt_fits(i, *(const double *)member);
	default: return receipt_word(member, value);
	}
}

/* Takes one `key=value`, cut out as a string.  *seen has a bit for each key that was there. */
static bool receipt_pair(struct figures *f, char *pair, uint64_t *seen)
{
	char *value = strchr(pair, '=');
	size_t i;

	if (value == NULL || value == pair || value[1] == '\0')
		return false;
	*value++ = '\0';
	if (pair[strspn(pair, "abcdefghijklmnopqrstuvwxyz_0123456789")] != '\0')
		return false;
	for (i = 0; i < RECEIPT_KEYS; i++) {
		if (strcmp(pair, receipt_keys[i].key) != 0)
			continue;
		if (*seen & 1ull << i)
			return false;
		*seen |= 1ull << i;
		return receipt_set(f, i, value);
	}
	return true;
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
	for (i = 0; i < RECEIPT_KEYS; i++)
		if (receipt_keys[i].required && !(seen & 1ull << i) && f->refused[0] == '\0')
			return "lacks bytes or seconds";
	if (isnan(f->cpus) || f->cpus < 1)
		f->load = NAN; /* a share of nothing */
	return NULL;
}

void figures_add(struct figures *sum, const struct figures *f)
{
	sum->bytes += f->bytes;
	sum->calls += f->calls;
	sum->files += f->files;
	sum->warmup += f->warmup;
	if (isnan(sum->seconds) || f->seconds > sum->seconds)
		sum->seconds = f->seconds;
	sum->tcp.retransmits += f->tcp.retransmits;
	strcpy(sum->method, f->method);
}
