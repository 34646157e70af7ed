/*
 * saved.h: a plan that was run, as a file of tab-separated values: a comment that names the program
 * and the machine, the names of the columns, and a line for each run of each complete round.
 *
 *	saved_write_or_die(&plan, "before.tsv");
 *	saved_read_or_die(&saved, "before.tsv");
 *	puts(saved.machine);
 *	saved_close(&saved);
 */
#pragma once

#include "lib/send/plan.h"

struct saved {
	struct plan plan;
	char machine[256]; /* the program's version, the kernel and the machine */
};

/* Dies if the file cannot be written, before a plan is run for it. */
void saved_try_or_die(const char *path);

void saved_write_or_die(const struct plan *p, const char *path);
void saved_read_or_die(struct saved *s, const char *path);
void saved_close(struct saved *s);

/* What the plan that was saved may have otherwise. */
enum saved_setting { SAVED_CONGESTION, SAVED_PACE, SAVED_OFFLOADS, SAVED_SETTINGS };

#define SAVED_DIFFERENCE 128 /* bytes of such a line */

/*
 * `congestion differs: bbr then, reno now`, of a setting of both plans; NULL if it is the same, or is
 * not known of one of them.
 */
const char *saved_difference(const struct saved *s, const struct plan *now, enum saved_setting k,
			     char buf[SAVED_DIFFERENCE]);

/*
 * Parses the text of such a file, which it changes.  Returns NULL, or what is wrong, to be printed
 * after the file's name; the plan is then closed.
 */
const char *saved_parse(char *text, struct saved *s);
