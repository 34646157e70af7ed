#include "lib/compare/verdict.h"

#include "lib/send/trials.h"
#include "tests/unit/unit.h"

static struct plan now[1];

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

TESTS(test_rounds)
