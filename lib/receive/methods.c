#include "lib/receive/methods.h"

#include <sys/ioctl.h>

#include "lib/net/socket.h"
#include "lib/net/uring.h"
#include "lib/receive/uring.h"

/*
 * These were measured over loopback with reno, each end on a CPU of its own (two CPUs, Linux 6.18).
 * Buffers of 256 KiB gave 1.13 of the throughput of 64 KiB (128 KiB: 1.10; 512 KiB: 1.07).  To wait
 * for LOWAT_COPY gave 1.10 with the built-in set and 1.14 with one file of 128 KiB: the sender's CPU
 * wakes the receiver less often.  Without copies, LOWAT_DISCARD and calls of twice that gave what the
 * fastest bare loop did (1.04; of blocking calls that wait for as much); 256 KiB gave 0.81.
 */
#define BUFFER_LARGE  (256 * 1024) /* bytes of a buffer */
#define BUFFER_SMALL  (64 * 1024)  /* the same beside BUFFERS_LARGE others */
#define BUFFERS_LARGE 24
#define SIZE_DISCARD  (2 * 1024 * 1024) /* bytes of a call that copies nothing */
#define LOWAT_COPY    (64 * 1024) /* larger, and data would leave the cache before they are read */
#define LOWAT_DISCARD (1024 * 1024)
#define LOWAT_MANY    (256 * 1024) /* the same beside BUFFERS_LARGE others: the kernel has the data */
#define FLOW_BYTES    (16 * 1024) /* a call that takes as much is one of a stream that flows */
#define FLOW_MS       10          /* that data of a stream without headers may wait for more */
#define FLOW_BODY_MS  100         /* the same of a body, which nobody answers before it is whole */

void receiver_init(struct receiver *r, int sock, const struct receive_method *method, bool raw)
{
	*r = (struct receiver){
		.sock = sock, .method = method, .lowat = 1, .pipe = {-1, -1}, .sink = -1};
	r->lowat_max = method->lowat;
	wire_init(&r->wire, raw);
}

/*
 * poll(2) waits rather than the receiving call, which would wait for another `lowat` bytes after each
 * part that it has taken.
 */
bool receiver_wait(struct receiver *r, int timeout_ms)
{
	struct pollfd p = {.fd = r->sock, .events = POLLIN};

	if (r->uring != NULL)
		return uring_receive_wait(r, timeout_ms);
	receiver_set_lowat(r, timeout_ms == 0);
	r->readable = poll(&p, 1, timeout_ms) != 0;
	return r->readable;
}

static ssize_t feed(struct receiver *r, ssize_t n)
{
	if (n > 0)
		r->excess = wire_feed(&r->wire, r->buf, (size_t)n) < (size_t)n;
	return n;
}

static ssize_t receive_read(struct receiver *r, size_t size)
{
	return feed(r, read(r->sock, r->buf, size));
}

static ssize_t receive_recv(struct receiver *r, size_t size)
{
	return feed(r, recv(r->sock, r->buf, size, 0));
}

/* Methods that do not look at bodies read each header by a call of its own. */
static ssize_t receive_header(struct receiver *r)
{
	unsigned char header[WIRE_HEADER];
	ssize_t n = recv(r->sock, header, wire_header_left(&r->wire), 0);

	r->readable = false;
	if (n > 0)
		wire_feed(&r->wire, header, (size_t)n);
	return n;
}

/* With MSG_TRUNC the kernel drops the data instead of copying them: tcp(7). */
static ssize_t receive_trunc(struct receiver *r, size_t size)
{
	/* cppcheck-suppress nullPointer ; with MSG_TRUNC there need be no buffer */
	ssize_t n = recv(r->sock, NULL, size, MSG_TRUNC);

	if (n > 0)
		wire_skip(&r->wire, (size_t)n);
	return n;
}

/*
 * splice(2) does not pass an urgent byte (tcp(7)): it reports that there are no data, or at the
 * end of the stream that it has ended, while poll(2) reports data.  That byte is taken by another
 * call.
 */
static ssize_t receive_splice(struct receiver *r, size_t size)
{
	ssize_t n = splice(r->sock, NULL, r->pipe[1], NULL, size, SPLICE_F_MOVE), out, m;
	bool readable = r->readable;

	r->readable = false;
	if (n == 0 || (n < 0 && errno == EAGAIN && readable))
		return receive_trunc(r, 1);
	for (out = 0; out < n; out += m) {
		m = TEMP_FAILURE_RETRY(
			splice(r->pipe[0], NULL, r->sink, NULL, (size_t)(n - out), SPLICE_F_MOVE));
		if (m <= 0)
			return -1;
	}
	if (n > 0)
		wire_skip(&r->wire, (size_t)n);
	return n;
}

const struct receive_method receive_methods[RECEIVE_METHODS] = {
	{"read", receive_read, true, LOWAT_COPY, NULL},
	{"recv", receive_recv, true, LOWAT_COPY, NULL},
	{"trunc", receive_trunc, false, LOWAT_DISCARD, NULL},
	{"splice", receive_splice, false, LOWAT_DISCARD, NULL},
	{"uring", uring_receive, true, LOWAT_COPY, uring_receive_try_or_die},
};

/* receiver_open() without its record of a failure. */
static int open_method(struct receiver *r, size_t size, _Atomic int *buffers)
{
	size_t pipe_size, memory = 0;
	bool few = true;

	r->size = size;
	if (size == 0 || !r->method->copies) {
		r->buffers = buffers;
		few = (*buffers)++ < BUFFERS_LARGE;
	}
	if (r->method->copies) {
		if (size == 0)
			memory = few ? BUFFER_LARGE : BUFFER_SMALL;
		if (r->method->receive == uring_receive)
			return uring_receive_open(r, memory);
		r->size = size > 0 ? size : memory;
		r->buf = malloc(r->size);
		return r->buf != NULL ? 0 : ENOMEM;
	}
	if (!few)
		r->lowat_max = LOWAT_MANY;
	if (size == 0)
		r->size = SIZE_DISCARD;
	if (r->method->receive != receive_splice)
		return 0;
	r->sink = open_retry("/dev/null", O_WRONLY);
	if (r->sink < 0 || pipe_large(r->pipe, &pipe_size) != 0)
		return errno;
	if (r->size > pipe_size)
		r->size = pipe_size;
	return 0;
}

int receiver_open(struct receiver *r, size_t size, _Atomic int *buffers)
{
	int e = open_method(r, size, buffers);

	r->unopened = e != 0;
	return e;
}

/*
 * A stream that flows waits for the low-water mark, but not for long: what has come may be the last for
 * a long time.
 */
bool receiver_wait_more(struct receiver *r, int timeout_ms)
{
	const int flow_ms = r->wire.state == WIRE_RAW ? FLOW_MS : FLOW_BODY_MS;
	bool has;

	r->drained = false;
	if (r->flows && (timeout_ms < 0 || timeout_ms > flow_ms))
		timeout_ms = flow_ms;
	has = receiver_wait(r, timeout_ms);
	r->flows &= has;
	return has;
}

ssize_t receiver_receive_first(struct receiver *r, size_t size)
{
	char buf[RECEIVER_FIRST];
	ssize_t n = -1;

	errno = EAGAIN;
	if (r->method->copies && r->method->receive != uring_receive) {
		r->buf = buf;
		n = r->method->receive(r, size > 0 && size < sizeof(buf) ? size : sizeof(buf));
		r->buf = NULL;
	}
	if (n < 0 && errno == EINTR)
		errno = EAGAIN;
	return n;
}

ssize_t receiver_receive(struct receiver *r)
{
	size_t left = wire_body_left(&r->wire), size = r->size;
	ssize_t n;

	if (!r->method->copies && left < size)
		size = left;
	if (r->drained)
		receiver_wait_more(r, -1);
	while ((n = size > 0 ? r->method->receive(r, size) : receive_header(r)) < 0 &&
	       (errno == EAGAIN || errno == EINTR))
		if (errno == EAGAIN)
			receiver_wait_more(r, -1);
	/* Where data are copied, it was as fast without this (0.97 to 0.98). */
	if (!r->method->copies && n > 0) {
		r->drained = size > 0 && (size_t)n < size && r->wire.state != WIRE_DONE;
		r->flows |= n >= FLOW_BYTES;
	}
	return n;
}

size_t receiver_queued(const struct receiver *r)
{
	int n;

	if (ioctl(r->sock, FIONREAD, &n) != 0)
		return 1;
	return (size_t)n + (r->uring != NULL ? uring_receive_queued(r) : 0);
}

const char *receiver_explain(const struct receiver *r, int error, char buf[RECEIVER_ERROR_MAX])
{
	char text[URING_EXPLAIN_MAX];

	if (!r->unopened)
		snprintf(buf, RECEIVER_ERROR_MAX, "%s", strerror(error));
	else if (r->method->receive == uring_receive)
		snprintf(buf, RECEIVER_ERROR_MAX, "-m uring: %s", uring_explain(error, text));
	else
		snprintf(buf, RECEIVER_ERROR_MAX, "-m %s: %s", r->method->name, strerror(error));
	return buf;
}

void receiver_close(struct receiver *r)
{
	uring_receive_close(r);
	free(r->buf);
	if (r->buffers != NULL)
		--*r->buffers;
	if (r->sink >= 0)
		close(r->sink);
	if (r->pipe[0] >= 0) {
		close(r->pipe[0]);
		close(r->pipe[1]);
	}
}
