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

static void print(void *comparison)
{
	comparison_print(comparison, &opt);
}

static void test_lines(void)
{
	const struct comparison c = {.plan = &plan};

	plan_init();
	printed_by(print, (void *)&c);
	ok(widest(printed) <= 80 &&
		   strstr(printed, "\n  times as much as sendfile, 1 stream") != NULL,
	   "a line that is too wide breaks in front of what it compares with: %zu columns",
	   widest(printed));
	plan.run[1].streams = 1;
	has(printed_by(print, (void *)&c), ":\n  no difference is shown\n",
	    "a line that breaks in front of a clause keeps the colon");
	ok(strstr(printed, "has 1.00") != NULL && widest(printed) <= 80,
	   "and has at most 80 columns: %zu", widest(printed));
	plan_close(&plan);
}

/* A run against one other, then two: with the words of each ratio. */
static void test_words(void)
{
	const struct comparison c = {.plan = &plan};
	struct comparison against = c;
	int round;

	plan_init();
	for (round = 0; round < 2; round++) {
		plan.run[1].figure[PLAN_COST][round] = 2 * plan.run[0].figure[PLAN_COST][round];
		plan.run[1].figure[PLAN_RATE][round] = 4 * plan.run[0].figure[PLAN_RATE][round];
		plan.run[0].streams = 2;
	}
	has(printed_by(print, (void *)&c),
	    "\nuring-zc costs 2.00 (2.00 to 2.00) times as much as sendfile\n",
	    "a cost is so many times as much as the first run's");
	has(printed, "\nuring-zc has 4.00 (4.00 to 4.00) times the throughput of sendfile\n",
	    "a throughput is so many times the first run's");
	against.before = &plan;
	printed_by(print, &against);
	ok(strstr(printed, " times as much as uring-zc") != NULL &&
		   strstr(printed, " times the throughput of uring-zc") != NULL,
	   "--against: a run is compared with itself before");
	plan_close(&plan);
}

/* One run of two was unsafe, then all were. */
static void test_unsafe(void)
{
	const struct comparison c = {.plan = &plan};
	struct send_result res = {.local = true};
	const char *line;

	plan_init();
	plan.rounds = 0;
	figures_init(&res.sent);
	figures_init(&res.received);
	res.sent.host.load = 0.5;
	res.sent.bytes = 1 << 20;
	res.sent.seconds = 1;
	res.sent.host.unsafe = UNSAFE_STEAL;
	res.sent.host.rates.cpu[CPU_STEAL] = 0.015;
	plan_add(&plan, 0, &res);
	res.sent.host.unsafe = 0;
	plan_add(&plan, 1, &res);
	has(printed_by(print, (void *)&c), "\nsteal in 1 of 2 runs: unsafe (?)\n",
	    "one run of two was unsafe: its reason has a line");
	res.sent.host.unsafe = UNSAFE_STEAL | UNSAFE_BASELINE_BUSY;
	res.sent.host.rates.cpu[CPU_STEAL] = 0.444;
	plan_add(&plan, 0, &res);
	res.sent.host.rates.cpu[CPU_STEAL] = 0.1;
	plan_add(&plan, 1, &res);
	printed_by(print, (void *)&c);
	line = strstr(printed, "\nsteal in 3 of 4 runs: unsafe (?)\n");
	ok(line != NULL && strstr(line, "\nbaseline_busy in 2 of 4 runs: unsafe (?)") != NULL,
	   "three of four were: a line for each reason, however many runs it had");
	plan_close(&plan);
}

/* The sender has no load, and knows why; the receiver, on the same host, measures none. */
static void test_without_load(void)
{
	const struct comparison c = {.plan = &plan};
	struct send_result res = {.local = true};

	plan_init();
	plan.rounds = 0;
	figures_init(&res.sent);
	figures_init(&res.received);
	res.sent.bytes = 1 << 20;
	res.sent.seconds = 1;
	res.sent.host.unsafe = UNSAFE_BASELINE_BUSY;
	plan_add(&plan, 0, &res);
	plan_add(&plan, 1, &res);
	ok(plan.run[0].unsafe[0] == UNSAFE_BASELINE_BUSY && plan.run[0].unsafe_rounds == 1,
	   "a run without a load keeps the sender's reason");
	has(printed_by(print, (void *)&c),
	    "\nbaseline_busy in 2 of 2 runs: no load could be measured\n",
	    "a comparison without a load has a line with the reason");
	plan_close(&plan);
}

/* Figures that no host can have measured have more digits than a column has. */
static void test_huge(void)
{
	static const double huge[] = {1e60, 1e300};
	const struct comparison c = {.plan = &plan};
	size_t i;
	int k;

	for (i = 0; i < LENGTH(huge); i++) {
		plan_init();
		for (k = 0; k < PLAN_FIGURES; k++) {
			plan.run[0].figure[k][0] = huge[i];
			plan.run[0].figure[k][1] = huge[i] / 2;
		}
		plan.run[0].unsafe[0] = plan.run[0].unsafe[1] = UNSAFE_STEAL;
		printed_by(print, (void *)&c);
		ok(strstr(printed, i == 0 ? "e+59" : "e+299") != NULL &&
			   strstr(printed, "inf") == NULL && strstr(printed, "nan") == NULL &&
			   widest(printed) < 200,
		   "figures of %g are printed, by their powers of ten", huge[i]);
		plan_close(&plan);
	}
}

/* A run that sent nothing, and one whose load was below 0. */
static void test_no_ratio(void)
{
	static struct environment environment;
	const char *second;
	const struct comparison c = {.plan = &plan, .environment = &environment};

	plan_init();
	plan.run[1].figure[PLAN_RATE][0] = 0;
	plan.run[1].figure[PLAN_COST][1] = -0.1;
	printed_by(print, (void *)&c);
	ok(strstr(printed, "has - times the throughput of sendfile, 1 stream:\n  a fig") != NULL &&
		   strstr(printed, "costs - times as much as sendfile, 1 stream:\n") != NULL,
	   "a ratio that there cannot be has a line with the reason");
	opt.json = true;
	printed_by(print, (void *)&c);
	second = strstr(printed, "\"uring-zc\"");
	ok(second != NULL && strstr(second, "_ratio\"") == NULL, "and in JSON no object");
	opt.json = false;
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
	const struct comparison c = {.plan = &plan};
	char place[COMPARISON_PLACE];
	int round;

	plan_init();
	strcpy(plan.run[0].method, "send");
	strcpy(plan.run[1].method, "send");
	plan.run[0].streams = plan.run[1].streams = 4;
	strcpy(plan.run[0].instrument, LOAD_BY_IDLE);
	strcpy(plan.run[1].instrument, LOAD_BY_SOAKING);
	for (round = 0; round < 2; round++) {
		plan.run[0].figure[PLAN_COST][round] = 1;
		plan.run[1].figure[PLAN_COST][round] = 1.25;
	}
	printed_by(print, (void *)&c);
	ok(strstr(printed, "\nrun             ") != NULL &&
		   strstr(printed, "\nsend, unsoaked  ") != NULL &&
		   strstr(printed, "\nsend, soaked    ") != NULL,
	   "the rows of one method by two instruments have names that tell which");
	has(printed, "\neach run: 64k a call, 4 streams\n",
	    "what all runs have in common is a line above the table");
	has(printed,
	    "\nsend, soaked costs 1.25 (1.25 to 1.25) times as much as send, "
	    "unsoaked\n",
	    "what soaking costs is so many times what is spent unsoaked");
	strcpy(plan.run[1].method, "mmap");
	is(comparison_run_place(&plan, 0, place), "round 3, send, unsoaked",
	   "a method and its instrument");
	plan_close(&plan);
}

/* Each end of two hosts has its own load and cost. */
static void test_two_hosts(void)
{
	const struct comparison c = {.plan = &plan};
	int round;

	plan_init();
	for (round = 0; round < 2; round++) {
		plan.run[0].figure[PLAN_LOAD][round] = 0.25;
		plan.run[0].figure[PLAN_COST][round] = 1.5;
		plan.run[0].figure[PLAN_REMOTE_LOAD][round] = 0.75;
		plan.run[0].figure[PLAN_REMOTE_COST][round] = 4.5;
	}
	plan.run[0].unsafe[1] = UNSAFE_STEAL;
	has(printed_by(print, (void *)&c),
	    "   25.0% +-0.0%    1.500 +-0.000   75.0%? +-0.0%   4.500? +-0.000\n",
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
	struct comparison c = {.plan = &plan, .before = &session[0]};

	plan_init();
	plan_set(&plan, PLAN_SERVER, "near");
	session[0] = session[1] = plan;
	plan_set(&session[0], PLAN_MACHINE, "zcc 1, host");
	plan_set(&session[1], PLAN_MACHINE, "zcc 2, host");
	plan_set(&session[0], PLAN_SERVER, "far");
	plan_set(&session[1], PLAN_DATE, "2026-11-23T05:49:20Z");
	plan_set(&session[1], PLAN_TITLE, "old cable");
	printed_by(print, &c);
	ok(strstr(printed, "\none session each: ") != NULL &&
		   strstr(printed, "\nserver differs: far then, near now\n") != NULL,
	   "one session each: a line says what that leaves open, and one what differs");
	session[1].earlier = &session[0];
	c.before = &session[1];
	has(printed_by(print, &c),
	    "\nbefore: 2 rounds in file: zcc 1, host\n"
	    "before: 2 rounds in file: zcc 2, host\n"
	    "  of 2026-11-23T05:49:20Z: old cable\n"
	    "server differs: far then, near now\n",
	    "each session has a line, and what differs from any of them");
	lacks(printed, "one session each",
	      "with two sessions on a side it is sessions that are compared");
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
