/*
 * busiest.h: the program that has a CPU, for the message that a CPU is not idle.
 *
 *	if (busiest_find(3, keeper, text))
 *		warnx("CPU 3 is not idle: the busiest program was %s", text);
 */
#pragma once

#include "common.h"

#define BUSIEST_STRLEN 96 /* enough for a text of busiest_find() */

/*
 * Watches all processes for a fifth of a second and stores `NAME (pid N), 99% of a CPU`: of the
 * process that took most, of those that ran last on `cpu` if one of them took a tenth of a CPU.  Those
 * started by `keeper` are omitted: they soak.  Returns false where none took a tenth, as one that
 * another user or PID namespace hides.
 */
bool busiest_find(int cpu, pid_t keeper, char text[BUSIEST_STRLEN]);
