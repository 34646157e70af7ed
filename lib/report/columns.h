/*
 * columns.h: --columns KEYS: any rows of the table of figures, as tab-separated values with a line for each run.
 *
 *	{"", "columns", "KEYS", "...", TAKE(TEXT, columns, columns_take)},
 *	...
 *	columns_print(&opt->columns, NULL, NULL);
 *	columns_print(&opt->columns, (const struct figures *[]){&sent, &received}, host);
 */
#pragma once

#include "lib/report/figures.h"
#include "lib/report/usage.h"

struct columns {
	int n;
	struct {
		const struct figure *row;
		bool is_remote; /* of the other end */
	} column[VALUES_MAX];
};

/* Reads the keys of an option; `list` prints all that there are, and ends the program. */
void columns_take(const struct option_row *o, char *text, void *columns);

/*
 * Prints the figures of a run, of both ends, with those of this host's load; or the keys if `end` is NULL.  An end that
 * is NULL is not known.
 */
void columns_print(const struct columns *c, const struct figures *const end[2],
		   const struct figures *host);
