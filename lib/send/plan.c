#include "lib/send/plan.h"

#include <stdarg.h>
#include <time.h>

#include "lib/report/environment.h"
#include "lib/report/units.h"

void plan_open(struct plan *p, int runs, int rounds)
{
	const size_t n = (size_t)runs * PLAN_FIGURES;
	double *figures = alloc_or_die(n * (size_t)rounds, sizeof(*figures), "a plan");
	size_t k;
	int i;

	*p = (struct plan){.n = runs};
	p->run = alloc_or_die((size_t)runs, sizeof(*p->run), "a plan");
	for (i = 0; i < runs; i++) {
		figures_init(&p->run[i].sent);
		figures_init(&p->run[i].received);
	}
	set_unknown(figures, n * (size_t)rounds * sizeof(*figures));
	for (k = 0; k < n; k++)
		p->run[k / PLAN_FIGURES].figure[k % PLAN_FIGURES] = figures + k * (size_t)rounds;
}

void plan_close(struct plan *p)
{
	if (p->n > 0)
		free(p->run[0].figure[0]);
	free(p->run);
	free(p->text);
	*p = (struct plan){.n = 0};
}

void plan_set(struct plan *p, enum plan_setting k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->setting[k], PLAN_TEXT, fmt, ap);
	va_end(ap);
	make_printable(p->setting[k]);
}

void plan_note(struct plan *p, const struct send_options *opt, const struct send_result *res)
{
	const enum baseline_kind baseline = result_host(res)->host.baseline;
	const time_t now = time(NULL);
	char date[24];
	struct link link;
	struct tm utc;

	if (!opt->compare.wanted || p->setting[PLAN_DATE][0] != '\0')
		return;
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	plan_set(p, PLAN_DATE, "%s", date);
	plan_set(p, PLAN_TITLE, "%s", opt->title != NULL ? opt->title : "");
	plan_set(p, PLAN_SERVER, "%s", opt->server);
	plan_set(p, PLAN_SECONDS, "%.9g", opt->seconds);
	plan_set(p, PLAN_WARMUP, "%.9g", opt->warmup);
	plan_set(p, PLAN_CONGESTION, "%s", res->congestion);
	plan_set(p, PLAN_PACE, "%" PRIu64, opt->pace);
	plan_set(p, PLAN_BASELINE,
		 baseline == BASELINE_OWN || baseline == BASELINE_UNKNOWN ? "own" : "one");
	plan_set(p, PLAN_INTERFACE, "%s", res->target.interface);
	link_read(&link, res->target.interface);
	plan_set(p, PLAN_OFFLOADS, "%s", link.offloads);
}

/*
 * The part of a load's uncertainty that all rounds share.  A receipt does not have this part.  As a receiver keeps
 * one baseline for many clients, its whole uncertainty counts as shared.  The part of it that varies counts
 * twice then, also in the scatter of the rounds: the interval is too wide rather than too narrow.
 */
static double shared_of(const struct load *l)
{
	return isnan(l->shared) ? l->uncertainty : l->shared;
}

int plan_turn(const struct plan *p, int k)
{
	return p->rounds % 2 == 0 ? k : p->n - 1 - k;
}

void plan_add(struct plan *p, int i, const struct send_result *res)
{
	const struct figures *s = &res->sent, *r = &res->received;
	const bool remote = !res->local && res->receipts > 0;
	const struct figures *here = result_host(res);
	struct plan_run *run = &p->run[i];
	const double figure[] = {
		[PLAN_RATE] = kib_per_second(s),
		[PLAN_LOAD] = here->host.load,
		[PLAN_COST] = figures_cost(here),
		[PLAN_REMOTE_LOAD] = remote ? r->host.load : NAN,
		[PLAN_REMOTE_COST] = remote ? figures_cost(r) : NAN,
		[PLAN_UNCERTAINTY] = here->host.uncertainty,
		[PLAN_SHARED] = shared_of(&here->host),
		[PLAN_REMOTE_SHARED] = remote ? shared_of(&r->host) : NAN,
		[PLAN_DRIFT] = here->host.drift,
	};
	const unsigned there = remote ? r->host.unsafe : 0, unsafe = here->host.unsafe | there;
	int k;

	figures_add(&run->sent, s);
	if (res->receipts > 0)
		figures_add(&run->received, r);
	run->chunk = res->chunk;
	for (k = 0; k < PLAN_FIGURES; k++)
		run->figure[k][p->rounds] = figure[k];
	run->unsafe[0] |= here->host.unsafe;
	run->unsafe[1] |= there;
	run->unsafe_rounds += unsafe != 0;
	for (k = 0; k < UNSAFE_REASONS; k++)
		p->unsafe_runs[k] += (unsafe & 1u << k) != 0;
	p->added++;
	p->rounds = p->added / p->n;
}

static bool is_remote(enum plan_figure f)
{
	return f == PLAN_REMOTE_LOAD || f == PLAN_REMOTE_COST;
}

static double run_mean(const struct plan *p, int i, enum plan_figure f)
{
	return statistics_mean(p->run[i].figure[f], p->rounds).value;
}

/* An error of run i's load as a share of it, which is the error of the logarithm of a cost. */
static double share_of(const struct plan *p, int i, enum plan_figure f, double error)
{
	return error / fabs(run_mean(p, i, is_remote(f) ? PLAN_REMOTE_LOAD : PLAN_LOAD));
}

/* Half of the interval, as such a share, of what all rounds of run i share. */
static double shared_share(const struct plan *p, int i, enum plan_figure f)
{
	const enum plan_figure shared = is_remote(f) ? PLAN_REMOTE_SHARED : PLAN_SHARED;

	return f == PLAN_RATE ? 0 : share_of(p, i, f, run_mean(p, i, shared));
}

/*
 * How often run i ends a round and begins the next, so that both share the baseline between them.
 */
static int neighbours(const struct plan *p, int i)
{
	/* With both instruments in turn, each run starts its instrument anew. */
	if (strcmp(p->run[0].instrument, p->run[p->n - 1].instrument) != 0)
		return 0;
	if (p->n == 1)
		return p->rounds - 1;
	return i == 0 ? (p->rounds - 1) / 2 : i == p->n - 1 ? p->rounds / 2 : 0;
}

/*
 * Half of the interval, as such a share, of what neighbours have in common and the rounds' scatter
 * lacks.  A baseline that errs by b with the variance v moves the loads before and after it by b / 2, so
 * that these have the covariance v / 4, and the drift of a run has the variance 2 v.  If all n rounds are
 * neighbours, the variance of their mean is s^2 / n + v / (2 n), where s^2 is what they scatter.
 */
static double neighbour_share(const struct plan *p, int i, enum plan_figure f)
{
	const double *drift = p->run[i].figure[PLAN_DRIFT];
	double squares = 0;
	int k, n = 0;

	for (k = 0; k < p->rounds; k++)
		if (!isnan(drift[k])) {
			squares += drift[k] * drift[k];
			n++;
		}
	if (p->rounds < 2 || n == 0 || f == PLAN_RATE || is_remote(f))
		return 0;
	return share_of(p, i, f,
			student_t(p->rounds - 1) * sqrt(squares / n / 4 / p->rounds *
							neighbours(p, i) / (p->rounds - 1)));
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

unsigned plan_unsafe(const struct plan *p, int i, enum plan_figure f)
{
	unsigned unsafe = 0;

	for (; p != NULL && f != PLAN_RATE; p = p->earlier)
		unsafe |= p->run[i].unsafe[is_remote(f)];
	return unsafe;
}

/* A figure of run i: that of each round, or the means of each session, the last first. */
struct sample {
	double x[PLAN_ROUNDS_MAX];
	int n;
	double shared; /* half of the interval of what these have in common, as a share */
};

static struct sample sample_of(const struct plan *p, int i, enum plan_figure f, bool by_session)
{
	struct sample s = {.n = p->rounds};
	double share;
	int k, known = 0;

	if (!by_session) {
		memcpy(s.x, p->run[i].figure[f], (size_t)s.n * sizeof(s.x[0]));
		s.shared = hypot(shared_share(p, i, f), neighbour_share(p, i, f));
		return s;
	}
	s.n = (int)fmin(plan_sessions(p), PLAN_ROUNDS_MAX);
	for (k = 0; p != NULL && k < s.n; k++, p = p->earlier) {
		s.x[k] = run_mean(p, i, f);
		share = shared_share(p, i, f);
		if (!isnan(share)) /* else no run of the session has a load */
			s.shared += (share - s.shared) / ++known;
	}
	return s;
}

struct estimate plan_mean(const struct plan *p, int i, enum plan_figure f)
{
	const struct sample s = sample_of(p, i, f, p->earlier != NULL);
	const struct estimate e = statistics_mean(s.x, s.n);

	return statistics_widen(e, fabs(e.value) * s.shared);
}

int plan_reference(const struct plan *p, int i)
{
	int k = 0;

	while (strcmp(p->run[k].instrument, p->run[i].instrument) != 0)
		k++;
	return k < i ? k : 0;
}

static struct estimate ratio_to_before(const struct plan *p, int i, enum plan_figure f)
{
	const bool by_session = p->earlier != NULL || p->before->earlier != NULL;
	const struct sample now = sample_of(p, i, f, by_session),
			    then = sample_of(p->before, i, f, by_session);

	return widen_ratio(statistics_ratio_unpaired(now.x, now.n, then.x, then.n),
			   hypot(now.shared, then.shared));
}

struct estimate plan_ratio(const struct plan *p, int i, enum plan_figure f)
{
	const int k = plan_reference(p, i);
	const bool same = strcmp(p->run[i].instrument, p->run[k].instrument) == 0;
	const double own = shared_share(p, i, f), other = shared_share(p, k, f);
	struct estimate e;

	if (p->before != NULL)
		return ratio_to_before(p, i, f);
	e = statistics_ratio(p->run[i].figure[f], p->run[k].figure[f], p->rounds);
	if (i == k)
		return e;
	return widen_ratio(e, hypot(same || is_remote(f) ? fabs(own - other) : hypot(own, other),
				    hypot(neighbour_share(p, i, f), neighbour_share(p, k, f))));
}

bool plan_is_same_run(const struct plan_run *a, const struct plan_run *b)
{
	const bool known = a->instrument[0] != '\0' && b->instrument[0] != '\0';

	return strcmp(a->sent.method, b->sent.method) == 0 && a->chunk == b->chunk &&
	       a->streams == b->streams && (!known || strcmp(a->instrument, b->instrument) == 0);
}

/* Whether the costs are precise after all rounds, however few. */
static bool is_precise_now(const struct plan *p, double share)
{
	static const enum plan_figure costs[] = {PLAN_COST, PLAN_REMOTE_COST, PLAN_RATE};
	struct estimate e;
	bool known = false;
	int i, k;

	for (k = 0; k < 3 && !(costs[k] == PLAN_RATE && known); k++)
		for (i = 0; i < p->n; i++) {
			e = plan_mean(p, i, costs[k]);
			known |= !isnan(e.value);
			if (!isnan(e.value) && !(statistics_half(&e) <= share * fabs(e.value)))
				return false;
		}
	return true;
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
	int i = 0;

	while (i < p->n && !(shared_share(p, i, PLAN_COST) > share ||
			     shared_share(p, i, PLAN_REMOTE_COST) > share))
		i++;
	return i < p->n && p->rounds >= PLAN_ROUNDS;
}
