/*
 * route.h: the interfaces of the routes to peers.  A route is looked up once a second for each
 * address, not for each connection.
 *
 *	struct routes r = {.lock = PTHREAD_MUTEX_INITIALIZER};
 *	routes_interface(&r, &peer, name);
 */
#pragma once

#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>

#include "common.h"

#define ROUTE_NS    1000000000u /* that a route is used again */
#define ROUTE_SLOTS 64          /* addresses that share one replace each other */

struct routes {
	pthread_mutex_t lock;
	struct route {
		uint64_t ns; /* when it was looked up; 0: never */
		struct in6_addr address;
		uint32_t scope;
		char interface[IF_NAMESIZE]; /* empty: unknown */
	} slot[ROUTE_SLOTS];
};

/* Stores the interface by which a peer is reached, empty if it is unknown.  Any thread may call it. */
void routes_interface(struct routes *r, const struct sockaddr_storage *peer,
		      char interface[IF_NAMESIZE]);
