/*
 * peer: the other end of a connection, written without zc's own code, so that what zcc and zcs say
 * and hear is judged by a second reading of the wire.
 *
 *	peer serve [-a] [-w file] [-r text] [-g bytes] [-e] [-x] [-d ms] [-s] [-k] [-l bytes]
 *	    [-R] [-h] [-n connections | -f]
 *		prints `port N`, takes one connection and reads it to its end, then prints
 *		`segments N`, the data segments that came in, and `bytes N`
 *		-a	listens on every address, IPv4 and IPv6, and not on 127.0.0.1 alone
 *		-w	stores what came
 *		-r	answers with this text at the end of stream (\n is a newline)
 *		-g	greets with this many bytes before it reads
 *		-e	sends back all that it reads
 *		-x	closes its sending side before it reads
 *		-d	reads 500 bytes at most after each such pause, with a small receive buffer
 *		-s	does not read before SIGUSR1; prints `data` when there is something to read
 *		-k	neither answers nor closes before SIGUSR1
 *		-l	closes after this many bytes
 *		-R	resets the connection when it closes
 *		-h	prints the headers of the wire instead of storing: `loops N`, `files N`,
 *			`length N`
 *		-n	takes N connections; all but the last are just read, or echoed, each by a process of
 *			its own
 *		-f	takes none: as many wait already as may
 *	peer send port [-d ms] [-c | -k | -R] <file
 *		sends standard input to 127.0.0.1; with -d a byte at a time with that pause
 *		-c	closes at once, as the client of 2001 does; otherwise it closes its sending
 *			side and prints what the server says
 *		-k	keeps the sending side open, prints what the server says
 *		-R	resets the connection
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/net/wire.h"

static volatile sig_atomic_t go;

static void on_usr1(int sig)
{
	(void)sig;
	go = 1;
}

static void reset_on_close(int sock)
{
	const struct linger l = {.l_onoff = 1, .l_linger = 0};

	setsockopt(sock, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

static int listen_anywhere(int backlog, struct sockaddr_in *a)
{
	socklen_t len = sizeof(*a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)a, sizeof(*a)) != 0 || listen(fd, backlog) != 0 ||
	    getsockname(fd, (struct sockaddr *)a, &len) != 0)
		err(1, "listen");
	return fd;
}

/* The same on every address; *a has the port alone. */
static int listen_everywhere(int backlog, struct sockaddr_in *a)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	socklen_t len = sizeof(any);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, len) != 0 || listen(fd, backlog) != 0 ||
	    getsockname(fd, (struct sockaddr *)&any, &len) != 0)
		err(1, "listen");
	a->sin_port = any.sin6_port;
	return fd;
}

static void say_port(const struct sockaddr_in *a)
{
	printf("port %d\n", ntohs(a->sin_port));
	fflush(stdout);
}

/* A server without room for one more connection: its own wait to be accepted. */
static int serve_nobody(void)
{
	struct sockaddr_in a;
	int fd = listen_anywhere(0, &a), i, sock;

	for (i = 0; i < 4; i++) {
		sock = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (sock < 0)
			err(1, "socket");
		if (connect(sock, (struct sockaddr *)&a, sizeof(a)) != 0 && errno != EINPROGRESS)
			err(1, "connect");
	}
	say_port(&a);
	while (!go)
		usleep(10000);
	close(fd);
	return 0;
}

static bool send_all(int sock, const void *data, size_t n)
{
	const char *p = data;
	ssize_t sent;

	for (; n > 0; p += sent, n -= (size_t)sent)
		if ((sent = send(sock, p, n, MSG_NOSIGNAL)) < 0)
			return false;
	return true;
}

/*
 * Takes `n` connections, returns the last of them.  If `rcvbuf` is not 0, they have a receive buffer
 * of `rcvbuf` bytes from the start: made smaller later, it would drop what is in flight.
 */
static int accept_last(int n, bool everywhere, bool echo, int rcvbuf)
{
	static char buf[1 << 16];
	ssize_t got;
	struct sockaddr_in a;
	int fd = everywhere ? listen_everywhere(16, &a) : listen_anywhere(16, &a), sock;

	if (rcvbuf > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	say_port(&a);
	while ((sock = accept(fd, NULL, NULL)) >= 0 && --n > 0) {
		if (fork() == 0) {
			close(fd);
			while ((got = read(sock, buf, sizeof(buf))) > 0)
				if (echo)
					send_all(sock, buf, (size_t)got);
			_exit(0);
		}
		close(sock);
	}
	close(fd);
	return sock;
}

/* Until SIGUSR1; says once when there is something to read. */
static void hold(int sock)
{
	bool said = false;
	char byte;

	while (!go) {
		if (!said && recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1) {
			printf("data\n");
			fflush(stdout);
			said = true;
		}
		usleep(10000);
	}
}

static unsigned segments_in(int sock)
{
	struct tcp_info ti = {0};
	socklen_t len = sizeof(ti);

	getsockopt(sock, IPPROTO_TCP, TCP_INFO, &ti, &len);
	return ti.tcpi_data_segs_in;
}

/* The wire, read the slow way: a header each time the bytes announced before are used up.  Returns how
 * many of them are still to come. */
static uint64_t show_headers(const unsigned char *p, size_t n)
{
	static uint64_t files, body, value;
	static int have, expect; /* expect: 0 loops, 1 files, 2 length */
	static const char *const name[] = {"loops", "files", "length"};
	size_t skip;

	while (n > 0) {
		if (body > 0) {
			skip = body < n ? (size_t)body : n;
			body -= skip;
			p += skip;
			n -= skip;
			continue;
		}
		value = value << 8 | *p++;
		n--;
		if (++have < 4)
			continue;
		printf("%s %llu\n", name[expect], (unsigned long long)value);
		if (expect == 0) {
			expect = 1;
		} else if (expect == 1) {
			files = value;
			expect = files > 0 ? 2 : 1;
		} else {
			body = value;
			expect = --files > 0 ? 2 : 1;
		}
		have = 0;
		value = 0;
	}
	return body;
}

static void send_zeros(int sock, long long n)
{
	static const char zeros[4096];
	size_t part;

	for (; n > 0; n -= (long long)part) {
		part = n < (long long)sizeof(zeros) ? (size_t)n : sizeof(zeros);
		if (!send_all(sock, zeros, part))
			return;
	}
}

static void print_escaped(int sock, const char *text)
{
	const char *nl;

	for (; (nl = strstr(text, "\\n")) != NULL; text = nl + 2) {
		send(sock, text, (size_t)(nl - text), MSG_NOSIGNAL);
		send(sock, "\n", 1, MSG_NOSIGNAL);
	}
	send(sock, text, strlen(text), MSG_NOSIGNAL);
}

static int serve(int argc, char **argv)
{
	static unsigned char buf[1 << 16];
	const char *file = NULL, *receipt = NULL;
	bool stall = false, keep = false, reset = false, headers = false, full = false;
	bool everywhere = false, echo = false, half = false;
	long long limit = -1, bytes = 0, greeting = 0;
	uint64_t body = 0; /* bytes to come before the next header */
	FILE *out = NULL;
	ssize_t n = 0;
	size_t part = sizeof(buf);
	int c, sock, connections = 1, ms = 0;

	while ((c = getopt(argc, argv, "aw:r:g:exd:skl:Rhn:f")) != -1) {
		switch (c) {
		case 'a': everywhere = true; break;
		case 'w': file = optarg; break;
		case 'r': receipt = optarg; break;
		case 'g': greeting = atoll(optarg); break;
		case 'e': echo = true; break;
		case 'x': half = true; break;
		case 'd': ms = atoi(optarg); break;
		case 's': stall = true; break;
		case 'k': keep = true; break;
		case 'l': limit = atoll(optarg); break;
		case 'R': reset = true; break;
		case 'h': headers = true; break;
		case 'n': connections = atoi(optarg); break;
		case 'f': full = true; break;
		default: return 2;
		}
	}
	signal(SIGUSR1, on_usr1);
	if (full)
		return serve_nobody();
	sock = accept_last(connections, everywhere, echo, ms > 0 ? 8192 : 0);
	if (file != NULL && (out = fopen(file, "w")) == NULL)
		err(1, "%s", file);
	send_zeros(sock, greeting);
	if (half)
		shutdown(sock, SHUT_WR);
	if (stall)
		hold(sock);
	while (limit < 0 || bytes < limit) {
		if (ms > 0) {
			usleep((useconds_t)ms * 1000);
			part = 500;
		}
		/* What is neither stored nor sent back need not be copied: MSG_TRUNC drops it, see tcp(7). */
		if (body > sizeof(buf) && out == NULL && !echo && ms == 0)
			/* cppcheck-suppress nullPointer ; nothing is stored */
			n = recv(sock, NULL, (size_t)body, MSG_TRUNC);
		else
			n = read(sock, buf, part);
		if (n <= 0)
			break;
		bytes += n;
		if (echo && !send_all(sock, buf, (size_t)n))
			break;
		if (out != NULL)
			fwrite(buf, 1, (size_t)n, out);
		if (headers)
			body = show_headers(buf, (size_t)n);
	}
	if (out != NULL)
		fclose(out);
	printf("segments %u\nbytes %lld\n", segments_in(sock), bytes);
	fflush(stdout);
	while (keep && !go)
		usleep(10000);
	if (receipt != NULL)
		print_escaped(sock, receipt);
	if (reset)
		reset_on_close(sock);
	close(sock);
	return n < 0;
}

static void send_slowly(int sock, const char *p, size_t n, int ms)
{
	int on = 1;

	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (; n > 0; n--, p++) {
		if (send(sock, p, 1, MSG_NOSIGNAL) != 1)
			return;
		usleep((useconds_t)ms * 1000);
	}
}

static void send_file(int sock, int ms)
{
	static char buf[1 << 16];
	ssize_t n, sent;

	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0) { /* as it comes: it may pause */
		if (ms > 0) {
			send_slowly(sock, buf, (size_t)n, ms);
			continue;
		}
		for (ssize_t done = 0; done < n; done += sent)
			if ((sent = send(sock, buf + done, (size_t)(n - done), MSG_NOSIGNAL)) < 0)
				return;
	}
}

static int client(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	bool at_once = false, keep = false, reset = false;
	char buf[4096];
	int c, sock, ms = 0;
	ssize_t n;

	while ((c = getopt(argc, argv, "d:ckR")) != -1) {
		switch (c) {
		case 'd': ms = atoi(optarg); break;
		case 'c': at_once = true; break;
		case 'k': keep = true; break;
		case 'R': reset = true; break;
		default: return 2;
		}
	}
	a.sin_port = htons((uint16_t)atoi(argv[optind]));
	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a)) != 0)
		err(1, "connect");
	send_file(sock, ms);
	if (reset)
		reset_on_close(sock);
	if (reset || at_once)
		return close(sock) != 0;
	if (!keep)
		shutdown(sock, SHUT_WR);
	while ((n = read(sock, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	return n < 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return serve(argc - 1, argv + 1);
	if (argc > 2 && strcmp(argv[1], "send") == 0)
		return client(argc - 1, argv + 1);
	errx(2, "usage: peer serve | send");
}
