/*
 * history.h: the loads of many periods of one measurement, and their mean.
 *
 *	struct history h = {.n = 0};
 *
 *	history_add(&h, &load);
 *	...
 *	report("%.1f%% +-%.1f%%\n", 100 * history_mean(&h), 100 * history_uncertainty(&h));
 */
#pragma once

#include "lib/load/load.h"

struct history {
	long periods; /* all of them */
	long n;       /* those that have a load */
	double sum, squares, min, max;
	double uncertainty; /* the largest uncertainty of a period */
	unsigned unsafe;    /* the reasons of all periods, limits.h */
};

/* Adds a period; one without a load, since no CPU was soaked in it, only counts. */
void history_add(struct history *h, const struct load *l);

/* The mean of the periods' loads; NAN where there is none. */
double history_mean(const struct history *h);

/*
 * Half of the mean's 95 % interval, which has the baseline's uncertainty, common to all periods, and
 * the periods' own variation.
 */
double history_uncertainty(const struct history *h);
