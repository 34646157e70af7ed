/*
 * spin.h: the process of the soakers, which the keeper starts.
 *
 *	pid = fork();
 *	if (pid == 0)
 *		spin_main(s, keeper);
 */
#pragma once

#include "lib/load/shared.h"

/* Soaks each CPU of *s with a thread, until the process is killed or its parent ends. */
_Noreturn void spin_main(struct soaker *s, pid_t parent);
