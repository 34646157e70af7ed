/*
 * ratio.h: how a run stands to the one that it is compared with, as text.
 *
 *	r = ratio_of(p, i, COST);
 *	if (r.differs)
 *		report("%s %s\n", name_in(p, p, i), ratio_text(p, COST, &r));
 */
#pragma once

#include "lib/compare/plan.h"

/* The name of run i; if there are two plans, with the time of the plan `of`, unless that is NULL. */
const char *name_in(const struct plan *p, const struct plan *of, int i);

/* Whether a measure is known of any run of the plans. */
bool is_known(const struct plan *p, int measure);

/* The mean of a measure and half of its interval, as `61.2%? +-0.4%`. */
const char *measure_text(const struct measure *m, double mean, double half, unsigned unsafe);

/* `2.61 (2.48 to 2.75)`, or without an interval `2.61`; `2.61?` of an unsafe load */
const char *times_text(const struct estimate *e, unsigned unsafe);

/* A run beside the one that it is compared with: its reference, or itself before. */
struct ratio {
	const struct plan *than;
	int run; /* of that plan */
	unsigned unsafe;
	struct estimate e;
	/* There are both figures, and a ratio of them.  Figures that are near 0 may differ without end. */
	bool is_asked, is_known;
	bool differs, is_same; /* 1 is outside of the interval, or inside */
};

struct ratio ratio_of(const struct plan *p, int i, int measure);

/* `costs 1.31 (1.24 to 1.39)`, which stands between a name and the measure's `times`. */
const char *ratio_text(const struct plan *p, int measure, const struct ratio *r);
