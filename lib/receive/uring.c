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
	int last;   /* the result that ended the stream, 0 or -errno; 1: it goes on */
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

/* Reads the buffer that a completion has filled, and gives it back; returns its bytes. */
static ssize_t take(const struct uring_receiver *u, struct receiver *r,
		    const struct io_uring_cqe *done)
{
	const size_t n = (size_t)done->res;

	r->excess |= wire_feed(&r->wire, uring_buffer_of(&u->buffers, done), n) < n;
	uring_buffer_give(&u->buffers, done);
	return done->res;
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

int uring_receive_open(struct receiver *r)
{
	struct uring_receiver *u = calloc(1, sizeof(*u));
	int e;

	if (u == NULL)
		return ENOMEM;
	if (uring_open(&u->ring, ENTRIES, true) != 0) {
		e = errno;
		free(u);
		return e;
	}
	u->last = 1;
	r->state = u; /* so that the rest is closed, even if it fails */
	if (uring_start(&u->ring) != 0 ||
	    uring_buffers_open(&u->buffers, &u->ring, URING_RECEIVE_BUFFERS, r->size) != 0)
		return errno;
	return 0;
}

ssize_t uring_receive(struct receiver *r, size_t size)
{
	struct uring_receiver *u = r->state;
	struct io_uring_cqe done;
	ssize_t n = 0;

	(void)size;
	while (n == 0 && u->last > 0) {
		if (!u->armed)
			arm(u, r->sock);
		if (wait_for_data(u, r->sock) != 0)
			return -1;
		while (next(u, &done))
			if (done.res > 0)
				n += take(u, r, &done);
			else if (done.res != -ENOBUFS && done.res != -ECANCELED)
				u->last = done.res;
	}
	if (n == 0 && u->last < 0)
		errno = -u->last;
	return n > 0 ? n : u->last < 0 ? -1 : 0;
}

/* Ends the request, so that the connection is not used by the ring any more, and closes that. */
void uring_receive_close(struct receiver *r)
{
	struct uring_receiver *u = r->state;
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
