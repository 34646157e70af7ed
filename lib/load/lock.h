/*
 * lock.h: there is one set of soakers on a machine, since two would measure each other.
 */
#ifndef ZC_LOAD_LOCK_H
#define ZC_LOAD_LOCK_H

#include "common.h"

/* Takes the lock, and for root a second one (else -1), or dies and names who has it. */
void lock_take_or_die(int *lock, int *root_lock);

#endif
