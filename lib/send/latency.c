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

/* The middle of class i in ns. */
static double class_middle(size_t i)
{
	const uint64_t width = i < LATENCY_SUB ? 1 : 1ull << (i / LATENCY_SUB - 1);
	const uint64_t low = i < LATENCY_SUB ? i : (LATENCY_SUB + i % LATENCY_SUB) * width;

	return (double)low + (double)(width - 1) / 2;
}

double latency_percentile(const struct latency *h, double p)
{
	const uint64_t rank = (uint64_t)fmax(ceil(p * (double)h->n), 1);
	uint64_t seen = 0;
	size_t i;

	if (h->n == 0)
		return NAN;
	for (i = 0; i + 1 < LATENCY_CLASSES && (seen += h->class[i]) < rank; i++)
		;
	return fmin(class_middle(i), (double)h->max) / 1e9;
}

uint64_t latency_count(const struct latency *h, double from_ns, double to_ns)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < LATENCY_CLASSES; i++)
		if (class_middle(i) >= from_ns && class_middle(i) < to_ns)
			n += h->class[i];
	return n;
}

void latency_drop_below(struct latency *h, double ns)
{
	size_t i;

	for (i = 0; i < LATENCY_CLASSES && class_middle(i) < ns; i++) {
		h->n -= h->class[i];
		h->class[i] = 0;
	}
	if (h->n == 0)
		h->max = 0;
}
