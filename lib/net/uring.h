/*
 * uring.h: a ring of io_uring(7) by its system calls, for one thread, without a library.
 *
 *	if (uring_open(&u, 8, false) != 0)
 *		die("%s", uring_explain(errno));
 *	uring_request(&u, IORING_OP_SEND, sock, buf, len)->user_data = 1;
 *	while (!uring_next(&u, &done))
 *		uring_enter(&u, 1, -1);
 *	uring_close(&u);
 *
 * Requests are submitted, and completions awaited, by one system call.
 */
#pragma once

#include <linux/io_uring.h>

#include "common.h"

/* Older distributions have headers of Linux before 6.1 or 6.2, which lack these. */
#ifndef IORING_SETUP_DEFER_TASKRUN
#define IORING_SETUP_SINGLE_ISSUER (1U << 12)
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)
#define IORING_RECV_MULTISHOT      (1U << 1)
#define IORING_RECVSEND_FIXED_BUF  (1U << 2)
#define IORING_CQE_F_NOTIF         (1U << 3)
#define IORING_OP_SEND_ZC          47
#endif
#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE  (1U << 3)
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)
#endif

struct uring {
	int fd;                                        /* -1: the ring is not open */
	unsigned entries;                              /* a power of two */
	_Atomic unsigned *sq_tail, *cq_head, *cq_tail; /* shared with the kernel */
	unsigned tail, submitted; /* requests written, and submitted, since the start */
	unsigned cq_mask;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	void *rings;
	size_t rings_size;
};

/*
 * Opens a ring for `entries` requests at a time, each of which may have two completions.  Only the thread that
 * calls uring_start() then uses it.  If `deferred`, requests make progress only in that thread's uring_enter(),
 * which needs Linux 6.1; otherwise they do so where the kernel can.  The caller closes the ring even if it could
 * not be opened.
 */
int uring_open(struct uring *u, unsigned entries, bool deferred);

/* Gives the ring to the calling thread.  To be called once, before the first uring_enter(). */
int uring_start(struct uring *u);

/* io_uring_register(2). */
int uring_register(const struct uring *u, unsigned op, const void *arg, unsigned n);

/*
 * Returns the next request, zeroed except for these fields.  The next uring_enter() submits it.  The caller must
 * not have more than `entries` requests that are not submitted.
 */
struct io_uring_sqe *uring_request(struct uring *u, unsigned char op, int fd, const void *buf,
				   size_t len);

/*
 * Submits the requests, and waits until there are `wait` completions, for `timeout_ms` at most (-1: no limit).
 * Returns 0 even after a time-out or a signal, or if the kernel lacked memory or room for completions (EAGAIN, EBUSY):
 * the caller takes the completions that there are, and calls again.  The next call submits what this one did not.
 */
int uring_enter(struct uring *u, unsigned wait, int timeout_ms);

/* Whether there is a completion. */
bool uring_has_next(const struct uring *u);

/* Takes the next completion; false if there is none. */
bool uring_next(struct uring *u, struct io_uring_cqe *done);

/* Cancels a request, which still completes: with -ECANCELED if it had done nothing. */
void uring_cancel(struct uring *u, uint64_t user_data, uint64_t own_user_data);

/* Closes the ring.  Requests must be complete, or their buffers must stay allocated. */
void uring_close(struct uring *u);

/* Why the kernel gave no ring, or too little memory for one, and what to do. */
const char *uring_explain(int error);
