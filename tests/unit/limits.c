#include "lib/load/limits.h"

#include "tests/unit/unit.h"

static void test_names(void)
{
	char text[UNSAFE_STRLEN];
	unsigned got, set;
	bool all = true;

	is(limits_format(0, text), "", "no reason has no name");
	is(limits_format(UNSAFE_CPU_OFFLINE | UNSAFE_STEAL, text), "cpu_offline,steal",
	   "the names of two reasons have a comma between");
	for (set = 1; set < 1u << UNSAFE_REASONS; set++)
		all &= limits_parse(limits_format(set, text), &got) && got == set &&
		       strlen(text) < UNSAFE_STRLEN;
	ok(all, "every set of reasons is the same when it is written and read");
}

static void test_parse(void)
{
	static const char *const bad[] = {"", ",", "steal,", ",steal", "steal,,weight"};
	unsigned got;
	size_t i;

	ok(limits_parse("new_2", &got) && got == UNSAFE_OTHER &&
		   limits_parse("steal,new_2", &got) && got == (UNSAFE_STEAL | UNSAFE_OTHER),
	   "a reason of a newer version is UNSAFE_OTHER");
	for (i = 0; i < LENGTH(bad); i++)
		ok(!limits_parse(bad[i], &got), "limits_parse: '%s' is no list of reasons", bad[i]);
}

static void test_between(void)
{
	const struct limits_mark none = {.now = 0}, steal = {.now = UNSAFE_STEAL};
	const struct {
		struct limits_mark mark;
		unsigned unsafe;
	} cases[] = {
		{{.lost = 1}, UNSAFE_CPU_OFFLINE},
		{{.moved = 1}, UNSAFE_SOAKER_MOVED},
		{{.stops = 1}, UNSAFE_SOAKER_STOPPED},
		{{.now = UNSAFE_WEIGHT}, UNSAFE_WEIGHT},
	};
	size_t i;

	ok(limits_between(&none, &none) == 0, "nothing happened: no reason");
	ok(limits_between(&steal, &none) == UNSAFE_STEAL,
	   "a reason that held at the beginning is one, even if it has ended");
	for (i = 0; i < LENGTH(cases); i++) {
		ok(limits_between(&none, &cases[i].mark) == cases[i].unsafe,
		   "what happened meanwhile is the reason %s",
		   limits_name((int)lround(log2(cases[i].unsafe))));
	}
}

static void test_steal(void)
{
	struct rates r;

	set_unknown(&r, sizeof(r));
	ok(limits_steal(&r) == 0, "a steal that is not known is no reason");
	r.cpu[CPU_STEAL] = 0.0099;
	ok(limits_steal(&r) == 0, "a steal of less than 1 %% is no reason");
	r.cpu[CPU_STEAL] = 0.0101;
	ok(limits_steal(&r) == UNSAFE_STEAL, "a steal of more than 1 %% is a reason");
}

/* What is printed of reasons that come and go. */
static void test_printed(void)
{
	struct limits_said said = {.reasons = 0};
	unsigned i, n;

	ok(limits_fresh(&said, UNSAFE_STEAL, 0) == UNSAFE_STEAL &&
		   limits_fresh(&said, UNSAFE_STEAL | UNSAFE_WEIGHT, 0) == UNSAFE_WEIGHT,
	   "a reason is printed once while it lasts");
	limits_fresh(&said, 0, UNSAFE_STEAL);
	ok(limits_fresh(&said, UNSAFE_STEAL | UNSAFE_WEIGHT, 0) == UNSAFE_WEIGHT,
	   "a reason that a load could not know has not ended");
	for (i = 0, n = 0; i < 1000; i++)
		n += limits_fresh(&said, i % 2 == 0 ? 0 : UNSAFE_STEAL, 0) != 0;
	ok(n == SAY_MOST - 1, "a reason that comes and goes is printed ten times in all");
}

static void test_lines_of_a_plan(void)
{
	struct limits_said said = {.most = 1};

	ok(limits_fresh(&said, UNSAFE_STEAL, 0) == UNSAFE_STEAL && limits_fresh(&said, 0, 0) == 0 &&
		   limits_fresh(&said, UNSAFE_STEAL, 0) == 0 &&
		   limits_fresh(&said, UNSAFE_WEIGHT, 0) == UNSAFE_WEIGHT,
	   "with one line a reason, a reason that comes again has none");
}

int main(void)
{
	test_lines_of_a_plan();
	test_printed();
	test_names();
	test_parse();
	test_between();
	test_steal();
	return done();
}
