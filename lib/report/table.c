#include "lib/report/table.h"

#include "lib/report/units.h"

static void print_row(const struct table *t, int row, int first, int end)
{
	const char *text = t->cell(t->arg, row, 0);
	int at = width_of(text), to = t->column[0].width, start;

	report("%s", text);
	if (at > to) {
		report("\n");
		at = 0;
	}
	for (; first < end; first++) {
		const struct column *c = &t->column[first];

		text = t->cell(t->arg, row, first);
		start = to + 2 + (c->is_left ? 0 : c->width - width_of(text));
		if (*text != '\0') {
			report("%*s%s", start - at, "", text);
			at = start + width_of(text);
		}
		to += 2 + c->width;
	}
	report("\n");
}

/* How wide the columns are that stay together from `first` on, and where they end. */
static int width_together(const struct table *t, int first, int *end)
{
	int width = 0;

	for (*end = first; *end < t->columns && (*end == first || !t->column[*end].begins); ++*end)
		width += 2 + t->column[*end].width;
	return width;
}

/* The columns are as wide as their cells, that of the names as far as the widest columns leave room. */
static void set_widths(struct table *t)
{
	struct column *c = t->column;
	int row, i, room = t->most, width, end;

	for (i = 1; i < t->columns; i++)
		for (row = -1, c[i].width = 0; row < t->rows; row++)
			c[i].width = (int)fmax(c[i].width, width_of(t->cell(t->arg, row, i)));
	for (i = 1; i < t->columns; i = end)
		room = (int)fmin(room, t->most - width_together(t, i, &end));
	for (row = -1, c[0].width = 0; row < t->rows; row++) {
		width = width_of(t->cell(t->arg, row, 0));
		c[0].width = row < 0 || (width > c[0].width && width <= room) ? width : c[0].width;
	}
}

void table_print(struct table *t)
{
	int first, end, next, row, width;

	set_widths(t);
	for (first = 1; first < t->columns; first = end) {
		width = t->column[0].width + width_together(t, first, &end);
		while (end < t->columns && (width += width_together(t, end, &next)) <= t->most)
			end = next;
		for (row = -1; row < t->rows; row++)
			print_row(t, row, first, end);
	}
}
