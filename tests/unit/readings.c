#include "lib/load/readings.h"

#include "tests/unit/unit.h"

int main(void)
{
	struct readings r = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct counters a, b, lo, later;
	struct rates rates;
	uint64_t start = now_ns();

	readings_get(&r, "", &a);
	ok(a.ns >= start && a.ns <= now_ns(), "the first reading is a new one");
	readings_get(&r, "", &b);
	/* On a busy machine the second may have come too late to share. */
	ok(b.ns == a.ns || now_ns() - a.ns > READING_NS, "a reading is shared for READING_NS");
	readings_get(&r, "lo", &lo);
	ok(lo.ns > a.ns, "an interface has readings of its own");
	ok(a.packets_in == COUNTER_UNKNOWN && lo.packets_in != COUNTER_UNKNOWN,
	   "only the reading of an interface has its packets");
	sleep_ns(10 * READING_NS);
	start = now_ns();
	readings_get(&r, "", &later);
	ok(later.ns >= start, "an old reading is not shared");
	counters_rates(&b, &later, &rates);
	ok(rates.interrupts >= 0 && seconds_between(b.ns, later.ns) >= 0.1,
	   "rates are over the time between two readings");
	return done();
}
