/*
 * fuzz: feeds zc's readers of what others wrote with valid input that is made at random and then damaged.
 *
 *	fuzz                               prints the targets, a line each
 *	fuzz [-s SEED] [-n CASES] TARGET   tries that many cases, 100000 by default, the same for the same seed
 *	fuzz [-s SEED] -c NUMBER TARGET    prints one of these cases, and tries it
 *
 * With -DLIBFUZZER -DTARGET=target it is libFuzzer's, which `make fuzz` builds.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/fuzz/fuzz.h"

void holds(bool it_does, const char *what)
{
	if (it_does)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/*
 * Chance.
 */
static uint64_t chance;

static uint64_t mixed(uint64_t v)
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

void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->s + t->len, CASE_MAX - t->len, fmt, ap);
	va_end(ap);
	t->len += n < (int)(CASE_MAX - t->len) ? (size_t)n : CASE_MAX - 1 - t->len;
}

void put_header(struct text *t, uint32_t v)
{
	const unsigned char p[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16),
				    (unsigned char)(v >> 8), (unsigned char)v};

	put_bytes(t, p, sizeof(p));
}

/* Puts a number near a power of 2, or any. */
static void put_odd_header(struct text *t)
{
	put_header(t, (uint32_t)(one_in(4) ? any() >> below(64) : (1ull << below(33)) - below(3)));
}

/* Puts one of the words of a list. */
static void put_word(struct text *t, const char *list)
{
	size_t n = 1, i;

	for (i = 0; list[i] != '\0'; i++)
		n += list[i] == '|';
	for (n = below(n); n > 0; n--)
		list += strcspn(list, "|") + 1;
	put_bytes(t, list, strcspn(list, "|"));
}

void put_odd_number(struct text *t)
{
	if (one_in(16)) /* beyond a double */
		put(t, "9%0*zu", (int)(300 + below(20)), below(1000));
	else if (one_in(8))
		put(t, "%" PRIu64, any() >> below(64));
	else
		put_word(t, "0|1|-1|-0|8191|8192|2147483647|2147483648|4294967295|4294967296|"
			    "4294967299|9223372036854775807|9223372036854775808|"
			    "18446744073709551615|18446744073709551616|99999999999999999999|"
			    "1000000000000000|999999999999999|nan|inf|-inf|1e999|1e3|0x10|00|.5|5.|"
			    "1.2.3|0.000000|0.0000001|0.999999999|1.0|+1|--1|1-2| 1||.|-");
}

/*
 * Damage.
 */

/* Replaces n bytes from `from` on by others, unless these are too many. */
static void replace(struct text *t, size_t from, size_t n, const struct text *by)
{
	if (n > t->len - from)
		n = t->len - from;
	if (by->len > CASE_MAX - 1 - t->len)
		return;
	memmove(t->s + from + by->len, t->s + from + n, t->len - from - n);
	memcpy(t->s + from, by->s, by->len);
	t->len += by->len - n;
}

/* Chooses a place: any, or where a word, a number (numbers) or a header of the wire begins; returns the bytes there. */
static size_t any_span(struct text *t, const char *words, bool numbers, size_t *from)
{
	*from = below(t->len);
	if (words == NULL) {
		*from -= one_in(4) ? 0 : *from % 4;
		return numbers || one_in(2) ? 4 : 1 + below((size_t)1 << below(7));
	}
	t->s[t->len] = '\0';
	if (numbers) {
		*from += strcspn(t->s + *from, "0123456789.");
		return strspn(t->s + *from, "0123456789.");
	}
	if (one_in(2))
		return 1 + below((size_t)1 << below(7));
	while (*from > 0 && strchr(" ,\t\n", t->s[*from - 1]) == NULL)
		--*from;
	return strcspn(t->s + *from, " ,\t\n") + 1;
}

/* Does one of seven things to a case, of which there are as many ways as words and numbers. */
static void damage(struct text *t, const struct fuzz_target *target)
{
	const size_t what = below(7);
	static struct text other;
	size_t from, n, at;

	if (t->len == 0) {
		target->make(t);
		return;
	}
	other.len = 0;
	n = any_span(t, target->words, what == 4, &from);
	switch (what) {
	case 0: t->s[from] = (char)(t->s[from] ^ 1 << below(8)); return;
	case 1: break; /* a span less */
	case 2:        /* a span once more */
		put_bytes(&other, t->s + from, n < t->len - from ? n : t->len - from);
		from = one_in(2) ? from : below(t->len + 1);
		n = 0;
		break;
	case 3: /* the end of another case */
		target->make(&other);
		at = below(other.len + 1);
		t->len = from;
		put_bytes(t, other.s + at, other.len - at);
		return;
	case 4: target->words != NULL ? put_odd_number(&other) : put_odd_header(&other); break;
	case 5:
		target->words != NULL ? put_word(&other, target->words) : put_odd_header(&other);
		n = one_in(2) ? 0 : n;
		break;
	default: t->len = one_in(4) ? from : t->len - 1; return;
	}
	replace(t, from, n, &other);
}

/*
 * Trying cases.
 */
static const struct fuzz_target *target_named(const char *name)
{
	size_t i;

	for (i = 0; i < n_targets; i++)
		if (strcmp(targets[i].name, name) == 0)
			return &targets[i];
	errx(EXIT_USAGE, "no target %s", name);
}

/* The case is in memory of just its size, so that a sanitizer sees a byte read beyond it. */
static bool try_case(const struct fuzz_target *target, const char *s, size_t len)
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
	chance = len;
	accepted = target->run(copy, len);
	free(copy);
	return accepted;
}

#ifdef LIBFUZZER
#define NAME_OF(target) #target
#define NAME(target)    NAME_OF(target)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < CASE_MAX)
		try_case(target_named(NAME(TARGET)), (const char *)data, len);
	return 0;
}

/* libFuzzer begins with no case, so that some are made. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
	const struct fuzz_target *target = target_named(NAME(TARGET));
	static struct text t;

	chance = seed;
	t.len = 0;
	if (len < 2 || one_in(16))
		target->make(&t);
	else
		put_bytes(&t, data, len);
	damage(&t, target);
	len = t.len < max ? t.len : max;
	memcpy(data, t.s, len);
	return len;
}

#else

static void make_case(struct text *t, const struct fuzz_target *target, uint64_t seed,
		      uint64_t number)
{
	size_t n;

	chance = mixed(seed) + mixed(number);
	t->len = 0;
	target->make(t);
	for (n = below(5); n > 0; n--)
		damage(t, target);
}

/* A process of its own tries the cases, since it may crash, or hang. */
static void try_random(const struct fuzz_target *target, uint64_t seed, uint64_t cases)
{
	static struct text t;
	struct {
		uint64_t number, accepted;
	} *now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	pid_t child;
	int status;

	if (now == MAP_FAILED || (child = fork()) < 0)
		err(EXIT_FAILURE, "fuzz");
	for (; child == 0 && now->number < cases; now->number++) {
		alarm(60);
		make_case(&t, target, seed, now->number);
		now->accepted += try_case(target, t.s, t.len);
	}
	if (child == 0)
		exit(EXIT_SUCCESS);
	if (waitpid(child, &status, 0) != child || status != 0)
		errx(EXIT_FAILURE, "status %d at: fuzz -s %" PRIu64 " -c %" PRIu64 " %s", status,
		     seed, now->number, target->name);
	printf("%s: %" PRIu64 " cases, %" PRIu64 " accepted, seed %" PRIu64 "\n", target->name,
	       cases, now->accepted, seed);
}

int main(int argc, char **argv)
{
	static struct text t;
	const struct fuzz_target *target;
	const char *number = NULL;
	uint64_t cases = 100000, seed = 1;
	size_t i;
	int o;

	while ((o = getopt(argc, argv, "s:n:c:")) != -1) {
		switch (o) {
		case 's': seed = strtoull(optarg, NULL, 10); break;
		case 'n': cases = strtoull(optarg, NULL, 10); break;
		case 'c': number = optarg; break;
		default: return EXIT_USAGE;
		}
	}
	for (i = 0; optind == argc && i < n_targets; i++)
		puts(targets[i].name);
	if (optind == argc)
		return 0;
	target = target_named(argv[optind]);
	if (number != NULL) {
		make_case(&t, target, seed, strtoull(number, NULL, 10));
		fwrite(t.s, 1, t.len, stdout);
		fflush(stdout);
		try_case(target, t.s, t.len);
	} else {
		try_random(target, seed, cases);
	}
	return 0;
}
#endif
