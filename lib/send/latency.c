#include "lib/send/latency.h"

void latency_add(struct latency *h, uint64_t ns)
{
	const uint64_t v = ns >> LATENCY_BITS != 0 ? (1ull << LATENCY_BITS) - 1 : ns;
	const int shift = v < LATENCY_SUB ? 0 : 63 - __builtin_clzll(v) - LATENCY_SHIFT;

	h->class[(size_t)shift * LATENCY_SUB + (size_t)(v >> shift)]++;
	h->n++;
	if (ns > h->max)
		h->max = ns;
}

void latency_merge(struct latency *sum, const struct latency *h)
{
	int i;

	for (i = 0; i < LATENCY_CLASSES; i++)
		sum->class[i] += h->class[i];
	sum->n += h->n;
	if (h->max > sum->max)
		sum->max = h->max;
}

double latency_percentile(const struct latency *h, double p)
{
	const uint64_t rank = (uint64_t)ceil(p * (double)h->n);
	uint64_t seen = 0, low, width;
	size_t i;

	if (h->n == 0)
		return NAN;
	for (i = 0; i + 1 < LATENCY_CLASSES && (seen += h->class[i]) < rank; i++)
		;
	width = i < LATENCY_SUB ? 1 : 1ull << (i / LATENCY_SUB - 1);
	low = i < LATENCY_SUB ? i : (LATENCY_SUB + i % LATENCY_SUB) * width;
	return fmin((double)low + (double)(width - 1) / 2, (double)h->max) / 1e9;
}
