#include "lib/compare/verdict.h"

#include "lib/compare/ratio.h"
#include "lib/report/units.h"

/* That of all runs is the greatest of theirs. */
enum verdict { PASSED, TOO_WIDE, NOT_JUDGED, FAILED };

#define NAME_MOST 256 /* bytes of a name in a sentence */

/* How many rounds count, of run i and of the one that it is compared with. */
static int rounds_of(const struct plan *p, int i, int measure)
{
	int k, n = 0;

	for (k = 0; k < p->rounds; k++)
		n += !isnan(plan_figure(p, i, measure, k)) &&
		     !isnan(plan_figure(p, p->run[i].reference, measure, k));
	return n;
}

/* In how many sessions a measure of run i is known. */
static int sessions_of(const struct plan *p, int i, int measure)
{
	int k, n = 0;

	for (; p != NULL; p = p->earlier) {
		for (k = 0; k < p->rounds && isnan(plan_figure(p, i, measure, k)); k++)
			;
		n += k < p->rounds;
	}
	return n;
}

/* How the load of run i was measured before, if it is not measured now; or NULL. */
static const char *lost_instrument(const struct plan *p, int i)
{
	const char *then = p->before != NULL ? plan_value(&p->before->run[i], RUN_INSTRUMENT) : "";

	return *then != '\0' && plan_value(&p->run[i], RUN_INSTRUMENT)[0] == '\0' ? then : NULL;
}

/* As name_in(), with room for the rest of a sentence. */
static const char *short_name(const struct plan *p, const struct plan *of, int i)
{
	const char *name = plan_name(&p->run[i]), *whole = name_in(p, of, i);
	char text[NAME_MOST] = "";

	if (string_append(text, sizeof(text), "%s", name))
		return whole;
	return text_of("%s...%s", text, whole + strlen(name));
}

/* Why a measure of run i, with this ratio, is not judged; NULL: it is. */
static const char *not_judged(const struct plan *p, int i, int measure, const struct estimate *e)
{
	const char *what = p->kind->measure[measure].is_of_load ? "have a load without ?"
								: "have figures";
	const int now = plan_sessions(p), before = plan_sessions(p->before);
	const int n = p->before != NULL ? sessions_of(p, i, measure) : rounds_of(p, i, measure);
	const int m = p->before != NULL ? sessions_of(p->before, i, measure) : VERDICT_NEEDS;
	const char *lost = lost_instrument(p, i);

	if (lost != NULL)
		return text_of("not measured: its load was measured before, by %s, and is not now",
			       printable(lost));
	if (p->before != NULL && (now < VERDICT_NEEDS || before < VERDICT_NEEDS))
		return text_of("too few sessions: %d now and %d before: %d a side are needed", now,
			       before, VERDICT_NEEDS);
	if (p->before == NULL && p->rounds < VERDICT_NEEDS)
		return text_of("too few rounds: %d: %d are needed", p->rounds, VERDICT_NEEDS);
	if (p->before == NULL && n < VERDICT_NEEDS)
		return text_of("not measured: %d of %d rounds %s: %d are needed", n, p->rounds,
			       what, VERDICT_NEEDS);
	if (n < VERDICT_NEEDS || m < VERDICT_NEEDS)
		return text_of(
			"not measured: %d of %d sessions now and %d of %d before %s: %d a side "
			"are needed",
			n, now, m, before, what, VERDICT_NEEDS);
	if (!isfinite(e->value) || !isfinite(e->low) || !isfinite(e->high))
		return "a figure is not above 0, or they vary too much";
	return NULL;
}

/* Judges a measure of run i.  *why says why, if there is something to say; what is not judged has no name there. */
static enum verdict judge(const struct plan *p, int i, int measure, double share, const char **why)
{
	const char *sentence;
	struct ratio r = ratio_of(p, i, measure);
	struct estimate e = r.e;

	if (!p->kind->measure[measure].is_of_load)
		e = (struct estimate){1 / e.value, 1 / e.high, 1 / e.low};
	*why = not_judged(p, i, measure, &e);
	if (*why != NULL)
		return NOT_JUDGED;
	sentence = text_of("%s %s %s %s", short_name(p, p, i), ratio_text(p, measure, &r),
			   p->kind->measure[measure].times, short_name(p, r.than, r.run));
	*why = text_of("%s: over the limit of --fail-above %g%%", sentence, percent(share));
	if (e.low > 1 + share)
		return FAILED;
	*why = text_of("%s: too wide an interval to see %g%%: make more rounds (-r) or sessions",
		       sentence, percent(share));
	if (e.high > 1 + share && e.value / e.low > 1 + share)
		return TOO_WIDE;
	*why = NULL;
	return PASSED;
}

/* Whether a measure decides: one of a load if that was asked for; of the other end if either side knows it. */
static bool decides(const struct plan *p, int measure)
{
	const bool of_load = plan_value(&p->run[0], RUN_INSTRUMENT)[0] != '\0';
	const struct measure *m = &p->kind->measure[measure];

	return m->ratio_key != NULL && !m->is_aside && plan_has(p, measure) &&
	       m->is_of_load == of_load && (m->end == 0 || is_known(p, measure));
}

/* Whether run i is compared with another one by the same instrument, or with itself before. */
static bool is_compared(const struct plan *p, int i)
{
	const int k = p->run[i].reference;

	return p->before != NULL || (i != k && plan_is_same_instrument(&p->run[i], &p->run[k]));
}

bool verdict_is_possible(const struct plan *p)
{
	int i = 0;

	while (i < p->n && !is_compared(p, i))
		i++;
	return i < p->n;
}

static void say(struct json *j, const char *line)
{
	if (j != NULL)
		json_string(j, NULL, line);
	warnx("%s", line);
}

/* Runs that are not judged for the same reason. */
struct group {
	int first, n; /* a measure of the first run, and how many runs there are */
	char why[TEXT_SIZE];
};

static void say_group(const struct plan *p, const struct group *g, struct json *j)
{
	const char *more = g->n > 1 ? text_of(" and %d more", g->n - 1) : "";

	if (g->n > 0)
		say(j, text_of("not judged: %s%s: %s", short_name(p, NULL, g->first % p->n), more,
			       g->why));
}

/* Says what there is to say of the runs with the verdict on all of them. */
static void say_verdict(const struct plan *p, double share, enum verdict all, struct json *j)
{
	struct group g = {.n = 0};
	const char *why;
	int at;

	for (at = 0; at < p->n * p->kind->measures; at++) {
		if (!decides(p, at / p->n) || !is_compared(p, at % p->n) ||
		    judge(p, at % p->n, at / p->n, share, &why) != all || why == NULL)
			continue;
		if (all != NOT_JUDGED) {
			say(j, why);
		} else if (strcmp(why, g.why) == 0) {
			g.n += at / p->n == g.first / p->n; /* not the receiver's, too */
		} else {
			say_group(p, &g, j);
			g = (struct group){.first = at, .n = 1};
			strcpy(g.why, why);
		}
	}
	say_group(p, &g, j);
}

int verdict_print(struct plan *p, double share, struct json *j)
{
	static const char *const names[] = {"passed", "too_wide", "not_judged", "failed"};
	enum verdict all = PASSED, one;
	const char *why;
	int at;

	plan_compute(p, true);
	for (at = 0; at < p->n * p->kind->measures; at++)
		if (decides(p, at / p->n) && is_compared(p, at % p->n)) {
			one = judge(p, at % p->n, at / p->n, share, &why);
			all = one > all ? one : all;
		}
	if (j != NULL) {
		json_open(j, "verdict", '{');
		json_number(j, "fail_above_percent", percent(share));
		json_string(j, "result", names[all]);
		json_open(j, "why", '[');
	}
	say_verdict(p, share, all, j);
	if (j != NULL) {
		json_close(j, ']');
		json_close(j, '}');
	}
	plan_compute(p, false);
	return all == FAILED ? EXIT_ABOVE : all == PASSED ? EXIT_SUCCESS : EXIT_FAILURE;
}
