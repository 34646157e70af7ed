/*
 * shell.h: commands that sh(1) runs, each in a session of its own, so that a signal of the terminal does not reach it.
 * If the program is killed, a keeper process ends the command that runs.
 *
 *	error = shell_open();
 *	...
 *	pid = shell_start("ethtool -K eth0 tso off", NULL, SHELL_PRINTS);
 *	if (!shell_wait(pid, "--setting off", &stop, UINT64_MAX, &error))
 *		shell_end_running();
 */
#pragma once

#include <sys/resource.h>

#include "common.h"

#define SHELL_LOOK_NS 10000000u /* between two looks at a command that is to end */

enum {
	SHELL_PRINTS,    /* what the command prints goes to standard error */
	SHELL_IS_SILENT, /* or to /dev/null; its standard error to a file in memory */
	SHELL_STAYS      /* it prints, and it runs to its end even if the program is killed */
};

/* To be called first, at least once, before there are threads.  Returns NULL or what is wrong. */
const char *shell_open(void);

/*
 * Starts a command: sh(1) reads the text, unless the command has `words` of its own.  Its standard input is /dev/null; so is its output, too, if nobody reads standard error.  It has the
 * signals that become_as_started() restores.  Returns its id, or -1 with errno.  A signal handler may call it.
 */
pid_t shell_start(const char *command, char *const *words, int how);

/*
 * Waits until a command has ended, and stores NULL, or how it failed: `its command ended with status 1`.  Returns false
 * if it goes on at the time `until`, or when *stop is above 0; `stop` may be NULL.  Names on a terminal a command that takes
 * long, by `what` it is for, unless that is NULL.  A signal handler may call it.
 */
bool shell_wait(pid_t pid, const char *what, const _Atomic int *stop, uint64_t until,
		const char **error);

/* The CPU time, and the last line on standard error of a silent command, which may be empty: of the one that ended last. */
extern struct rusage shell_usage;
const char *shell_said(void);

/* To be called about ten times a second while a silent command runs: forgets what it printed, if that is more than 1 MiB. */
void shell_forget(void);

/*
 * Ends a command, and what it has started and left in its process group, by SIGTERM, and after 2 seconds by SIGKILL.  It
 * may have been waited for afterwards, unless it still ends.  A signal handler may call it.
 */
void shell_end(pid_t pid);

/* Ends the command that was started last, if it runs, and waits for it.  Returns false if it cannot be ended. */
bool shell_end_running(void);
