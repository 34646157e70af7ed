/* What a transfer makes of what its streams and intervals measured: lib/send/transfer. */
#include "lib/send/transfer.h"

#include "tests/unit/unit.h"

int main(void)
{
	static struct send_report rep;
	const struct send_options opt = {.server = ""};
	struct run run = {.opt = &opt, .interface = ""};
	struct transfer t = {.opt = &opt, .run = &run, .report = &rep};

	transfer_run(&t); /* of no streams */
	ok(t.result.sent.host.unsafe == 0, "a transfer that nothing disturbed has no reason");
	/* An interval saw what had passed when the transfer ended: a clock source changed, and back. */
	t.unsafe = UNSAFE_CLOCK_CHANGED;
	transfer_run(&t);
	ok(t.result.sent.host.unsafe == UNSAFE_CLOCK_CHANGED,
	   "a reason that an interval noticed is one of the total");
	return done();
}
