/*
 * readings.h: readings of the host's counters that clients share.  To read the counters takes longer
 * the more CPUs there are, so that many short clients have the same reading, with its own time.
 *
 *	struct readings r = {.lock = PTHREAD_MUTEX_INITIALIZER};
 *	readings_get(&r, "eth0", &counters);
 */
#pragma once

#include <net/if.h>
#include <pthread.h>

#include "lib/load/counters.h"

#define READING_NS    10000000u /* that a reading is shared: a client gets one no older than this */
#define READING_SLOTS 4         /* interfaces whose readings are shared */

struct readings {
	pthread_mutex_t lock;
	struct reading {
		char interface[IF_NAMESIZE]; /* empty: none */
		struct counters counters;    /* ns is 0 before the first */
	} slot[READING_SLOTS];
};

/* Stores a reading of at most READING_NS ago; `interface` may be empty.  Any thread may call it. */
void readings_get(struct readings *r, const char *interface, struct counters *c);
