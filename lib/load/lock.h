/*
 * lock.h: there is one set of soakers on a machine, since two would measure each other.
 *
 *	lock_take_or_die(&s->lock, &s->root_lock);
 *
 * The lock is a flock(2) on a device node: every user can open it, nobody can remove it, it is one
 * file for all network, process and mount namespaces that have the machine's /dev (devtmpfs), and
 * the kernel unlocks it when its last holder, the soaker included, has gone.  Any user can hold it
 * and soak nothing.  So root has a lock of its own as well, with which it may soak beside a holder
 * that takes no CPU time.
 */
#pragma once

#include "common.h"

/*
 * Stores a descriptor of the lock, and for root one of its own lock (else -1).  Tries for two
 * seconds, in which the soakers of a killed program end, then dies and names the holder.
 */
void lock_take_or_die(int *lock, int *root_lock);
