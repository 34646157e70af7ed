/*
 * load.h: computes a load from what an instrument counted and from a baseline of the idle machine.
 *
 *	baseline_sample(&in, &calibration, &from, NULL);
 *	...
 *	baseline_sample(&in, &calibration, &to, NULL);
 *	load_between(&calibration, &from, &to, -1, &l);
 *	report("%.1f%% +-%.1f%%\n", 100 * l.load, 100 * l.uncertainty);
 *
 * The method (zc-method(7) has more): each CPU has a soaker, a thread with the lowest weight that the kernel
 * offers.  The soaker reads the clock in a loop and counts the turns.  If two readings are far apart, the time
 * between them is a gap: a task, an interrupt, a softirq or the hypervisor took it.  10,000 times a second the
 * soaker dirties a cache line, and the time for which it then waits for memory does not count as spinning: traffic
 * that takes memory bandwidth or cache makes that time longer.  The rest of the time the soaker spins.
 *
 * Other tasks also have the CPU of an idle machine, for a share tasks0 of the time, and the soaker spins for a share
 * spin0 of the time that is left.  The tasks go on beside any load, and the share spin0 holds for the time that the
 * load leaves.  If a soaker spins for `spin` seconds out of T, therefore
 *
 *	load = 1 - tasks0 - spin / spin0 / T
 *
 * Time that the hypervisor takes is not load of this machine, and is subtracted from T, here and in
 * the baseline.  The soaker sees what the hypervisor takes while the soaker has the CPU; the kernel counts all of it, in
 * ticks.  Nothing else is subtracted: wake-ups, interrupts and softirqs are the load.
 *
 * The speed of a soaker is its turns per second of spinning.  It falls with the core's clock
 * frequency, and when the core's other thread is busy: with traffic of this machine or, on a
 * virtual machine, with another guest.  A program cannot tell which, so this is a figure of its own:
 *
 *	slowed = 1 - speed / speed0
 */
#pragma once

#include "lib/load/limits.h"
#include "lib/load/soaker.h"

#define CAL_BUSY                                                                                   \
	0.03 /* share that tasks may have of a baseline: on an idle machine it is below 1 % */
#define CAL_FULL 0.3 /* a baseline in which tasks had a greater share is useless */

#define BASELINE_WINDOW 0.25 /* seconds: standard deviations are those of windows of this length */

/* The figures of one CPU's soaker on the idle machine: means and standard deviations. */
struct baseline {
	double tasks, tasks_sd; /* share of the time that other tasks have the CPU, 0 to 1 */
	double spin, spin_sd;   /* share of the rest that the soaker spins, 0 to 1 */
	double speed, speed_sd; /* turns per second of spinning */
	double drift;           /* by how much two baselines differ, of which this is the mean */
	double step; /* by how much `tasks` may be wrong, as idle time is counted in steps */
};

struct calibration {
	struct cpus cpus;     /* the CPUs that were measured, ascending */
	struct baseline *cpu; /* one for each CPU */
	double total;         /* turns per second of all CPUs: the first line of the file */
	struct baseline all;  /* the mean of the CPUs, whose errors are not independent */
	const struct instrument_kind *kind; /* what measured it, or is to measure it */
	double windows; /* how many windows the shares are means of: it makes their error smaller */
	bool of_file;   /* a file's: all loads have this baseline, and its error */
	double others;  /* share that tasks had of the machine; of two baselines the greater one */
	unsigned unsafe;   /* what disturbed its measurement: a set of reasons, limits.h */
	char machine[256]; /* host name, kernel release and CPU model, as the file has them */
	struct profile_counts profile; /* of the idle machine */
	int64_t taken_ns; /* when a baseline was measured, of CLOCK_BOOTTIME; of a file 0 */
};

/*
 * The baseline of a load: a calibration file, the idle machine before and after (OWN), the idle
 * machine at the start or between clients (IDLE), or none: nothing is subtracted (NONE).
 */
enum baseline_kind { BASELINE_UNKNOWN, BASELINE_FILE, BASELINE_OWN, BASELINE_IDLE, BASELINE_NONE };

/*
 * The load between two samples.  It is NAN if no time passed, and if it would mean nothing: `unsafe` then has the
 * reason (tasks had more than CAL_FULL of a baseline, a CPU was offline, or the load is far below 0).
 */
struct load {
	double load;        /* share of the CPUs: 0 idle, 1 busy */
	double uncertainty; /* half of its 95 % confidence interval */
	double shared;      /* the part of it that does not vary between runs of the same kind */
	double slowed;      /* how much slower the soakers spun, as a share */
	double tasks;       /* share of the CPUs that other tasks had, by the scheduler's clock */
	double switches;    /* how often a second tasks displaced the soakers, on all CPUs */
	double others;      /* share of the machine that tasks had in the worse baseline */
	double seconds;     /* between the samples */
	double cpus;        /* of which it is a share: the CPUs measured */
	double steal;       /* share of them that the hypervisor took; NAN in less than 0.1 s */
	double drift;       /* by how much the two of BASELINE_OWN differ, in shares of load */
	struct rates rates; /* of the kernel's counters in this time */
	struct profile_shares profile; /* of what the CPUs did */
	unsigned unsafe;               /* what makes the load unsafe: a set of reasons, limits.h */
	char no_load[16];              /* why it is not measured: NO_LOAD_*; empty: not known */
	char instrument[16];           /* by which it was measured: LOAD_BY_*; empty: not known */
	char source[16];               /* of idle time: what counted it; empty: not known */
	char event[16];                /* what sampled the profile; empty: there is none */
	char no_profile[16];           /* why not: NO_PROFILE_*; empty if none was asked for */
	char profile_unsafe[PROFILE_REASONS]; /* what makes it unsafe, with commas between */
	enum baseline_kind baseline;
	bool bracketed; /* of BASELINE_OWN: there is a second one, after the load */
};

/*
 * A way to measure how busy the CPUs are.  The two ways have the same functions.  Any thread may read an instrument.
 */

struct instrument;
struct windows;

struct instrument_kind {
	const char *name;      /* in receipts and JSON: LOAD_BY_* */
	const char *source;    /* there: what counts idle time; empty: it counts none */
	const char *title;     /* in reports */
	const char *adjective; /* of its loads there, with a blank behind it; or empty */
	const char *option;    /* of zcc and zcs, by which a user asks for it */
	bool weighs; /* the sample of all CPUs is the sum of theirs, relative to their baselines */

	/* Starts to measure these CPUs, as the members of *in say.  Returns NULL, or why it cannot be. */
	const char *(*start)(struct instrument *in, const struct cpus *cpus);
	void (*stop)(struct instrument *in);

	/*
	 * Reads a sample of each of these CPUs, which are ascending, and behind them one of all; for a baseline it may
	 * take 20 ms, to be more exact.  Dies if the soakers have ended.
	 */
	void (*read)(const struct instrument *in, const struct cpus *cpus, struct load_sample *at,
		     bool for_baseline);

	/* Stores the figures of each CPU and of all in the last n windows in c->cpu[] and c->all. */
	void (*shares)(const struct windows *w, int n, struct calibration *c);

	/* Stores the load between two samples, with its uncertainty, relative to the baseline b of c. */
	void (*load)(const struct calibration *c, const struct baseline *b,
		     const struct load_sample *from, const struct load_sample *to, struct load *l);
};

/* How much idle work was done: soaker.h. */
extern const struct instrument_kind by_soaking;

/*
 * How long the CPUs slept, as the kernel counts it: the instrument that disturbs nothing.  What is spun is time asleep.
 *
 * The kernel measures the columns idle and iowait of /proc/stat (proc_stat(5)) where it has NO_HZ: from
 * the entry of the idle loop to its exit or the next interrupt, up to the reading (get_cpu_idle_time_us(),
 * kernel/time/tick-sched.c).  It samples all other columns at ticks.  From Linux 7.2 on, and on CPUs of nohz_full,
 * it measures idle time only in part: BPF programs then count it at the same places (idle_clock.h).
 *
 * The columns count if the kernel measures them and by_clock was not asked for; otherwise the clock, and the kind of the
 * instrument is then by_clock.  For either a trial decides.  On one CPU, for a fifth of a second, a thread works for 1 ms
 * in every 4 ms, and its own CPU clock tells for how long; the clock must also see the interrupts that wake it.  If other
 * programs disturb the trial it is repeated; programs that start together try one after the other.  Where neither
 * measures, it is as if a CPU never slept.
 */
extern const struct instrument_kind by_idle_time, by_clock;

/* The kind of that name; one without texts if there is none, as a newer version may have one. */
const struct instrument_kind *instrument_named(const char *name);

/* Makes all figures unknown. */
void load_init(struct load *l);

#define SLOWED_MOST 0.5 /* a slowing beyond this is no hypervisor's doing */

/*
 * Stores half of the 95 % confidence interval of a load by the baseline b of c, and the part of it that all runs share.
 * Six things are uncertain: which share of its time the soaker spins, in the share `left` to it; what the idle machine's
 * tasks took in the time of the load, and in that of its baseline, as the bursts even out over either; the edges; the
 * time that the hypervisor took (`stolen`, a share; with it stands the step in which idle time is counted), and how it
 * slowed.
 */
void load_uncertainty(const struct calibration *c, const struct baseline *b, double left,
		      double stolen, bool has_steal, struct load *l);

/* The profile of such a load of the whole, which is known. */
void load_profile(const struct calibration *c, const struct load_sample *from,
		  const struct load_sample *to, struct load *l);

/* The load between two samples of the whole (i < 0) or of the i-th CPU. */
void load_between(const struct calibration *c, const struct load_sample *from,
		  const struct load_sample *to, int i, struct load *l);
