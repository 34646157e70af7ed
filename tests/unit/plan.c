#include "lib/compare/plan.h"

#include "lib/send/trials.h"

#include "tests/unit/unit.h"

/* A result of a host alone, or with a receiver whose load is twice as high. */
static struct send_result result(double load, uint64_t kib, bool local)
{
	struct send_result res = {.local = local, .receipts = 1, .chunk = 65536};

	res.sent = figures_of("bytes=0 seconds=1 method=send load=1 cpus=2 uncertainty=0.01");
	res.sent.bytes = kib * 1024;
	res.sent.host.seconds = 1;
	res.sent.host.load = load;
	res.sent.host.baseline = BASELINE_OWN;
	res.received = res.sent;
	res.sent.host.shared = 0.004;
	res.received.host.load = 2 * load;
	res.received.host.uncertainty = 0.02;
	res.received.host.unsafe = UNSAFE_STEAL;
	return res;
}

static struct plan p; /* that of a test alone */

static void add(struct plan *to, int i, double load, uint64_t kib)
{
	const struct send_result res = result(load, kib, true);

	trial_add(to, i, &res);
}

static void reopen(int runs)
{
	plan_close(&p);
	plan_open(&p, &trials_kind, runs, 9);
}

/* Makes a plan of one run in so many rounds of that load. */
static void fill(struct plan *to, int rounds, double load)
{
	int i;

	plan_close(to);
	plan_open(to, &trials_kind, 1, 9);
	for (i = 0; i < rounds; i++)
		add(to, 0, load, 1000);
}

/* Makes it one of two runs by these instruments with that result in five rounds. */
static void fill_two(const struct send_result *res, const char *first, const char *second)
{
	int i;

	reopen(2);
	plan_set_value(&p.run[0], INSTRUMENT, first);
	plan_set_value(&p.run[1], INSTRUMENT, second);
	for (i = 0; i < 10; i++)
		trial_add(&p, plan_turn(&p, i % 2), res);
}

static bool is_estimate(struct estimate e, double value, double half)
{
	return near(e.value, value) && fabs(statistics_half(&e) - half) < 1e-6 * fmax(1, half);
}

/* Whether a ratio has that value, and an interval up to `error` of its logarithm on both sides. */
static bool is_ratio(struct estimate e, double value, double error)
{
	return near(e.value, value) && near(log(e.high / e.value), error) &&
	       near(log(e.value / e.low), error);
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
		ok(isnan(plan_mean(&p, 0, RATE).low) == (i == 0) && !plan_is_precise(&p, 1),
		   "one round has no interval, and %d are not precise", i + 1);
	}
	ok(p.rounds == 2 && strcmp(p.run[0].sum[0].method, "send") == 0 &&
		   plan_mean(&p, 0, RATE).value == 1000 * 8192,
	   "a run has the method and the rate of its results");
	ok(is_estimate(plan_mean(&p, 0, LOAD), 0.5, 0.004),
	   "what all rounds share is in the interval of a load, however little they vary");
	ok(is_estimate(plan_mean(&p, 0, COST), 1000, 8),
	   "half of two CPUs for a second are 1000 us for each of 1000 KiB, and the cost has "
	   "the same share of error");
	/* 0.8 % of one cost and 1.6 % of the other, which err to the same side. */
	ok(is_ratio(plan_ratio(&p, 1, COST), 0.25, 0.008),
	   "half the load for twice the bytes is a quarter of the cost, and in a ratio the "
	   "difference of what both runs share is left");
	ok(isnan(plan_mean(&p, 0, REMOTE_LOAD).value),
	   "a receiver on the same host lacks a load of its own");
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
	   "without a load the throughput is to be precise");
}

/* Of a receiver it is not known which part of its uncertainty all rounds share. */
static void test_receiver(void)
{
	struct send_result more = result(0.5, 1000, false), less = result(0.25, 1000, false);
	int i;

	reopen(2);
	for (i = 0; i < 10; i++)
		trial_add(&p, i % 2, i % 2 == 0 ? &more : &less);
	ok(is_estimate(plan_mean(&p, 0, REMOTE_LOAD), 1, 0.02),
	   "all of a receiver's uncertainty is in the interval");
	ok(is_ratio(plan_ratio(&p, 1, REMOTE_COST), 0.5, 0.02),
	   "the receiver's ratio has the difference of 2 %% and 4 %%");
	ok(is_estimate(plan_ratio(&p, 1, RATE), 1, 0), "a throughput has no error but its scatter");
	ok(plan_is_precise(&p, 0.041) && !plan_is_precise(&p, 0.039),
	   "the least precise cost decides, 4 %% here");
}

/* Rounds of one load, whose two baselines differ by 0.02 each time; alone, and as one run of two. */
static void test_neighbours(void)
{
	const double half = student_t(4) * sqrt(0.02 * 0.02 / 4 / 5);
	struct send_result res = result(0.5, 1000, true);
	int i;

	reopen(1);
	res.sent.host.shared = 0;
	res.sent.host.drift = 0.02;
	for (i = 0; i < 5; i++)
		trial_add(&p, 0, &res);
	ok(is_estimate(plan_mean(&p, 0, LOAD), 0.5, half),
	   "runs of one kind share baselines: their mean has a quarter of the drift's square more");
	for (i = 0; i < 5; i++)
		p.run[0].figure[DRIFT][i] = NAN;
	ok(is_estimate(plan_mean(&p, 0, LOAD), 0.5, 0),
	   "runs with a calibration file share no baseline with neighbours");
	fill_two(&res, "", "");
	ok(is_estimate(plan_mean(&p, 0, LOAD), 0.5, half / sqrt(2)),
	   "each of two runs follows itself from every second round to the next");
	p.rounds = 4;
	for (i = 0; i < 2; i++)
		ok(is_estimate(plan_mean(&p, i, LOAD), 0.5,
			       student_t(3) * sqrt(0.02 * 0.02 / 4 / 4 * (i + 1) / 3)),
		   "of four rounds the last run follows itself twice, and the first once");
	p.rounds = 5;
	ok(near(plan_ratio(&p, 1, COST).high, exp(half / 0.5)),
	   "the ratio of two runs has the error of both, as each follows itself in turn");
	res.sent.host.shared = 0.004;
	fill_two(&res, LOAD_BY_IDLE, LOAD_BY_SOAKING);
	ok(is_estimate(plan_mean(&p, 0, LOAD), 0.5, 0.004),
	   "instruments in turn share no baseline");
	ok(is_ratio(plan_ratio(&p, 1, COST), 1, hypot(0.008, 0.008)),
	   "the errors of two instruments are independent");
}

/* Sessions of three rounds that do not vary, but from one to the next. */
static void test_sessions(void)
{
	static const double load[] = {0.2, 0.3, 0.5, 0.25};
	/* Welch's test of one value and two, of which the logarithms have a deviation; what each shares. */
	const double scatter = student_t(1) * log(0.5 / 0.2) * M_SQRT1_2 * sqrt(1.5),
		     shared = hypot(0.004 / 0.3, (0.004 / 0.5 + 0.004 / 0.2) / 2);
	struct estimate e, with;
	static struct plan s[4], none;
	int k;

	for (k = 0; k < 4; k++)
		fill(&s[k], 3, load[k]);
	s[2].before = &s[3];
	ok(is_ratio(plan_ratio(&s[2], 0, COST), 2, hypot(0.008, 0.016)),
	   "against another plan, what the rounds of each share is in the interval");
	s[2].earlier = &s[0];
	ok(plan_sessions(&s[2]) == 2 && plan_sessions(&s[1]) == 1, "sessions are counted");
	ok(is_estimate(plan_mean(&s[2], 0, RATE), 1000 * 8192, 0),
	   "a mean of sessions is that of their means");
	e = plan_mean(&s[2], 0, LOAD);
	ok(near(e.value, 0.35) && statistics_half(&e) > student_t(1) * 0.15,
	   "the interval of a mean of sessions is by these, however little their rounds vary");
	ok(near(plan_spread(&s[2], LOAD), 1.5), "the means of two sessions differ by 150 %%");
	fill(&none, 3, NAN);
	s[0].earlier = &none;
	with = plan_mean(&s[2], 0, LOAD);
	ok(near(with.value, e.value) && near(statistics_half(&with), statistics_half(&e)),
	   "a session without a load changes neither the mean of the others nor its interval");
	s[0].earlier = NULL;
	s[1].before = &s[2];
	ok(is_ratio(plan_ratio(&s[1], 0, COST), 0.3 / sqrt(0.2 * 0.5), hypot(scatter, shared)),
	   "a ratio to two sessions is by the sessions, and one session is taken to vary as they do");
	s[0].run[0].unsafe[0] = UNSAFE_STEAL;
	s[2].run[0].unsafe[1] = UNSAFE_WEIGHT;
	ok(plan_unsafe(&s[2], 0, COST) == UNSAFE_STEAL &&
		   plan_unsafe(&s[2], 0, REMOTE_COST) == UNSAFE_WEIGHT &&
		   plan_unsafe(&s[2], 0, RATE) == 0,
	   "the reasons of sessions are those of any of them");
}

TESTS(test_sessions, test_rounds, test_precise, test_receiver, test_neighbours)
