/* The part itself, for its tables. */
#include "lib/load/limits.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

static void test_names(void)
{
	const char *bad = "|,|steal,|,steal|steal,,weight", *list;
	const char *text;
	unsigned got, set;
	bool all = true;

	is(limits_format(UNSAFE_CPU_OFFLINE | UNSAFE_STEAL), "cpu_offline,steal",
	   "the names of two reasons have a comma between");
	for (set = 1; set < 1u << UNSAFE_REASONS; set++) {
		text = limits_format(set);
		all &= limits_parse(text, &got) && got == set && strlen(text) < 200;
	}
	ok(all, "every set of reasons is the same when it is written and read");
	ok(limits_parse("steal,new_2", &got) && got == (UNSAFE_STEAL | UNSAFE_OTHER),
	   "a reason of a newer version is UNSAFE_OTHER");
	while ((list = next_of(&bad)) != NULL)
		ok(!limits_parse(list, &got), "limits_parse: '%s' is no list of reasons", list);
}

/* A reason, or several, and the instrument; the word that the load has which is not measured. */
static void test_unmeasured(void)
{
	static const struct {
		unsigned unsafe;
		const char *word[2]; /* by soaking, and by idle time */
	} cases[] = {
		{UNSAFE_CPU_OFFLINE | UNSAFE_BASELINE_BUSY, {"offline", "offline"}},
		{UNSAFE_NOT_MEASURED, {"soakers", "uncounted"}},
		{UNSAFE_SOAKED_ALREADY, {"held", "held"}},
		{UNSAFE_CALIBRATION | UNSAFE_BASELINE_BUSY, {"negative", "jump"}},
		{UNSAFE_BASELINE_BUSY | UNSAFE_STEAL, {"baseline", "baseline"}},
		{UNSAFE_STEAL | UNSAFE_WEIGHT, {"", ""}},
		{0, {"", ""}},
	};
	size_t i;
	int k;

	for (i = 0; i < 2 * LENGTH(cases); i++) {
		k = (int)(i % 2);
		is(no_load_of(cases[i / 2].unsafe, k == 1 ? LOAD_BY_IDLE : LOAD_BY_SOAKING),
		   cases[i / 2].word[k],
		   "%s, %s: the load is not measured, and a word has the reason",
		   limits_format(cases[i / 2].unsafe), k == 1 ? "--idle" : "-c");
	}
	for (i = 0; i < LENGTH(no_load); i++)
		ok(is_short(no_load[i].text), "'%s' takes three lines", no_load[i].word);
	has(no_load_text("soakers"), "--on-cpus",
	    "where soakers could not be started --on-cpus may help, as in a small cpuset");
}

static void test_between(void)
{
	const struct limits_mark before = {.lost = 3, .moved = 4, .stops = 5};
	const struct {
		struct limits_mark to;
		unsigned unsafe;
	} cases[] = {
		{before, 0},
		{{UNSAFE_WEIGHT, .lost = 3, .moved = 4, .stops = 5}, UNSAFE_WEIGHT},
		{{.lost = 4, .moved = 4, .stops = 5}, UNSAFE_CPU_OFFLINE},
		{{.lost = 3, .moved = 5, .stops = 5}, UNSAFE_SOAKER_MOVED},
		{{.lost = 3, .moved = 4, .stops = 6}, UNSAFE_SOAKER_STOPPED},
	};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		ok(limits_between(&before, &cases[i].to) == cases[i].unsafe &&
			   limits_between(&cases[i].to, &before) == cases[i].unsafe,
		   "what held at one end or happened meanwhile is a reason: %s",
		   limits_format(cases[i].unsafe));
	ok(limits_steal(NAN) == 0, "a steal that is not known is no reason");
	ok(limits_steal(0.0101) == UNSAFE_STEAL, "a steal of more than 1 %% is a reason");
}

/* Two loads, one after the other, a thousand times: so many lines have a part. */
static const char *by = LOAD_BY_SOAKING; /* their instrument */

static void says(struct limits_said said, unsigned first, unsigned second, const char *part,
		 int want, const char *title)
{
	const char *line;
	int i, n = 0;

	capture(STDERR_FILENO);
	for (i = 0; i < 1000; i++) {
		limits_say(first, by, no_load_of(first, by), &said);
		limits_say(second, by, no_load_of(second, by), &said);
	}
	for (line = captured(); (line = strstr(line, part)) != NULL; line++)
		n++;
	ok(n == want, "%s", title);
}

static void test_printed(void)
{
	const unsigned steal = UNSAFE_STEAL, moved = UNSAFE_SOAKER_MOVED;
	const struct limits_said all = {.most = 0}, once = {.most = 1}, run = {.place = "run 2"};

	says(all, steal, steal | moved, "(steal)", 1, "a reason is printed once while it lasts");
	says(all, steal, steal | moved, "moved", SAY_MOST,
	     "a reason that comes and goes has ten lines");
	says(once, 0, moved, "moved", 1, "with one line a reason, one that comes again has none");
	says(all, 0, UNSAFE_CALIBRATION,
	     text_of("the load is not measured: %s", no_load_text("negative")), SAY_MOST,
	     "a load below 0 is blamed on the calibration");
	says(run, 0, moved, ": run 2: a soaker", SAY_MOST, "a line begins with its run");
	by = LOAD_BY_IDLE;
	says(all, 0, UNSAFE_CALIBRATION | UNSAFE_BASELINE_OLD | UNSAFE_BASELINE_BUSY,
	     "cyclesoak -C", 0, "but not by idle time, which has none");
	says(all, 0, UNSAFE_STEAL, "(steal)", SAY_MOST,
	     "other reasons have the same line by either instrument");
	says(all, 0, UNSAFE_WEIGHT | UNSAFE_OTHER, "\n", 0,
	     "a reason that another part prints has no line here");
}

static void *say(void *said)
{
	limits_say(UNSAFE_CLOCK_SLOW, LOAD_BY_SOAKING, "", said);
	return said;
}

/* A thread of a client has a small stack. */
static void test_thread(void)
{
	static struct limits_said said;
	pthread_t id;

	ok(thread_start(&id, say, &said) == 0 && pthread_join(id, NULL) == 0,
	   "a thread prints a line that may advise --idle");
}

TESTS(test_printed, test_names, test_unmeasured, test_between, test_thread)
