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
		   f.host.unsafe == 0 && f.method[0] == '\0' && f.refused[0] == '\0',
	   "counts begin at 0, and words empty");
	ok(isnan(f.seconds) && isnan(f.cpu) && isnan(f.host.cpus) && isnan(f.host.seconds) &&
		   isnan(f.host.load) && isnan(f.host.uncertainty) && isnan(f.host.slowed) &&
		   isnan(f.host.tasks) && all_nan(&f.host.rates, sizeof(f.host.rates)) &&
		   all_nan(&f.tcp, sizeof(f.tcp)),
	   "what was not measured is not known");
}

static void test_add(void)
{
	struct figures sum, a = {.bytes = 1,
				 .files = 2,
				 .calls = 3,
				 .warmup = 4,
				 .seconds = 2,
				 .host.unsafe = UNSAFE_STEAL,
				 .method = "read"};

	figures_init(&sum);
	sum.tcp.retransmits = 10;
	a.tcp.retransmits = 5;
	figures_add(&sum, &a);
	ok(sum.seconds == 2, "the time of a sum that had none is that of the first");
	a.seconds = 1.5;
	a.host.unsafe = UNSAFE_WEIGHT;
	figures_add(&sum, &a);
	ok(sum.bytes == 2 && sum.files == 4 && sum.calls == 6 && sum.warmup == 8 &&
		   sum.tcp.retransmits == 20,
	   "counts and retransmits add");
	ok(sum.seconds == 2, "the time of a sum is the longest");
	ok(sum.host.unsafe == (UNSAFE_STEAL | UNSAFE_WEIGHT), "a sum has the reasons of both");
	is(sum.method, "read", "a sum has the method of what was added");
}

int main(void)
{
	test_init();
	test_add();
	return done();
}
