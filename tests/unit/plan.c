#include "lib/send/plan.h"

#include "tests/unit/unit.h"

/* A result of a host alone, or with a receiver whose load is twice as high. */
static struct send_result result(double load, uint64_t kib, bool local)
{
	struct send_result res = {.local = local, .receipts = 1, .chunk = 65536};

	figures_init(&res.sent);
	strcpy(res.sent.method, "send");
	res.sent.bytes = kib * 1024;
	res.sent.seconds = res.sent.host.seconds = 1;
	res.sent.host.load = load;
	res.sent.host.uncertainty = 0.01;
	res.sent.host.cpus = 2;
	res.sent.host.baseline = BASELINE_OWN;
	res.received = res.sent;
	res.sent.host.shared = 0.004;
	res.received.host.load = 2 * load;
	res.received.host.uncertainty = 0.02;
	res.received.host.unsafe = UNSAFE_STEAL;
	return res;
}

static void add(struct plan *p, int i, double load, uint64_t kib, bool local)
{
	const struct send_result res = result(load, kib, local);

	plan_add(p, i, &res);
}

static bool is_estimate(struct estimate e, double value, double half)
{
	return near(e.value, value) && fabs(statistics_half(&e) - half) < 1e-6 * fmax(1, half);
}

static void test_rounds(void)
{
	struct estimate e;
	struct plan p;

	plan_open(&p, 2, 3);
	add(&p, 0, 0.5, 1000, true);
	ok(p.rounds == 0, "a round is complete with its last run");
	add(&p, 1, 0.25, 2000, true);
	ok(p.rounds == 1 && strcmp(p.run[0].method, "send") == 0 && p.run[1].chunk == 65536,
	   "a run has the method and the bytes of its result");
	e = plan_mean(&p, 0, PLAN_RATE);
	ok(e.value == 1000 && isnan(e.low), "one round has no interval");
	ok(!plan_is_precise(&p, 1), "one round is not precise");
	add(&p, 0, 0.5, 1000, true);
	add(&p, 1, 0.25, 2000, true);
	ok(is_estimate(plan_mean(&p, 0, PLAN_LOAD), 0.5, 0.004),
	   "what all rounds share is in the interval of a load, however little they vary");
	ok(is_estimate(plan_mean(&p, 0, PLAN_COST), 1000, 8),
	   "half of two CPUs for a second are 1000 us for each of 1000 KiB, and the cost has "
	   "the same share of error");
	e = plan_ratio(&p, NULL, 1, PLAN_COST);
	ok(near(e.value, 0.25), "half the load for twice the bytes is a quarter of the cost");
	/* 0.8 % of one cost and 1.6 % of the other, which err to the same side. */
	ok(near(e.high / e.value, exp(0.008)) && near(e.value / e.low, exp(0.008)),
	   "in a ratio the difference of what both runs share is left");
	ok(isnan(plan_mean(&p, 0, PLAN_REMOTE_LOAD).value),
	   "a receiver on the same host has no load of its own");
	plan_close(&p);
}

/* Rounds that do not vary, then one that does. */
static void test_precise(void)
{
	struct plan p;
	int i;

	plan_open(&p, 1, 9);
	for (i = 0; i < 4; i++)
		add(&p, 0, 0.5, 1000, true);
	ok(!plan_is_precise(&p, 0.001), "four rounds are not precise, even if they do not vary");
	ok(!plan_is_hopeless(&p, 0.001), "nor is it known that more cannot be");
	add(&p, 0, 0.5, 1000, true);
	ok(!plan_is_precise(&p, 0.007) && plan_is_hopeless(&p, 0.007) &&
		   !plan_is_hopeless(&p, 0.009),
	   "a goal below what all rounds share is never reached");
	ok(plan_is_precise(&p, 0.009), "five rounds whose costs do not vary are precise");
	add(&p, 0, 0.7, 1000, true);
	ok(!plan_is_precise(&p, 0.14), "a round that differs by far makes them imprecise");
	add(&p, 0, 0.5, 1000, true);
	ok(!plan_is_precise(&p, 0.14), "a goal that is met after one round alone is not reached");
	add(&p, 0, 0.5, 1000, true);
	ok(plan_is_precise(&p, 0.14), "a goal that is met after two successive rounds is reached");
	plan_close(&p);
}

/* The order of three runs in three rounds; a round is complete whichever run is its last. */
static void test_order(void)
{
	static const int order[] = {0, 1, 2, 2, 1, 0, 0, 1, 2};
	bool same = true, complete = true;
	struct plan p;
	int i, k;

	plan_open(&p, 3, 3);
	for (k = 0; k < 9; k++) {
		i = plan_turn(&p, k % 3);
		same = same && i == order[k];
		complete = complete && p.rounds == k / 3;
		add(&p, i, 0.5, 1000, true);
	}
	ok(same, "each second round has the runs in reverse order");
	ok(complete && p.rounds == 3, "a round is complete with the last run, whichever that is");
	plan_close(&p);
}

/* Of a receiver it is not known which part of its uncertainty all rounds share. */
static void test_receiver(void)
{
	struct estimate e;
	struct plan p;
	int i;

	plan_open(&p, 2, 5);
	for (i = 0; i < 5; i++) {
		add(&p, 0, 0.5, 1000, false);
		add(&p, 1, 0.25, 1000, false);
	}
	ok(is_estimate(plan_mean(&p, 0, PLAN_REMOTE_LOAD), 1, 0.02),
	   "all of a receiver's uncertainty is in the interval");
	e = plan_ratio(&p, NULL, 1, PLAN_REMOTE_COST);
	ok(near(e.value, 0.5) && near(e.high / e.value, exp(0.02)),
	   "the receiver's ratio has the difference of 2 %% and 4 %%");
	ok(is_estimate(plan_ratio(&p, NULL, 1, PLAN_RATE), 1, 0),
	   "a throughput has no error but its scatter");
	ok(p.run[0].unsafe[1] == UNSAFE_STEAL && p.run[0].unsafe[0] == 0,
	   "the reasons of the receiver are its own");
	ok(plan_is_precise(&p, 0.041) && !plan_is_precise(&p, 0.039),
	   "the least precise cost decides, 4 %% here");
	for (i = 0; i < 5; i++)
		p.run[0].figure[PLAN_REMOTE_SHARED][i] = NAN;
	ok(!plan_is_precise(&p, 1), "a cost without an interval is not precise");
	plan_close(&p);
}

/* Rounds of one load, whose two baselines differ by 0.02 each time; alone, and as one run of two. */
static void test_neighbours(void)
{
	const double half = student_t(4) * sqrt(0.02 * 0.02 / 4 / 5);
	struct send_result res = result(0.5, 1000, true);
	struct estimate e;
	struct plan p;
	int i;

	res.sent.host.shared = 0;
	res.sent.host.drift = 0.02;
	plan_open(&p, 1, 5);
	for (i = 0; i < 5; i++)
		plan_add(&p, 0, &res);
	ok(is_estimate(plan_mean(&p, 0, PLAN_LOAD), 0.5, half),
	   "runs of one kind share baselines: their mean has a quarter of the drift's square more");
	for (i = 0; i < 5; i++)
		p.run[0].figure[PLAN_DRIFT][i] = NAN;
	ok(is_estimate(plan_mean(&p, 0, PLAN_LOAD), 0.5, 0),
	   "runs with a calibration file share no baseline with neighbours");
	plan_close(&p);
	plan_open(&p, 2, 5);
	for (i = 0; i < 10; i++)
		plan_add(&p, plan_turn(&p, i % 2), &res);
	ok(is_estimate(plan_mean(&p, 0, PLAN_LOAD), 0.5, half / sqrt(2)),
	   "each of two runs follows itself from every second round to the next");
	e = plan_ratio(&p, NULL, 1, PLAN_COST);
	ok(near(e.high, exp(half / 0.5)),
	   "and their ratio has the error of both, as one or the other follows itself each time");
	plan_close(&p);
}

/* The same load by idle time and by soaking, with baselines that differ. */
static void test_instruments(void)
{
	struct send_result res = result(0.5, 1000, true);
	struct estimate e;
	struct plan p;
	int i;

	res.sent.host.drift = 0.02;
	plan_open(&p, 2, 5);
	strcpy(p.run[0].instrument, LOAD_BY_IDLE);
	strcpy(p.run[1].instrument, LOAD_BY_SOAKING);
	for (i = 0; i < 10; i++)
		plan_add(&p, plan_turn(&p, i % 2), &res);
	ok(is_estimate(plan_mean(&p, 0, PLAN_LOAD), 0.5, 0.004),
	   "instruments in turn share no baseline");
	e = plan_ratio(&p, NULL, 1, PLAN_COST);
	ok(near(e.value, 1) && near(e.high, exp(hypot(0.008, 0.008))),
	   "the errors of two instruments are independent");
	plan_close(&p);
}

/* Two methods by two instruments. */
static void test_references(void)
{
	static const int reference[] = {0, 0, 0, 1};
	struct plan p;
	int i;

	plan_open(&p, 4, 1);
	for (i = 0; i < 4; i++)
		strcpy(p.run[i].instrument, i % 2 == 0 ? LOAD_BY_IDLE : LOAD_BY_SOAKING);
	for (i = 0; i < 4; i++)
		ok(plan_reference(&p, i) == reference[i],
		   "run %d is compared with the first of its instrument, or that with the other's",
		   i);
	plan_close(&p);
}

static void test_no_load(void)
{
	struct plan p;
	int i;

	plan_open(&p, 1, 5);
	for (i = 0; i < 5; i++)
		add(&p, 0, NAN, i % 2 == 0 ? 1000 : 1100, true);
	ok(!plan_is_precise(&p, 0.05) && plan_is_precise(&p, 0.1),
	   "without a load the throughput is to be precise");
	plan_close(&p);
}

static void test_other_plan(void)
{
	struct estimate e;
	struct plan p, before;
	int i;

	plan_open(&p, 1, 3);
	plan_open(&before, 1, 2);
	for (i = 0; i < 3; i++)
		add(&p, 0, 0.5, 1000, true);
	for (i = 0; i < 2; i++)
		add(&before, 0, 0.25, 1000, true);
	e = plan_ratio(&p, &before, 0, PLAN_COST);
	ok(near(e.value, 2) && near(e.high / 2, exp(hypot(0.008, 0.016))),
	   "against another plan, what the rounds of each share is in the interval");
	plan_close(&p);
	plan_close(&before);
}

/* Sessions of three rounds that do not vary, but from one to the next. */
static void test_sessions(void)
{
	static const double load[] = {0.2, 0.3, 0.5};
	const double error = hypot(0.004 / 0.3, (0.004 / 0.5 + 0.004 / 0.2) / 2);
	struct estimate e;
	struct plan p[3];
	int i, k;

	for (k = 0; k < 3; k++) {
		plan_open(&p[k], 1, 3);
		for (i = 0; i < 3; i++)
			add(&p[k], 0, load[k], 1000, true);
	}
	p[2].earlier = &p[0];
	ok(plan_sessions(&p[2]) == 2 && plan_sessions(&p[1]) == 1, "sessions are counted");
	ok(is_estimate(plan_mean(&p[2], 0, PLAN_RATE), 1000, 0),
	   "a mean of sessions is that of their means");
	e = plan_mean(&p[2], 0, PLAN_LOAD);
	ok(near(e.value, 0.35) && statistics_half(&e) > student_t(1) * 0.15,
	   "its interval is by the sessions, however little their rounds vary");
	e = plan_ratio(&p[1], &p[2], 0, PLAN_COST);
	/* Welch's test of one value and two, of which the logarithms have the deviation d. */
	ok(near(e.value, 0.3 / sqrt(0.2 * 0.5)) &&
		   near(log(e.high / e.value),
			hypot(student_t(1) * log(0.5 / 0.2) * M_SQRT1_2 * sqrt(1.5), error)),
	   "a ratio to two sessions is by the sessions, and one session is taken to vary as they do");
	p[0].run[0].unsafe[0] = UNSAFE_STEAL;
	p[2].run[0].unsafe[1] = UNSAFE_WEIGHT;
	ok(plan_unsafe(&p[2], 0, PLAN_COST) == UNSAFE_STEAL &&
		   plan_unsafe(&p[2], 0, PLAN_REMOTE_COST) == UNSAFE_WEIGHT &&
		   plan_unsafe(&p[2], 0, PLAN_RATE) == 0,
	   "the reasons are those of any session");
	for (k = 0; k < 3; k++)
		plan_close(&p[k]);
}

int main(void)
{
	test_sessions();
	test_rounds();
	test_order();
	test_precise();
	test_receiver();
	test_neighbours();
	test_instruments();
	test_references();
	test_no_load();
	test_other_plan();
	return done();
}
