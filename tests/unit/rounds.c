/* The driver of comparisons: lib/compare/rounds, with runs that are made up. */
#include "common.h"

#undef now_ns
#define now_ns() (clock_now += 1000000000) /* each wait is over at once */

static uint64_t clock_now;

#include "lib/compare/rounds.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "lib/send/measures.h"
#include "tests/unit/unit.h"

static struct rounds r;
static const char *next = ""; /* what comes of the next run: a letter each */
static char said[32];
static double precision; /* that is asked for */
static _Atomic int stop;

/*
 * Makes a run: `.`, or it fails, or its load is Unsafe, or Missing, or the receiver's is unsafe (R); a signal comes
 * before or after it is complete (S or E), or makes it fail (X).
 */
static const char *once(void *arg, int run, char why[DIE_MAX])
{
	const int how = *next != '\0' ? *next++ : '.';
	struct figures sent = figures_of("bytes=1 seconds=1"), received = sent;
	const struct ends ends = {&sent, &received, false};

	(void)arg;
	string_append(said, sizeof(said), "%d", run);
	sent.host.load = how == 'M' ? NAN : 0.5;
	sent.host.unsafe = how == 'U' ? UNSAFE_STEAL : how == 'M' ? UNSAFE_BASELINE_BUSY : 0;
	received.host.unsafe = how == 'R' ? UNSAFE_STEAL : 0;
	stop = how == 'S' || how == 'E' || how == 'X';
	if (how == 'S')
		return "interrupted";
	if (how == 'F' || how == 'X') {
		(void)rounds_repeat(&r, run, NULL, die_line("the server is gone", why));
		return why;
	}
	if (!rounds_repeat(&r, run, &ends, NULL))
		rounds_add(&r, run, &ends);
	return NULL;
}

/* Makes a comparison, and prints which runs were made, what was counted, and the lines on stderr. */
static void compare(int runs, int rounds, int retries, bool is_wanted, const char *how)
{
	static const struct gauge_setup setup = {.what = "transfer"};
	struct gauge gauge = {.setup = &setup};
	struct compare_options opt = {.rounds = rounds, .retries = retries, .precision = precision};
	struct plan plan;
	struct comparison c = {.plan = &plan, .opt = &opt, .is_wanted = is_wanted};
	char why[DIE_MAX];
	const char *error;
	int i;

	plan_open(&plan, &trials_kind, runs);
	for (i = 0; i < runs; i++) {
		plan_set_value(&plan.run[i], RUN_WORDS, text_of("-P %d", i + 1));
		plan_set_value(&plan.run[i], RUN_INSTRUMENT, LOAD_BY_IDLE);
	}
	r = (struct rounds){.comparison = &c, .gauge = &gauge, .stop = &stop, .once = once};
	next = how;
	stop = 0;
	said[0] = '\0';
	fprintf(stderr, "-- %s%s, --retry %d\n", is_wanted ? "" : "alone, ", how, retries);
	error = rounds_run(&r, why);
	fprintf(stderr, "runs %s: %d rounds, %d omitted, %s\n", said, plan.rounds, plan.failures,
		error != NULL ? error : "no error");
	plan_close(&plan);
}

static void test_retry(void)
{
	capture(STDERR_FILENO);
	compare(2, 2, 0, true, "U.R.");
	compare(2, 1, 2, true, "U.UUU");
	compare(1, 1, 1, true, "R.");
	compare(1, 1, 1, false, "M.");
	expect(captured(),
	       "--retry: a run is repeated while the load of either end is unsafe, and the last counts");
}

static void test_failures(void)
{
	capture(STDERR_FILENO);
	compare(2, 3, 0, true, "..F");
	compare(2, 3, 1, true, "F..FF");
	compare(2, 3, 1, true, "..FFFF");
	compare(1, 1, 1, false, "FF");
	expect(captured(),
	       "--retry: a run that fails is repeated, in the end omitted, and ends alone with its whole round");
}

static void test_hopeless(void)
{
	capture(STDERR_FILENO);
	compare(2, 2, 2, true, "MMMMMMMM");
	compare(2, 3, 1, true, "MM.UUMM");
	compare(1, 3, 1, true, ".MMMM");
	compare(2, 2, 0, true, "MMM");
	compare(1, 1, 1, false, "MM");
	expect(captured(),
	       "--retry: no run is repeated after a round whose loads are not measured, and equal reasons have one line");
}

static void test_interrupted(void)
{
	capture(STDERR_FILENO);
	compare(2, 3, 1, true, "..S");
	compare(2, 3, 1, true, "..X");
	compare(2, 3, 1, true, "..E");
	compare(2, 3, 1, true, "...E");
	compare(1, 1, 1, false, "S");
	expect(captured(),
	       "an interrupted comparison has its complete rounds, and repeats nothing");
}

/* Rounds that are all the same are precise after five. */
static void test_precision(void)
{
	capture(STDERR_FILENO);
	precision = 0.1;
	compare(1, 9, 0, true, "");
	compare(1, 4, 0, true, "");
	precision = 0;
	expect(captured(), "--precision: no round is made behind the first that is precise");
}

/* Settles -r, --precision, --fail-above, how many settings and how many runs.  Ends with whether these compare. */
static void settle(void *text)
{
	struct compare_options opt = {.save = NULL};
	int runs;

	if (sscanf(text, "%d,%lf,%lf,%d,%d", &opt.rounds, &opt.precision, &opt.fail_above,
		   &opt.settings.n, &runs) != 5)
		abort();
	runs = rounds_settle(&opt, runs);
	fprintf(stderr, "%d rounds, to %g\n", opt.rounds, opt.precision);
	exit(runs);
}

static void test_settle(void)
{
	expect_deaths(settle,
		      "0,0,0,0,1|1,0,0,0,1|0,2,0,0,1|0,0,0,0,2|7,2,0,2,1024|0,0,0,1,2|0,0,0,0,1025"
		      "|5,0,9,0,1|2,0,9,0,2|3,0,9,0,2|0,0,9,0,2",
		      "how many rounds a comparison has, and what none can be");
}

TESTS(test_retry, test_failures, test_hopeless, test_interrupted, test_precision, test_settle)
