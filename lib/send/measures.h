/*
 * measures.h: what is compared of the transfers or requests of a comparison, and what their runs have besides: the tables of their
 * plan.
 *
 *	plan_open(&plan, &trials_kind, runs);
 *	plan_set_value(&plan.run[0], RUN_METHOD, "send");
 *	ratio = plan_result(&plan, 1, COST)->ratio;
 */
#pragma once

#include "lib/compare/plan.h"

/* What a run has, behind RUN_*. */
enum { RUN_METHOD = RUN_VALUES, RUN_SIZE, RUN_REQUEST, RUN_STREAMS, RUN_PORT, RUN_VS };

/* The first measures of a run, in the order of the table's columns. */
enum {
	RATE,
	REQUEST_RATE,
	P50,
	P99,
	P999,
	STALLED,
	LOAD,
	COST,
	REQUEST_COST,
	REMOTE_LOAD,
	REMOTE_COST,
	REMOTE_REQUEST_COST,
	UNCERTAINTY,
	REMOTE_UNCERTAINTY,
	SHARED,
	DRIFT
};

extern const struct plan_kind trials_kind;
