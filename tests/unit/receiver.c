/* How zcs receives: lib/receive/receiver, by each method. */
#include "lib/receive/receiver.h"

#include "tests/unit/unit.h"

/* The address space of this process, in pages. */
static long pages(void)
{
	char line[256];

	return file_read_line("/proc/self/statm", line, sizeof(line)) == 0 ? atol(line) : -1;
}

/* A client that is dropped with data under way: the ring goes on receiving. */
static void test_uring(void)
{
	const struct receive_method *m = receive_methods;
	struct receiver r;
	long before = 0;
	int fd[2], i, closed = 0;
	char byte;

	while (strcmp(m->name, "uring") != 0)
		m++;
	for (i = 0; i < 20; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
			abort();
		receiver_init(&r, fd[0], m, true);
		if (receiver_open(&r, 2) != NULL) {
			skip("a receiver with a ring", "no io_uring of Linux 6.1 or later here");
			return;
		}
		closed += send(fd[1], "0123", 4, 0) == 4 && receiver_receive(&r) == 4 &&
			  send(fd[1], "abcd", 4, 0) == 4;
		receiver_close(&r);
		close(fd[0]);
		/* The kernel ends the ring after close(2) has returned. */
		closed += recv(fd[1], &byte, 1, 0) == 0 || errno == ECONNRESET;
		close(fd[1]);
		if (i == 0) /* the first may also allocate what stays */
			before = pages();
	}
	ok(closed == 40, "a receiver that is closed while data come to its ring frees the socket");
	receiver_init(&r, -1, m, true);
	ok(sizeof(size_t) > 4 || receiver_open(&r, 1 << 30) != NULL,
	   "buffers of more bytes than there are addresses are refused");
	receiver_close(&r);
	ok(pages() < before + 19, "a receiver that is closed has unmapped its buffers");
}

TESTS(test_uring)
