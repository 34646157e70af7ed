/* The driver of comparisons: lib/compare/rounds, with runs that are made up. */
#include "lib/compare/rounds.h"

#include "lib/send/measures.h"
#include "tests/unit/unit.h"

static struct rounds r;
static const char *next = ""; /* what comes of the next run: a letter each */
static char said[32];

/* Makes a run: `.`, or it fails, or its load is Unsafe, or Missing, or the receiver's is unsafe (R). */
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
	if (how == 'F') {
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
	static const _Atomic int stop;
	struct gauge gauge = {.setup = &setup};
	struct compare_options opt = {.rounds = rounds, .retries = retries};
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
	compare(2, 2, 0, true, "MMM");
	compare(1, 1, 1, false, "MM");
	expect(captured(),
	       "--retry: no run is repeated after a round whose loads are not measured, and equal reasons have one line");
}

TESTS(test_retry, test_failures, test_hopeless)
