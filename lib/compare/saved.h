/*
 * saved.h: files of --save: tab-separated values.  Each session has a comment that names the program and the
 * machine, and a line for each run of each complete round; the first one also the names of the columns.
 *
 *	saved_read_or_die(&kept, &kind, "--save", "now.tsv");
 *	...
 *	saved_append_or_die(&plan, "now.tsv");
 *	saved_close(&kept);
 */
#pragma once

#include "lib/compare/plan.h"

struct saved {
	struct plan *last; /* the last session, by which the others are found; NULL: none */
	char *text;        /* of the file as it was read, or NULL */
};

/* Reads a file that `option` names, or dies; one that is missing or empty has no session. */
void saved_read_or_die(struct saved *s, const struct plan_kind *kind, const char *option,
		       const char *path);

/*
 * Adds the session of a plan to what the file has now, or replaces it there by one of more rounds; without a
 * complete round it only tries whether that is possible.  Several processes may do so at a time.  Dies if the file
 * has sessions of another plan.
 */
void saved_append_or_die(struct plan *p, const char *path);
void saved_close(struct saved *s);

/*
 * Adds the sessions of the text of such a file, which it changes, to an empty *s.  Returns NULL, or what
 * is wrong, to be printed after the file's name; there is no session then.
 */
const char *saved_parse(char *text, const struct plan_kind *kind, struct saved *s);
