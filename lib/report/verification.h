/*
 * verification.h: the report of cyclesoak --verify, as text or JSON.
 *
 *	verification_report(&evidence, &verdicts);
 */
#pragma once

#include "lib/load/verify.h"
#include "lib/report/environment.h"

/* Prints a line for each verdict, and how many steps failed. */
void verification_report(const struct evidence *e, const struct verdicts *v);

/* Prints an object. */
void verification_json(const struct environment *environment, const struct evidence *e,
		       const struct verdicts *v);
