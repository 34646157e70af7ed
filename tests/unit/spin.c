/* The part itself, for what it has of its own. */
#include "lib/load/spin.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

/* Counts a gap of which the thread's CPU clock lacks all: returns when the turn after it was. */
static void gap_of(struct soak_cpu *me, struct soak_thread *t, uint64_t gap)
{
	const uint64_t now = raw_ns();
	uint64_t turns = 0;

	me->tasks_ns = raw_ns() - gap - me->host_ns - t->irq;
	t->ran_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	count_gap(me, t, now - gap, now, &turns);
}

/* As on a kernel with IRQ_TIME_ACCOUNTING, where a thread's clock lacks its interrupts. */
int main(void)
{
	struct rusage used;
	struct soak_cpu me = {.id = 0};
	struct soak_thread t = {.gap_min = 1000, .turn = 40};
	int tries = 0;

	/* The test itself may be switched out in the middle. */
	do {
		getrusage(RUSAGE_THREAD, &used);
		t.switched = used.ru_nivcsw + used.ru_nvcsw;
		t.irq = 0;
		me.host_ns = 0;
		me.switches = 0;
		gap_of(&me, &t, 20000);
	} while (me.switches > 0 && ++tries < 1000);
	gap_of(&me, &t, 20000);
	ok(me.host_ns < 19000 && t.irq >= 19000,
	   "a short gap that the thread's clock lacks is an interrupt's, not the host's");
	me.host_ns = 0;
	gap_of(&me, &t, 1000000);
	ok(me.host_ns >= 999000 || me.switches > 0,
	   "a long gap that the thread's clock lacks is the host's");
	t = thread_state();
	ok(t.turn >= 1 && t.gap_min >= SOAK_GAP_NS && (!t.rests || 8 * t.turn <= SOAK_GAP_NS),
	   "the shortest gap has room for eight turns that rest");
	return done();
}
