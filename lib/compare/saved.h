/*
 * saved.h: files of --save, as zc-save(5) has them: of each session its facts, and a line for each run of each round with
 * the receipts of both ends.
 *
 *	saved_try_or_die(&plan, "now.zc");
 *	...
 *	saved_run(&s, &plan, i, &ends, NULL);	(each run of a round)
 *	saved_round_or_die(&s, &plan, "now.zc");
 *
 *	last = saved_read_or_die(&kind, "--against", "then.zc");
 *	...
 *	saved_close(last);
 */
#pragma once

#include "lib/compare/plan.h"

/* The lines of a round that is under way. */
struct saving {
	char *text;
	size_t size;
	FILE *f;        /* that writes the text; NULL: there is no line yet */
	bool has_facts; /* the file has those of the session */
};

/*
 * Dies unless the file can be added to, and a line has room for each run.  There is no file afterwards if there was none
 * before.
 */
void saved_try_or_die(const struct plan *p, const char *path);

/* Adds the line of run i, which measured this, or that failed. */
void saved_run(struct saving *s, const struct plan *p, int i, const struct ends *ends,
	       const char *failed);

/* Adds the lines to the file, behind the session's facts if it has none of it; or if `path` is NULL forgets them. */
void saved_round_or_die(struct saving *s, const struct plan *p, const char *path);

/*
 * Reads a file that `option` names, or dies.  Returns its last session, by which the others are found; NULL if the file is
 * missing or empty.  A line that does not parse is reported.
 */
struct plan *saved_read_or_die(const struct plan_kind *kind, const char *option, const char *path);
void saved_close(struct plan *last);

/*
 * The same of a file that is open, whose `path` is NULL where nothing is to be reported.  Stores the last session, and
 * returns NULL or what is wrong with the file, to be printed after its name.
 */
const char *saved_parse(FILE *f, const struct plan_kind *kind, const char *path,
			struct plan **last);
