#include "lib/compare/note.h"

void note_date(struct plan *p)
{
	const time_t now = time(NULL);
	char text[32];
	struct tm utc;

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	plan_set_aside(p, "date", text);
}

void note_option(struct plan *p, const char *key, const struct options_given *given,
		 const struct given *g, const void *opt)
{
	char name[64], *text = option_text(g, opt);

	if (g->row->name != NULL)
		snprintf(name, sizeof(name), "--%s", g->row->name);
	else
		snprintf(name, sizeof(name), "-%c", g->row->letters[0]);
	if (!option_matters(given, g))
		plan_set_aside(p, key != NULL ? key : name, text);
	else
		plan_set(p, key != NULL ? key : name, "%s",
			 key != NULL && *text == '\0' ? "0" : text);
	free(text);
}

void note_lines(struct plan *p, char *lines)
{
	char *key;

	while ((key = strsep(&lines, ":")) != NULL && lines != NULL)
		plan_set(p, key, "%s", strsep(&lines, "\n") + 1);
}
