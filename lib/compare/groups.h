/*
 * groups.h: what the cost of each run consists of, where the runs have a profile, and what makes the difference.
 *
 *	groups_print(&plan);
 */
#pragma once

#include "lib/compare/plan.h"

/*
 * Prints, for each end whose groups are known, a table of groups by runs, and a line of what makes each run differ
 * from the one that it is compared with.
 */
void groups_print(const struct plan *p);
