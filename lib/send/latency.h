/*
 * latency.h: a histogram of latencies in ns.  Its classes are a 32nd of a power of two wide, so that
 * a percentile is off by 1.6 % at most, and it has the same size whatever it holds.
 *
 *	latency_add(&h, ns);
 *	median = latency_percentile(&h, 0.5);
 */
#pragma once

#include "common.h"

#define LATENCY_SHIFT 5
#define LATENCY_SUB   (1 << LATENCY_SHIFT) /* classes of each power of two */
#define LATENCY_BITS  40                   /* up to 18 minutes */

struct latency {
	uint64_t n, max;
	uint64_t class[(LATENCY_BITS - LATENCY_SHIFT + 1) * LATENCY_SUB];
};

void latency_add(struct latency *h, uint64_t ns);
void latency_merge(struct latency *to, const struct latency *from);

/* The latency in seconds that the share p of all was within: the middle of its class; or NAN. */
double latency_percentile(const struct latency *h, double p);
