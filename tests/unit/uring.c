#include "lib/net/uring.h"

#include "tests/unit/unit.h"

static int fd[2]; /* a pair of connected sockets */

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
	int i, right = 0;

	ok(!uring_has_next(u) && !uring_next(u, &cqe), "a ring that was asked nothing has nothing");
	uring_request(u, IORING_OP_SEND, fd[0], "abc", 3)->user_data = 7;
	ok(!uring_has_next(u) && recv(fd[1], got, 3, MSG_DONTWAIT) < 0,
	   "a request is not submitted before uring_enter()");
	ok(wait_one(u, &cqe) == 3 && cqe.user_data == 7 && recv(fd[1], got, 8, 0) == 3 &&
		   memcmp(got, "abc", 3) == 0,
	   "a send returns what it sent, by its id");
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
		right += cqe.user_data == 8 ? cqe.res == -ECANCELED : cqe.res == 0;
	}
	ok(right == 102, "a request that is cancelled completes, and so does the cancellation");
}

static void test_buffers(struct uring *u)
{
	struct uring_buffers b = {.ring = NULL};
	struct io_uring_sqe *sqe;
	struct io_uring_cqe cqe;
	int i, right = 0;

	ok(uring_buffers_open(&b, u, 2, 4) == 0, "the kernel takes two buffers of 4 bytes");
	sqe = uring_request(u, IORING_OP_RECV, fd[1], NULL, 0);
	sqe->ioprio = IORING_RECV_MULTISHOT;
	sqe->flags = IOSQE_BUFFER_SELECT;
	sqe->buf_group = URING_GROUP;
	for (i = 0; i < 10; i++) {
		right += send(fd[0], "abcd", 4, 0) == 4 && wait_one(u, &cqe) == 4 &&
			 memcmp(uring_buffer_of(&b, &cqe), "abcd", 4) == 0;
		uring_buffer_give(&b, &cqe);
	}
	ok(right == 10, "one receive fills two buffers ten times, as they are given back");
	ok(send(fd[0], "0123456789ab", 12, 0) == 12 && wait_one(u, &cqe) == 4 &&
		   wait_one(u, &cqe) == 4 && wait_one(u, &cqe) == -ENOBUFS,
	   "a receive without a free buffer ends with ENOBUFS");
	uring_close(u);
	uring_buffers_close(&b);
}

int main(void)
{
	const int files = open_files();
	struct uring u;

	has(uring_explain(ENOSYS), "kernel has none", "a kernel without io_uring is explained");
	has(uring_explain(ENOMEM), "ulimit -l", "a lack of memory for a ring is explained");
	is(uring_explain(EMFILE), "Too many open files", "another error has the C library's text");
	if (uring_open(&u, 4, true) != 0 || uring_start(&u) != 0) {
		skip("a ring", "no io_uring of Linux 6.1 or later here");
		return done();
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		abort();
	test_requests(&u);
	test_buffers(&u);
	close(fd[0]);
	close(fd[1]);
	ok(open_files() == files, "a ring that is closed leaves no descriptor");
	return done();
}
