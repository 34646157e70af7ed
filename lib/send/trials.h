/*
 * trials.h: the transfers or requests of zcc, as the runs of a plan: what tells them apart, what is compared, and how
 * one is made.
 *
 *	struct trials t = {.opt = &opt, .run = &run, .report = &report};
 *
 *	run_open(&run, &opt);
 *	error = trials_run(&t, files, n, why);
 */
#pragma once

#include "lib/compare/rounds.h"
#include "lib/send/measures.h"
#include "lib/send/request.h"
#include "lib/send/transfer.h"

struct trials {
	const struct send_options *opt;
	struct run *run;
	struct send_report *report;
	void (*connected)(void); /* called once a signal is to end the run, not the program */
	struct fileset set;
	struct plan plan;
	struct comparison comparison;
	struct rounds rounds;
	bool is_announced;    /* how many runs there are is printed */
	bool remote_measures; /* the receiver has measured a load, as far as is known */
	struct request_server
		server;          /* as requests have found it; those of a comparison find it anew */
	struct send_options now; /* of the run under way */
};

/* Opens a plan of these runs. */
void trials_prepare(struct plan *p, const struct send_options *all);

/* Sends the files, or makes the requests: once, or as often as a comparison needs.  Returns NULL or what is wrong, which may be in `why`. */
const char *trials_run(struct trials *a, char **names, int n, char why[DIE_MAX]);

/* Prints the comparison of two files of --save. */
void trials_compare(struct trials *a);

/* For die_init(): ends the report of a program that dies; that of a comparison has its complete rounds. */
void trials_die(void *trials, const char *why);

/*
 * Stores, once, what all runs of a plan share, as the first of them has it: options, files, connection, kernel and
 * machine, in the order in which differences are listed.
 */
void trials_note(struct plan *p, const struct send_options *opt, const struct send_result *res,
		 const struct environment *environment);
