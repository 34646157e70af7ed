/*
 * commands.h: commands, as the runs of a plan: what tells them apart, what is compared, and how one is run.
 *
 *	struct commands c = {.opt = &opt.commands, .setup = &opt.gauge, .stop = &stop};
 *
 *	error = commands_run(&c, why);
 */
#pragma once

#include "lib/compare/rounds.h"
#include "lib/load/gauge.h"
#include "lib/report/periods.h"

#define COMMANDS_MAX 64

struct command_options {
	const char *command
		[COMMANDS_MAX];     /* as sh(1) reads them: that of --vs from the second one on */
	int n;                      /* of --vs */
	bool no_shell;              /* the commands are words, which nothing expands */
	char **words[COMMANDS_MAX]; /* then: of each */
	const char *prepare, *conclude; /* the commands before and behind each run; NULL: none */
	bool show_output;
	struct compare_options compare;
};

struct commands {
	const struct command_options *opt;
	const struct gauge_setup *setup;
	_Atomic int *stop; /* the signal that ends the comparison; 0: none */
	bool json, debug, per_cpu;
	const char *line;                  /* the command line */
	const struct options_given *given; /* on it */
	struct plan plan;
	struct comparison comparison;
	struct rounds rounds;
	struct environment environment;
	struct gauge gauge;
	double seconds; /* that the longest run took */
};

extern const struct plan_kind commands_kind;

/* Adds a command of --vs. */
option_take commands_take;

/*
 * Checks the options, and sets defaults and the first command, whose words are the operands.  Returns whether there is a
 * comparison, or its runs are to be printed.
 */
bool commands_settle(struct command_options *opt, char **words);

/* Returns the words of a command as sh(1) reads them, to be freed: a single one as it is, of several each quoted. */
char *command_join(char **words);

/* Runs the commands, and prints the comparison.  Returns NULL or what is wrong, which may be in `why`. */
const char *commands_run(struct commands *c, char why[DIE_MAX]);

/* For die_init(): ends the command and the report of a program that dies. */
void commands_die(void *commands, const char *why);
