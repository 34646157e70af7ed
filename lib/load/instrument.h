/*
 * instrument.h: the two ways to measure how busy the CPUs are, behind the same calls.
 *
 *	in = instrument_soak(soaker);
 *	tasks = in.kind->baseline(&in, &calibration, 10, NULL);
 *	in.kind->sample(&in, &calibration, &from, NULL);
 */
#pragma once

#include "lib/load/load.h"

struct idle;
struct instrument;

struct instrument_kind {
	/* Reads samples against a baseline of the same instrument and CPUs; `each` may be NULL. */
	void (*sample)(const struct instrument *in, const struct calibration *c,
		       struct load_sample *sum, struct load_sample *each);

	/* Measures the idle machine: baseline_measure(). */
	double (*baseline)(const struct instrument *in, struct calibration *c, double seconds,
			   const _Atomic int *stop);

	/* Reads what disturbs the instrument: soaker_limits(). */
	void (*limits)(const struct instrument *in, struct limits_mark *m);

	/* Ends it, and frees what it has. */
	void (*close)(struct instrument *in);
};

struct instrument {
	const struct instrument_kind *kind; /* NULL: no load is measured */
	struct soaker *soaker;              /* of the one */
	struct idle *idle;                  /* of the other */
};

struct instrument instrument_soak(struct soaker *s);
