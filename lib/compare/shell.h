/*
 * shell.h: commands that sh(1) runs, each in a session of its own, so that a signal of the terminal does not reach it.
 *
 *	shell_open();
 *	pid = shell_start("ethtool -K eth0 tso off", false);
 *	waitpid(pid, &status, 0);
 *	error = shell_error(status);
 */
#pragma once

#include "common.h"

/* To be called first, at least once. */
void shell_open(void);

/*
 * Starts a command.  Its standard input is /dev/null; what it prints goes to standard error, or if it is silent or nobody
 * reads that to /dev/null, too.  No signal is blocked, nor ignored unless who started the program ignores it.  Returns
 * its id, or -1 with errno.  A signal handler may call it.
 */
pid_t shell_start(const char *command, bool silent);

/* Returns how a command ended, `its command ended with status 1`, by text_of(); NULL: well. */
const char *shell_error(int status);
