/*
 * bracket.h: a load against the idle machine just before and just after it, where there is no
 * calibration file.
 *
 *	bracket_open(&b, "command", &instrument, &calibration, 0);
 *	...					(two samples)
 *	bracket_close(&b, &instrument, &calibration, &samples, NULL);	(pointers to these)
 *	load_between(&calibration, &from.sum, &to.sum, -1, &l);
 *
 * Neighbouring measurements share the baseline between them: bracket_next() begins the next one.
 */
#pragma once

#include "lib/load/instrument.h"

struct bracket {
	const char *what; /* what is measured, as a message names it */
	double seconds; /* that the measurement takes, as far as is known: the baselines' grow with it */
	double drift; /* by how much the baselines differ, in shares of load; NAN: no second */
	struct calibration
		after; /* the last baseline; cpu is NULL if a measurement has it or none */
	struct limits_mark begun; /* before the baseline that the measurement begins with */
	struct limits_mark ended; /* before the baseline after it */
	bool busy[2];             /* the machine was busy in the first baseline, in the second */
	bool closing;             /* the first was taken */
	bool warned;              /* a busy machine was reported */
	bool warned_of_half;      /* a missing second baseline was reported */
	bool warned_of_full;      /* a machine that is too busy for a load was reported */
};

/*
 * Measures the idle machine before the first measurement, on the CPUs of c->cpus, as long as fits a
 * load of so many seconds (0: not known).  Allocates c->cpu[], which the caller frees.  Prints a line on stderr if the machine is busy.
 * Returns false, and prints which CPU, if something occupies a whole one: no load can be measured.
 */
bool bracket_open(struct bracket *b, const char *what, const struct instrument *in,
		  struct calibration *c, double seconds);

/* The samples at the start and the end of a measurement: of all CPUs together, and of each CPU. */
struct bracket_samples {
	struct load_sample *from, *from_each, *to, *to_each;
};

/*
 * Measures the idle machine again, and makes c the mean of both baselines.  The samples were taken
 * against c as it was: they become samples against the mean.  Returns false, and has changed neither,
 * if *stop was not 0 before the end (unless `stop` is NULL).
 */
bool bracket_close(struct bracket *b, const struct instrument *in, struct calibration *c,
		   const struct bracket_samples *samples, const _Atomic int *stop);

/* Makes the last baseline that of the measurement that follows.  Before the first it does nothing. */
void bracket_next(struct bracket *b, struct calibration *c);

/* The reasons that both baselines have to mark a load: the machine was busy. */
unsigned bracket_unsafe(const struct bracket *b);

/* Frees what the last measurement left. */
void bracket_end(struct bracket *b);
