#include "lib/load/bracket.h"

#include "tests/unit/unit.h"

/* A baseline after a measurement, of one CPU. */
static void measured_after(struct bracket *b, double speed, bool busy)
{
	b->after = (struct calibration){.cpus.n = 1,
					.cpu = alloc_or_die(1, sizeof(struct baseline), "cpu")};
	b->after.cpu[0].speed = speed;
	b->busy[1] = busy;
}

/* Three measurements, of which the baseline between the first and the second was busy. */
static void test_next(void)
{
	struct bracket b = {.what = "transfer"};
	struct calibration c = {.cpus.n = 1};

	c.cpu = alloc_or_die(1, sizeof(*c.cpu), "cpu");
	ok(bracket_unsafe(&b) == 0, "a measurement between two idle baselines is safe");
	bracket_next(&b, &c);
	ok(c.cpu[0].speed == 0, "the first measurement keeps the baseline before it");
	measured_after(&b, 7, true);
	b.ended.lost = 3;
	ok(bracket_unsafe(&b) == UNSAFE_BASELINE_BUSY,
	   "a busy baseline after a measurement makes it unsafe");
	bracket_next(&b, &c);
	ok(c.cpu[0].speed == 7 && b.after.cpu == NULL && b.begun.lost == 3,
	   "the next measurement begins with the baseline after the last");
	ok(bracket_unsafe(&b) == UNSAFE_BASELINE_BUSY,
	   "a busy baseline between two measurements makes the second unsafe, too");
	measured_after(&b, 8, false);
	bracket_next(&b, &c);
	ok(c.cpu[0].speed == 8 && bracket_unsafe(&b) == 0,
	   "a busy baseline does not make the measurement after the next unsafe");
	measured_after(&b, 9, false);
	bracket_end(&b);
	ok(b.after.cpu == NULL, "the end frees the last baseline");
	free(c.cpu);
}

int main(void)
{
	test_next();
	return done();
}
