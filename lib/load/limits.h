/*
 * limits.h: what makes a load unsafe on this machine: the reasons, their names, a line on stderr
 * for each, and the busiest program.
 *
 *	limits_warn(true);
 *	soaker_limits(soaker, &from);
 *	...
 *	soaker_limits(soaker, &to);
 *	unsafe = limits_between(&from, &to) | limits_steal(share);
 *	limits_say(unsafe, LOAD_BY_SOAKING, "", &said);
 *	report("unsafe: %s\n", limits_format(unsafe));
 */
#pragma once

#include "lib/load/counters.h"

/* The reasons: bits of a set.  Receipts and JSON have their names. */
enum {
	UNSAFE_CPU_OFFLINE = 1 << 0,     /* a measured CPU was offline, or missing in the cpuset */
	UNSAFE_CPU_ONLINE = 1 << 1,      /* a CPU came online and is not measured */
	UNSAFE_SOAKER_MOVED = 1 << 2,    /* a soaker was moved to another CPU */
	UNSAFE_SOAKER_STOPPED = 1 << 3,  /* the soakers were stopped */
	UNSAFE_CLOCK_SLOW = 1 << 4,      /* reading the clock takes long: short gaps are not seen */
	UNSAFE_CLOCK_CHANGED = 1 << 5,   /* the clock source has changed since the start */
	UNSAFE_WEIGHT = 1 << 6,          /* the soakers may take CPU from other programs */
	UNSAFE_STEAL = 1 << 7,           /* the hypervisor took more than 1 % */
	UNSAFE_BASELINE_OLD = 1 << 8,    /* the baseline was measured over an hour ago */
	UNSAFE_BASELINE_BUSY = 1 << 9,   /* the machine was not idle then */
	UNSAFE_CALIBRATION = 1 << 10,    /* the load is below 0 by more than its uncertainty */
	UNSAFE_SOAKED_ALREADY = 1 << 11, /* another program soaked the CPUs */
	UNSAFE_NOT_MEASURED = 1 << 12,   /* the kernel measures no idle time */
	UNSAFE_SCHEDULER = 1 << 13,      /* a sched_ext scheduler runs, and may ignore weights */
	UNSAFE_OTHER = 1 << 14,          /* a reason that only the zcs of a newer version knows */
};
#define UNSAFE_REASONS 15
#define UNSAFE_UNKNOWN (UNSAFE_CPU_OFFLINE | UNSAFE_NOT_MEASURED) /* there is no figure then */

/* The name of the reason 1 << i. */
const char *limits_name(int i);

/* The names of a set, with commas between; an empty string if the set is empty. */
const char *limits_format(unsigned unsafe);

/* Why a load is not measured, as receipts and JSON have it: the values of `no_load`. */
#define NO_LOAD_OFF      "off"      /* the load was not asked for (-c, --idle) */
#define NO_LOAD_HELD     "held"     /* another program soaks the CPUs */
#define NO_LOAD_BASELINE "baseline" /* other programs kept the machine busy */
#define NO_LOAD_SHORT    "short"    /* the transfer ended before zcs's soakers had settled */
#define NO_LOAD_SEVERAL  "several"  /* the streams went to several hosts; no receipt has it */

/* The instruments, as receipts and JSON name them. */
#define LOAD_BY_SOAKING "soak"
#define LOAD_BY_IDLE    "idle"

/*
 * The NO_LOAD_* of a load by that instrument that these reasons leave without a figure; an empty text if none of them does.
 */
const char *no_load_of(unsigned unsafe, const char *instrument);

/* The sentence of that word, which follows `the load is not measured: ` in all outputs: REASON: WHAT TO DO. */
const char *no_load_text(const char *word);

/* Whether the load was wanted and is not measured, so that there is something to say. */
bool no_load_is_told(const char *word);

/* Reads such a list; false if it is malformed.  An unknown name is UNSAFE_OTHER. */
bool limits_parse(const char *list, unsigned *unsafe);

/*
 * To be called once, before a measurement: warns of a CPU quota and, if the load of the whole machine is measured, of
 * an affinity smaller than that.
 */
void limits_warn(bool whole);

/* What disturbs an instrument at a moment. */
struct limits_mark {
	unsigned now;         /* the reasons that hold */
	uint64_t lost, moved; /* how often a soaker lost its CPU, and was found on another one */
	uint64_t
		stops; /* how often the soakers were stopped or continued: odd if they are stopped */
};

/* The reasons that a load between two moments is unsafe. */
unsigned limits_between(const struct limits_mark *from, const struct limits_mark *to);

/* UNSAFE_STEAL if the hypervisor took too great a share of the CPUs, else 0; NAN: not known. */
unsigned limits_steal(double share);

#define SAY_MOST 10 /* lines of one reason: it may come and go without end */

/* The reasons that a program has printed. */
struct limits_said {
	_Atomic unsigned reasons;           /* the reasons of the last load */
	_Atomic unsigned n[UNSAFE_REASONS]; /* how many lines each reason has had */
	unsigned
		missing; /* the reasons for which the load is not measured that have had their line */
	const char *place; /* the run that a line is about; NULL if there is only one */
	unsigned most;     /* lines of one reason at most; 0: SAY_MOST */
};

/*
 * Prints a line on stderr for each reason that the load before did not have: a reason that lasts is printed
 * once.  `instrument`: LOAD_BY_*, by which it was measured; `word`: its NO_LOAD_* if it is not measured.
 * Any thread may call it.
 */
void limits_say(unsigned unsafe, const char *instrument, const char *word,
		struct limits_said *said);

/*
 * Watches all processes but soakers for a fifth of a second, and returns the end of a message: `; the busiest
 * program was NAME (pid N), 99% of a CPU`.  The text is empty if no program took a tenth of a CPU.  /proc does
 * not show the programs of another PID namespace.
 */
const char *busiest_find(void);
