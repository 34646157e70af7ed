#include "lib/send/stalls.h"

#include "tests/unit/unit.h"

#define MS 1000000ull

static void test_place(void)
{
	ok(stall_of(&(struct wait){MS, 20 * MS, true}) == STALL_FIRST_BYTE,
	   "a wait of 20 ms for the first byte is a stall before it");
	ok(stall_of(&(struct wait){MS, 20 * MS, false}) == STALL_DATA,
	   "a wait of 20 ms after the first byte is a stall there");
	ok(stall_of(&(struct wait){MS, 20 * MS - 1, true}) == STALL_PLACES,
	   "a shorter wait is no stall");
	ok(stall_of(&(struct wait){20 * MS, 99 * MS, true}) == STALL_PLACES &&
		   stall_of(&(struct wait){20 * MS, 100 * MS, true}) == STALL_FIRST_BYTE,
	   "a wait for data stalls if it is 5 times as long as the connection took");
	ok(stall_of(&(struct wait){900 * MS, 0, false}) == STALL_CONNECTING &&
		   stall_of(&(struct wait){900 * MS - 1, 0, false}) == STALL_PLACES,
	   "a connection that took 0.9 s may have stalled");
	ok(stall_of(&(struct wait){1000 * MS, 5000 * MS, true}) == STALL_FIRST_BYTE,
	   "a connection stalls once, where it waited longest");
}

/* Connections that took so many ms each; returns how many of them stalled. */
static uint64_t connecting(const uint64_t *ms, size_t n)
{
	static struct latency connects;
	static struct stalls s;
	size_t i;

	memset(&connects, 0, sizeof(connects));
	memset(&s, 0, sizeof(s));
	for (i = 0; i < n; i++) {
		latency_add(&connects, ms[i] * MS);
		stalls_add(&s, &(struct wait){ms[i] * MS, 0, false});
	}
	stalls_settle(&s, &connects);
	return stalls_count(&s);
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

static void test_open(void)
{
	static struct stalls a, b;

	stalls_add_open(&a, &(struct wait){MS, 30 * MS, true}, 31 * MS);
	stalls_add_open(&b, &(struct wait){MS, 10 * MS, true}, 11 * MS);
	stalls_add(&b, &(struct wait){MS, 30 * MS, true});
	stalls_merge(&a, &b);
	ok(a.open == 2 && a.open_stalled == 1 && a.open_longest_ns == 31 * MS,
	   "connections that were open at the end are counted, and those of them that stalled");
	ok(stalls_count(&a) == 1 && a.at[STALL_FIRST_BYTE].n == 1,
	   "connections that were open at the end are no stalls");
}

/* The first line of a report in which `part` of `all` connections stalled. */
static struct {
	uint64_t part, all;
} shown;

static void brief(void *arg)
{
	static struct stalls s;
	static const struct stall_evidence e;

	(void)arg;
	s.at[STALL_DATA].n = shown.part;
	stalls_text(&s, shown.all, &e, true);
}

static void check_share(uint64_t part, uint64_t all, const char *share)
{
	char want[128], printed[128];

	shown.part = part;
	shown.all = all;
	snprintf(want, sizeof(want), "  STALLED: %" PRIu64 " of %" PRIu64 " connections, %s\n",
		 part, all, share);
	stdout_of(brief, NULL, printed, sizeof(printed));
	is(printed, want, "%" PRIu64 " of %" PRIu64 " are %s", part, all, share);
}

static void test_share(void)
{
	check_share(1, 3, "33%");
	check_share(3, 3, "100%");
	check_share(999, 1000, "99.9%");
	check_share(999999, 1000000, "99.9999%");
	check_share(1, 50000, "0.0020%");
	check_share(1, 10000000, "0.00001%");
}

int main(void)
{
	test_place();
	test_connecting();
	test_open();
	test_share();
	return done();
}
