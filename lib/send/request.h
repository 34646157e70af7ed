/*
 * request.h: requests: connections that each ask a zcs --reply for a number of bytes, as in 1999.
 *
 *	target_resolve(&target, opt);
 *	error = requests_run(&run, &report, &target, why);
 */
#pragma once

#include "lib/send/report.h"
#include "lib/send/run.h"

/*
 * Makes the connections of each size in run->opt->requests, and reports them.  Dies if it has no
 * memory.  Returns NULL or what is wrong with them as a whole, a text that may be in `why`.
 */
const char *requests_run(struct run *run, struct send_report *report, const struct target *target,
			 char why[DIE_MAX]);
