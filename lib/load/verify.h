/*
 * verify.h: cyclesoak --verify: loads of known size by both instruments alternately, and what they prove.
 *
 *	verify_measure_or_die(&setup, 5, &evidence);
 *	verdicts_of(&evidence, &verdicts);
 *	status = verdicts_status(&verdicts);
 */
#pragma once

#include "lib/load/burner.h"
#include "lib/load/gauge.h"

/* The values of one figure, of which the steps take medians. */
#define VALUES_MOST 16

struct values {
	int n;
	double x[VALUES_MOST];
};

/* Adds a value, unless it is NAN or there are VALUES_MOST. */
void values_add(struct values *v, double x);

/* The median, or NAN of none. */
double values_median(const struct values *v);

enum { VERIFY_SOAK, VERIFY_IDLE, VERIFY_INSTRUMENTS };

/* What is measured with each instrument. */
enum verify_load {
	VERIFY_ZERO,
	VERIFY_BURN_10, /* 10 % of the first CPU; the next two work there, too */
	VERIFY_BURN_50,
	VERIFY_BURN_95,
	VERIFY_BURN_LAST, /* 50 % of the last CPU */
	VERIFY_BURN_BOTH, /* 50 % of the first CPU and of the last */
	VERIFY_VETH,
	VERIFY_VETH_RPS,
	VERIFY_LOADS
};

/* What one instrument measured of a load, in CPUs, each time that the load was safe. */
struct series {
	struct values load, half; /* the load, and half of its 95 % confidence interval */
	struct values ran;        /* the burner's CPU time, by the clock of this process */
	struct values excess;     /* the load less the burner's CPU time */
	int unsafe_loads;
	unsigned
		unsafe; /* the reasons of the unsafe loads, or why the load is not measured at all */
};

struct evidence {
	int cpus;
	struct series of[VERIFY_INSTRUMENTS][VERIFY_LOADS];
	struct values kept, late;                /* of yield_measure() beside the soakers */
	struct values speed[VERIFY_INSTRUMENTS]; /* turns per CPU-second of a lone thread */
	double steal; /* the greatest share of the CPU time that the hypervisor took during a load */
	char no_softirqs[DIE_MAX]; /* why softirqs cannot be moved; empty if they can be */
};

/*
 * Measures the CPUs of the setup in rounds of all loads by both instruments.  A load that is unsafe is
 * measured once more.
 */
void verify_measure_or_die(const struct gauge_setup *setup, int rounds, struct evidence *e);

/* Adds a load that was measured while a burner worked. */
void evidence_add(struct evidence *e, int instrument, enum verify_load c, const struct load *l,
		  const struct burner_done *d);

enum verdict_kind { VERDICT_FIGURE, VERDICT_PASS, VERDICT_FAIL, VERDICT_NOT_RUN };

/* What a step expects.  A limit is extended by the tolerance in the direction of its sign. */
enum verdict_relation { EXPECT_AT_LEAST = -1, EXPECT_NOTHING, EXPECT_AT_MOST, EXPECT_EQUAL };

/* One line. */
struct verdict {
	const char *step, *what;
	const struct instrument_kind *by; /* NULL: the line is about neither instrument */
	const char *unit;
	double measured;
	enum verdict_relation relation;
	double expected, tolerance;
	enum verdict_kind kind;
	int loads, unsafe_loads; /* how many loads were safe, and how many unsafe */
	unsigned unsafe;         /* the reasons of the unsafe loads */
	const char *why;         /* why the step could not be run; NULL: all loads were unsafe */
};

#define VERDICTS_MOST 40

struct verdicts {
	int n, count[VERDICT_NOT_RUN + 1]; /* lines, and of each kind */
	struct verdict all[VERDICTS_MOST];
};

void verdicts_of(const struct evidence *e, struct verdicts *v);

/* The exit status: 1 if a step fails, else 2 if one could not be run, else 0. */
int verdicts_status(const struct verdicts *v);
