#include "lib/load/limits.h"

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
static bool idle; /* they are by idle time */

static void says(struct limits_said said, unsigned first, unsigned second, const char *part,
		 int want, const char *title)
{
	const char *line;
	int i, n = 0;

	capture(STDERR_FILENO);
	for (i = 0; i < 1000; i++) {
		limits_say(first, idle, &said);
		limits_say(second, idle, &said);
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
	says(run, 0, moved, ": run 2: a soaker", SAY_MOST, "a line begins with its run");
	says(all, 0, UNSAFE_CALIBRATION, "cyclesoak -C", SAY_MOST,
	     "a load below 0 is blamed on the calibration");
	idle = true;
	says(all, 0, UNSAFE_CALIBRATION | UNSAFE_BASELINE_OLD | UNSAFE_BASELINE_BUSY,
	     "cyclesoak -C", 0, "but not by idle time, which has none");
	says(all, 0, UNSAFE_CALIBRATION, "idle time jumped (/proc/stat; a suspend?)", SAY_MOST,
	     "idle time may have jumped");
	says(all, 0, UNSAFE_STEAL, "(steal)", SAY_MOST,
	     "other reasons have the same line by either instrument");
	says(all, 0, UNSAFE_WEIGHT | UNSAFE_OTHER, "\n", 0,
	     "a reason that another part prints has no line here");
}

static void *say(void *said)
{
	limits_say(UNSAFE_CLOCK_SLOW, false, said);
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

TESTS(test_printed, test_names, test_between, test_thread)
