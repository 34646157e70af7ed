#include "lib/net/uring.h"

#include "tests/unit/unit.h"

/* What a ring sends and receives is tested by the methods that have one. */
int main(void)
{
	static char buf[4];
	const int files = open_files();
	struct io_uring_cqe cqe;
	struct uring u;
	int fd[2], i, right = 0;

	has(uring_explain(ENOSYS), "kernel has none", "a kernel without io_uring is explained");
	has(uring_explain(ENOMEM), "ulimit -l", "a lack of memory for a ring is explained");
	if (uring_open(&u, 4, true) != 0 || uring_start(&u) != 0) {
		skip("a ring", "no io_uring of Linux 6.1 or later here");
		return done();
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		abort();
	for (i = 0; i < 100; i++) {
		uring_request(&u, IORING_OP_SEND, fd[0], "x", 1)->user_data = (uint64_t)i;
		right += uring_enter(&u, 1, 10000) == 0 && uring_next(&u, &cqe) && cqe.res == 1 &&
			 cqe.user_data == (uint64_t)i && recv(fd[1], buf, 4, MSG_DONTWAIT) == 1;
	}
	ok(right == 100, "a ring of few entries takes 100 requests, one after the other");
	uring_request(&u, IORING_OP_RECV, fd[1], buf, 1)->user_data = 8;
	ok(uring_enter(&u, 1, 10) == 0 && !uring_has_next(&u), "a wait ends when its time is over");
	uring_cancel(&u, 8, 9);
	for (i = 0; i < 2 && uring_enter(&u, 1, 10000) == 0; i++)
		right += uring_next(&u, &cqe) && cqe.res == (cqe.user_data == 8 ? -ECANCELED : 0);
	ok(right == 102, "a request that is cancelled completes, and so does the cancellation");
	uring_close(&u);
	close(fd[0]);
	close(fd[1]);
	ok(open_files() == files, "a ring that is closed leaves no descriptor");
	return done();
}
