/*
 * fuzz: zc's readers of what others wrote, fed with what nobody would send: valid input made at random
 * and then damaged.  tests/fuzz/fuzz.h says how a target is made.
 *
 *	fuzz -l				the targets, a line each
 *	fuzz target [-s seed] [-n cases]
 *		tries N cases, 100000 by default, the same ones for the same seed, and prints
 *		`target: N cases, N accepted, seed N`; a case that fails is shown, and it aborts
 *	fuzz target -x hex | file...	tries these cases
 *	fuzz target [-s seed] -d dir	stores valid cases there, for others to begin from
 *
 * With -DLIBFUZZER -DTARGET=target it is libFuzzer's, which `make fuzz` builds.
 */
#include "tests/fuzz/fuzz.h"

#include <sys/time.h>

static const struct fuzz_target *const targets[] = {
	&wire_target, &receipt_target, &calibration_target, &saved_target, &receipts_target,
};
#define TARGETS (sizeof(targets) / sizeof(targets[0]))

/* The case that is tried, kept so that a failure can print it. */
static struct {
	const struct fuzz_target *target;
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
	dprintf(STDERR_FILENO, "case %llu of seed %llu: fuzz %s -x ",
		(unsigned long long)now.number, (unsigned long long)now.seed, now.target->name);
	for (i = 0; i < now.len; i++)
		dprintf(STDERR_FILENO, "%02x", (unsigned char)now.s[i]);
	dprintf(STDERR_FILENO, "\n");
}

void holds(bool it_does, const char *what)
{
	if (it_does)
		return;
	fprintf(stderr, "%s: does not hold: %s\n", now.target->name, what);
	show_case();
	abort();
}

/* The reason for a rejection is one line that can be put after a name. */
void reason_holds(const char *why)
{
	holds(*why != '\0' && strpbrk(why, "\r\n\t") == NULL && strlen(why) < 80,
	      "a refusal has a reason");
}

static uint64_t hash(const unsigned char *p, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	while (len-- > 0)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

static const struct fuzz_target *target_called(const char *name)
{
	size_t i;

	for (i = 0; i < TARGETS; i++)
		if (strcmp(targets[i]->name, name) == 0)
			return targets[i];
	errx(EXIT_USAGE, "no target %s", name);
}

/* In memory of just its size, so that a sanitizer sees a byte read beyond it. */
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
	now.target = target;
	now.s = copy;
	now.len = len;
	chance_begin(hash((const unsigned char *)s, len));
	accepted = target->run(copy, len);
	now.s = NULL;
	free(copy);
	return accepted;
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

	chance_begin(seed);
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
	dprintf(STDERR_FILENO, "%s: signal %d%s\n", now.target->name, sig,
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

static void make_case(struct text *t, const struct fuzz_target *target)
{
	size_t n;

	chance_begin(mixed(now.seed) + mixed(now.number));
	n = below(5);
	t->len = 0;
	target->make(t);
	while (n-- > 0)
		damage(t, target);
}

static void try_random(const struct fuzz_target *target, uint64_t cases)
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

static void try_hex(const struct fuzz_target *target, const char *hex)
{
	static struct text t;
	char byte[3] = "";

	for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
		memcpy(byte, hex, 2);
		put_char(&t, (char)strtoul(byte, NULL, 16));
	}
	printf("%s\n", try_case(target, t.s, t.len) ? "accepted" : "refused");
}

static void try_file(const struct fuzz_target *target, const char *path)
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

static void store_valid(const struct fuzz_target *target, const char *dir)
{
	static struct text t;
	char path[4096];
	FILE *f;

	for (now.number = 0; now.number < 64; now.number++) {
		chance_begin(mixed(now.seed) + mixed(now.number));
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
	const struct fuzz_target *target;
	const char *dir = NULL, *hex = NULL;
	uint64_t cases = 100000;
	size_t i;
	int o;

	now.seed = 1;
	while ((o = getopt(argc, argv, "ls:n:x:d:")) != -1) {
		switch (o) {
		case 'l':
			for (i = 0; i < TARGETS; i++)
				puts(targets[i]->name);
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
