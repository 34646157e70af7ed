#include "lib/report/words.h"

#include "lib/base/texts.h"

#define BLANKS " \t\n"

/*
 * Words as a shell has them.
 */

/* Whether a \ stands for the next character: in "..." not before all of them. */
static bool escapes(const char *c, char quote)
{
	return c[0] == '\\' && (quote == '\0' || (quote == '"' && (c[1] == '"' || c[1] == '\\')));
}

/* Copies a word without its quotes, and moves *text behind it.  Returns the end of the copy; NULL if a quote has none. */
static char *copy_word(const char **text, char *to)
{
	const char *c = *text;
	char quote = '\0';

	for (; *c != '\0' && (quote != '\0' || strchr(BLANKS, *c) == NULL); c++) {
		if (*c == quote) {
			quote = '\0';
		} else if (quote == '\0' && (*c == '\'' || *c == '"')) {
			quote = *c;
		} else {
			c += escapes(c, quote);
			if (*c == '\0')
				return NULL;
			*to++ = *c;
		}
	}
	*to++ = '\0';
	*text = c;
	return quote == '\0' ? to : NULL;
}

char **words_split(const char *text, int *n)
{
	const size_t most = strlen(text) / 2 + 2; /* with the NULL */
	char **word = alloc_or_die(1, most * sizeof(*word) + strlen(text) + 1, "options");
	char *to = (char *)(word + most);

	for (*n = 0; *(text += strspn(text, BLANKS)) != '\0'; ++*n) {
		word[*n] = to;
		to = copy_word(&text, to);
		if (to == NULL) {
			free(word);
			return NULL;
		}
	}
	return word;
}

void words_add(FILE *f, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	fputs(ftell(f) > 0 ? " " : "", f);
	if (*word != '\0' && word[strspn(word, plain)] == '\0') {
		fputs(word, f);
		return;
	}
	fputc('\'', f);
	for (; *word != '\0'; word++)
		fprintf(f, *word == '\'' ? "'\\''" : "%c", *word);
	fputc('\'', f);
}

char *words_join(char *const *word)
{
	char *text;
	size_t size;
	FILE *f = text_open_or_die(&text, &size, "options");

	for (; *word != NULL; word++)
		words_add(f, *word);
	text_close_or_die(f, "options");
	return text;
}

/*
 * Words as runs.
 */

#define LISTS_MAX 8 /* options whose lists make runs */

/* The option that is the i-th of those whose lists make runs, if it has more than one value; or NULL. */
static const struct given *list_at(const struct options_given *of, int i)
{
	const struct given *g;

	for (g = of->option; g < of->option + of->n; g++)
		if (g->row->is_list == i + 1)
			return g->is_given && g->n > 1 ? g : NULL;
	return NULL;
}

static int values_of(const struct options_given *of, int i)
{
	const struct given *g = list_at(of, i);

	return g != NULL ? g->n : 1;
}

int words_runs(const struct options_given *of)
{
	double runs = 1;
	int i;

	for (i = 0; i < LISTS_MAX; i++)
		runs *= values_of(of, i);
	return (int)fmin(runs, INT_MAX);
}

/* Which of its values each list has in a run: that of the last list varies fastest. */
static void places_of(const struct options_given *of, int run, int place[LISTS_MAX])
{
	int i;

	for (i = LISTS_MAX - 1; i >= 0; i--) {
		place[i] = run % values_of(of, i);
		run /= values_of(of, i);
	}
}

/* Whether a word is the argument of an option, or ends with it. */
static bool is_in(const struct given *g, const char *word)
{
	return g != NULL && g->text >= word && g->text <= word + strlen(word);
}

/* Whether the words themselves have a list. */
static bool is_own(const struct given *g, char *const *word)
{
	while (*word != NULL && !is_in(g, *word))
		word++;
	return *word != NULL;
}

char *words_of_run(const struct options_given *of, char *const *word, int run)
{
	int place[LISTS_MAX], i;
	const struct given *g;
	char *text;
	size_t size;
	FILE *f = text_open_or_die(&text, &size, "options");

	places_of(of, run, place);
	for (i = 0; i < LISTS_MAX; i++) {
		g = list_at(of, i);
		if (g != NULL && !is_own(g, word)) {
			words_add(f, option_word(g->row));
			words_add(f, g->value[place[i]]);
		}
	}
	for (; *word != NULL; word++) {
		for (i = 0; i < LISTS_MAX && !is_in(list_at(of, i), *word); i++)
			;
		g = i < LISTS_MAX ? list_at(of, i) : NULL;
		words_add(f, g == NULL ? *word
				       : text_of("%.*s%s", (int)(g->text - *word), *word,
						 g->value[place[i]]));
	}
	text_close_or_die(f, "options");
	return text;
}

int words_reference(const struct options_given *line, const struct options_given *of,
		    char *const *word, int run)
{
	int place[LISTS_MAX], i, reference = 0;

	places_of(of, run, place);
	for (i = 0; i < LISTS_MAX; i++) {
		reference *= values_of(line, i);
		if (list_at(line, i) != NULL && list_at(of, i) != NULL &&
		    !is_own(list_at(of, i), word))
			reference += place[i];
	}
	return reference;
}
