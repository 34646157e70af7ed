/*
 * ring: io_uring(7) for tests.
 *
 *	ring [zc]	exit status 0 if this process may use it, with SEND_ZC
 */
#include "lib/net/uring.h"

#include <sys/socket.h>

/* A socket of a pair has no SEND_ZC, which is EOPNOTSUPP, but a kernel before 6.2 fails with EINVAL. */
static int try_ring(bool zc)
{
	struct io_uring_cqe done = {.res = 0};
	struct io_uring_sqe *sqe;
	struct uring u;
	int sock[2];

	if (uring_open(&u, 4, true) != 0 || uring_start(&u) != 0)
		return 1;
	if (!zc)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock) != 0)
		return 1;
	sqe = uring_request(&u, IORING_OP_SEND_ZC, sock[0], "x", 1);
	sqe->ioprio = IORING_SEND_ZC_REPORT_USAGE;
	if (uring_enter(&u, 1, 1000) != 0 || !uring_next(&u, &done))
		return 1;
	return done.res == -EINVAL;
}

int main(int argc, char **argv)
{
	(void)argv;
	return try_ring(argc > 1);
}
