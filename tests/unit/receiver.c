/* The methods of zcs: lib/receive/receiver.c, on connections of loopback. */
#include "lib/receive/receiver.h"

#include <linux/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "lib/net/socket.h"
#include "lib/net/uring.h"
#include "tests/unit/unit.h"

static socklen_t
	known; /* bytes of a request that the kernel knows; 16: one before Linux 5.6, which takes no more */
static bool ring_fails; /* it has no memory for a request */

static int option_get(int sock, int level, int name, void *value, socklen_t *len)
{
	if (known == 16 && *len > known) {
		errno = EINVAL;
		return -1;
	}
	*len = known > 0 && *len > known ? known : *len;
	return getsockopt(sock, level, name, value, len);
}

#define getsockopt(...)  option_get(__VA_ARGS__)
#define uring_enter(...) (ring_fails ? (errno = EIO, -1) : uring_enter(__VA_ARGS__))
#include "lib/receive/receiver.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static unsigned char wire[1 << 20];
static size_t wire_len;
static bool is_whole;       /* its end is known before that of the stream */
static pthread_t receiving; /* the thread that receives */

/* Makes the wire: headers, and as +N bytes of files. */
static void wire_make(const char *words)
{
	char text[128], *rest = strcpy(text, words), *word;
	uint32_t value;

	for (wire_len = 0; (word = strsep(&rest, " ")) != NULL;) {
		value = (uint32_t)strtoul(word, NULL, 10);
		if (*word != '+')
			wire_put(wire + wire_len, value);
		wire_len += *word == '+' ? value : WIRE_HEADER;
	}
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Sends the wire in pieces, the second with an urgent byte; its last byte comes late, and a signal before it. */
static void *send_wire(void *arg)
{
	const int sock = *(int *)arg;
	size_t at, n, piece = 999;

	for (at = 0; at < wire_len; at += n, piece = piece * 31 % 131071) {
		if (at + 1 == wire_len) {
			sleep_ns(1000000);
			pthread_kill(receiving, SIGUSR1);
			sleep_ns(1000000);
		}
		n = at + 1 == wire_len || at + piece < wire_len ? piece : wire_len - 1 - at;
		n = at + 1 == wire_len ? 1 : n;
		if (send(sock, wire + at, n, at == 999 ? MSG_OOB : 0) != (ssize_t)n)
			abort();
	}
	if (!is_whole)
		shutdown(sock, SHUT_WR);
	return NULL;
}

/* Opens a receiver; returns the other end of its connection. */
static int open_pair(struct receiver *r, const struct receive_method *method, size_t size, bool raw)
{
	int listener, sock = listen_and_connect(&listener), peer = accept(listener, NULL, NULL);
	const char *why;

	close(listener);
	sock_set(sock, SOL_SOCKET, SO_OOBINLINE, 1);
	receiver_init(r, sock, method, raw);
	why = receiver_open(r, size);
	is(why != NULL ? why : "", "", "-m %s -b %zu opens", method->name, size);
	return peer;
}

static void close_pair(struct receiver *r, int peer)
{
	receiver_close(r);
	close(r->sock);
	close(peer);
}

static void test_streams(const struct receive_method *method, size_t size)
{
	static const struct {
		const char *words, *where; /* it ends; NULL: it is whole */
		uint64_t files, bytes;
		bool raw, excess;
	} stream[] = {
		{"2 2 5 +5 0 1 12 +12", NULL, 3, 17, false, false},
		{"1 3 1 +1 300000 +300000 65536 +65536", NULL, 3, 365537, false, false},
		{"2 1 65535 +65535 1 262145 +262145", NULL, 2, 327680, false, false},
		{"4294967295 1 13 +13 1 100 +3", NULL, 1, 16, false, false},
		{"1 1 13 +18", NULL, 1, 13, false, true},
		{"1 1 1000 +3", "in the middle of a file", 0, 3, false, false},
		{"1 2 13 +15", "in the middle of a header", 1, 13, false, false},
		{"+100", NULL, 0, 100, true, false},
	};
	struct receiver r;
	pthread_t thread;
	const char *where;
	size_t i, most;
	ssize_t n;
	int peer;

	for (i = 0; i < LENGTH(stream); i++) {
		peer = open_pair(&r, method, size, stream[i].raw);
		wire_make(stream[i].words);
		is_whole = stream[i].where == NULL && stream[i].words[1] == ' ';
		if (pthread_create(&thread, NULL, send_wire, &peer) != 0)
			abort();
		most = 0;
		while ((n = receiver_receive(&r)) > 0 && r.wire.state != WIRE_DONE)
			most = (size_t)n > most ? (size_t)n : most;
		pthread_join(thread, NULL);
		shutdown(peer, SHUT_WR);
		where = NULL;
		wire_ended(&r.wire, &where);
		ok(r.wire.bytes == stream[i].bytes && r.wire.files == stream[i].files &&
			   (n > 0) == (r.wire.state == WIRE_DONE) &&
			   (method->maps ? r.mapped <= (double)wire_len : isnan(r.mapped)) &&
			   strcmp(where != NULL ? where : "",
				  stream[i].where != NULL ? stream[i].where : "") == 0,
		   "-m %s -b %zu: %ju bytes of %s are received, %s", method->name, size,
		   (uintmax_t)r.wire.bytes, stream[i].words, where != NULL ? where : "whole");
		ok(most <= r.size * (method->step == uring_receive ? BUFFERS : 1) +
				   (method->maps ? 2 * (size_t)getpagesize() : 0),
		   "-m %s -b %zu: a call took %zu bytes", method->name, size, most);
		ok(r.excess ? stream[i].excess && !method->reads_bodies_alone
			    : !stream[i].excess || method->reads_bodies_alone || size > 0,
		   "-m %s -b %zu: who sends more than announced is noticed", method->name, size);
		ok(stream[i].excess || receiver_receive(&r) == 0,
		   "-m %s: the end of the stream is one", method->name);
		close_pair(&r, peer);
	}
}

/* A reset, and a receiver that is closed while its request is active. */
static void test_ends(const struct receive_method *method)
{
	const struct linger at_once = {.l_onoff = 1};
	struct receiver r;
	int peer = open_pair(&r, method, 0, true);
	const int files = open_files();
	size_t mapped;
	ssize_t n;

	receiver_close(&r);
	mapped = mapped_bytes();
	receiver_open(&r, 0);
	ok(open_files() == files, "-m %s opens again what it has closed", method->name);
	receiver_close(&r);
	ok(mapped_bytes() == mapped, "-m %s gives back the memory that it has", method->name);
	receiver_open(&r, 0);
	if (write(peer, "abc", 3) != 3)
		abort();
	ok(receiver_receive(&r) == 3, "-m %s takes what has come", method->name);
	ok(method->step != uring_receive || ((struct uring_receiver *)r.state)->armed,
	   "-m uring: a request receives again and again");
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	if (write(peer, "abc", 3) != 3)
		abort();
	close(peer);
	while ((n = receiver_receive(&r)) > 0)
		;
	ok(n == -1 && errno == ECONNRESET, "-m %s: a reset is an error: %zd", method->name, n);
	receiver_close(&r);
	close(r.sock);
	peer = open_pair(&r, method, 0, true);
	if (write(peer, "abc", 3) != 3 || shutdown(peer, SHUT_WR) != 0)
		abort();
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(peer);
	while ((n = receiver_receive(&r)) > 0)
		;
	ok(n == 0, "-m %s: a reset behind the end of a stream is no error: %zd", method->name, n);
	receiver_close(&r);
	close(r.sock);
}

/* Without memory, and with as many descriptors as are left. */
static void test_failures(const struct receive_method *method)
{
	struct rlimit were, few;
	const int files = open_files(), next = dup(STDIN_FILENO);
	struct receiver r;
	int left;

	close(next);
	receiver_init(&r, -1, method, true);
	if (method->maps || method->step == uring_receive) {
		ok(receiver_open(&r, SIZE_MAX / 2) != NULL, "-m %s lacks memory", method->name);
		receiver_close(&r);
	}
	getrlimit(RLIMIT_NOFILE, &were);
	for (left = 0; left < 3 && method->open != NULL && !method->maps; left++) {
		few = were;
		few.rlim_cur = (rlim_t)next + (rlim_t)left;
		setrlimit(RLIMIT_NOFILE, &few);
		ok(receiver_open(&r, 0) != NULL || (left > 0 && method->step == uring_receive),
		   "-m %s: %d descriptors are too few", method->name, left);
		receiver_close(&r);
		setrlimit(RLIMIT_NOFILE, &were);
	}
	ok(open_files() == files, "-m %s: what cannot be opened leaves nothing", method->name);
}

/* Pages that were sent without a copy can be mapped, also behind bytes that cannot. */
static void test_mapped(const struct receive_method *method)
{
	static _Alignas(65536) char pages[1 << 18];
	struct receiver r;
	int peer = open_pair(&r, method, 0, true), i;

	sock_set(peer, SOL_SOCKET, SO_ZEROCOPY, 1);
	for (i = 0; i < 3; i++) {
		if (send(peer, pages, sizeof(pages), MSG_ZEROCOPY) != sizeof(pages) ||
		    send(peer, pages, 100, 0) != 100)
			abort();
		while (r.wire.bytes < (uint64_t)(i + 1) * (sizeof(pages) + 100))
			receiver_receive(&r);
	}
	ok(r.mapped > 2 * sizeof(pages) && r.mapped <= 3 * sizeof(pages),
	   "-m zerocopy maps pages: %.0f bytes", r.mapped);
	close_pair(&r, peer);
}

static void try_method(void *method)
{
	receiver_try_or_die(method);
	exit(0);
}

static bool has_ring(void)
{
	struct uring u;
	const bool has = uring_open(&u, 1, true) == 0;

	uring_close(&u);
	return has;
}

static void test_methods(void)
{
	const struct sigaction interrupts = {.sa_handler = on_signal};
	const struct receive_method *m;
	struct receiver r;
	int peer;

	alarm(60); /* a receiver that waits in vain ends the test */
	receiving = pthread_self();
	sigaction(SIGUSR1, &interrupts, NULL);
	for (m = receive_methods; m < receive_methods + receive_methods_n; m++) {
		if (m->step == uring_receive && !has_ring()) {
			skip(m->name, "the kernel lacks it");
			continue;
		}
		ok(died(try_method, (void *)m) == 0, "-m %s can be used", m->name);
		test_streams(m, 0);
		test_streams(m, 61);
		test_streams(m, 4097);
		test_ends(m);
		test_failures(m);
		if (m->maps)
			test_mapped(m);
		for (known = 16; m->maps && known <= 24; known += 8) /* 24: as Linux 5.10 */
			test_streams(m, 0);
		known = 0;
		if (m->step != uring_receive)
			continue;
		peer = open_pair(&r, m, 0, true);
		ring_fails = true;
		ok(receiver_receive(&r) == -1 && errno == EIO, "-m uring: a call fails");
		ring_fails = false;
		close_pair(&r, peer);
	}
}

TESTS(test_methods)
