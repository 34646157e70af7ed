#include "lib/report/group.h"

#define FIRST_WIDTH  45 /* columns up to the end of the first figure */
#define COLUMN_WIDTH 21 /* of each other figure */

static const char *cell_of(const struct row *row, const struct figures *f, char buf[CELL])
{
	return f != NULL ? row->cell(f, row->arg, buf) : NULL;
}

/* Removes the columns of which no row has a figure; returns whether one is left. */
static bool has_columns(struct columns *c, const struct row *row, int n)
{
	bool known[2] = {false, false};
	char buf[CELL];
	int i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < n; i++)
			known[k] |= cell_of(&row[i], c->of[k], buf) != NULL;
	for (k = 0; k < 2; k++)
		if (!known[k])
			c->of[k] = NULL;
	return known[0] || known[1];
}

/* Prints a row of the columns there are; one without any figure is left away. */
static void print_row(const struct columns *c, const struct row *row)
{
	const char *cell[2];
	char buf[2][CELL];
	int k;

	for (k = 0; k < 2; k++)
		cell[k] = cell_of(row, c->of[k], buf[k]);
	if (cell[0] == NULL && cell[1] == NULL)
		return;
	report("    %-20s", row->name);
	for (k = 0; k < 2; k++)
		if (c->of[k] != NULL)
			report(" %20s", cell[k] != NULL        ? cell[k]
					: row->name[0] != '\0' ? "-"
							       : "");
	report("\n");
}

bool group_print(const char *heading, struct columns c, const struct row *row, int n)
{
	int i, k, width = FIRST_WIDTH - 2 - (int)strlen(heading);

	if (!has_columns(&c, row, n))
		return false;
	report("  %s", heading);
	for (k = 0; k < 2; k++) {
		if (c.of[k] == NULL)
			continue;
		if (c.name[k][0] != '\0')
			report("%*s", width, c.name[k]);
		width = COLUMN_WIDTH;
	}
	report("\n");
	for (i = 0; i < n; i++)
		print_row(&c, &row[i]);
	return true;
}
