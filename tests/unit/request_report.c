/* Requests and their report: lib/send/request_report. */
#include "lib/send/request.h"

#include "tests/unit/unit.h"

/* A percentile in ns, as its unit is seconds. */
static double ns(const struct latency *h, double p)
{
	return 1e9 * latency_percentile(h, p);
}

/* 1 to 1000 us, each once, in a mixed order; before that, 1000 us alone. */
static void test_percentiles(void)
{
	static const double p[] = {0.001, 0.01, 0.5, 0.9, 0.99, 1};
	static struct latency h;
	uint64_t i;

	ok(isnan(latency_percentile(&h, 0.5)), "no latency has no percentile");
	latency_add(&h, 1000000);
	ok(fabs(ns(&h, 0.01) - 1e6) <= 0.016 * 1e6 && ns(&h, 0.99) == ns(&h, 0.01),
	   "one latency is every percentile");
	for (i = 1; i < 1000; i++)
		latency_add(&h, 1000 * (i * 7 % 1000));
	for (i = 0; i < LENGTH(p); i++)
		ok(fabs(ns(&h, p[i]) / (p[i] * 1e6) - 1) <= 0.016,
		   "percentile %g of 1 to 1000 us is within 1.6 %%", 100 * p[i]);
	ok(h.n == 1000 && h.max == 1000000 && ns(&h, 0) == ns(&h, 0.001),
	   "the longest of 1 to 1000 us is exact, and percentile 0 is the shortest");
}

/* Ranks count from 1: of ten values p50 is the fifth, p90 the ninth, p99 the tenth. */
static void test_ranks(void)
{
	static struct latency a, b;
	uint64_t i;

	for (i = 1; i <= 10; i++)
		latency_add(i <= 7 ? &a : &b, i);
	latency_merge(&a, &b);
	ok(a.n == 10 && a.max == 10 && ns(&a, 0.5) == 5 && ns(&a, 0.9) == 9 && ns(&a, 0.99) == 10,
	   "of two histograms that are merged p50, p90 and p99 are 5, 9 and 10 of 1 to 10 ns");
	ok(ns(&a, 0.1) == 1 && ns(&a, 0.11) == 2, "p10 of ten latencies is the first of them");
	latency_merge(&b, &a);
	ok(b.n == 13 && b.max == 10, "the longest of two histograms is the longer one");
}

/* At every power of two, one below and one above: where the classes become wider. */
static void test_classes(void)
{
	static struct latency h;
	uint64_t v;
	bool all = true;
	int bit, off;

	for (bit = 0; bit < LATENCY_BITS; bit++)
		for (off = -1; off <= 1; off++) {
			memset(&h, 0, sizeof(h));
			v = (1ull << bit) + (uint64_t)(int64_t)off;
			latency_add(&h, v);
			latency_add(&h, UINT64_MAX); /* so that the longest does not limit it */
			all &= fabs(ns(&h, 0.5) - (double)v) <= 0.016 * (double)v;
		}
	ok(all, "a latency of any size is off by 1.6 %% at most");
	memset(&h, 0, sizeof(h));
	latency_add(&h, 1ull << 30);
	ok(ns(&h, 0.99) == (double)(1ull << 30), "no percentile is above the longest latency");
	latency_add(&h, 1ull << LATENCY_BITS);
	latency_add(&h, UINT64_MAX);
	ok(h.n == 3 && h.max == UINT64_MAX && ns(&h, 0.5) >= 0.98 * (double)(1ull << LATENCY_BITS),
	   "latencies beyond the last class count in it");
}

#define MS 1000000ull

/* Connections that waited so many ms to be made, for the first byte and after that, and where they stall. */
static void test_places(void)
{
	const char *list = "1 20 1|1 1 20|1 19.999 0|20 99 0|20 100 0|900 0 0|899.999 0 0"
			   "|1000 5000 0|1000 5000 5001";
	static const char *const name[] = {"connecting", "first byte", "data", "nowhere"};
	const char *s;
	double ms[3];

	capture(STDOUT_FILENO);
	while ((s = next_of(&list)) != NULL) {
		sscanf(s, "%lf %lf %lf", &ms[0], &ms[1], &ms[2]);
		report("%s: %s\n", s,
		       name[stall_of(
			       &(struct wait){{(uint64_t)(ms[0] * 1e6), (uint64_t)(ms[1] * 1e6),
					       (uint64_t)(ms[2] * 1e6)}})]);
	}
	expect(captured(), "a connection stalls once, where it waited longest");
}

/* Connections that took so many ms, and how many of them stalled. */
static void test_connecting(void)
{
	static const struct {
		uint64_t ms[4], stalled;
		const char *title;
	} cases[] = {
		{{1, 1001, 1, 3001}, 2, "connections that took 1 s and 3 s have stalled"},
		{{1001, 1001, 1001, 1}, 3, "most connections may stall while connecting"},
		{{700, 900, 1400, 3000}, 0, "a distant network's delay is no stall"},
		{{700, 4000}, 1, "5 times the delay of a distant network is a stall"},
		{{1001}, 0, "a single connection cannot be told from a distant network"},
	};
	static struct requests q;
	size_t i, k;

	for (i = 0; i < LENGTH(cases); i++) {
		memset(&q, 0, sizeof(q));
		for (k = 0; k < 4 && cases[i].ms[k] > 0; k++)
			requests_count(&q, &(struct wait){{cases[i].ms[k] * MS}}, MS);
		requests_settle(&q);
		ok(requests_stalled(&q) == cases[i].stalled, "%s", cases[i].title);
	}
}

static void test_count(void)
{
	static struct requests a = {.size = 10}, b;

	requests_count(&a, &(struct wait){{2 * MS, 3 * MS, 1 * MS}}, 7 * MS);
	requests_count(&b, &(struct wait){{2 * MS, 3 * MS}}, 5 * MS);
	ok(a.latency[CONNECT].max == 2 * MS && a.latency[FIRST_BYTE].max == 5 * MS &&
		   a.latency[TOTAL].max == 7 * MS,
	   "the latency of the first byte has that of the connection in it");
	requests_add(&b, &a);
	ok(b.latency[TOTAL].n == 2 && b.latency[FIRST_BYTE].n == 1,
	   "a request for nothing has no first byte");
	requests_count_open(&a, &(struct wait){{MS, 30 * MS}}, 31 * MS);
	requests_count_open(&b, &(struct wait){{MS, 10 * MS}}, 11 * MS);
	requests_count(&b, &(struct wait){{MS, 30 * MS}}, 31 * MS);
	requests_add(&a, &b);
	ok(a.open == 2 && a.open_stalled == 1 && a.open_longest_ns == 31 * MS &&
		   requests_stalled(&a) == 1 && a.stalled[STALL_FIRST_BYTE].n == 1,
	   "connections that were open at the end are counted, and those of them that stalled, but "
	   "not as stalls");
}

static struct requests sample;

/* A request, one that failed beside it, in full and quiet; then so many stalled of so many. */
static void test_text(void)
{
	static const uint64_t share[][2] = {{1, 3}, {3, 3}, {999, 1000}, {1, 50000}};
	size_t i;

	capture(STDOUT_FILENO);
	sample.size = 1000;
	sample.host = figures_of("bytes=2048 seconds=2");
	requests_count(&sample, &(struct wait){{MS, MS}}, 2 * MS);
	requests_text(&sample, false);
	requests_count_failure(&sample, ETIMEDOUT);
	requests_text(&sample, false);
	requests_text(&sample, true);
	for (i = 0; i < LENGTH(share); i++) {
		sample.stalled[STALL_DATA].n = share[i][0];
		sample.latency[TOTAL].n = share[i][1];
		requests_text(&sample, true);
	}
	expect(captured(),
	       "requests that succeeded, failed, and stalled: none of those that timed out");
}

int main(void)
{
	test_percentiles();
	test_ranks();
	test_classes();
	test_places();
	test_connecting();
	test_count();
	test_text();
	return done();
}
