/*
 * methods.c: the ways to receive, as receiver.h has them.  A new one is a row of the table at the end.
 */
#include <sys/socket.h>

#include "lib/net/socket.h"
#include "lib/receive/receiver.h"
#include "lib/receive/uring.h"

/*
 * Measured over loopback with reno, each end on a CPU of its own (two CPUs, Linux 6.18): buffers of
 * 256 KiB gave 1.13 of the throughput of 64 KiB (128 KiB: 1.10; 512 KiB: 1.07).  A bare loop that copies
 * nothing received 16.1 to 17.4 million KiB/s by calls of 1 to 4 MiB, and 13.9 to 15.4 million by calls of
 * 256 KiB or with a low-water mark (SO_RCVLOWAT), so that zcs sets none.
 */
#define SIZE_COPY    (256 * 1024)
#define SIZE_DISCARD (2 * 1024 * 1024)

static int buffer_open(struct receiver *r)
{
	r->state = malloc(r->size);
	return r->state != NULL ? 0 : ENOMEM;
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

static int splice_open(struct receiver *r)
{
	struct splice *s = malloc(sizeof(*s));
	size_t pipe_size;

	if (s == NULL)
		return ENOMEM;
	*s = (struct splice){.pipe = {-1, -1}, .sink = open_retry("/dev/null", O_WRONLY)};
	r->state = s;
	if (s->sink < 0 || pipe_large(s->pipe, &pipe_size) != 0)
		return errno;
	if (r->size > pipe_size)
		r->size = pipe_size;
	return 0;
}

/*
 * splice(2) does not pass an urgent byte (tcp(7)): it returns 0 there, as at the end of the stream.
 * Another call takes that byte.
 */
static ssize_t splice_step(struct receiver *r, size_t size)
{
	const struct splice *s = r->state;
	ssize_t n = splice(r->sock, NULL, s->pipe[1], NULL, size, SPLICE_F_MOVE), out, m;

	if (n == 0)
		return trunc_step(r, 1);
	for (out = 0; out < n; out += m) {
		m = TEMP_FAILURE_RETRY(
			splice(s->pipe[0], NULL, s->sink, NULL, (size_t)(n - out), SPLICE_F_MOVE));
		if (m <= 0)
			return -1;
	}
	if (n > 0)
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
	 .size = SIZE_COPY / URING_RECEIVE_BUFFERS,
	 .reads_headers = true,
	 .open = uring_receive_open,
	 .step = uring_receive,
	 .close = uring_receive_close,
	 .explain = uring_explain},
};

const size_t receive_methods_n = sizeof(receive_methods) / sizeof(receive_methods[0]);
