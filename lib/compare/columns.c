#include "lib/compare/columns.h"

/* Whether a run of the program has a figure, of the other end if it `is_remote`. */
static bool is_figure(const struct plan_kind *kind, const struct figure *row, bool is_remote)
{
	return row->key != NULL &&
	       (kind->figures == 0 || (!is_remote && (row->objects & kind->figures) != 0));
}

/* Adds the column of a key.  Returns false if there is none. */
static bool add(struct columns *c, const char *key)
{
	const struct plan_kind *kind = c->kind;
	struct tsv_column *column = &c->column[c->n++];
	const struct factor *f;
	const struct figure *row;

	*column = (struct tsv_column){.is_remote = strncmp(key, PLAN_REMOTE, strlen(PLAN_REMOTE)) ==
						   0};
	for (f = kind->factor; f < kind->factor + kind->factors; f++)
		if (strcmp(f->key, key) == 0)
			column->factor = f;
	key += column->is_remote ? strlen(PLAN_REMOTE) : 0;
	for (row = figure_table; row < figure_table + figure_rows; row++)
		if (is_figure(kind, row, column->is_remote) && strcmp(row->key, key) == 0)
			column->row = row;
	return column->factor != NULL || column->row != NULL;
}

static void print_keys(const struct plan_kind *kind)
{
	const struct figure *row;
	int i;

	for (i = 0; i < kind->factors; i++)
		report("%s\n", kind->factor[i].key);
	for (row = figure_table; row < figure_table + figure_rows; row++)
		if (is_figure(kind, row, false))
			report("%s\n", row->key);
}

void columns_take(const struct option_row *o, char *text, void *columns)
{
	struct columns *c = columns;
	char *rest = strdupa(text), *key;

	if (strcmp(text, "list") == 0) {
		print_keys(c->kind);
		exit(EXIT_SUCCESS);
	}
	for (c->n = 0; (key = strsep(&rest, ",")) != NULL;) {
		if (c->n == VALUES_MAX)
			option_error(o, "more than %d keys", VALUES_MAX);
		if (!add(c, key))
			option_error(o, "'%s' is no figure (try --columns list)", key);
	}
}

/* The value in the unit of the key; empty if it is not known. */
static const char *value_of(const struct figure *row, const struct figures *f)
{
	if (f == NULL)
		return "";
	if (row->kind == FIGURE_REASONS)
		return limits_format(f->host.unsafe);
	if (row->size > 0)
		return figure_member(row, f);
	return isfinite(figure_value(row, f))
		       ? text_of("%.9g", figure_factor(row) * figure_value(row, f))
		       : "";
}

void columns_print(const struct columns *c, const struct plan *p, int i,
		   const struct plan_result *res)
{
	const struct tsv_column *column = c->column;
	const char *text;
	int k;

	for (k = 0; k < c->n && p->added == 1; k++)
		report("%s%s%s", column[k].is_remote ? PLAN_REMOTE : "",
		       column[k].factor != NULL ? column[k].factor->key : column[k].row->key,
		       k < c->n - 1 ? "\t" : "\n");
	for (k = 0; k < c->n; k++) {
		if (column[k].factor != NULL)
			text = plan_value(&p->run[i], (int)(column[k].factor - c->kind->factor));
		else if (!column[k].is_remote && column[k].row->objects & IN_HOST)
			text = value_of(column[k].row, res->host[0]);
		else
			text = value_of(column[k].row, res->end[column[k].is_remote]);
		report("%s%s", *text != '\0' ? text : "-", k < c->n - 1 ? "\t" : "\n");
	}
}
