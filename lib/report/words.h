/*
 * words.h: runs as words: each combination of the values of a command line's lists, such as `-m send -b 64k`, and of
 * further words, which --vs has, that are read over this line.
 *
 *	word = words_split("-m send,mmap -k", &n);
 *	options_read_over(&usage, &line, operand, n, word, &opt, &given);
 *	for (i = 0; i < words_runs(&given); i++)
 *		text = words_of_run(&given, word, i);	(-m send -k, then -m mmap -k)
 */
#pragma once

#include <limits.h>

#include "lib/report/usage.h"

/*
 * Splits a text into words as a shell does, without expansions: '...', "...", \.  Returns them with a NULL behind the
 * last, and how many; NULL if a quote has no end.
 */
char **words_split(const char *text, int *n);

/* Adds a word to a line, in quotes where sh(1) needs them. */
void words_add(FILE *f, const char *word);

/* Returns a line of words, to be freed. */
char *words_join(char *const *word);

/* How many runs the lists of options make. */
int words_runs(const struct options_given *of);

/*
 * Returns the words of run i, to be freed: one value of each list that the command line has and the words do not set, then
 * the words, in which lists are replaced by one of their values.
 */
char *words_of_run(const struct options_given *of, char *const *word, int run);

/* The run of the line with the same values of the lists that these words do not set. */
int words_reference(const struct options_given *line, const struct options_given *of,
		    char *const *word, int run);
