#include "lib/send/stream.h"

#include "tests/unit/unit.h"

int main(void)
{
	ok(warmup_loops(0) == 0, "no warm-up has no loops");
	ok(warmup_loops(0.1) == 1 && warmup_loops(1) == 10 && warmup_loops(WARMUP_MAX) == 1000,
	   "a warm-up has ten loops without a file a second");
	ok(warmup_loops(0.14) == 1 && warmup_loops(0.16) == 2, "a warm-up is rounded to 0.1 s");
	return done();
}
