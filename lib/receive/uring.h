/*
 * uring.h: receiving by io_uring(7): one request for the whole connection, for which the kernel fills
 * buffers that the receiver provides.  These are what receiver.h asks of a method.
 *
 *	if (uring_receive_open(r) == 0)
 *		while (uring_receive(r, 0) > 0)
 *			;
 *	uring_receive_close(r);
 */
#pragma once

#include "lib/net/uring.h"
#include "lib/receive/receiver.h"

#define URING_RECEIVE_BUFFERS 4 /* of each connection; a power of two */
_Static_assert(URING_EXPLAIN_MAX <= RECEIVER_ERROR_MAX, "uring_explain() is one of a method");

/* Opens the ring, with buffers of r->size bytes.  The calling thread is the one that receives. */
int uring_receive_open(struct receiver *r);

/* Takes all buffers that one system call has filled, whatever `size`: nothing is left in the ring. */
ssize_t uring_receive(struct receiver *r, size_t size);

void uring_receive_close(struct receiver *r);
