#include "lib/report/figures.h"

#include "tests/unit/unit.h"

static bool all_nan(const void *doubles, size_t size)
{
	const double *d = doubles;
	size_t i;

	for (i = 0; i < size / sizeof(*d) && isnan(d[i]); i++)
		;
	return i == size / sizeof(*d);
}

static void test_init(void)
{
	struct figures f;

	memset(&f, 0x11, sizeof(f));
	figures_init(&f);
	ok(f.bytes == 0 && f.files == 0 && f.calls == 0 && f.warmup == 0 && f.clients == 0 &&
		   f.unsafe == 0 && f.method[0] == '\0' && f.refused[0] == '\0',
	   "counts begin at 0, and words empty");
	ok(isnan(f.seconds) && isnan(f.cpu) && isnan(f.cpus) && isnan(f.soaked) && isnan(f.load) &&
		   isnan(f.uncertainty) && isnan(f.slowed) && isnan(f.tasks) &&
		   all_nan(&f.rates, sizeof(f.rates)) && all_nan(&f.tcp, sizeof(f.tcp)),
	   "what was not measured is not known");
}

static void test_load(void)
{
	const struct load l = {.load = 1,
			       .uncertainty = 2,
			       .slowed = 3,
			       .tasks = 4,
			       .seconds = 5,
			       .cpus = 6,
			       .unsafe = UNSAFE_STEAL};
	struct figures f;

	figures_init(&f);
	f.seconds = 7;
	figures_load(&f, &l);
	ok(f.load == 1 && f.uncertainty == 2 && f.slowed == 3 && f.tasks == 4 && f.soaked == 5 &&
		   f.cpus == 6 && f.unsafe == UNSAFE_STEAL,
	   "every figure of a load is stored in its place");
	ok(f.seconds == 7, "the seconds of a load are not those of the transfer");
}

static void test_add(void)
{
	struct figures sum, a = {.bytes = 1,
				 .files = 2,
				 .calls = 3,
				 .warmup = 4,
				 .seconds = 2,
				 .unsafe = UNSAFE_STEAL,
				 .method = "read"};

	figures_init(&sum);
	sum.tcp.retransmits = 10;
	a.tcp.retransmits = 5;
	figures_add(&sum, &a);
	ok(sum.seconds == 2, "the time of a sum that had none is that of the first");
	a.seconds = 1.5;
	a.unsafe = UNSAFE_WEIGHT;
	figures_add(&sum, &a);
	ok(sum.bytes == 2 && sum.files == 4 && sum.calls == 6 && sum.warmup == 8 &&
		   sum.tcp.retransmits == 20,
	   "counts and retransmits add");
	ok(sum.seconds == 2, "the time of a sum is the longest");
	ok(sum.unsafe == (UNSAFE_STEAL | UNSAFE_WEIGHT), "a sum has the reasons of both");
	is(sum.method, "read", "a sum has the method of what was added");
}

/* Clients of which one came before the soakers had settled: the sum has the bytes of the load. */
static void test_load_bytes(void)
{
	struct figures sum, f;

	figures_init(&sum);
	figures_init(&f);
	f.bytes = 10;
	figures_add(&sum, &f);
	ok(sum.bytes == 10 && sum.load_bytes == ALL_BYTES, "the load of a sum is of all bytes");
	f.load_bytes = 3;
	figures_add(&sum, &f);
	ok(sum.bytes == 20 && sum.load_bytes == 13, "a sum knows of how many bytes its load is");
}

int main(void)
{
	test_load_bytes();
	test_init();
	test_load();
	test_add();
	return done();
}
