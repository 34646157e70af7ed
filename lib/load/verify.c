#include "lib/load/verify.h"

#include "lib/load/statistics.h"

#define LOAD_SECONDS 1
#define TURN_SECONDS 0.5 /* in which a lone thread's speed is measured */
#define YIELD_TIMES  3   /* other programs may disturb one */

/*
 * By how much a load may exceed the burner's own CPU time, in CPUs: an instrument also sees a hundred timer interrupts
 * and wake-ups a second.
 */
#define BURNER_TOLERANCE 0.01

/*
 * Evidence.
 */

void values_add(struct values *v, double x)
{
	if (!isnan(x) && v->n < VALUES_MOST)
		v->x[v->n++] = x;
}

double values_median(const struct values *v)
{
	struct values sorted = *v;

	return median_of(sorted.x, sorted.n);
}

void evidence_add(struct evidence *e, int instrument, enum verify_load c, const struct load *l,
		  const struct burner_done *d)
{
	struct series *s = &e->of[instrument][c];
	const double ran = d->cpu_seconds / l->seconds, excess = l->load * l->cpus - ran;

	e->steal = fmax(e->steal, l->rates.cpu[CPU_STEAL]);
	if (l->unsafe != 0 || isnan(l->load)) {
		s->unsafe_loads++;
		s->unsafe |= l->unsafe;
		return;
	}
	values_add(&s->load, l->load * l->cpus);
	values_add(&s->half, l->uncertainty * l->cpus);
	values_add(&s->ran, ran);
	values_add(&s->excess, excess);
}

/*
 * Judging.
 */

/* A load by one instrument, whose lines are appended. */
struct judge {
	const struct evidence *e;
	struct verdicts *v;
	int instrument;
	enum verify_load c;
	const char *what; /* the text of its line */
};

/* The medians of a series. */
struct medians {
	double load, half, ran, excess;
};

/* The medians of a load by the same instrument. */
static struct medians medians_of(const struct judge *j, enum verify_load c)
{
	const struct series *s = &j->e->of[j->instrument][c];

	return (struct medians){values_median(&s->load), values_median(&s->half),
				values_median(&s->ran), values_median(&s->excess)};
}

/* Appends a line with a figure alone. */
static struct verdict *line(struct verdicts *v, const char *step, const char *what, double measured,
			    const char *unit)
{
	struct verdict *r = &v->all[v->n++];

	*r = (struct verdict){.step = step, .what = what, .unit = unit, .measured = measured};
	r->expected = r->tolerance = NAN;
	r->kind = isnan(measured) ? VERDICT_NOT_RUN : VERDICT_FIGURE;
	return r;
}

/* Appends a line about a load by an instrument. */
static struct verdict *line_of(const struct judge *j, enum verify_load c, const char *step,
			       const char *what, double measured)
{
	const struct series *s = &j->e->of[j->instrument][c];
	struct verdict *r = line(j->v, step, what, measured, "CPUs");

	r->by = j->instrument == VERIFY_SOAK ? &by_soaking : &by_idle_time;
	r->loads = s->load.n;
	r->unsafe_loads = s->unsafe_loads;
	r->unsafe = s->unsafe;
	return r;
}

static void expect(struct verdict *r, enum verdict_relation relation, double expected,
		   double tolerance)
{
	const double above = r->measured - expected;
	const double off = relation == EXPECT_EQUAL ? fabs(above) : relation * above;

	r->relation = relation;
	r->expected = expected;
	r->tolerance = tolerance;
	r->kind = off <= tolerance ? VERDICT_PASS : VERDICT_FAIL;
	if (isnan(off + tolerance))
		r->kind = VERDICT_NOT_RUN;
}

static void cannot_be_run(struct verdict *r, const char *why)
{
	r->kind = VERDICT_NOT_RUN;
	r->why = why;
}

/*
 * The standard deviation of n loads is itself wrong by a share of about 1 / sqrt(2 (n - 1)).  The scatter of the loads
 * of nothing is known if there are two or more.
 */
static void judge_zero(const struct judge *j)
{
	const struct values *load = &j->e->of[j->instrument][j->c].load;
	const double half = medians_of(j, j->c).half;
	double mean, sd;

	mean_of(load->x, load->n, &mean, &sd);
	expect(line_of(j, j->c, "zero", "mean", sd >= 0 ? mean : NAN), EXPECT_EQUAL, 0,
	       hypot(2 * sd / sqrt(load->n), half));
	expect(line_of(j, j->c, "zero", "scatter (1.96 sd)", 1.96 * sd), EXPECT_AT_MOST, half,
	       half * 1.96 / sqrt(2 * (load->n - 1)));
	line_of(j, j->c, "zero", "detection limit", fmax(half, 1.96 * sd));
}

/* The burners' CPU times differ from run to run: the errors are compared, not the loads. */
static void judge_burner(const struct judge *j)
{
	const struct medians m = medians_of(j, j->c);

	expect(line_of(j, j->c, "burner", j->what, m.ran + m.excess), EXPECT_EQUAL, m.ran,
	       m.half + BURNER_TOLERANCE);
}

static void judge_sum(const struct judge *j)
{
	const struct medians both = medians_of(j, j->c), first = medians_of(j, VERIFY_BURN_50);
	const struct medians last = medians_of(j, VERIFY_BURN_LAST);

	if (j->e->cpus > 1)
		expect(line_of(j, j->c, "sum", "two burners, less each",
			       both.excess - first.excess - last.excess),
		       EXPECT_EQUAL, 0, hypot(both.half, hypot(first.half, last.half)));
}

/*
 * The burner's own clock is what getrusage(2) has of both ends.  An instrument that saw no softirqs would see
 * the load fall by as much as this clock.  The work itself may fall by less, as it moves to other caches.  The
 * median of n loads errs less than one of them.
 */
static void judge_softirqs(const struct judge *j)
{
	const struct medians off = medians_of(j, VERIFY_VETH), on = medians_of(j, j->c);
	const double half = hypot(off.half, on.half) / sqrt(j->e->of[j->instrument][j->c].load.n);
	struct verdict *usage, *r;

	if (j->e->no_softirqs[0] != '\0') {
		cannot_be_run(line_of(j, j->c, "softirq", "load with RPS", NAN), j->e->no_softirqs);
		return;
	}
	line_of(j, VERIFY_VETH, "softirq", "getrusage without RPS", off.ran);
	usage = line_of(j, j->c, "softirq", "getrusage with RPS", on.ran);
	expect(usage, EXPECT_AT_MOST, off.ran - 2 * half, 0);
	line_of(j, VERIFY_VETH, "softirq", "load without RPS", off.load);
	r = line_of(j, j->c, "softirq", "load with RPS", on.load);
	expect(r, EXPECT_AT_LEAST, off.load - (off.ran - on.ran) + half, 0);
	if (usage->kind == VERDICT_FAIL) {
		cannot_be_run(usage, "getrusage did not fall by twice the interval of the load");
		cannot_be_run(r, usage->why);
	}
}

/*
 * Loads.
 */

static const struct {
	struct burner_work work;
	enum { FIRST = 1, LAST, BOTH } cpus;  /* of those measured: a receiver is on the last */
	void (*judge)(const struct judge *j); /* NULL: the load is judged together with another */
	const char *what;                     /* the text of its line, if it has one */
} loads[VERIFY_LOADS] = {
	[VERIFY_ZERO] = {{.share = 0}, 0, judge_zero, NULL},
	[VERIFY_BURN_10] = {{.share = 0.1, .rate = 100}, FIRST, judge_burner, "10% of a CPU"},
	[VERIFY_BURN_50] = {{.share = 0.5, .rate = 100}, FIRST, judge_burner, "50% of a CPU"},
	[VERIFY_BURN_95] = {{.share = 0.95, .rate = 100}, FIRST, judge_burner, "95% of a CPU"},
	[VERIFY_BURN_LAST] = {{.share = 0.5, .rate = 100}, LAST, NULL, NULL},
	[VERIFY_BURN_BOTH] = {{.share = 0.5, .rate = 100}, BOTH, judge_sum, NULL},
	[VERIFY_VETH] = {{.rate = 2000, .path = BURNER_VETH}, BOTH, NULL, NULL},
	[VERIFY_VETH_RPS] = {{.rate = 2000, .path = BURNER_VETH_RPS}, BOTH, judge_softirqs, NULL},
};

/*
 * Measuring.
 */

struct verify {
	const struct gauge_setup *setup;
	int zeros; /* loads of nothing with each instrument in each round */
	struct burner burner;
	struct cpus cpus;
	struct evidence *evidence;
};

static void measure_load(const struct verify *v, struct gauge *g, int i, enum verify_load c)
{
	struct burner_work work = loads[c].work;
	struct burner_done done;
	struct load l;
	int tries = 2;

	work.seconds = LOAD_SECONDS;
	if (loads[c].cpus & FIRST)
		work.cpu[work.n++] = v->cpus.id[0];
	if (loads[c].cpus & LAST)
		work.cpu[work.n++] = v->cpus.id[v->cpus.n - 1];
	do {
		gauge_begin(g, NULL);
		burner_run_or_die(&v->burner, &work, &done);
		gauge_end(g);
		gauge_after(g, NULL);
		gauge_load(g, &l);
	} while ((l.unsafe != 0 || isnan(l.load)) && --tries > 0);
	evidence_add(v->evidence, i, c, &l, &done);
}

static void measure_loads(const struct verify *v, struct gauge *g, int i)
{
	enum verify_load c;
	int n;

	for (c = 0; c < VERIFY_LOADS; c++) {
		if (loads[c].work.path != BURNER_NO_PATH && v->evidence->no_softirqs[0] != '\0')
			continue;
		for (n = c == VERIFY_ZERO ? v->zeros : 1; n > 0; n--)
			measure_load(v, g, i, c);
	}
}

/*
 * Measures everything with one instrument.  The speed of a thread without soakers is measured even if idle time cannot
 * be.
 */
static void measure_with(const struct verify *v, int i)
{
	const struct burner_work turns = {1, 100, .seconds = TURN_SECONDS, .cpu = {v->cpus.id[0]},
					  .n = 1};
	struct gauge_setup setup = *v->setup;
	struct burner_done done;
	struct yield y;
	struct gauge g;
	bool open;
	int c;

	setup.soak = i != VERIFY_IDLE;
	setup.idle = i == VERIFY_IDLE ? IDLE_BY_BEST : 0;
	setup.own = true;
	setup.what = "load";
	gauge_prepare_or_die(&g, &setup);
	open = gauge_start(&g, LOAD_SECONDS);
	if (open || i == VERIFY_IDLE) {
		burner_run_or_die(&v->burner, &turns, &done);
		values_add(&v->evidence->speed[i], done.count / done.cpu_seconds);
	}
	for (c = 0; c < YIELD_TIMES && open && i == VERIFY_SOAK; c++) {
		soaker_yields(g.instrument.soaker, &v->cpus, &y);
		values_add(&v->evidence->kept, y.kept);
		values_add(&v->evidence->late, y.late);
	}
	if (open)
		measure_loads(v, &g, i);
	for (c = 0; c < VERIFY_LOADS; c++)
		v->evidence->of[i][c].unsafe |= g.missing;
	gauge_close(&g);
}

void verify_measure_or_die(const struct gauge_setup *setup, int rounds, struct evidence *e)
{
	struct verify v = {.setup = setup, .zeros = rounds > 1 ? 2 : 3, .evidence = e};
	int round;

	*e = (struct evidence){.steal = NAN};
	v.cpus = gauge_cpus(setup);
	e->cpus = v.cpus.n;
	burner_open(&v.burner, v.cpus.id[v.cpus.n / 2], e->no_softirqs);
	if (v.cpus.n == 1)
		strcpy(e->no_softirqs, "softirqs cannot move: there is one CPU");
	for (round = 0; round < rounds; round++) {
		measure_with(&v, VERIFY_SOAK);
		measure_with(&v, VERIFY_IDLE);
	}
}

/*
 * Lines.
 */

/*
 * What share of its CPU the soakers leave to a thread, and by how much they slow it.  If other programs disturb the
 * thread, as when all loads were unsafe, neither can be judged.
 */
static void judge_thread(const struct evidence *e, struct verdicts *v)
{
	const double alone = values_median(&e->speed[VERIFY_IDLE]) / 100;
	const struct values *speed = e->speed;
	int c, i, safe = 0;

	expect(line(v, "yield", "a busy thread keeps", 100 * values_median(&e->kept), "%"),
	       EXPECT_AT_LEAST, 100 * YIELD_KEPT, 0);
	expect(line(v, "yield", "delay of a wake-up", 1e6 * values_median(&e->late), "us"),
	       EXPECT_AT_MOST, 1e6 * YIELD_LATE, 0);
	line(v, "price", "slowing by soaking", 100 - values_median(&speed[VERIFY_SOAK]) / alone,
	     "%");
	for (c = 0; c < VERIFY_LOADS; c++)
		safe += e->of[VERIFY_SOAK][c].load.n;
	for (i = 0; i < v->n && safe == 0; i++)
		if (v->all[i].kind != VERDICT_PASS)
			cannot_be_run(&v->all[i],
				      "all loads by soaking were unsafe: the machine is busy");
}

static void judge_loads(const struct evidence *e, struct verdicts *v)
{
	struct judge j = {.e = e, .v = v};
	int i, c;

	for (c = 0; c < VERIFY_LOADS; c++)
		for (i = 0; i < VERIFY_INSTRUMENTS && loads[c].judge != NULL; i++) {
			j.instrument = i;
			j.c = (enum verify_load)c;
			j.what = loads[c].what;
			loads[c].judge(&j);
		}
}

void verdicts_of(const struct evidence *e, struct verdicts *v)
{
	int i;

	*v = (struct verdicts){.n = 0};
	judge_thread(e, v);
	judge_loads(e, v);
	for (i = 0; i < v->n; i++)
		v->count[v->all[i].kind]++;
}

int verdicts_status(const struct verdicts *v)
{
	return v->count[VERDICT_FAIL] > 0 ? 1 : v->count[VERDICT_NOT_RUN] > 0 ? 2 : 0;
}
