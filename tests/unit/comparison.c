/* What a comparison prints: lib/compare/comparison. */
#include "lib/compare/comparison.h"

#include "lib/compare/name.h"
#include "lib/send/trials.h"
#include "tests/unit/unit.h"

#define KILO (1000 * 8192.0) /* 1000 KiB/s */

static struct compare_options opt = {.against = "file"};
static struct plan plan;

static void begin(struct json *j, void *unused)
{
	(void)unused;
	json_report_open(j);
	json_open(j, "comparison", '{');
}

static struct comparison comparison = {.plan = &plan, .opt = &opt, .begin_json = begin};

static void set(int run, int measure, double first, double second)
{
	plan.run[run].figure[measure][0] = first;
	plan.run[run].figure[measure][1] = second;
}

static void value(int run, int factor, const char *text)
{
	plan_set_value(&plan.run[run], factor, text);
}

/* Two runs of two rounds, of which the costs do not differ. */
static void plan_init(void)
{
	int i, k;

	plan_close(&plan);
	plan_open(&plan, &trials_kind, 2, 2);
	plan.rounds = 2;
	for (i = 0; i < 2; i++) {
		value(i, METHOD, i == 0 ? "sendfile" : "uring-zc");
		value(i, BUFFER_SIZE, "65536");
		value(i, STREAMS, i == 0 ? "1" : "2");
		for (k = UNCERTAINTY; k <= DRIFT; k++)
			set(i, k, 0, 0);
		set(i, RATE, i == 0 ? KILO : 2 * KILO, i == 0 ? 2 * KILO : KILO);
		set(i, LOAD, 0.5, 0.5);
		set(i, COST, i == 0 ? 1000 : 500, i == 0 ? 500 : 1000);
	}
}

static const char *text(void)
{
	capture(STDOUT_FILENO);
	comparison_print(&comparison, NULL);
	return captured();
}

/* A run of two methods, one that is alone, and of a method or two by two instruments. */
static void test_places(void)
{
	char place[COMPARISON_PLACE];
	struct plan_run *two, three[3];
	int i;

	plan_init();
	plan.rounds = 0;
	is(comparison_run_place(&plan, 1, place), "round 1, uring-zc, 2 streams",
	   "the first round is round 1, and the run has its name");
	plan_init();
	for (i = 0; i < 2; i++) {
		value(i, METHOD, "send");
		value(i, STREAMS, "4");
		value(i, INSTRUMENT, i == 0 ? LOAD_BY_IDLE : LOAD_BY_SOAKING);
	}
	set(0, COST, 1, 1);
	set(1, COST, 1.25, 1.25);
	set(0, RATE, KILO, KILO);
	set(1, RATE, 4 * KILO, 4 * KILO);
	expect(text(), "runs by two instruments name these, and what they have in common is above");
	plan_init();
	value(0, INSTRUMENT, LOAD_BY_IDLE);
	value(1, INSTRUMENT, LOAD_BY_SOAKING);
	two = plan.run;
	three[0] = two[0];
	three[1] = three[2] = two[1];
	plan.run = three;
	plan.n = 3;
	has(text(),
	    "\nratios are to the first run by the same instrument, and that of\n  uring-zc, 2 streams, soaked to the first run\n",
	    "three runs by two instruments: a line tells which are compared");
	plan.run = two;
	plan.n = 2;
}

static void test_long_name(void)
{
	char text[2 * TEXT_SIZE + 1] = "";
	const char *name;
	int i;

	for (i = 0; i < TEXT_SIZE; i++)
		strcpy(text + 2 * i, "\xc3\xa4");
	plan_init();
	value(1, SETTING, text);
	name = name_of(&plan, 1, 1u << SETTING);
	is(name + strlen(name) - 5, "\xc3\xa4...",
	   "a name that no text has room for is seen to be cut, and is UTF-8");
}

/* Three rounds of two runs. */
static void test_size(void)
{
	static const struct {
		double seconds, precision;
		const char *text;
	} cases[] = {{12, 0, "6 runs, about 72 seconds\n"},
		     {0.1, 0, "6 runs, about 1 second\n"},
		     {17, 0, "6 runs, about 2 minutes\n"},
		     {3600, 0.01, "at most 6 runs, about 360 minutes\n"},
		     {0, 0, "6 runs\n"}};
	const struct compare_options before = opt;
	size_t i;

	plan_init();
	opt.rounds = 3;
	for (i = 0; i < LENGTH(cases); i++) {
		comparison.seconds = cases[i].seconds;
		opt.precision = cases[i].precision;
		capture(STDOUT_FILENO);
		comparison_print_size(&comparison);
		is(captured(), cases[i].text, "a comparison of runs of %g s is announced",
		   comparison.seconds);
	}
	opt = before;
}

TESTS(test_size, test_places, test_long_name)
