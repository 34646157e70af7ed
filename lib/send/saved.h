/*
 * saved.h: a plan that was run, once or in several sessions, as a file of tab-separated values: for each
 * session a comment that names the program and the machine, and a line for each run of each complete
 * round.  Where these begin to have more columns, a line names the columns.
 *
 *	saved_read_or_die(&saved, "--save", "before.tsv");
 *	saved_append_or_die(&saved, &plan, "before.tsv");
 *	puts(saved.session[saved.n - 1].machine);
 *	saved_close(&saved);
 */
#pragma once

#include "lib/send/plan.h"

/* A session; its plan has a pointer to that of the session before. */
struct saved_session {
	struct plan plan;
	char machine[256]; /* the program's version, the kernel and the machine */
};

struct saved {
	struct saved_session *session;
	int n;
	int columns; /* of the last session */
	char *text;  /* of the file as it was read, or NULL */
};

/* Dies if the file cannot be written, before a plan is run for it. */
void saved_try_or_die(const char *path);

/* Reads a file, or dies; `option` is the one that names it. */
void saved_read_or_die(struct saved *s, const char *option, const char *path);

/* Reads what --save has written to a file before, or dies; a file that is empty or missing has no session. */
void saved_find_or_die(struct saved *s, const char *path);

/* Writes the sessions that were read, as they were, and behind them a session of the plan. */
void saved_append_or_die(const struct saved *s, const struct plan *p, const char *path);
void saved_close(struct saved *s);

/* The plan of the last session, by which the others are found; NULL if there is none. */
const struct plan *saved_plan(const struct saved *s);

/*
 * The first run that one of two plans does not have as the other has it; -1 if they are the same plan.
 * The same runs have method, bytes of a call and streams in common, and the instrument unless one of them
 * measured no load.
 */
int saved_differing_run(const struct plan *a, const struct plan *b);

#define SAVED_DIFFERENCE 640 /* bytes of such a line */

/*
 * `congestion differs: bbr then, reno now`, of a setting of which the plan, or an earlier session of it,
 * had another value than another plan; NULL if none had, or where it is not known.
 */
const char *saved_difference(const struct plan *then, const struct plan *now, enum plan_setting k,
			     char buf[SAVED_DIFFERENCE]);

/* The name of such a setting in JSON. */
const char *saved_setting_key(enum plan_setting k);

/*
 * Parses the text of such a file, which it changes.  Returns NULL, or what is wrong, to be printed
 * after the file's name; there is no session then.
 */
const char *saved_parse(char *text, struct saved *s);
