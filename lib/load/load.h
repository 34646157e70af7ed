/*
 * load.h: from what the soakers counted, and a baseline of the idle machine, to a load.
 */
#ifndef ZC_LOAD_LOAD_H
#define ZC_LOAD_LOAD_H

#include "common.h"
#include "lib/load/soaker.h"

/*
 * What one CPU's soaker does on the idle machine, and how steadily: the standard deviations are
 * those of windows of BASELINE_WINDOW.
 */
#define BASELINE_WINDOW 0.25 /* seconds */

struct baseline {
	double tasks, tasks_sd; /* share of the time that other tasks have the CPU, 0 to 1 */
	double spin, spin_sd;   /* share of the rest that it spins, 0 to 1 */
	double speed, speed_sd; /* turns per second of spinning */
};

struct calibration {
	struct cpus cpus;     /* that were soaked, ascending */
	struct baseline *cpu; /* of each */
	double total;         /* turns per second of all of them: the first line of the file */
	char machine[256];    /* host name, kernel release and CPU model, as the file has them */
};

/*
 * Sums up to now, over all CPUs or of one, in CPU-seconds of the idle machine: how long it could
 * spin, how much work it did, and how long another task had its CPU.
 */
struct load_sample {
	uint64_t ns;
	double spin, work, tasks;
	double switches; /* how often a task displaced a soaker */
};

/* Between two samples.  NAN where no time passed. */
struct load {
	double load;        /* share of the CPUs: 0 idle, 1 busy */
	double uncertainty; /* half of its 95 % interval */
	double slowed;      /* by how much the idle work that was left went slower */
	double tasks;       /* share of the CPUs that other tasks had, by the scheduler's clock */
	double seconds;
};

/*
 * Reads the soakers against a calibration of the same CPUs: all of them into *sum, and into
 * each[], unless it is NULL, every one.  May be called by any thread.
 */
void load_sample_read(const struct soaker *s, const struct calibration *c, struct load_sample *sum,
		      struct load_sample *each);

/* The load between two samples of the whole (i < 0) or of the i-th CPU. */
void load_between(const struct calibration *c, const struct load_sample *from,
		  const struct load_sample *to, int i, struct load *l);

#endif
