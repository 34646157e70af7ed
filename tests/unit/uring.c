#include "lib/net/uring.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include "lib/receive/receiver.h"
#include "tests/unit/unit.h"

/* Waits for one completion, and returns its result. */
static int wait_one(struct uring *u, struct io_uring_cqe *cqe)
{
	while (!uring_next(u, cqe))
		if (uring_enter(u, 1, 10000) != 0)
			return -errno;
	return cqe->res;
}

static void test_requests(struct uring *u)
{
	struct io_uring_cqe cqe;
	char got[8] = "";
	int fd[2], i, right = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		abort();
	ok(!uring_has_next(u) && !uring_next(u, &cqe), "a ring that was asked nothing has nothing");
	uring_request(u, IORING_OP_SEND, fd[0], "abc", 3)->user_data = 7;
	ok(!uring_has_next(u) && recv(fd[1], got, 3, MSG_DONTWAIT) < 0,
	   "a request is not submitted before uring_enter()");
	ok(wait_one(u, &cqe) == 3 && cqe.user_data == 7, "a send returns what it sent, by its id");
	ok(recv(fd[1], got, 8, 0) == 3 && memcmp(got, "abc", 3) == 0, "what was sent arrives");
	/* More than the ring has entries, so that it wraps. */
	for (i = 0; i < 100; i++) {
		uring_request(u, IORING_OP_SEND, fd[0], "x", 1)->user_data = (uint64_t)i;
		right += wait_one(u, &cqe) == 1 && cqe.user_data == (uint64_t)i &&
			 recv(fd[1], got, 8, 0) == 1;
	}
	ok(right == 100, "a ring of few entries takes 100 requests, one after the other");
	uring_request(u, IORING_OP_SEND, -1, "x", 1);
	ok(wait_one(u, &cqe) == -EBADF, "a request that fails completes with its errno");
	uring_request(u, IORING_OP_RECV, fd[1], got, 1)->user_data = 8;
	ok(uring_enter(u, 1, 10) == 0 && !uring_has_next(u), "a wait ends when its time is over");
	uring_cancel(u, 8, 9);
	for (i = 0; i < 2; i++) {
		wait_one(u, &cqe);
		right += cqe.user_data == 8 && cqe.res == -ECANCELED;
		right += cqe.user_data == 9 && cqe.res == 0;
	}
	ok(right == 102, "a request that is cancelled completes, and so does the cancellation");
	close(fd[0]);
	close(fd[1]);
}

/* A file of 10 bytes, of which 8 and then 8 are read and sent by a chain. */
static void test_chain(struct uring *u)
{
	static char buf[8];
	const struct iovec iov = {buf, sizeof(buf)};
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	FILE *file = tmpfile();
	int fd[2], i, res[4];
	char got[20];

	if (file == NULL || fputs("0123456789", file) < 0 || fflush(file) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		abort();
	ok(uring_register(u, IORING_REGISTER_BUFFERS, &iov, 1) == 0, "a buffer is registered");
	for (i = 0; i < 4; i++) {
		sqe = uring_request(u, i % 2 == 0 ? IORING_OP_READ_FIXED : IORING_OP_SEND,
				    i % 2 == 0 ? fileno(file) : fd[0], buf, 8);
		sqe->off = i % 2 == 0 ? 4 * (uint64_t)i : 0;
		sqe->flags = i < 3 ? IOSQE_IO_LINK : 0;
		sqe->user_data = (uint64_t)i;
	}
	for (i = 0; i < 4; i++)
		if (wait_one(u, &cqe) != -ETIME && cqe.user_data < 4)
			res[cqe.user_data] = cqe.res;
	ok(res[0] == 8 && res[1] == 8, "a chain reads into a registered buffer and sends it");
	ok(res[2] == 2 && res[3] == -ECANCELED,
	   "a short read breaks the chain: its send is cancelled");
	ok(recv(fd[1], got, sizeof(got), MSG_DONTWAIT) == 8 && memcmp(got, "01234567", 8) == 0,
	   "a chain that is broken has sent what came before");
	uring_register(u, IORING_UNREGISTER_BUFFERS, NULL, 0);
	fclose(file);
	close(fd[0]);
	close(fd[1]);
}

static void test_buffers(struct uring *u)
{
	struct uring_buffers b = {.ring = NULL};
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int fd[2], i, right = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		abort();
	ok(uring_buffers_open(&b, u, 2, 4) == 0, "the kernel takes two buffers of 4 bytes");
	sqe = uring_request(u, IORING_OP_RECV, fd[1], NULL, 0);
	sqe->ioprio = IORING_RECV_MULTISHOT;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = URING_GROUP;
	for (i = 0; i < 10; i++) {
		if (send(fd[0], "abcd", 4, 0) != 4)
			abort();
		right += wait_one(u, &cqe) == 4 && (cqe.flags & IORING_CQE_F_MORE) != 0 &&
			 memcmp(uring_buffer_of(&b, &cqe), "abcd", 4) == 0;
		uring_buffer_give(&b, &cqe);
	}
	ok(right == 10, "one receive fills two buffers ten times, as they are given back");
	if (send(fd[0], "0123456789ab", 12, 0) != 12)
		abort();
	ok(wait_one(u, &cqe) == 4 && wait_one(u, &cqe) == 4 && wait_one(u, &cqe) == -ENOBUFS &&
		   (cqe.flags & IORING_CQE_F_MORE) == 0,
	   "a receive without a free buffer ends with ENOBUFS");
	close(fd[0]);
	close(fd[1]);
	uring_close(u);
	uring_buffers_close(&b);
}

static const struct receive_method *uring_method(void)
{
	const struct receive_method *m = receive_methods;

	while (strcmp(m->name, "uring") != 0)
		m++;
	return m;
}

/* A client that is dropped with data under way: the ring goes on receiving. */
static void test_receiver_close(void)
{
	int fd[2], i, closed = 0, filled = 0;
	struct receiver r;
	char byte;

	for (i = 0; i < 20; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
			abort();
		receiver_init(&r, fd[0], uring_method(), true);
		if (receiver_open(&r, 2) != NULL || send(fd[1], "0123", 4, 0) != 4)
			abort();
		filled += receiver_receive(&r) == 4;
		if (send(fd[1], "abcd", 4, 0) != 4)
			abort();
		receiver_close(&r);
		close(fd[0]);
		closed += recv(fd[1], &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
		close(fd[1]);
	}
	ok(closed == 20 && filled == 20,
	   "a receiver that is closed while data come to its ring frees the socket at once");
}

/* The address space of this process, in pages. */
static long pages(void)
{
	char line[256];

	return file_read_line("/proc/self/statm", line, sizeof(line)) == 0 ? atol(line) : -1;
}

static void test_receiver_memory(void)
{
	const struct receive_method *m = uring_method();
	long before;

	receiver_try_or_die(m); /* the first may also allocate what stays */
	before = pages();
	receiver_try_or_die(m);
	receiver_try_or_die(m);
	ok(pages() == before, "a receiver that is closed has unmapped its buffers");
}

static void test_explain(void)
{
	ok(strstr(uring_explain(EPERM), "seccomp") != NULL ||
		   strstr(uring_explain(EPERM), "kernel.io_uring_disabled") != NULL,
	   "EPERM is explained by seccomp or the sysctl");
	ok(strstr(uring_explain(ENOSYS), "kernel has none") != NULL, "ENOSYS is explained");
	ok(strstr(uring_explain(ENOMEM), "ulimit -l") != NULL, "ENOMEM is explained");
	is(uring_explain(EMFILE), "Too many open files", "another error has the C library's text");
}

int main(void)
{
	const int files = open_files();
	struct uring u;

	test_explain();
	if (uring_open(&u, 4, true) != 0 || uring_start(&u) != 0) {
		skip("a ring", "no io_uring of Linux 6.1 or later here");
		return done();
	}
	test_requests(&u);
	test_chain(&u);
	test_buffers(&u);
	test_receiver_close();
	test_receiver_memory();
	ok(open_files() == files, "a ring that is closed leaves no descriptor");
	return done();
}
