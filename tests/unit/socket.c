#include "lib/net/socket.h"

#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/tcp.h>

#include "tests/unit/unit.h"

/* An address with port 80; that of no family if the text is none. */
static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage a = {.ss_family = AF_UNSPEC};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(80)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		memcpy(&a, &in, sizeof(in));
	else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
		memcpy(&a, &in6, sizeof(in6));
	return a;
}

static void test_addresses(void)
{
	static const char *const cases[][3] = {
		{"192.0.2.1", "192.0.2.1:80", "an IPv4 address has its port behind a colon"},
		{"2001:db8::1", "[2001:db8::1]:80", "an IPv6 address is in brackets"},
		{"::ffff:192.0.2.7", "192.0.2.7:80", "a mapped IPv4 address is printed as IPv4"},
		{"none", "unknown address", "an address of no family is unknown"},
	};
	char name[IF_NAMESIZE] = "";
	const int files = open_files();
	struct sockaddr_storage a;
	size_t i;
	int fd;

	for (i = 0; i < LENGTH(cases); i++) {
		a = address(cases[i][0]);
		is(addr_format((struct sockaddr *)&a, sizeof(a)), cases[i][1], "%s", cases[i][2]);
	}
	a = address("127.0.0.1");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	sock_interface(fd, (struct sockaddr *)&a, name);
	close(fd);
	is(name, "lo", "packets for 127.0.0.1 are routed via lo");
	ok(open_files() == files, "the lookup of an interface leaves no descriptor open");
}

static void test_keep_alive(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	sock_keep_alive(fd);
	ok(sock_get(fd, SOL_SOCKET, SO_KEEPALIVE) == 1 &&
		   sock_get(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
				   sock_get(fd, IPPROTO_TCP, TCP_KEEPINTVL) *
					   sock_get(fd, IPPROTO_TCP, TCP_KEEPCNT) ==
			   120,
	   "a peer that is unreachable for two minutes is given up");
	close(fd);
}

static void test_timeout(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0), names[] = {SO_RCVTIMEO, SO_SNDTIMEO};
	struct timeval t;
	socklen_t len = sizeof(t);
	size_t i;

	sock_set_timeout(fd, 1.25);
	for (i = 0; i < 2; i++)
		ok(getsockopt(fd, SOL_SOCKET, names[i], &t, &len) == 0 && t.tv_sec == 1 &&
			   t.tv_usec >= 250000 && t.tv_usec < 260000,
		   "a time-out of 1.25 s is that long, whatever the kernel's tick: %d", names[i]);
	close(fd);
}

TESTS(test_addresses, test_keep_alive, test_timeout)
