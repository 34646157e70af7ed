#include "lib/load/yield.h"

#include "tests/unit/unit.h"

static struct cpus cpus;

static uint64_t never(const struct soaker *s, int i)
{
	(void)s;
	(void)i;
	return 1;
}

static uint64_t last(const struct soaker *s, int i)
{
	(void)s;
	return i == cpus.n - 1 ? raw_ns() : 1;
}

/* Other programs may leave the threads no time in a trial. */
static struct yield tried(uint64_t (*ran)(const struct soaker *s, int i))
{
	struct yield y = {.kept = NAN};
	int tries;

	for (tries = 0; tries < 100 && (isnan(y.kept) || (ran == last && isnan(y.late))); tries++)
		yield_measure(&cpus, ran, NULL, &y);
	return y;
}

int main(void)
{
	struct yield y;

	cpus_online(&cpus);
	y = tried(never);
	ok(y.kept >= 1 && isnan(y.late), "what other programs take and delay is not the soakers'");
	y = tried(last);
	ok(y.kept > 0 && y.kept < YIELD_KEPT && y.late > 0,
	   "a soaker that runs beside a thread does not yield, and delays its wake-ups");
	cpus = (struct cpus){.n = 3, .id = {cpus.id[0], cpus.id[cpus.n - 1], cpus.id[0]}};
	y = tried(last);
	ok(y.late > 0, "the last of an odd number of CPUs has a neighbour that wakes its thread");
	cpus.n = 1;
	y = tried(never);
	ok(y.kept >= 1 && isnan(y.late), "a thread without a neighbour wakes itself");
	return done();
}
