/*
 * why.h: what else differs between runs, and so may explain that one costs more: waits, counts, parts of a profile.
 *
 *	why_print(&plan, 8);
 */
#pragma once

#include "lib/compare/plan.h"

/*
 * Prints a table with a row for each quantity that differs between a run and the one that it is compared with: the
 * interval of their ratio excludes 1.  These are the `most` largest: shares and parts of a profile by their difference,
 * others by their ratio.
 */
void why_print(const struct plan *p, int most);
