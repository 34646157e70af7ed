/* How zcs receives: lib/receive/receiver, by each method. */
#include "lib/receive/receiver.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/unit/unit.h"

/* A method that cannot be opened, as there is no descriptor left. */
static void test_not_opened(void)
{
	struct rlimit none;
	struct rlimit before;
	char text[RECEIVER_ERROR_MAX], want[64];
	struct receiver r;
	size_t i;
	int e;

	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	for (i = 0; i < receive_methods_n; i++) {
		receiver_init(&r, STDIN_FILENO, &receive_methods[i], false);
		setrlimit(RLIMIT_NOFILE, &none);
		e = receiver_open(&r, 1024);
		setrlimit(RLIMIT_NOFILE, &before);
		snprintf(want, sizeof(want), "-m %s: ", r.method->name);
		if (e != 0)
			ok(strncmp(receiver_explain(&r, e, text), want, strlen(want)) == 0,
			   "-m %s that cannot be opened is named", r.method->name);
		else
			is(receiver_explain(&r, ECONNRESET, text), "Connection reset by peer",
			   "-m %s that is open: an error does not name it", r.method->name);
		receiver_close(&r);
	}
}

/* What has come is counted, whether the socket has it or a ring. */
static void test_queued(void)
{
	struct receiver r;
	int sock[2];
	ssize_t n;
	size_t i;

	for (i = 0; i < receive_methods_n; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock) != 0)
			abort();
		receiver_init(&r, sock[0], &receive_methods[i], true);
		if (receiver_open(&r, 4) != 0) {
			skip("what has come is counted", r.method->name);
		} else {
			ok(receiver_queued(&r) == 0, "-m %s: nothing has come", r.method->name);
			ok(write(sock[1], "0123456789", 10) == 10 && receiver_wait(&r, 10000) &&
				   receiver_queued(&r) == 10,
			   "-m %s: what has come is counted", r.method->name);
			/* Only TCP discards data for MSG_TRUNC. */
			n = strcmp(r.method->name, "trunc") != 0 ? receiver_receive(&r) : 0;
			ok(receiver_queued(&r) == 10 - (size_t)n,
			   "-m %s: what a call takes is not counted any more", r.method->name);
		}
		receiver_close(&r);
		close(sock[0]);
		close(sock[1]);
	}
}

int main(void)
{
	test_queued();
	test_not_opened();
	return done();
}
