#include "lib/receive/receiver.h"

#include <sys/socket.h>

#include "lib/net/socket.h"
#include "lib/net/uring.h"

/*
 * Measured over loopback with reno, each end on a CPU of its own (two CPUs, Linux 6.18): buffers of
 * 256 KiB gave 1.13 of the throughput of 64 KiB (128 KiB: 1.10; 512 KiB: 1.07).  A bare loop that copies
 * nothing received 16.1 to 17.4 million KiB/s by calls of 1 to 4 MiB, and 13.9 to 15.4 million by calls of
 * 256 KiB or with a low-water mark (SO_RCVLOWAT), so that zcs sets none.
 */
#define SIZE_COPY    (256 * 1024)
#define SIZE_DISCARD (2 * 1024 * 1024)

static const char *buffer_open(struct receiver *r)
{
	r->state = malloc(r->size);
	return r->state != NULL ? NULL : strerror(errno);
}

static ssize_t feed(struct receiver *r, ssize_t n)
{
	if (n > 0)
		r->excess = wire_feed(&r->wire, r->state, (size_t)n) < (size_t)n;
	return n;
}

static ssize_t read_step(struct receiver *r, size_t size)
{
	return feed(r, read(r->sock, r->state, size));
}

static ssize_t recv_step(struct receiver *r, size_t size)
{
	return feed(r, recv(r->sock, r->state, size, 0));
}

/* With MSG_TRUNC the kernel drops the data instead of copying them: tcp(7). */
static ssize_t trunc_step(struct receiver *r, size_t size)
{
	/* cppcheck-suppress nullPointer ; with MSG_TRUNC there need be no buffer */
	ssize_t n = recv(r->sock, NULL, size, MSG_TRUNC);

	if (n > 0)
		wire_skip(&r->wire, (size_t)n);
	return n;
}

/* The state of a splice: -1 is a descriptor that is not open. */
struct splice {
	int pipe[2], sink;
};

static const char *splice_open(struct receiver *r)
{
	struct splice *s = malloc(sizeof(*s));
	size_t pipe_size;

	if (s == NULL)
		return strerror(errno);
	*s = (struct splice){.pipe = {-1, -1}, .sink = open_retry("/dev/null", O_WRONLY)};
	r->state = s;
	if (s->sink < 0 || pipe_large(s->pipe, &pipe_size) != 0)
		return strerror(errno);
	if (r->size > pipe_size)
		r->size = pipe_size;
	return NULL;
}

/*
 * splice(2) does not pass an urgent byte (tcp(7)): it returns 0 there, as at the end of the stream.
 * Another call takes that byte.
 */
static ssize_t splice_step(struct receiver *r, size_t size)
{
	const struct splice *s = r->state;
	const ssize_t n = splice(r->sock, NULL, s->pipe[1], NULL, size, SPLICE_F_MOVE);
	ssize_t left, out;

	if (n == 0)
		return trunc_step(r, 1);
	if (n < 0)
		return -1;
	for (left = n; left > 0; left -= out) {
		out = TEMP_FAILURE_RETRY(
			splice(s->pipe[0], NULL, s->sink, NULL, (size_t)left, SPLICE_F_MOVE));
		if (out < 0)
			return -1;
	}
	wire_skip(&r->wire, (size_t)n);
	return n;
}

static void splice_close(struct receiver *r)
{
	const struct splice *s = r->state;

	if (s->sink >= 0)
		close(s->sink);
	if (s->pipe[0] >= 0) {
		close(s->pipe[0]);
		close(s->pipe[1]);
	}
}

/*
 * Receiving by io_uring(7): one request for the whole connection, for which the kernel fills buffers that
 * the receiver provides.
 */

#define BUFFERS 4 /* of each connection; a power of two */
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

/* Opens the ring, with buffers of r->size bytes.  The calling thread is the one that receives. */
static const char *uring_receive_open(struct receiver *r)
{
	struct uring_receiver *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return strerror(errno);
	u->last = 1;
	r->state = u; /* so that it is closed, even if it fails */
	if (uring_open(&u->ring, ENTRIES, true) != 0 || uring_start(&u->ring) != 0 ||
	    uring_buffers_open(&u->buffers, &u->ring, BUFFERS, r->size) != 0)
		return uring_explain(errno);
	return NULL;
}

/* Takes all buffers that one system call has filled, whatever `size`: nothing is left in the ring. */
static ssize_t uring_receive(struct receiver *r, size_t size)
{
	struct uring_receiver *u = r->state;
	struct io_uring_cqe done;
	ssize_t n = 0;
	size_t got;

	(void)size;
	while (n == 0 && u->last > 0) {
		if (!u->armed)
			arm(u, r->sock);
		if (wait_for_data(u, r->sock) != 0)
			return -1;
		while (next(u, &done))
			if (done.res > 0) {
				got = (size_t)done.res;
				r->excess |= wire_feed(&r->wire,
						       uring_buffer_of(&u->buffers, &done),
						       got) < got;
				uring_buffer_give(&u->buffers, &done);
				n += done.res;
			} else if (done.res != -ENOBUFS && done.res != -ECANCELED)
				u->last = done.res;
	}
	if (n > 0 || u->last == 0)
		return n;
	errno = -u->last;
	return -1;
}

/* Ends the request, so that the connection is not used by the ring any more, and closes that. */
static void uring_receive_close(struct receiver *r)
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

/*
 * The table of the methods.  A new one is a row.
 */

const struct receive_method receive_methods[] = {
	{.name = "read",
	 .size = SIZE_COPY,
	 .reads_headers = true,
	 .open = buffer_open,
	 .step = read_step},
	{.name = "recv",
	 .size = SIZE_COPY,
	 .reads_headers = true,
	 .open = buffer_open,
	 .step = recv_step},
	{.name = "trunc", .size = SIZE_DISCARD, .step = trunc_step},
	{.name = "splice",
	 .size = SIZE_DISCARD,
	 .open = splice_open,
	 .step = splice_step,
	 .close = splice_close},
	{.name = "uring",
	 .size = SIZE_COPY / BUFFERS,
	 .reads_headers = true,
	 .open = uring_receive_open,
	 .step = uring_receive,
	 .close = uring_receive_close},
};

const size_t receive_methods_n = sizeof(receive_methods) / sizeof(receive_methods[0]);

/*
 * A receiver.
 */

void receiver_init(struct receiver *r, int sock, const struct receive_method *method, bool raw)
{
	*r = (struct receiver){.sock = sock, .method = method};
	wire_init(&r->wire, raw);
}

const char *receiver_open(struct receiver *r, size_t size)
{
	r->size = size > 0 ? size : r->method->size;
	return r->method->open != NULL ? r->method->open(r) : NULL;
}

void receiver_try_or_die(const struct receive_method *method)
{
	struct receiver r;
	const char *why;

	receiver_init(&r, -1, method, true);
	why = receiver_open(&r, 1);
	if (why != NULL)
		die("-m %s: %s", method->name, why);
	receiver_close(&r);
}

/* Receives what is left of a header, and nothing behind it. */
static ssize_t receive_header(struct receiver *r)
{
	unsigned char header[WIRE_HEADER];
	ssize_t n = recv(r->sock, header, wire_header_left(&r->wire), 0);

	if (n > 0)
		wire_feed(&r->wire, header, (size_t)n);
	return n;
}

ssize_t receiver_receive(struct receiver *r)
{
	const size_t body = r->method->reads_headers ? r->size : wire_body_left(&r->wire),
		     size = body < r->size ? body : r->size;
	ssize_t n;

	do
		n = size > 0 ? r->method->step(r, size) : receive_header(r);
	while (n < 0 && errno == EINTR);
	return n;
}

void receiver_close(struct receiver *r)
{
	if (r->state != NULL && r->method->close != NULL)
		r->method->close(r);
	free(r->state);
	r->state = NULL;
}
