#include "lib/compare/facts.h"

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct fact *)a)->key, ((const struct fact *)b)->key);
}

void facts_of_options(struct plan *p, const char *command, const struct options_given *given)
{
	const time_t now = time(NULL);
	const struct given *g;
	char date[32], *text;
	struct tm utc;
	int first;

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	plan_set(p, "date", "%s", date);
	plan_set(p, "command", "%s", command);
	first = p->facts;
	for (g = given->option; g < given->option + given->n; g++) {
		if (!option_matters(g))
			continue;
		text = option_text(g);
		plan_set(p,
			 g->row->name != NULL ? text_of("--%s", g->row->name) : option_word(g->row),
			 "%s", text);
		free(text);
	}
	qsort(p->fact + first, (size_t)(p->facts - first), sizeof(*p->fact), by_key);
}

/* Whether a fact is none that sessions are compared by. */
static bool is_aside(const char *key)
{
	static const char *const aside[] = {"machine", "date", "command", "title", NULL};
	int i = 0;

	while (aside[i] != NULL && strcmp(key, aside[i]) != 0)
		i++;
	return aside[i] != NULL;
}

void facts_compare(const struct plan *now, const struct plan *then,
		   void (*found)(const char *key, const char *before, const char *now, void *arg),
		   void *arg)
{
	const struct plan *all[] = {now, then}, *session;
	const char *key, *value, *other;
	int of, i;

	for (of = 0; of < 2 && then != NULL; of++)
		for (i = 0; i < all[of]->facts; i++) {
			key = all[of]->fact[i].key;
			value = other = plan_fact(now, key);
			if (is_aside(key) || (of == 1 && (key[0] != '-' || *value != '\0')))
				continue;
			for (session = then; session != NULL && strcmp(value, other) == 0;
			     session = session->earlier)
				if (plan_knows(now, key) && plan_knows(session, key))
					other = plan_fact(session, key);
			if (strcmp(value, other) != 0)
				found(key, other, value, arg);
		}
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

void facts_json(struct json *j, const struct options_given *given)
{
	const struct given *g;
	const char *key;
	bool many;
	int i;

	json_open(j, "options", '{');
	for (g = given->option; g < given->option + given->n; g++) {
		if (!g->is_given)
			continue;
		/* An option without a name has one letter. */
		key = g->row->name != NULL ? g->row->name : g->row->letters;
		many = g->row->is_repeated || (g->row->is_list && (g->n > 1 || !g->row->is_one));
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
