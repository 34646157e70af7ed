#include "lib/load/verify.h"

#include "lib/load/soaker.h"
#include "tests/unit/script.h"

/* What --verify calls, and a machine that answers: each load is that of its instrument's next row. */
static struct {
	struct cpus cpus;
	bool opens[VERIFY_INSTRUMENTS], has_veth;
	int instrument, n, runs; /* that measures now, its loads so far, and all runs of burners */
} the;

static void script_prepare(struct gauge *g, const struct gauge_setup *s)
{
	memset(g, 0, sizeof(*g));
	the.instrument = s->soak ? VERIFY_SOAK : VERIFY_IDLE;
	the.n = 0;
	if (!the.opens[the.instrument])
		g->missing = UNSAFE_SOAKED_ALREADY;
	note("soak %d, idle %d, own %d, %s, wait %g", s->soak, s->idle, s->own, s->what, s->wait);
}

static bool script_start(double seconds)
{
	note(", start %g", seconds);
	return the.opens[the.instrument];
}

/* The fourth load is unsafe once, and so are the next two of soaking; the first of idle time is not known once. */
static void script_load(struct load *l)
{
	load_init(l);
	*l = (struct load){.load = 0.1 * ++the.n, .cpus = 4, .seconds = 1};
	if (the.n == 4 || (the.instrument == VERIFY_SOAK && (the.n == 6 || the.n == 7)))
		l->unsafe = UNSAFE_STEAL;
	else if (the.n == 1 && the.instrument == VERIFY_IDLE)
		l->load = NAN;
	note(", load");
}

static void script_open(struct burner *b, int rps_cpu, char why[DIE_MAX])
{
	memset(b, 0, sizeof(*b));
	note("open %d\n", rps_cpu);
	strcpy(why, the.has_veth ? "" : "no devices");
}

static void script_run(const struct burner_work *w, struct burner_done *d)
{
	note(", burn %g of %d/s by %d for %g s", w->share, w->rate, w->path, w->seconds);
	if (w->n > 0)
		note(w->n > 1 ? " on %d, %d" : " on %d", w->cpu[0], w->cpu[1]);
	*d = (struct burner_done){.cpu_seconds = 0.5, .count = 10 * ++the.runs};
}

static void script_yields(const struct cpus *cpus, struct yield *y)
{
	*y = (struct yield){.kept = 0.9, .late = cpus->n};
	note(", yields");
}

#define gauge_cpus(setup)          (the.cpus)
#define gauge_prepare_or_die(g, s) script_prepare(g, s)
#define gauge_start(g, seconds)    script_start(seconds)
#define gauge_begin(g, interface)  note("\n\tbegin")
#define gauge_end(g)               ((void)(g), note(", end"))
#define gauge_after(g, stop)       note(", after")
#define gauge_load(g, l)           script_load(l)
#define gauge_close(g)             note("\nclose\n")
#define soaker_yields(s, cpus, y)  script_yields(cpus, y)
#define burner_open(b, cpu, why)   script_open(b, cpu, why)
#define burner_run_or_die(b, w, d) script_run(w, d)
#define expect                     expect_of /* unit.h has one */
#include "lib/load/verify.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
#undef expect

static struct evidence evidence;
static struct verdicts verdicts;

/* Adds a load of that many CPUs, of two, to which the burner's clock adds up. */
static void add(int instrument, enum verify_load c, double cpus, double ran)
{
	const struct burner_done d = {.cpu_seconds = 2 * ran, .count = 1000};
	struct load l = {.load = cpus / 2, .uncertainty = 0.01, .cpus = 2, .seconds = 2};

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

static void test_all_pass(void)
{
	const struct verdict *v;

	fill();
	capture(STDOUT_FILENO);
	verdicts_of(&evidence, &verdicts);
	for (v = verdicts.all; v < verdicts.all + verdicts.n; v++)
		if (v->by != &by_idle_time)
			printf("%s, %s, %s: %.4g %s, %d %.4g +- %.3g, kind %d, %d loads\n", v->step,
			       v->what, v->by != NULL ? v->by->name : "-", v->measured, v->unit,
			       v->relation, v->expected, v->tolerance, v->kind, v->loads);
	expect(captured(),
	       "every line of a machine on which every step passes, but those by idle time");
	ok(verdicts_status(&verdicts) == 0 && verdicts.n == 25,
	   "where all steps pass the status is 0");
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
	add(VERIFY_SOAK, VERIFY_ZERO, 0, 0);
	ok(judged("a busy thread keeps", "")->kind == VERDICT_FAIL,
	   "with one safe load, if of nothing, the thread is judged");
}

/* Prints what each instrument's loads and figures are. */
static void measure(int rounds)
{
	const struct gauge_setup setup = {.soak = true, .wait = 3};
	const struct series *s;
	int i, k, c;

	script.calls[0] = '\0';
	the.runs = 0;
	verify_measure_or_die(&setup, rounds, &evidence);
	printf("%d CPUs, %d kept, %d late %g; %s\n", evidence.cpus, evidence.kept.n,
	       evidence.late.n, values_median(&evidence.late), evidence.no_softirqs);
	for (i = 0; i < VERIFY_INSTRUMENTS; i++) {
		printf("speed %g:", values_median(&evidence.speed[i]));
		for (c = 0; c < VERIFY_LOADS; c++) {
			s = &evidence.of[i][c];
			printf(" %d%s", c, limits_format(s->unsafe));
			for (k = 0; k < s->load.n; k++)
				printf(" %g", s->load.x[k]);
		}
		printf("\n");
	}
}

static void test_measures(void)
{
	the.cpus = (struct cpus){3, {1, 4, 5}};
	the.opens[VERIFY_SOAK] = the.opens[VERIFY_IDLE] = the.has_veth = true;
	capture(STDOUT_FILENO);
	measure(1);
	printf("%s", script.calls);
	expect(captured(), "each load once by each instrument, and one that is unsafe again");
	the.cpus.n = 1;
	the.opens[VERIFY_IDLE] = false;
	capture(STDOUT_FILENO);
	measure(2);
	the.has_veth = the.opens[VERIFY_SOAK] = false;
	the.cpus.n = 2;
	measure(1);
	printf("%s", script.calls);
	expect(captured(),
	       "two rounds of one CPU; then without an instrument, and without devices");
}

TESTS(test_measures, test_all_pass, test_failures, test_not_run, test_unsafe)
