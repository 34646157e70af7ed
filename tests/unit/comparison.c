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

/* The place of a measure that is known by its line. */
static int counted(const char *line)
{
	int k = 0;

	while (trials_kind.measure[k].count == NULL ||
	       strcmp(trials_kind.measure[k].count, line) != 0)
		k++;
	return k;
}

/* Counts of two runs, which differ, may not, and differ at the other end. */
static void test_counts(void)
{
	plan_init();
	set(0, counted("interrupts/MiB"), 1.25, 1.25);
	set(1, counted("interrupts/MiB"), 12.5, 12.5);
	set(0, counted("switches/MiB"), 10, 30);
	set(1, counted("switches/MiB"), 30, 10);
	set(0, counted("receiver: packets/MiB in"), 1000, 1000);
	set(1, counted("receiver: packets/MiB in"), 2000, 2000);
	has(text(),
	    "\ninterrupts/MiB: sendfile, 1 stream 1.25 +-0.00, uring-zc, 2 streams 12.5 +-0.0\n"
	    "receiver: packets/MiB in: sendfile, 1 stream 1,000 +-0,\n"
	    "  uring-zc, 2 streams 2,000 +-0\n",
	    "a count has a line if it differs by more than its interval, at either end");
	ok(strstr(printed, "switches") == NULL, "and none if it does not");
	comparison.json = true;
	has(text(), "\"counts\":{\"interrupts_per_mib\":{\"mean\":1.25,",
	    "JSON has the counts of this end");
	has(printed, "\"remote_counts\":{\"packets_in_per_mib\":{\"mean\":1000,",
	    "and of the other");
	comparison.json = false;
}

/* A count of the first of two runs, which was ten times as great before. */
static void test_counts_before(void)
{
	struct plan before;

	plan_init();
	set(0, counted("interrupts/MiB"), 12.5, 12.5);
	before = plan;
	plan = (struct plan){.n = 0};
	plan_init();
	set(0, counted("interrupts/MiB"), 1.25, 1.25);
	plan.before = &before;
	has(text(),
	    "\ninterrupts/MiB: sendfile, 1 stream before 12.5 +-0.0,\n"
	    "  sendfile, 1 stream now 1.25 +-0.00, ",
	    "--against: a count of any run that differs has a line");
	has(printed, "\neach interval is 95% on its own:",
	    "--against: two runs have two ratios, of which one may differ by chance");
	plan_close(&before);
}

/* Adds a run of one host; the load may be NAN. */
static void add(int run, double load, unsigned unsafe, double steal)
{
	struct send_result res = {.local = true,
				  .sent = figures_of("bytes=1048576 seconds=1"),
				  .received = figures_of("bytes=0 seconds=1")};

	res.sent.host.load = load;
	res.sent.host.unsafe = unsafe;
	res.sent.host.rates.cpu[CPU_STEAL] = steal;
	trial_add(&plan, run, &res);
}

static void test_unsafe(void)
{
	struct plan before;

	plan_init();
	plan.rounds = 0;
	add(0, 0.5, UNSAFE_STEAL, 0.015);
	add(1, 0.5, 0, 0.015);
	add(0, 0.5, UNSAFE_STEAL | UNSAFE_BASELINE_BUSY, 0.444);
	add(1, 0.5, UNSAFE_STEAL | UNSAFE_BASELINE_BUSY, 0.1);
	has(text(),
	    "\nsteal in 3 of 4 runs: unsafe (?)\nbaseline_busy in 2 of 4 runs: unsafe (?)\n",
	    "a line for each reason that made runs unsafe, however many it had");
	before = plan;
	plan = (struct plan){.n = 0};
	plan_init();
	plan.rounds = 0;
	add(0, 0.5, 0, NAN);
	add(1, 0.5, 0, NAN);
	plan.earlier = &before;
	has(text(), "\nsteal in 3 of 6 runs: unsafe (?)\n",
	    "a ? of an earlier session has its line, too");
	plan_close(&before);
	plan_init();
	plan.rounds = 0;
	add(0, NAN, UNSAFE_BASELINE_BUSY, NAN);
	add(1, NAN, UNSAFE_BASELINE_BUSY, NAN);
	has(text(), "\nbaseline_busy in 2 of 2 runs: the load could not be measured\n",
	    "a comparison without a load has a line with the reason");
}

/* What JSON has behind the environment of this machine. */
static const char *json(void)
{
	const char *at;

	comparison.json = true;
	at = strstr(text(), "\"runs\":");
	comparison.json = false;
	return at != NULL ? at : printed;
}

/* A run that sent nothing, and one whose load was below 0. */
static void test_no_ratio(void)
{
	plan_init();
	set(1, COST, 2000, 1000);
	expect(json(), "a comparison in JSON has means and ratios");
	plan.rounds = 1;
	has(json(), "\"bits_per_second\":{\"mean\":8192000},",
	    "a mean of one round has no interval in JSON");
	plan.rounds = 2;
	set(1, RATE, 0, KILO);
	set(1, COST, 500, -0.1);
	expect(text(), "a ratio that there cannot be is -, and a line has the reason");
	has(json(), "\"unsafe_rounds\":0}]}}\n",
	    "a ratio that there cannot be is no object in JSON");
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

/* Each end of two hosts has its own load and cost. */
static void test_two_hosts(void)
{
	plan_init();
	set(0, LOAD, 0.25, 0.25);
	set(0, COST, 1.5, 1.5);
	set(0, REMOTE_LOAD, 0.75, 0.75);
	set(0, REMOTE_COST, 4.5, 4.5);
	plan.run[0].unsafe[1] = UNSAFE_STEAL;
	value(1, SETTING,
	      "a name of 70 columns, \xc3\xa4s long as any that someone writes who has one");
	expect(text(), "a table of two hosts: what is too wide stands below, and names are whole");
	comparison.quiet = true;
	expect(text(), "-q: a line for each run, with its ratios");
	comparison.quiet = false;
	opt.brief = true;
	ok(strstr(text(), "setup:") == NULL, "--brief: no setup where none is known");
	plan_set(&plan, "mtu", "9000");
	plan_set(&plan, "pace", "0");
	plan_set_machine(&plan, "zcc 1, host");
	expect(text(), "--brief: what the figures depend on, Gbit/s, and no sentences");
	opt.brief = false;
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

static void check_against(void *saved)
{
	comparison_check_or_die(&plan, saved, "--against", "file");
	exit(EXIT_SUCCESS);
}

static void test_against(void)
{
	struct plan before;

	plan_init();
	before = plan;
	plan = (struct plan){.n = 0};
	plan_init();
	value(0, INSTRUMENT, LOAD_BY_IDLE);
	ok(died(check_against, &before) == EXIT_SUCCESS,
	   "--against: a plan without a load is one of any instrument");
	plan_set_value(&before.run[0], INSTRUMENT, LOAD_BY_SOAKING);
	ok(died(check_against, &before) == EXIT_FAILURE, "--against: another plan is rejected");
	has(printed,
	    "its run 1 is sendfile 64k, 1 stream, soaked, not sendfile 64k, 1 stream, unsoaked\n",
	    "--against: a load by another instrument is another plan");
	plan_close(&before);
}

/* One session against one, then against two of which the first had another server. */
static void test_sessions(void)
{
	struct plan session[2];
	int i;

	plan_init();
	plan.n = 1;
	for (i = 0; i < 2; i++) {
		session[i] = plan;
		session[i].setting = NULL;
		session[i].machine = NULL;
		plan_set_machine(&session[i], i == 0 ? "zcc 1, host" : "zcc 2, host");
		plan_set(&session[i], "server", i == 0 ? "far" : "near");
	}
	plan_set(&plan, "server", "near");
	plan_set_machine(&plan, "zcc 3, host");
	plan_set(&session[1], "date", "2026-11-23T05:49:20Z");
	plan_set(&session[1], "title", "old cable");
	plan.before = &session[0];
	expect(text(), "one session each: a line says what that leaves open, and one what differs");
	opt.brief = true;
	has(text(),
	    "\none session each: the ratio includes what lasts for a session, such as a\n  boot, ",
	    "--brief: one session each has the same caution");
	opt.brief = false;
	session[1].earlier = &session[0];
	plan.before = &session[1];
	has(text(),
	    "\n  of 2026-11-23T05:49:20Z: old cable\nbefore: 2 rounds in file: zcc 1, host\n"
	    "now: zcc 3, host\nserver differs: far",
	    "each of two sessions has a line, and so has what differs from any of them");
	has(text(),
	    "\nbefore: the means of 2 sessions differ by up to 0.0% (KiB/s),\n  0.0% (cost, us/KiB)\n",
	    "and how far they are apart is wrapped");
	plan.before = NULL;
	plan.earlier = &session[1];
	plan.run[0].unsafe_rounds = 2; /* of each session, as they share the runs */
	has(json(), "\"unsafe_rounds\":6,", "JSON counts the unsafe rounds of all sessions");
	plan.earlier = NULL;
	plan.n = 2;
	for (i = 0; i < 2; i++) {
		session[i].n = 0; /* they share the runs */
		session[i].run = NULL;
		plan_close(&session[i]);
	}
}

TESTS(test_size, test_counts, test_counts_before, test_places, test_two_hosts, test_long_name,
      test_against, test_sessions, test_no_ratio, test_unsafe)
