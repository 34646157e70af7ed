/* The part itself, for what it has of its own. */
#include "lib/load/gauge.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

static const struct instrument_kind none;

/* A baseline after a measurement, of one CPU. */
static void measured_after(struct gauge *g, double speed, bool busy)
{
	g->after = (struct calibration){.cpus.n = 1,
					.cpu = alloc_or_die(1, sizeof(struct baseline), "cpu")};
	g->after.cpu[0].speed = speed;
	g->after.cpu[0].spin = 1;
	g->busy[1] = busy;
}

/* Whether a load of one CPU that was half idle is unsafe. */
static bool is_busy(const struct gauge *g)
{
	const struct load_sample from = {.time = 1}, to = {.time = 3, .spin = 1, .work = 1};
	struct load l;

	gauge_between(g, &from, &to, -1, &l);
	return l.unsafe == UNSAFE_BASELINE_BUSY;
}

/* Three measurements, of which the baseline between the first and the second was busy. */
static void test_next(void)
{
	struct gauge g = {.instrument = {.kind = &none}, .baseline = BASELINE_OWN};
	struct baseline *b = alloc_or_die(1, sizeof(*b), "cpu");

	b->spin = 1;
	g.calibration = (struct calibration){.cpus.n = 1, .cpu = b};
	ok(!is_busy(&g), "a measurement between two idle baselines is safe");
	gauge_next(&g);
	ok(g.calibration.cpu == b, "the first measurement keeps the baseline before it");
	measured_after(&g, 7, true);
	g.ended.lost = 3;
	ok(is_busy(&g), "a busy baseline after a measurement makes it unsafe");
	gauge_next(&g);
	ok(g.calibration.cpu[0].speed == 7 && g.after.cpu == NULL && g.begun.lost == 3,
	   "the next measurement begins with the baseline after the last");
	ok(is_busy(&g), "a busy baseline between two measurements makes the second unsafe, too");
	measured_after(&g, 8, false);
	gauge_next(&g);
	ok(g.calibration.cpu[0].speed == 8 && !is_busy(&g),
	   "a busy baseline does not make the measurement after the next unsafe");
	measured_after(&g, 9, false);
	g.instrument.kind = NULL;
	gauge_stop(&g);
	ok(g.after.cpu == NULL && g.calibration.cpu == NULL, "the end frees the last baseline");
}

/* Two CPUs that spun for 2 and 4 s, against soakers that spin for 0.5 and then 0.25 of the idle time. */
static void test_rebase(void)
{
	struct baseline was[] = {{.spin = 0.5, .speed = 1}, {.spin = 0.5, .speed = 1}};
	struct baseline is[] = {{.spin = 0.25, .speed = 1}, {.spin = 0.25, .speed = 1}};
	struct calibration from = {.cpus.n = 2, .cpu = was}, to = {.cpus.n = 2, .cpu = is};
	struct load_sample each[] = {{.spin = 2}, {.spin = 4}};
	struct gauge_mark m = {.sum = {.spin = 6.01}, .each = each};

	from.lines = to.lines = 1;
	rebase(&m, &from, &to);
	ok(near(m.sum.spin, 6.01) && near(each[0].spin, 2),
	   "idle time is the kernel's sum against each baseline");
	from.lines = to.lines = 0;
	rebase(&m, &from, &to);
	ok(near(each[0].spin, 4) && near(m.sum.spin, 12),
	   "against half of the idle machine's spinning, what was spun is worth twice as much");
}

int main(void)
{
	test_next();
	test_rebase();
	return done();
}
