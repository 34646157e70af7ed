#include "lib/net/socket.h"

#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>

#include "tests/unit/unit.h"

static char asked[8192]; /* the last question to the kernel for a route */

static ssize_t ask(int fd, const void *message, size_t len, int flags)
{
	memcpy(asked, message, len);
	return send(fd, message, len, flags);
}

/* What the kernel says of a connection by Multipath TCP: so many words, of which the first has the flags. */
static struct {
	socklen_t words;
	uint32_t flags;
} mptcp;

static int get_option(int fd, int level, int name, void *value, socklen_t *len)
{
	uint64_t *word = value;
	socklen_t i;

	if (level != 284 || *len < 10 * sizeof(*word))
		return getsockopt(fd, level, name, value, len);
	for (i = 0; i < mptcp.words && i < *len / sizeof(*word); i++)
		word[i] = 100 + i;
	memcpy((char *)value + 8, &mptcp.flags, sizeof(mptcp.flags));
	*len = i * (socklen_t)sizeof(*word);
	return i > 0 ? 0 : -1;
}

#define send       ask
#define getsockopt get_option
#include "lib/net/socket.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
#undef getsockopt

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

/* The attribute of the last question, of so many bytes; NULL: it has none. */
static const void *attribute(int type, size_t len)
{
	struct route_message *m = (struct route_message *)asked;
	const struct rtattr *a = (const struct rtattr *)(const void *)m->rest;
	int left = (int)RTM_PAYLOAD(&m->nh);

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == type)
			return RTA_PAYLOAD(a) == len ? RTA_DATA(a) : NULL;
	return NULL;
}

static bool has_attribute(int type, const void *value, size_t len)
{
	const void *data = attribute(type, len);

	return data != NULL && memcmp(data, value, len) == 0;
}

/* Sockets to the loopback address: bound to it, and to the interface; and neither. */
static void test_routes(void)
{
	static const char *const address_of[] = {"127.0.0.1", "::1"};
	const struct rtmsg *rt = &((struct route_message *)asked)->rt;
	const unsigned lo = if_nametoindex("lo");
	struct sockaddr_storage peer, own;
	socklen_t size;
	const void *host;
	size_t len;
	char name[IF_NAMESIZE];
	int fd, k, mark = 7;

	for (k = 0; k < 2; k++) {
		peer = own = address(address_of[k]);
		size = sizeof(own);
		host = k == 0 ? (const void *)&((struct sockaddr_in *)&peer)->sin_addr
			      : &((struct sockaddr_in6 *)&peer)->sin6_addr;
		len = k == 0 ? 4 : 16;
		((struct sockaddr_in *)&own)->sin_port = 0;
		fd = socket(peer.ss_family, SOCK_STREAM, 0);
		if (bind(fd, (struct sockaddr *)&own, size) != 0) {
			close(fd);
			continue; /* there is no IPv6 */
		}
		getsockname(fd, (struct sockaddr *)&own, &size);
		sock_set_options_or_die(fd, &(struct sock_options){.dscp = 10});
		if (sock_set(fd, SOL_SOCKET, SO_MARK, mark) != 0)
			mark = 0; /* no privilege */
		sock_interface(fd, (struct sockaddr *)&peer, name);
		is(name, "lo", "the route to %s has its interface", address_of[k]);
		ok(rt->rtm_family == peer.ss_family && rt->rtm_dst_len == 8 * len &&
			   rt->rtm_src_len == 8 * len && rt->rtm_tos == 40,
		   "the question has its family, lengths and class: %s", address_of[k]);
		ok(has_attribute(RTA_DST, host, len) && has_attribute(RTA_SRC, host, len),
		   "the question has both addresses: %s", address_of[k]);
		ok(has_attribute(ROUTE_PROTOCOL, "\6", 1) &&
			   has_attribute(ROUTE_DPORT, &((struct sockaddr_in *)&peer)->sin_port,
					 2) &&
			   has_attribute(ROUTE_SPORT, &((struct sockaddr_in *)&own)->sin_port, 2),
		   "the question has TCP, with both ports: %s", address_of[k]);
		ok((mark == 0 || has_attribute(RTA_MARK, &mark, sizeof(mark))) &&
			   attribute(RTA_OIF, sizeof(lo)) == NULL,
		   "the question has the mark, and no interface: %s", address_of[k]);
		sock_set_options_or_die(fd, &(struct sock_options){.device = "lo"});
		sock_interface(fd, (struct sockaddr *)&peer, name);
		ok(has_attribute(RTA_OIF, &lo, sizeof(lo)),
		   "the question has the interface that was set: %s", address_of[k]);
		close(fd);
		fd = socket(peer.ss_family, SOCK_STREAM, 0);
		sock_interface(fd, (struct sockaddr *)&peer, name);
		ok(has_attribute(RTA_SRC, host, len) && attribute(ROUTE_SPORT, 2) == NULL &&
			   attribute(RTA_MARK, sizeof(mark)) == NULL,
		   "without an address the kernel's choice is asked for: %s", address_of[k]);
		close(fd);
	}
}

static void test_mptcp(void)
{
	static const struct {
		socklen_t words;
		uint32_t flags;
		bool is;
		double acked;
	} rows[] = {{9, 0, true, NAN}, {10, 0, true, 109}, {10, 1, false, 0}, {0, 0, false, 0}};
	double acked, received;
	uint64_t moved;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		mptcp.words = rows[i].words;
		mptcp.flags = rows[i].flags;
		acked = received = 1;
		moved = 0;
		ok(sock_is_mptcp(-1, NULL, NULL, NULL) == rows[i].is &&
			   sock_is_mptcp(-1, &acked, &received, &moved) == rows[i].is &&
			   moved == (rows[i].is ? 207 : 0),
		   "Multipath TCP by %u words and flags %u", rows[i].words, rows[i].flags);
		ok(!rows[i].is || (isnan(rows[i].acked) ? isnan(acked) && isnan(received)
							: acked == 109 && received == 108),
		   "bytes are counted since Linux 6.5: %u words", rows[i].words);
	}
}

/* The interface of a link-local address is in it. */
static void test_zone(void)
{
	struct sockaddr_in6 peer = {.sin6_family = AF_INET6, .sin6_scope_id = if_nametoindex("lo")};
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	char name[IF_NAMESIZE];

	inet_pton(AF_INET6, "fe80::1", &peer.sin6_addr);
	sock_interface(fd, (struct sockaddr *)&peer, name);
	ok(has_attribute(RTA_OIF, &peer.sin6_scope_id, 4) && strcmp(name, "lo") == 0 &&
		   !addr_lacks_zone((struct sockaddr *)&peer),
	   "the question has the interface of a link-local address");
	peer.sin6_scope_id = 0;
	ok(addr_lacks_zone((struct sockaddr *)&peer), "which it needs");
	close(fd);
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

static void test_options(void)
{
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	char name[16];

	capture(STDERR_FILENO);
	sock_set_options_or_die(
		fd, &(struct sock_options){
			    .rcvbuf = 8192, .sndbuf = 16384, .dscp = 46, .congestion = "reno"});
	sock_congestion(fd, name);
	is(captured(), "", "buffers that the kernel gives are no news");
	ok(sock_get(fd, SOL_SOCKET, SO_RCVBUF) == 2 * 8192 &&
		   sock_get(fd, SOL_SOCKET, SO_SNDBUF) == 2 * 16384 &&
		   sock_get(fd, IPPROTO_IP, IP_TOS) == 184 && strcmp(name, "reno") == 0,
	   "a socket has the buffers, the class and the congestion control of its options");
	close(fd);
	sock_congestion(fd, name);
	is(name, "unknown", "the congestion control of no socket is unknown");
}

static void test_reset(void)
{
	int listener, sock, peer, i;
	char c;

	for (i = 0; i < 2; i++) {
		sock = listen_and_connect(&listener);
		peer = accept(listener, NULL, NULL);
		sock_reset_at_close(sock, true);
		sock_reset_at_close(sock, i == 0);
		close(sock);
		ok(read(peer, &c, 1) == (i == 0 ? -1 : 0) && (i == 1 || errno == ECONNRESET),
		   "a connection ends by a reset if that was asked for last: %d", i);
		close(peer);
		close(listener);
	}
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

TESTS(test_addresses, test_routes, test_mptcp, test_zone, test_keep_alive, test_options, test_reset,
      test_timeout)
