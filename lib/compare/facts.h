/*
 * facts.h: what all runs of a session share, as lines: the date, the command line and its options, the host.
 *
 *	facts_of_options(p, "zcc -s host -m send,mmap", &given);
 *	plan_set_lines(p, environment);
 */
#pragma once

#include "lib/compare/plan.h"
#include "lib/report/json.h"
#include "lib/report/usage.h"

/* Stores the date, the command line as it was typed, and the options that matter, sorted. */
void facts_of_options(struct plan *p, const char *command, const struct options_given *given);

/*
 * Calls found() for each fact of `now` that is known to differ in `then` or an earlier session, and for options that
 * these alone have.
 */
void facts_compare(const struct plan *now, const struct plan *then,
		   void (*found)(const char *key, const char *before, const char *now, void *arg),
		   void *arg);

/* The options as they were given, as the object `options`, a list as an array, in the order of the table. */
void facts_json(struct json *j, const struct options_given *given);
