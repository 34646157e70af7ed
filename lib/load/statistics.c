#include "lib/load/statistics.h"

/*
 * From 5 degrees of freedom on, t is the expansion of Cornish and Fisher in powers of 1 / freedom (Abramowitz
 * and Stegun, Handbook of Mathematical Functions, 26.7.5), which is too small by 0.1 % at most.  Below 5 it is
 * the table's value, and between two values a straight line over 1 / freedom, which lies above the true curve.
 */
double student_t(double freedom)
{
	static const double table[] = {0, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706};
	const double z = 1.959964, f = 1 / fmax(1, freedom);
	const double g1 = (pow(z, 3) + z) / 4;
	const double g2 = (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / 96;
	const double g3 = (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / 384;
	const int i = (int)fmax(1, freedom);

	if (freedom >= 5)
		return z + f * (g1 + f * (g2 + f * g3));
	return table[i] + (table[i + 1] - table[i]) * (1.0 / i - f) * i * (i + 1);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double median_of(double *v, int n)
{
	if (n == 0)
		return NAN;
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

int mean_of(const double *v, int n, double *mean, double *sd)
{
	double sum = 0, squares = 0;
	int i, known = 0;

	for (i = 0; i < n; i++)
		if (!isnan(v[i])) {
			sum += v[i];
			known++;
		}
	*mean = known > 0 ? sum / known : NAN;
	for (i = 0; i < n; i++)
		if (!isnan(v[i]))
			squares += (v[i] - *mean) * (v[i] - *mean);
	*sd = known > 1 ? sqrt(squares / (known - 1)) : NAN;
	return known;
}

void mean_of_middle(double *v, int n, double *mean, double *sd)
{
	const int skip = n / 4;
	double all = 0, deviation;
	int i;

	median_of(v, n);
	for (*mean = 0, i = skip; i < n - skip; i++)
		*mean += v[i] / (n - 2 * skip);
	for (i = 0; i < n; i++) {
		all += v[i] / n;
		v[i] = fabs(v[i] - *mean);
	}
	deviation = 1.4826 * median_of(v, n);
	*sd = hypot(deviation, all - *mean);
}

static struct estimate estimate_of(double mean, double half)
{
	return (struct estimate){mean, mean - half, mean + half};
}

struct estimate statistics_mean(const double *x, int n)
{
	double mean, sd;

	n = mean_of(x, n, &mean, &sd);
	return estimate_of(mean, student_t(n - 1) * sd / sqrt(n));
}

/* A value that is not above 0 has no logarithm: the mean is then infinite, and the estimate not known. */
static struct estimate exponential(struct estimate e)
{
	return (struct estimate){isinf(e.value) ? NAN : exp(e.value), exp(e.low), exp(e.high)};
}

/* The mean of the logarithms of a[i] / b[i], or of a[i] if b is NULL; returns how many are known. */
static int mean_of_logs(const double *a, const double *b, int n, double *mean, double *sd)
{
	double *logs = alloc_or_die((size_t)n, sizeof(*logs), "a comparison"), other;
	int i;

	for (i = 0; i < n; i++) {
		other = b != NULL ? b[i] : 1;
		logs[i] = a[i] > 0 && other > 0 ? log(a[i]) - log(other) : INFINITY;
		if (isnan(a[i]) || isnan(other))
			logs[i] = NAN;
	}
	n = mean_of(logs, n, mean, sd);
	free(logs);
	return n;
}

struct estimate statistics_ratio(const double *a, const double *b, int n)
{
	double mean, sd;

	n = mean_of_logs(a, b, n, &mean, &sd);
	return exponential(estimate_of(mean, student_t(n - 1) * sd / sqrt(n)));
}

struct estimate statistics_ratio_unpaired(const double *a, int n, const double *b, int m)
{
	double mean_a, mean_b, va, vb, freedom;

	n = mean_of_logs(a, NULL, n, &mean_a, &va);
	m = mean_of_logs(b, NULL, m, &mean_b, &vb);
	va *= va / n;
	vb *= vb / m;
	freedom = (va + vb) * (va + vb) / (va * va / (n - 1) + vb * vb / (m - 1));
	if (n == 1 || m == 1) {
		freedom = n + m - 2;
		va = n == 1 ? vb * m : va;
		vb = m == 1 ? va * n : vb;
	}
	return exponential(estimate_of(mean_a - mean_b, student_t(freedom) * sqrt(va + vb)));
}

double statistics_half(const struct estimate *e)
{
	return (e->high - e->low) / 2;
}

struct estimate statistics_widen(struct estimate e, double half)
{
	const double low = hypot(e.value - e.low, half), high = hypot(e.high - e.value, half);

	return (struct estimate){e.value, e.value - low, e.value + high};
}

/*
 * Periods.
 */

void history_add(struct history *h, double load, double uncertainty, unsigned unsafe)
{
	h->periods++;
	if (isnan(load))
		return;
	h->unsafe |= unsafe;
	h->min = h->n == 0 ? load : fmin(h->min, load);
	h->max = h->n == 0 ? load : fmax(h->max, load);
	h->uncertainty = fmax(h->uncertainty, uncertainty);
	h->sum += load;
	h->squares += load * load;
	h->n++;
}

double history_mean(const struct history *h, double *half)
{
	const double n = (double)h->n, mean = h->sum / n;
	const double variance = fmax(0, h->squares - h->sum * mean) / fmax(1, n - 1);

	*half = hypot(h->uncertainty, h->n > 1 ? student_t(n - 1) * sqrt(variance / n) : 0);
	return mean;
}
