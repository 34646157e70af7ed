/*
 * profile.h: what the kernel does while the CPUs are soaked: samples of all tasks by perf_event_open(2), counted by the
 * groups of symbols.h.  Samples of the soakers themselves are idle time.
 *
 *	p = profile_open(&cpus, threads, &missing, &why);
 *	profile_start(p);
 *	profile_read(p, &from);
 *	...
 *	profile_read(p, &to);
 *	rises_between(&from, &to, &counts, sizeof(counts));
 *	profile_shares(&counts, &idle, seconds, load, half, &shares, unsafe);
 *	profile_close(p);
 */
#pragma once

#include "lib/load/cpus.h"
#include "lib/load/symbols.h"

struct profile;

/* How many samples there were up to a moment, on all CPUs. */
struct profile_counts {
	double n[PROFILE_GROUPS], idle, lost;
	double time; /* of the idle machine: the CPU-seconds in which they were taken */
};

/* The figures between two moments.  NAN: not known. */
struct profile_shares {
	/* Of the load, as shares of the CPUs, and half of their 95 % confidence intervals. */
	double group[PROFILE_GROUPS], half[PROFILE_GROUPS];
	double sampled; /* the share of the samples that are load */
	double samples; /* of load: how many */
	double lost;    /* the share that is missing, as a ring was full */
};

/* The names of what makes a profile unsafe: `other,lost,sampled`. */
#define PROFILE_REASONS 20

/* The values of `no_profile=`: why there is none. */
#define NO_PROFILE_PERMISSION "permission" /* perf_event_open(2) or the addresses of functions */
#define NO_PROFILE_KERNEL     "kernel"     /* it lacks either */
#define NO_PROFILE_LIMIT      "limit"      /* of open files or memory */

/*
 * Opens the events of these CPUs, of which each has the thread of its soaker, and reads the names of functions.  To be
 * called with the privileges that this takes.  Returns NULL, with the reason in *why and its word in *missing, if
 * there can be no profile.
 */
struct profile *profile_open(const struct cpus *cpus, const pid_t *soaker, const char **missing,
			     const char **why);

/*
 * Begin and end to take samples.  A thread empties the rings in between: a program that drops privileges does so
 * before profile_start(), or after profile_stop().
 */
void profile_start(struct profile *p);
void profile_stop(struct profile *p);
void profile_close(struct profile *p);

/* What samples: `cycles`, or a `timer` where the CPUs count none. */
const char *profile_event(const struct profile *p);

/* Reads the counts.  Any thread may call it. */
void profile_read(struct profile *p, struct profile_counts *c);

/*
 * Computes the figures of samples that were taken in `time` CPU-seconds, less those that the idle machine has in such a
 * time, of a load and half of its interval.  Stores why they are unsafe; an empty text if they are not.
 */
void profile_shares(const struct profile_counts *c, const struct profile_counts *idle, double time,
		    double load, double half, struct profile_shares *s,
		    char unsafe[PROFILE_REASONS]);

struct perf_event_header;

/*
 * Calls each() with the records from `tail` to `head` of a ring of `size` bytes, a power of two.  Returns false if a
 * record has an impossible size: the rest is then skipped.
 */
bool ring_each(const void *ring, uint64_t size, uint64_t tail, uint64_t head,
	       void (*each)(void *arg, const struct perf_event_header *record), void *arg);

/*
 * Counts a record: a sample, of which `soaker` is the thread of the CPU's soaker, or the number of samples that are lost.
 */
void profile_count(struct symbols *s, pid_t soaker, const struct perf_event_header *record,
		   struct profile_counts *c);
