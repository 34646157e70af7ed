#include "lib/compare/verdict.h"

#include "lib/send/trials.h"
#include "tests/unit/unit.h"

static struct plan now[3], then[3];

/*
 * A session of two runs: the costs of the second one are `times` those of the first, by up to `scatter` more or less,
 * and their throughputs as much lower.
 */
static void fill(struct plan *p, int rounds, double times, double scatter, const char *instrument)
{
	int i, k;
	double cost;

	plan_close(p);
	plan_open(p, &trials_kind, 2, 9);
	p->rounds = rounds;
	for (i = 0; i < 2; i++) {
		plan_set_value(&p->run[i], METHOD, i == 0 ? "sendfile" : "send");
		plan_set_value(&p->run[i], INSTRUMENT, instrument);
		for (k = 0; k < rounds; k++) {
			cost = i == 0 ? 1 : times * (1 + scatter * (k % 3 - 1));
			p->run[i].figure[COST][k] = cost;
			p->run[i].figure[LOAD][k] = cost / 10;
			p->run[i].figure[SHARED][k] = p->run[i].figure[UNCERTAINTY][k] = 0;
			p->run[i].figure[RATE][k] = 1e9 / cost;
		}
	}
}

/* Makes a chain of three sessions of each side, whose second run costs as much more now. */
static void fill_sessions(double times, double scatter)
{
	int i;

	for (i = 0; i < 3; i++) {
		fill(&then[i], 3, 1 + scatter * (i - 1), 0, LOAD_BY_IDLE);
		fill(&now[i], 3, times * (1 + scatter * (i - 1)), 0, LOAD_BY_IDLE);
		then[i].earlier = i > 0 ? &then[i - 1] : NULL;
		now[i].earlier = i > 0 ? &now[i - 1] : NULL;
	}
	now[2].before = &then[2];
}

/* Judges it by 10 %: the status must be this, and one line must have the text, or there must be none. */
static void judges(struct plan *p, int status, const char *line, const char *title)
{
	int got;

	capture(STDERR_FILENO);
	got = verdict_print(p, 0.1, NULL);
	captured();
	ok(got == status, "%s: the status is %d", title, status);
	if (*line == '\0')
		is(printed, "", "and nothing is printed");
	else
		has(printed, line, "and the line says why");
}

static void test_rounds(void)
{
	int i;

	fill(&now[0], 5, 1.3, 0.01, LOAD_BY_IDLE);
	judges(&now[0], EXIT_ABOVE,
	       "verdict: send costs 1.30 (1.28 to 1.31) times as much as sendfile: over the limit of "
	       "--fail-above 10%\n",
	       "an interval that lies above the limit");
	fill(&now[0], 5, 1.11, 0.01, LOAD_BY_IDLE);
	judges(&now[0], EXIT_SUCCESS, "", "an interval around the limit, of a ratio above it");
	fill(&now[0], 5, 0.5, 0.01, LOAD_BY_IDLE);
	judges(&now[0], EXIT_SUCCESS, "", "a run that costs less");
	fill(&now[0], 5, 1.1, 0.12, LOAD_BY_IDLE);
	judges(&now[0], EXIT_SUCCESS, "too wide an interval to see 10%",
	       "an interval in which the limit is hidden");
	fill(&now[0], 5, 0.5, 0.2, LOAD_BY_IDLE);
	judges(&now[0], EXIT_SUCCESS, "", "a wide interval that lies below the limit as a whole");
	fill(&now[0], 5, 0.5, 0.2, "");
	judges(&now[0], EXIT_SUCCESS, "", "a wide interval of a throughput that has risen");
	fill(&now[0], 5, 1.3, 0.01, "");
	judges(&now[0], EXIT_ABOVE, "verdict: send has 0.77 (0.76 to 0.78) times the throughput",
	       "without a load the throughput decides");
	fill(&now[0], 5, 1.11, 0.01, "");
	judges(&now[0], EXIT_SUCCESS, "", "as far as its interval does");
	/* Rounds with `?` do not decide, whatever their figures are. */
	fill(&now[0], 5, 1, 0.01, LOAD_BY_IDLE);
	for (i = 0; i < 2; i++) {
		now[0].run[i].reasons[0][i] = UNSAFE_STEAL;
		now[0].run[1].figure[COST][i] = 9;
	}
	judges(&now[0], EXIT_SUCCESS, "", "an unsafe load in two rounds");
	now[0].run[0].reasons[0][3] = UNSAFE_STEAL;
	judges(&now[0], EXIT_FAILURE,
	       "verdict: not judged: send: 2 of 5 rounds have a load without ?: 3 are needed\n",
	       "two rounds that are safe");
	now[0].run[0].reasons[0][4] = UNSAFE_STEAL;
	judges(&now[0], EXIT_FAILURE, "send: 1 of 5 rounds has a load without ?: 3 are needed\n",
	       "one round that is safe");
	fill(&now[0], 5, NAN, 0, LOAD_BY_IDLE);
	judges(&now[0], EXIT_FAILURE, "not judged: send: 0 of 5 rounds",
	       "a load that is not known");
	fill(&now[0], 5, -1, 0.01, LOAD_BY_IDLE);
	judges(&now[0], EXIT_FAILURE, "not judged: send: a figure is not above 0",
	       "a load below 0");
	fill(&now[0], 5, 1.3, 0.01, LOAD_BY_IDLE);
	plan_set_value(&now[0].run[1], INSTRUMENT, LOAD_BY_SOAKING);
	judges(&now[0], EXIT_SUCCESS, "", "runs by two instruments, which are not compared");
}

static void test_receiver(void)
{
	int i, k;

	fill(&now[0], 5, 1, 0.01, LOAD_BY_IDLE);
	for (i = 0; i < 2; i++)
		for (k = 0; k < 5; k++) {
			now[0].run[i].figure[REMOTE_COST][k] = 1 + i;
			now[0].run[i].figure[REMOTE_LOAD][k] = 0.1;
			now[0].run[i].figure[REMOTE_UNCERTAINTY][k] = 0;
		}
	judges(&now[0], EXIT_ABOVE, "send costs the receiver 2.00",
	       "a receiver's cost, if it is known");
	fill_sessions(1, 0.01);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 3; k++)
			then[i].run[1].figure[REMOTE_COST][k] = 1;
	judges(&now[2], EXIT_FAILURE, "not judged: send: 0 sessions now and 3 before",
	       "a receiver's cost that was known before only");
}

/* A name of which 600 bytes stand in the sentence twice is cut, at a character, and the reason is there. */
static void test_long_name(void)
{
	char name[601] = "x";
	int i;

	for (i = 1; i + 2 < (int)sizeof(name); i += 2)
		strcpy(name + i, "\xc3\xa4");
	fill_sessions(1.3, 0.01);
	for (i = 0; i < 3; i++) {
		plan_set_value(&now[i].run[1], SETTING, name);
		plan_set_value(&then[i].run[1], SETTING, name);
	}
	judges(&now[2], EXIT_ABOVE, ": over the limit of --fail-above 10%\n",
	       "a long name leaves room for what the sentence has to say");
	has(printed, "\xc3\xa4... now costs", "and is cut at a character");
}

static void test_sessions(void)
{
	struct json j = {.depth = 0};
	int i;

	fill_sessions(1.3, 0.01);
	judges(&now[2], EXIT_ABOVE,
	       "verdict: send now costs 1.30 (1.27 to 1.33) times as much as send before: over",
	       "three sessions a side");
	fill_sessions(1, 0.01);
	judges(&now[2], EXIT_SUCCESS, "", "three equal sessions a side");
	for (i = 0; i < 9; i++)
		now[i / 3].run[0].figure[COST][i % 3] = 1.3;
	judges(&now[2], EXIT_ABOVE, "verdict: sendfile now costs 1.30",
	       "one run of two over the limit, whichever it is");
	fill_sessions(1.3, 0.01);
	then[1].earlier = NULL;
	judges(&now[2], EXIT_FAILURE,
	       "verdict: not judged: sendfile and 1 more: 3 sessions now and 2 before have a load "
	       "without ?: 3 a side are needed\n",
	       "two sessions before");
	ok(strchr(printed, '\n')[1] == '\0', "and it is one line for both runs");
	now[2].earlier = NULL;
	judges(&now[2], EXIT_FAILURE, "and 1 more: 1 session now and 2 before", "one session now");
	fill_sessions(1.3, 0.01);
	now[0].run[1].reasons[0][0] = now[0].run[1].reasons[0][1] = UNSAFE_STEAL;
	now[0].run[1].reasons[0][2] = UNSAFE_STEAL;
	judges(&now[2], EXIT_FAILURE, "not judged: send: 2 sessions now and 3 before",
	       "a session without a safe round");
	fill_sessions(1, 0.01);
	for (i = 0; i < 3; i++)
		fill(&now[i], 3, 1, 0, "");
	now[2].before = &then[2];
	now[2].earlier = &now[1];
	now[1].earlier = &now[0];
	judges(&now[2], EXIT_FAILURE,
	       "verdict: not judged: sendfile and 1 more: its load was measured before, by idle, and is not now\n",
	       "sessions that have lost their load");
	fill_sessions(1.3, 0.01);
	capture(STDOUT_FILENO);
	json_open(&j, NULL, '{');
	verdict_print(&now[2], 0.1, &j);
	json_close(&j, '}');
	report("\n");
	is(captured(),
	   "{\"verdict\":{\"fail_above_percent\":10,\"result\":\"failed\",\"why\":[\"send now costs "
	   "1.30 (1.27 to 1.33) times as much as send before: over the limit of --fail-above "
	   "10%\"]}}\n",
	   "JSON has the verdict and its lines");
}

TESTS(test_rounds, test_receiver, test_sessions, test_long_name)
