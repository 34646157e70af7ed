/*
 * server.h: listens, gives up the privileges for that, accepts clients that send and
 * prints the intervals of their group.
 *
 *	fd = listen_or_die(&opt);	(a port below 1024)
 *	privileges_drop_or_die("nobody");
 *	serve(&context, fd, &unblocked);
 */
#pragma once

#include "lib/receive/group.h"

/*
 * Listens on one socket for IPv6 and IPv4; for IPv4 alone on a host without IPv6.  Does not
 * block.
 */
int listen_or_die(const struct receive_options *opt);

/*
 * Becomes that user, with that user's groups, without a capability (capabilities(7)) and for
 * good.  Dies if it cannot, unless the process is that user already, in all of its ids, and in no
 * other's group.  Call it before there are threads.
 */
void privileges_drop_or_die(const char *user);

/*
 * Serves until a signal, which is blocked but in `unblocked`, or with -1 until the first group
 * ends.  Closes the listener.  On a signal the clients' streams end, and their summaries are
 * awaited for SUMMARIES_NS; clients that are still there after that are in group.n.
 */
void serve(struct context *x, int listener, const sigset_t *unblocked);

/*
 * client.c: accepts a client that sends, if one waits, and starts its thread; then removes those from the
 * group that had ended before.  So a client that waits to be accepted belongs to the group.  `listener`
 * is -1 once it is closed.
 */
void clients_look(struct context *x, int listener);

/*
 * reply.c: serves clients that ask for N bytes each until a signal, with a line of the report for each
 * interval in which there were replies, and one at the end.  A thread for each CPU waits for the events
 * of its own clients, and accepts new ones from the listener that all threads share.
 */
void serve_replies(struct context *x, int listener, const sigset_t *unblocked);
