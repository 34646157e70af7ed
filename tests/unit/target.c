#include "lib/send/target.h"

#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "tests/unit/unit.h"

#define SECOND 1000000000ull

/* Whether the limit is reached within `seconds`, if `rate` bytes move in each of them. */
static bool reached(double timeout, unsigned seconds, double rate)
{
	const uint64_t begin = 5 * SECOND;
	struct limit l = {.begin_ns = begin, .window_ns = begin};
	unsigned i;

	for (i = 1; i <= 10 * seconds; i++)
		if (limit_reached(&l, timeout, begin + i * (SECOND / 10), rate * i / 10))
			return true;
	return false;
}

static void test_limit(void)
{
	ok(!reached(0, 1000, 0), "without --timeout there is no limit");
	ok(!reached(1, 1000, 70000), "a server that moves 64 KiB in each --timeout has no limit");
	ok(!reached(1, 10, 100), "a slow server has 10 seconds");
	ok(reached(1, 11, 100), "a slow server has no more than 10 seconds");
	ok(!reached(20, 40, 100), "a slow server has twice --timeout, if that is longer");
	ok(reached(20, 41, 100), "a slow server has no more than twice --timeout");
}

/* One slow --timeout is enough, even if the next is fast. */
static void test_once_slow(void)
{
	struct limit l = {.begin_ns = SECOND, .window_ns = SECOND};

	limit_reached(&l, 1, 2 * SECOND, 65535);
	ok(l.slow, "less than 64 KiB in one --timeout are slow");
	ok(!limit_reached(&l, 1, 3 * SECOND, 1e9), "a server may become slow and fast again");
	ok(limit_reached(&l, 1, 12 * SECOND, 2e9), "a server that was slow once has the limit");
	l = (struct limit){.begin_ns = SECOND, .window_ns = SECOND};
	limit_reached(&l, 1, 2 * SECOND, 65536);
	ok(!l.slow, "64 KiB in one --timeout are not slow");
}

/* Connects to a socket that listens, at a pace.  Returns how much may wait to be sent, or -1. */
static int unsent_limit(uint64_t pace)
{
	static const _Atomic int stop;
	const struct send_options opt = {.pace = pace};
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct target t = {.addr_len = sizeof(a)};
	const int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);
	int fd = -1, limit = -1;

	if (bind(listener, (struct sockaddr *)&a, len) == 0 && listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&a, &len) == 0) {
		memcpy(&t.addr, &a, sizeof(a));
		fd = target_connect(&t, &opt, &stop);
	}
	if (fd >= 0) {
		limit = sock_get(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT);
		close(fd);
	}
	close(listener);
	return limit;
}

static void test_pace(void)
{
	ok(unsent_limit(0) == 0, "without --pace what waits to be sent has no limit of its own");
	ok(unsent_limit(2000000) == 100001, "with --pace what waits to be sent takes 0.05 s");
	ok(unsent_limit(1) == 1, "with any --pace something may wait to be sent");
	ok(unsent_limit(1ull << 50) == INT_MAX, "a --pace may be faster than any link");
}

int main(void)
{
	test_limit();
	test_once_slow();
	test_pace();
	return done();
}
