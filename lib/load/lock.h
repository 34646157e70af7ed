/*
 * lock.h: there is one set of soakers on a machine, since two would measure each other.
 *
 *	fd = lock_open_or_die();
 *	if (lock_try(fd, &holder))
 *		lock_release(fd);
 *	else
 *		warnx("%s (pid %d) has it", holder.name, holder.pid);
 *
 * The lock is a flock(2) on a device node: every user can open it, nobody can remove it, it is one
 * file for all network, process and mount namespaces that have the machine's /dev (devtmpfs), and
 * the kernel unlocks it when its last holder, the soaker included, has gone.  The descriptor stays
 * open: a program that has become another user can lock it again.
 */
#pragma once

#include "common.h"

/* The name of a holder whose process this /proc does not show. */
#define LOCK_HIDDEN "a program of another PID namespace or user"

/* Who holds the lock. */
struct lock_holder {
	pid_t pid;     /* 0: not known */
	char name[64]; /* LOCK_HIDDEN if its process cannot be read */
};

/* Returns the descriptor of the lock, which close(2) unlocks. */
int lock_open_or_die(void);

/* Tries once to take the lock.  If another program has it, stores that in *h unless h is NULL. */
bool lock_try(int fd, struct lock_holder *h);

/* Takes the lock; tries for some seconds.  If another program still has it then, stores that in *h. */
bool lock_take(int fd, double seconds, struct lock_holder *h);

void lock_release(int fd);
