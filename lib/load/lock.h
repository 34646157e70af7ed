/*
 * lock.h: there is one set of soakers on a machine, since two would measure each other.
 *
 *	lock_open_or_die(&lock);
 *	if (lock_try(&lock, &holder))
 *		lock_release(&lock);
 *	else
 *		warnx("%s (pid %d) has it", holder.name, holder.pid);
 *
 * The lock is a flock(2) on a device node: every user can open it, nobody can remove it, it is one
 * file for all network, process and mount namespaces that have the machine's /dev (devtmpfs), and
 * the kernel unlocks it when its last holder, the soaker included, has gone.  Any user can hold it
 * and soak nothing.  So root has a lock of its own as well, with which it may soak beside a holder
 * that takes no CPU time.
 */
#pragma once

#include "common.h"

#define LOCK_WATCH_NS 200000000 /* for which a holder is watched: it soaks if it takes CPU time */

/* Descriptors, which stay open: a program that has become another user can lock them again. */
struct lock {
	int fd;
	int root_fd; /* -1 where root's lock cannot be had */
};

/* The name of a holder whose process this /proc does not show. */
#define LOCK_HIDDEN "a program of another PID namespace or user"

/* Who holds the lock. */
struct lock_holder {
	pid_t pid;         /* 0: not known */
	char name[64];     /* LOCK_HIDDEN if its process cannot be read */
	bool watched;      /* the caller may soak beside it, if it takes no CPU time */
	uint64_t since_ns; /* when it was first seen, of now_ns() */
	double used;       /* CPU time that it and what it started had used by then, in seconds */
};

/* Opens the lock, and for root its own. */
void lock_open_or_die(struct lock *l);

/* Tries once to take the lock.  If another program has it, stores that in *h unless h is NULL. */
bool lock_try(const struct lock *l, struct lock_holder *h);

/*
 * Whether the caller may go on without the lock: LOCK_WATCH_NS or more after lock_try() has stored
 * *h, that is still the holder and has used next to no CPU time.  The caller then has root's lock.
 */
bool lock_try_beside(const struct lock *l, const struct lock_holder *h);

/* Warns that the caller soaks beside that holder, whose lock is ignored. */
void lock_warn_beside(const struct lock_holder *h);

/* Takes the lock; tries for some seconds.  If another program still has it then, stores that in *h. */
bool lock_take(const struct lock *l, double seconds, struct lock_holder *h);

void lock_release(const struct lock *l);

void lock_close(const struct lock *l);
