/*
 * keeper.h: the process between the program and the soakers, which ends them when the program ends.
 *
 *	pipe2(ends, O_CLOEXEC);
 *	pid = fork();
 *	if (pid == 0)
 *		keeper_main(s, ends);
 */
#pragma once

#include "lib/load/shared.h"

/*
 * Starts the soakers and waits until they end, or the write end of the pipe is closed.  The exit
 * status is 128 and the signal that killed the soakers, or EXIT_FAILURE if they ended otherwise.
 */
_Noreturn void keeper_main(struct soaker *s, const int ends[2]);

/* Counts that a child was stopped, or was and goes on, by what waitpid(2) stored. */
void keeper_count_stop(struct soak_events *e, _Atomic bool *stopped, int status);
