/* The part itself, for what it has of its own. */
#include "lib/load/bracket.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

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

/* Two CPUs that spun for 2 and 4 s, against soakers that spin for 0.5 and then 0.25 of the idle time. */
static void test_rebase(void)
{
	struct baseline was[] = {{.spin = 0.5, .speed = 1}, {.spin = 0.5, .speed = 1}};
	struct baseline is[] = {{.spin = 0.25, .speed = 1}, {.spin = 0.25, .speed = 1}};
	struct calibration from = {.cpus.n = 2, .cpu = was}, to = {.cpus.n = 2, .cpu = is};
	struct load_sample sum = {.spin = 6.01}, each[] = {{.spin = 2}, {.spin = 4}};

	from.lines = to.lines = 1;
	rebase(&sum, each, &from, &to);
	ok(near(sum.spin, 6.01) && near(each[0].spin, 2),
	   "idle time is the kernel's sum against each baseline");
	from.lines = to.lines = 0;
	rebase(&sum, each, &from, &to);
	ok(near(each[0].spin, 4) && near(sum.spin, 12),
	   "against half of the idle machine's spinning, what was spun is worth twice as much");
}

int main(void)
{
	test_next();
	test_rebase();
	return done();
}
