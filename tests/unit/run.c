#include "lib/send/run.h"

#include "tests/unit/unit.h"

int main(void)
{
	ok(time_after(1000, 2.5) == 2500001000, "2.5 seconds after 1000 ns");
	ok(time_after(1000, 0) == NEVER, "0 seconds are no limit");
	ok(time_after(1000, -1) == NEVER, "a time below 0 is no limit");
	return done();
}
