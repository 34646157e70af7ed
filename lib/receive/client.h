/*
 * client.h: one client of zcs, from its connection to its summary, in a thread of its own.
 *
 *	struct client *c = places_accept(&x->places, listener, sizeof(*c));
 *	if (c != NULL)
 *		client_start(x, c, number);
 */
#ifndef ZC_RECEIVE_CLIENT_H
#define ZC_RECEIVE_CLIENT_H

#include "common.h"
#include "lib/receive/context.h"

struct client {
	struct place place;
	struct context *context;
	struct member member;
	struct receiver receiver;
	int number; /* from 0 */
	double cpu; /* to which its thread is bound; NAN: none */
	char name[ADDR_STRLEN];
};

/*
 * Has an accepted client join the group and starts its thread, which frees it.  Without a thread it is
 * rejected and freed, and false is returned.
 */
bool client_start(struct context *x, struct client *c, int number);

#endif
