/*
 * verify.h: the measurements of cyclesoak --verify: loads of known size, by both instruments in turn.
 *
 *	static const struct verify_plan plan = {.rounds = 5, .zeros = 2, .seconds = 1};
 *
 *	verify_measure_or_die(&setup, &plan, &evidence);
 *	verdicts_of(&evidence, &verdicts);
 */
#pragma once

#include "lib/load/gauge.h"
#include "lib/load/verdict.h"

struct verify_plan {
	int rounds;     /* of all cases, by both instruments; in odd rounds in reverse order */
	int zeros;      /* loads of nothing with each instrument in each round */
	double seconds; /* of each load */
};

/* Measures the CPUs of the setup.  A load that is unsafe is measured once more. */
void verify_measure_or_die(const struct gauge_setup *setup, const struct verify_plan *plan,
			   struct evidence *e);
