/*
 * meter.h: the gauge of zcs, which measures while it has clients.  Otherwise the soakers sleep: they wake up when
 * a client arrives, count once they have settled, and sleep again 10 seconds after the last client has left.  Idle
 * time is measured all the time.  Only the main thread calls functions that change the state; clients' threads read
 * samples.
 *
 *	meter_start_or_die(&m, &setup);
 *	meter_look(&m, n_clients > 0);	(when a client arrives; at m.due_ns at the latest)
 *	meter_read(&m, &from);
 *	...
 *	meter_read(&m, &to);
 *	meter_load(&m, &from, &to, &l);
 *	meter_stop(&m);
 *
 * Without a calibration file zcs measures its own baseline: at the start, and again and again in the first 10 seconds
 * without a client, so that the last one is of the machine as it is when the next client comes.
 */
#pragma once

#include "lib/load/gauge.h"

enum meter_state {
	METER_PARKED,    /* nothing is counted: the soakers sleep */
	METER_BLOCKED,   /* the same, though a client is connected: another program soaks */
	METER_SETTLING,  /* the soakers run, but still disturb each other */
	METER_COUNTING,  /* a period goes on */
	METER_MEASURING, /* a thread measures the idle machine, whether a period goes on or not */
};

/* The samples of a moment, or, if nothing was counted then, of the end of the last period. */
struct meter_mark {
	unsigned period;               /* the number of the period, from 1; 0: there was none yet */
	struct load_sample begin, now; /* at its begin, and at the moment or at its end */
};

struct meter {
	bool wanted; /* a load was asked for */

	pthread_rwlock_t lock;  /* for the calibration and the next two members */
	struct gauge gauge;     /* the instrument has no kind if idle time cannot be measured */
	bool counts;            /* a period goes on: all its samples have the same baseline */
	struct meter_mark last; /* when the period began, or the last one ended */

	_Atomic enum meter_state state; /* which the main thread alone changes */

	/* Only the main thread uses these; times are of now_ns(). */
	uint64_t due_ns;   /* when meter_look() must be called; UINT64_MAX: need not be */
	uint64_t retry_ns; /* when the lock, or a first baseline, may be tried again */
	uint64_t idle_ns;  /* since when there has been no client; 0: there are clients */
	pid_t named;       /* the program that was last named on stderr; -1: none */

	/* A measurement of the idle machine, in a thread of its own. */
	pthread_t thread;
	_Atomic int stop;         /* not 0: the thread must end, and its baseline is discarded */
	struct calibration taken; /* the result; cpu is NULL if there is none */
};

/*
 * Starts the soakers, parked, and reads the baseline from a file, or measures it; or begins to watch idle
 * time.  To be called with the privileges that this takes, and before there are threads.
 */
void meter_start_or_die(struct meter *m, const struct gauge_setup *setup);

/* Ends the soakers, when there are no clients any more. */
void meter_stop(struct meter *m);

/*
 * Changes the state if it is time to, and stores in m->due_ns when to call it again.  Returns whether a period has
 * begun or ended.  Dies if the soakers have ended.
 */
bool meter_look(struct meter *m, bool clients);

/* Reads what is counted at this moment.  Any thread may call it. */
void meter_read(struct meter *m, struct meter_mark *mark);

/*
 * The NO_LOAD_* of a receipt: why a client's load is not measured, when the reasons of its load are `unsafe`.  Any
 * thread may call it.
 */
const char *meter_no_load(struct meter *m, unsigned unsafe);

/*
 * The load between two moments.  If a period began between them, the load is that of the period, since the soakers
 * settle while the first client is already being served.  NAN if the period is too short.
 */
void meter_load(const struct meter *m, const struct meter_mark *from, const struct meter_mark *to,
		struct load *l);

/* Prints a line on stderr for each new reason.  Any thread may call it. */
void meter_say(struct meter *m, const struct load *l);
