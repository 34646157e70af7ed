#include "lib/send/latency.h"

#define CLASSES (sizeof(((struct latency *)NULL)->class) / sizeof(uint64_t))

static size_t class_of(uint64_t v)
{
	int shift;

	if (v < LATENCY_SUB)
		return (size_t)v;
	if (v >> LATENCY_BITS)
		v = (1ull << LATENCY_BITS) - 1;
	shift = 63 - __builtin_clzll(v) - LATENCY_SHIFT;
	return (size_t)(shift + 1) * LATENCY_SUB + (size_t)((v >> shift) & (LATENCY_SUB - 1));
}

void latency_add(struct latency *h, uint64_t ns)
{
	h->class[class_of(ns)]++;
	h->n++;
	if (ns > h->max)
		h->max = ns;
}

void latency_merge(struct latency *to, const struct latency *from)
{
	size_t i;

	for (i = 0; i < CLASSES; i++)
		to->class[i] += from->class[i];
	to->n += from->n;
	if (from->max > to->max)
		to->max = from->max;
}

double latency_percentile(const struct latency *h, double p)
{
	const uint64_t rank = (uint64_t)ceil(p * (double)h->n);
	uint64_t seen = 0, low, width;
	size_t i;

	if (h->n == 0)
		return NAN;
	for (i = 0; i + 1 < CLASSES && (seen += h->class[i]) < rank; i++)
		;
	width = i < LATENCY_SUB ? 1 : 1ull << (i / LATENCY_SUB - 1);
	low = i < LATENCY_SUB ? i : (LATENCY_SUB + i % LATENCY_SUB) * width;
	return fmin((double)low + (double)(width - 1) / 2, (double)h->max) / 1e9;
}
