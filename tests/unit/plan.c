/* Comparisons: lib/compare/plan.  tests/system/records.sh has what they print of figures. */
#include "lib/compare/plan.h"

#include "lib/compare/comparison.h"
#include "lib/compare/verdict.h"
#include "lib/send/measures.h"
#include "tests/unit/unit.h"

static struct plan p;
static struct plan_kind *kind;

/* Adds a run of this host: half of two CPUs for a second, or another load. */
static void add(struct plan *to, int i, double load, uint64_t kib)
{
	struct figures f = figures_of(
		"bytes=0 seconds=1 method=send load=1 cpus=2 uncertainty=0.01");

	f.bytes = kib * 1024;
	f.host.load = load;
	f.host.shared = 0.004;
	plan_add(to, i, &(struct ends){.sent = &f, .local = true});
}

static void reopen(int runs)
{
	kind = kind != NULL ? kind : guarded_kind(&trials_kind);
	plan_close(&p);
	plan_open(&p, kind, runs);
}

/* Makes a plan of one run in so many rounds of that load. */
static void fill(struct plan *to, int rounds, double load)
{
	plan_close(to);
	plan_open(to, kind, 1);
	while (rounds-- > 0)
		add(to, 0, load, 1000);
}

static void test_rounds(void)
{
	int i;

	reopen(2);
	for (i = 0; i < 2; i++) {
		ok(plan_turn(&p, 0) == i && plan_turn(&p, 1) == 1 - i,
		   "each second round has the runs in reverse order");
		add(&p, 0, 0.5, 1000);
		ok(p.rounds == i, "round %d is complete with its last run", i + 1);
		add(&p, 1, 0.25, 2000);
		ok(!plan_is_precise(&p, 1), "%d rounds are not precise", i + 1);
	}
}

static void begin_json(struct json *j, void *unused)
{
	json_report_open(j);
	json_open(j, "comparison", '{');
}

/* Each form of the report: no table is read behind its end. */
static void expect_hopeless(void)
{
	static const char *const forms[] = {"text", "a table", "a block", "JSON"};
	struct compare_options opt = {.precision = 0.007};
	struct comparison c = {.plan = &p, .opt = &opt, .begin_json = begin_json};
	int form;

	for (form = 0; form < 4; form++) {
		c.quiet = form == 1;
		opt.brief = form == 2;
		c.json = form == 3;
		capture(STDOUT_FILENO);
		comparison_print(&c, NULL);
		ok(occurrences(
			   captured(),
			   "\n--precision 0.7% was not reached in 5 rounds:\n  the error that all "
			   "rounds share is larger: run longer (-t)\n") == (form == 0),
		   "a precision that is not reached has a line in text alone: %s", forms[form]);
	}
}

/* Rounds that do not vary, then one that does. */
static void test_precise(void)
{
	static struct plan earlier;
	int i;

	fill(&p, 4, 0.5);
	ok(!plan_is_precise(&p, 0.001) && !plan_is_hopeless(&p, 0.001),
	   "four rounds are neither precise, even if they do not vary, nor hopeless");
	add(&p, 0, 0.5, 1000);
	ok(!plan_is_precise(&p, 0.007) && plan_is_hopeless(&p, 0.007) &&
		   !plan_is_hopeless(&p, 0.009),
	   "a goal below what all rounds share is never reached");
	expect_hopeless();
	ok(plan_is_precise(&p, 0.009), "five rounds whose costs do not vary are precise");
	add(&p, 0, 0.7, 1000);
	ok(!plan_is_precise(&p, 0.14), "a round that differs by far makes them imprecise");
	add(&p, 0, 0.5, 1000);
	ok(!plan_is_precise(&p, 0.14), "a goal that is met after one round alone is not reached");
	add(&p, 0, 0.5, 1000);
	fill(&earlier, 3, 0.9);
	p.earlier = &earlier;
	ok(plan_is_precise(&p, 0.14),
	   "a goal that is met after two rounds is reached, whatever earlier sessions had");
	reopen(1);
	for (i = 0; i < 5; i++)
		add(&p, 0, NAN, i % 2 == 0 ? 1000 : 1100);
	ok(!plan_is_precise(&p, 0.05) && plan_is_precise(&p, 0.1),
	   "where the load is not measured the throughput is to be precise");
}

/* Both ends on one host, of which neither has measured the load: what is counted of it is the sender's. */
static void test_ends(void)
{
	struct figures sent = figures_of("bytes=1048576 seconds=1 packets_in=30"),
		       received = figures_of("bytes=1048576 seconds=1 packets_in=40 method=trunc");
	int k = 0;

	while (strcmp(trials_kind.measure[k].key, "packets_in_per_mib") != 0)
		k++;
	reopen(1);
	plan_add(&p, 0, &(struct ends){&sent, &received, true});
	ok(plan_figure(&p, 0, k, 0) == 30, "what is counted of one host is that of the sender");
	is(p.run[0].receiver, "trunc", "a run has the method of its receiver");
	strcpy(received.method, "read");
	plan_add(&p, 0, &(struct ends){&sent, &received, true});
	is(p.run[0].receiver, "", "unless that is not always the same");
}

/* Of three rounds the load of a run is unsafe in one, which a verdict omits. */
static void test_verdict(void)
{
	struct estimate before;
	int i;

	reopen(2);
	for (i = 0; i < 6; i++)
		add(&p, plan_turn(&p, i % 2), i == 3 ? 0.9 : 0.5, 1000);
	p.doubts[2].unsafe[0] = UNSAFE_STEAL;
	plan_compute(&p, false);
	before = plan_result(&p, 0, COST)->mean;
	capture(STDERR_FILENO);
	verdict_print(&p, 0.1, NULL);
	captured();
	ok(plan_result(&p, 0, COST)->mean.value == before.value && plan_unsafe(&p, 0, COST) != 0,
	   "what is printed after a verdict has all rounds, as before it");
}

static void test_names(void)
{
	char text[2 * TEXT_SIZE + 1] = "", place[COMPARISON_PLACE];
	const char *name;
	int i;

	reopen(2);
	plan_set_lines(&p, (char[]){"kernel: 6: 1\nhz:  100\nx"});
	is(plan_fact(&p, "kernel"), "6: 1", "a fact is what stands behind its key and a blank");
	is(plan_fact(&p, "hz"), " 100", "and the last has no end");
	plan_set(&p, "title", "%*s", FACT_MOST + 1, "x");
	ok(strlen(plan_fact(&p, "title")) == FACT_MOST, "a fact that is too long is cut");
	plan_set_value(&p.run[0], RUN_NAME, "-m sendfile");
	plan_set_value(&p.run[0], RUN_SETTING, "a\tb");
	plan_set_value(&p.run[1], RUN_WORDS, "-S");
	is(plan_name(&p.run[0]), "-m sendfile, a?b",
	   "a run without words has a name, and a setting");
	is(comparison_run_place(&p, 1, place), "round 1, -S", "the first round is round 1");
	for (i = 0; i < TEXT_SIZE; i++)
		strcpy(text + 2 * i, "\xc3\xa4");
	plan_set_value(&p.run[1], RUN_WORDS, text);
	name = plan_name(&p.run[1]);
	is(name + strlen(name) - 5, "\xc3\xa4...",
	   "a name that no text has room for is seen to be cut, and is UTF-8");
}

/* Three rounds of two runs. */
static void test_size(void)
{
	static const struct {
		double seconds, precision, fail_above;
		int before, earlier; /* sessions */
		const char *text;
	} cases[] = {
		{12, 0, 0, 0, 0, "6 runs, about 72 seconds\n"},
		{0.1, 0, 0, 0, 0, "6 runs, about 1 second\n"},
		{17, 0, 0, 0, 0, "6 runs, about 2 minutes\n"},
		{3600, 0.01, 0, 0, 0, "at most 6 runs, about 360 minutes\n"},
		{0, 0, 5, 0, 0, "--fail-above 5%: at least 3 of 3 rounds must count\n6 runs\n"},
		{0, 0, 5, 1, 2,
		 "--fail-above 5%: 1 save session before, and 3 now with this one; 3 a side are "
		 "needed: not judged yet\n6 runs\n"},
		{0, 0, 5, 3, 1,
		 "--fail-above 5%: 3 save sessions before, and 2 now with this one; 3 a side are "
		 "needed: not judged yet\n6 runs\n"},
		{0, 0, 5, 3, 2,
		 "--fail-above 5%: 3 save sessions before, and 3 now with this one; 3 a side are "
		 "needed\n6 runs\n"}};
	struct compare_options opt = {.rounds = 3};
	struct plan session[3] = {{.earlier = &session[1]}, {.earlier = &session[2]}};
	struct comparison comparison = {.plan = &p, .opt = &opt};
	size_t i;

	reopen(2);
	for (i = 0; i < LENGTH(cases); i++) {
		comparison.seconds = cases[i].seconds;
		opt.precision = cases[i].precision;
		opt.fail_above = cases[i].fail_above;
		p.before = cases[i].before > 0 ? &session[3 - cases[i].before] : NULL;
		p.earlier = cases[i].earlier > 0 ? &session[3 - cases[i].earlier] : NULL;
		capture(STDOUT_FILENO);
		comparison_print_size(&comparison);
		is(captured(), cases[i].text, "the size of a comparison is announced: %zu", i);
	}
}

TESTS(test_rounds, test_precise, test_verdict, test_ends, test_names, test_size)
