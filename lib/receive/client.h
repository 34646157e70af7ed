/*
 * client.h: one client of zcs, from its connection to its summary, in a thread of its own.
 *
 *	if (client_accept(&context, listener, number))
 *		number++;
 */
#pragma once

#include "lib/receive/context.h"

/*
 * Accepts a client, which joins the group, and starts its thread, which does all the rest.
 * `number` counts from 0.  Returns false if there was no client, or it was rejected.
 */
bool client_accept(struct context *x, int listener, int number);
