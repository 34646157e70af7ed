/*
 * soaker.h: keeps every CPU busy at the lowest priority, and counts what that could do.
 *
 *	s = soaker_start_or_die(&cpus);
 *	soak_count(s, 0, raw_ns(), &from);
 *	...
 *	soaker_check_or_die(s);
 *	soak_count(s, 0, raw_ns(), &to);
 *	soaker_stop(s);
 *
 * There are two more processes: the soakers, with a thread for each CPU, and their keeper, which
 * ends them and removes their control group when the program ends, however it ends.
 */
#pragma once

#include "lib/load/cpus.h"

#define SOAK_FORMAT 3 /* version of the calibration file, and of the loop that it counts */

struct soaker;

/* What one soaker has counted up to a moment. */
struct soak_count {
	uint64_t turns;    /* of the loop */
	uint64_t spin_ns;  /* time in which the loop turned and did not wait for memory */
	uint64_t tasks_ns; /* time in which others had the CPU, by the scheduler's clock */
	uint64_t switches; /* how often the soaker was switched out */
};

/*
 * Starts soaking and returns when every CPU's soaker runs.  Dies when another set is running (it
 * names its holder) or a CPU cannot be had; warns of a CPU that a real-time program holds whole,
 * and if the soakers may take CPU from others.  To be called before there are threads.
 */
struct soaker *soaker_start_or_die(const struct cpus *cpus);

/* Dies if the soakers have ended: the work that they no longer do would be taken for load. */
void soaker_check_or_die(const struct soaker *s);

/* Reads what the soaker of the i-th CPU has counted up to `ns`, a reading of raw_ns() just taken. */
void soak_count(const struct soaker *s, int i, uint64_t ns, struct soak_count *c);

/* Ends the soakers, waits until they are gone, and frees s. */
void soaker_stop(struct soaker *s);
