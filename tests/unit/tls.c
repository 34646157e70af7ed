/* Kernel TLS: lib/net/tls, and its hello on the wire. */
#include "lib/net/tls.h"

#include <ctype.h>
#include <linux/tls.h>
#include <netinet/tcp.h>

#include "lib/net/socket.h"
#include "tests/unit/unit.h"

/* The calls that are made, of which one fails; and what the kernel has counted. */
static struct {
	int call, failing, error;
	const char *counts[4]; /* at each reading; NULL: there is no such file */
	int readings;
} kernel;

static int set_option(int level, int name, const void *value, socklen_t len)
{
	socklen_t i;

	if (kernel.failing == 0)
		printf("%d %d ", level, name);

	for (i = 0; i < len && kernel.failing == 0; i++)
		printf("%02x%s", ((const unsigned char *)value)[i], i + 1 < len ? "" : "\n");
	errno = kernel.error;
	return ++kernel.call == kernel.failing ? -1 : 0;
}

static int get_option(void *value, socklen_t len)
{
	memset(value, 0, len);
	((unsigned char *)value)[len - 2] = 1;
	((unsigned char *)value)[len - 1] = 2;
	return ++kernel.call == kernel.failing ? -1 : 0;
}

static FILE *open_counts(void)
{
	const char *text = kernel.counts[kernel.readings++ / 2]; /* of software and of a device */

	return text != NULL ? fmemopen((void *)text, strlen(text), "r") : NULL;
}

#define setsockopt(fd, level, name, value, len) ((void)(fd), set_option(level, name, value, len))
#define getsockopt(fd, level, name, value, len)                                                    \
	((void)(fd), (void)(name), get_option(value, *(len)))
#define fopen(path, how)  open_counts()
#define sock_set(fd, ...) ((void)(fd), kernel.call++, -kernel.failing)
#include "lib/net/tls.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
#undef setsockopt

/* What the kernel is asked for each cipher, and what is wrong if a call fails. */
static void test_calls(void)
{
	static const int errors[] = {EINVAL, ENOENT, ENOMEM, ENOTCONN};
	bool no_pad[2];
	const char *why;
	size_t i;

	capture(STDOUT_FILENO);
	for (i = 0; i < tls_ciphers_n; i++) {
		tls_start(-1, &tls_ciphers[i], (enum tls_direction)(i % 2), TLS_SENDS);
		printf("%g records\n", tls_records(-1, &tls_ciphers[i], TLS_RECEIVES));
	}
	for (i = 0; i < LENGTH(errors); i++) {
		kernel.call = 0;
		kernel.failing = i < 3 ? 2 + 2 * (int)(i % 2) : 1;
		kernel.error = errors[i];
		why = tls_try(&tls_ciphers[i % 3]);
		printf("%s\n", why != NULL ? why : "it has TLS");
	}
	no_pad[0] = tls_expect_no_pad(-1);
	kernel.failing = kernel.call + 1;
	kernel.error = ENOENT;
	printf("%s\n%g\n", tls_explain(tls_ciphers, EINVAL),
	       tls_records(-1, tls_ciphers, TLS_SENDS));
	kernel.error = kernel.failing = 0;
	no_pad[1] = tls_expect_no_pad(-1);
	expect(captured(), "what the kernel is asked, and what it lacks");
	ok(!no_pad[0] && no_pad[1], "Linux 6.0 decrypts in place, others do not");
}

/* What encrypts is what counted meanwhile. */
static void test_places(void)
{
	static const char *const counts[] = {
		"TlsTxSw \t1\nTlsTxDevice \t5\n", "TlsTxSwX 3\nTlsTxSw \t2\nTlsTxDevice \t5\n",
		"TlsTxSw \t1\nTlsTxDevice \t6\n", "TlsTxSw \t2\nTlsTxDevice \t6\n", NULL};
	const char *places = "|software|device||", *place = "", *want;
	size_t i;

	for (i = 0; i < LENGTH(counts); i++) {
		kernel.readings = 0;
		kernel.counts[0] = i < 4 ? counts[0] : NULL;
		kernel.counts[1] = kernel.counts[2] = counts[i];
		capture(STDOUT_FILENO);
		tls_start_where(-1, tls_ciphers, TLS_TO_SERVER, TLS_SENDS, &place);
		captured();
		want = next_of(&places);
		is(place, want != NULL ? want : "?", "what encrypts, by the counts %s", counts[i]);
	}
	kernel.readings = 0;
	kernel.counts[0] = "TlsDecryptErrors 8\nTlsDecryptError \t7\n";
	ok(tls_decrypt_errors() == 7, "records that could not be decrypted are counted");
	kernel.readings = 2;
	kernel.counts[1] = NULL;
	ok(isnan(tls_decrypt_errors()), "a kernel without counts has none");
}

static void test_errors(void)
{
	static const struct {
		int error;
		const char *want;
	} rows[] = {{EBADMSG, "sent a TLS record that cannot be decrypted"},
		    {EIO, "sent a TLS record that is not data"},
		    {EMSGSIZE, "sent what is no TLS record"},
		    {EINVAL, "sent what is no TLS record"}};
	const char *why;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		why = tls_error(rows[i].error);
		is(why != NULL ? why : "none", rows[i].want,
		   "a record that cannot be read is named");
	}
	ok(tls_error(ECONNRESET) == NULL, "a reset is no error of TLS");
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

TESTS(test_calls, test_places, test_errors, test_hello)
