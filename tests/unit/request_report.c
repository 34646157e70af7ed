/* Requests and their report: lib/send/request_report. */
#include "lib/send/request.h"

#include "tests/unit/unit.h"

/* A percentile in ns, as its unit is seconds. */
static double ns(const struct latency *h, double p)
{
	return 1e9 * latency_percentile(h, p);
}

/* Ranks count from 1: of ten values p50 is the fifth, p90 the ninth, p99 the tenth. */
static void test_ranks(void)
{
	static struct latency a, b;
	uint64_t i;

	ok(isnan(latency_percentile(&a, 0.5)), "no latency has no percentile");
	for (i = 1; i <= 10; i++)
		latency_add(i <= 7 ? &a : &b, i);
	latency_merge(&a, &b);
	ok(a.n == 10 && a.max == 10 && ns(&a, 0.5) == 5 && ns(&a, 0.9) == 9 && ns(&a, 0.99) == 10,
	   "of two histograms that are merged p50, p90 and p99 are 5, 9 and 10 of 1 to 10 ns");
	ok(ns(&a, 0.1) == 1 && ns(&a, 0.11) == 2, "p10 of ten latencies is the first of them");
	latency_merge(&b, &a);
	ok(b.n == 13 && b.max == 10, "the longest of two histograms is the longer one");
}

/* Sizes of all classes, beside the longest, which therefore does not limit them. */
static void test_classes(void)
{
	static struct latency h;
	static struct requests q;
	uint64_t v;
	bool all = true;

	for (v = 1; v >> LATENCY_BITS == 0; v += v / 99 + 1) {
		h = (struct latency){.n = 0};
		latency_add(&h, v);
		latency_add(&h, UINT64_MAX);
		all &= fabs(ns(&h, 0.5) - (double)v) <= 0.016 * (double)v;
	}
	ok(all, "a latency of any size is off by 1.6 %% at most");
	q.latency[TOTAL] = (struct latency){.n = 0};
	for (v = 1024; v < 2048; v++)
		latency_add(&q.latency[TOTAL], v);
	requests_figures(&q);
	ok(fabs(q.host.requests.p50 - 1.5355) < 0.001 && fabs(q.host.requests.p99 - 2.0375) < 0.001,
	   "percentiles that are compared, in us, are not those of whole classes");
	ok(h.max == UINT64_MAX && ns(&h, 1) >= 0.98 * (double)(1ull << LATENCY_BITS),
	   "a latency beyond the last class counts in it");
}

#define MS 1000000ull

/* Waits of so many ms at each place, from the second ms of the run on. */
static struct wait waits(double connecting, double first, double data)
{
	const double ms[STALL_PLACES] = {connecting, first, data};
	struct wait w;
	int i;

	for (i = 0; i < STALL_PLACES; i++) {
		w.ns[i] = (uint64_t)(ms[i] * MS);
		w.at_ns[i] = 2000 * MS;
	}
	return w;
}

/* Nine connections that take so many ms to be made and for the first byte, and one that waits otherwise. */
static void test_places(void)
{
	static const struct {
		double most[2], one[3];
		uint64_t stalls[STALL_PLACES];
		const char *title;
	} cases[] = {
		{{1, 1}, {20, 20, 20}, {1, 1, 1}, "20 ms are a stall where 1 ms is usual"},
		{{50, 50}, {60, 60, 40}, {0, 0, 1}, "where another place waits longer, too"},
		{{1, 1}, {19, 19, 19}, {0}, "19 ms are none"},
		{{10, 10}, {45, 45, 0}, {0}, "nor is what is less than 5 times the median"},
		{{10, 10}, {52, 1, 0}, {1}, "5 times the median are one"},
		{{1, 40}, {1, 40, 0}, {0, 10}, "all may stall: connecting tells the delay"},
		{{700, 700}, {3000, 700, 0}, {0}, "a distant network's delay is none"},
	};
	static const struct wait kept = {.ns = {0, 30 * MS}};
	static struct requests q;
	struct wait w;
	size_t i;
	int k;

	for (i = 0; i < LENGTH(cases); i++) {
		q = (struct requests){.size = 10};
		w = waits(cases[i].most[0], cases[i].most[1], 0);
		for (k = 0; k < 9; k++)
			requests_count(&q, &w, 2 * MS);
		w = waits(cases[i].one[0], cases[i].one[1], cases[i].one[2]);
		requests_count(&q, &w, 2 * MS);
		requests_settle(&q);
		for (k = 0; k < STALL_PLACES && q.stalled[k].n == cases[i].stalls[k]; k++)
			;
		ok(k == STALL_PLACES, "%s", cases[i].title);
	}
	q = (struct requests){.size = 10, .kept = true};
	for (k = 0; k < 9; k++)
		requests_count(&q, &kept, 30 * MS);
	requests_settle(&q);
	ok(requests_stalled(&q) == 0, "requests of a kept connection have no time of connecting");
}

static void test_count(void)
{
	static struct requests a = {.size = 10}, b;
	struct wait w = waits(2, 3, 1);
	uint64_t i;

	requests_count(&a, &w, 7 * MS);
	w = waits(2, 3, 0);
	requests_count(&b, &w, 5 * MS);
	ok(a.latency[CONNECT].max == 2 * MS && a.latency[FIRST_BYTE].max == 5 * MS &&
		   a.latency[TOTAL].max == 7 * MS,
	   "the latency of the first byte has that of the connection in it");
	requests_add(&b, &a);
	ok(b.latency[TOTAL].n == 2 && b.latency[FIRST_BYTE].n == 1,
	   "a request for nothing has no first byte");
	w = waits(1, 10, 0);
	requests_count_open(&a, &w, 11 * MS);
	w = waits(1, 30, 0);
	requests_count_open(&b, &w, 31 * MS);
	requests_count(&b, &w, 31 * MS);
	requests_add(&a, &b);
	requests_settle(&a);
	requests_settle_open(&a, &a);
	requests_settle_open(&a, &b);
	ok(a.open == 2 && a.open_stalled == 1 && a.open_longest_ns == 31 * MS &&
		   requests_stalled(&a) == 1 && a.stalled[STALL_FIRST_BYTE].n == 1,
	   "connections that were open at the end are counted, and those of them that stalled, but "
	   "not as stalls");
	ok(a.slow.kept == 1 && a.slow.first[0].at_ns == 2000 * MS &&
		   a.slow.first[0].ns == 30 * MS && a.slow.first[0].place == STALL_FIRST_BYTE,
	   "a stall has its begin and its place");
	for (i = 0; i < 2 * STALLS_KEPT; i++) {
		w.at_ns[STALL_FIRST_BYTE] = (3000 - i) * MS;
		w.ns[STALL_FIRST_BYTE] = 50 * MS;
		requests_count(i % 2 == 0 ? &a : &b, &w, 60 * MS);
	}
	requests_add(&a, &b);
	requests_settle(&a);
	for (i = 1; i < STALLS_KEPT && a.slow.first[i - 1].at_ns <= a.slow.first[i].at_ns; i++)
		;
	ok(a.slow.kept == STALLS_KEPT && i == STALLS_KEPT,
	   "of the stalls of all threads the first are kept, by time");
}

TESTS(test_ranks, test_classes, test_places, test_count)
