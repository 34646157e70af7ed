#include "lib/load/cpus.h"
#include "lib/report/usage.h"

#include "tests/fuzz/fuzz.h"

/*
 * Sizes, seconds and CPU lists: the arguments of options, and of what anybody may have put into a
 * file.  Each has a second reading of the same text, written without zc's own code.
 */

/* digits [`.` [digits]] or `.` digits at *s; moves *s behind it. */
static bool read_decimal(const char **s, long double *v)
{
	char number[512] = "";
	const char *p = *s;
	int digits = 0;
	bool point = false;

	for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
		digits += *p != '.';
		point |= *p == '.';
	}
	if (digits == 0)
		return false;
	memcpy(number, *s, (size_t)(p - *s) < sizeof(number) ? (size_t)(p - *s) : 511);
	*v = strtold(number, NULL);
	*s = p;
	return true;
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

/* What a suffix of a size multiplies by; 0: it is none. */
static uint64_t factor_of(const char *suffix)
{
	static const struct {
		const char *suffix;
		uint64_t factor;
	} known[] = {{"", 1},
		     {"k", 1024},
		     {"m", 1ull << 20},
		     {"g", 1ull << 30},
		     {"t", 1ull << 40},
		     {"kib", 1024},
		     {"mib", 1ull << 20},
		     {"gib", 1ull << 30},
		     {"tib", 1ull << 40},
		     {"kb", 1000},
		     {"mb", 1000000},
		     {"gb", 1000000000},
		     {"tb", 1000000000000}};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcasecmp(suffix, known[i].suffix) == 0)
			return known[i].factor;
	return 0;
}

/* Whether `got` is that number, or none where there is none. */
static bool number_holds(double got, bool good, long double want)
{
	holds(isnan(got) == !good, "a number is taken, and nothing else");
	if (good && isfinite((double)want))
		holds(fabsl(got - want) <= 1e-15L * want && !signbit(got), "the number is that");
	return good;
}

static bool run_size(const char *s, size_t len)
{
	long double v = 0;
	const char *p = s;
	uint64_t factor;
	bool good;

	(void)len;
	good = read_decimal(&p, &v);
	factor = good ? factor_of(p) : 0;
	good = factor > 1 || (factor == 1 && floor((double)v) == (double)v);
	return number_holds(parse_number(OPTION_SIZE, s), good, v * factor);
}

static void make_size(struct text *t)
{
	static const char suffixes[] = "kmgtKMGT";

	put(t, "%llu", (unsigned long long)(any() >> below(64)));
	if (one_in(2))
		return;
	if (one_in(4))
		put(t, ".%u", (unsigned)below(100000));
	put_char(t, suffixes[below(8)]);
	if (one_in(4))
		put(t, one_in(2) ? "iB" : "b");
}

static bool run_seconds(const char *s, size_t len)
{
	const char *p = s;
	long double v = 0;
	bool good;

	(void)len;
	good = read_decimal(&p, &v);
	if (good && *p != '\0' && strchr("mMhH", *p) != NULL)
		v *= *p == 'm' || *p == 'M' ? 60 : 3600;
	if (good && *p != '\0' && strchr("smhSMH", *p) != NULL)
		p++;
	return number_holds(parse_number(OPTION_SECONDS, s), good && *p == '\0', v);
}

static void make_seconds(struct text *t)
{
	if (one_in(8))
		put_digits(t);
	else if (one_in(2))
		put(t, "%u", (unsigned)(any() >> (32 + below(32))));
	else
		put(t, "%.*f", (int)below(12), (double)(any() >> below(64)) / 1e6);
	if (one_in(4))
		put_char(t, "smh"[below(3)]);
}

static const char *skip_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

/* The list at s, which ends there, perhaps with a comma; -1 if it is none. */
static int read_cpus(const char *s, int id[CPUS_MAX])
{
	uint64_t first, last;
	bool large, larger;
	int n = 0;

	do {
		s = skip_blanks(s);
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
		s = skip_blanks(s);
		if (*s != '\0' && *s++ != ',')
			return -1;
		s = skip_blanks(s);
	} while (*s != '\0');
	return n;
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

void put_cpus(struct text *t, int most)
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

const struct fuzz_target size_target = {"size", true, run_size, make_size,
					"k|M|g|T|iB|b|kk|e3|.|-| "};
const struct fuzz_target seconds_target = {"seconds", true, run_seconds, make_seconds,
					   ".|e|-|0x|nan|inf| |s|m|h|ms"};
const struct fuzz_target cpus_target = {"cpus", true, run_cpus, make_cpus,
					",|-|0-8191|8191|,0|-1| |, |\n|0x|:2"};
