/*
 * tiny: the least that a client can be, as often as wanted: connections to a zcs, each of which
 * sends one file of a few bytes, half-closes, and reads the receipt to its end.
 *
 *	tiny port count seconds at_once
 *
 * spreads `count` connections over `seconds`, ahead of it by a twentieth so that what was late can
 * be made good, and opens none after it.  At most at_once are open, and at_once are at the
 * beginning, all at the same time: what memory zcs has for them it has from then on.  Each second, and at the
 * end, it prints a line of what became of them: those whose receipt said what was sent, their bytes of
 * files, the bytes that their receipts told, the most milliseconds that one took, and those that
 * failed, of whom the first few are named on stderr.  The status is 1 if any did.
 */
#include "common.h"
#include "lib/net/wire.h"
#include "lib/report/figures.h"

#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define SIZES    100  /* a file has 1 to SIZES bytes, in turn */
#define SOURCES  32   /* addresses, 127.0.0.2 and up: each has ports of its own in TIME_WAIT */
#define SPREAD   0.95 /* of the time */
#define STUCK_NS 30000000000u /* that one may take */
#define TELL_NS  1000000000u
#define NAMED    10 /* failures */
#define EVENTS   256

struct client {
	struct client *next; /* of those that are free */
	int fd;              /* -1: free */
	uint32_t size;       /* of its file */
	uint64_t start_ns;
	bool connected, sent;
	size_t have; /* of the receipt */
	char receipt[RECEIPT_MAX];
};

static struct client *clients, *idle;
static long at_once, n_open, n_connected; /* the last since the start */
static bool released;                     /* the first of them, who wait for each other */
static int epoll;
static struct sockaddr_in server = {.sin_family = AF_INET};
static uint64_t count, begun, done, failed, bytes, told, start_ns, longest_ns;

static void tell(void)
{
	report("streams=%llu bytes=%llu told=%llu seconds=%.1f longest=%.1f failed=%llu\n",
	       (unsigned long long)done, (unsigned long long)bytes, (unsigned long long)told,
	       (double)(now_ns() - start_ns) / 1e9, (double)longest_ns / 1e6,
	       (unsigned long long)failed);
}

static void end(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->next = idle;
	idle = c;
	n_open--;
}

static void fail(struct client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct client *c, const char *fmt, ...)
{
	char why[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	if (failed++ < NAMED)
		warnx("%u bytes, after %.1f ms: %s", c->size,
		      (double)(now_ns() - c->start_ns) / 1e6, why);
	end(c);
}

/* A socket that connects to the server from the i-th source; -1 with errno set. */
static int connect_from(uint64_t i)
{
	struct sockaddr_in from = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)(i % SOURCES))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	/* Without this option bind(2) takes a port that no other address could have: ip(7). */
	if (fd >= 0 && setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on)) == 0 &&
	    bind(fd, (struct sockaddr *)&from, sizeof(from)) == 0 &&
	    (connect(fd, (struct sockaddr *)&server, sizeof(server)) == 0 || errno == EINPROGRESS))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void begin(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = idle};
	struct client *c = idle;

	idle = c->next;
	n_open++;
	c->size = 1 + (uint32_t)(begun % SIZES);
	c->start_ns = now_ns();
	c->connected = c->sent = false;
	c->have = 0;
	c->fd = connect_from(begun++);
	if (c->fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev) != 0)
		fail(c, "connect: %s", strerror(errno));
}

/* The whole stream: one loop of one file. */
static void send_stream(struct client *c)
{
	unsigned char buf[3 * WIRE_HEADER + SIZES] = {0};
	ssize_t len = 3 * WIRE_HEADER + (ssize_t)c->size;

	wire_put(buf, 1);
	wire_put(buf + WIRE_HEADER, 1);
	wire_put(buf + 2 * WIRE_HEADER, c->size);
	c->sent = true;
	if (send(c->fd, buf, (size_t)len, 0) != len || shutdown(c->fd, SHUT_WR) != 0)
		fail(c, "send: %s", strerror(errno));
}

static void check_receipt(struct client *c)
{
	uint64_t took = now_ns() - c->start_ns;
	struct figures f;
	const char *wrong = receipt_parse(c->receipt, c->have, &f);

	if (wrong != NULL) {
		fail(c, "the receipt of %zu bytes %s", c->have, wrong);
	} else if (f.refused[0] != '\0') {
		fail(c, "refused: %s", f.refused);
	} else if (f.bytes != c->size || f.files != 1) {
		fail(c, "the receipt tells of %llu bytes, %llu files", (unsigned long long)f.bytes,
		     (unsigned long long)f.files);
	} else {
		done++;
		bytes += c->size;
		told += f.bytes;
		if (took > longest_ns)
			longest_ns = took;
		end(c);
	}
}

static void read_receipt(struct client *c)
{
	ssize_t n;

	while (c->have < sizeof(c->receipt) &&
	       (n = recv(c->fd, c->receipt + c->have, sizeof(c->receipt) - c->have, 0)) != 0) {
		if (n < 0 && errno != EAGAIN)
			fail(c, "receipt: %s", strerror(errno));
		if (n < 0)
			return;
		c->have += (size_t)n;
	}
	check_receipt(c);
}

static void attend(struct client *c)
{
	if (!c->connected)
		n_connected++;
	c->connected = true;
	if (released && !c->sent)
		send_stream(c);
	if (c->fd >= 0)
		read_receipt(c);
}

static uint64_t first_ones(void)
{
	return count < (uint64_t)at_once ? count : (uint64_t)at_once;
}

/* Once the first are all there. */
static void release(void)
{
	long i;

	if (released || (uint64_t)n_connected + failed < first_ones())
		return;
	released = true;
	for (i = 0; i < at_once; i++)
		if (clients[i].fd >= 0 && clients[i].connected)
			send_stream(&clients[i]);
}

static void end_stuck(uint64_t now)
{
	long i;

	for (i = 0; i < at_once; i++)
		if (clients[i].fd >= 0 && now - clients[i].start_ns > STUCK_NS)
			fail(&clients[i], clients[i].sent ? "no receipt" : "no connection");
}

/* Begins those that are due; returns in how many milliseconds the next is, or to look around. */
static int begin_due(double seconds)
{
	double each = SPREAD * seconds * 1e9 / (double)count, now = (double)(now_ns() - start_ns);

	while (begun < count && n_open < at_once &&
	       (begun < first_ones() || (double)begun * each <= now))
		begin();
	if (begun == count || n_open == at_once || (double)begun * each - now > 100e6)
		return 100;
	return 1 + (int)(((double)begun * each - now) / 1e6);
}

static void go(double seconds)
{
	struct epoll_event ev[EVENTS];
	uint64_t now, next, over;
	int wait, n, i;

	start_ns = now = now_ns();
	next = now + TELL_NS;
	over = now + (uint64_t)(seconds * 1e9);
	while (n_open > 0 || (begun < count && now < over)) {
		wait = now < over ? begin_due(seconds) : 100;
		n = epoll_wait(epoll, ev, EVENTS, wait);
		for (i = 0; i < n; i++)
			attend(ev[i].data.ptr);
		release();
		now = now_ns();
		if (now < next)
			continue;
		end_stuck(now);
		tell();
		next += TELL_NS;
	}
	tell();
}

int main(int argc, char **argv)
{
	struct rlimit r;
	long i;

	init_program(NULL);
	if (argc != 5)
		errx(EXIT_USAGE, "usage: tiny port count seconds at_once");
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.sin_port = htons((uint16_t)atoi(argv[1]));
	count = strtoull(argv[2], NULL, 10);
	at_once = atol(argv[4]);
	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
	epoll = epoll_create1(EPOLL_CLOEXEC);
	clients = calloc((size_t)at_once, sizeof(*clients));
	if (epoll < 0 || clients == NULL)
		err(EXIT_FAILURE, "%ld clients", at_once);
	for (i = 0; i < at_once; i++) {
		clients[i].fd = -1;
		clients[i].next = idle;
		idle = &clients[i];
	}
	go(atof(argv[3]));
	return failed > 0;
}
