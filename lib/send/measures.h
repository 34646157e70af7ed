/*
 * measures.h: what tells the transfers of a comparison apart, and what is compared: the tables of their plan.
 *
 *	plan_open(&plan, &trials_kind, runs, rounds);
 *	plan_set_value(&plan.run[0], METHOD, "send");
 *	ratio = plan_ratio(&plan, 1, COST);
 */
#pragma once

#include "lib/compare/plan.h"

/* The factors of a run, in their order. */
enum { METHOD, BUFFER_SIZE, STREAMS, INSTRUMENT, PORT, RECEIVER_METHOD, SETTING, VS };

/* The measures of a run, in their order: the first five are compared. */
enum { RATE, LOAD, COST, REMOTE_LOAD, REMOTE_COST, UNCERTAINTY, REMOTE_UNCERTAINTY, SHARED, DRIFT };

extern const struct plan_kind trials_kind;
