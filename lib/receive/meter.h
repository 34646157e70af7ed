/*
 * meter.h: reads what a transfer and its host have done so far, and computes the figures between
 * two readings.
 *
 *	mark_now(&meter, &begin);
 *	...
 *	mark_now(&meter, &end);
 *	figures_between(&meter, &begin, &end, &figures);
 */
#pragma once

#include "lib/report/figures.h"

#define RATES_NS 10000000 /* the host's counters tell nothing of a shorter time */

struct meter {
	struct soaker *soaker; /* NULL: the load is not measured */
	struct calibration calibration;
	const char *method; /* by which zcs receives */
};

/* The state at one time: a zeroed struct, and then what is read of it. */
struct mark {
	uint64_t ns;                  /* now_ns() */
	uint64_t bytes, calls, files; /* received so far; in reply mode calls are replies */
	struct load_sample load;      /* if it is measured */
	struct counters counters;     /* if they are read: counters.ns != 0 */
};

/* Stores the time and the soakers' counts. */
void mark_now(const struct meter *m, struct mark *mark);

/* Computes all figures but those that marks do not have: warmup, clients, cpu and tcp. */
void figures_between(const struct meter *m, const struct mark *from, const struct mark *to,
		     struct figures *f);
