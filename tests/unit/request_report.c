/* Requests and their report: lib/send/request_report. */
#include "lib/send/request.h"

#include "tests/unit/unit.h"

/*
 * Latencies.
 */

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
static void test_shortest(void)
{
	static struct latency h;
	uint64_t i;

	for (i = 1; i <= 1000; i++)
		latency_add(&h, 1000 * i);
	ok(fabs(ns(&h, 0) / 1000 - 1) <= 0.016, "percentile 0 is the shortest latency");
}

/*
 * Stalls.
 */

#define MS 1000000ull

/* Where a connection stalls that waited so many ms to be made, for the first byte and after that. */
static enum stall_place place(double connect, double first, double data)
{
	return stall_of(&(struct wait){
		{(uint64_t)(connect * 1e6), (uint64_t)(first * 1e6), (uint64_t)(data * 1e6)}});
}

static void test_place(void)
{
	ok(place(1, 20, 1) == STALL_FIRST_BYTE,
	   "a wait of 20 ms for the first byte is a stall before it");
	ok(place(1, 1, 20) == STALL_DATA, "a wait of 20 ms after the first byte is a stall there");
	ok(place(1, 19.999, 0) == STALL_PLACES, "a shorter wait is no stall");
	ok(place(20, 99, 0) == STALL_PLACES && place(20, 100, 0) == STALL_FIRST_BYTE,
	   "a wait for data stalls if it is 5 times as long as the connection took");
	ok(place(900, 0, 0) == STALL_CONNECTING && place(899.999, 0, 0) == STALL_PLACES,
	   "a connection that took 0.9 s may have stalled");
	ok(place(1000, 5000, 0) == STALL_FIRST_BYTE && place(1000, 5000, 5001) == STALL_DATA,
	   "a connection stalls once, where it waited longest");
}

/* Connections that took so many ms each; returns how many of them stalled. */
static uint64_t connecting(const uint64_t *ms, size_t n)
{
	static struct requests q;
	size_t i;

	memset(&q, 0, sizeof(q));
	for (i = 0; i < n; i++)
		requests_count(&q, &(struct wait){{ms[i] * MS}}, ms[i] * MS);
	requests_settle(&q);
	return requests_stalled(&q);
}

static void test_connecting(void)
{
	const uint64_t lost[] = {1, 1001, 1, 3001}, most[] = {1001, 1001, 1001, 1},
		       far[] = {700, 900, 1400, 3000}, satellite[] = {700, 4000}, one[] = {1001};

	ok(connecting(lost, LENGTH(lost)) == 2, "connections that took 1 s and 3 s have stalled");
	ok(connecting(most, LENGTH(most)) == 3, "most connections may stall while connecting");
	ok(connecting(far, LENGTH(far)) == 0, "a distant network's delay is no stall");
	ok(connecting(satellite, LENGTH(satellite)) == 1,
	   "5 times the delay of a distant network is a stall");
	ok(connecting(one, LENGTH(one)) == 0,
	   "a single connection cannot be told from a distant network");
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
}

static void test_open(void)
{
	static struct requests a, b;

	requests_count_open(&a, &(struct wait){{MS, 30 * MS}}, 31 * MS);
	requests_count_open(&b, &(struct wait){{MS, 10 * MS}}, 11 * MS);
	requests_count(&b, &(struct wait){{MS, 30 * MS}}, 31 * MS);
	requests_add(&a, &b);
	ok(a.open == 2 && a.open_stalled == 1 && a.open_longest_ns == 31 * MS,
	   "connections that were open at the end are counted, and those of them that stalled");
	ok(requests_stalled(&a) == 1 && a.stalled[STALL_FIRST_BYTE].n == 1,
	   "connections that were open at the end are no stalls");
}

/*
 * The report.
 */

static struct requests sample;

static void print(void *arg)
{
	const bool *quiet = arg;

	requests_text(&sample, *quiet);
}

/* Two requests of which one failed. */
static void test_failures(void)
{
	bool quiet = false;

	figures_init(&sample.host);
	sample.size = 1000;
	sample.host.seconds = 2;
	requests_count_failure(&sample, ETIMEDOUT);
	printed_by(print, &quiet);
	ok(strncmp(printed, "1000 bytes ", 11) == 0 &&
		   strstr(printed, "\n  failed: 1 timed out\n") != NULL,
	   "the report of requests has those that failed");
	quiet = true;
	printed_by(print, &quiet);
	ok(strncmp(printed, "1000 bytes ", 11) == 0 && strstr(printed, "failed") == NULL,
	   "a quiet report of requests has no line of those that failed");
}

/* The first line about stalls of a report in which `part` of `all` connections stalled. */
static void check_share(uint64_t part, uint64_t all, const char *share)
{
	static char want[128];
	bool quiet = true;

	sample.stalled[STALL_DATA].n = part;
	sample.latency[TOTAL].n = all;
	snprintf(want, sizeof(want), "\n  STALLED: %" PRIu64 " of %" PRIu64 " connections, %s\n",
		 part, all, share);
	printed_by(print, &quiet);
	ok(strstr(printed, want) != NULL, "%" PRIu64 " of %" PRIu64 " are %s", part, all, share);
}

static void test_share(void)
{
	check_share(1, 3, "33.33%");
	check_share(3, 3, "100%");
	check_share(999, 1000, "99.9%");
	check_share(1, 50000, "0.002%");
}

int main(void)
{
	test_none_and_one();
	test_percentiles();
	test_ranks();
	test_classes();
	test_longest();
	test_merge();
	test_shortest();
	test_place();
	test_connecting();
	test_count();
	test_open();
	test_failures();
	test_share();
	return done();
}
