/*
 * uring.h: receiving by io_uring(7): one request for the whole connection, for which the kernel fills
 * buffers that the receiver provides.
 *
 *	if (uring_receive_open(r) == 0)
 *		while (uring_receive(r, 0) > 0)
 *			;
 *	uring_receive_close(r);
 */
#pragma once

#include "lib/receive/receiver.h"

/* Dies if this host does not let this process receive that way, with the reason. */
void uring_receive_try_or_die(void);

/*
 * Opens the receiver's ring, with buffers of r->size bytes each or, if that is 0, of `memory` bytes
 * together.  Returns 0 or the error.  The calling thread is the one that receives.
 */
int uring_receive_open(struct receiver *r, size_t memory);

/* Takes one buffer that the kernel has filled, and waits for it if needed. */
ssize_t uring_receive(struct receiver *r, size_t size);

/* Waits until there is something to take, as receiver_wait() does. */
bool uring_receive_wait(struct receiver *r, int timeout_ms);

/* The bytes in buffers that the kernel has filled and nobody has taken. */
size_t uring_receive_queued(const struct receiver *r);

/* Ends the request and closes the ring; does nothing if it is not open. */
void uring_receive_close(struct receiver *r);
