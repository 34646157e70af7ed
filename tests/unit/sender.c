/* The methods of zcc: lib/send/sender.c and uring.c. */
#include "lib/send/sender.h"

#include <pthread.h>
#include <signal.h>

#include "lib/net/socket.h"
#include "lib/report/usage.h"
#include "tests/unit/unit.h"

#define MOST 3000001 /* bytes of the file: several windows of a sender that is one of four */

static unsigned char file[MOST], got[2 * MOST + 1];
static _Atomic int halted;

/* A user who may pin no more. */
static struct {
	int refused;      /* sends to come that the kernel has no memory for */
	int waits, stops; /* how often was waited for some, and at which wait the time is up */
} pins;

static ssize_t try_send(int fd, const void *data, size_t n, int flags)
{
	if ((flags & MSG_ZEROCOPY) == 0 || pins.refused == 0)
		return send(fd, data, n, flags);
	pins.refused--;
	errno = ENOBUFS;
	return -1;
}

static int wait_for(struct pollfd *p, nfds_t n, int ms)
{
	if (++pins.waits == pins.stops)
		halted = TIME_UP;
	return poll(p, n, pins.stops > 0 ? 0 : ms);
}

#define send try_send
#define poll wait_for
#include "lib/send/sender.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static void *receive(void *sock)
{
	static size_t n;
	ssize_t m;

	for (n = 0; (m = read(*(int *)sock, got + n, sizeof(got) - n)) > 0;)
		n += (size_t)m;
	return &n;
}

/* Makes a sender, one of four.  Returns the other end of its connection. */
static int open_pair(struct sender *s, const char *method, uint64_t chunk)
{
	int listener, sock = listen_and_connect(&listener), peer = accept(listener, NULL, NULL);

	close(listener);
	sender_open(s, &send_methods[method_place(method)], sock, chunk, 4, &halted);
	return peer;
}

/* Ends with 0 if the kernel has the method, or with a line that says what it lacks. */
static void try_method(void *method)
{
	const int fd = memfd_create("file", 0);
	struct sender s;

	open_pair(&s, method, 0);
	_exit(ftruncate(fd, 1) == 0 && sender_send(&s, fd, 0, 1) == 1 ? 0 : 1);
}

/* Sends the begin of the file twice. */
static void test_send(const char *method, int fd, uint64_t size, uint64_t chunk, bool in_memory)
{
	struct sender s;
	int peer = open_pair(&s, method, chunk);
	const uint64_t calls = 2 * ((size + s.chunk - 1) / s.chunk);
	int64_t sent[2];
	pthread_t thread;
	void *n;

	if (pthread_create(&thread, NULL, receive, &peer) != 0)
		abort();
	s.data = in_memory ? (char *)file : NULL;
	sent[0] = sender_send(&s, fd, 0, size);
	sent[1] = sender_send(&s, fd, 0, size);
	sender_finish(&s);
	shutdown(s.sock, SHUT_WR);
	pthread_join(thread, &n);
	ok(sent[0] == (int64_t)size && sent[1] == (int64_t)size && s.bytes == 2 * size &&
		   *(size_t *)n == 2 * size && memcmp(got, file, size) == 0 &&
		   memcmp(got + size, file, size) == 0,
	   "-m %s -b %ju%s: %ju bytes arrive", method, (uintmax_t)chunk,
	   in_memory ? " --preload" : "", (uintmax_t)size);
	ok((s.method->has_buffer ? s.calls == calls : s.calls >= calls) &&
		   s.window.size <= (off_t)s.memory,
	   "-m %s -b %ju: %ju bytes take so many calls", method, (uintmax_t)chunk, (uintmax_t)size);
	ok(s.method->is_zerocopy
		   ? s.zerocopy.sends == (double)calls && s.zerocopy.incomplete == 0 &&
			     s.zerocopy.copied == (double)calls
		   : isnan(s.zerocopy.sends),
	   "-m %s -b %ju: zero-copy sends, all completed and copied", method, (uintmax_t)chunk);
	close(peer);
	sender_close(&s);
}

/* With nothing to complete a method waits, and does not spin; after a stop it sends nothing. */
static void test_waits(const char *method, int fd)
{
	struct sender s;
	const size_t mapped = mapped_bytes();
	const int peer = open_pair(&s, method, 0);
	uint64_t from;

	sender_send(&s, fd, 0, 1);
	sender_finish(&s);
	from = now_ns();
	if (s.method->await != NULL)
		s.method->await(&s);
	ok(s.method->await == NULL || now_ns() - from > WAIT_MS * 1000000 / 2,
	   "-m %s waits for completions", method);
	halted = TIME_UP;
	ok(sender_send(&s, fd, 0, 1) == 0 && s.bytes == 1, "-m %s sends nothing after a stop",
	   method);
	halted = 0;
	shutdown(s.sock, SHUT_WR);
	close(peer);
	from = now_ns();
	if (s.method->await != NULL)
		s.method->await(&s);
	ok(s.method->await == NULL || now_ns() - from > 5000000,
	   "-m %s does not spin on a connection that both ends have closed", method);
	sender_close(&s);
	ok(mapped_bytes() == mapped, "-m %s: a sender gives its memory back", method);
}

struct blocked {
	struct sender s;
	int fd;
	uint64_t cpu_ns; /* that sending took */
};

static void *send_blocked(void *arg)
{
	struct blocked *b = arg;
	const uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	sender_send(&b->s, b->fd, 0, MOST);
	b->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	return NULL;
}

/* A peer that reads nothing for 0.2 s: what is waited for takes no CPU time. */
static void test_blocked(const char *method, int fd)
{
	struct blocked b = {.fd = fd};
	const int peer = open_pair(&b.s, method, 0);
	pthread_t thread;

	sock_set(b.s.sock, SOL_SOCKET, SO_SNDBUF, 10000);
	if (pthread_create(&thread, NULL, send_blocked, &b) != 0)
		abort();
	sleep_ns(200000000);
	halted = TIME_UP;
	shutdown(b.s.sock, SHUT_RDWR);
	pthread_join(thread, NULL);
	halted = 0;
	ok(b.cpu_ns < 100000000 && b.s.bytes < MOST,
	   "-m %s just waits while the peer reads nothing", method);
	close(peer);
	sender_close(&b.s);
}

/* A directory cannot be read.  Then a file that is shorter than it was, within its last page or by more. */
static void test_failures(const char *method, int fd)
{
	static const uint64_t beyond[] = {1, 100000};
	const int64_t there = 150001;
	struct sender s;
	const int peer = open_pair(&s, method, 100000), directory = open("/", O_RDONLY);
	int64_t n, sum = 0;
	size_t i;

	ok(sender_send(&s, directory, 0, 1) == -1 && s.bytes == 0,
	   "-m %s: a file that cannot be read is a failure", method);
	close(directory);

	for (i = 0; i < LENGTH(beyond); i++) {
		n = sender_send(&s, fd, MOST - there, (uint64_t)there + beyond[i]);
		sum += n;
		ok(n >= 0 && n < there + (int64_t)beyond[i] && s.bytes == (uint64_t)sum,
		   "-m %s: of a file that lacks its last %ju bytes fewer are sent", method,
		   (uintmax_t)beyond[i]);
	}
	close(peer);
	sender_close(&s);
}

static void test_methods(void)
{
	static const uint64_t cases[][2] = {{1, 0},     {1000, 0},       {65536, 0},
					    {65537, 0}, {1000, 100},     {70000, 7},
					    {MOST, 0},  {MOST, 1000000}, {MOST, 1 << 20}};
	const char *list = "sendfile|send|write|mmap|splice|zerocopy|uring|uring-zc", *method;
	const int fd = memfd_create("file", 0);
	size_t i;

	for (i = 0; i < MOST; i++)
		file[i] = (unsigned char)(i * i / 509);
	if (write(fd, file, MOST) != MOST)
		abort();
	signal(SIGPIPE, SIG_IGN); /* as in the programs */
	while ((method = next_of(&list)) != NULL) {
		if (died(try_method, (void *)method) != 0 && printed[0] != '\0') {
			skip(method, "the kernel lacks it");
			continue;
		}
		for (i = 0; i < LENGTH(cases); i++) {
			test_send(method, fd, cases[i][0], cases[i][1], false);
			if (send_methods[method_place(method)].has_buffer)
				test_send(method, fd, cases[i][0], cases[i][1], true);
		}
		test_waits(method, fd);
		test_blocked(method, fd);
		test_failures(method, fd);
	}
	close(fd);
}

/* The bytes of a call, and how many buffers of that size a sender has. */
static void test_sizes(void)
{
	static const struct {
		const char *method;
		uint64_t chunk;
		int streams;
		size_t want;
		unsigned slots;
	} cases[] = {{"sendfile", 0, 9, 1 << 20, 1},
		     {"send", 0, 9, 65536, 1},
		     {"write", 7, 1, 7, 1},
		     {"mmap", 0, 1, 4 << 20, 1},
		     {"mmap", 0, 3, 21 * 65536, 1},
		     {"mmap", 0, 100, 65536, 1},
		     {"splice", 2 << 20, 1, 1 << 20, 1},
		     {"zerocopy", 0, 1, 65536, 64},
		     {"zerocopy", 0, 2, 65536, 32},
		     {"zerocopy", 1 << 20, 2, 1 << 20, 2},
		     {"zerocopy", 700000, 2, 700000, 2},
		     {"zerocopy", 1, 1, 1, 64}};
	struct sender s;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		sender_open(&s, &send_methods[method_place(cases[i].method)],
			    socket(AF_INET, SOCK_STREAM, 0), cases[i].chunk, cases[i].streams,
			    &halted);
		ok(s.chunk == cases[i].want && s.slots == cases[i].slots,
		   "-m %s -b %ju -P %d: %ju bytes, %u buffers", cases[i].method,
		   (uintmax_t)cases[i].chunk, cases[i].streams, (uintmax_t)s.chunk, s.slots);
		sender_close(&s);
	}
}

static void test_failed(void)
{
	static const struct {
		int error, why;
		bool failed;
	} cases[] = {{EINTR, 0, false},
		     {EPIPE, 0, true},
		     {EPIPE, TIME_UP, false},
		     {EPIPE, 2, false},
		     {EIO, 2, true}};
	struct sender s = {.stop = &halted};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		halted = cases[i].why;
		errno = cases[i].error;
		ok(sender_failed(&s) == cases[i].failed,
		   "%s after a stop by %d is a failure, or is none", strerror(cases[i].error),
		   cases[i].why);
	}
	halted = 0;
}

/* Sends that the kernel lacks memory for wait for those under way, until a stop; without any they fail. */
static void test_pinned(void)
{
	static const struct {
		int refused, incomplete, stops, sent, waits;
	} rows[] = {{3, 1, 99, 1, 3}, {3, 0, 99, -1, 0}, {9, 1, 2, 0, 2}};
	const int fd = memfd_create("file", 0);
	struct sender s;
	size_t i;
	int peer;

	for (i = 0; i < LENGTH(rows) && ftruncate(fd, 1) == 0; i++) {
		peer = open_pair(&s, "zerocopy", 0);
		s.zerocopy.incomplete = rows[i].incomplete;
		pins.refused = rows[i].refused;
		pins.stops = rows[i].stops;
		pins.waits = 0;
		ok(sender_send(&s, fd, 0, 1) == rows[i].sent && pins.waits == rows[i].waits,
		   "-m zerocopy without memory for %d sends, %d under way", rows[i].refused,
		   rows[i].incomplete);
		halted = pins.refused = pins.stops = 0;
		close(peer);
		sender_close(&s);
	}
	close(fd);
}

static int awaited; /* how often a sender waited for completions */

static void await(struct sender *s)
{
	awaited++;
	sleep_ns(1000000);
	s->zerocopy.incomplete -= awaited == 3;
}

/* The wait for the receipt took the time that the sender may wait after a signal. */
static void test_abandoned(void)
{
	static const struct send_method method = {.await = await};
	struct sender s = {.method = &method, .stop = &halted, .zerocopy.incomplete = 1};

	halted = TIME_UP;
	s.interrupt_ns = 1;
	sender_finish(&s);
	ok(awaited == 3 && !sender_is_abandoned(&s),
	   "after -t a sender waits until the kernel owns no buffer");
	halted = 15;
	s.zerocopy.incomplete = 1;
	sender_finish(&s);
	ok(awaited == 3, "a signal has one limit for the receipt and the completions");
	s.interrupt_ns = 0;
	ok(!sender_is_abandoned(&s) && s.interrupt_ns > 0 && !sender_is_abandoned(&s),
	   "a signal gives the end of a stream some time");
}

TESTS(test_methods, test_sizes, test_failed, test_pinned, test_abandoned)
