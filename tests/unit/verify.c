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

/* Prints the status, and the first lines that fail, were not run, or have unsafe loads. */
static void show(const char *title)
{
	const struct verdict *v;
	int n = 0;

	verdicts_of(&evidence, &verdicts);
	printf("%s: status %d", title, verdicts_status(&verdicts));
	for (v = verdicts.all; v < verdicts.all + verdicts.n && n < 3; v++)
		if (v->kind == VERDICT_FAIL || v->kind == VERDICT_NOT_RUN || v->unsafe_loads > 0) {
			n++;
			printf("; %s, %s: kind %d, %.4g, %d loads, %d %s, %s", v->what,
			       v->by != NULL ? v->by->name : "-", v->kind, v->measured, v->loads,
			       v->unsafe_loads, limits_format(v->unsafe),
			       v->why != NULL ? v->why : "");
		}
	printf("\n");
}

static void test_failures(void)
{
	struct series *soak = evidence.of[VERIFY_SOAK], *idle = evidence.of[VERIFY_IDLE];
	const struct {
		const char *title;
		double *figure; /* has that value, and so has the next one of `two` */
		double is;
		bool two;
	} rows[] = {
		{"a thread loses time", evidence.kept.x, 0.96, false},
		{"a wake-up is late", evidence.late.x, 2e-4, false},
		{"loads of nothing differ", soak[VERIFY_ZERO].load.x, 0.2, false},
		{"loads of nothing are high", idle[VERIFY_ZERO].load.x, 0.05, true},
		{"a load is low", soak[VERIFY_BURN_95].excess.x, -0.031, false},
		{"loads do not add up", idle[VERIFY_BURN_BOTH].excess.x, 0.06, false},
		{"a load falls with getrusage", soak[VERIFY_VETH_RPS].load.x, 0.61, false},
		{"getrusage does not fall", soak[VERIFY_VETH_RPS].ran.x, 0.59, false},
	};
	struct load l = {.load = 0.9, .cpus = 2, .seconds = 1, .unsafe = UNSAFE_STEAL};
	const struct burner_done d = {.cpu_seconds = 0.5};
	size_t i;

	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(rows); i++) {
		fill();
		rows[i].figure[0] = rows[i].is;
		rows[i].figure[rows[i].two] = rows[i].is;
		show(rows[i].title);
	}
	fill();
	strcpy(evidence.no_softirqs, "no network namespace");
	evidence.kept.x[0] = 0.5;
	show("no devices, and a failure");
	fill();
	l.rates.cpu[CPU_STEAL] = 0.02;
	evidence_add(&evidence, VERIFY_SOAK, VERIFY_BURN_50, &l, &d);
	l.unsafe = UNSAFE_WEIGHT;
	evidence_add(&evidence, VERIFY_SOAK, VERIFY_BURN_50, &l, &d);
	show(text_of("unsafe loads, steal %g", evidence.steal));
	memset(soak, 0, sizeof(evidence.of[VERIFY_SOAK]));
	evidence_add(&evidence, VERIFY_SOAK, VERIFY_BURN_50, &l, &d);
	evidence.kept.x[0] = 0.5;
	show("unsafe loads alone, and a thread that loses time");
	add(VERIFY_SOAK, VERIFY_ZERO, 0, 0);
	show("one safe load, of nothing");
	expect(captured(), "lines of --verify that fail, or were not run, and the status");
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

TESTS(test_measures, test_all_pass, test_failures)
