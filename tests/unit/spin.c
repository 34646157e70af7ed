/* The part itself, for what it has of its own. */
#include "lib/load/spin.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

int main(void)
{
	struct soak_cpu me = {.id = 0};
	struct soak_thread t = {.gap_min = 1000, .turn = 40};
	uint64_t now, turns = 0;
	struct rusage used;
	int tries = 0;

	/* A gap of which the thread's CPU clock lacks all.  The test itself may be switched out in the middle. */
	do {
		getrusage(RUSAGE_THREAD, &used);
		t.switched = used.ru_nivcsw + used.ru_nvcsw;
		now = raw_ns();
		me = (struct soak_cpu){.stolen_ns = 1000000000, .tasks_ns = now - 1000020000};
		t.ran_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		count_gap(&me, &t, now - 20000, now, &turns);
	} while (me.switches > 0 && ++tries < 1000);
	ok(me.stolen_ns >= 1000019000 && me.stolen_ns < 1900000000 &&
		   me.tasks_ns == now - 1000020000,
	   "a gap without a switch that the thread's clock lacks is the host's, and no task's");
	t = thread_state();
	ok(t.turn >= 1 && t.gap_min >= SOAK_GAP_NS && (!t.rests || 8 * t.turn <= SOAK_GAP_NS),
	   "the shortest gap has room for eight turns that rest");
	return done();
}
