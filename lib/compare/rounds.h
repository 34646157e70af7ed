/*
 * rounds.h: makes the runs of a plan, one round after the other, and keeps their sessions.
 *
 *	struct rounds r = {.comparison = &c, .stop = &stop, .once = transfer, .arg = &transfers};
 *
 *	rounds_read_or_die(&r);
 *	error = rounds_run(&r, why);
 *	...
 *	rounds_close(&r);
 */
#pragma once

#include "lib/compare/comparison.h"
#include "lib/compare/saved.h"

struct rounds {
	const struct comparison *comparison;
	const _Atomic int *stop; /* above 0: the runs are interrupted */
	/*
	 * Makes a run, and adds its figures by rounds_add(); messages about it begin with `place`, unless that is NULL.
	 * Returns NULL or what is wrong, a text that may be in `why`.
	 */
	const char *(*once)(void *arg, int run, const char *place, char why[DIE_MAX]);
	void *arg;
	struct saving saving;
};

/*
 * Checks the options of a comparison of so many runs a round, and sets defaults: PLAN_ROUNDS rounds, of a single run
 * one.  Returns whether it is a comparison: there is more than one run, or an option that only a comparison has.
 */
bool rounds_settle(struct compare_options *opt, int runs);

/* Reads the files of --save and --against, and tries to write that of --save, or dies. */
void rounds_read_or_die(struct rounds *r);

/*
 * Runs the plan until its rounds are complete, or precise enough, or a run fails.  Each round that is complete is
 * saved.  Returns NULL or what is wrong.
 */
const char *rounds_run(struct rounds *r, char why[DIE_MAX]);

/* To be called by once(): adds what the run measured. */
void rounds_add(struct rounds *r, int run, const struct ends *ends);

/* Whether a run that these reasons made unsafe is repeated, after so many repetitions: if it is, prints a line. */
bool rounds_repeat(const struct compare_options *opt, int retry, unsigned unsafe);

/* Closes the sessions of the files. */
void rounds_close(struct rounds *r);

/*
 * Prints how the file of --save compares with that of --against, or if there is none how the runs of its last session
 * compare, without a run; or dies.
 */
void rounds_compare_or_die(struct comparison *c, const struct plan_kind *kind);
