/*
 * group.h: a group of a report's rows, with a heading and a column for each end, of which nothing is
 * printed that is empty.
 *
 *	static const struct row rows[] = {{"bytes", bytes_cell, 0}};
 *
 *	group_print("transfer", (struct columns){{&sent, &received}, {"sender", "receiver"}}, rows, 1);
 */
#pragma once

#include "lib/report/figures.h"
#include "lib/report/units.h"

#define CELL FIGURE_STRLEN /* bytes of a figure in a column */

/* The columns of a group: the ends, or one for the host. */
struct columns {
	const struct figures *of[2]; /* NULL: there is no such column */
	const char *name[2];
};

struct row {
	const char *name; /* with the unit; empty: the row continues the one above it */
	/* The figure of one end as text, which may be in buf; NULL where it is not known. */
	const char *(*cell)(const struct figures *f, int arg, char buf[CELL]);
	int arg; /* for the function */
};

/*
 * Prints n rows below a heading.  Omits columns and rows of which no figure is known, and the group
 * if it has no other; returns whether it was printed.
 */
bool group_print(const char *heading, struct columns c, const struct row *row, int n);
