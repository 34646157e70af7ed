/* What a comparison prints: lib/send/comparison. */
#include "lib/send/plan.h"

#include "tests/unit/unit.h"

static struct send_options opt = {
	.server = "server", .port = "2222", .compare = {.against = "file"}};
static struct plan plan;
static const struct send_report rep = {.opt = &opt};

static void set(int run, enum plan_figure k, double first, double second)
{
	plan.run[run].figure[k][0] = first;
	plan.run[run].figure[k][1] = second;
}

/* Two runs of two rounds, of which the costs do not differ. */
static void plan_init(void)
{
	int i, k;

	plan_close(&plan);
	plan_open(&plan, 2, 2);
	plan.rounds = 2;
	for (i = 0; i < 2; i++) {
		strcpy(plan.run[i].sent.method, i == 0 ? "sendfile" : "uring-zc");
		plan.run[i].chunk = 65536;
		plan.run[i].streams = (uint64_t)1 << i;
		for (k = 0; k < PLAN_FIGURES; k++)
			set(i, k, 0, 0);
		set(i, PLAN_RATE, i == 0 ? 1000 : 2000, i == 0 ? 2000 : 1000);
		set(i, PLAN_LOAD, 0.5, 0.5);
		set(i, PLAN_COST, i == 0 ? 1000 : 500, i == 0 ? 500 : 1000);
		set(i, PLAN_REMOTE_LOAD, NAN, NAN);
		set(i, PLAN_REMOTE_COST, NAN, NAN);
	}
}

static const char *text(void)
{
	capture(STDOUT_FILENO);
	comparison_print(&plan, &rep, NULL);
	return captured();
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
	plan_add(&plan, run, &res);
}

static void test_unsafe(void)
{
	plan_init();
	plan.rounds = 0;
	add(0, 0.5, UNSAFE_STEAL, 0.015);
	add(1, 0.5, 0, 0.015);
	add(0, 0.5, UNSAFE_STEAL | UNSAFE_BASELINE_BUSY, 0.444);
	add(1, 0.5, UNSAFE_STEAL | UNSAFE_BASELINE_BUSY, 0.1);
	has(text(),
	    "\nsteal in 3 of 4 runs: unsafe (?)\nbaseline_busy in 2 of 4 runs: unsafe (?)\n",
	    "a line for each reason that made runs unsafe, however many it had");
	plan_init();
	plan.rounds = 0;
	add(0, NAN, UNSAFE_BASELINE_BUSY, NAN);
	add(1, NAN, UNSAFE_BASELINE_BUSY, NAN);
	has(text(), "\nbaseline_busy in 2 of 2 runs: no load could be measured\n",
	    "a comparison without a load has a line with the reason");
}

/* What JSON has behind the environment of this machine. */
static const char *json(void)
{
	const char *at;

	opt.json = true;
	at = strstr(text(), "\"runs\":");
	opt.json = false;
	return at != NULL ? at : printed;
}

/* A run that sent nothing, and one whose load was below 0. */
static void test_no_ratio(void)
{
	plan_init();
	set(1, PLAN_COST, 2000, 1000);
	expect(json(), "a comparison in JSON has means and ratios");
	plan.rounds = 1;
	has(json(), "\"bits_per_second\":{\"mean\":8192000},",
	    "a mean of one round has no interval in JSON");
	plan.rounds = 2;
	set(1, PLAN_RATE, 0, 1000);
	set(1, PLAN_COST, 500, -0.1);
	ok(strstr(text(), "has - times the throughput of sendfile, 1 stream:\n  a fig") != NULL &&
		   strstr(printed, "costs - times as much as sendfile, 1 stream:\n") != NULL,
	   "a ratio that there cannot be has a line with the reason");
	has(json(), "\"unsafe_rounds\":0}]}}\n",
	    "a ratio that there cannot be is no object in JSON");
}

/* A run of two methods, one that is alone, and of a method by two instruments. */
static void test_places(void)
{
	char place[COMPARISON_PLACE];

	plan_init();
	plan.rounds = 0;
	is(comparison_run_place(&plan, 1, place), "round 1, uring-zc, 2 streams",
	   "the first round is round 1, and the run has its name");
	plan_init();
	strcpy(plan.run[0].sent.method, "send");
	strcpy(plan.run[1].sent.method, "send");
	plan.run[0].streams = plan.run[1].streams = 4;
	strcpy(plan.run[0].instrument, LOAD_BY_IDLE);
	strcpy(plan.run[1].instrument, LOAD_BY_SOAKING);
	set(0, PLAN_COST, 1, 1);
	set(1, PLAN_COST, 1.25, 1.25);
	set(0, PLAN_RATE, 1000, 1000);
	set(1, PLAN_RATE, 4000, 4000);
	expect(text(), "runs by two instruments name these, and what they have in common is above");
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
	has(text(),
	    "     load     cost, us/KiB  receiver: load     cost, us/KiB\nsendfile, 1 stream  ",
	    "a table of two hosts has load and cost of the sender, then of the receiver");
	has(printed, "  25.0% +-0.0%    1.500 +-0.000   75.0%? +-0.0%   4.500? +-0.000\n",
	    "a row of two hosts has those of each, and marks what is unsafe");
	has(printed, "\nuring-zc, 2 streams costs the sender 471.4 (",
	    "the costs of senders are compared");
}

/* Three rounds of two runs of 10 s, after 2 s; baselines take 2.5 s of each, or 5 s if each has two. */
static void test_size(void)
{
	static const struct {
		double seconds, precision;
		bool soaks, instruments;
		const char *text;
	} cases[] = {{10, 0, false, false, "6 runs, about 72 seconds\n"},
		     {10, 0, true, false, "6 runs, about 87 seconds\n"},
		     {10, 0, true, true, "6 runs, about 2 minutes\n"},
		     {3600, 0.01, false, false, "at most 6 runs, about 360 minutes\n"},
		     {0, 0, true, false, "6 runs\n"}};
	struct send_options o = {.warmup = 2, .compare.rounds = 3};
	size_t i;

	plan_init();
	for (i = 0; i < LENGTH(cases); i++) {
		o.seconds = cases[i].seconds;
		o.compare.precision = cases[i].precision;
		o.compare.instruments = cases[i].instruments;
		o.gauge.soak = cases[i].soaks;
		capture(STDOUT_FILENO);
		comparison_print_size(&plan, &o);
		is(captured(), cases[i].text, "a comparison of runs of %g s is announced",
		   o.seconds);
	}
}

static void check_against(void *saved)
{
	comparison_check_or_die(&plan, saved, "--against", "file");
	exit(EXIT_SUCCESS);
}

static void test_against(void)
{
	struct plan_run runs[2];
	struct plan before;

	plan_init();
	before = plan;
	before.run = memcpy(runs, plan.run, sizeof(runs));
	strcpy(plan.run[0].instrument, LOAD_BY_IDLE);
	ok(died(check_against, &before) == EXIT_SUCCESS,
	   "--against: a plan without a load is one of any instrument");
	strcpy(runs[0].instrument, LOAD_BY_SOAKING);
	ok(died(check_against, &before) == EXIT_FAILURE, "--against: another plan is rejected");
	has(printed,
	    "its run 1 is sendfile 64k, 1 stream, soaked, not sendfile 64k, 1 stream, unsoaked\n",
	    "--against: a load by another instrument is another plan");
}

/* One session against one, then against two of which the first had another server. */
static void test_sessions(void)
{
	struct plan session[2];

	plan_init();
	plan.n = 1;
	plan_set(&plan, PLAN_SERVER, "near");
	session[0] = session[1] = plan;
	plan_set(&session[0], PLAN_MACHINE, "zcc 1, host");
	plan_set(&session[1], PLAN_MACHINE, "zcc 2, host");
	plan_set(&session[0], PLAN_SERVER, "far");
	plan_set(&session[1], PLAN_DATE, "2026-11-23T05:49:20Z");
	plan_set(&session[1], PLAN_TITLE, "old cable");
	plan.before = &session[0];
	expect(text(), "one session each: a line says what that leaves open, and one what differs");
	session[1].earlier = &session[0];
	plan.before = &session[1];
	has(text(),
	    "\n  of 2026-11-23T05:49:20Z: old cable\nbefore: 2 rounds in file: zcc 1, host\nserver differs: far",
	    "each of two sessions has a line, and so has what differs from any of them");
	plan.n = 2;
}

TESTS(test_size, test_places, test_two_hosts, test_against, test_sessions, test_no_ratio,
      test_unsafe)
