/*
 * client.h: one client of zcs, from its connection to its summary, in a thread of its own.  The main
 * thread accepts clients, and is told by group.wake when one has ended.
 *
 *	clients_look(&context, listener);	(whenever one comes or has ended)
 */
#pragma once

#include "lib/receive/group.h"

/*
 * Accepts a client, if one waits, and starts its thread; then removes those from the group that had
 * ended before.  So a client that waits to be accepted belongs to the group.  `listener` is -1 once
 * it is closed.
 */
void clients_look(struct context *x, int listener);
