/*
 * columns.h: --columns KEYS: what tells runs apart, and any rows of the table of figures, as tab-separated values with a
 * line for each run.
 *
 *	static struct options opt = {.compare.columns.kind = &kind};
 *
 *	{"", "columns", "KEYS", "...", TAKE(TEXT, compare.columns, columns_take)},
 *	...
 *	columns_print(&opt->compare.columns, &plan, i, &result);
 */
#pragma once

#include "lib/compare/plan.h"
#include "lib/report/usage.h"

struct columns {
	const struct plan_kind *kind; /* of the program */
	int n;
	struct tsv_column {
		const struct factor *factor; /* NULL: it is a figure */
		const struct figure *row;
		bool is_remote; /* of the other end */
	} column[VALUES_MAX];
};

/* Reads the keys of an option; `list` prints all that there are, and ends the program. */
option_take columns_take;

/* Prints what run i of a plan measured, which was added to it last; before the first one the keys. */
void columns_print(const struct columns *c, const struct plan *p, int i,
		   const struct plan_result *res);
