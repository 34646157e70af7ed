/*
 * context.h: what the parts of zcs share.  main makes it and hands it down; it lasts until the
 * program ends.
 */
#pragma once

#include "lib/receive/group.h"
#include "lib/receive/guard.h"

struct context {
	const struct receive_options *opt;
	const _Atomic int *stop; /* the signal that ends the program, or 0 */
	struct meter meter;
	struct report report;
	struct places places;
	struct client_group group;
	_Atomic int buffers; /* clients that have a buffer of a default size */
	uint64_t accepted;   /* clients that had a thread, in stream mode */
};
