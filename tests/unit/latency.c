#include "lib/send/latency.h"

#include "tests/unit/unit.h"

/* A percentile in ns, as its unit is seconds. */
static double ns(const struct latency *h, double p)
{
	return 1e9 * latency_percentile(h, p);
}

static void test_none_and_one(void)
{
	static struct latency h;

	ok(isnan(latency_percentile(&h, 0.5)), "no latency has no percentile");
	latency_add(&h, 1000000);
	ok(h.n == 1 && h.max == 1000000 && fabs(ns(&h, 0.5) - 1e6) <= 0.016 * 1e6 &&
		   ns(&h, 0.99) == ns(&h, 0.01),
	   "one latency is every percentile");
}

/* 1 to 1000 us, each once, in a mixed order. */
static void test_percentiles(void)
{
	static const double p[] = {0.01, 0.5, 0.9, 0.99, 1};
	static struct latency h;
	uint64_t i;

	for (i = 0; i < 1000; i++)
		latency_add(&h, 1000 * (i * 7 % 1000 + 1));
	for (i = 0; i < LENGTH(p); i++)
		ok(fabs(ns(&h, p[i]) / (p[i] * 1e6) - 1) <= 0.016,
		   "percentile %g of 1 to 1000 us is within 1.6 %%", 100 * p[i]);
	ok(h.n == 1000 && h.max == 1000000, "the longest of 1 to 1000 us is exact");
}

/* Ranks count from 1: of ten values p50 is the fifth, p90 the ninth, p99 the tenth. */
static void test_ranks(void)
{
	static struct latency h;
	uint64_t i;

	for (i = 1; i <= 10; i++)
		latency_add(&h, i);
	ok(ns(&h, 0.5) == 5 && ns(&h, 0.9) == 9 && ns(&h, 0.99) == 10,
	   "p50, p90 and p99 of 1 to 10 ns are 5, 9 and 10 ns");
	ok(ns(&h, 0.1) == 1 && ns(&h, 0.11) == 2, "p10 of ten latencies is the first of them");
}

/* At every power of two, one below and one above: where the classes become wider. */
static void test_classes(void)
{
	uint64_t v;
	bool all = true;
	int bit, off;

	for (bit = 0; bit < LATENCY_BITS; bit++)
		for (off = -1; off <= 1; off++) {
			static struct latency h;

			memset(&h, 0, sizeof(h));
			v = (1ull << bit) + (uint64_t)(int64_t)off;
			latency_add(&h, v);
			latency_add(&h, UINT64_MAX); /* so that the longest does not limit it */
			all &= fabs(ns(&h, 0.5) - (double)v) <= 0.016 * (double)v;
		}
	ok(all, "a latency of any size is off by 1.6 %% at most");
}

static void test_longest(void)
{
	static struct latency h;

	latency_add(&h, 1ull << LATENCY_BITS);
	latency_add(&h, UINT64_MAX);
	ok(h.n == 2 && h.max == UINT64_MAX, "latencies beyond the last class count");
	ok(ns(&h, 0.5) >= 0.98 * (double)(1ull << LATENCY_BITS),
	   "latencies beyond the last class are in the last class");
	memset(&h, 0, sizeof(h));
	latency_add(&h, 1ull << 30);
	ok(ns(&h, 0.99) == (double)(1ull << 30), "no percentile is above the longest latency");
}

static void test_merge(void)
{
	static struct latency a, b;
	uint64_t i;

	for (i = 1; i <= 10; i++)
		latency_add(i <= 7 ? &a : &b, i);
	latency_merge(&a, &b);
	ok(a.n == 10 && a.max == 10 && ns(&a, 0.5) == 5 && ns(&a, 0.9) == 9,
	   "two histograms that are merged are one of all latencies");
	latency_merge(&b, &a);
	ok(b.n == 13 && b.max == 10, "the longest of two histograms is the longer one");
}

/* 1 to 1000 us, each once. */
static void test_parts(void)
{
	static struct latency h;
	uint64_t i;

	for (i = 1; i <= 1000; i++)
		latency_add(&h, 1000 * i);
	ok(fabs(ns(&h, 0) / 1000 - 1) <= 0.016, "percentile 0 is the shortest latency");
	ok(latency_count(&h, 0, INFINITY) == 1000, "a range without ends has all latencies");
	ok(latency_count(&h, 0, 5e5) + latency_count(&h, 5e5, INFINITY) == 1000,
	   "two ranges that meet have all latencies");
	ok(fabs((double)latency_count(&h, 0, 5e5) / 500 - 1) <= 0.04,
	   "a range has the latencies that are in it");
	latency_drop_below(&h, 9e5);
	ok(fabs((double)h.n / 100 - 1) <= 0.3 && h.max == 1000000 && ns(&h, 0) >= 0.9e6,
	   "what is dropped are the latencies below");
	latency_drop_below(&h, INFINITY);
	ok(h.n == 0 && h.max == 0 && isnan(ns(&h, 0.5)), "all latencies can be dropped");
}

int main(void)
{
	test_none_and_one();
	test_percentiles();
	test_ranks();
	test_classes();
	test_longest();
	test_merge();
	test_parts();
	return done();
}
