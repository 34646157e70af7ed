#include "lib/compare/plan.h"

#include <stdarg.h>
#include <sys/random.h>
#include <sys/utsname.h>

void plan_open(struct plan *p, const struct plan_kind *kind, int runs)
{
	struct utsname u;
	uint64_t id = 0;

	uname(&u);
	*p = (struct plan){.kind = kind};
	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		die_errno("getrandom(2)");
	snprintf(p->id, sizeof(p->id), "%016" PRIx64, id);
	plan_set(p, "machine", "%s %s, %s %s %s, %s", kind->program, VERSION, u.sysname, u.release,
		 u.machine, u.nodename);
	plan_set_runs(p, runs);
}

void plan_set_runs(struct plan *p, int runs)
{
	int i, k;

	for (i = 0; i < p->n; i++) {
		for (k = 0; k < p->kind->keys; k++)
			free(p->run[i].value[k]);
		free(p->run[i].value);
	}
	free(p->run);
	p->n = runs;
	p->run = runs > 0 ? alloc_or_die((size_t)runs, sizeof(*p->run), "a plan") : NULL;
	for (i = 0; i < runs; i++)
		p->run[i].value = alloc_or_die((size_t)p->kind->keys, sizeof(*p->run->value),
					       "a plan");
}

void plan_close(struct plan *p)
{
	int i;

	plan_set_runs(p, 0);
	for (i = 0; i < p->facts; i++) {
		free(p->fact[i].key);
		free(p->fact[i].value);
	}
	free(p->fact);
	for (i = 0; i < p->failures; i++)
		free(p->failure[i]);
	free(p->failure);
	free(p->figure);
	free(p->doubts);
	free(p->result);
	*p = (struct plan){.n = 0};
}

void plan_set_value(struct plan_run *run, int key, const char *value)
{
	free(run->value[key]);
	run->value[key] = copy_or_die(value, "a plan");
}

const char *plan_value(const struct plan_run *run, int key)
{
	return run->value[key] != NULL ? run->value[key] : "";
}

const char *plan_name(const struct plan_run *run)
{
	const char *words = plan_value(run, RUN_WORDS), *setting = plan_value(run, RUN_SETTING);
	char name[TEXT_SIZE - 16] = "";
	const bool whole = string_append(name, sizeof(name), "%s%s%s",
					 *words != '\0' ? words : plan_value(run, RUN_NAME),
					 *setting != '\0' ? ", " : "", setting);

	make_printable(name);
	return text_of("%s%s", name, whole ? "" : "...");
}

/*
 * Facts.
 */

static struct fact *fact_of(const struct plan *p, const char *key)
{
	int i = 0;

	while (i < p->facts && strcmp(p->fact[i].key, key) != 0)
		i++;
	return i < p->facts ? &p->fact[i] : NULL;
}

void plan_set(struct plan *p, const char *key, const char *fmt, ...)
{
	struct fact *f = fact_of(p, key);
	va_list ap;

	if (f == NULL) {
		p->fact = realloc(p->fact, (size_t)(p->facts + 1) * sizeof(*p->fact));
		if (p->fact == NULL)
			die_errno("a plan");
		f = &p->fact[p->facts++];
		*f = (struct fact){.key = copy_or_die(key, "a plan")};
	}
	free(f->value);
	va_start(ap, fmt);
	if (vasprintf(&f->value, fmt, ap) < 0)
		die_errno("a plan");
	va_end(ap);
	if (strlen(f->value) > FACT_MOST)
		f->value[FACT_MOST] = '\0';
}

void plan_set_lines(struct plan *p, char *lines)
{
	char *key;

	while ((key = strsep(&lines, ":")) != NULL && lines != NULL)
		plan_set(p, key, "%s", strsep(&lines, "\n") + 1);
}

const char *plan_fact(const struct plan *p, const char *key)
{
	const struct fact *f = fact_of(p, key);

	return f != NULL ? f->value : "";
}

bool plan_knows(const struct plan *p, const char *key)
{
	const char *value = plan_fact(p, key[0] == '-' ? "command" : key);

	return value[strspn(value, "?")] != '\0';
}

/*
 * Figures.
 */

int plan_turn(const struct plan *p, int k)
{
	return p->rounds % 2 == 0 ? k : p->n - 1 - k;
}

/* Makes room for the round under way, in which nothing is known. */
static void make_room(struct plan *p)
{
	const size_t figures = (size_t)p->n * (size_t)p->kind->measures;
	const size_t before = (size_t)p->room;

	if (p->rounds < p->room)
		return;
	p->room = 2 * p->room + 1;
	p->figure = reallocarray(p->figure, (size_t)p->room * figures, sizeof(*p->figure));
	p->doubts = reallocarray(p->doubts, (size_t)p->room * (size_t)p->n, sizeof(*p->doubts));
	if (p->figure == NULL || p->doubts == NULL)
		die_errno("a plan");
	set_unknown(p->figure + before * figures,
		    ((size_t)p->room - before) * figures * sizeof(*p->figure));
	memset(p->doubts + before * (size_t)p->n, 0,
	       ((size_t)p->room - before) * (size_t)p->n * sizeof(*p->doubts));
}

#define MEASURES_MAX 128

/* The row of a measure: looked up once for a program. */
static const struct figure *row_of(const struct plan_kind *kind, int measure)
{
	static const struct figure *row[MEASURES_MAX];
	static const struct plan_kind *of;
	int k;

	for (k = 0; of != kind && k < kind->measures; k++)
		row[k] = figure_named(kind->measure[k].key);
	of = kind;
	return row[measure];
}

void plan_hosts(const struct ends *ends, const struct figures *host[2])
{
	host[0] = ends->local ? figures_of_host(ends->sent, ends->received) : ends->sent;
	host[1] = ends->local ? NULL : ends->received;
}

void plan_add(struct plan *p, int i, const struct ends *ends)
{
	const struct figures *const end[2] = {ends->sent, ends->received}, *host[2], *f;
	const struct measure *m = p->kind->measure;
	struct plan_run *run = &p->run[i];
	struct doubts *doubts;
	double *figure;
	unsigned unsafe = 0;
	const char *why = NULL, *method;
	int k;

	make_room(p);
	plan_hosts(ends, host);
	if (ends->sent != NULL)
		p->of_requests = !isnan(ends->sent->requests.n);
	figure = p->figure + (p->rounds * p->n + i) * p->kind->measures;
	for (k = 0; k < p->kind->measures; k++, m++) {
		f = host[m->end];
		if (!m->is_of_load && (!m->is_of_host || f != NULL))
			f = end[m->end];
		if (f != NULL && plan_has(p, k))
			figure[k] = figure_value(row_of(p->kind, k), f);
	}
	doubts = &p->doubts[p->rounds * p->n + i];
	for (k = 0; k < 2; k++)
		if (host[k] != NULL) {
			if (!isnan(host[k]->host.load))
				doubts->unsafe[k] = host[k]->host.unsafe;
			else if (no_load_is_told(host[k]->host.no_load))
				why = no_load_text(host[k]->host.no_load);
			doubts->profile[k] = host[k]->host.profile_unsafe[0] != '\0';
			unsafe |= doubts->unsafe[k];
		}
	run->unsafe_rounds += unsafe != 0;
	p->unmeasured += why != NULL;
	p->no_load = why != NULL ? why : p->no_load;
	for (k = 0; k < UNSAFE_REASONS; k++)
		p->unsafe_runs[k] += (unsafe & 1u << k) != 0;
	method = end[1] != NULL ? end[1]->method : "";
	if (end[0] != NULL && (!run->is_measured || strcmp(run->receiver, method) != 0))
		strcpy(run->receiver, run->is_measured ? "" : method);
	run->is_measured |= end[0] != NULL;
	p->rounds = ++p->added / p->n;
}

bool plan_has(const struct plan *p, int measure)
{
	const struct measure *m = &p->kind->measure[measure];

	return p->of_requests ? !m->is_of_bytes : !m->is_of_requests;
}

void plan_fail(struct plan *p, int i, const char *why)
{
	p->failure = reallocarray(p->failure, (size_t)p->failures + 1, sizeof(*p->failure));
	if (p->failure == NULL)
		die_errno("a plan");
	p->failure[p->failures++] = copy_or_die(why, "a plan");
	plan_add(p, i, &(struct ends){.sent = NULL});
}

double plan_figure(const struct plan *p, int i, int measure, int round)
{
	const struct measure *m = &p->kind->measure[measure];
	const int at = round * p->n + i;

	if (p->safe_only && m->is_of_load && p->doubts[at].unsafe[m->end] != 0)
		return NAN;
	return p->figure[at * p->kind->measures + measure];
}

/* A measure of run i: that of each round, or the means of each session, the last first. */
struct sample {
	double x[PLAN_ROUNDS_MAX];
	int n;
	double shared; /* half width of the interval of what these have in common, as a share */
};

static int rounds_of(const struct plan *p, int i, int measure, double x[PLAN_ROUNDS_MAX])
{
	int k;

	for (k = 0; k < p->rounds && k < PLAN_ROUNDS_MAX; k++)
		x[k] = plan_figure(p, i, measure, k);
	return k;
}

static double mean_of_rounds(const struct plan *p, int i, int measure)
{
	double x[PLAN_ROUNDS_MAX], mean, sd;

	mean_of(x, measure >= 0 ? rounds_of(p, i, measure, x) : 0, &mean, &sd);
	return mean;
}

/* The measure that is this row of an end; -1: there is none. */
static int measure_named(const struct plan *p, const char *key, int end)
{
	const struct measure *m = p->kind->measure;
	int k = 0;

	while (k < p->kind->measures && (m[k].end != end || strcmp(m[k].key, key) != 0))
		k++;
	return k < p->kind->measures ? k : -1;
}

/* An error of run i's load as a share of it, which is the error of the logarithm of a cost. */
static double share_of(const struct plan *p, int i, int end, double error)
{
	return error / fabs(mean_of_rounds(p, i, measure_named(p, "load_percent", end)));
}

/*
 * The half width of the interval, as such a share, of what all rounds of run i share.  Of a receipt it is not known
 * which part that is.  As a receiver keeps one baseline for many clients, all of its uncertainty counts as shared.  The
 * part of it that varies counts twice then, also in the scatter of the rounds: the interval is too wide rather than too
 * narrow.
 */
static double shared_share(const struct plan *p, int i, int measure)
{
	const struct measure *m = &p->kind->measure[measure];
	double shared;

	if (!m->is_of_load)
		return 0;
	shared = mean_of_rounds(p, i, measure_named(p, "load_shared_percent", m->end));
	if (isnan(shared))
		shared = mean_of_rounds(p, i, measure_named(p, "load_uncertainty_percent", m->end));
	return share_of(p, i, m->end, shared);
}

bool plan_is_same_instrument(const struct plan_run *a, const struct plan_run *b)
{
	return strcmp(plan_value(a, RUN_INSTRUMENT), plan_value(b, RUN_INSTRUMENT)) == 0;
}

bool plan_is_same_run(const struct plan_run *a, const struct plan_run *b)
{
	return strcmp(plan_value(a, RUN_SETTING), plan_value(b, RUN_SETTING)) == 0 &&
	       strcmp(plan_value(a, RUN_WORDS), plan_value(b, RUN_WORDS)) == 0;
}

/*
 * How often run i ends a round and begins the next, so that both share the baseline between them.
 */
static int neighbours(const struct plan *p, int i)
{
	int k;

	/* With both instruments alternately, each run starts its instrument anew. */
	for (k = 1; k < p->n; k++)
		if (!plan_is_same_instrument(&p->run[0], &p->run[k]))
			return 0;
	if (p->n == 1)
		return p->rounds - 1;
	return i == 0 ? (p->rounds - 1) / 2 : i == p->n - 1 ? p->rounds / 2 : 0;
}

/*
 * The half width of the interval, as such a share, of what neighbours have in common and the rounds' scatter
 * lacks.  A baseline that errs by b with the variance v moves the loads before and after it by b / 2, so
 * that these have the covariance v / 4, and the drift of a run has the variance 2 v.  If all n rounds are
 * neighbours, the variance of their mean is s^2 / n + v / (2 n), where s^2 is what they scatter.
 */
static double neighbour_share(const struct plan *p, int i, int measure)
{
	const struct measure *m = &p->kind->measure[measure];
	const int drift = measure_named(p, "drift_percent", m->end);
	double x[PLAN_ROUNDS_MAX], square, sd;
	int k, n;

	if (p->rounds < 2 || !m->is_of_load || drift < 0)
		return 0;
	n = rounds_of(p, i, drift, x);
	for (k = 0; k < n; k++)
		x[k] *= x[k];
	if (mean_of(x, n, &square, &sd) == 0)
		return 0;
	return share_of(p, i, m->end,
			student_t(p->rounds - 1) *
				sqrt(square / 4 / p->rounds * neighbours(p, i) / (p->rounds - 1)));
}

/* An error of the logarithm makes the interval of a ratio wider. */
static struct estimate widen_ratio(struct estimate e, double error)
{
	e = statistics_widen((struct estimate){log(e.value), log(e.low), log(e.high)}, error);
	return (struct estimate){exp(e.value), exp(e.low), exp(e.high)};
}

int plan_sessions(const struct plan *p)
{
	int n = 0;

	for (; p != NULL; p = p->earlier)
		n++;
	return n;
}

unsigned plan_unsafe(const struct plan *p, int i, int measure)
{
	const struct measure *m = &p->kind->measure[measure];
	const struct doubts *doubts;
	unsigned unsafe = 0;
	int k;

	for (; p != NULL && m->is_of_load && !p->safe_only; p = p->earlier)
		for (k = 0; k < p->rounds; k++) {
			doubts = &p->doubts[k * p->n + i];
			unsafe |= doubts->unsafe[m->end];
			if (m->part == PART_GROUP && doubts->profile[m->end])
				unsafe |= UNSAFE_PROFILE;
		}
	return unsafe;
}

static void sample_of(const struct plan *p, int i, int measure, bool by_session, struct sample *s)
{
	double share;
	int known = 0;

	if (!by_session) {
		s->n = rounds_of(p, i, measure, s->x);
		s->shared = hypot(shared_share(p, i, measure), neighbour_share(p, i, measure));
		return;
	}
	s->shared = 0;
	for (s->n = 0; p != NULL && s->n < PLAN_ROUNDS_MAX; p = p->earlier) {
		s->x[s->n++] = mean_of_rounds(p, i, measure);
		share = shared_share(p, i, measure);
		if (!isnan(share)) /* else no run of the session has a load */
			s->shared += (share - s->shared) / ++known;
	}
}

static struct estimate mean_of_run(const struct plan *p, int i, int measure)
{
	struct sample s;
	struct estimate e;

	sample_of(p, i, measure, p->earlier != NULL, &s);
	e = statistics_mean(s.x, s.n);
	return statistics_widen(e, fabs(e.value) * s.shared);
}

static struct estimate ratio_to_before(const struct plan *p, int i, int measure)
{
	const bool by_session = p->earlier != NULL || p->before->earlier != NULL;
	struct sample now, then;

	sample_of(p, i, measure, by_session, &now);
	sample_of(p->before, i, measure, by_session, &then);
	return widen_ratio(statistics_ratio_unpaired(now.x, now.n, then.x, then.n),
			   hypot(now.shared, then.shared));
}

static struct estimate ratio_to_reference(const struct plan *p, int i, int measure)
{
	const int k = p->run[i].reference;
	const bool same = plan_is_same_instrument(&p->run[i], &p->run[k]) ||
			  p->kind->measure[measure].end == 1;
	const double own = shared_share(p, i, measure), other = shared_share(p, k, measure);
	double x[PLAN_ROUNDS_MAX], y[PLAN_ROUNDS_MAX];
	const int n = rounds_of(p, i, measure, x);
	struct estimate e;

	rounds_of(p, k, measure, y);
	e = statistics_ratio(x, y, n);
	if (i == k)
		return e;
	return widen_ratio(
		e, hypot(same ? fabs(own - other) : hypot(own, other),
			 hypot(neighbour_share(p, i, measure), neighbour_share(p, k, measure))));
}

static void compute(struct plan *p, bool safe_only)
{
	const int n = p->kind->measures;
	struct plan *session;
	struct result *r;
	int at;

	for (session = p; session != NULL; session = session->earlier)
		session->safe_only = safe_only;
	free(p->result);
	p->result = alloc_or_die((size_t)p->n * (size_t)n, sizeof(*p->result), "a plan");
	for (at = 0, r = p->result; at < p->n * n; at++, r++) {
		r->mean = mean_of_run(p, at / n, at % n);
		r->ratio = p->before != NULL ? ratio_to_before(p, at / n, at % n)
					     : ratio_to_reference(p, at / n, at % n);
	}
}

void plan_compute(struct plan *p, bool safe_only)
{
	if (p->before != NULL)
		compute(p->before, safe_only);
	compute(p, safe_only);
}

const struct result *plan_result(const struct plan *p, int i, int measure)
{
	return &p->result[i * p->kind->measures + measure];
}

double plan_spread(const struct plan *p, int measure)
{
	double spread = 0, least, most;
	struct sample s;
	int i, k;

	for (i = 0; i < p->n; i++) {
		sample_of(p, i, measure, true, &s);
		least = most = s.x[0];
		for (k = 1; k < s.n; k++) {
			least = fmin(least, s.x[k]);
			most = fmax(most, s.x[k]);
		}
		if (least > 0 && isfinite(most / least))
			spread = fmax(spread, most / least - 1);
	}
	return spread;
}

/*
 * Whether the measures that have a ratio are precise after all rounds, however few: those of a load, or if none of these is
 * known the others.
 */
static bool is_precise_now(const struct plan *p, double share)
{
	const struct measure *m = p->kind->measure;
	bool known = false, precise = true;
	struct estimate e;
	int of_load, i, k;

	for (of_load = 1; of_load >= 0 && !known; of_load--)
		for (k = 0; k < p->kind->measures; k++)
			for (i = 0; i < p->n && m[k].ratio_key != NULL && !m[k].is_aside &&
				    m[k].is_of_load == of_load;
			     i++) {
				e = mean_of_run(p, i, k);
				known |= !isnan(e.value);
				precise &= isnan(e.value) ||
					   statistics_half(&e) <= share * fabs(e.value);
			}
	return precise;
}

bool plan_is_precise(const struct plan *p, double share)
{
	struct plan now = *p, before;

	now.earlier = NULL; /* more rounds make no difference to those */
	before = now;
	before.rounds--;
	return p->rounds >= PLAN_ROUNDS && is_precise_now(&before, share) &&
	       is_precise_now(&now, share);
}

bool plan_is_hopeless(const struct plan *p, double share)
{
	bool hopeless = false;
	int i, k;

	for (i = 0; i < p->n; i++)
		for (k = 0; k < p->kind->measures; k++)
			hopeless |= p->kind->measure[k].ratio_key != NULL &&
				    shared_share(p, i, k) > share;
	return hopeless && p->rounds >= PLAN_ROUNDS;
}
