#include "lib/report/figures.h"

#include <ctype.h>

/* A share may come out below 0 on a machine that does more than when it was calibrated. */
#define RECEIPT_SHARE_MIN  (-1000)
#define RECEIPT_NUMBER_MAX 1e15 /* above every number that a receipt can have */

/* The keys of a receipt.  A new one is one line here and one member of struct figures. */
static const struct receipt_key {
	const char *name;
	enum { KEY_COUNT, KEY_NUMBER, KEY_WORD } type;
	size_t offset;
	bool required;
	double min; /* of a number */
} receipt_keys[] = {
#define COUNT(member)  .type = KEY_COUNT, .offset = offsetof(struct figures, member)
#define NUMBER(member) .type = KEY_NUMBER, .offset = offsetof(struct figures, member)
#define WORD(member)   .type = KEY_WORD, .offset = offsetof(struct figures, member)
	{"bytes", COUNT(bytes), .required = true},
	{"seconds", NUMBER(seconds), .required = true},
	{"files", COUNT(files)},
	{"reads", COUNT(calls)},
	{"warmup", COUNT(warmup)},
	{"clients", COUNT(clients)},
	{"method", WORD(method)},
	{"refused", WORD(refused)},
	{"cpu", NUMBER(cpu)},
	{"load", NUMBER(load), .min = RECEIPT_SHARE_MIN},
	{"uncertainty", NUMBER(uncertainty)},
	{"cpus", NUMBER(cpus)},
	{"slowed", NUMBER(slowed), .min = RECEIPT_SHARE_MIN},
	{"tasks", NUMBER(tasks)},
	{"interrupts", NUMBER(rates.interrupts)},
	{"packets_in", NUMBER(rates.packets_in)},
	{"packets_out", NUMBER(rates.packets_out)},
	{"user", NUMBER(rates.cpu[CPU_USER])},
	{"nice", NUMBER(rates.cpu[CPU_NICE])},
	{"system", NUMBER(rates.cpu[CPU_SYSTEM])},
	{"idle", NUMBER(rates.cpu[CPU_IDLE])},
	{"iowait", NUMBER(rates.cpu[CPU_IOWAIT])},
	{"irq", NUMBER(rates.cpu[CPU_IRQ])},
	{"softirq", NUMBER(rates.cpu[CPU_SOFTIRQ])},
	{"steal", NUMBER(rates.cpu[CPU_STEAL])},
	{"rcv_rtt", NUMBER(tcp.rcv_rtt)},
	{"rcv_mss", NUMBER(tcp.rcv_mss)},
	{"out_of_order", NUMBER(tcp.rcv_ooo)},
#undef COUNT
#undef NUMBER
#undef WORD
};
#define RECEIPT_KEYS (sizeof(receipt_keys) / sizeof(receipt_keys[0]))

void figures_init(struct figures *f)
{
	memset(f, 0, sizeof(*f));
	f->seconds = f->cpu = f->cpus = NAN;
	f->load = f->uncertainty = f->slowed = f->tasks = NAN;
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

static bool number_fits(const struct receipt_key *key, double v)
{
	return v >= key->min && v < RECEIPT_NUMBER_MAX;
}

/* Writes `key=value `, or nothing where there is no value. */
static int receipt_put(const struct figures *f, const struct receipt_key *key, char *buf,
		       size_t size)
{
	const void *member = (const char *)f + key->offset;
	const double number = key->type == KEY_NUMBER ? *(const double *)member : 0;

	if (key->type == KEY_COUNT)
		return snprintf(buf, size, "%s=%llu ", key->name,
				(unsigned long long)*(const uint64_t *)member);
	if (key->type == KEY_NUMBER && number_fits(key, number))
		return snprintf(buf, size, "%s=%.6f ", key->name, number);
	if (key->type == KEY_WORD && *(const char *)member != '\0')
		return snprintf(buf, size, "%s=%s ", key->name, (const char *)member);
	return 0;
}

size_t receipt_format(const struct figures *f, char *buf)
{
	size_t used = 0, i;

	for (i = 0; i < RECEIPT_KEYS; i++)
		used += (size_t)receipt_put(f, &receipt_keys[i], buf + used, RECEIPT_MAX - used);
	buf[used - 1] = '\n';
	return used;
}

/* Stores the value of a key; false if the key cannot have it. */
static bool receipt_set(struct figures *f, const struct receipt_key *key, const char *value)
{
	static const char *const accepted[] = {[KEY_COUNT] = "0123456789",
					       [KEY_NUMBER] = "-.0123456789",
					       [KEY_WORD] = "abcdefghijklmnopqrstuvwxyz"};
	void *member = (char *)f + key->offset;
	char *end = NULL;
	double number;

	if (value[strspn(value, accepted[key->type])] != '\0')
		return false;
	switch (key->type) {
	case KEY_COUNT:
		errno = 0;
		*(uint64_t *)member = strtoull(value, &end, 10);
		return errno == 0;
	case KEY_NUMBER:
		number = strtod(value, &end);
		*(double *)member = number;
		return *end == '\0' && isdigit((unsigned char)value[value[0] == '-']) &&
		       number_fits(key, number);
	default:
		return (size_t)snprintf(member, sizeof(f->method), "%s", value) < sizeof(f->method);
	}
}

/* Reads one `key=value`, cut out as a string.  *seen has a bit for each key that was there. */
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
		if (strcmp(pair, receipt_keys[i].name) != 0)
			continue;
		if (*seen & 1ull << i)
			return false;
		*seen |= 1ull << i;
		return receipt_set(f, &receipt_keys[i], value);
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
