#include "lib/load/wakecost.h"

#include "tests/unit/unit.h"

int main(void)
{
	const double known[] = {NAN, 2e-6, 4e-6, NAN}, negative[] = {-3e-6, -3e-6};
	struct wake_cost c = wake_cost_of(known, 4);

	ok(fabs(c.mean - 3e-6) < 1e-15 && fabs(c.sd - 1e-6) < 1e-15,
	   "a wake-up costs the mean of what is known, with its standard error");
	c = wake_cost_of(known, 2);
	ok(near(1e6 * c.mean, 4) && near(1e6 * c.sd, 4),
	   "one measurement is too few: a wake-up costs 4 us, as if that were not known at all");
	c = wake_cost_of(negative, 2);
	ok(c.mean == 0 && c.sd == 0, "a wake-up costs no less than nothing");
	return done();
}
