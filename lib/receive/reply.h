/*
 * reply.h: zcs --reply: clients that ask for N bytes each, and are sent them.
 *
 *	serve_replies(&context, listen_or_die(&opt), &unblocked);
 *
 * A thread for each CPU waits for the events of its own clients, and accepts new ones from the
 * listener that all threads share.
 */
#pragma once

#include "lib/receive/group.h"

/*
 * Serves until a signal, which is blocked but in `unblocked`, with a line of the report for each
 * interval in which there were replies, and one at the end.  Closes the listener.
 */
void serve_replies(struct context *x, int listener, const sigset_t *unblocked);
