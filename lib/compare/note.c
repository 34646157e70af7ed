#include "lib/compare/note.h"

void note_date(struct plan *p)
{
	const time_t now = time(NULL);
	char text[32];
	struct tm utc;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	plan_set_aside(p, "date", text);
}

/* The key of an option that has no other. */
static const char *option_key(const struct option_row *o, char key[64])
{
	if (o->name != NULL)
		snprintf(key, 64, "--%s", o->name);
	else
		snprintf(key, 64, "-%c", o->letters[0]);
	return key;
}

void note_option(struct plan *p, const char *key, const struct options_given *given,
		 const struct given *g, const void *opt)
{
	char name[64], *text = option_text(g, opt);
	const bool is_quantity = key != NULL;

	key = is_quantity ? key : option_key(g->row, name);
	if (!option_matters(given, g))
		plan_set_aside(p, key, text);
	else
		plan_set(p, key, "%s", is_quantity && *text == '\0' ? "0" : text);
	free(text);
}

void note_aside(struct plan *p, const struct options_given *given)
{
	const struct given *g;
	char key[64];

	for (g = given->option; g < given->option + given->n; g++)
		if (g->row->kind != OPTION_NONE && !option_matters(given, g))
			plan_put_aside(p, option_key(g->row, key));
	plan_put_aside(p, "date");
	plan_put_aside(p, "title");
}

void note_lines(struct plan *p, char *lines)
{
	char *key;

	while ((key = strsep(&lines, ":")) != NULL && lines != NULL)
		plan_set(p, key, "%s", strsep(&lines, "\n") + 1);
}

static void json_argument(struct json *j, const char *key, const struct option_row *o,
			  const char *text)
{
	const double number = option_number(o, text);

	if (isnan(number))
		json_string(j, key, text);
	else if (number == floor(number))
		json_count(j, key, (uint64_t)number);
	else
		json_number(j, key, number);
}

void note_json(struct json *j, const struct options_given *given)
{
	const struct given *g;
	char letter[2] = "";
	const char *key;
	bool many;
	int i;

	json_open(j, "options", '{');
	for (g = given->option; g < given->option + given->n; g++) {
		if (!g->is_given)
			continue;
		letter[0] = g->row->letters[0];
		key = g->row->name != NULL ? g->row->name : letter;
		many = g->row->is_list || g->row->is_repeated;
		if (many)
			json_open(j, key, '[');
		else if (g->n == 0)
			json_bool(j, key, true);
		for (i = 0; i < g->n; i++)
			json_argument(j, many ? NULL : key, g->row, g->value[i]);
		if (many)
			json_close(j, ']');
	}
	json_close(j, '}');
}
