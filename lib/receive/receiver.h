/*
 * receiver.h: a receiver reads the wire of one connection by a method of zcs.
 *
 *	receiver_init(&r, sock, &receive_methods[0], false);
 *	why = receiver_open(&r, 0);
 *	while (why == NULL && receiver_receive(&r) > 0)
 *		;
 *	receiver_close(&r);
 */
#pragma once

#include <sys/types.h>

#include "lib/net/wire.h"

struct receiver;

#define STATE_BUFFER SIZE_MAX /* r->state is a buffer of r->size bytes */

/*
 * A way to receive.  A method may lack a function, which is NULL.  `open` fills r->state, and returns NULL or
 * why it cannot.  `step` makes one system call, which waits for data and takes at most `size` bytes, and has
 * the wire count them; the socket may have more afterwards.  It returns the bytes, 0 at the end of the
 * stream, or -1 with errno.  `close` undoes `open`, even if that failed, but does not free r->state.
 */
struct receive_method {
	const char *name;
	size_t size;  /* default bytes of a call */
	size_t state; /* bytes of r->state; or STATE_BUFFER */
	/*
	 * A call of its own receives each header, and a step takes bytes of one body only.  Other methods find
	 * headers in the data that they receive.
	 */
	bool reads_bodies_alone;
	bool lacks_tls; /* kernel TLS cannot receive by it */
	bool maps; /* the kernel may map data instead of copying them; the receiver counts such bytes */
	const char *(*open)(struct receiver *r);
	ssize_t (*step)(struct receiver *r, size_t size);
	void (*close)(struct receiver *r);
};

extern const struct receive_method receive_methods[]; /* the first is the default */
extern const size_t receive_methods_n;

struct receiver {
	int sock; /* blocks */
	const struct receive_method *method;
	struct wire wire; /* what has come so far */
	size_t size;      /* the most bytes that one call asks for */
	void *state;      /* of the method; NULL: it has none, or is not open */
	double mapped;    /* bytes that the kernel mapped; NAN: the method does not map */
	bool excess;      /* more data came than the wire announced */
};

/* Dies, with the reason, if this host lacks what the method needs. */
void receiver_try_or_die(const struct receive_method *method);

/* Prepares a receiver on a connected socket; `raw`: the connection has no headers. */
void receiver_init(struct receiver *r, int sock, const struct receive_method *method, bool raw);

/*
 * Allocates what the method needs.  `size` is the most bytes that a call asks for; 0 stands for the
 * method's default.  Returns NULL, or why it cannot.
 */
const char *receiver_open(struct receiver *r, size_t size);

/* Receives once; waits for data if there are none.  Returns what a step returns. */
ssize_t receiver_receive(struct receiver *r);

/* Frees what receiver_open() allocated; the socket stays open. */
void receiver_close(struct receiver *r);
