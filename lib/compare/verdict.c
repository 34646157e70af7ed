#include "lib/compare/verdict.h"

#include "lib/compare/name.h"
#include "lib/report/units.h"

/* That of all runs is the greatest of theirs. */
enum verdict { PASSED, TOO_WIDE, NOT_JUDGED, FAILED };

/* How many rounds count, of run i and of the one that it is compared with. */
static int rounds_of(const struct plan *p, int i, int measure)
{
	const double *own = p->run[i].figure[measure];
	const double *other = p->run[plan_reference(p, i)].figure[measure];
	int k, n = 0;

	for (k = 0; k < p->rounds; k++)
		n += !isnan(own[k]) && !isnan(other[k]);
	return n;
}

/* In how many sessions a measure of run i is known. */
static int sessions_of(const struct plan *p, int i, int measure)
{
	int k, n = 0;

	for (; p != NULL; p = p->earlier) {
		for (k = 0; k < p->rounds && isnan(p->run[i].figure[measure][k]); k++)
			;
		n += k < p->rounds;
	}
	return n;
}

/* How the load of run i was measured before, if it is not measured so now; or NULL. */
static const char *lost_instrument(const struct plan *p, int i)
{
	const int f = p->kind->instrument;
	const char *then = p->before != NULL ? plan_value(&p->before->run[i], f) : "";

	return *then != '\0' && strcmp(then, plan_value(&p->run[i], f)) != 0 ? then : NULL;
}

/* Judges a measure of run i.  *line says why, if there is something to say. */
static enum verdict judge(const struct plan *p, int i, int measure, double share, const char **line)
{
	const bool of_load = p->kind->measure[measure].is_of_load;
	const char *sentence, *name = name_of(p, i, differing_in(p));
	struct ratio r = ratio_of(p, i, measure);
	struct estimate e = r.e;
	const int before = p->before != NULL ? sessions_of(p->before, i, measure) : VERDICT_NEEDS;
	const int n = p->before != NULL ? sessions_of(p, i, measure) : rounds_of(p, i, measure);
	const char *lost = lost_instrument(p, i);

	if (lost != NULL) {
		*line = text_of("not judged: %s: its load was measured before, by %s, and is not "
				"now",
				name, lost);
		return NOT_JUDGED;
	}
	if (!of_load)
		e = (struct estimate){1 / e.value, 1 / e.high, 1 / e.low};
	*line = text_of("not judged: %s: a figure is not above 0, or they vary too much", name);
	if (n < VERDICT_NEEDS && p->before == NULL)
		*line = text_of("not judged: %s: %d of %d rounds %s: %d are needed", name, n,
				p->rounds, of_load ? "have a load without ?" : "count",
				VERDICT_NEEDS);
	else if (n < VERDICT_NEEDS || before < VERDICT_NEEDS)
		*line = text_of("not judged: %s: %d sessions now and %d before%s: %d a side are "
				"needed",
				name, n, before, of_load ? " have a load without ?" : "",
				VERDICT_NEEDS);
	if (n < VERDICT_NEEDS || before < VERDICT_NEEDS || !isfinite(e.value) || !isfinite(e.low) ||
	    !isfinite(e.high))
		return NOT_JUDGED;
	r.unsafe = 0; /* these rounds are gone */
	sentence = text_of("%s %s %s %s", name_in(p, p, i), ratio_text(p, measure, &r),
			   p->kind->measure[measure].times, name_in(p, r.than, r.run));
	*line = text_of("%s: over the limit of --fail-above %g%%", sentence, percent(share));
	if (e.low > 1 + share)
		return FAILED;
	*line = text_of("%s: too wide an interval to see %g%%: make more rounds (-r) or sessions",
			sentence, percent(share));
	if (e.value / e.low > 1 + share)
		return TOO_WIDE;
	*line = NULL;
	return PASSED;
}

/* The measures that decide, as a set: of loads if one was asked for, of the other end if either side knows it. */
static uint64_t deciding(const struct plan *p)
{
	const bool of_load = plan_value(&p->run[0], p->kind->instrument)[0] != '\0';
	const struct measure *m = p->kind->measure;
	uint64_t set = 0;
	int k;

	for (k = 0; k < p->kind->measures; k++)
		if ((m[k].end == 0 || is_known(p, k)) && m[k].ratio_key != NULL &&
		    m[k].is_of_load == of_load)
			set |= 1ull << k;
	return set;
}

/* Whether run i is compared with another one by the same instrument, or with itself before. */
static bool is_compared(const struct plan *p, int i)
{
	const int k = plan_reference(p, i), f = p->kind->instrument;

	return p->before != NULL ||
	       (i != k && strcmp(plan_value(&p->run[i], f), plan_value(&p->run[k], f)) == 0);
}

int verdict_print(struct plan *p, double share, struct json *j)
{
	static const char *const names[] = {"passed", "too_wide", "not_judged", "failed"};
	const uint64_t set = deciding(p);
	enum verdict all = PASSED, one;
	const char *line;
	int at;

	plan_drop_unsafe(p);
	for (at = 0; at < p->n * p->kind->measures; at++)
		if (set & 1ull << at / p->n && is_compared(p, at % p->n)) {
			one = judge(p, at % p->n, at / p->n, share, &line);
			all = one > all ? one : all;
		}
	if (j != NULL) {
		json_open(j, "verdict", '{');
		json_number(j, "fail_above_percent", percent(share));
		json_string(j, "result", names[all]);
		json_open(j, "why", '[');
	}
	for (at = 0; at < p->n * p->kind->measures; at++)
		if (set & 1ull << at / p->n && is_compared(p, at % p->n) &&
		    judge(p, at % p->n, at / p->n, share, &line) == all && line != NULL) {
			if (j != NULL)
				json_string(j, NULL, line);
			else
				warnx("%s", line);
		}
	if (j != NULL) {
		json_close(j, ']');
		json_close(j, '}');
	}
	return all == FAILED ? EXIT_ABOVE : all == NOT_JUDGED ? EXIT_FAILURE : EXIT_SUCCESS;
}
