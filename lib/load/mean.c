#include "lib/load/mean.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void mean_of_middle(double *v, int n, double *mean, double *sd)
{
	int skip = n / 4, i;
	double all = 0, median;

	qsort(v, (size_t)n, sizeof(*v), by_value);
	for (*mean = 0, i = skip; i < n - skip; i++)
		*mean += v[i] / (n - 2 * skip);
	for (i = 0; i < n; i++)
		all += v[i] / n;
	for (i = 0; i < n; i++)
		v[i] = fabs(v[i] - *mean);
	qsort(v, (size_t)n, sizeof(*v), by_value);
	median = (v[(n - 1) / 2] + v[n / 2]) / 2;
	*sd = sqrt(1.4826 * 1.4826 * median * median + (all - *mean) * (all - *mean));
}

void mean_of(const double *v, int n, double *mean, double *sd)
{
	int i;

	for (*mean = 0, i = 0; i < n; i++)
		*mean += v[i] / n;
	for (*sd = 0, i = 0; i < n; i++)
		*sd += (v[i] - *mean) * (v[i] - *mean) / (n - 1);
	*sd = sqrt(*sd);
}
