/* What a comparison prints: lib/send/comparison. */
#include "lib/send/plan.h"

#include "tests/unit/unit.h"

static struct send_options opt = {
	.server = "server", .port = "2222", .compare = {.against = "file"}};
static struct plan plan;

/* Two runs of two rounds, of which the costs do not differ. */
static void plan_init(void)
{
	static const double rate[2][2] = {{1000, 2000}, {2000, 1000}};
	int i, k, round;

	plan_open(&plan, 2, 2);
	plan.rounds = 2;
	for (i = 0; i < 2; i++) {
		strcpy(plan.run[i].method, i == 0 ? "sendfile" : "uring-zc");
		plan.run[i].chunk = 65536;
		plan.run[i].streams = (uint64_t)1 << i;
		for (round = 0; round < 2; round++) {
			for (k = 0; k < PLAN_FIGURES; k++)
				plan.run[i].figure[k][round] = 0;
			plan.run[i].figure[PLAN_RATE][round] = rate[i][round];
			plan.run[i].figure[PLAN_LOAD][round] = 0.5;
			plan.run[i].figure[PLAN_COST][round] = 1e6 / rate[i][round];
			plan.run[i].figure[PLAN_REMOTE_LOAD][round] = NAN;
			plan.run[i].figure[PLAN_REMOTE_COST][round] = NAN;
		}
	}
}

static void set(int run, enum plan_figure k, double first, double second)
{
	plan.run[run].figure[k][0] = first;
	plan.run[run].figure[k][1] = second;
}

static struct environment environment;
static struct comparison c = {.plan = &plan, .environment = &environment};

static void print(void *unused)
{
	(void)unused;
	comparison_print(&c, &opt);
}

/* Two runs whose costs differ by more than their lines are wide, then by less. */
static void test_lines(void)
{
	plan_init();
	expect_file("comparison-wide", printed_by(print, NULL),
		    "a line that is too wide breaks in front of what it compares with");
	ok(widest(printed) <= 80, "that line has at most 80 columns: %zu", widest(printed));
	plan.run[1].streams = 1;
	expect_file("comparison-narrow", printed_by(print, NULL),
		    "a line that breaks in front of a clause keeps the colon");
	ok(widest(printed) <= 80, "a line with a clause has at most 80 columns: %zu",
	   widest(printed));
	plan_close(&plan);
}

/* A run against one other, then against itself. */
static void test_words(void)
{
	plan_init();
	plan.run[0].streams = 2;
	set(1, PLAN_COST, 2000, 1000);
	set(1, PLAN_RATE, 4000, 8000);
	expect_file("comparison-words", printed_by(print, NULL),
		    "costs and throughputs are so many times the first run's");
	c.before = &plan;
	has(printed_by(print, NULL), " times as much as uring-zc",
	    "--against: a run's cost is compared with its own before");
	has(printed, " times the throughput of uring-zc",
	    "--against: a run's throughput is compared with its own before");
	c.before = NULL;
	plan_close(&plan);
}

/* A result of one host; `load` may be NAN. */
static struct send_result result(double load)
{
	struct send_result res = {.local = true};

	figures_init(&res.sent);
	figures_init(&res.received);
	res.sent.host.load = load;
	res.sent.bytes = 1 << 20;
	res.sent.seconds = 1;
	return res;
}

static void add(int run, struct send_result *res, unsigned unsafe, double steal)
{
	res->sent.host.unsafe = unsafe;
	res->sent.host.rates.cpu[CPU_STEAL] = steal;
	plan_add(&plan, run, res);
}

/* One run of two was unsafe, then all were. */
static void test_unsafe(void)
{
	struct send_result res = result(0.5);

	plan_init();
	plan.rounds = 0;
	add(0, &res, UNSAFE_STEAL, 0.015);
	add(1, &res, 0, 0.015);
	has(printed_by(print, NULL), "\nsteal in 1 of 2 runs: unsafe (?)\n",
	    "one run of two was unsafe: its reason has a line");
	add(0, &res, UNSAFE_STEAL | UNSAFE_BASELINE_BUSY, 0.444);
	add(1, &res, UNSAFE_STEAL | UNSAFE_BASELINE_BUSY, 0.1);
	expect_file("comparison-unsafe", printed_by(print, NULL),
		    "three of four were: a line for each reason, however many runs it had");
	plan_close(&plan);
}

/* The sender has no load, and knows why; the receiver, on the same host, measures none. */
static void test_without_load(void)
{
	struct send_result res = result(NAN);

	plan_init();
	plan.rounds = 0;
	add(0, &res, UNSAFE_BASELINE_BUSY, NAN);
	add(1, &res, UNSAFE_BASELINE_BUSY, NAN);
	ok(plan.run[0].unsafe[0] == UNSAFE_BASELINE_BUSY && plan.run[0].unsafe_rounds == 1,
	   "a run without a load keeps the sender's reason");
	has(printed_by(print, NULL), "\nbaseline_busy in 2 of 2 runs: no load could be measured\n",
	    "a comparison without a load has a line with the reason");
	plan_close(&plan);
}

/* Figures that no host can have measured have more digits than a column has. */
static void test_huge(void)
{
	static const double all[] = {1e60, 1e300};
	double huge;
	int i, k;

	for (i = 0; i < 2; i++) {
		huge = all[i];
		plan_init();
		for (k = 0; k < PLAN_FIGURES; k++)
			set(0, k, huge, huge / 2);
		plan.run[0].unsafe[0] = plan.run[0].unsafe[1] = UNSAFE_STEAL;
		printed_by(print, NULL);
		ok(strstr(printed, huge < 1e100 ? "e+59" : "e+299") != NULL &&
			   strstr(printed, "inf") == NULL && strstr(printed, "nan") == NULL &&
			   widest(printed) < 200,
		   "figures of %g are printed, by their powers of ten", huge);
		plan_close(&plan);
	}
}

/* What JSON has behind the environment of this machine. */
static const char *json(void)
{
	const char *at;

	opt.json = true;
	at = strstr(printed_by(print, NULL), "\"runs\":");
	opt.json = false;
	return at != NULL ? at : printed;
}

/* A run that sent nothing, and one whose load was below 0. */
static void test_no_ratio(void)
{
	plan_init();
	set(1, PLAN_COST, 2000, 1000);
	expect_file("comparison-json", json(), "a comparison in JSON has means and ratios");
	set(1, PLAN_RATE, 0, 1000);
	set(1, PLAN_COST, 500, -0.1);
	printed_by(print, NULL);
	ok(strstr(printed, "has - times the throughput of sendfile, 1 stream:\n  a fig") != NULL &&
		   strstr(printed, "costs - times as much as sendfile, 1 stream:\n") != NULL,
	   "a ratio that there cannot be has a line with the reason");
	expect_file("comparison-json-no-ratio", json(),
		    "a ratio that there cannot be is no object in JSON");
	plan_close(&plan);
}

static void test_place(void)
{
	char place[COMPARISON_PLACE];

	plan_init();
	plan.rounds = 0;
	is(comparison_run_place(&plan, 1, place), "round 1, uring-zc, 2 streams",
	   "the first round is round 1, and the run has its name");
	plan.n = 1;
	plan.rounds = 4;
	is(comparison_run_place(&plan, 0, place), "round 5", "a run that is alone has no name");
	plan.n = 2;
	plan_close(&plan);
}

/* A run by idle time and by soaking; then two methods. */
static void test_instruments(void)
{
	char place[COMPARISON_PLACE];

	plan_init();
	strcpy(plan.run[0].method, "send");
	strcpy(plan.run[1].method, "send");
	plan.run[0].streams = plan.run[1].streams = 4;
	strcpy(plan.run[0].instrument, LOAD_BY_IDLE);
	strcpy(plan.run[1].instrument, LOAD_BY_SOAKING);
	set(0, PLAN_COST, 1, 1);
	set(1, PLAN_COST, 1.25, 1.25);
	expect_file(
		"comparison-instruments", printed_by(print, NULL),
		"the rows and lines of one method by two instruments tell which, and what all runs have in common is above");
	strcpy(plan.run[1].method, "mmap");
	is(comparison_run_place(&plan, 0, place), "round 3, send, unsoaked",
	   "a method and its instrument");
	plan_close(&plan);
}

/* Each end of two hosts has its own load and cost. */
static void test_two_hosts(void)
{
	plan_init();
	set(0, PLAN_LOAD, 0.25, 0.25);
	set(0, PLAN_COST, 1.5, 1.5);
	set(0, PLAN_REMOTE_LOAD, 0.75, 0.75);
	set(0, PLAN_REMOTE_COST, 4.5, 4.5);
	plan.run[0].unsafe[1] = UNSAFE_STEAL;
	expect_file(
		"comparison-two-hosts", printed_by(print, NULL),
		"a row of two hosts has load and cost of the sender, then those of the receiver");
	plan_close(&plan);
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
	ok(died(check_against, &before) == EXIT_SUCCESS,
	   "--against: the same plan is compared with");
	before.run = memcpy(malloc(2 * sizeof(*plan.run)), plan.run, 2 * sizeof(*plan.run));
	strcpy(plan.run[0].instrument, LOAD_BY_IDLE);
	ok(died(check_against, &before) == EXIT_SUCCESS,
	   "--against: a plan without a load is one of any instrument");
	strcpy(before.run[0].instrument, LOAD_BY_SOAKING);
	ok(died(check_against, &before) == EXIT_FAILURE &&
		   strstr(printed, "its run 1 is sendfile 64k, 1 stream, soaked, not sendfile 64k, "
				   "1 stream, unsoaked\n") != NULL,
	   "--against: a load by another instrument is another plan");
	free(before.run);
	before.n = 1;
	ok(died(check_against, &before) == EXIT_FAILURE &&
		   strstr(printed, "--against: file is of another plan: 1 run a round, not 2\n") !=
			   NULL,
	   "--against: a plan with a different number of runs is rejected");
	plan_close(&plan);
}

/* One session against one, then against two of which the first had another server. */
static void test_sessions(void)
{
	struct plan session[2];

	plan_init();
	plan_set(&plan, PLAN_SERVER, "near");
	session[0] = session[1] = plan;
	plan_set(&session[0], PLAN_MACHINE, "zcc 1, host");
	plan_set(&session[1], PLAN_MACHINE, "zcc 2, host");
	plan_set(&session[0], PLAN_SERVER, "far");
	plan_set(&session[1], PLAN_DATE, "2026-11-23T05:49:20Z");
	plan_set(&session[1], PLAN_TITLE, "old cable");
	c.before = &session[0];
	expect_file("comparison-session", printed_by(print, NULL),
		    "one session each: a line says what that leaves open, and one what differs");
	session[1].earlier = &session[0];
	c.before = &session[1];
	expect_file("comparison-sessions", printed_by(print, NULL),
		    "each of two sessions has a line, and so has what differs from any of them");
	c.before = NULL;
	plan_close(&plan);
}

int main(void)
{
	test_place();
	test_two_hosts();
	test_instruments();
	test_against();
	test_sessions();
	test_huge();
	test_no_ratio();
	test_lines();
	test_words();
	test_unsafe();
	test_without_load();
	return done();
}
