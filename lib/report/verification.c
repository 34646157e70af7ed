#include "lib/report/verification.h"

#include "lib/report/units.h"

/* In the order of enum verdict_kind, for JSON and for text. */
static const char *const kinds[][2] = {
	{"figure", "-"}, {"pass", "pass"}, {"fail", "FAIL"}, {"not_run", "not run"}};

/* In the order of enum verdict_relation, from EXPECT_AT_LEAST on. */
static const char *const relations[] = {"at_least", NULL, "at_most", "equal"};

/*
 * Text.
 */

static void report_line(const struct verdict *r)
{
	const int digits = r->unit[0] == 'C' ? 3 : 1;
	const char *measured = "-", *expected = "";

	if (!isnan(r->measured))
		measured = text_of("%s %s", decimal(r->measured, digits), r->unit);
	if (r->relation == EXPECT_EQUAL && !isnan(r->expected + r->tolerance))
		expected = text_of("%.*f +-%.*f", digits, r->expected, digits, r->tolerance);
	else if (r->relation != EXPECT_NOTHING && !isnan(r->expected + r->tolerance))
		expected = text_of("%s %.*f", r->relation == EXPECT_AT_MOST ? "<=" : ">=", digits,
				   r->expected + r->relation * r->tolerance);
	report("%-8s %-22s %-9s %-14s %-14s %s\n", r->step, r->what,
	       r->by != NULL ? r->by->title : "", measured, expected, kinds[r->kind][1]);
}

/* Why a step could not be run, or which loads were unsafe; an empty text if neither is so. */
static const char *reason_of(const struct verdict *r)
{
	const char *reasons = limits_format(r->unsafe);

	if (r->why != NULL)
		return r->why;
	if (r->unsafe_loads > 0)
		return text_of("%d of %d loads unsafe: %s", r->unsafe_loads,
			       r->loads + r->unsafe_loads, reasons);
	return r->kind == VERDICT_NOT_RUN && r->unsafe != 0
		       ? text_of("load not measured: %s",
				 no_load_text(no_load_of(r->unsafe, r->by->name)))
		       : "";
}

/* A reason that several lines share is printed once, after the first of them. */
void verification_report(const struct evidence *e, const struct verdicts *v)
{
	char last[TEXT_SIZE] = "";
	const char *reason;
	int i;

	report("%-8s %-22s %-9s %-14s %-14s verdict\n", "step", "", "by", "measured", "expected");
	for (i = 0; i < v->n; i++) {
		report_line(&v->all[i]);
		reason = reason_of(&v->all[i]);
		if (reason[0] != '\0' && strcmp(reason, last) != 0)
			report("         %s\n", reason);
		snprintf(last, sizeof(last), "%s", reason);
	}
	if (!isnan(e->steal))
		report("steal: %.1f%% at most in a load\n", percent(e->steal));
	report("result: %d passed, %d failed, %d could not be run\n", v->count[VERDICT_PASS],
	       v->count[VERDICT_FAIL], v->count[VERDICT_NOT_RUN]);
}

/*
 * JSON.
 */

static void json_verdict(struct json *j, const struct verdict *r)
{
	json_open(j, NULL, '{');
	json_string(j, "step", r->step);
	json_string(j, "what", r->what);
	json_string(j, "instrument", r->by != NULL ? r->by->title : NULL);
	json_string(j, "unit", r->unit);
	json_number(j, "measured", r->measured);
	if (r->relation != EXPECT_NOTHING) {
		json_string(j, "relation", relations[r->relation - EXPECT_AT_LEAST]);
		json_number(j, "expected", r->expected);
		json_number(j, "tolerance", r->tolerance);
	}
	json_string(j, "verdict", kinds[r->kind][0]);
	json_count(j, "loads", (uint64_t)r->loads);
	json_count(j, "unsafe_loads", (uint64_t)r->unsafe_loads);
	json_unsafe(j, r->unsafe);
	json_string(j, "why", r->why);
	json_close(j, '}');
}

void verification_json(const struct environment *environment, const struct evidence *e,
		       const struct verdicts *v)
{
	struct json j = {.stream = false};
	int i;

	json_report_open(&j);
	json_open(&j, "start", '{');
	environment_json_start(&j, environment, NULL, clock_ns(CLOCK_REALTIME));
	json_close(&j, '}');
	json_count(&j, "cpus", (uint64_t)e->cpus);
	json_number(&j, "steal_percent", 100 * e->steal);
	json_open(&j, "verdicts", '[');
	for (i = 0; i < v->n; i++)
		json_verdict(&j, &v->all[i]);
	json_close(&j, ']');
	json_count(&j, "passed", (uint64_t)v->count[VERDICT_PASS]);
	json_count(&j, "failed", (uint64_t)v->count[VERDICT_FAIL]);
	json_count(&j, "not_run", (uint64_t)v->count[VERDICT_NOT_RUN]);
	json_report_close(&j, NULL);
}
