#include "lib/load/verify.h"

#include "lib/load/yield.h"

#define TURN_SECONDS 0.5 /* in which a lone thread's speed is measured */
#define YIELD_TIMES  3   /* other programs may disturb one */

struct verify {
	const struct gauge_setup *setup;
	const struct verify_plan *plan;
	struct burner burner;
	struct cpus cpus;
	struct cpus sibling; /* the other thread of the first CPU's core; empty: there is none */
	struct evidence *evidence;
};

static const struct {
	enum burner_kind kind;
	bool first, last; /* the CPUs: a receiver is on the last */
	double share;
	int rate;
	enum burner_path path;
} cases[VERIFY_CASES] = {
	[VERIFY_ZERO] = {.kind = BURNER_REST},
	[VERIFY_BURN_10] = {BURNER_BURN, .first = true, .share = 0.1},
	[VERIFY_BURN_50] = {BURNER_BURN, .first = true, .share = 0.5},
	[VERIFY_BURN_95] = {BURNER_BURN, .first = true, .share = 0.95},
	[VERIFY_BURN_LAST] = {BURNER_BURN, .last = true, .share = 0.5},
	[VERIFY_BURN_BOTH] = {BURNER_BURN, .first = true, .last = true, .share = 0.5},
	[VERIFY_VETH] = {BURNER_STREAM, .first = true, .last = true, .path = BURNER_VETH},
	[VERIFY_VETH_RPS] = {BURNER_STREAM, .first = true, .last = true, .path = BURNER_VETH_RPS},
	[VERIFY_WAKE_1] = {BURNER_WAKE, .last = true, .rate = 1000},
	[VERIFY_WAKE_5] = {BURNER_WAKE, .last = true, .rate = 5000},
	[VERIFY_WAKE_20] = {BURNER_WAKE, .last = true, .rate = 20000},
	[VERIFY_STREAM] = {BURNER_STREAM, .first = true, .last = true, .path = BURNER_LOOPBACK},
};

static void work_of(const struct verify *v, enum verify_case c, struct burner_work *w)
{
	*w = (struct burner_work){.kind = cases[c].kind,
				  .seconds = v->plan->seconds,
				  .share = cases[c].share,
				  .rate = cases[c].rate,
				  .path = cases[c].path};
	if (cases[c].first)
		w->cpu[w->n++] = v->cpus.id[0];
	if (cases[c].last)
		w->cpu[w->n++] = v->cpus.id[v->cpus.n - 1];
}

/* Whether this machine has what the case needs. */
static bool is_possible(const struct verify *v, enum verify_case c)
{
	if (cases[c].kind == BURNER_BURN && cases[c].last)
		return v->cpus.n > 1;
	return cases[c].path == BURNER_LOOPBACK || v->evidence->no_softirqs[0] == '\0';
}

/* Measures a load between two marks. */
static void measure(const struct verify *v, struct gauge *g, struct gauge_mark mark[2], int i,
		    enum verify_case c)
{
	struct burner_work work;
	struct burner_done done;
	struct load l;
	int tries = 2;

	if (!is_possible(v, c))
		return;
	work_of(v, c, &work);
	do {
		gauge_next(g);
		gauge_begin(g, &mark[0], NULL);
		burner_run_or_die(&v->burner, &work, &done);
		gauge_end(g, &mark[1], NULL);
		gauge_after(g, &mark[0], &mark[1], NULL);
		gauge_load(g, &mark[0], &mark[1], &l);
	} while ((l.unsafe != 0 || isnan(l.load)) && --tries > 0);
	evidence_add(v->evidence, i, c, &l, &done);
}

/* Measures all cases; `backwards` from the last on. */
static void measure_cases(const struct verify *v, struct gauge *g, int i, bool backwards)
{
	struct gauge_mark mark[2];
	enum verify_case c;
	int k, n;

	gauge_mark_open(g, &mark[0]);
	gauge_mark_open(g, &mark[1]);
	for (k = 0; k < VERIFY_CASES; k++) {
		c = (enum verify_case)(backwards ? VERIFY_CASES - 1 - k : k);
		for (n = c == VERIFY_ZERO ? v->plan->zeros : 1; n > 0; n--)
			measure(v, g, mark, i, c);
	}
	gauge_mark_close(&mark[0]);
	gauge_mark_close(&mark[1]);
}

static void measure_speed(const struct verify *v, int i)
{
	const struct burner_work work = {
		.kind = BURNER_TURN, .seconds = TURN_SECONDS, .cpu = {v->cpus.id[0]}, .n = 1};
	struct burner_done done;

	burner_run_or_die(&v->burner, &work, &done);
	values_add(&v->evidence->speed[i], done.count / done.cpu_seconds);
}

static void measure_yield(const struct verify *v)
{
	struct yield y;
	int k;

	for (k = 0; k < YIELD_TIMES; k++) {
		yield_measure(&v->cpus, &y);
		values_add(&v->evidence->kept, y.kept);
		values_add(&v->evidence->late, y.late);
	}
}

/* All that is measured by one instrument while it is open, or while a core's other thread is soaked. */
static void measure_with(const struct verify *v, int i, bool backwards)
{
	struct gauge_setup setup = *v->setup;
	struct gauge g;
	int c;

	setup.soak = i != VERIFY_IDLE;
	setup.idle = i == VERIFY_IDLE;
	setup.own = true;
	setup.what = "load";
	if (i == VERIFY_SIBLING) {
		setup.n_cpus = 0;
		setup.on = v->sibling;
	}
	gauge_prepare_or_die(&g, &setup);
	if (gauge_start(&g, v->plan->seconds)) {
		measure_speed(v, i);
		if (i == VERIFY_SOAK)
			measure_yield(v);
		if (i != VERIFY_SIBLING)
			measure_cases(v, &g, i, backwards);
	}
	for (c = 0; c < VERIFY_CASES && i != VERIFY_SIBLING; c++)
		v->evidence->of[i][c].unsafe |= g.missing;
	gauge_stop(&g);
}

/* The other hardware thread of a CPU's core, if it is online. */
static void find_sibling(int cpu, struct cpus *sibling)
{
	char path[128], line[256];
	struct cpus list;
	int i;

	sibling->n = 0;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
		 cpu);
	if (file_read_line(path, line, sizeof(line)) != 0 || parse_cpus(line, &list) != NULL)
		return;
	for (i = 0; i < list.n && sibling->n == 0; i++)
		if (list.id[i] != cpu)
			sibling->id[sibling->n++] = list.id[i];
}

void verify_measure_or_die(const struct gauge_setup *setup, const struct verify_plan *plan,
			   struct evidence *e)
{
	struct verify v = {.setup = setup, .plan = plan, .evidence = e};
	int round;

	*e = (struct evidence){.steal = NAN};
	gauge_cpus(setup, &v.cpus);
	find_sibling(v.cpus.id[0], &v.sibling);
	e->cpus = v.cpus.n;
	burner_start_or_die(&v.burner, v.cpus.id[v.cpus.n / 2]);
	snprintf(e->no_softirqs, sizeof(e->no_softirqs), "%s",
		 v.cpus.n > 1 ? v.burner.why : "softirqs cannot move: there is one CPU");
	for (round = 0; round < plan->rounds; round++) {
		measure_with(&v, round % 2 == 0 ? VERIFY_SOAK : VERIFY_IDLE, round % 2 == 1);
		if (v.sibling.n > 0)
			measure_with(&v, VERIFY_SIBLING, false);
		measure_with(&v, round % 2 == 0 ? VERIFY_IDLE : VERIFY_SOAK, round % 2 == 1);
	}
	burner_stop(&v.burner);
}
