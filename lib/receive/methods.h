/*
 * methods.h: how zcs receives: a receiver reads a connection's wire by one of five methods.
 *
 *	receiver_init(&r, sock, &receive_methods[0], false);
 *	receiver_wait(&r, -1);
 *	if (receiver_open(&r, 0, &buffers) == 0)
 *		while (receiver_receive(&r) > 0)
 *			;
 *	receiver_close(&r);
 */
#pragma once

#include "lib/receive/receiver.h"

#define RECEIVE_METHODS 5
extern const struct receive_method receive_methods[RECEIVE_METHODS]; /* the first is the default */

/* Prepares a receiver on a connected socket; `raw`: the connection has no headers. */
void receiver_init(struct receiver *r, int sock, const struct receive_method *method, bool raw);

/*
 * Waits for data, the end of the stream or an error, at most `timeout_ms` milliseconds (-1: without
 * a limit; 0: only looks, also for data below the low-water mark).  Returns false if none of these came.
 */
bool receiver_wait(struct receiver *r, int timeout_ms);

/*
 * The same between two calls of receiver_receive().  Returns false earlier where the stream does not
 * flow any more.
 */
bool receiver_wait_more(struct receiver *r, int timeout_ms);

/*
 * Allocates what the method needs.  `size` is the most bytes that a call asks for; 0 stands for
 * the method's default, which is smaller beside many others: *buffers counts those.  Returns 0 or
 * the error.  It is called when data have come, so that idle clients do not shrink others'
 * buffers.
 */
int receiver_open(struct receiver *r, size_t size, _Atomic int *buffers);

/*
 * Receives at most RECEIVER_FIRST bytes, without waiting, by a receiver that is not open: a short stream
 * needs no more.  `size` is that of receiver_open().  Returns what receiver_receive() does; -1 with
 * EAGAIN if there is nothing yet, or the method does not copy.
 */
#define RECEIVER_FIRST 4096
ssize_t receiver_receive_first(struct receiver *r, size_t size);

/*
 * Receives once, after waiting if needed, and takes not more than one call does of what has come.
 * Returns the bytes, 0 at the end of the stream, or -1.
 */
ssize_t receiver_receive(struct receiver *r);

/*
 * The bytes that have come, headers included, and were not received yet; 1 where the kernel does not
 * count them (Multipath TCP before Linux 5.17).
 */
size_t receiver_queued(const struct receiver *r);

/* Writes what an error of the functions above means, with the method if that could not be opened. */
#define RECEIVER_ERROR_MAX 176
const char *receiver_explain(const struct receiver *r, int error, char buf[RECEIVER_ERROR_MAX]);

/* Frees what receiver_open() allocated; the socket stays open. */
void receiver_close(struct receiver *r);
