#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "lib/net/uring.h"
#include "lib/send/sender.h"

#define CHAIN       8         /* parts of a file that one system call reads and sends */
#define BUFFERS_MAX (1 << 30) /* bytes that the kernel registers as one */

/* user_data of a request: its index in the chain, its slot, the number of its chain. */
#define INDEX_BITS  8
#define CHAIN_SHIFT 16

/*
 * SEND copies a part before the next is read, so that one buffer does for all.  With SEND_ZC the
 * kernel owns a buffer until it has notified of every send from it: they are used one after the other.
 */
struct uring_sender {
	struct uring ring;
	bool started; /* the ring belongs to the stream's thread, and the buffers are registered */
	/* The chain under way, a read and a send for each part, and its number, from 1. */
	uint64_t chain;
	unsigned complete; /* requests that are done */
	int result[2 * CHAIN];
};

static uint64_t id_of(const struct sender *s, unsigned index)
{
	const struct uring_sender *r = s->ring;

	return index | (uint64_t)((s->next + index / 2) % s->slots) << INDEX_BITS |
	       r->chain << CHAIN_SHIFT;
}

/*
 * Takes the completions that there are.  The kernel also notifies of sends that it cancelled before they
 * began, of which it owns nothing.
 */
static void reap(struct sender *s)
{
	struct uring_sender *r = s->ring;
	struct io_uring_cqe done;
	uint64_t *owner;

	while (uring_next(&r->ring, &done)) {
		owner = &s->owner[done.user_data >> INDEX_BITS & (SLOTS_MAX - 1)];
		if ((done.flags & IORING_CQE_F_NOTIF) == 0) {
			r->result[done.user_data & ((1 << INDEX_BITS) - 1)] = done.res;
			r->complete++;
		} else if (*owner == done.user_data) {
			*owner = 0;
			s->zerocopy.incomplete--;
			if ((unsigned)done.res & IORING_NOTIF_USAGE_ZC_COPIED)
				s->zerocopy.copied++;
		}
		if ((done.flags & IORING_CQE_F_MORE) != 0) {
			*owner = done.user_data;
			s->zerocopy.sends++;
			s->zerocopy.incomplete++;
		}
	}
}

/* Waits for n completions, a signal or the time; dies if the kernel no longer serves the ring. */
static void enter(struct sender *s, unsigned n, int timeout_ms)
{
	struct uring_sender *r = s->ring;

	if (uring_enter(&r->ring, n, timeout_ms) != 0)
		die_errno("-m %s: io_uring_enter", s->method->name);
	reap(s);
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
	if (s->data == NULL && uring_register(&r->ring, IORING_REGISTER_BUFFERS, &iov, 1) != 0)
		die("-m %s: cannot register %zu bytes of buffers: %s", s->method->name, s->buf_size,
		    uring_explain(errno));
	/* The kernel's threads that read what is not in memory: on the CPUs of the stream's thread. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		uring_register(&r->ring, IORING_REGISTER_IOWQ_AFF, &cpus, sizeof(cpus));
}

/* Returns how many buffers from the next one on the kernel does not own, `want` at most. */
static unsigned free_slots(const struct sender *s, unsigned want)
{
	unsigned n = 0;

	while (n < want && s->owner[(s->next + n) % s->slots] == 0)
		n++;
	return n;
}

/* The bytes of part i of `len` bytes. */
static size_t part_size(const struct sender *s, uint64_t len, unsigned i)
{
	return at_most(len - (uint64_t)i * s->chunk, s->chunk);
}

/* Requests n parts from `off`, of `len` bytes that are left, as one chain. */
static void request_chain(struct sender *s, int fd, off_t off, uint64_t len, unsigned n)
{
	const unsigned zc = s->method->is_zerocopy ? IORING_SEND_ZC_REPORT_USAGE : 0;
	struct uring_sender *r = s->ring;
	struct io_uring_sqe *sqe;
	const void *part;
	unsigned i;

	r->chain++;
	for (i = 0; i < n; i++) {
		part = s->data != NULL ? s->data + off + i * s->chunk
				       : s->buf + (s->next + i) % s->slots * s->chunk;
		if (s->data == NULL) {
			sqe = uring_request(&r->ring, IORING_OP_READ_FIXED, fd, part,
					    part_size(s, len, i));
			sqe->off = (uint64_t)off + (uint64_t)i * s->chunk;
			sqe->flags = IOSQE_IO_LINK;
			sqe->user_data = id_of(s, 2 * i);
		}
		sqe = uring_request(&r->ring, zc > 0 ? IORING_OP_SEND_ZC : IORING_OP_SEND, s->sock,
				    part, part_size(s, len, i));
		/* Without MSG_WAITALL a short send would not break the chain. */
		sqe->msg_flags = MSG_WAITALL | MSG_NOSIGNAL;
		sqe->ioprio = (uint16_t)(zc > 0 && s->data == NULL ? zc | IORING_RECVSEND_FIXED_BUF
								   : zc);
		sqe->flags = i + 1 < n ? IOSQE_IO_LINK : 0;
		sqe->user_data = id_of(s, 2 * i + 1);
	}
}

/*
 * Returns what the n parts of a chain came to, as a step does.  A read that got less than it was asked for
 * has cancelled its send: its file has shrunk, and ends with the part before.
 */
static ssize_t chain_result(struct sender *s, uint64_t len, unsigned n)
{
	struct uring_sender *r = s->ring;
	ssize_t sum = 0;
	unsigned i = 0;
	int size, got, sent;

	do {
		size = (int)part_size(s, len, i);
		got = s->data != NULL ? size : r->result[2 * i];
		sent = got == size ? r->result[2 * i + 1] : got < 0 ? got : 0;
		if (sent > 0) {
			sum += sent;
			i++;
		}
	} while (sent == size && i < n);
	s->next = (s->next + i) % s->slots;
	if (i > 0)
		s->calls += i - 1; /* sender_send() counts one call of each step */
	if (sum > 0 || sent == 0)
		return sum;
	/* The read before a request that the kernel does not know is cancelled. */
	if (s->method->is_zerocopy && r->result[2 * i + 1] == -EINVAL)
		die("-m %s: this kernel has no SEND_ZC that reports copies: Linux 6.2 or later has "
		    "it",
		    s->method->name);
	errno = -sent;
	return -1;
}

ssize_t uring_step(struct sender *s, int fd, off_t off, uint64_t len)
{
	const bool zc = s->method->is_zerocopy;
	const uint64_t parts = (len + s->chunk - 1) / s->chunk;
	const unsigned n = (unsigned)at_most(parts, zc ? at_most(CHAIN, s->slots / 2) : CHAIN);
	const unsigned requests = s->data != NULL ? n : 2 * n;
	struct uring_sender *r = s->ring;

	if (!r->started)
		start(s);
	while (zc && free_slots(s, n) < n) {
		if (sender_stopped(s))
			return 0;
		enter(s, 1, WAIT_MS);
	}
	request_chain(s, fd, off, len, n);
	/* A stop makes the sends fail. */
	for (r->complete = 0; r->complete < requests;)
		enter(s, requests - r->complete, -1);
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

	if (r->started && s->data == NULL && !(s->zerocopy.incomplete > 0))
		uring_register(&r->ring, IORING_UNREGISTER_BUFFERS, NULL, 0);
}

void uring_send_open(struct sender *s)
{
	struct uring_sender *r;

	s->ring = r = alloc_or_die(1, sizeof(*r), "-m uring");
	s->chunk = at_most(s->chunk, BUFFERS_MAX / s->slots);
	if (uring_open(&r->ring, 2 * CHAIN + 2, false) != 0)
		die("-m %s: %s", s->method->name, uring_explain(errno));
}

/* The ring goes before the buffers do. */
void uring_send_close(struct sender *s)
{
	uring_close(&((struct uring_sender *)s->ring)->ring);
}
