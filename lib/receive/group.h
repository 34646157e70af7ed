/*
 * group.h: what clients that are connected at the same time have in common.  They are a group: each
 * joins before the last of the others has left.
 *
 *	group_join(&group, &member, &peer);	(the main thread)
 *	...					(the client's thread counts member->bytes)
 *	group_remove(&group, &member, &figures, true, true, false);
 */
#ifndef ZC_RECEIVE_GROUP_H
#define ZC_RECEIVE_GROUP_H

#include <net/if.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "lib/receive/meter.h"
#include "lib/receive/report.h"

/* What the group knows of one client. */
struct member {
	LIST_ENTRY(member) link;
	char interface[IF_NAMESIZE];          /* by which it is reached; empty: unknown */
	_Atomic uint64_t bytes, calls, files; /* received so far; its own thread writes them */
	struct mark begin, end;               /* of what is measured */
	_Atomic bool warming;                 /* it is in its warm-up */
};

struct client_group {
	const struct meter *meter;
	struct report *report;
	pthread_mutex_t lock;
	int wake; /* eventfd(2): a client has left */
	LIST_HEAD(, member) members;
	_Atomic int n;          /* clients now */
	_Atomic uint64_t total; /* clients in this group so far */
	uint64_t removed_bytes; /* received from all clients that have left since the start */
	uint64_t start_ns;      /* when the group began */
	struct figures sum;     /* what was measured of those that have left */
	struct mark begin, end;
	char interface[IF_NAMESIZE]; /* that all clients have; empty: there are several */
	bool overlapped;             /* two clients were there at a time */
	bool summary;                /* a client has a summary */
	bool failed;                 /* a client failed, since the start */
	pthread_t last_thread;       /* the thread that left last */
	bool has_last;               /* and is not joined yet */
};

/* Reads a member's counts, and with `counters` the host's, into *mark. */
void member_mark(const struct meter *m, const struct member *c, struct mark *mark, bool counters);

/* Adds a client, which begins a group if there is none; under the group's lock. */
void group_join(struct client_group *g, struct member *c);

/*
 * Removes a client with its figures.  `ok`: it kept to the wire; `summary`: it has one of its own.
 * The last one ends the group, as `interrupted` if so.  It joins the thread that left before; who
 * ends the program joins g->last_thread.  What it had open has to be closed before.
 */
void group_remove(struct client_group *g, struct member *c, const struct figures *f, bool ok,
		  bool summary, bool interrupted);

/* Ends the report of a group that still has clients, for good: they cannot leave any more. */
void group_close(struct client_group *g);

/* An interval of the report, or where it begins. */
struct interval {
	struct mark begin;
	bool warm_up; /* a client was in its warm-up then */
};

/* Ends an interval, which is printed if data came in it, and begins the next.  `quiet`: only in JSON. */
void interval_next(struct client_group *g, struct interval *v, bool quiet);

#endif
