#include "lib/compare/rounds.h"

#include "lib/compare/note.h"
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
static void read_or_die(struct saved *s, const struct plan_kind *kind, const char *option,
			const char *path)
{
	if (access(path, R_OK) != 0)
		die_errno("%s: %s", option, printable(path));
	saved_read_or_die(s, kind, option, path);
	if (s->last == NULL)
		die("%s: %s has no session of --save", option, printable(path));
}

void rounds_read_or_die(struct rounds *r)
{
	const struct compare_options *opt = r->comparison->opt;
	struct plan *p = r->comparison->plan;

	r->before = r->kept = (struct saved){.last = NULL};
	if (opt->save != NULL) {
		saved_read_or_die(&r->kept, p->kind, "--save", opt->save);
		saved_append_or_die(p, opt->save);
	}
	if (opt->against != NULL) {
		read_or_die(&r->before, p->kind, "--against", opt->against);
		comparison_check_or_die(p, r->before.last, "--against", opt->against);
		/* If both options name the same sessions, these count as the other side only. */
		if (r->kept.last != NULL && strcmp(r->kept.text, r->before.text) != 0)
			p->earlier = r->kept.last;
	}
	p->before = r->before.last;
	p->kept = r->kept.last;
}

const char *rounds_run(const struct rounds *r, char why[DIE_MAX])
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
			/* The method of the run's receiver is known now. */
			if (p->before != NULL)
				comparison_check_or_die(p, p->before, "--against", opt->against);
		}
		/* A signal may have come when a round was complete. */
		if (opt->save != NULL && p->rounds > rounds)
			saved_append_or_die(p, opt->save);
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
	saved_close(&r->before);
	saved_close(&r->kept);
}

void rounds_compare_or_die(struct comparison *c, const struct plan_kind *kind,
			   const struct options_given *given)
{
	struct saved before, now;

	read_or_die(&before, kind, "--compare", c->opt->against);
	read_or_die(&now, kind, "--compare", c->opt->save);
	comparison_check_or_die(now.last, before.last, "--compare", c->opt->against);
	c->plan = now.last;
	note_aside(c->plan, given);
	c->plan->before = before.last;
	c->plan->kept = c->plan->earlier;
	comparison_print(c, NULL);
	saved_close(&before);
	saved_close(&now);
}
