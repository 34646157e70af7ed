#include "lib/load/verify.h"

#include "tests/unit/unit.h"

static struct evidence evidence;
static struct verdicts verdicts;

/* Adds a load of that many CPUs, of two, to which the burner's clock adds up. */
static void add(int instrument, enum verify_load c, double cpus, double ran)
{
	const struct burner_done d = {.cpu_seconds = ran, .count = 1000};
	struct load l = {.load = cpus / 2, .uncertainty = 0.01, .cpus = 2, .seconds = 1};

	evidence_add(&evidence, instrument, c, &l, &d);
}

/* Fills in a machine on which every step passes. */
static void fill(void)
{
	enum verify_load c;
	int i;

	evidence = (struct evidence){.cpus = 2, .steal = NAN};
	values_add(&evidence.kept, 0.99);
	values_add(&evidence.late, 2e-5);
	values_add(&evidence.speed[VERIFY_IDLE], 100);
	values_add(&evidence.speed[VERIFY_SOAK], 90);
	for (i = 0; i < VERIFY_INSTRUMENTS; i++) {
		add(i, VERIFY_ZERO, 0.01, 0);
		add(i, VERIFY_ZERO, -0.01, 0);
		for (c = VERIFY_BURN_10; c <= VERIFY_BURN_LAST; c++)
			add(i, c, 0.51, 0.5);
		add(i, VERIFY_BURN_BOTH, 1.02, 1);
		add(i, VERIFY_VETH, 0.8, 0.6);
		add(i, VERIFY_VETH_RPS, 0.8, 0.4);
	}
}

/* Judges the evidence, and returns the line with that text by an instrument, or by none. */
static const struct verdict *judged(const char *what, const char *instrument)
{
	const struct verdict *v;

	verdicts_of(&evidence, &verdicts);
	for (v = verdicts.all; v < verdicts.all + verdicts.n; v++)
		if (strcmp(v->what, what) == 0 &&
		    strcmp(v->by != NULL ? v->by->title : "", instrument) == 0)
			return v;
	printf("# no line '%s'\n", what);
	abort();
}

static void test_values(void)
{
	struct values v = {.n = 2, {3, 1}};

	values_add(&v, NAN);
	ok(values_median(&v) == 2, "the median of two values is their mean, and NAN is no value");
	values_add(&v, 10);
	ok(values_median(&v) == 3, "the median of three values is that in the middle");
}

static void test_all_pass(void)
{
	const struct verdict *v;

	fill();
	v = judged("slowing by soaking", "");
	ok(near(v->measured, 10) && v->kind == VERDICT_FIGURE, "the price is a figure alone");
	ok(verdicts_status(&verdicts) == 0 && verdicts.n < VERDICTS_MOST,
	   "where all steps pass the status is 0");
	v = judged("50% of a CPU", "idle time");
	ok(near(v->measured, 0.51) && near(v->expected, 0.5) && near(v->tolerance, 0.03) &&
		   v->kind == VERDICT_PASS && v->loads == 1,
	   "a burner's tolerance is the interval and a hundredth of a CPU");
}

/* Where n figures have a wrong value that line fails, and the status is 1. */
static void fails(double *figure, int n, double is, const char *what, const char *instrument)
{
	const struct verdict *v;

	fill();
	while (n-- > 0)
		figure[n] = is;
	v = judged(what, instrument);
	ok(v->kind == VERDICT_FAIL && verdicts_status(&verdicts) == 1, "%s %s: fails", what,
	   instrument);
}

static void test_failures(void)
{
	struct series *soak = evidence.of[VERIFY_SOAK], *idle = evidence.of[VERIFY_IDLE];

	fails(evidence.kept.x, 1, 0.96, "a busy thread keeps", "");
	fails(evidence.late.x, 1, 2e-4, "delay of a wake-up", "");
	fails(soak[VERIFY_ZERO].load.x, 1, 0.2, "scatter (1.96 sd)", "soaking");
	fails(idle[VERIFY_ZERO].load.x, 2, 0.05, "mean", "idle time");
	fails(soak[VERIFY_BURN_95].excess.x, 1, -0.031, "95% of a CPU", "soaking");
	fails(idle[VERIFY_BURN_BOTH].excess.x, 1, 0.06, "two burners, less each", "idle time");
	fails(soak[VERIFY_VETH_RPS].load.x, 1, 0.61, "load with RPS", "soaking");
}

static void test_not_run(void)
{
	const struct verdict *v;

	fill();
	evidence.of[VERIFY_SOAK][VERIFY_VETH_RPS].ran.x[0] = 0.59;
	v = judged("load with RPS", "soaking");
	ok(v->kind == VERDICT_NOT_RUN && verdicts_status(&verdicts) == 2,
	   "softirqs that were not moved out of the tasks prove nothing, and the status is 2");
	fill();
	strcpy(evidence.no_softirqs, "no network namespace");
	v = judged("load with RPS", "idle time");
	ok(v->kind == VERDICT_NOT_RUN && strcmp(v->why, "no network namespace") == 0,
	   "without network namespaces the step is named, with the reason");
	evidence.kept.x[0] = 0.5;
	verdicts_of(&evidence, &verdicts);
	ok(verdicts_status(&verdicts) == 1, "a failure decides over a step that was not run");
}

static void test_unsafe(void)
{
	struct load l = {.load = 0.9, .cpus = 2, .seconds = 1, .unsafe = UNSAFE_STEAL};
	const struct burner_done d = {.cpu_seconds = 0.5};
	const struct verdict *v;

	fill();
	l.rates.cpu[CPU_STEAL] = 0.02;
	evidence_add(&evidence, VERIFY_SOAK, VERIFY_BURN_50, &l, &d);
	v = judged("50% of a CPU", "soaking");
	ok(v->kind == VERDICT_PASS && v->loads == 1 && v->unsafe_loads == 1 &&
		   v->unsafe == UNSAFE_STEAL && near(evidence.steal, 0.02),
	   "an unsafe load is counted, with its reason, and not judged");
	memset(evidence.of[VERIFY_SOAK], 0, sizeof(evidence.of[VERIFY_SOAK]));
	evidence_add(&evidence, VERIFY_SOAK, VERIFY_BURN_50, &l, &d);
	v = judged("50% of a CPU", "soaking");
	ok(v->kind == VERDICT_NOT_RUN, "with unsafe loads alone a step could not be run");
	evidence.kept.x[0] = 0.5;
	v = judged("a busy thread keeps", "");
	ok(v->kind == VERDICT_NOT_RUN && v->why != NULL && verdicts_status(&verdicts) == 2,
	   "without a safe load a busy machine, not the soakers, is what a thread loses time to");
}

TESTS(test_values, test_all_pass, test_failures, test_not_run, test_unsafe)
