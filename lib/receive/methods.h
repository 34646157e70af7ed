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

#include <sys/types.h>

#include "lib/net/wire.h"

struct receiver;
struct uring_receiver;

struct receive_method {
	const char *name;
	/*
	 * Makes one system call that moves at most `size` bytes, of a body if it does not copy; uring
	 * takes one buffer, for which it need not make a call.
	 */
	ssize_t (*receive)(struct receiver *r, size_t size);
	bool copies;              /* it copies data into a buffer of the program */
	int lowat;                /* SO_RCVLOWAT in a body, bytes */
	void (*try_or_die)(void); /* dies if this host lacks what the method needs; may be NULL */
};

#define RECEIVE_METHODS 5
extern const struct receive_method receive_methods[RECEIVE_METHODS]; /* the first is the default */

struct receiver {
	int sock; /* does not block */
	const struct receive_method *method;
	struct wire wire;             /* what has come so far */
	char *buf;                    /* NULL if the method does not copy */
	size_t size;                  /* the most bytes that one call asks for */
	int lowat;                    /* SO_RCVLOWAT now in force, bytes; 0: the kernel's default */
	int pipe[2], sink;            /* of splice; -1: none */
	struct uring_receiver *uring; /* NULL: the method is another, or it is not open */
	bool readable;        /* poll(2) has reported data, and no call has been made since */
	bool excess;          /* more data came than the wire announced */
	_Atomic int *buffers; /* counts receivers with a default buffer; NULL: not this one */
};

/* Prepares a receiver on a connected socket; `raw`: the connection has no headers. */
void receiver_init(struct receiver *r, int sock, const struct receive_method *method, bool raw);

/*
 * Sets SO_RCVLOWAT for what the wire has next.  In a body the thread is not woken for each packet but
 * for the method's `lowat` bytes, and never for more than the body still has: only a header, or
 * nothing, may follow it.
 */
void receiver_set_lowat(struct receiver *r);

/*
 * Waits for data, the end of the stream or an error, at most `timeout_ms` milliseconds (-1: without
 * a limit).  Returns false if none of these came.
 */
bool receiver_wait(struct receiver *r, int timeout_ms);

/*
 * Allocates what the method needs.  `size` is the most bytes that a call asks for; 0 stands for
 * the method's default, which is smaller beside many others: *buffers counts those.  Returns 0 or
 * the error.  It is called when data have come, so that idle clients do not shrink others'
 * buffers.
 */
int receiver_open(struct receiver *r, size_t size, _Atomic int *buffers);

/*
 * Receives once, after waiting if needed.  Returns the bytes, 0 at the end of the stream, or -1.
 */
ssize_t receiver_receive(struct receiver *r);

/* Writes what an error of the functions above means for this receiver. */
#define RECEIVER_ERROR_MAX 160
const char *receiver_explain(const struct receiver *r, int error, char buf[RECEIVER_ERROR_MAX]);

/* Frees what receiver_open() allocated; the socket stays open. */
void receiver_close(struct receiver *r);
