/*
 * shell.h: commands that sh(1) runs, each in a session of its own, so that a signal of the terminal does not reach it.
 *
 *	shell_open();
 *	pid = shell_start("ethtool -K eth0 tso off", false);
 *	shell_wait(pid, &status, UINT64_MAX);
 *	error = shell_error(status);
 */
#pragma once

#include "common.h"

#define SHELL_LOOK_NS 10000000u /* between two looks at a command that is to end */

/* To be called first, at least once. */
void shell_open(void);

/*
 * Starts a command.  Its standard input is /dev/null; what it prints goes to standard error, or if it is silent or nobody
 * reads that to /dev/null, too.  No signal is blocked, nor ignored unless who started the program ignores it.  Returns
 * its id, or -1 with errno.  A signal handler may call it.
 */
pid_t shell_start(const char *command, bool silent);

/* Waits until a command has ended, and stores its status.  Returns false if it has not until then.  A handler may call it. */
bool shell_wait(pid_t pid, int *status, uint64_t until);

/*
 * Ends a command, and what it has started and left in its process group, by SIGTERM, and after 5 seconds by SIGKILL.  It
 * may have been waited for afterwards, unless it still ends.  A signal handler may call it.
 */
void shell_end(pid_t pid);

/* Ends the command that was started last, if it runs, and waits for it.  Returns false if it cannot be ended. */
bool shell_end_running(void);

/* Returns how a command ended, `its command ended with status 1`, by text_of(); NULL: well. */
const char *shell_error(int status);
