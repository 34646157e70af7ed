/*
 * comparison.h: what zcc prints of a plan, behind its last run: a row for each run with the means and
 * their 95 % intervals, and in words how many times the first it costs.
 *
 *	comparison = (struct comparison){.plan = &plan, .before = NULL};
 *	comparison_print(&comparison, &opt);
 */
#pragma once

#include "lib/report/environment.h"
#include "lib/send/options.h"
#include "lib/send/saved.h"

struct comparison {
	const struct plan *plan;
	const struct saved *before; /* the same plan as it was saved, or NULL */
	const char *before_path;
	const struct saved *kept; /* earlier sessions of the plan in the file of --save, or NULL */
	const char *kept_path;
	const struct environment *environment; /* of a report in JSON */
	const char *error;                     /* the same; NULL: none */
};

#define COMPARISON_NAME 64 /* bytes of a run's name */

/* What tells a run of a plan from the others: `send 64k, 4 streams`. */
const char *comparison_run_name(const struct plan *p, int i, char buf[COMPARISON_NAME]);

#define COMPARISON_PLACE (COMPARISON_NAME + 32)

/* Where lines about run i of the round that is under way belong: `round 1, send 64k`. */
const char *comparison_run_place(const struct plan *p, int i, char buf[COMPARISON_PLACE]);

/* Prints the rounds that are complete, of which there is one at least, as text or JSON. */
void comparison_print(const struct comparison *c, const struct send_options *opt);

/*
 * Dies unless the file that `option` names has the same plan: the runs of one in the same order as those
 * of the other.
 */
void comparison_check_or_die(const struct plan *p, const struct saved *s, const char *option,
			     const char *path);
