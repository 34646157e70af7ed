/*
 * rounds.h: makes the runs of a plan, one round after the other, each in its setting, and keeps their sessions.
 *
 *	struct rounds r = {.comparison = &c, .gauge = &gauge, .stop = &stop, .once = transfer, .arg = &transfers};
 *
 *	rounds_read_or_die(&r);
 *	error = rounds_run(&r, why);
 *	...
 *	rounds_close(&r);
 */
#pragma once

#include "lib/compare/comparison.h"
#include "lib/compare/saved.h"
#include "lib/load/gauge.h"

struct rounds {
	const struct comparison *comparison;
	struct gauge *gauge;     /* of the runs; its lines name the run */
	const _Atomic int *stop; /* above 0: the runs are interrupted */
	/*
	 * Makes a run, and adds its figures by rounds_add(), unless rounds_repeat() is to have it made again.  Returns NULL
	 * or what is wrong, behind the place: a text that may be in `why`.
	 */
	const char *(*once)(void *arg, int run, char why[DIE_MAX]);
	/* A run's setting is in force: returns how many seconds are to pass before it is made, at least.  NULL: none. */
	double (*entered)(void *arg, int run);
	void *arg;
	struct saving saving;
	struct settings settings;
	const char *place; /* of the run under way, for messages; NULL: there is no comparison */
	int retry;         /* how often it was repeated */
	bool is_made;      /* once() was called: it has reported its error */
	bool repeats;      /* it is to be made again */
	int repeated;      /* repetitions of all runs */
	bool is_measured; /* a run of the round has succeeded, with its load if that was asked for */
	bool is_hopeless; /* a round had none: no run is repeated for its load */
	unsigned missing; /* why the load of the last run is not measured */
};

/*
 * Checks the options of a comparison of so many runs a round, and sets defaults: PLAN_ROUNDS rounds, of a single run
 * one.  Returns whether it is a comparison: there is more than one run, or an option that only a comparison has.
 */
bool rounds_settle(struct compare_options *opt, int runs);

/* Reads the files of --save and --against, and tries to write that of --save, or dies. */
void rounds_read_or_die(struct rounds *r);

/*
 * Runs the plan until its rounds are complete, or precise enough, or a run fails, or with --retry all runs of a round.
 * Each round that is complete is saved.  The first setting is in force again afterwards.  Returns NULL or what is wrong.
 */
const char *rounds_run(struct rounds *r, char why[DIE_MAX]);

/* To be called by once(): adds what the run measured. */
void rounds_add(struct rounds *r, int run, const struct ends *ends);

/*
 * To be called by once(): whether the run is repeated, as it failed (`error`, behind the place; NULL: it did not), or its
 * load is unsafe at either end or missing.  If it is, prints a line, but one for all whose load is missing for the
 * same reasons.  Of the first run it says what helps if the machine is not idle.
 */
bool rounds_repeat(struct rounds *r, int run, const struct ends *ends, const char *error);

/* Whether the comparison goes on without a run that failed in the end. */
bool rounds_go_on(const struct rounds *r);

/* Closes the sessions of the files. */
void rounds_close(struct rounds *r);

/*
 * Prints how the file of --save compares with that of --against, or if there is none how the runs of its last session
 * compare, without a run; or dies.
 */
void rounds_compare_or_die(struct comparison *c, const struct plan_kind *kind);
