#include "lib/receive/uring.h"

#include <poll.h>
#include <sys/socket.h>

#define ENTRIES 4 /* requests at a time */
#define RECEIVE 1 /* user_data */
#define CANCEL  2
#define LOST_MS 1000 /* without a completion, until poll(2) is asked whether there are data */

struct uring_receiver {
	struct uring ring;
	struct uring_buffers buffers;
	bool armed; /* the request goes on: more completions of it will come */
};

/* The kernel chooses the buffers, fills them, and goes on until there are none or the stream ends. */
static void arm(struct uring_receiver *u, int sock)
{
	struct io_uring_sqe *sqe = uring_request(&u->ring, IORING_OP_RECV, sock, NULL, 0);

	sqe->ioprio = IORING_RECV_MULTISHOT;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = URING_GROUP;
	sqe->user_data = RECEIVE;
	u->armed = true;
}

/* Takes the next completion of the request; false if there is none. */
static bool next(struct uring_receiver *u, struct io_uring_cqe *done)
{
	do
		if (!uring_next(&u->ring, done))
			return false;
	while (done->user_data != RECEIVE);
	u->armed = (done->flags & IORING_CQE_F_MORE) != 0;
	return true;
}

static int open_ring(struct uring_receiver *u, size_t size)
{
	int e;

	if (uring_open(&u->ring, ENTRIES, true) != 0)
		return errno;
	if (uring_start(&u->ring) == 0 &&
	    uring_buffers_open(&u->buffers, &u->ring, URING_RECEIVE_BUFFERS, size) == 0)
		return 0;
	e = errno;
	uring_close(&u->ring);
	uring_buffers_close(&u->buffers);
	return e;
}

/*
 * Waits for a completion.  A receive stops at each urgent byte, and sometimes the request then has no
 * completion for the end of the stream (seen with Linux 6.18).  If there are data but no completion,
 * the request is cancelled; it completes with -ECANCELED, and the caller makes another.
 */
static int wait_for_data(struct uring_receiver *u, int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	if (uring_enter(&u->ring, 1, LOST_MS) != 0)
		return -1;
	if (!uring_has_next(&u->ring) && poll(&p, 1, 0) > 0)
		uring_cancel(&u->ring, RECEIVE, CANCEL);
	return 0;
}

/* Ends the request, so that the connection is not used by the ring any more, and closes that. */
static void close_ring(struct uring_receiver *u)
{
	struct io_uring_cqe done;

	if (u->armed)
		uring_cancel(&u->ring, RECEIVE, CANCEL);
	/* Data that came before are completions of the request, too, which still goes on after them. */
	while (u->armed)
		if (!next(u, &done) && uring_enter(&u->ring, 1, -1) != 0 && errno != EINTR)
			break;
	uring_close(&u->ring);
	uring_buffers_close(&u->buffers);
}

int uring_receive_open(struct receiver *r)
{
	struct uring_receiver *u = calloc(1, sizeof(*u));
	int e = u != NULL ? open_ring(u, r->size) : ENOMEM;

	if (e == 0)
		r->state = u;
	else
		free(u);
	return e;
}

ssize_t uring_receive(struct receiver *r, size_t size)
{
	struct uring_receiver *u = r->state;
	struct io_uring_cqe done, more;

	(void)size;
	do {
		while (!next(u, &done)) {
			if (!u->armed)
				arm(u, r->sock);
			if (wait_for_data(u, r->sock) != 0)
				return -1;
		}
		/* All buffers were filled, and are free again, or the request was cancelled. */
	} while (done.res == -ENOBUFS || done.res == -ECANCELED);
	if (done.res < 0) {
		errno = -done.res;
		return -1;
	}
	if ((done.flags & IORING_CQE_F_BUFFER) != 0) {
		r->excess = wire_feed(&r->wire, uring_buffer_of(&u->buffers, &done),
				      (size_t)done.res) < (size_t)done.res;
		uring_buffer_give(&u->buffers, &done);
	}
	while (r->wire.state == WIRE_DONE && next(u, &more))
		r->excess |= more.res > 0;
	return done.res;
}

size_t uring_receive_held(const struct receiver *r)
{
	const struct uring_receiver *u = r->state;
	struct io_uring_cqe done;
	size_t n = 0;
	unsigned i;

	for (i = 0; uring_look(&u->ring, i, &done); i++)
		if (done.user_data == RECEIVE && done.res > 0)
			n += (size_t)done.res;
	return n;
}

void uring_receive_close(struct receiver *r)
{
	close_ring(r->state);
}
