/*
 * receiver.h: what the methods by which zcs receives have in common.  methods.h has the interface for
 * their user.
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
	 * takes one buffer, for which it need not make a call.  More data may be there afterwards:
	 * receiver_queued() has how many.
	 */
	ssize_t (*receive)(struct receiver *r, size_t size);
	bool copies;              /* it copies data into a buffer of the program */
	int lowat;                /* SO_RCVLOWAT in a body, bytes */
	void (*try_or_die)(void); /* dies if this host lacks what the method needs; may be NULL */
};

struct receiver {
	int sock; /* does not block */
	const struct receive_method *method;
	struct wire wire;  /* what has come so far */
	char *buf;         /* NULL if the method does not copy */
	size_t size;       /* the most bytes that one call asks for */
	int lowat;         /* SO_RCVLOWAT now in force, bytes; 1 is the default of the kernel */
	int lowat_max;     /* the most that it is set to, bytes */
	int pipe[2], sink; /* of splice; -1: none */
	struct uring_receiver *uring; /* NULL: the method is another, or it is not open */
	bool readable; /* poll(2) has reported data, and no call has been made since */
	bool drained;  /* the last call took all that was there, so that the next is to wait */
	bool flows; /* data come fast enough to wait for more of them; false where they are copied */
	bool excess;   /* more data came than the wire announced */
	bool unopened; /* receiver_open() failed */
	/* Counts receivers with a default buffer or without a copy; NULL: not this one. */
	_Atomic int *buffers;
};

/*
 * Sets SO_RCVLOWAT for what the wire has next.  In a body the thread is not woken for each packet but
 * for `lowat_max` bytes, and never for more than the body still has: only a header, or
 * nothing, may follow it.  `any`: any data wake it.
 */
void receiver_set_lowat(struct receiver *r, bool any);
