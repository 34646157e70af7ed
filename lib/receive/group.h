/*
 * group.h: a group is the clients that are connected at the same time: each joins before the last of the others
 * has left.  The figures of a client, a group or an interval are the difference between two marks.  struct
 * context has what all parts of zcs share.
 *
 *	group_join(&context, client);		(the main thread)
 *	...					(the client's thread counts client->bytes)
 *	group_remove(&context, client);
 */
#pragma once

#include <net/if.h>
#include <sys/queue.h>

#include "lib/load/meter.h"
#include "lib/receive/guard.h"
#include "lib/receive/report.h"
#include "lib/report/stalls.h"

#define RATES_NS 100000000 /* the host's counters are too coarse for a shorter time */

struct context;

/* The counts at one time.  A member that is not read is 0. */
struct mark {
	uint64_t ns;                  /* now_ns() */
	uint64_t bytes, calls, files; /* received so far; in reply mode calls are replies */
	double mapped;                /* bytes that were mapped; only of a client */
	double records, errors;       /* of TLS; only of a client */
	struct meter_mark load;       /* if the load is measured */
	struct counters counters;     /* of the host; counters.ns is 0 if they were not read */
};

/* Stores the time and a sample of the load. */
void mark_now(struct meter *m, struct mark *mark);

/* Computes all figures except those that marks do not have: warmup, clients, cpu and tcp. */
void figures_between(const struct context *x, const struct mark *from, const struct mark *to,
		     struct figures *f);

/* Adds what a receipt has of this host, to figures of a connection by that interface. */
void figures_describe(struct context *x, const struct link *link, struct figures *f);

/*
 * Sends the receipt, and with it the end of the stream.  It is no error if the client has closed, as clients of
 * 2001 have.
 */
void receipt_send(int sock, const struct figures *f, int flags);

/* A client that sends. */
struct client {
	struct place place;
	LIST_ENTRY(client) link;
	struct context *context;
	pthread_t thread;
	int number;                  /* from 0 */
	double cpu;                  /* the CPU to which its thread is bound; NAN: none */
	char interface[IF_NAMESIZE]; /* via which it is reached; empty: unknown */
	struct receiver receiver;
	struct stall_watch silence; /* under the group's lock */
	_Atomic uint64_t bytes;     /* received so far */
	_Atomic bool
		begun; /* its first header is whole: whoever only looks whether the port is open has none */
	uint64_t calls;         /* system calls that received these bytes; not atomic */
	struct mark begin, end; /* of what is measured */
	bool encrypted;         /* by TLS */
	const char *decrypts;   /* what does: software or device */
	bool no_pad;            /* the kernel decrypts in place */
	_Atomic bool warming;   /* it is in its warm-up */
	_Atomic bool ended;     /* its thread has ended, and has set the members below */
	struct figures figures;
	char why[160]; /* why it failed; empty if it did not */
	bool summary;  /* the report has its summary */
};

struct client_group {
	int wake; /* eventfd(2): a client has ended, or with --reply zcs does */
	LIST_HEAD(client_head, client) clients;
	int n;                  /* clients now */
	_Atomic uint64_t total; /* clients that have begun in this group so far */
	uint64_t removed_bytes; /* received from all clients that have left since the start */
	struct figures sum;     /* of the clients that have left */
	struct mark begin, end;
	char interface[IF_NAMESIZE]; /* of all clients; empty: they have several */
	struct stalls stalls;        /* of the clients that have left, since the group began */
	pthread_mutex_t lock;        /* of the clients' stalls, at which two threads look */
	bool summary;                /* a client has a summary */
	bool finished;               /* a client has sent all that it announced */
	bool failed;                 /* a client failed, since the start */
	bool served;                 /* a client that had begun has left, since the start */
	_Atomic bool warms_up;       /* a client has begun its warm-up in this interval */
	struct interval {
		struct mark begin;
		uint64_t clients; /* that had begun when it began */
		bool warm_up;     /* a client was in its warm-up when it began */
	} interval;               /* of the report */
};

/* The state that all parts of zcs share.  main makes it and passes it down. */
struct context {
	const struct receive_options *opt;
	const _Atomic int *stop; /* the signal that ends the program, or 0 */
	struct meter meter;
	struct report report;
	struct places places;
	struct client_group group;
	struct recent_counters counters; /* of the host */
	uint64_t accepted;               /* clients that had a thread, in stream mode */
	char boot[HASH_SIZE];            /* for the receipts */
};

/*
 * Waits for events or a signal until `due_ns` of now_ns(); UINT64_MAX: without a limit.  Signals are blocked
 * outside this wait, whose mask is `unblocked`.  During the wait another thread may die and end the report.
 */
void wait_for_events(struct context *x, struct pollfd *p, nfds_t n, uint64_t due_ns,
		     const sigset_t *unblocked);

/* Adds a client to the group, or begins a group with it. */
void group_join(struct context *x, struct client *c);

/* Removes a client and adds its figures to the group's.  With the last client the group's report ends. */
void group_remove(struct context *x, struct client *c);

/* Looks at all clients for stalls. */
void group_look(struct context *x);

/* Ends the report of the group. */
void group_close(struct context *x);

/* Ends the interval, which is printed if data came in it, and begins the next. */
void interval_next(struct context *x);

/*
 * client.c: accepts the clients that wait, `most` at most, and starts their threads.  `listener` is -1 once it is
 * closed.
 */
void clients_accept(struct context *x, int listener, int most);

/* client.c: removes the clients that have ended.  Those that waited before belong to their group if they are accepted. */
void clients_remove(struct context *x);

/*
 * reply.c: serves clients that ask for N bytes each, until a signal.  Prints a line for each interval in which
 * there were replies, and one at the end.  A thread for each CPU waits for the events of its own clients, and
 * accepts new ones from the listener that all threads share.
 */
void serve_replies(struct context *x, int listener, const sigset_t *unblocked);

/*
 * server.c: listens, drops privileges, and serves clients.
 *
 *	fd = listen_or_die(&opt);	(a port below 1024)
 *	privileges_drop_or_die("nobody");
 *	serve(&context, fd, &unblocked);
 *
 * Listens on one socket for IPv6 and IPv4; for IPv4 alone on a host without IPv6.  The socket does not
 * block.
 */
int listen_or_die(const struct receive_options *opt);

/*
 * Becomes this user for good, with the user's groups and without a capability (capabilities(7)), or dies.  A
 * process that already is this user may keep other groups.  To be called before there are threads.
 */
void privileges_drop_or_die(const char *user);

/*
 * Serves until a signal, for which it waits with the mask `unblocked`, or with -1 until the first group ends in which a
 * client sent something.
 * Closes the listener.  On a signal it ends the clients' streams and waits up to SUMMARIES_NS for their
 * summaries; group.n is the number of clients that are left.
 */
void serve(struct context *x, int listener, const sigset_t *unblocked);
