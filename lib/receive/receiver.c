#include "lib/receive/receiver.h"

#include <linux/tcp.h>
#include <sys/mman.h>

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

/* Has the wire read what a call has received; returns the bytes, or the result of a call that had none. */
static ssize_t feed(struct receiver *r, const void *data, ssize_t n)
{
	if (n > 0)
		r->excess |= wire_feed(&r->wire, data, (size_t)n) < (size_t)n;
	return n;
}

static ssize_t read_step(struct receiver *r, size_t size)
{
	return feed(r, r->state, read(r->sock, r->state, size));
}

static ssize_t recv_step(struct receiver *r, size_t size)
{
	return feed(r, r->state, recv(r->sock, r->state, size, 0));
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
	struct splice *s = r->state;
	size_t pipe_size;

	*s = (struct splice){.pipe = {-1, -1}, .sink = open_retry("/dev/null", O_WRONLY)};
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

	close(s->sink); /* -1 is ignored, as below */
	close(s->pipe[0]);
	close(s->pipe[1]);
}

/*
 * Receiving by TCP_ZEROCOPY_RECEIVE (Linux 4.18): the kernel maps the pages of packets that are whole pages
 * to an address of the program, and copies or leaves the rest: net/ipv4/tcp.c, tcp_zerocopy_receive().
 */

/* struct tcp_zerocopy_receive of linux/tcp.h, as of Linux 5.12.  Older kernels fill in less of it, and say how much. */
struct zerocopy_request {
	uint64_t address;
	uint32_t length; /* bytes that may be mapped, and those that were */
	uint32_t skip;   /* bytes behind them that cannot be mapped: they are to be read */
	uint32_t queued;
	int32_t error;
	uint64_t copy_address;
	int32_t copy_length; /* bytes that may be copied, and those that were */
	uint32_t flags;
};

#define ZEROCOPY_LEAST offsetof(struct zerocopy_request, queued) /* all that Linux 4.18 knows */

struct zerocopy_receiver {
	unsigned char *map, copy[SIZE_COPY];
	size_t map_size, page;
	socklen_t request_size; /* what this kernel takes of the request */
	size_t skip;            /* bytes that the next call has to copy */
	int error; /* of the socket, which a request has taken from it: errno; 0: none */
};

/* Maps r->size bytes of the socket. */
static const char *zerocopy_open(struct receiver *r)
{
	struct zerocopy_receiver *z = r->state;

	z->skip = 0;
	z->error = 0;
	z->page = (size_t)sysconf(_SC_PAGESIZE);
	z->map_size = (r->size + z->page - 1) / z->page * z->page;
	z->request_size = sizeof(struct zerocopy_request);
	z->map = mmap(NULL, z->map_size, PROT_READ, MAP_SHARED, r->sock, 0);
	return z->map == MAP_FAILED ? strerror(errno) : NULL;
}

/* Copies what cannot be mapped, as recv(2) does. */
static ssize_t zerocopy_copy(struct receiver *r, struct zerocopy_receiver *z, size_t size)
{
	const size_t most = z->skip < size ? z->skip : size;
	const ssize_t n = recv(r->sock, z->copy, most < SIZE_COPY ? most : SIZE_COPY, 0);

	z->skip -= n > 0 ? (size_t)n : 0;
	return feed(r, z->copy, n);
}

/* Asks the kernel to map what has come, and to copy the rest if that is less than a page. */
static ssize_t zerocopy_map(struct receiver *r, struct zerocopy_receiver *z)
{
	struct zerocopy_request q = {.address = (uintptr_t)z->map,
				     .length = (uint32_t)z->map_size,
				     .copy_address = (uintptr_t)z->copy,
				     .copy_length = (int32_t)z->page};
	socklen_t len = z->request_size;
	ssize_t copied;

	if (getsockopt(r->sock, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &q, &len) != 0)
		return -1;
	copied = len >= offsetof(struct zerocopy_request, flags) && q.copy_length > 0
			 ? q.copy_length
			 : 0;
	z->skip = q.skip;
	if (len >= offsetof(struct zerocopy_request, copy_address) && q.error < 0)
		z->error = -q.error;
	r->mapped += q.length;
	return feed(r, z->map, q.length) + feed(r, z->copy, copied);
}

/* The call that maps does not wait for data: if there are none, recv(2) does. */
static ssize_t zerocopy_step(struct receiver *r, size_t size)
{
	struct zerocopy_receiver *z = r->state;
	bool has_ended;
	ssize_t n;

	while (z->skip == 0) {
		n = zerocopy_map(r, z);
		has_ended = n < 0 && errno == EIO;
		if (n < 0 && errno == EINVAL && z->request_size > ZEROCOPY_LEAST)
			z->request_size = ZEROCOPY_LEAST; /* an old kernel takes no other size */
		else if (n > 0 || (n < 0 && !has_ended) ||
			 (z->skip == 0 && (n = recv(r->sock, z->copy, 1, MSG_PEEK)) <= 0)) {
			if (n != 0 || has_ended || z->error == 0)
				return n; /* as recv(2) has no error behind the end of a stream */
			errno = z->error;
			return -1;
		}
	}
	return zerocopy_copy(r, z, size);
}

/* The mapping would keep the connection open after close(2). */
static void zerocopy_close(struct receiver *r)
{
	struct zerocopy_receiver *z = r->state;

	if (z->map != MAP_FAILED)
		munmap(z->map, z->map_size);
}

/*
 * Receiving by io_uring(7): one request for the whole connection, for which the kernel fills buffers that
 * the receiver provides.
 */

#define BUFFERS 4 /* of each connection; a power of two */
#define ENTRIES 4 /* requests at a time */
#define RECEIVE 1 /* user_data of the request that receives, and of the one that cancels it */
#define CANCEL  2
#define LOST_MS 1000 /* after this time without a completion poll(2) tells whether there are data */

/*
 * Headers of Linux before 5.19 lack IORING_REGISTER_PBUF_RING, its argument struct io_uring_buf_reg, and struct
 * io_uring_buf: here they have names of our own.
 */
#define REGISTER_BUFFERS 22

struct buffers_request {
	uint64_t address; /* of the ring of buffers, whose group is 0 */
	uint32_t n;
	uint16_t group, flags;
	uint64_t reserved[3];
};

/* An element of this ring.  The tail of the ring is that of its first element. */
struct buffer {
	uint64_t address;
	uint32_t size;
	uint16_t number, tail;
};

struct uring_receiver {
	struct uring ring;
	struct buffer *buffers; /* a page, and behind it the buffers' data; MAP_FAILED: none */
	size_t map_size;
	char *data;
	bool armed; /* the request is active: more completions of it will come */
	int last;   /* the result that ended the stream, 0 or -errno; 1: it goes on */
};

/* The kernel chooses the buffers, fills them, and goes on until there are none or the stream ends. */
static void arm(struct uring_receiver *u, int sock)
{
	struct io_uring_sqe *sqe = uring_request(&u->ring, IORING_OP_RECV, sock, NULL, 0);

	sqe->ioprio = IORING_RECV_MULTISHOT;
	sqe->flags = IOSQE_BUFFER_SELECT;
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
 * completion for the end of the stream (seen with Linux 6.18).  If there are data but no completion of a request that
 * was submitted, it is cancelled; it completes with -ECANCELED, and the caller makes another.
 */
static int wait_for_data(struct uring_receiver *u, int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	if (uring_enter(&u->ring, 1, LOST_MS) != 0)
		return -1;
	if (!uring_has_next(&u->ring) && u->ring.submitted == u->ring.tail && poll(&p, 1, 0) > 0)
		uring_cancel(&u->ring, RECEIVE, CANCEL);
	return 0;
}

/* Gives the kernel a buffer.  Its member `tail` is not written: it may be the ring's. */
static void buffer_give(struct uring_receiver *u, unsigned number, size_t size)
{
	const uint16_t tail = u->buffers->tail;
	struct buffer *b = &u->buffers[tail % BUFFERS];

	b->address = (uintptr_t)(u->data + number * size);
	b->size = (uint32_t)size;
	b->number = (uint16_t)number;
	__atomic_store_n(&u->buffers->tail, (uint16_t)(tail + 1), __ATOMIC_RELEASE);
}

/* Gives the kernel buffers of `size` bytes each, which it fills in an order of its choice. */
static int buffers_open(struct uring_receiver *u, size_t size)
{
	const size_t page = (size_t)getpagesize();
	struct buffers_request q;
	unsigned i;

	if (size > (SIZE_MAX - page) / BUFFERS) { /* 1g, of the addresses of 32 bits */
		errno = ENOBUFS;
		return -1;
	}
	u->map_size = page + BUFFERS * size;
	u->buffers = mmap(NULL, u->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (u->buffers == MAP_FAILED)
		return -1;
	u->data = (char *)u->buffers + page;
	memset(&q, 0, sizeof(struct buffers_request));
	q.address = (uintptr_t)u->buffers;
	q.n = BUFFERS;
	if (uring_register(&u->ring, REGISTER_BUFFERS, &q, 1) != 0)
		return -1;
	for (i = 0; i < BUFFERS; i++)
		buffer_give(u, i, size);
	return 0;
}

/* Opens the ring, with buffers of r->size bytes.  The calling thread is the one that receives. */
static const char *uring_receive_open(struct receiver *r)
{
	struct uring_receiver *u = r->state;

	*u = (struct uring_receiver){.buffers = MAP_FAILED, .last = 1};
	if (uring_open(&u->ring, ENTRIES, true) != 0 || uring_start(&u->ring) != 0 ||
	    buffers_open(u, r->size) != 0)
		return uring_explain(errno);
	return NULL;
}

/* Takes all buffers that one system call has filled, whatever `size`: nothing is left in the ring. */
static ssize_t uring_receive(struct receiver *r, size_t size)
{
	struct uring_receiver *u = r->state;
	struct io_uring_cqe done;
	unsigned number;
	ssize_t n = 0;

	(void)size;
	while (n == 0 && u->last > 0) {
		if (!u->armed)
			arm(u, r->sock);
		if (wait_for_data(u, r->sock) != 0)
			return -1;
		while (next(u, &done))
			if (done.res > 0) {
				number = done.flags >> IORING_CQE_BUFFER_SHIFT;
				n += feed(r, u->data + number * r->size, done.res);
				buffer_give(u, number, r->size);
			} else if (done.res != -ENOBUFS && done.res != -ECANCELED)
				u->last = done.res;
	}
	if (n > 0 || u->last == 0)
		return n;
	errno = -u->last;
	return -1;
}

/* Ends the request, after which the ring does not use the connection, and closes the ring. */
static void uring_receive_close(struct receiver *r)
{
	struct uring_receiver *u = r->state;
	struct io_uring_cqe done;

	if (u->armed)
		uring_cancel(&u->ring, RECEIVE, CANCEL);
	/* Data that came before are completions of the request, too, which still goes on after them. */
	while (u->armed)
		if (!next(u, &done) && uring_enter(&u->ring, 1, -1) != 0)
			break;
	uring_close(&u->ring);
	if (u->buffers != MAP_FAILED)
		munmap(u->buffers, u->map_size);
}

/*
 * The table of the methods.  A new one is a row.
 */

const struct receive_method receive_methods[] = {
	{.name = "read", .size = SIZE_COPY, .state = STATE_BUFFER, .step = read_step},
	{.name = "recv", .size = SIZE_COPY, .state = STATE_BUFFER, .step = recv_step},
	{.name = "trunc",
	 .size = SIZE_DISCARD,
	 .reads_bodies_alone = true,
	 .lacks_tls = true,
	 .step = trunc_step},
	{.name = "splice",
	 .size = SIZE_DISCARD,
	 .state = sizeof(struct splice),
	 .reads_bodies_alone = true,
	 .open = splice_open,
	 .step = splice_step,
	 .close = splice_close},
	{.name = "zerocopy",
	 .size = SIZE_DISCARD,
	 .state = sizeof(struct zerocopy_receiver),
	 .lacks_tls = true,
	 .maps = true,
	 .open = zerocopy_open,
	 .step = zerocopy_step,
	 .close = zerocopy_close},
	{.name = "uring",
	 .size = SIZE_COPY / BUFFERS,
	 .state = sizeof(struct uring_receiver),
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
	*r = (struct receiver){.sock = sock,
			       .method = method,
			       .wire.state = raw ? WIRE_RAW : WIRE_LOOPS,
			       .mapped = method->maps ? 0 : NAN};
}

const char *receiver_open(struct receiver *r, size_t size)
{
	const size_t state = r->method->state;

	r->size = size > 0 ? size : r->method->size;
	r->state = malloc(state == STATE_BUFFER ? r->size : state);
	if (r->state == NULL)
		return strerror(errno);
	return r->method->open != NULL ? r->method->open(r) : NULL;
}

void receiver_try_or_die(const struct receive_method *method)
{
	struct receiver r;
	const char *why;

	receiver_init(&r, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), method, true);
	why = receiver_open(&r, 1);
	if (why != NULL)
		die("-m %s: %s", method->name, why);
	receiver_close(&r);
	close(r.sock);
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
	const size_t body = r->method->reads_bodies_alone ? wire_body_left(&r->wire) : r->size,
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
