#include "lib/compare/rounds.h"

#include <limits.h>

#include "lib/compare/verdict.h"
#include "lib/report/units.h"

#define PRECISE_ROUNDS 30         /* at most, with --precision, unless -r is given */
#define RETRY_SECONDS  0.5        /* before a run is repeated that failed */
#define LOOK_NS        100000000u /* how often a wait looks whether it is to end */

bool rounds_settle(struct compare_options *opt, int runs)
{
	bool compares;

	if (opt->settings.n == 1)
		usage_error("--setting: one setting compares nothing: give a second one");
	if (runs > PLAN_RUNS_MAX)
		usage_error("a comparison of %d runs: more than %d", runs, PLAN_RUNS_MAX);
	opt->precision /= 100;
	if (opt->fail_above > 0 && runs == 1 && opt->against == NULL)
		usage_error("--fail-above: there is nothing to compare with: give --against FILE, "
			    "or a second run");
	if (opt->fail_above > 0 && opt->against == NULL && opt->rounds > 0 &&
	    opt->rounds < VERDICT_NEEDS)
		usage_error("--fail-above: %d rounds at least are needed: give -r %d",
			    VERDICT_NEEDS, VERDICT_NEEDS);
	compares = runs > 1 || opt->rounds > 0 || opt->precision > 0 || opt->save != NULL ||
		   opt->against != NULL;
	if (opt->rounds == 0)
		opt->rounds = opt->precision > 0 ? PRECISE_ROUNDS : compares ? PLAN_ROUNDS : 1;
	return compares;
}

/* Reads a file that is to have a session, or dies. */
static struct plan *read_or_die(const struct plan_kind *kind, const char *option, const char *path)
{
	struct plan *last;

	if (access(path, R_OK) != 0)
		die_errno("%s: %s", option, printable(path));
	last = saved_read_or_die(kind, option, path);
	if (last == NULL)
		die("%s: %s has no session of --save", option, printable(path));
	return last;
}

/* A limit that no run can exceed would always pass. */
static void check_limit(const struct comparison *c)
{
	if (c->opt->fail_above > 0 && !verdict_is_possible(c->plan))
		usage_error(
			"--fail-above: no run is compared with one that is measured by the same "
			"instrument");
}

void rounds_read_or_die(struct rounds *r)
{
	const struct compare_options *opt = r->comparison->opt;
	struct plan *p = r->comparison->plan;

	if (opt->save != NULL) {
		p->kept = saved_read_or_die(p->kind, "--save", opt->save);
		comparison_check_or_die(p, p->kept, "--save", opt->save);
		if (!opt->dry)
			saved_try_or_die(p, opt->save);
	}
	if (opt->against != NULL) {
		p->before = read_or_die(p->kind, "--against", opt->against);
		comparison_check_or_die(p, p->before, "--against", opt->against);
		/* If both options name the same sessions, these count as the other side only. */
		if (p->kept != NULL && strcmp(p->kept->id, p->before->id) != 0)
			p->earlier = p->kept;
	}
	check_limit(r->comparison);
}

/*
 * Returns the reasons that make the load of a run unsafe at either end.  *is_missing: that of this host was asked for, and
 * is not known.
 */
static unsigned doubts_of(const struct plan *p, int run, const struct ends *ends, bool *is_missing)
{
	const bool is_wanted = plan_value(&p->run[run], RUN_INSTRUMENT)[0] != '\0';
	const struct figures *host[2];
	const struct load *l;

	plan_hosts(ends, host);
	l = &host[0]->host;
	*is_missing = is_wanted && isnan(l->load);
	return (is_wanted || !isnan(l->load) ? l->unsafe : 0) |
	       (host[1] != NULL ? host[1]->host.unsafe : 0);
}

bool rounds_go_on(const struct rounds *r)
{
	return r->comparison->is_wanted && r->comparison->opt->retries > 0;
}

bool rounds_repeat(struct rounds *r, int run, const struct ends *ends, const char *error)
{
	const struct plan *p = r->comparison->plan;
	const int most = r->comparison->opt->retries;
	bool is_missing = false;
	unsigned doubts = error == NULL ? doubts_of(p, run, ends, &is_missing) : 0;
	const char *why;

	r->repeats = (error != NULL || ((is_missing || doubts != 0) && !r->is_hopeless)) &&
		     r->retry < most && *r->stop <= 0;
	why = error != NULL ? printable(error)
	      : is_missing  ? "the load is not measured" /* a line has the reason */
			    : text_of("the load is unsafe (%s)", limits_format(doubts));
	if (r->repeats && !(is_missing && doubts == r->missing))
		warnx("%s: the run is repeated, %d of %d", why, r->retry + 1, most);
	r->missing = is_missing ? doubts : 0;
	return r->repeats;
}

void rounds_add(struct rounds *r, int run, const struct ends *ends)
{
	struct plan *p = r->comparison->plan;
	bool is_missing;

	if (r->comparison->opt->save != NULL)
		saved_run(&r->saving, p, run, ends, NULL);
	(void)doubts_of(p, run, ends, &is_missing);
	r->is_measured |= !is_missing;
	plan_add(p, run, ends);
}

static void wait_for(const struct rounds *r, double seconds)
{
	const uint64_t until = now_ns() + (uint64_t)(1e9 * seconds);

	while (now_ns() < until && *r->stop <= 0)
		sleep_ns(LOOK_NS);
}

/* Enters the setting of a run, which varies slowest, and waits until it has settled. */
static const char *enter(struct rounds *r, int run, char why[DIE_MAX])
{
	struct settings *s = &r->settings;
	const int setting = s->n > 0 ? run / (r->comparison->plan->n / s->n) : 0;
	double seconds = r->comparison->opt->settle;
	const char *error;

	if (s->n == 0 || s->present == setting)
		return NULL;
	gauge_stop(r->gauge); /* its baseline is that of another setting */
	error = setting_enter(s, setting, why);
	if (error == NULL && r->entered != NULL)
		seconds = fmax(seconds, r->entered(r->arg, run));
	if (error == NULL)
		wait_for(r, seconds);
	return error != NULL ? die_line(error, why) : NULL;
}

/*
 * Makes a run, again as often as rounds_repeat() has it.  In a comparison lines about a load name the run, and each reason
 * has one line, or with -d all of them.
 */
static const char *make_run(struct rounds *r, int run, char why[DIE_MAX])
{
	static char name[COMPARISON_PLACE];
	const struct comparison *c = r->comparison;
	const char *error;

	r->place = c->is_wanted ? comparison_run_place(c->plan, run, name) : NULL;
	die_about(r->place);
	r->retry = 0;
	do {
		r->gauge->said.place = r->place;
		if (r->place != NULL)
			r->gauge->said.most = r->gauge->setup->debug ? UINT_MAX : 1;
		r->repeats = r->is_made = false;
		error = enter(r, run, why);
		if (error == NULL && *r->stop <= 0) {
			r->is_made = true;
			error = r->once(r->arg, run, why);
		}
		r->retry++;
		r->repeated += r->repeats;
		if (r->repeats && error != NULL) /* the cause may pass */
			wait_for(r, RETRY_SECONDS);
	} while (r->repeats && *r->stop <= 0);
	die_about(NULL);
	return *r->stop > 0 ? "interrupted" : error;
}

static const char *all_failed(struct plan *p, char why[DIE_MAX])
{
	snprintf(why, DIE_MAX, "all runs of round %d failed", p->rounds);
	if (p->failures == p->added)
		p->rounds = 0; /* there is nothing to print */
	return why;
}

const char *rounds_run(struct rounds *r, char why[DIE_MAX])
{
	const struct compare_options *opt = r->comparison->opt;
	struct plan *p = r->comparison->plan;
	const char *error = NULL;
	int i, k, rounds, failed;
	bool is_kept;

	r->settings = opt->settings;
	r->settings.stop = r->stop;
	while (p->rounds < opt->rounds && error == NULL && *r->stop <= 0) {
		rounds = p->rounds;
		r->is_measured = false;
		failed = 0;
		for (k = 0; k < p->n && error == NULL && *r->stop <= 0; k++) {
			i = plan_turn(p, k);
			error = make_run(r, i, why);
			if (error == NULL || *r->stop > 0)
				continue;
			if (opt->save != NULL)
				saved_run(&r->saving, p, i, NULL, error);
			if (rounds_go_on(r) && r->is_made) {
				warnx("%s: the run is omitted", printable(error));
				plan_fail(p, i, error);
				error = ++failed < p->n ? NULL : all_failed(p, why);
			}
		}
		/* A signal may have come when a round was complete.  Without a run that was measured there is no session. */
		is_kept = (p->rounds > rounds || *r->stop <= 0) && p->added > p->failures;
		saved_round_or_die(&r->saving, p, is_kept ? opt->save : NULL);
		if (!r->is_measured && !r->is_hopeless && r->repeated > 0 && error == NULL &&
		    p->rounds > rounds && p->rounds < opt->rounds) {
			r->is_hopeless = true;
			warnx("round %d: the load of no run is measured, after %d repetition%s: --retry "
			      "repeats failures alone from here on",
			      p->rounds, r->repeated, plural((uint64_t)r->repeated));
		}
		if (opt->precision > 0 &&
		    (plan_is_precise(p, opt->precision) || plan_is_hopeless(p, opt->precision)))
			break;
	}
	if (r->settings.n > 0) {
		gauge_stop(r->gauge);
		/* Now, as the report may have to wait for its reader. */
		(void)settings_restore(*r->stop > 0);
	}
	return *r->stop > 0 ? "interrupted" : error;
}

void rounds_close(struct rounds *r)
{
	saved_close(r->comparison->plan->before);
	saved_close(r->comparison->plan->kept);
}

void rounds_compare_or_die(struct comparison *c, const struct plan_kind *kind)
{
	c->plan = read_or_die(kind, "--compare", c->opt->save);
	comparison_check_or_die(c->plan, c->plan->earlier, "--compare", c->opt->save);
	c->plan->kept = c->plan->earlier;
	if (c->opt->against != NULL) {
		c->plan->before = read_or_die(kind, "--compare", c->opt->against);
		comparison_check_or_die(c->plan, c->plan->before, "--compare", c->opt->against);
	} else {
		c->plan->earlier = NULL;
	}
	check_limit(c);
	comparison_print(c, NULL);
	saved_close(c->plan->before);
	saved_close(c->plan->kept);
	plan_close(c->plan);
	free(c->plan);
}
