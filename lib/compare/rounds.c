#include "lib/compare/rounds.h"

#include "lib/compare/verdict.h"

#define PRECISE_ROUNDS 30 /* at most, with --precision, unless -r is given */

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

const char *rounds_run(struct rounds *r, char why[DIE_MAX])
{
	static char name[COMPARISON_PLACE];
	const struct compare_options *opt = r->comparison->opt;
	struct plan *p = r->comparison->plan;
	const char *error = NULL, *place = NULL;
	int i, k, rounds;

	while (p->rounds < opt->rounds && error == NULL && *r->stop <= 0) {
		rounds = p->rounds;
		for (k = 0; k < p->n && error == NULL && *r->stop <= 0; k++) {
			i = plan_turn(p, k);
			if (r->comparison->is_wanted)
				place = comparison_run_place(p, i, name);
			die_about(place);
			error = r->once(r->arg, i, place, why);
			die_about(NULL);
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
	return *r->stop > 0 ? "interrupted" : error;
}

bool rounds_repeat(const struct compare_options *opt, int retry, unsigned unsafe)
{
	if (retry >= opt->retries)
		return false;
	warnx("the load is unsafe (%s): the run is repeated, %d of %d", limits_format(unsafe),
	      retry + 1, opt->retries);
	return true;
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
