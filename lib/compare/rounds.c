#include "lib/compare/rounds.h"

#include <limits.h>

#include "lib/compare/verdict.h"

#define PRECISE_ROUNDS 30         /* at most, with --precision, unless -r is given */
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

void rounds_read_or_die(struct rounds *r)
{
	const struct compare_options *opt = r->comparison->opt;
	struct plan *p = r->comparison->plan;

	if (opt->save != NULL) {
		p->kept = saved_read_or_die(p->kind, "--save", opt->save);
		comparison_check_or_die(p, p->kept, "--save", opt->save);
		saved_try_or_die(p, opt->save);
	}
	if (opt->against != NULL) {
		p->before = read_or_die(p->kind, "--against", opt->against);
		comparison_check_or_die(p, p->before, "--against", opt->against);
		/* If both options name the same sessions, these count as the other side only. */
		if (p->kept != NULL && strcmp(p->kept->id, p->before->id) != 0)
			p->earlier = p->kept;
	}
}

void rounds_add(struct rounds *r, int run, const struct ends *ends)
{
	struct plan *p = r->comparison->plan;

	if (r->comparison->opt->save != NULL)
		saved_run(&r->saving, p, run, ends, NULL);
	plan_add(p, run, ends);
}

/* Enters the setting of a run, which varies slowest, and waits until it has settled. */
static const char *enter(struct rounds *r, int run, char why[DIE_MAX])
{
	struct settings *s = &r->settings;
	const int setting = s->n > 0 ? run / (r->comparison->plan->n / s->n) : 0;
	double seconds = r->comparison->opt->settle;
	const char *error;
	uint64_t until;

	if (s->n == 0 || s->present == setting)
		return NULL;
	gauge_stop(r->gauge); /* its baseline is that of another setting */
	error = setting_enter(s, setting, why);
	if (error == NULL && r->entered != NULL)
		seconds = fmax(seconds, r->entered(r->arg, run));
	until = now_ns() + (uint64_t)(1e9 * seconds);
	while (error == NULL && now_ns() < until && *r->stop <= 0)
		sleep_ns(LOOK_NS);
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
	} while (r->repeats && *r->stop <= 0);
	die_about(NULL);
	return *r->stop > 0 ? "interrupted" : error;
}

const char *rounds_run(struct rounds *r, char why[DIE_MAX])
{
	const struct compare_options *opt = r->comparison->opt;
	struct plan *p = r->comparison->plan;
	const char *error = NULL;
	int i, k, rounds;

	r->settings = opt->settings;
	r->settings.stop = r->stop;
	while (p->rounds < opt->rounds && error == NULL && *r->stop <= 0) {
		rounds = p->rounds;
		for (k = 0; k < p->n && error == NULL && *r->stop <= 0; k++) {
			i = plan_turn(p, k);
			error = make_run(r, i, why);
			if (error != NULL && *r->stop <= 0 && opt->save != NULL)
				saved_run(&r->saving, p, i, NULL, error);
		}
		/* A signal may have come when a round was complete. */
		saved_round_or_die(&r->saving, p,
				   p->rounds > rounds || *r->stop <= 0 ? opt->save : NULL);
		if (opt->precision > 0 &&
		    (plan_is_precise(p, opt->precision) || plan_is_hopeless(p, opt->precision)))
			break;
	}
	if (r->settings.n > 0) {
		gauge_stop(r->gauge);
		(void)settings_restore(*r->stop >
				       0); /* the report may have to wait for its reader */
	}
	return *r->stop > 0 ? "interrupted" : error;
}

bool rounds_repeat(struct rounds *r, unsigned unsafe)
{
	const int most = r->comparison->opt->retries;

	r->repeats = r->retry < most;
	if (r->repeats)
		warnx("the load is unsafe (%s): the run is repeated, %d of %d",
		      limits_format(unsafe), r->retry + 1, most);
	return r->repeats;
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
	comparison_print(c, NULL);
	saved_close(c->plan->before);
	saved_close(c->plan->kept);
	plan_close(c->plan);
	free(c->plan);
}
