/*
 * setting.h: commands that change the machine between runs: --setting NAME=COMMAND.  The first setting is the
 * base, in force again when the program ends.
 *
 *	setting_add(&settings, "tso=ethtool -K eth0 tso on");
 *	...
 *	settings.stop = &stop;
 *	error = setting_enter(&settings, i, why);	(before each run)
 *	settings_restore(false);	(behind the last; exit(3) calls it, too)
 */
#pragma once

#include "lib/report/usage.h"

#define SETTINGS_MOST 16

struct settings {
	struct setting_command {
		const char *name, *command;
	} all[SETTINGS_MOST];
	int n;
	int present; /* the one in force; -1: not known, as a command was begun and has not succeeded */
	const _Atomic int *stop; /* above 0: no command is waited for */
};

/* Adds NAME=COMMAND, which is changed.  Returns NULL, or what is wrong with it. */
const char *setting_add(struct settings *s, char *text);

/* Takes the argument of --setting. */
option_take setting_take;

/*
 * Runs the command of setting i by sh(1), unless that is the present one; its standard input is /dev/null, and what
 * it prints goes to standard error.  From the first call on no other program has settings, and exit(3) restores the base.
 * If *s->stop is above 0 it does not wait for the command, and restores the base.  Returns NULL or what is wrong, a text
 * that may be in `why`.
 */
const char *setting_enter(struct settings *s, int i, char why[DIE_MAX]);

/*
 * Restores the base if a command was begun, and another setting may be in force: ends the command that runs, and runs
 * that of the base, for 30 seconds at most, in which signals wait.  Returns false, with a line on stderr, if that fails.
 * If a signal is the reason it prints a line before.  Only the first call does anything; others return the same.  A
 * signal handler of the main thread may call it, which alone calls the functions of this part.
 */
bool settings_restore(bool by_signal);

/*
 * Has every signal that would end the program, and that it can catch, end the command that runs and restore the base
 * before.
 */
void settings_catch(void);

/*
 * Ends the command that runs, restores the base, and ends the program as a signal would have ended it, so that a shell's
 * loop stops, too.  It is a signal handler, or may be called by one.
 */
_Noreturn void settings_die_of(int sig);

/* The same after the first signal, once the output was read. */
_Noreturn void settings_finish(int sig);
