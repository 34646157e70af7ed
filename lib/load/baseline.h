/*
 * baseline.h: what an instrument counts on the idle machine, and how steadily.
 *
 *	if (baseline_measure(&in, &c, 10, NULL)) {
 *		baseline_sample(&in, &c, &from, NULL);
 *		...
 *	}
 *
 * A baseline is measured in windows: one loop for both instruments.
 */
#pragma once

#include "lib/load/load.h"

/* An instrument, and what it needs to start. */
struct instrument {
	const struct instrument_kind *kind; /* NULL: the load is not measured */
	bool parks;       /* of by_soaking: the soakers sleep beside those of another program */
	double wait;      /* of by_soaking: seconds for another set of soakers to end */
	unsigned missing; /* why it could not start, as UNSAFE_*; 0: for another reason */
	struct lock_holder holder; /* the program that has the CPUs soaked; pid is -1 if none has */
	struct soaker *soaker;     /* of by_soaking; otherwise NULL */
	bool whole; /* of by_idle_time: the CPUs measured are all that the machine has */
	int online; /* of by_idle_time: if more CPUs are online, one has come that is not measured */
	struct profile *profile;  /* of what the CPUs do; NULL: there is none */
	struct idle_clock *clock; /* of by_idle_time; NULL: the columns of /proc/stat count */
};

#define WINDOWS_MAX 20

/* A measurement in progress, window after window. */
struct windows {
	const struct instrument *in;
	const struct cpus *cpus;
	int n; /* the number of windows so far */
	struct load_sample
		at[]; /* of each CPU and of all, before the first and after each window */
};

/* Begins a measurement of these CPUs, to be freed by free(3). */
struct windows *windows_start(const struct instrument *in, const struct cpus *cpus);

/* Measures one more window of BASELINE_WINDOW seconds, at most WINDOWS_MAX. */
void windows_add(struct windows *w);

/* The sample of the i-th CPU, or behind the last one of all, after k windows. */
const struct load_sample *windows_at(const struct windows *w, int k, int i);

/* Stores the baselines of the last n windows into c, whose cpu[] it allocates. */
void windows_store(const struct windows *w, int n, struct calibration *c);

/*
 * Measures the idle machine, the CPUs of c->cpus, for a quarter of `seconds`, the length of the load, and for 1 to 5 s.
 * Returns false, and stores no baseline, if *stop ended that; `stop` may be NULL.
 */
bool baseline_measure(const struct instrument *in, struct calibration *c, double seconds,
		      const _Atomic int *stop);

/* Stores the baseline of a machine that does nothing: all time that is not idle is load. */
void baseline_none(const struct instrument *in, struct calibration *c);

/* Reads a sample of each of the CPUs and of all, with the profile, as the kind's `read` does. */
void instrument_read(const struct instrument *in, const struct cpus *cpus, struct load_sample *at,
		     bool for_baseline);

/*
 * Of a sample of each CPU and of all, as an instrument has read it, that of the i-th CPU, or of all (i < 0), relative to a
 * baseline of the same instrument and CPUs.
 */
struct load_sample baseline_sample(const struct calibration *c, const struct load_sample *at,
				   int i);

/* The windows of BASELINE_WINDOW seconds that a baseline takes for a load of `seconds`. */
int baseline_windows(double seconds);

/* Whether it was measured over an hour ago.  A calibration file, which the user chose, does not grow old. */
bool baseline_is_old(const struct calibration *c);

/* The index of the first CPU without a baseline, as other programs kept it fully busy; -1: all have one. */
int baseline_starved(const struct calibration *c);

/* What other programs took while it was measured (`before the run`): a CPU, or a share of the machine. */
const char *baseline_disturbed(const struct calibration *c, const char *when);

/* Makes c the mean of two baselines; returns by how much they differ, in shares of load. */
double baseline_merge(struct calibration *c, const struct calibration *other);
