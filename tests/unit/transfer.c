/* What a transfer makes of what its streams and intervals measured; the part itself, for what it has of its own. */
#include "lib/send/transfer.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

int main(void)
{
	static struct send_report rep;
	static struct stream_result to_one = {.has_receipt = true, .received.cpu = 3};
	const struct send_options opt = {.server = ""}, one = {.streams = 1, .bind = {1, {3}}};
	struct run run = {.opt = &opt, .interface = ""};
	struct transfer t = {.opt = &opt, .run = &run, .report = &rep, .result.stream = &to_one};

	transfer_run(&t); /* of no streams */
	ok(t.result.sent.host.unsafe == 0, "a transfer that nothing disturbed has no reason");
	/* An interval saw what had passed when the transfer ended: a clock source changed, and back. */
	t.unsafe = UNSAFE_CLOCK_CHANGED;
	transfer_run(&t);
	ok(t.result.sent.host.unsafe == UNSAFE_CLOCK_CHANGED,
	   "a reason that an interval noticed is one of the total");
	t.opt = &one;
	is(cpu_role(&t, 3), "sender", "the CPU of a receiver on another host has no role here");
	t.result.local = true;
	is(cpu_role(&t, 3), "both", "a CPU may be that of both ends");
	return done();
}
