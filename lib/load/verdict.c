#include "lib/load/verdict.h"

#include "lib/load/mean.h"
#include "lib/load/statistics.h"
#include "lib/load/yield.h"

/*
 * What an instrument sees of a burner beside its own CPU time, in CPUs: the timer's interrupts and the
 * wake-ups, a hundred a second.
 */
#define BURNER_TOLERANCE 0.01

static const char *const names[] = {"soaking", "idle time"};

/*
 * Evidence.
 */

void values_add(struct values *v, double x)
{
	if (!isnan(x) && v->n < VALUES_MOST)
		v->x[v->n++] = x;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double values_median(const struct values *v)
{
	struct values sorted = *v;

	if (v->n == 0)
		return NAN;
	qsort(sorted.x, (size_t)v->n, sizeof(sorted.x[0]), by_value);
	return (sorted.x[(v->n - 1) / 2] + sorted.x[v->n / 2]) / 2;
}

void evidence_add(struct evidence *e, int instrument, enum verify_case c, const struct load *l,
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
	values_add(&s->each, d->count > 0 ? excess * l->seconds / d->count : NAN);
}

/*
 * Lines.
 */

/* Appends a line with a figure alone. */
static struct verdict *line(struct verdicts *v, const char *step, const char *what, double measured,
			    const char *unit)
{
	struct verdict *r = &v->all[v->n++];

	*r = (struct verdict){.step = step, .what = what, .unit = unit, .measured = measured};
	r->half = r->expected = r->tolerance = NAN;
	r->kind = isnan(measured) ? VERDICT_NOT_RUN : VERDICT_FIGURE;
	return r;
}

/* The same of a case by an instrument. */
static struct verdict *line_of(struct verdicts *v, const struct evidence *e, int instrument,
			       enum verify_case c, const char *step, const char *what,
			       double measured, const char *unit)
{
	const struct series *s = &e->of[instrument][c];
	struct verdict *r = line(v, step, what, measured, unit);

	r->instrument = names[instrument];
	r->loads = s->load.n;
	r->unsafe_loads = s->unsafe_loads;
	r->unsafe = s->unsafe;
	return r;
}

/* Judges the figure. */
static void expect(struct verdict *r, enum verdict_relation relation, double expected,
		   double tolerance)
{
	const double beyond = r->measured - expected;
	bool holds = fabs(beyond) <= tolerance;

	r->relation = relation;
	r->expected = expected;
	r->tolerance = tolerance;
	if (relation == EXPECT_AT_LEAST)
		holds = beyond >= -tolerance;
	else if (relation == EXPECT_AT_MOST)
		holds = beyond <= tolerance;
	if (isnan(beyond) || isnan(tolerance))
		r->kind = VERDICT_NOT_RUN;
	else
		r->kind = holds ? VERDICT_PASS : VERDICT_FAIL;
}

static double half_of(const struct evidence *e, int instrument, enum verify_case c)
{
	return values_median(&e->of[instrument][c].half);
}

/*
 * Steps.
 */

static void judge_yield(const struct evidence *e, struct verdicts *v)
{
	struct verdict *r = line(v, "yield", "a busy thread keeps", 100 * values_median(&e->kept),
				 "%");

	expect(r, EXPECT_AT_LEAST, 100 * YIELD_KEPT, 0);
	r = line(v, "yield", "delay of a wake-up", 1e6 * values_median(&e->late), "us");
	expect(r, EXPECT_AT_MOST, 1e6 * YIELD_LATE, 0);
}

/* By how much a thread alone is slower, in percent. */
static double slowed(const struct evidence *e, int instrument)
{
	return 100 *
	       (1 - values_median(&e->speed[instrument]) / values_median(&e->speed[VERIFY_IDLE]));
}

static void judge_price(const struct evidence *e, struct verdicts *v)
{
	line(v, "price", "slowing by soaking", slowed(e, VERIFY_SOAK), "%");
	if (e->speed[VERIFY_SIBLING].n > 0)
		line(v, "price", "slowing by its sibling", slowed(e, VERIFY_SIBLING), "%");
}

/*
 * The standard deviation of n loads errs itself by a share of about 1 / sqrt(2 (n - 1)).  What the loads
 * of nothing scatter is known from two on.
 */
static void judge_zero(const struct evidence *e, int i, struct verdicts *v)
{
	const struct values *load = &e->of[i][VERIFY_ZERO].load;
	const double half = half_of(e, i, VERIFY_ZERO);
	double mean = NAN, sd = NAN;
	struct verdict *r;

	if (load->n > 1)
		mean_of(load->x, load->n, &mean, &sd);
	r = line_of(v, e, i, VERIFY_ZERO, "zero", "mean", mean, "CPUs");
	expect(r, EXPECT_EQUAL, 0, hypot(2 * sd / sqrt(load->n), half));
	r = line_of(v, e, i, VERIFY_ZERO, "zero", "scatter (1.96 sd)", 1.96 * sd, "CPUs");
	expect(r, EXPECT_AT_MOST, half, half * 1.96 / sqrt(2 * (load->n - 1)));
	line_of(v, e, i, VERIFY_ZERO, "zero", "detection limit", fmax(half, 1.96 * sd), "CPUs");
}

static void judge_burners(const struct evidence *e, int i, struct verdicts *v)
{
	static const struct {
		enum verify_case which;
		const char *what;
	} all[] = {{VERIFY_BURN_10, "10% of a CPU"},
		   {VERIFY_BURN_50, "50% of a CPU"},
		   {VERIFY_BURN_95, "95% of a CPU"}};
	const struct series *s;
	struct verdict *r;
	size_t k;

	for (k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		/* The burners' own times differ: errors are compared, not loads. */
		s = &e->of[i][all[k].which];
		r = line_of(v, e, i, all[k].which, "burner", all[k].what,
			    values_median(&s->ran) + values_median(&s->excess), "CPUs");
		expect(r, EXPECT_EQUAL, values_median(&s->ran),
		       half_of(e, i, all[k].which) + BURNER_TOLERANCE);
	}
}

static void judge_sum(const struct evidence *e, int i, struct verdicts *v)
{
	const struct series *s = e->of[i];
	struct verdict *r;

	if (e->cpus < 2)
		return;
	r = line_of(v, e, i, VERIFY_BURN_BOTH, "sum", "two burners, less each",
		    values_median(&s[VERIFY_BURN_BOTH].excess) -
			    values_median(&s[VERIFY_BURN_50].excess) -
			    values_median(&s[VERIFY_BURN_LAST].excess),
		    "CPUs");
	expect(r, EXPECT_EQUAL, 0,
	       hypot(half_of(e, i, VERIFY_BURN_BOTH),
		     hypot(half_of(e, i, VERIFY_BURN_50), half_of(e, i, VERIFY_BURN_LAST))));
}

/*
 * The burner's own clock is what getrusage(2) has of both ends.  It must fall by more than the
 * instrument may err: otherwise too few softirqs were moved, and the step tells nothing.
 */
static void judge_softirqs(const struct evidence *e, int i, struct verdicts *v)
{
	const struct series *off = &e->of[i][VERIFY_VETH], *on = &e->of[i][VERIFY_VETH_RPS];
	const double ran = values_median(&off->ran), load = values_median(&off->load);
	const double half = hypot(half_of(e, i, VERIFY_VETH), half_of(e, i, VERIFY_VETH_RPS));
	struct verdict *usage, *r;

	if (e->no_softirqs[0] != '\0') {
		line_of(v, e, i, VERIFY_VETH, "softirq", "load with RPS", NAN, "CPUs")->why =
			e->no_softirqs;
		return;
	}
	line_of(v, e, i, VERIFY_VETH, "softirq", "getrusage without RPS", ran, "CPUs");
	usage = line_of(v, e, i, VERIFY_VETH_RPS, "softirq", "getrusage with RPS",
			values_median(&on->ran), "CPUs");
	expect(usage, EXPECT_AT_MOST, ran - half, 0);
	line_of(v, e, i, VERIFY_VETH, "softirq", "load without RPS", load, "CPUs");
	r = line_of(v, e, i, VERIFY_VETH_RPS, "softirq", "load with RPS", values_median(&on->load),
		    "CPUs");
	expect(r, EXPECT_AT_LEAST, load, half);
	if (usage->kind != VERDICT_FAIL)
		return;
	usage->kind = r->kind = VERDICT_NOT_RUN;
	usage->why = r->why = "getrusage did not fall by more than the interval of the load";
}

static void judge_wakes(const struct evidence *e, int i, struct verdicts *v)
{
	static const struct {
		enum verify_case which;
		const char *what;
		double rate;
	} all[] = {{VERIFY_WAKE_1, "1,000 a second, each", 1e3},
		   {VERIFY_WAKE_5, "5,000 a second, each", 5e3},
		   {VERIFY_WAKE_20, "20,000 a second, each", 20e3}};
	struct verdict *r;
	size_t k;

	for (k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		r = line_of(v, e, i, all[k].which, "wake-up", all[k].what,
			    1e6 * values_median(&e->of[i][all[k].which].each), "us");
		r->half = 1e6 * half_of(e, i, all[k].which) / all[k].rate;
	}
}

/* The same stream by both instruments: what the loads scatter, and what each may err. */
static void judge_stream(const struct evidence *e, struct verdicts *v)
{
	const struct series *a = &e->of[VERIFY_SOAK][VERIFY_STREAM];
	const struct series *b = &e->of[VERIFY_IDLE][VERIFY_STREAM];
	const double soaked = values_median(&a->load), idle = values_median(&b->load);
	struct estimate ratio = statistics_ratio_unpaired(a->load.x, a->load.n, b->load.x,
							  b->load.n);
	const double error = hypot(values_median(&a->half) / soaked,
				   values_median(&b->half) / idle);
	struct verdict *r = line(v, "stream", "soaked / unsoaked", soaked / idle, "times");

	r->half = soaked / idle * error;
	if (a->load.n > 1 && b->load.n > 1)
		r->half = hypot(r->half, statistics_half(&ratio));
	r->loads = a->load.n + b->load.n;
	r->unsafe_loads = a->unsafe_loads + b->unsafe_loads;
	r->unsafe = a->unsafe | b->unsafe;
}

void verdicts_of(const struct evidence *e, struct verdicts *v)
{
	static void (*const steps[])(const struct evidence *, int, struct verdicts *) = {
		judge_zero, judge_burners, judge_sum, judge_softirqs, judge_wakes};
	size_t k;
	int i;

	v->n = 0;
	judge_yield(e, v);
	judge_price(e, v);
	for (k = 0; k < sizeof(steps) / sizeof(steps[0]); k++)
		for (i = 0; i < VERIFY_INSTRUMENTS; i++)
			steps[k](e, i, v);
	judge_stream(e, v);
}

int verdicts_status(const struct verdicts *v)
{
	int i, status = EXIT_SUCCESS;

	for (i = 0; i < v->n; i++)
		if (v->all[i].kind == VERDICT_FAIL)
			return EXIT_FAILURE;
		else if (v->all[i].kind == VERDICT_NOT_RUN)
			status = 2;
	return status;
}
