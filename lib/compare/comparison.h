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

/* NOLINTBEGIN(bugprone-macro-parentheses): m is a member */
/* clang-format off */
/* Their rows of usage.h, under a heading that is neutral; m is the member of a program's options. */
#define COMPARE_OPTIONS(type, m)                                                                   \
	{"r", "runs", "N", "repeat the round N times (default 5)",                                 \
	 OPTION_AT(type, INT, m.rounds), .min = 1, .max = PLAN_ROUNDS_MAX},                        \
	{"", "precision", "PERCENT",                                                               \
	 "repeat the round until each cost is known to +-PERCENT: 5 to 30 rounds",                 \
	 OPTION_AT(type, PERCENT, m.precision), .min = 0.0001, .max = 100},                        \
	{"", "save", "FILE", "add the figures of all runs to FILE",                                \
	 OPTION_AT(type, FILE, m.save)},                                                           \
	{"", "against", "FILE", "compare with the figures that --save has kept",                   \
	 OPTION_AT(type, FILE, m.against)},                                                        \
	{"", "fail-above", "PERCENT",                                                              \
	 "exit with status 3 if a run costs over PERCENT more than the first or --against",        \
	 OPTION_AT(type, PERCENT, m.fail_above), .min = 0.01, .max = 1000},                        \
	{"", "setting", "NAME=COMMAND",                                                            \
	 "repeat all runs in the setting of the machine that COMMAND makes; give two or more; "    \
	 "the first is restored at the end",                                                       \
	 OPTION_TAKE(type, TEXT, m.settings, setting_take), .is_repeated = true,                   \
	 .not_with = "--calibration --file -C"},                                                   \
	{"", "settle", "SECS", "wait SECS seconds after a change of the setting",                  \
	 OPTION_AT(type, SECONDS, m.settle), .max = 86400, .only_with = "--setting"},              \
	{"", "dry-run", NULL, "print the runs, and make none of them",                             \
	 OPTION_AT(type, FLAG, m.dry), .not_with = "--json --json-stream"},                        \
	{"", "columns", .instead = "the figures of each run are in --json, which jq(1) filters"}
/* clang-format on */
/* NOLINTEND(bugprone-macro-parentheses) */

struct comparison {
	struct plan *plan;
	const struct compare_options *opt;
	bool is_wanted; /* there is more than one run, or an option that only a comparison has */
	bool quiet, json;
	bool is_detailed; /* all that differs is printed */
	double seconds;   /* about how long a run takes; 0: not known */
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
