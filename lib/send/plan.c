#include "lib/send/plan.h"

#include <sys/stat.h>

#include "lib/report/units.h"

void plan_open(struct plan *p, int runs, int rounds)
{
	int i, k;

	*p = (struct plan){.n = runs, .capacity = rounds};
	p->run = alloc_or_die((size_t)runs, sizeof(*p->run), "a plan");
	for (i = 0; i < runs; i++)
		for (k = 0; k < PLAN_FIGURES; k++)
			p->run[i].figure[k] = alloc_or_die((size_t)rounds, sizeof(double),
							   "a plan");
}

void plan_close(struct plan *p)
{
	int i, k;

	for (i = 0; i < p->n; i++)
		for (k = 0; k < PLAN_FIGURES; k++)
			free(p->run[i].figure[k]);
	free(p->run);
	*p = (struct plan){.n = 0};
}

/* The greater of two; one that is not known is less. */
static void raise_to(double *greatest, double value)
{
	if (value > *greatest)
		*greatest = value;
}

/* Counts a run by the reasons that made it unsafe at either end. */
static void count_unsafe(struct plan *p, const struct figures *here, const struct figures *remote)
{
	const struct figures *end[] = {here, remote};
	unsigned unsafe = 0;
	double steal;
	int i;

	for (i = 0; i < 2 && end[i] != NULL; i++) {
		unsafe |= end[i]->host.unsafe;
		steal = end[i]->host.rates.cpu[CPU_STEAL];
		if (!(end[i]->host.unsafe & UNSAFE_STEAL) || isnan(steal))
			continue;
		if (p->steal_least == 0 || steal < p->steal_least)
			p->steal_least = steal;
		raise_to(&p->steal_most, steal);
	}
	for (i = 0; i < UNSAFE_REASONS; i++)
		p->unsafe_runs[i] += (unsafe & 1u << i) != 0;
	p->added++;
}

/*
 * The part of a load's uncertainty that all rounds share.  A receipt does not tell which part that is: a
 * receiver keeps the baseline of its start for many clients, so all of it counts.  What in truth varies
 * then counts twice, as the rounds scatter by it too: the interval is too wide rather than too narrow.
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
	/* On one host either end may have measured the load of both, or know why there is none. */
	const struct figures *here = res->local && isnan(s->host.load) &&
						     (!isnan(r->host.load) || s->host.unsafe == 0)
					     ? r
					     : s;
	struct plan_run *run = &p->run[i];
	const double figure[] = {
		[PLAN_RATE] = kbytes_per_sec(s->bytes, s->seconds),
		[PLAN_LOAD] = here->host.load,
		[PLAN_COST] = figures_cost(here),
		[PLAN_REMOTE_LOAD] = remote ? r->host.load : NAN,
		[PLAN_REMOTE_COST] = remote ? figures_cost(r) : NAN,
		[PLAN_UNCERTAINTY] = here->host.uncertainty,
		[PLAN_SHARED] = shared_of(&here->host),
		[PLAN_REMOTE_SHARED] = remote ? shared_of(&r->host) : NAN,
		[PLAN_DRIFT] = here->host.drift,
	};
	int k;

	snprintf(run->method, sizeof(run->method), "%s", s->method);
	run->chunk = res->chunk;
	for (k = 0; k < PLAN_FIGURES; k++)
		run->figure[k][p->rounds] = figure[k];
	run->unsafe |= here->host.unsafe;
	run->remote_unsafe |= remote ? r->host.unsafe : 0;
	count_unsafe(p, here, remote ? r : NULL);
	run->unsafe_rounds += here->host.unsafe != 0 || (remote && r->host.unsafe != 0);
	if (res->target != NULL)
		snprintf(p->settings.interface, sizeof(p->settings.interface), "%s",
			 res->target->interface);
	p->one_baseline |= here->host.baseline != BASELINE_OWN &&
			   here->host.baseline != BASELINE_UNKNOWN;
	p->rounds = p->added / p->n;
}

static bool is_remote(enum plan_figure f)
{
	return f == PLAN_REMOTE_LOAD || f == PLAN_REMOTE_COST;
}

/* An error of a load as a share of run i's mean load: that of a cost is the same share. */
static double share_of(const struct plan *p, int i, enum plan_figure f, double error)
{
	const enum plan_figure load = is_remote(f) ? PLAN_REMOTE_LOAD : PLAN_LOAD;

	return error / fabs(statistics_mean(p->run[i].figure[load], p->rounds).value);
}

/* Half of the interval, in shares of load, of what all rounds of run i share. */
static double shared_error(const struct plan *p, int i, enum plan_figure f)
{
	const enum plan_figure shared = is_remote(f) ? PLAN_REMOTE_SHARED : PLAN_SHARED;

	return f == PLAN_RATE ? 0 : statistics_mean(p->run[i].figure[shared], p->rounds).value;
}

/*
 * How often run i follows itself at once, from the end of a round to the start of the next, so that the
 * baseline between is one of both.
 */
static int neighbours(const struct plan *p, int i)
{
	/* Where each run has either instrument in turn, that is started anew. */
	if (strcmp(p->run[0].instrument, p->run[p->n - 1].instrument) != 0)
		return 0;
	if (p->n == 1)
		return p->rounds - 1;
	return i == 0 ? (p->rounds - 1) / 2 : i == p->n - 1 ? p->rounds / 2 : 0;
}

/*
 * Half of the interval, in shares of load, of what neighbours have in common and the rounds' scatter
 * lacks.  A baseline that errs by b with the variance v moves the loads before and after it by b / 2, so
 * that these have the covariance v / 4, and the drift of a run has the variance 2 v.  If all n rounds are
 * neighbours, the variance of their mean is s^2 / n + v / (2 n), where s^2 is what they scatter.
 */
static double neighbour_error(const struct plan *p, int i, enum plan_figure f)
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
	return student_t(p->rounds - 1) *
	       sqrt(squares / n / 4 / p->rounds * neighbours(p, i) / (p->rounds - 1));
}

/* An error of the logarithm makes the interval of a ratio wider. */
static struct estimate widen_ratio(struct estimate e, double error)
{
	e = statistics_widen((struct estimate){log(e.value), log(e.low), log(e.high)}, error);
	return (struct estimate){exp(e.value), exp(e.low), exp(e.high)};
}

/* The mean of the rounds of one session. */
static struct estimate mean_of_rounds(const struct plan *p, int i, enum plan_figure f)
{
	const struct estimate e = statistics_mean(p->run[i].figure[f], p->rounds);
	const double error = hypot(shared_error(p, i, f), neighbour_error(p, i, f));

	if (f == PLAN_RATE)
		return e;
	return statistics_widen(e, f == PLAN_LOAD || f == PLAN_REMOTE_LOAD
					   ? error
					   : fabs(e.value) * share_of(p, i, f, error));
}

int plan_sessions(const struct plan *p)
{
	int n = 0;

	for (; p != NULL; p = p->earlier)
		n++;
	return n;
}

unsigned plan_unsafe(const struct plan *p, int i, bool remote)
{
	unsigned unsafe = 0;

	for (; p != NULL; p = p->earlier)
		unsafe |= remote ? p->run[i].remote_unsafe : p->run[i].unsafe;
	return unsafe;
}

/* The means of each session, the last first; the caller frees them. */
static double *session_means(const struct plan *p, int i, enum plan_figure f)
{
	double *mean = alloc_or_die((size_t)plan_sessions(p), sizeof(*mean), "a comparison");
	int k;

	for (k = 0; p != NULL; p = p->earlier)
		mean[k++] = statistics_mean(p->run[i].figure[f], p->rounds).value;
	return mean;
}

/* What is shared as a share of the load, which is the error of the logarithm of a cost. */
static double shared_share(const struct plan *p, int i, enum plan_figure f)
{
	return f == PLAN_RATE ? 0 : share_of(p, i, f, shared_error(p, i, f));
}

/* The mean of all sessions. */
static double shared_by_sessions(const struct plan *p, int i, enum plan_figure f)
{
	double sum = 0;
	int n = 0;

	for (; p != NULL; p = p->earlier, n++)
		sum += shared_share(p, i, f);
	return sum / n;
}

struct estimate plan_mean(const struct plan *p, int i, enum plan_figure f)
{
	struct estimate e;
	double *mean;

	if (p->earlier == NULL)
		return mean_of_rounds(p, i, f);
	mean = session_means(p, i, f);
	e = statistics_mean(mean, plan_sessions(p));
	free(mean);
	return f == PLAN_RATE ? e
			      : statistics_widen(e, fabs(e.value) * shared_by_sessions(p, i, f));
}

static double neighbour_share(const struct plan *p, int i, enum plan_figure f)
{
	const double error = neighbour_error(p, i, f);

	return error > 0 ? share_of(p, i, f, error) : 0;
}

/* The error of a ratio's logarithm by what the rounds of run i share, and those of run 0. */
static double shared_in_ratio(const struct plan *p, int i, enum plan_figure f)
{
	const double own = shared_share(p, i, f), first = shared_share(p, 0, f);
	const bool same = strcmp(p->run[i].instrument, p->run[0].instrument) == 0;

	return same || is_remote(f) ? fabs(own - first) : hypot(own, first);
}

struct estimate plan_ratio(const struct plan *p, int i, enum plan_figure f)
{
	const struct estimate e = statistics_ratio(p->run[i].figure[f], p->run[0].figure[f],
						   p->rounds);

	if (i == 0)
		return e;
	return widen_ratio(e, hypot(shared_in_ratio(p, i, f),
				    hypot(neighbour_share(p, i, f), neighbour_share(p, 0, f))));
}

struct estimate plan_ratio_to(const struct plan *p, const struct plan *other, int i,
			      enum plan_figure f)
{
	const double shared = hypot(shared_by_sessions(p, i, f), shared_by_sessions(other, i, f));
	struct estimate e;
	double *now, *then;

	if (p->earlier == NULL && other->earlier == NULL) {
		e = statistics_ratio_unpaired(p->run[i].figure[f], p->rounds,
					      other->run[i].figure[f], other->rounds);
		return widen_ratio(e, hypot(shared, hypot(neighbour_share(p, i, f),
							  neighbour_share(other, i, f))));
	}
	now = session_means(p, i, f);
	then = session_means(other, i, f);
	e = statistics_ratio_unpaired(now, plan_sessions(p), then, plan_sessions(other));
	free(now);
	free(then);
	return widen_ratio(e, shared);
}

/* Whether the costs are precise after all rounds, however few. */
static bool is_precise_now(const struct plan *p, double share)
{
	static const enum plan_figure costs[] = {PLAN_COST, PLAN_REMOTE_COST, PLAN_RATE};
	struct estimate e;
	bool known = false;
	int i, k;

	for (i = 0; i < p->n; i++) {
		for (k = 0; k < 3 && !(costs[k] == PLAN_RATE && known); k++) {
			e = mean_of_rounds(p, i, costs[k]);
			known |= !isnan(e.value);
			if (!isnan(e.value) && !(statistics_half(&e) <= share * fabs(e.value)))
				return false;
		}
	}
	return true;
}

bool plan_is_precise(const struct plan *p, double share)
{
	struct plan before = *p;

	before.rounds--;
	return p->rounds >= PLAN_ROUNDS && is_precise_now(&before, share) &&
	       is_precise_now(p, share);
}

bool plan_is_hopeless(const struct plan *p, double share)
{
	int i;

	for (i = 0; i < p->n; i++)
		if (shared_share(p, i, PLAN_COST) > share ||
		    shared_share(p, i, PLAN_REMOTE_COST) > share)
			return p->rounds >= PLAN_ROUNDS;
	return false;
}
