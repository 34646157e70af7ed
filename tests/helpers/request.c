/*
 * request: both ends of the protocol of 1999, and clients and servers that fail at it, written
 * without zc's own code.
 *
 *	request serve [-2 | -d | -f | -h | -p | -R | -q]
 *		prints `port N`; each client that sends a length gets that many bytes and a close
 *		-2	writes in two pieces after a first byte of greeting, and closes when all
 *			of it has been acknowledged: Nagle's algorithm holds the second piece back
 *			until the client's delayed acknowledgement of the first
 *		-d	sends one of them each 100 ms, until the client has gone
 *		-f	has a short accept queue, and pauses for 200 ms before each answer: while
 *			the queue is full the kernel drops SYNs
 *		-h	sends half of them
 *		-p	pauses before the first byte and as long after it, for each client another
 *			time, and prints `served ACCEPTED FIRST CLOSED`, the moments in ns
 *		-R	resets the connection instead
 *		-q	says nothing and keeps it open
 *	request ask port count bytes
 *		that many connections, one after the other; prints `bytes N`
 *	request hold port count
 *		that many connections that say nothing; prints `held N`, and `closed` when the first
 *		of them ends
 *
 * It ends by itself after a minute.
 */
#include <arpa/inet.h>
#include <err.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int listen_anywhere(int backlog)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0 || listen(fd, backlog) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		err(1, "listen");
	printf("port %d\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

static void send_zeros(int sock, uint32_t n)
{
	static const char zeros[4096];
	ssize_t sent;

	for (; n > 0; n -= (uint32_t)sent) {
		sent = send(sock, zeros, n < sizeof(zeros) ? n : sizeof(zeros), MSG_NOSIGNAL);
		if (sent < 0)
			return;
	}
}

static void send_stalling(int sock, uint32_t n)
{
	int left = 1;

	send_zeros(sock, n / 2);
	send_zeros(sock, n - n / 2);
	while (ioctl(sock, SIOCOUTQ, &left) == 0 && left > 0)
		usleep(500);
}

static void send_slowly(int sock)
{
	while (send(sock, "", 1, MSG_NOSIGNAL) == 1)
		usleep(100000);
}

static unsigned long long moment(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

/* The pauses of 40 clients in a row are 0 to 11.7 ms long, each of them once. */
static void send_pausing(int sock, uint32_t n)
{
	const unsigned long long accepted = moment();
	static unsigned clients;
	const useconds_t pause_us = clients++ * 37 % 40 * 300;
	unsigned long long first;

	usleep(pause_us);
	first = moment();
	send_zeros(sock, 1);
	usleep(pause_us);
	send_zeros(sock, n - 1);
	printf("served %llu %llu %llu\n", accepted, first, moment());
	fflush(stdout);
}

static void reset(int sock)
{
	const struct linger l = {.l_onoff = 1};

	setsockopt(sock, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

static int serve(int mode)
{
	int fd = listen_anywhere(mode == 'f' ? 1 : 512), sock;
	uint32_t n;

	while ((sock = accept(fd, NULL, NULL)) >= 0) {
		if (mode == '2')
			send_zeros(sock, 1);
		if (mode == 'q')
			continue;
		if (recv(sock, &n, sizeof(n), MSG_WAITALL) != sizeof(n)) {
			close(sock);
			continue;
		}
		n = ntohl(n);
		if (mode == 'f')
			usleep(200000);
		if (mode == '2')
			send_stalling(sock, n - 1);
		else if (mode == 'R')
			reset(sock);
		else if (mode == 'd')
			send_slowly(sock);
		else if (mode == 'p')
			send_pausing(sock, n);
		else
			send_zeros(sock, mode == 'h' ? n / 2 : n);
		close(sock);
	}
	return 1;
}

static int connect_port(const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_port = htons((uint16_t)atoi(port));
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		err(1, "connect");
	return fd;
}

static int ask(const char *port, int count, uint32_t bytes)
{
	static char buf[65536];
	long long got = 0;
	ssize_t n;
	int sock;

	bytes = htonl(bytes);
	for (; count > 0; count--) {
		sock = connect_port(port);
		if (send(sock, &bytes, sizeof(bytes), MSG_NOSIGNAL) != sizeof(bytes))
			err(1, "send");
		while ((n = read(sock, buf, sizeof(buf))) > 0)
			got += n;
		close(sock);
	}
	printf("bytes %lld\n", got);
	return 0;
}

static int hold(const char *port, int count)
{
	int first = connect_port(port), i;
	char byte;

	for (i = 1; i < count; i++)
		/* cppcheck-suppress leakReturnValNotUsed ; open until the program ends */
		connect_port(port);
	printf("held %d\n", count);
	fflush(stdout);
	if (read(first, &byte, 1) <= 0)
		printf("closed\n");
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	alarm(60);
	if (argc >= 2 && strcmp(argv[1], "serve") == 0)
		return serve(argc > 2 ? argv[2][1] : 0);
	if (argc == 5 && strcmp(argv[1], "ask") == 0)
		return ask(argv[2], atoi(argv[3]), (uint32_t)strtoul(argv[4], NULL, 10));
	if (argc == 4 && strcmp(argv[1], "hold") == 0)
		return hold(argv[2], atoi(argv[3]));
	errx(2, "usage: request serve | ask | hold");
}
