/*
 * program.h: what a program is to its system: how it begins, what stops it, and the commands that it starts.
 *
 *	init_program();
 *	catch_stop_signals_waiting(on_signal, &unblocked);
 *	pid = command_start(&(struct command_start){"ls", argv, {0, 1, 2}});
 */
#pragma once

#include "common.h"

/*
 * To be called first: opens the standard descriptors that are closed, makes SIGPIPE and SIGXFSZ ordinary errors,
 * unblocks the stop signals, lets children be waited for, and opens what is written to stdout and stderr.
 */
void init_program(void);

/* Raises the limit of open files as far as may be, but not that of commands, and returns it. */
uint64_t files_allow_most(void);

/*
 * Makes blocked and ignored signals, and the limit of open files, what they were when the program was started:
 * exec(3) is to follow.
 */
void become_as_started(void);

struct command_start {
	const char *name; /* as execvp(3) looks for it */
	char *const *argv;
	int file[3]; /* what the command has as its standard input, output and error */
	bool own_session;
	_Atomic pid_t *id; /* stored before the command can do anything; NULL: it is not */
};

/*
 * Starts a command with what become_as_started() restores.  Returns its process id, or -1 with errno.  A signal handler
 * may call it.
 */
pid_t command_start(const struct command_start *c);

/* Stores the signals that would end the program now: they are neither caught nor ignored. */
void deadly_signals(sigset_t *set);

/*
 * Installs `handler` for the stop signals, without SA_RESTART, and blocks them in the calling thread
 * and its threads to come.  *unblocked, unless it is NULL, is the mask before: the main thread
 * waits with it, as in ppoll(2).  While it runs they are blocked, and it is not called for a repeated one.
 */
void catch_stop_signals_waiting(void (*handler)(int), sigset_t *unblocked);

/*
 * To be called for each stop signal that is taken.  Returns whether it is the same request as the one before: of the same
 * number, within 0.2 s, as timeout(1) signals a program and then its process group.
 */
bool stop_is_repeated(int sig);
