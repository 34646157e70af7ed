#include "lib/net/pair.h"

#include <sys/socket.h>

#include "tests/unit/unit.h"

static void test_mask(void)
{
	char mask[64];

	pair_mask(0, mask, sizeof(mask));
	is(mask, "1", "the mask of CPU 0");
	pair_mask(31, mask, sizeof(mask));
	is(mask, "80000000", "the mask of CPU 31 is one word");
	pair_mask(33, mask, sizeof(mask));
	is(mask, "2,00000000", "the mask of CPU 33 has a word for each 32 CPUs");
}

/* Whether a datagram arrives by a path. */
static bool arrives(const struct pair *p)
{
	const struct timeval t = {.tv_sec = 20};
	char buf[8];

	setsockopt(p->receive, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	return send(p->send, "zc", 2, 0) == 2 && recv(p->receive, buf, sizeof(buf), 0) == 2;
}

/* Of a process of its own: the namespaces end with it. */
static void open_paths(void *arg)
{
	struct pair pair[2];
	char why[DIE_MAX] = "";

	(void)arg;
	if (!pair_open(0, pair, why)) {
		fprintf(stderr, "%s", why);
		_exit(2);
	}
	_exit(arrives(&pair[0]) && arrives(&pair[1]) ? 0 : 1);
}

static void test_paths(void)
{
	static const char title[] = "datagrams arrive by both paths between two namespaces";
	struct pair p;
	char why[DIE_MAX];
	int status;

	ok(pair_local(&p, "127.0.0.1") == 0 && arrives(&p), "a datagram arrives by loopback");
	status = status_of(open_paths, NULL, why, sizeof(why));
	if (status == 2)
		skip(title, why);
	else
		ok(status == 0, title);
}

int main(void)
{
	test_mask();
	test_paths();
	return done();
}
