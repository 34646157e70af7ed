/*
 * meter.h: the gauge of a program that measures now and then: of zcs, while it has clients.  The soakers
 * sleep while nothing is measured: they wake up when a client arrives, count once they have settled, and
 * sleep again 10 seconds after the last client has left.  Idle time is watched all the time.  The
 * main thread calls what changes that; clients' threads only read samples.
 *
 *	meter_start_or_die(&m, &setup);
 *	meter_look(&m, n_clients > 0);	(when a client arrives; at m.due_ns at the latest)
 *	meter_read(&m, &from);
 *	...
 *	meter_read(&m, &to);
 *	meter_load(&m, &from, &to, &l);
 *	meter_stop(&m);
 *
 * Without a calibration file zcs measures its own baseline: at the start, and again when no
 * client is connected.
 */
#pragma once

#include "lib/load/gauge.h"

enum meter_state {
	METER_PARKED,    /* nothing is counted: the soakers sleep */
	METER_BLOCKED,   /* the same, though a client is connected: another program soaks */
	METER_SETTLING,  /* the soakers run, and do not count undisturbed yet */
	METER_COUNTING,  /* a period goes on */
	METER_MEASURING, /* a thread measures the idle machine, whether a period goes on or not */
};

/* The samples of a moment; of one in which nothing was counted, those of the period before it. */
struct meter_mark {
	unsigned period;               /* the number of the period, from 1; 0: there was none yet */
	struct load_sample begin, now; /* at its begin, and at the moment or at its end */
};

struct meter {
	bool wanted; /* a load was asked for */

	pthread_rwlock_t lock;  /* of the calibration and the next two */
	struct gauge gauge;     /* its instrument has no kind where idle time cannot be measured */
	bool counts;            /* a period goes on: the instrument counts against one baseline */
	struct meter_mark last; /* of the begin of the period, or of the end of the last */

	_Atomic enum meter_state state; /* which the main thread alone changes */

	/* Only the main thread uses these; times are of now_ns(). */
	uint64_t due_ns;           /* when meter_look() is to be called; UINT64_MAX: need not be */
	uint64_t retry_ns;         /* when what has failed may be tried again */
	uint64_t idle_ns;          /* since when there is no client; 0: there are some */
	bool renewed;              /* the baseline was measured since the last client */
	struct lock_holder holder; /* the program that soaks, in METER_BLOCKED */
	pid_t named;               /* the last of those that were named on stderr; -1: none */

	/* A measurement of the idle machine, in a thread of its own. */
	pthread_t thread;
	_Atomic int stop;         /* not 0: the thread is to end, and its baseline is none */
	struct calibration taken; /* what came out; cpu is NULL if nothing did */
};

/*
 * Starts the soakers, parked, and reads the baseline from a file, or measures it; or begins to watch idle
 * time.  To be called with the privileges that this takes, and before there are threads.
 */
void meter_start_or_die(struct meter *m, const struct gauge_setup *setup);

/* Ends the soakers.  There are no clients any more. */
void meter_stop(struct meter *m);

/*
 * Changes the state if it is time to, and stores when it is to be called again.  Returns whether a
 * period has begun or ended.  Dies if the soakers have ended.
 */
bool meter_look(struct meter *m, bool clients);

/* Reads what is counted at this moment.  Any thread may call it. */
void meter_read(struct meter *m, struct meter_mark *mark);

/*
 * Why a client that has ended has no load, which has these reasons: a NO_LOAD_* of a receipt.  Any
 * thread may call it.
 */
const char *meter_no_load(struct meter *m, unsigned unsafe);

/*
 * The load between two moments.  If a period began between them, it is that of the period: the
 * soakers settle while the first client is served already.  NAN if the period is too short for that.
 */
void meter_load(const struct meter *m, const struct meter_mark *from, const struct meter_mark *to,
		struct load *l);

/* Prints a line on stderr for each reason that is fresh.  Any thread may call it. */
void meter_say(struct meter *m, const struct load *l);
