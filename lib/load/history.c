#include "lib/load/history.h"

void history_add(struct history *h, const struct load *l)
{
	h->periods++;
	h->unsafe |= l->unsafe;
	if (isnan(l->load))
		return;
	h->min = h->n == 0 ? l->load : fmin(h->min, l->load);
	h->max = h->n == 0 ? l->load : fmax(h->max, l->load);
	h->uncertainty = fmax(h->uncertainty, l->uncertainty);
	h->sum += l->load;
	h->squares += l->load * l->load;
	h->n++;
}

double history_mean(const struct history *h)
{
	return h->sum / (double)h->n;
}

/*
 * The 97.5 % quantile of Student's t distribution with n - 1 degrees of freedom, by which the
 * standard error of the mean of n values becomes half of its 95 % interval; 0 for one value.
 */
static double student_t(long n)
{
	static const double t[] = {0,     0,     12.71, 4.303, 3.182, 2.776, 2.571, 2.447,
				   2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
				   2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074,
				   2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045};

	return n < (long)(sizeof(t) / sizeof(t[0])) ? t[n] : 1.96 + 2.5 / (double)(n - 1);
}

double history_uncertainty(const struct history *h)
{
	const double n = (double)h->n;
	const double variance = fmax(0, h->squares - h->sum * history_mean(h)) / fmax(1, n - 1);
	const double half = student_t(h->n) * sqrt(variance / n);

	return sqrt(h->uncertainty * h->uncertainty + half * half);
}
