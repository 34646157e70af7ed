/* Stalls: lib/report/stalls. */
#include "lib/report/stalls.h"

#include "tests/unit/unit.h"

#define MS 1000000u

/* Looks each 20 ms from `from` to `to`, at a count that does not change. */
static void look_on(struct stall_watch *w, uint64_t from, uint64_t to, uint64_t count)
{
	for (; from < to; from += 20 * MS)
		stalls_look(w, from, count, true);
}

static void test_looks(void)
{
	struct stall_watch w = {.since_ns = 0};
	uint64_t i;

	for (i = 1; i <= 10; i++)
		stalls_look(&w, i * 20 * MS, i, true);
	ok(w.stalls.n == 0 && w.stalls.longest_ns == 0,
	   "a count that changes at each look has no wait");
	look_on(&w, 220 * MS, 500 * MS, 10);
	stalls_look(&w, 500 * MS, 11, true);
	ok(w.stalls.n == 1 && w.stalls.first[0].at_ns == 200 * MS &&
		   w.stalls.first[0].ns == 300 * MS,
	   "a count that stays for 0.3 s is a stall, from the last change to the next");
	look_on(&w, 520 * MS, 640 * MS, 11);
	stalls_look(&w, 640 * MS, 12, true);
	ok(w.stalls.n == 1 && w.stalls.longest_ns == 300 * MS, "a wait of 0.14 s is no stall");
	stalls_look(&w, 660 * MS, 12, false);
	stalls_look(&w, 2000 * MS, 12, false);
	stalls_look(&w, 2020 * MS, 12, true);
	stalls_look(&w, 2040 * MS, 13, true);
	ok(w.stalls.n == 1, "the time in which nothing was to change is no stall");
	look_on(&w, 2060 * MS, 2500 * MS, 13);
	stalls_end(&w, 2500 * MS);
	ok(w.stalls.n == 2 && w.stalls.longest_ns == 460 * MS,
	   "a stall that is open at the end counts");
	w = (struct stall_watch){.since_ns = 0};
	look_on(&w, 20 * MS, 600 * MS, 1);
	stalls_look(&w, 600 * MS, 2, true);
	stalls_end(&w, 590 * MS);
	ok(w.stalls.n == 1 && w.stalls.longest_ns < 1000 * MS,
	   "an end before the last look is no stall of 2^64 ns");
}

/* Eight stalls of one stream between nine of another. */
static void test_sums(void)
{
	struct stalls a = {.n = 8, .longest_ns = 307}, b = {.n = 9, .longest_ns = 900};
	uint64_t i;

	for (i = 0; i < 8; i++) {
		stalls_keep(&a, (struct stall){.at_ns = 2 * i});
		stalls_keep(&b, (struct stall){.at_ns = 2 * i + 1});
	}
	stalls_keep(&b, (struct stall){.at_ns = 99});
	stalls_add(&a, &b);
	for (i = 0; i < STALLS_FIRST && a.first[i].at_ns == i; i++)
		;
	ok(a.n == 17 && a.longest_ns == 900 && i == STALLS_FIRST,
	   "a sum has all stalls, the longest, and the first of both by time");
}

/* One stall, and of three the first two. */
static void test_list(void)
{
	struct stalls s = {.n = 1, .start_ns = 1000 * MS};

	stalls_keep(&s, (struct stall){3500ull * MS, 250 * MS, 0});
	capture(STDOUT_FILENO);
	stalls_list_text(&s, 2);
	has(captured(), "    the stall: 0.250 s at 2.500 s (", "a stall has its time");
	s.n = 3;
	stalls_keep(&s, (struct stall){2000 * MS, 300 * MS, 0});
	stalls_keep(&s, (struct stall){9000ull * MS, 300 * MS, 0});
	capture(STDOUT_FILENO);
	stalls_list_text(&s, 2);
	has(captured(), "    the first stalls: 0.300 s at 1.000 s (",
	    "of three stalls the first comes first");
	ok(strstr(printed, "0.250 s at 2.500 s (") != NULL && strstr(printed, "8.000 s") == NULL,
	   "of three stalls no more than two are listed");
}

static void test_pauses(void)
{
	struct pauses p = {.n = 0};

	pauses_look(&p, 100 * MS, 119 * MS, 20 * MS);
	pauses_look(&p, 100 * MS, 145 * MS, 20 * MS);
	pauses_look(&p, 200 * MS, 230 * MS, 20 * MS);
	ok(p.n == 2 && p.longest_ns == 45 * MS, "looks that are 20 ms late or more are pauses");
}

TESTS(test_looks, test_sums, test_list, test_pauses)
