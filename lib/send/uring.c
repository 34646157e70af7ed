#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "lib/net/uring.h"
#include "lib/send/sender.h"

#define CHAIN       8         /* parts of a file that one system call reads and sends */
#define SLOTS_MAX   64        /* buffers of SEND_ZC */
#define BUFFERS_MAX (1 << 30) /* bytes that the kernel registers as one */
#define WAIT_MS     100       /* how long one wait for a notification takes at most */

/* user_data of a request: its index in the chain, its slot, the number of its chain. */
#define INDEX_BITS  8
#define CHAIN_SHIFT 16

/*
 * SEND copies a part before the next is read, so that one buffer does for all.  With SEND_ZC the
 * kernel owns a buffer until it has notified of every send from it: they are used in turn.
 */
struct uring_sender {
	struct uring ring;
	bool started; /* the ring belongs to the stream's thread, and the buffers are registered */
	bool zc;
	unsigned slots, next; /* buffers, and the one that is filled next */
	/* The send of each buffer whose notification is to come; 0: none, the buffer is free. */
	uint64_t owner[SLOTS_MAX];
	struct zerocopy_figures sent; /* of SEND_ZC */
	/* The chain under way, a read and a send for each part, and its number, from 1. */
	uint64_t chain;
	unsigned complete; /* requests that are done */
	int result[2 * CHAIN];
};

static uint64_t id_of(const struct uring_sender *r, unsigned index)
{
	return index | (uint64_t)((r->next + index / 2) % r->slots) << INDEX_BITS |
	       r->chain << CHAIN_SHIFT;
}

/* The kernel also notifies of sends that it cancelled before they began, of which it owns nothing. */
static void take_notification(struct uring_sender *r, const struct io_uring_cqe *done)
{
	uint64_t *owner = &r->owner[done->user_data >> INDEX_BITS & (SLOTS_MAX - 1)];

	if (*owner != done->user_data)
		return;
	*owner = 0;
	r->sent.incomplete--;
	r->sent.copied += ((unsigned)done->res & IORING_NOTIF_USAGE_ZC_COPIED) != 0;
}

/* Takes the completions that there are. */
static void reap(struct uring_sender *r)
{
	struct io_uring_cqe done;

	while (uring_next(&r->ring, &done)) {
		if ((done.flags & IORING_CQE_F_NOTIF) != 0) {
			take_notification(r, &done);
			continue;
		}
		r->result[done.user_data & ((1 << INDEX_BITS) - 1)] = done.res;
		r->complete++;
		if ((done.flags & IORING_CQE_F_MORE) != 0) {
			r->owner[done.user_data >> INDEX_BITS & (SLOTS_MAX - 1)] = done.user_data;
			r->sent.sends++;
			r->sent.incomplete++;
		}
	}
}

/* Waits for n completions, a signal or the time; dies if the kernel no longer serves the ring. */
static void enter(struct sender *s, unsigned n, int timeout_ms)
{
	struct uring_sender *r = s->ring;

	if (uring_enter(&r->ring, n, timeout_ms) != 0 && errno != EINTR && errno != EAGAIN &&
	    errno != EBUSY)
		die_errno("-m %s: io_uring_enter", s->method->name);
	reap(r);
}

/* Pins the buffers, which no other stream shares, in the stream's own thread. */
static void start(struct sender *s)
{
	struct uring_sender *r = s->ring;
	const struct iovec iov = {s->buf, s->buf_size};
	cpu_set_t cpus;

	r->started = true;
	if (uring_start(&r->ring) != 0)
		die("-m %s: %s", s->method->name, uring_explain(errno));
	if (uring_register(&r->ring, IORING_REGISTER_BUFFERS, &iov, 1) != 0)
		die("-m %s: cannot register %zu bytes of buffers: %s", s->method->name, s->buf_size,
		    uring_explain(errno));
	/* The kernel's threads that read what is not in memory: on the CPUs of the stream's thread. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		uring_register(&r->ring, IORING_REGISTER_IOWQ_AFF, &cpus, sizeof(cpus));
}

/* Returns how many buffers from the next one on the kernel does not own, `want` at most. */
static unsigned free_slots(const struct uring_sender *r, unsigned want)
{
	unsigned n = 0;

	while (n < want && n < r->slots && r->owner[(r->next + n) % r->slots] == 0)
		n++;
	return n;
}

/* Requests the send of a buffer's first `size` bytes, with that index in the chain. */
static struct io_uring_sqe *request_send(struct sender *s, unsigned index, const char *buf,
					 size_t size)
{
	struct uring_sender *r = s->ring;
	struct io_uring_sqe *sqe = uring_request(
		&r->ring, r->zc ? IORING_OP_SEND_ZC : IORING_OP_SEND, s->sock, buf, size);

	/* Without MSG_WAITALL a short send would not break the chain. */
	sqe->msg_flags = MSG_WAITALL | MSG_NOSIGNAL;
	sqe->ioprio = r->zc ? IORING_RECVSEND_FIXED_BUF | IORING_SEND_ZC_REPORT_USAGE : 0;
	sqe->user_data = id_of(r, index);
	return sqe;
}

/* The bytes of part i of `len` bytes. */
static size_t part_size(const struct sender *s, uint64_t len, unsigned i)
{
	return at_most(len - (uint64_t)i * s->chunk, s->chunk);
}

static char *part_buffer(const struct sender *s, unsigned i)
{
	const struct uring_sender *r = s->ring;

	return s->buf + (r->next + i) % r->slots * s->chunk;
}

/* Requests n parts from `off`, of `len` bytes that are left, as one chain. */
static void request_chain(struct sender *s, int fd, off_t off, uint64_t len, unsigned n)
{
	struct uring_sender *r = s->ring;
	struct io_uring_sqe *sqe;
	unsigned i;

	r->chain++;
	for (i = 0; i < n; i++) {
		sqe = uring_request(&r->ring, IORING_OP_READ_FIXED, fd, part_buffer(s, i),
				    part_size(s, len, i));
		sqe->off = (uint64_t)off + (uint64_t)i * s->chunk;
		sqe->flags = IOSQE_IO_LINK;
		sqe->user_data = id_of(r, 2 * i);
		sqe = request_send(s, 2 * i + 1, part_buffer(s, i), part_size(s, len, i));
		sqe->flags = i + 1 < n ? IOSQE_IO_LINK : 0;
	}
}

/* Submits the n requests of a chain, and waits for its end.  A stop makes the sends fail. */
static void await_chain(struct sender *s, unsigned n)
{
	struct uring_sender *r = s->ring;

	for (r->complete = 0; r->complete < n;)
		enter(s, n - r->complete, -1);
}

/*
 * Returns what a part's send returned, 0 at the end of the file, or -errno.  A read that got less than
 * it was asked for has cancelled its send, which is made up for here.
 */
static int part_result(struct sender *s, uint64_t len, unsigned i)
{
	struct uring_sender *r = s->ring;
	const int got = r->result[2 * i];

	if (got == (int)part_size(s, len, i))
		return r->result[2 * i + 1];
	if (got <= 0)
		return got;
	r->chain++;
	request_send(s, 2 * i + 1, part_buffer(s, i), (size_t)got);
	await_chain(s, 1);
	return r->result[2 * i + 1];
}

/* Returns what the n parts of a chain came to, as a step does. */
static ssize_t chain_result(struct sender *s, uint64_t len, unsigned n)
{
	struct uring_sender *r = s->ring;
	ssize_t sum = 0;
	unsigned i, j;
	int sent = 0;

	for (i = 0; i < n; i++) {
		/* This kernel would have sent data in the wrong order. */
		for (j = i + 1; j < n && r->result[2 * i + 1] < (int)part_size(s, len, i); j++)
			if (r->result[2 * j + 1] > 0)
				die("-m %s: this kernel goes on after a short read or send",
				    s->method->name);
		sent = part_result(s, len, i);
		if (sent <= 0)
			break;
		sum += sent;
		if (i > 0)
			s->calls++; /* sender_send() counts one call of each step */
		if (sent < (int)part_size(s, len, i))
			break;
	}
	r->next = (r->next + i + (i < n && sent > 0)) % r->slots;
	if (sum > 0 || sent == 0)
		return sum;
	if (r->zc && sent == -EINVAL)
		die("-m %s: this kernel does not report which sends it copied: Linux 6.2 or later "
		    "does",
		    s->method->name);
	errno = -sent;
	return -1;
}

ssize_t uring_step(struct sender *s, int fd, off_t off, uint64_t len)
{
	struct uring_sender *r = s->ring;
	const uint64_t parts = (len + s->chunk - 1) / s->chunk;
	unsigned n;

	if (!r->started)
		start(s);
	n = (unsigned)at_most(parts, r->zc ? at_most(CHAIN, r->slots / 2) : CHAIN);
	while (r->zc && free_slots(r, n) < n) {
		if (sender_stopped(s))
			return 0;
		enter(s, 1, WAIT_MS);
	}
	request_chain(s, fd, off, len, n);
	await_chain(s, 2 * n);
	return chain_result(s, len, n);
}

/* Waits for notifications, of which some may be to come after the last send. */
void uring_await(struct sender *s)
{
	enter(s, 1, WAIT_MS);
}

/* Buffers that the kernel still owns stay registered: an older kernel would wait for them. */
void uring_finish(struct sender *s)
{
	const struct uring_sender *r = s->ring;

	if (r->started && r->sent.incomplete == 0)
		uring_register(&r->ring, IORING_UNREGISTER_BUFFERS, NULL, 0);
}

struct zerocopy_figures uring_count(const struct sender *s)
{
	const struct uring_sender *r = s->ring;

	return r->sent;
}

static void open_ring(struct sender *s, bool zc)
{
	const size_t slots = s->memory / s->chunk;
	struct uring_sender *r;

	s->ring = r = alloc_or_die(1, sizeof(*r), "-m uring");
	r->zc = zc;
	r->slots = !zc ? 1 : slots < 2 ? 2 : (unsigned)at_most(slots, SLOTS_MAX);
	s->chunk = at_most(s->chunk, BUFFERS_MAX / r->slots);
	s->buf_size = s->chunk * r->slots;
	if (uring_open(&r->ring, 2 * CHAIN + 2, false) != 0)
		die("-m %s: %s", s->method->name, uring_explain(errno));
	if (zc && !uring_supports(&r->ring, IORING_OP_SEND_ZC))
		die("-m %s: this kernel has no SEND_ZC: Linux 6.2 or later has it",
		    s->method->name);
}

void uring_send_open(struct sender *s)
{
	open_ring(s, false);
}

void uring_send_open_zc(struct sender *s)
{
	open_ring(s, true);
}

/* The ring goes before the buffers do. */
void uring_send_close(struct sender *s)
{
	struct uring_sender *r = s->ring;

	uring_close(&r->ring);
	free(r);
}
