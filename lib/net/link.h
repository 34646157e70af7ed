/*
 * link.h: what an interface is: its driver, its MTU, what it does for TCP, and its queues.
 *
 *	link_read(&link, "eth0");
 *	if (link.mtu > 0)
 *		report("%s: MTU %d\n", link.interface, link.mtu);
 */
#pragma once

#include <net/if.h>

#include "common.h"

struct link {
	char interface[IF_NAMESIZE]; /* its name; empty: none is known */
	char driver[32];             /* empty: not known */
	int mtu;                     /* bytes; 0: not known */
	bool has_offloads;           /* the next two are known */
	char offloads[32];           /* those of `tso gso gro lro` that are on */
	int rx_queues, tx_queues;    /* 0: not known */
};

/*
 * Reads what the interface is, by netdevice(7) and SIOCETHTOOL.  What cannot be read is not known:
 * that is no error.  `interface` may be NULL or empty.
 */
void link_read(struct link *l, const char *interface);
