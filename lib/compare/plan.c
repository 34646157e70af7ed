#include "lib/compare/plan.h"

#include <stdarg.h>
#include <sys/utsname.h>

/* Returns a printable copy, to be freed. */
static char *copy_of(const char *text)
{
	char *copy = strcpy(alloc_or_die(strlen(text) + 1, 1, "a plan"), text);

	make_printable(copy);
	return copy;
}

void factor_append(char name[PLAN_NAME], const char *value, bool begins)
{
	(void)begins;
	string_append(name, PLAN_NAME, "%s", value);
}

void factor_append_instrument(char name[PLAN_NAME], const char *value, bool begins)
{
	factor_append(name, strcmp(value, LOAD_BY_SOAKING) == 0 ? "soaked" : "unsoaked", begins);
}

void plan_set_machine(struct plan *p, const char *machine)
{
	free(p->machine);
	p->machine = copy_of(machine);
}

void plan_open(struct plan *p, const struct plan_kind *kind, int runs, int rounds)
{
	const size_t n = (size_t)kind->measures, size = n * (size_t)rounds;
	char machine[sizeof(struct utsname)];
	struct plan_run *run;
	struct utsname u;
	size_t k;

	uname(&u);
	snprintf(machine, sizeof(machine), "%s %s, %s %s %s, %s", kind->program, VERSION, u.sysname,
		 u.release, u.machine, u.nodename);
	*p = (struct plan){.kind = kind, .n = runs};
	plan_set_machine(p, machine);
	p->run = alloc_or_die((size_t)runs, sizeof(*p->run), "a plan");
	for (run = p->run; run < p->run + runs; run++) {
		figures_init(&run->sum[0]);
		figures_init(&run->sum[1]);
		run->value = alloc_or_die((size_t)kind->factors, sizeof(*run->value), "a plan");
		run->figure = alloc_or_die(n, sizeof(*run->figure), "a plan");
		run->figure[0] = alloc_or_die(size, sizeof(**run->figure), "a plan");
		set_unknown(run->figure[0], size * sizeof(**run->figure));
		run->reasons[0] = alloc_or_die(2 * (size_t)rounds, sizeof(**run->reasons),
					       "a plan");
		run->reasons[1] = run->reasons[0] + rounds;
		run->profile_unsafe[0] = alloc_or_die(2 * (size_t)rounds,
						      sizeof(**run->profile_unsafe), "a plan");
		run->profile_unsafe[1] = run->profile_unsafe[0] + rounds;
		for (k = 1; k < n; k++)
			run->figure[k] = run->figure[k - 1] + rounds;
	}
}

void plan_close(struct plan *p)
{
	struct plan_run *run;
	int i;

	for (run = p->run; run < p->run + p->n; run++) {
		for (i = 0; i < p->kind->factors; i++)
			free(run->value[i]);
		free(run->value);
		free(run->reasons[0]);
		free(run->profile_unsafe[0]);
		free(run->figure[0]);
		free(run->figure);
	}
	for (i = 0; i < p->settings; i++) {
		free(p->setting[i].key);
		free(p->setting[i].value);
	}
	free(p->machine);
	free(p->run);
	free(p->setting);
	free(p->text);
	*p = (struct plan){.n = 0};
}

void plan_set_value(struct plan_run *run, int factor, const char *value)
{
	free(run->value[factor]);
	run->value[factor] = copy_of(value);
}

const char *plan_value(const struct plan_run *run, int factor)
{
	return run->value[factor] != NULL ? run->value[factor] : "";
}

/* Where a setting stands; p->settings if there is none of this key. */
static int setting_of(const struct plan *p, const char *key)
{
	int i = 0;

	while (i < p->settings && strcmp(p->setting[i].key, key) != 0)
		i++;
	return i;
}

void plan_set(struct plan *p, const char *key, const char *fmt, ...)
{
	const int i = setting_of(p, key);
	va_list ap;

	if (i == p->settings) {
		p->setting = realloc(p->setting, (size_t)(i + 1) * sizeof(*p->setting));
		if (p->setting == NULL)
			die_errno("a plan");
		p->setting[p->settings++] = (struct setting){.key = copy_of(key)};
	}
	free(p->setting[i].value);
	va_start(ap, fmt);
	if (vasprintf(&p->setting[i].value, fmt, ap) < 0)
		die_errno("a plan");
	va_end(ap);
	make_printable(p->setting[i].value);
}

void plan_set_aside(struct plan *p, const char *key, const char *value)
{
	plan_set(p, key, "%s", value);
	plan_put_aside(p, key);
}

void plan_put_aside(struct plan *p, const char *key)
{
	if (!plan_has(p, key))
		plan_set(p, key, "%s", "");
	p->setting[setting_of(p, key)].is_aside = true;
}

bool plan_has(const struct plan *p, const char *key)
{
	return setting_of(p, key) < p->settings;
}

bool plan_knows(const struct plan *p, const char *key)
{
	return key[0] == '-' ? plan_has(p, key) || plan_setting(p, p->kind->witness)[0] != '\0'
			     : plan_setting(p, key)[strspn(plan_setting(p, key), "?")] != '\0';
}

const char *plan_setting(const struct plan *p, const char *key)
{
	const int i = setting_of(p, key);

	return i < p->settings ? p->setting[i].value : "";
}

int plan_turn(const struct plan *p, int k)
{
	return p->rounds % 2 == 0 ? k : p->n - 1 - k;
}

void plan_count(struct plan *p, int i, unsigned unsafe)
{
	int k;

	p->run[i].unsafe_rounds += unsafe != 0;
	for (k = 0; k < UNSAFE_REASONS; k++)
		p->unsafe_runs[k] += (unsafe & 1u << k) != 0;
	p->added++;
}

void plan_add(struct plan *p, int i, const struct plan_result *res)
{
	struct plan_run *run = &p->run[i];
	const struct figures *f;
	const struct measure *m;
	unsigned unsafe = 0;
	int k;

	for (m = p->kind->measure; m < p->kind->measure + p->kind->measures; m++) {
		f = res->host[m->end];
		if (!m->is_of_load && (!m->is_of_host || f != NULL))
			f = res->end[m->end];
		if (f != NULL)
			run->figure[m - p->kind->measure][p->rounds] = figure_value(
				figure_named(m->key), f);
	}
	for (k = 0; k < 2; k++) {
		if (res->end[k] != NULL)
			figures_add(&run->sum[k], res->end[k]);
		if (res->host[k] != NULL) {
			run->reasons[k][p->rounds] = res->host[k]->host.unsafe;
			strcpy(run->profile_unsafe[k][p->rounds],
			       res->host[k]->host.profile_unsafe);
		}
		run->unsafe[k] |= run->reasons[k][p->rounds];
		unsafe |= run->reasons[k][p->rounds];
	}
	plan_count(p, i, unsafe);
	p->rounds = p->added / p->n;
}

static void drop_unsafe(struct plan *p)
{
	const struct measure *m = p->kind->measure;
	int i, k, round;

	for (i = 0; i < p->n; i++)
		for (k = 0; k < p->kind->measures; k++)
			for (round = 0; round < p->rounds && m[k].is_of_load; round++)
				if (p->run[i].reasons[m[k].end][round] != 0)
					p->run[i].figure[k][round] = NAN;
}

void plan_drop_unsafe(struct plan *p)
{
	struct plan *before = p->before;

	for (; p != NULL; p = p->earlier)
		drop_unsafe(p);
	for (; before != NULL; before = before->earlier)
		drop_unsafe(before);
}

/* What run i has of a figure of an end in each round; NULL if that is not measured. */
static const double *figures_of(const struct plan *p, int i, const char *key, int end)
{
	const struct measure *m = p->kind->measure;
	int k = 0;

	while (k < p->kind->measures && (m[k].end != end || strcmp(m[k].key, key) != 0))
		k++;
	return k < p->kind->measures ? p->run[i].figure[k] : NULL;
}

static double mean_of_rounds(const struct plan *p, const double *figure)
{
	return figure != NULL ? statistics_mean(figure, p->rounds).value : NAN;
}

/* An error of run i's load as a share of it, which is the error of the logarithm of a cost. */
static double share_of(const struct plan *p, int i, int measure, double error)
{
	const int end = p->kind->measure[measure].end;

	return error / fabs(mean_of_rounds(p, figures_of(p, i, "load_percent", end)));
}

/*
 * Half of the interval, as such a share, of what all rounds of run i share.  Of a receipt it is not known which
 * part that is.  As a receiver keeps one baseline for many clients, all of its uncertainty counts as shared.  The part
 * of it that varies counts twice then, also in the scatter of the rounds: the interval is too wide rather than
 * too narrow.
 */
static double shared_share(const struct plan *p, int i, int measure)
{
	const struct measure *m = &p->kind->measure[measure];
	double shared;

	if (!m->is_of_load)
		return 0;
	shared = mean_of_rounds(p, figures_of(p, i, "load_shared_percent", m->end));
	if (isnan(shared))
		shared = mean_of_rounds(p, figures_of(p, i, "load_uncertainty_percent", m->end));
	return share_of(p, i, measure, shared);
}

static bool is_same_instrument(const struct plan *p, int i, int k)
{
	const int f = p->kind->instrument;

	return strcmp(plan_value(&p->run[i], f), plan_value(&p->run[k], f)) == 0;
}

/*
 * How often run i ends a round and begins the next, so that both share the baseline between them.
 */
static int neighbours(const struct plan *p, int i)
{
	/* With both instruments in turn, each run starts its instrument anew. */
	if (!is_same_instrument(p, 0, p->n - 1))
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
static double neighbour_share(const struct plan *p, int i, int measure)
{
	const struct measure *m = &p->kind->measure[measure];
	const double *drift = figures_of(p, i, "drift_percent", m->end);
	double squares = 0;
	int k, n = 0;

	for (k = 0; k < p->rounds && drift != NULL; k++)
		if (!isnan(drift[k])) {
			squares += drift[k] * drift[k];
			n++;
		}
	if (p->rounds < 2 || n == 0 || !m->is_of_load)
		return 0;
	return share_of(p, i, measure,
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

unsigned plan_unsafe(const struct plan *p, int i, int measure)
{
	unsigned unsafe = 0;

	for (; p != NULL && p->kind->measure[measure].is_of_load; p = p->earlier)
		unsafe |= p->run[i].unsafe[p->kind->measure[measure].end];
	return unsafe;
}

/* A measure of run i: that of each round, or the means of each session, the last first. */
struct sample {
	double x[PLAN_ROUNDS_MAX];
	int n;
	double shared; /* half of the interval of what these have in common, as a share */
};

static struct sample sample_of(const struct plan *p, int i, int measure, bool by_session)
{
	struct sample s = {.n = p->rounds};
	double share;
	int k, known = 0;

	if (!by_session) {
		memcpy(s.x, p->run[i].figure[measure], (size_t)s.n * sizeof(s.x[0]));
		s.shared = hypot(shared_share(p, i, measure), neighbour_share(p, i, measure));
		return s;
	}
	s.n = (int)fmin(plan_sessions(p), PLAN_ROUNDS_MAX);
	for (k = 0; p != NULL && k < s.n; k++, p = p->earlier) {
		s.x[k] = mean_of_rounds(p, p->run[i].figure[measure]);
		share = shared_share(p, i, measure);
		if (!isnan(share)) /* else no run of the session has a load */
			s.shared += (share - s.shared) / ++known;
	}
	return s;
}

struct estimate plan_mean(const struct plan *p, int i, int measure)
{
	const struct sample s = sample_of(p, i, measure, p->earlier != NULL);
	const struct estimate e = statistics_mean(s.x, s.n);

	return statistics_widen(e, fabs(e.value) * s.shared);
}

static const char *value_of(const struct plan *p, int i, int factor)
{
	return plan_value(&p->run[i], factor);
}

int plan_label(const struct plan *p, int i)
{
	int f = p->kind->factors - 1;

	while (f >= 0 && !(p->kind->factor[f].is_label && *value_of(p, i, f) != '\0'))
		f--;
	return f;
}

static bool has_same_label(const struct plan *p, int i, int k)
{
	const int f = plan_label(p, i);

	return f == plan_label(p, k) &&
	       (f < 0 || strcmp(value_of(p, i, f), value_of(p, k, f)) == 0);
}

bool plan_varies(const struct plan *p, int i, int factor)
{
	int k = 0;

	while (k < p->n && (strcmp(value_of(p, i, factor), value_of(p, k, factor)) == 0 ||
			    !has_same_label(p, i, k)))
		k++;
	return k < p->n;
}

/* How many values the runs have in common, of what varies in both. */
static int alike(const struct plan *p, int i, int k)
{
	int f, n = 0;

	for (f = 0; f < p->kind->factors; f++)
		n += strcmp(value_of(p, i, f), value_of(p, k, f)) == 0 && plan_varies(p, i, f) &&
		     plan_varies(p, k, f);
	return n;
}

int plan_reference(const struct plan *p, int i)
{
	int k = 0, best = 0;

	if (plan_label(p, i) < 0) {
		while (!is_same_instrument(p, k, i))
			k++;
		return k < i ? k : 0;
	}
	for (k = 1; k < p->n; k++)
		if (plan_label(p, k) < 0 && alike(p, i, k) > alike(p, i, best))
			best = k;
	return best;
}

static struct estimate ratio_to_before(const struct plan *p, int i, int measure)
{
	const bool by_session = p->earlier != NULL || p->before->earlier != NULL;
	const struct sample now = sample_of(p, i, measure, by_session),
			    then = sample_of(p->before, i, measure, by_session);

	return widen_ratio(statistics_ratio_unpaired(now.x, now.n, then.x, then.n),
			   hypot(now.shared, then.shared));
}

struct estimate plan_ratio(const struct plan *p, int i, int measure)
{
	const int k = plan_reference(p, i);
	const bool same = is_same_instrument(p, i, k) || p->kind->measure[measure].end == 1;
	const double own = shared_share(p, i, measure), other = shared_share(p, k, measure);
	struct estimate e;

	if (p->before != NULL)
		return ratio_to_before(p, i, measure);
	e = statistics_ratio(p->run[i].figure[measure], p->run[k].figure[measure], p->rounds);
	if (i == k)
		return e;
	return widen_ratio(
		e, hypot(same ? fabs(own - other) : hypot(own, other),
			 hypot(neighbour_share(p, i, measure), neighbour_share(p, k, measure))));
}

double plan_spread(const struct plan *p, int measure)
{
	double spread = 0, least, most;
	struct sample s;
	int i, k;

	for (i = 0; i < p->n; i++) {
		s = sample_of(p, i, measure, true);
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

bool plan_is_same_run(const struct plan_kind *kind, const struct plan_run *a,
		      const struct plan_run *b)
{
	const char *x, *y;
	int i;

	for (i = 0; i < kind->factors; i++) {
		x = plan_value(a, i);
		y = plan_value(b, i);
		if (strcmp(x, y) != 0 && !(kind->factor[i].is_any && (*x == '\0' || *y == '\0')))
			return false;
	}
	return true;
}

/*
 * Whether the measures that have a ratio, and are of a load or are not, are precise after all rounds, however few.
 * *known is set if one of them is known.
 */
static bool are_precise(const struct plan *p, bool of_load, double share, bool *known)
{
	const struct measure *m = p->kind->measure;
	struct estimate e;
	int i, k;

	for (k = 0; k < p->kind->measures; k++)
		for (i = 0; i < p->n && m[k].ratio_key != NULL && m[k].is_of_load == of_load; i++) {
			e = plan_mean(p, i, k);
			*known |= !isnan(e.value);
			if (!isnan(e.value) && !(statistics_half(&e) <= share * fabs(e.value)))
				return false;
		}
	return true;
}

static bool is_precise_now(const struct plan *p, double share)
{
	bool known = false;

	return are_precise(p, true, share, &known) &&
	       (known || are_precise(p, false, share, &known));
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
