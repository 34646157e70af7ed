/*
 * server.h: listens, gives up the privileges for that, and serves clients.
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
 * good.  Dies if it cannot; a process that is that user already may keep other groups.  Call it before
 * there are threads.
 */
void privileges_drop_or_die(const char *user);

/*
 * Serves until a signal, which is blocked but in `unblocked`, or with -1 until the first group
 * ends.  Closes the listener.  On a signal the clients' streams end, and their summaries are
 * awaited for SUMMARIES_NS; clients that are still there after that are in group.n.
 */
void serve(struct context *x, int listener, const sigset_t *unblocked);
