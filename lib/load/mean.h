/*
 * mean.h: the mean of what was measured in several windows, and how steady it is.
 *
 *	mean_of_middle(spin, n, &b->spin, &b->spin_sd);
 */
#pragma once

/*
 * The mean of the middle half of n values, so that one burst does not become the baseline, and
 * the standard deviation of all, estimated from their median deviation (times 1.4826, which holds
 * for a normal distribution).  Bursts that come again will also be in what is measured, so that by
 * how much they move the mean of all is part of the deviation.  The values are lost.
 */
void mean_of_middle(double *v, int n, double *mean, double *sd);

/* The mean and standard deviation of n values whose bursts count. */
void mean_of(const double *v, int n, double *mean, double *sd);
