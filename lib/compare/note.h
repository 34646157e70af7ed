/*
 * note.h: keeps what all runs of a plan share, as --save has it: the date, the options as they were given, the host.
 *
 *	note_date(p);
 *	for (g = given.option; g < given.option + given.n; g++)
 *		note_option(p, NULL, &given, g, &opt);
 */
#pragma once

#include "lib/compare/plan.h"
#include "lib/report/json.h"
#include "lib/report/usage.h"

void note_date(struct plan *p);

/*
 * Notes an option, under this key, or if that is NULL as `--name`.  What was not asked of a quantity, which has a key, is
 * 0.
 */
void note_option(struct plan *p, const char *key, const struct options_given *given,
		 const struct given *g, const void *opt);

/* Puts aside what does not matter of a session that was read: the options, the date and the title. */
void note_aside(struct plan *p, const struct options_given *given);

/* Notes lines `KEY: TEXT`. */
void note_lines(struct plan *p, char *lines);

/* The options as they were given, as the object `options`, a list as an array, in the order of the table. */
void note_json(struct json *j, const struct options_given *given);
