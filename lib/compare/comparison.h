/*
 * comparison.h: what is printed of a comparison: its runs, a table, what differs in words, or JSON.
 *
 *	struct comparison c = {.plan = &plan, .opt = &opt->compare, .begin_json = begin};
 *
 *	comparison_print_size(&c);
 *	...
 *	comparison_print(&c, NULL);
 */
#pragma once

#include "lib/compare/plan.h"
#include "lib/compare/setting.h"
#include "lib/report/json.h"

/* The options of a program that compares. */
struct compare_options {
	int rounds;                 /* at most */
	double precision;           /* a share of each cost; 0: not given */
	double fail_above;          /* percent by which a cost may be greater; 0: not given */
	const char *save, *against; /* files; NULL: not given */
	const char *compare; /* if it is given, that of --against, and nothing is sent; or NULL */
	bool brief;          /* only a block for a commit message is printed */
	bool dry;            /* the runs are only printed */
	int retries;         /* of a run that came out unsafe */
	struct settings settings; /* none, or two at least */
	double settle; /* seconds from a change of the setting to the next run; 0: not given */
};

struct comparison {
	struct plan *plan;
	const struct compare_options *opt;
	bool is_wanted; /* there is more than one run, or an option that only a comparison has */
	bool quiet, json;
	double seconds; /* about how long a run takes; 0: not known */
	/* Returns the whole command of a run, to be freed; NULL: its name is that. */
	char *(*command)(void *arg, int run);
	/* Begins the report in JSON: opens the object `comparison`, with the members that the program adds. */
	void (*begin_json)(struct json *j, void *arg);
	void *arg;
	int status; /* with which the program is to exit, after the report */
};

#define COMPARISON_PLACE 256

/* Where messages about run i of the round that is under way belong: `round 1, send 64k`; a long name is cut. */
const char *comparison_run_place(const struct plan *p, int i, char buf[COMPARISON_PLACE]);

/* Prints how many runs there are at most, and about how long they take if that is known. */
void comparison_print_size(const struct comparison *c);

/* Prints all runs of a round, before there is any. */
void comparison_print_runs(const struct comparison *c);

/*
 * Prints the rounds that are complete, of which there is one at least: a row for each run with the means, their
 * confidence intervals and the ratios to those of the first, and in words what differs.  In JSON the error, too; NULL: none.
 */
void comparison_print(struct comparison *c, const char *error);

/* Dies unless the sessions of the file that `option` names have the runs of a plan, in its order. */
void comparison_check_or_die(const struct plan *p, const struct plan *saved, const char *option,
			     const char *path);
