/*
 * trials.h: the transfers of zcc, as the runs of a plan: what tells them apart, what is compared, and how one
 * is made.
 *
 *	struct trials t = {.opt = &opt, .run = &run, .report = &report};
 *
 *	run_open(&run, &opt);
 *	error = trials_run(&t, files, n, why);
 */
#pragma once

#include "lib/compare/rounds.h"
#include "lib/send/transfer.h"

/* The factors of a run, in their order. */
enum { METHOD, BUFFER_SIZE, STREAMS, INSTRUMENT, PORT, RECEIVER_METHOD };

/* The measures of a run, in their order: the first five are compared. */
enum { RATE, LOAD, COST, REMOTE_LOAD, REMOTE_COST, UNCERTAINTY, REMOTE_UNCERTAINTY, SHARED, DRIFT };

extern const struct plan_kind trials_kind;

struct trials {
	struct send_options *opt;
	struct run *run;
	struct send_report *report;
	void (*connected)(void); /* called once a signal is to end the run, not the program */
	struct fileset set;
	struct plan plan;
	struct comparison comparison;
};

/* Sends the files: once, or as often as a comparison needs.  Returns NULL or what is wrong, which may be in `why`. */
const char *trials_run(struct trials *a, char **names, int n, char why[DIE_MAX]);

/* Ends the report of a program that dies; that of a comparison has its complete rounds. */
void trials_die(struct trials *a, const char *why);

/* Adds what a transfer measured to a plan, as run i. */
void trial_add(struct plan *p, int i, const struct send_options *opt,
	       const struct send_result *res);
