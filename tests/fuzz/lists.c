#include "lib/load/cpus.h"

#include "tests/fuzz/fuzz.h"

/*
 * Sizes, seconds and CPU lists: the arguments of options, and of what anybody may have put into a
 * file.  Each has a second reading of the same text, written without zc's own code.
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
	double v = 0, got = -7;
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

const struct fuzz_target size_target = {"size", true, run_size, make_size, "k|M|g|T|kk|e3|.|-| "};
const struct fuzz_target seconds_target = {"seconds", true, run_seconds, make_seconds,
					   ".|e|-|0x|nan|inf| |s"};
const struct fuzz_target cpus_target = {"cpus", true, run_cpus, make_cpus,
					",|-|0-8191|8191|,0|-1| |\n|0x|:2"};
