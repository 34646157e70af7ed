/*
 * verdict.h: judges what cyclesoak --verify measured.  It measures and prints nothing.
 *
 *	evidence_add(&e, VERIFY_SOAK, VERIFY_BURN_50, &load, &done);
 *	...
 *	verdicts_of(&e, &v);
 *	status = verdicts_status(&v);
 */
#pragma once

#include "lib/load/burner.h"
#include "lib/load/load.h"

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

/* The two instruments, and what only the price of soaking is measured with. */
enum { VERIFY_SOAK, VERIFY_IDLE, VERIFY_INSTRUMENTS, VERIFY_SIBLING = VERIFY_INSTRUMENTS };

/* What is measured with each instrument. */
enum verify_case {
	VERIFY_ZERO,
	VERIFY_BURN_10, /* on the first CPU, as the next two */
	VERIFY_BURN_50,
	VERIFY_BURN_95,
	VERIFY_BURN_LAST, /* 50 % of the last CPU */
	VERIFY_BURN_BOTH, /* of both */
	VERIFY_VETH,
	VERIFY_VETH_RPS,
	VERIFY_WAKE_1, /* 1,000 wake-ups per second */
	VERIFY_WAKE_5,
	VERIFY_WAKE_20,
	VERIFY_STREAM,
	VERIFY_CASES
};

/* The loads of one case by one instrument, in CPUs, of those that are safe. */
struct series {
	struct values load, half; /* half of the 95 % interval */
	struct values ran;        /* by the clock of the burner's process */
	struct values excess;     /* the load less that */
	struct values each;       /* excess in seconds per wake-up or datagram */
	int unsafe_loads;
	unsigned unsafe; /* their reasons, or why there is no load at all */
};

struct evidence {
	int cpus;
	struct series of[VERIFY_INSTRUMENTS][VERIFY_CASES];
	struct values kept, late;                    /* of yield_measure() beside the soakers */
	struct values speed[VERIFY_INSTRUMENTS + 1]; /* turns per second of a thread's CPU time */
	double steal;                                /* the greatest of any load, as a share */
	char no_softirqs[DIE_MAX]; /* why softirqs cannot be moved; empty: they can */
};

/* Adds a load of a case, beside which a burner worked. */
void evidence_add(struct evidence *e, int instrument, enum verify_case c, const struct load *l,
		  const struct burner_done *d);

enum verdict_kind { VERDICT_FIGURE, VERDICT_PASS, VERDICT_FAIL, VERDICT_NOT_RUN };

/* What a step expects. */
enum verdict_relation { EXPECT_NOTHING, EXPECT_EQUAL, EXPECT_AT_LEAST, EXPECT_AT_MOST };

/* One line. */
struct verdict {
	const char *step, *what;
	const char *instrument; /* as reports have it; NULL: the line is of neither */
	const char *unit;
	double measured, half; /* NAN: not known; `half` is of a figure's 95 % interval */
	enum verdict_relation relation;
	double expected, tolerance;
	enum verdict_kind kind;
	int loads, unsafe_loads; /* safe ones, and others */
	unsigned unsafe;         /* the reasons of the latter */
	const char *why;         /* why the step could not be run; NULL: there was no safe load */
};

#define VERDICTS_MOST 40

struct verdicts {
	int n;
	struct verdict all[VERDICTS_MOST];
};

void verdicts_of(const struct evidence *e, struct verdicts *v);

/* The exit status: 1 if a step fails, else 2 if one could not be run, else 0. */
int verdicts_status(const struct verdicts *v);
