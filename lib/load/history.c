#include "lib/load/history.h"

#include "lib/load/statistics.h"

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

double history_uncertainty(const struct history *h)
{
	const double n = (double)h->n;
	const double variance = fmax(0, h->squares - h->sum * history_mean(h)) / fmax(1, n - 1);
	const double half = (h->n > 1 ? student_t(n - 1) * sqrt(variance / n) : 0);

	return sqrt(h->uncertainty * h->uncertainty + half * half);
}
