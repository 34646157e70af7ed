/*
 * latency.h: latencies, as a histogram.
 *
 *	latency_add(&h, end_ns - begin_ns);
 *	...
 *	latency_merge(&all, &h);
 *	report("median %.3f ms\n", 1000 * latency_percentile(&all, 0.5));
 *
 * Its classes are a 32nd of a power of two wide, so that a percentile is off by 1.6 % at most, and
 * it has the same size whatever it holds.
 */
#pragma once

#include "common.h"

#define LATENCY_SHIFT   5
#define LATENCY_SUB     (1 << LATENCY_SHIFT) /* classes of each power of two */
#define LATENCY_BITS    40                   /* a latency may have: up to 18 minutes */
#define LATENCY_CLASSES ((LATENCY_BITS - LATENCY_SHIFT + 1) * LATENCY_SUB)

struct latency {
	uint64_t n, max; /* how many, and the longest in ns */
	uint64_t class[LATENCY_CLASSES];
};

/* Adds a latency; one that is too long for the classes counts in the last of them. */
void latency_add(struct latency *h, uint64_t ns);

/* Adds the latencies of another histogram. */
void latency_merge(struct latency *sum, const struct latency *h);

/*
 * The latency in seconds that the share p of all was within: the middle of its class; or NAN.  That
 * of 0 is the shortest.
 */
double latency_percentile(const struct latency *h, double p);

/* The number of latencies from `from_ns` to less than `to_ns`, by the middles of their classes. */
uint64_t latency_count(const struct latency *h, double from_ns, double to_ns);

/* Removes the latencies that are shorter, by the same rule. */
void latency_drop_below(struct latency *h, double ns);
