/*
 * verdict.h: --fail-above: whether a run costs so much more than the one that it is compared with.
 *
 *	status = verdict_print(&plan, 0.1, NULL);
 */
#pragma once

#include "lib/compare/plan.h"
#include "lib/report/json.h"

#define EXIT_ABOVE    3 /* status of a program: a run costs more */
#define VERDICT_NEEDS 3 /* rounds; or of two plans sessions of each */

/* Whether a run is compared with one of the same instrument; no other is judged. */
bool verdict_is_possible(const struct plan *p);

/*
 * Judges the ratio of each cost: its interval lies above 1 + `share` as a whole, or it does not, or it is so wide that
 * such a difference could not be seen, or there are too few rounds or sessions, or these are not measured.  If a load was not asked for, it judges
 * throughputs the other way round.  Rounds in which a load was unsafe do not count: means and ratios are computed without
 * them, and afterwards as they were before.  Prints a line on stderr for each run that decides, in JSON also the object `verdict`,
 * and returns the status to exit with: 1 unless all are judged, with an interval that is narrow enough.
 */
int verdict_print(struct plan *p, double share, struct json *j);
