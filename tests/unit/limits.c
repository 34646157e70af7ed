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

/* The reasons of two loads, one after the other, a thousand times. */
struct pairs {
	struct limits_said said;
	unsigned first, second;
};

static void say_pairs(void *arg)
{
	struct pairs *p = arg;
	int i;

	for (i = 0; i < 1000; i++) {
		limits_say(p->first, &p->said);
		limits_say(p->second, &p->said);
	}
}

/* cppcheck-suppress unusedFunction ; ok() calls it */
static int lines_of(struct pairs p, const char *part)
{
	char printed[8192];
	const char *line;
	int n = 0;

	status_of(say_pairs, &p, printed, sizeof(printed));
	for (line = printed; (line = strstr(line, part)) != NULL; line++)
		n++;
	return n;
}

static void test_printed(void)
{
	const unsigned steal = UNSAFE_STEAL, moved = UNSAFE_SOAKER_MOVED;

	ok(lines_of((struct pairs){{.most = 0}, steal, steal | moved}, "(steal)") == 1,
	   "a reason is printed once while it lasts");
	ok(lines_of((struct pairs){{.most = 0}, steal, steal | moved}, "moved") == SAY_MOST,
	   "a reason that comes and goes has ten lines");
	ok(lines_of((struct pairs){{.most = 1}, 0, moved}, "moved") == 1,
	   "with one line a reason, a reason that comes again has none");
	ok(lines_of((struct pairs){{.place = "run 2"}, 0, moved}, ": run 2: a soaker") == SAY_MOST,
	   "a line begins with the run that it is about");
	ok(lines_of((struct pairs){{.most = 0}, 0, UNSAFE_WEIGHT | UNSAFE_OTHER}, "\n") == 0,
	   "a reason that another part prints has no line here");
}

int main(void)
{
	test_printed();
	test_names();
	test_parse();
	test_between();
	test_steal();
	return done();
}
