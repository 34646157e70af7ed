/*
 * meter.h: the gauge of a program that measures now and then: of zcs, while it has clients.  The soakers
 * sleep while nothing is measured: they wake up when a
 * client arrives, count once they have settled, and sleep again METER_LINGER_NS after the last client
 * has left.  The main thread calls what changes that; clients' threads only read samples.
 *
 *	meter_start_or_die(&m, &setup);
 *	meter_want(&m);				(a client arrives)
 *	switch (meter_look(&m, n_clients > 0)) {	(now and then, at m.due_ns at the latest)
 *	case METER_BEGINS: meter_begin(&m, ...
 *	case METER_ENDS: meter_end(&m, ...
 *	}
 *	meter_stop(&m);
 *
 * Without a calibration file zcs measures its own baseline: at the start, and again when no
 * client is connected.
 */
#pragma once

#include "lib/load/gauge.h"

#define METER_LINGER_NS 10000000000u /* that the soakers go on without a client */

enum meter_state {
	METER_PARKED,   /* the soakers sleep */
	METER_BLOCKED,  /* they sleep, though a client is connected: another program soaks */
	METER_SETTLING, /* the soakers run, and do not count undisturbed yet */
	METER_SOAKING,  /* their counts are valid */
};

/* Bytes that were received, of one client or of all: those while samples went on, and the others. */
struct tally {
	uint64_t counted, other;
};

/* A measurement of the idle machine, in a thread of its own. */
struct own_baseline {
	struct meter *meter;
	pthread_t thread;
	_Atomic int stop; /* not 0: the thread is to end */
	_Atomic bool done;
	bool runs;                /* there is a thread, which is to be joined */
	uint64_t renewed_ns;      /* idle_ns of the meter when it was last renewed */
	struct calibration taken; /* what came out; cpu is NULL if nothing did */
};

struct meter {
	struct instrument instrument; /* kind is NULL: the load is not measured */
	struct calibration calibration;
	unsigned missing;        /* why it is not, though it was asked for: a reason */
	struct limits_said said; /* what was printed of the reasons that a load is unsafe */
	int wake;            /* eventfd(2): a client has come to another thread than the main one */
	_Atomic bool wanted; /* that was written, or need not be: the main thread looks by itself */

	pthread_rwlock_t lock;    /* of the samples */
	bool counts;              /* samples go on */
	struct load_sample base;  /* to which they had come when they last stopped */
	struct load_sample begin; /* what the soakers had counted when they went on */

	_Atomic enum meter_state state; /* which the main thread alone changes */

	/* Only the main thread uses these. */
	bool own; /* the baseline is not a file's */
	uint64_t
		due_ns; /* when meter_look() is to be called, of now_ns(); UINT64_MAX: need not be */
	uint64_t next_ns; /* when the state is to change, or something is to be tried again */
	unsigned ended;   /* reasons that held when samples stopped, until the caller has them */
	uint64_t idle_ns; /* since when there is no client; 0: there are some */
	struct lock_holder holder; /* the program that soaks, in METER_BLOCKED */
	pid_t named;               /* the last of those that were named on stderr */
	bool has_named;            /* there is one: its pid may be unknown, 0 */
	struct own_baseline baseline;
};

/*
 * Starts the soakers, parked, and reads the baseline from a file, or measures it.  Idle time is watched
 * all the time.  To be called with the privileges that this takes, and before there are threads.
 */
void meter_start_or_die(struct meter *m, const struct gauge_setup *setup);

/* Whether the load is measured, now and then. */
bool meter_measures(const struct meter *m);

/* Ends the soakers.  There are no clients any more. */
void meter_stop(struct meter *m);

/* Wakes the soakers, if they are parked: a client arrives.  Dies if they have ended. */
void meter_want(struct meter *m);

/* Makes the main thread call meter_want().  Any thread may call this, for each client. */
void meter_announce(struct meter *m);

/*
 * Changes the state if it is time to.  METER_BEGINS asks the caller to call meter_begin(),
 * METER_ENDS to call meter_end(), with the tally of all clients and what was received from them.
 */
enum meter_step { METER_GOES_ON, METER_BEGINS, METER_ENDS };

enum meter_step meter_look(struct meter *m, bool clients);

/*
 * The soakers have settled: samples go on.  The caller unlocks m->lock, which this locks for writing,
 * when it has called tally_begin() for each client.
 */
void meter_begin(struct meter *m, struct tally *all, uint64_t bytes);

/* Samples stop, and the soakers sleep. */
void meter_end(struct meter *m, struct tally *all, uint64_t bytes);

void tally_begin(struct tally *t, uint64_t bytes);

/*
 * Reads a sample, of which the clock stands still while the soakers are parked or settle.  Returns how
 * many of `bytes`, which is what was received so far, came while it went on.  Any thread may call it.
 */
uint64_t meter_read(struct meter *m, const struct tally *t, uint64_t bytes,
		    struct load_sample *sample);

/*
 * Why a client that has ended has no load, which has these reasons: a NO_LOAD_* of a receipt.  Any
 * thread may call it.
 */
const char *meter_no_load(struct meter *m, unsigned unsafe);

/* The load between two samples; NAN where the clock stood still between them. */
void meter_load(const struct meter *m, const struct load_sample *from, const struct load_sample *to,
		struct load *l);

/* Prints a line on stderr for each reason that is fresh.  Any thread may call it. */
void meter_say(struct meter *m, const struct load *l);
