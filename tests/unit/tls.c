/* Kernel TLS: lib/net/tls, and its hello on the wire. */
#include "lib/net/tls.h"

#include "tests/unit/unit.h"

static void test_errors(void)
{
	is(tls_error(EBADMSG), "sent a TLS record that cannot be decrypted",
	   "a wrong tag is named");
	is(tls_error(EIO), "sent a TLS record that is not data", "so is an alert");
	is(tls_error(EMSGSIZE), "sent what is no TLS record", "and what is no record");
	ok(tls_error(ECONNRESET) == NULL, "a reset is no error of TLS");
	is(tls_explain(tls_ciphers, ENOTCONN),
	   "the other end closed the connection before both were ready",
	   "an end before the hello is told from a kernel that lacks TLS");
}

/* A connection whose first bytes are these. */
static bool is_hello(const char *bytes, size_t n)
{
	int pair[2];
	bool is;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	(void)!write(pair[1], bytes, n);
	shutdown(pair[1], SHUT_WR);
	is = tls_is_hello(pair[0]);
	close(pair[0]);
	close(pair[1]);
	return is;
}

static bool is_tls(const char *bytes, size_t n)
{
	struct wire w = {.state = WIRE_LOOPS};

	wire_feed(&w, bytes, n);
	return wire_is_tls(&w);
}

static void test_hello(void)
{
	ok(is_hello("\x17\3\3\0\x15rest", 9), "a record of a number of loops is a hello");
	ok(!is_hello("\x17\3\3\0\x16", 5) && !is_hello("\x17\3\3", 3) && !is_hello("", 0) &&
		   !is_hello("\0\0\0\1\0", 5),
	   "another record, half a head, nothing and a plain header are none");
	ok(is_tls("\x17\3\3\0\x15\1\2\3", 8),
	   "a server without TLS knows a hello by its first two headers");
	ok(!is_tls("\x17\3\3\0", 4) && !is_tls("\x17\3\3\0\x16\1\2\3", 8) &&
		   !is_tls("\x17\3\3\1\x15\1\2\3", 8) && !is_tls("\xff\xff\xff\xff\x15\1\2\3", 8),
	   "and takes no other headers for one");
}

TESTS(test_errors, test_hello)
