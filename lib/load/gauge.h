/*
 * gauge.h: how busy this host is.  The tools know this part of lib/load and no other.
 *
 *	static const struct gauge_setup setup = {.soak = true, .what = "transfer"};
 *
 *	gauge_warn(&setup);
 *	gauge_prepare_or_die(&g, &setup);
 *	gauge_start(&g, 10);
 *	gauge_begin(&g, "eth0");
 *	...					(what is measured)
 *	gauge_end(&g);
 *	gauge_after(&g, NULL);
 *	gauge_load(&g, &l);
 *	gauge_say(&g, &l, false);
 *	gauge_close(&g);
 *
 * Two instruments stand behind it (load.h): soaking, which tells what the traffic takes from other
 * work, and the CPUs' idle time, which tells how busy it makes a machine of its own.
 *
 * Without a calibration the idle machine is measured just before and just after what is measured
 * (BASELINE_OWN).  Neighbouring measurements share the baseline between them.
 */
#pragma once

#include "lib/load/baseline.h"
#include "lib/load/calibration.h"
#include "lib/load/load.h"

/* Idle time is counted by what is right on this machine, or by BPF programs, or the program dies. */
enum { IDLE_BY_BEST = 1, IDLE_BY_CLOCK };

/* What is measured, on which CPUs, and with which baseline. */
struct gauge_setup {
	bool soak;        /* by soaking */
	int idle;         /* by idle time: IDLE_BY_*; 0, and no soaking: the load is not measured */
	bool debug;       /* what counts idle time is printed on stderr */
	bool never_idle;  /* soaking needs a calibration, and of idle time nothing is subtracted */
	bool parks;       /* soakers may sleep, and the program ends if they cannot be started */
	bool own;         /* soaking: a calibration file is not read */
	bool profile;     /* soaking: what the CPUs do is sampled, too */
	const char *what; /* what is measured, as a message names it */
	const char *file; /* the calibration; NULL: CALIBRATION_FILE, if it is there and fits */
	double wait;      /* seconds at most for another set of soakers to end */
	double wait_idle; /* seconds at most for other programs to rest; 0: no wait */
	int n_cpus;       /* the first n CPUs; 0: all that are online */
	struct cpus on;   /* these CPUs; empty: the first n_cpus */
};

/* clang-format off */
/* Rows of usage.h, for the member `gauge` of a program's options: of programs that measure traffic. */
#define GAUGE_INSTRUMENTS(type, not_both)                                                          \
	{"c", "cpu-load", NULL,                                                                    \
	 "measure the CPU time that the traffic takes from other programs, by keeping all CPUs "   \
	 "busy: needs root in a session of systemd, and more in a container: zc-recipes(7)",       \
	 OPTION_AT(type, FLAG, gauge.soak), .not_with = (not_both)},                               \
	{"", "idle", "clock",                                                                      \
	 "measure how busy the traffic makes an idle machine; --idle=clock: by BPF programs",      \
	 OPTION_AT(type, WORD, gauge.idle), .optional = true}

/* Of all programs; `needs` are options of which one must be given. */
#define GAUGE_CPUS(type, needs)                                                                    \
	{"N", "cpus", "N", "measure the first N CPUs (default: all online)",                       \
	 OPTION_AT(type, INT, gauge.n_cpus), .min = 1, .max = CPUS_MAX, .only_with = (needs),      \
	 .not_with = "--on-cpus"},                                                                 \
	{"", "on-cpus", "LIST", "measure these CPUs, such as 0-3,64-67",                           \
	 OPTION_AT(type, CPUS, gauge.on), .only_with = (needs)}
#define GAUGE_WAITS(type, wait_needs, idle_needs)                                                  \
	{"", "wait", "SECS",                                                                       \
	 "wait up to SECS seconds until no other program soaks the CPUs (default 2)",              \
	 OPTION_AT(type, SECONDS, gauge.wait), .max = 86400, .only_with = (wait_needs)},           \
	{"", "wait-idle", "SECS", "wait up to SECS seconds until other programs take under 3 %",   \
	 OPTION_AT(type, SECONDS, gauge.wait_idle), .min = 1, .max = 86400,                        \
	 .only_with = (idle_needs)}
/* clang-format on */

/* The state of this host at one moment. */
struct gauge_mark {
	struct load_sample *at; /* of each CPU and of all, as the instrument has counted */
	struct counters counters;
};

struct gauge {
	const struct gauge_setup *setup;
	struct instrument instrument; /* kind is NULL while the load is not measured */
	struct calibration file;      /* of soaking, as it was read; cpu is NULL if there is none */
	struct calibration calibration; /* the baseline; of a file it shares cpu */
	enum baseline_kind baseline;
	const char *no_profile; /* NO_PROFILE_*; NULL: there is a profile, or none was asked for */
	unsigned missing; /* the reason why the load is not measured although one was asked for */
	struct limits_said said;
	struct gauge_mark from, to; /* the begin and the end of what is measured */
	struct load *each;          /* of each CPU between them; NULL until it is asked for */

	/* For BASELINE_OWN. */
	double seconds; /* length of a measurement, as far as is known: a longer one has longer baselines */
	bool bracketed; /* the last measurement has a second baseline, after it */
	double drift;   /* by how much the two differ, in shares of load; NAN: not known */
	struct calibration
		after; /* the last baseline; cpu is NULL if there is none, or it is in use */
	bool half; /* the last measurement has no second baseline, as a soaker had no time then */
};

/* The CPUs that are to be measured.  A CPU that cannot be measured is a usage error: cpus_to_soak(). */
struct cpus gauge_cpus(const struct gauge_setup *setup);

/* Calibrates, by soaking: calibrate_or_die(). */
void gauge_calibrate_or_die(const struct gauge_setup *setup, bool force);

/* What the load is measured with; NULL: it is not wanted. */
const struct instrument_kind *gauge_kind(const struct gauge_setup *setup);

/* Whether a load was asked for. */
bool gauge_is_wanted(const struct gauge_setup *setup);

/* Warns once of limits that hold whether a load is wanted or not, such as a CPU quota: limits_warn(). */
void gauge_warn(const struct gauge_setup *setup);

/* Finds the CPUs and the calibration, or dies.  The gauge can be started again after it was stopped. */
void gauge_prepare_or_die(struct gauge *g, const struct gauge_setup *setup);

/*
 * Starts the instrument, and measures the idle machine if there is no calibration, for a time that fits a load
 * of `seconds` (0: not known).  Returns false if the load cannot be measured, and prints the reason once; the
 * caller goes on, and the load is not measured.  To be called before there are threads or traffic.
 */
bool gauge_start(struct gauge *g, double seconds);

/*
 * The first half of gauge_start(): no baseline is measured.  Of soakers that park nothing is measured while
 * g->instrument.holder has the CPUs.
 */
bool gauge_start_instrument(struct gauge *g);

/*
 * Waits until other programs have taken less than 3 % of the measured CPUs for a second, but setup->wait_idle seconds at
 * most.  Returns NULL; or if they did not, a message that names the busiest program; or if *stop ended the wait,
 * unless `stop` is NULL, another.  The soakers of *g do not count.
 */
const char *gauge_wait_idle(const struct gauge *g, const struct gauge_setup *setup,
			    const _Atomic int *stop);

/* Whether a load is being measured. */
bool gauge_measures(const struct gauge *g);

/* Ends the instrument. */
void gauge_stop(struct gauge *g);

/* Ends the instrument, and frees what gauge_prepare_or_die() has allocated. */
void gauge_close(struct gauge *g);

/*
 * Read the host at the begin and at the end of a measurement: the counters, which take long to read, outside, and
 * the instrument inside.  The baseline after the last measurement is then that before this one.  `interface` is the
 * interface whose packets are counted, or NULL.  gauge_end() dies if the soakers have ended.
 */
void gauge_begin(struct gauge *g, const char *interface);
void gauge_end(struct gauge *g);

/* Reads only the instrument, for gauge_between() of all CPUs; does nothing if the load is not measured. */
void gauge_sample(const struct gauge *g, struct load_sample *sum);

/* What gauge_sample() would have read at that mark, of all CPUs (i < 0) or of the i-th. */
struct load_sample gauge_sample_of(const struct gauge *g, const struct gauge_mark *m, int i);

/*
 * Without a calibration measures the idle machine again: the baseline is then the mean of both.
 * *stop, unless `stop` is NULL, ends that: the load then has only the baseline before.
 */
void gauge_after(struct gauge *g, const _Atomic int *stop);

/*
 * The load between two samples, of all CPUs (i < 0) or of the i-th, with all reasons that make it unsafe except
 * steal, which the functions below add.  If the load is not measured, l->unsafe has the reason.
 */
void gauge_between(const struct gauge *g, const struct load_sample *from,
		   const struct load_sample *to, int i, struct load *l);

/* The load and the rates between the marks. */
void gauge_load(const struct gauge *g, struct load *l);

/*
 * The loads of each CPU between the marks, until the next call; NULL if the load is not measured.  Whatever makes that
 * of all CPUs unsafe, `unsafe`, holds for them, too.
 */
const struct load *gauge_load_each(struct gauge *g, unsigned unsafe);

/*
 * Prints a line on stderr for each reason that the load before did not have: limits_say().  An interval of a run
 * ends no reason: the line is not printed again in the same run.
 */
void gauge_say(struct gauge *g, const struct load *l, bool is_interval);
