/*
 * table.h: a table whose columns are as wide as what they hold, in characters.  Columns that a line has no room for
 * stand in further tables, one below the other.
 *
 *	struct column column[] = {{0}, {.begins = true}, {.is_left = true}};
 *
 *	table_print(&(struct table){.rows = 2, .columns = 3, .column = column, .most = 80, .cell = cell, .arg = &x});
 */
#pragma once

#include "common.h"

struct column {
	int id;       /* of the user */
	bool is_left; /* its cells stand at the left, not at the right */
	bool begins;  /* it may begin a further table; else it stays beside the column before */
	int width;    /* set by table_print() */
};

struct table {
	int rows, columns; /* the first column has the names of the rows */
	struct column *column;
	int most; /* characters of a line */
	/* Returns what a cell holds, valid as a text of text_of(); of row -1 the head. */
	const char *(*cell)(const void *arg, int row, int column);
	const void *arg;
};

/* Prints it.  A name that is too wide for its column stands on a line of its own. */
void table_print(struct table *t);
