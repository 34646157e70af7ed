#include "lib/report/columns.h"

#define REMOTE "remote_"

static const struct figure *row_of(const char *key)
{
	const struct figure *row = figure_table;

	while (row < figure_table + figure_rows && (row->key == NULL || strcmp(row->key, key) != 0))
		row++;
	return row < figure_table + figure_rows ? row : NULL;
}

void columns_take(const struct option_row *o, char *text, void *columns)
{
	struct columns *c = columns;
	char *rest = strdupa(text), *key;
	const struct figure *row;

	for (row = figure_table; strcmp(text, "list") == 0 && row < figure_table + figure_rows;
	     row++)
		if (row->key != NULL)
			report("%s\n", row->key);
	if (strcmp(text, "list") == 0)
		exit(EXIT_SUCCESS);
	for (c->n = 0; (key = strsep(&rest, ",")) != NULL; c->n++) {
		if (c->n == VALUES_MAX)
			option_error(o, "more than %d keys", VALUES_MAX);
		c->column[c->n].is_remote = strncmp(key, REMOTE, strlen(REMOTE)) == 0;
		c->column[c->n].row = row_of(key +
					     (c->column[c->n].is_remote ? strlen(REMOTE) : 0));
		if (c->column[c->n].row == NULL)
			option_error(o, "'%s' is no figure (try --columns list)", key);
	}
}

/* The value in the unit of the key; `-` if it is not known. */
static const char *value_of(const struct figure *row, const struct figures *f)
{
	const char *text = "";

	if (f != NULL && row->kind == FIGURE_REASONS)
		text = limits_format(f->host.unsafe);
	else if (f != NULL && row->size > 0)
		text = figure_member(row, f);
	else if (f != NULL && isfinite(figure_value(row, f)))
		text = text_of("%.9g", figure_factor(row) * figure_value(row, f));
	return *text != '\0' ? text : "-";
}

void columns_print(const struct columns *c, const struct figures *const end[2],
		   const struct figures *host)
{
	const struct figure *row;
	int i;

	for (i = 0; i < c->n; i++) {
		row = c->column[i].row;
		if (end == NULL)
			printf("%s%s", c->column[i].is_remote ? REMOTE : "", row->key);
		else if (c->column[i].is_remote)
			printf("%s", value_of(row, end[1]));
		else
			printf("%s", value_of(row, row->objects & IN_HOST ? host : end[0]));
		if (i < c->n - 1)
			printf("\t");
	}
	report("\n");
}
