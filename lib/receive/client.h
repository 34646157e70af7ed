/*
 * client.h: one client of zcs, from its connection to its summary, in a thread that it has
 * alone meanwhile.
 *
 *	client_accept(&context);
 */
#pragma once

#include "lib/receive/group.h"

/*
 * Accepts a client, if there is one and it is not rejected.  The client joins the group, and a
 * thread of the pool does all the rest.
 */
void client_accept(struct context *x);
