/*
 * gauge.h: how busy this host is.  The tools know this part of lib/load and no other.
 *
 *	static const struct gauge_setup setup = {.soak = true, .what = "transfer"};
 *
 *	gauge_prepare_or_die(&g, &setup);
 *	gauge_start(&g, 10);
 *	gauge_begin(&g, &from, "eth0");
 *	...					(what is measured)
 *	gauge_end(&g, &to, "eth0");
 *	gauge_after(&g, &from, &to, NULL);
 *	gauge_load(&g, &from, &to, &l);
 *	gauge_say(&g, &l, false);
 *	gauge_stop(&g);
 *
 * Two instruments stand behind it: soaking (load.h), which tells what the traffic takes from other
 * work, and the CPUs' idle time (load.h), which tells how busy it makes a machine of its own.
 *
 * Without a calibration the idle machine is measured just before and just after what is measured
 * (BASELINE_OWN).  Neighbouring measurements share the baseline between them: gauge_next() begins the
 * next one.
 */
#pragma once

#include "lib/load/baseline.h"
#include "lib/load/load.h"

/* What is to be measured, and against what. */
struct gauge_setup {
	bool soak, idle;  /* by soaking, or by idle time; neither: no load is measured */
	bool never_idle;  /* soaking needs a calibration, and of idle time nothing is subtracted */
	bool own;         /* soaking: no calibration is looked for */
	const char *what; /* what is measured, as a message names it */
	const char *file; /* the calibration; NULL: CALIBRATION_FILE, if it is there and fits */
	double wait;      /* seconds at most for another set of soakers to end */
	double wait_idle; /* seconds at most for other programs to rest; 0: they are not waited for */
	int n_cpus;       /* of the first CPUs; 0: of all that are online */
	struct cpus on;   /* of these CPUs; empty: of the first */
};

struct gauge {
	const struct gauge_setup *setup;
	struct instrument instrument; /* kind is NULL while no load is measured */
	struct calibration calibration;
	enum baseline_kind baseline;
	unsigned missing; /* why no load is measured though it was asked for: a reason */
	struct limits_said said;

	/* Of BASELINE_OWN. */
	double seconds; /* that a measurement takes, as far as is known: the baselines' grow with it */
	double drift; /* by how much the baselines differ, in shares of load; NAN: no second */
	struct calibration
		after; /* the last baseline; cpu is NULL if a measurement has it, or none */
	bool half;     /* the last measurement has no second baseline, as a CPU was held then */
};

/* This host at one time. */
struct gauge_mark {
	struct load_sample sum, *each; /* of all CPUs, and unless it is NULL of each CPU */
	struct counters counters;
};

/* The CPUs that are to be measured.  Those that cannot be are a usage error: cpus_to_soak(). */
struct cpus gauge_cpus(const struct gauge_setup *setup);

/* Calibrates, by soaking: calibrate_or_die(). */
void gauge_calibrate_or_die(const struct gauge_setup *setup, bool force);

/* Whether a load was asked for. */
bool gauge_is_wanted(const struct gauge_setup *setup);

/* Finds the calibration and warns of what would limit the load, or dies. */
void gauge_prepare_or_die(struct gauge *g, const struct gauge_setup *setup);

/* Makes a gauge that can be started of one that was prepared, which stays as it is. */
void gauge_copy(struct gauge *g, const struct gauge *prepared);

/*
 * Starts the instrument, and measures the idle machine if there is no calibration, for a time that fits a load
 * of `seconds` (0: not known).  Returns false if no load can be measured, and prints the reason once; the
 * caller goes on without a load.  To be called before there are threads or traffic.
 */
bool gauge_start(struct gauge *g, double seconds);

/* The first half of gauge_start(): no baseline is measured. */
bool gauge_start_instrument(struct gauge *g);

/*
 * Waits until other programs have taken under 3 % of the host for a second, setup->wait_idle seconds at most.
 * Returns false, with which is the busiest in `why`, if they did not; or if *stop ended that, unless `stop` is
 * NULL.  What soaks CPUs is not counted, nor what is as nice.
 */
bool gauge_wait_idle(const struct gauge *g, const struct gauge_setup *setup,
		     const _Atomic int *stop, char why[DIE_MAX]);

/* Whether a load is being measured. */
bool gauge_measures(const struct gauge *g);

/* Ends the instrument. */
void gauge_stop(struct gauge *g);

/* Allocates `each` for a sample of each CPU, which is to be freed by free(3). */
void gauge_mark_open(const struct gauge *g, struct gauge_mark *m);

/*
 * Reads the host before what is measured, or after it: the instrument is read next to that, as the
 * counters take long.  `interface` is that whose packets are counted, or NULL.
 */
void gauge_begin(const struct gauge *g, struct gauge_mark *m, const char *interface);
void gauge_end(const struct gauge *g, struct gauge_mark *m, const char *interface);

/* Reads the instrument alone: all CPUs and, unless `each` is NULL, every CPU. */
void gauge_sample(const struct gauge *g, struct load_sample *sum, struct load_sample *each);

/*
 * Measures the idle machine again, where there is no calibration, and makes the marks samples against
 * the mean of both.  *stop, unless `stop` is NULL, ends that: the load is then against the baseline
 * before alone.
 */
void gauge_after(struct gauge *g, struct gauge_mark *from, struct gauge_mark *to,
		 const _Atomic int *stop);

/* What is measured next begins with the baseline after the last. */
void gauge_next(struct gauge *g);

/*
 * The load between two samples, of all CPUs (i < 0) or of the i-th, with every reason that makes it
 * unsafe but steal, which gauge_load() knows.  Where there is none, it has the reason why.
 */
void gauge_between(const struct gauge *g, const struct load_sample *from,
		   const struct load_sample *to, int i, struct load *l);

/* The load and the rates between two marks. */
void gauge_load(const struct gauge *g, const struct gauge_mark *from, const struct gauge_mark *to,
		struct load *l);

/*
 * Prints a line on stderr for each reason of a load that the one before did not have: limits_say().  No
 * reason ends with an interval of a run: its line is not printed again.
 */
void gauge_say(struct gauge *g, const struct load *l, bool is_interval);
