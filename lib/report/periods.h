/*
 * periods.h: the report of cyclesoak: a line of text or a JSON object for each period, or for the command, and a
 * closing one of all periods.
 *
 *	period_print(&period, false);
 *	...
 *	periods_print(&history);
 */
#pragma once

#include "lib/load/load.h"
#include "lib/load/statistics.h"
#include "lib/report/environment.h"
#include "lib/report/figures.h"

struct period {
	struct figures figures; /* the load of all CPUs, and what a command used */
	const struct cpus *cpus;
	const struct load *each; /* of each of the CPUs; NULL: not to be printed */
	bool is_command;
	int run; /* of a comparison, and its command and setting; 0: it is none */
	const char *command, *setting;
};

/* Prints the line of a period, which continues on further lines; with `accounting` also the kernel's own. */
void period_print(const struct period *p, bool accounting);

/* Prints the object; of the first period it begins with the environment, which is otherwise NULL. */
void period_json(const struct period *p, const struct environment *start);

/* Print the mean of the periods with its confidence interval; nothing if none had a load. */
void periods_print(const struct history *h);
void periods_json(const struct history *h);
