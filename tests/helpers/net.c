/*
 * net: the other end of a connection, whole or broken, written without zc's own code, so that what zcc and zcs
 * print is judged by a second reading of the wire.  Servers print `port N`; all are on 127.0.0.1.
 *
 *	net serve [-a] [-w file] [-r text] [-g bytes] [-e] [-x] [-d ms] [-s] [-k] [-l bytes] [-R] [-h]
 *	    [-n connections | -f]
 *		takes one connection, reads it to its end, and prints `segments N`, the data segments that
 *		came in, and `bytes N`
 *		-a	listens on every address, IPv4 and IPv6
 *		-w	stores what came
 *		-r	answers with this text at the end of stream (\n is a newline)
 *		-g	sends that many bytes before it reads
 *		-e	sends back all that it reads
 *		-x	closes its sending side before it reads
 *		-d	reads 500 bytes at most after each such pause, with a small receive buffer
 *		-s	does not read before SIGUSR1; prints `data` when there is something to read
 *		-k	neither answers nor closes before SIGUSR1
 *		-l	closes after that many bytes
 *		-R	resets the connection when it closes
 *		-h	prints the headers of the wire: `loops N`, `files N`, `length N`
 *		-n	takes N connections; all but the last are just read, or echoed, by processes of their own
 *		-f	takes none: as many wait already as may
 *	net reply [-2 | -d | -f | -h | -p | -R | -q]
 *		the protocol of 1999: a client that sends a length gets that many bytes and the end
 *		-2	writes in two pieces after a first byte, and closes when all is acknowledged: Nagle's
 *			algorithm holds the second piece back until the client's delayed acknowledgement
 *		-d	sends a byte each 100 ms, until the client has gone
 *		-f	has a short accept queue, and pauses for 200 ms before each answer: while the queue is
 *			full the kernel drops SYNs
 *		-h	sends half of them
 *		-p	pauses before the first byte and as long after it, for each client another time, and
 *			prints `served ACCEPTED FIRST CLOSED`, the moments in ns
 *		-R	resets the connection instead
 *		-q	sends nothing and keeps it open
 *	net answer say|bytes|linger|noise|endless|slam|talk|chat|leave [-f file] [-n bytes] [-s seed]
 *		reads all of each client, or that many bytes, and answers with the file: at once; in single
 *		bytes; at once, and stays; with random bytes; again and again.  `slam` resets at once, `talk`
 *		answers without end from the start and reads nothing, `chat` reads meanwhile; `leave` closes
 *		the port before it takes a connection, and ends.
 *
 *	net send port [-d ms] [-c | -k | -R] <file
 *		sends standard input, with -d a byte at a time with that pause, closes its sending side and
 *		prints what the server answers
 *		-c	closes at once, as the client of 2001 does
 *		-k	keeps the sending side open
 *		-R	resets the connection
 *	net ask port count bytes
 *		that many requests of 1999, one after the other; prints `bytes N`
 *	net clients port senders count
 *		so many processes send a file of 50 bytes each, that many times
 *
 *	net ATTACK [-a address] [-d ms] [-f file] [-n count] [-s seed] [-u offset] port
 *		attacks from this address, by that many connections (default 100), with the stream that the
 *		file has (default: none, an end without a byte)
 *	random	random bytes, every other time after headers that make sense, ended in every way, with -d ms
 *		between
 *	limits	headers of all combinations of 0, 1, 2 and numbers beyond 31 bits
 *	empty	`count` empty files, then as many loops without a file
 *	drip	the stream a byte at a time, over all connections in turn
 *	deaf	the stream, and no reading; resets after 300 ms, or what -d says
 *	narrow	the stream, and reads what comes, in a receive window as small as can be
 *	sip	the stream, and reads at most 400 bytes each 100 ms, in such a window, 25 times; fails if the
 *		server closes meanwhile
 *	halves	closes one side, the other, and both, after each byte of the stream, and goes on
 *	urgent	each byte of the stream is urgent data
 *	offsets	after each byte of the stream, as after none: the end, then a reset
 *	ask-and-reset	resets after the stream, with -d ms between
 *	flood	connects and resets as fast as it goes
 *	hold	opens all connections, sends each the stream and prints `held N`; then `said TEXT` or `closed`
 *		for each that ends, and ends with the last; with -d each gets a byte more after each such pause,
 *		with -u this byte of the stream is urgent
 *
 *	net socket path		makes a socket in the file system
 *
 * 50 seconds without a word from the other side end it.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 50    /* seconds: less than the --idle-timeout of zcs */
#define MANY     10000 /* connections that are open at a time */

static struct sockaddr_in source = {.sin_family = AF_INET}; /* of attacks */
static struct sockaddr_in server = {.sin_family = AF_INET}; /* of clients and attacks */
static unsigned char stream[1 << 20];
static size_t stream_len;
static int count = 100, pause_ms;
static size_t urgent = SIZE_MAX; /* offset into the stream */
static uint32_t seed = 1;
static volatile sig_atomic_t go;

static void on_usr1(int sig)
{
	(void)sig;
	go = 1;
}

/* xorshift32: Marsaglia, "Xorshift RNGs", 2003 */
static uint32_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

static void random_fill(unsigned char *p, size_t n)
{
	for (; n > 0; n--)
		*p++ = (unsigned char)random_next();
}

static void put32(unsigned char *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}

/* Waits of reads and writes end with EAGAIN, and small pieces are sent at once. */
static void set_up(int sock)
{
	const struct timeval t = {.tv_sec = PATIENCE};
	const int on = 1;

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* `window`: bytes of the receive buffer, 0 for the kernel's. */
static int dial_with(int flags, int window)
{
	const int sock = socket(AF_INET, SOCK_STREAM | flags, 0), on = 1;

	if (sock < 0)
		err(1, "socket");
	set_up(sock);
	if (window > 0)
		setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
	setsockopt(sock, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (source.sin_addr.s_addr != 0 &&
	    bind(sock, (struct sockaddr *)&source, sizeof(source)) != 0)
		err(1, "bind");
	if (connect(sock, (struct sockaddr *)&server, sizeof(server)) != 0 && errno != EINPROGRESS)
		err(1, "connect");
	return sock;
}

static int dial(void)
{
	return dial_with(0, 0);
}

/* On 127.0.0.1, or on every address; *a has what a client of this host connects to. */
static int listen_at(bool everywhere, int backlog, struct sockaddr_in *a)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6};
	struct sockaddr *at = everywhere ? (struct sockaddr *)&any : (struct sockaddr *)a;
	socklen_t len = everywhere ? sizeof(any) : sizeof(*a);
	const int fd = socket(everywhere ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, at, len) != 0 || listen(fd, backlog) != 0 ||
	    getsockname(fd, at, &len) != 0)
		err(1, "listen");
	if (everywhere)
		a->sin_port = any.sin6_port;
	return fd;
}

static void say_port(const struct sockaddr_in *a)
{
	printf("port %d\n", ntohs(a->sin_port));
	fflush(stdout);
}

static int listen_and_say(int backlog)
{
	struct sockaddr_in a;
	const int fd = listen_at(false, backlog, &a);

	say_port(&a);
	return fd;
}

/* All of it, if the other side lets it; returns whether it did. */
static bool put(int sock, const void *data, size_t n, int flags)
{
	const char *p = data;
	ssize_t sent;

	for (; n > 0; n -= (size_t)sent, p += sent)
		if ((sent = send(sock, p, n, flags | MSG_NOSIGNAL)) <= 0)
			return false;
	return true;
}

static void put_zeros(int sock, uint64_t n)
{
	static const char zeros[4096];
	size_t part;

	for (; n > 0; n -= part) {
		part = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);
		if (!put(sock, zeros, part, 0))
			return;
	}
}

static void put_bytes(int sock, const void *data, size_t n, int ms)
{
	const char *p = data;

	for (; n > 0 && put(sock, p, 1, 0); n--, p++)
		usleep((useconds_t)ms * 1000);
}

static void reset(int sock)
{
	const struct linger l = {.l_onoff = 1};

	setsockopt(sock, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(sock);
}

/* The end of what is sent; reads until the other side has closed, too. */
static void finish(int sock)
{
	char buf[4096];
	ssize_t n;

	shutdown(sock, SHUT_WR);
	while ((n = recv(sock, buf, sizeof(buf), 0)) > 0)
		;
	if (n < 0 && errno == EAGAIN)
		errx(1, "the connection was not closed in %d seconds", PATIENCE);
	close(sock);
}

static void until_usr1(void)
{
	while (!go)
		usleep(10000);
}

/*
 * serve
 */

/* A server without room for one more connection: its own wait to be accepted. */
static int serve_nobody(void)
{
	int i;
	/* cppcheck-suppress leakReturnValNotUsed ; open until the program ends */
	const int fd = listen_at(false, 0, &server);

	for (i = 0; i < 4; i++)
		/* cppcheck-suppress leakReturnValNotUsed ; the same */
		dial_with(SOCK_NONBLOCK, 0);
	say_port(&server);
	until_usr1();
	return close(fd);
}

/*
 * Takes `n` connections, returns the last of them.  If `rcvbuf` is not 0, they have a receive buffer of
 * `rcvbuf` bytes from the start: made smaller later, it would drop what is in flight.
 */
static int accept_last(int n, bool everywhere, bool echo, int rcvbuf)
{
	static char buf[1 << 16];
	struct sockaddr_in a;
	const int fd = listen_at(everywhere, 16, &a);
	ssize_t got;
	int sock;

	if (rcvbuf > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	say_port(&a);
	while ((sock = accept(fd, NULL, NULL)) >= 0 && --n > 0) {
		if (fork() == 0) {
			close(fd);
			while ((got = read(sock, buf, sizeof(buf))) > 0)
				if (echo)
					put(sock, buf, (size_t)got, 0);
			_exit(0);
		}
		close(sock);
	}
	close(fd);
	return sock;
}

/* Until SIGUSR1; prints once that there is something to read. */
static void stall(int sock)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};

	if (!go && poll(&p, 1, -1) == 1) {
		printf("data\n");
		fflush(stdout);
	}
	until_usr1();
}

static unsigned segments_in(int sock)
{
	struct tcp_info ti = {0};
	socklen_t len = sizeof(ti);

	getsockopt(sock, IPPROTO_TCP, TCP_INFO, &ti, &len);
	return ti.tcpi_data_segs_in;
}

/* The wire, read the slow way.  Returns how many bytes there are until the next header. */
static uint64_t print_headers(const unsigned char *p, size_t n)
{
	static const char *const name[] = {"loops", "files", "length"};
	static uint64_t files, body, value;
	static int have, expect; /* expect: an index of name[] */
	size_t skip;

	for (; n > 0; p++, n--) {
		if (body > 0) {
			skip = body < n ? (size_t)body : n;
			body -= skip;
			p += skip - 1;
			n -= skip - 1;
			continue;
		}
		value = value << 8 | *p;
		if (++have < 4)
			continue;
		printf("%s %llu\n", name[expect], (unsigned long long)value);
		if (expect == 1)
			files = value;
		else if (expect == 2) {
			body = value;
			files--;
		}
		expect = files > 0 ? 2 : 1;
		have = 0;
		value = 0;
	}
	return body;
}

static void put_escaped(int sock, const char *text)
{
	const char *nl;

	for (; (nl = strstr(text, "\\n")) != NULL; text = nl + 2) {
		put(sock, text, (size_t)(nl - text), 0);
		put(sock, "\n", 1, 0);
	}
	put(sock, text, strlen(text), 0);
}

static int serve(int argc, char **argv)
{
	static unsigned char buf[1 << 16];
	const char *option[128] = {NULL}; /* their arguments, or an empty string */
	FILE *out = NULL;
	uint64_t body = 0; /* bytes to come before the next header */
	long long limit = -1, bytes = 0;
	ssize_t n = 0;
	int c, sock, ms;

	while ((c = getopt(argc, argv, "aw:r:g:exd:skl:Rhn:f")) != -1) {
		if (c == '?')
			return 2;
		option[c] = optarg != NULL ? optarg : "";
	}
	signal(SIGUSR1, on_usr1);
	if (option['f'] != NULL)
		return serve_nobody();
	ms = option['d'] != NULL ? atoi(option['d']) : 0;
	sock = accept_last(option['n'] != NULL ? atoi(option['n']) : 1, option['a'] != NULL,
			   option['e'] != NULL, ms > 0 ? 8192 : 0);
	if (option['w'] != NULL && (out = fopen(option['w'], "w")) == NULL)
		err(1, "%s", option['w']);
	if (option['g'] != NULL)
		put_zeros(sock, strtoull(option['g'], NULL, 10));
	if (option['x'] != NULL)
		shutdown(sock, SHUT_WR);
	if (option['s'] != NULL)
		stall(sock);
	if (option['l'] != NULL)
		limit = atoll(option['l']);
	while (limit < 0 || bytes < limit) {
		usleep((useconds_t)ms * 1000);
		/* What is neither stored nor sent back need not be copied: MSG_TRUNC drops it, see tcp(7). */
		if (body > sizeof(buf) && out == NULL && option['e'] == NULL && ms == 0)
			/* cppcheck-suppress nullPointer ; nothing is stored */
			n = recv(sock, NULL, (size_t)body, MSG_TRUNC);
		else
			n = read(sock, buf, ms > 0 ? 500 : sizeof(buf));
		if (n <= 0)
			break;
		bytes += n;
		if (option['e'] != NULL && !put(sock, buf, (size_t)n, 0))
			break;
		if (out != NULL)
			fwrite(buf, 1, (size_t)n, out);
		if (option['h'] != NULL)
			body = print_headers(buf, (size_t)n);
	}
	if (out != NULL)
		fclose(out);
	printf("segments %u\nbytes %lld\n", segments_in(sock), bytes);
	fflush(stdout);
	if (option['k'] != NULL)
		until_usr1();
	if (option['r'] != NULL)
		put_escaped(sock, option['r']);
	if (option['R'] != NULL)
		reset(sock);
	else
		close(sock);
	return n < 0;
}

/*
 * reply
 */

static unsigned long long moment(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

/* The pauses of 40 clients in a row are 0 to 11.7 ms long, each of them once. */
static void reply_pausing(int sock, uint32_t n)
{
	const unsigned long long accepted = moment();
	static unsigned served;
	const useconds_t pause_us = served++ * 37 % 40 * 300;
	unsigned long long first;

	usleep(pause_us);
	first = moment();
	put_zeros(sock, 1);
	usleep(pause_us);
	put_zeros(sock, n - 1);
	printf("served %llu %llu %llu\n", accepted, first, moment());
	fflush(stdout);
}

/* The first of the n bytes has been sent. */
static void reply_in_two(int sock, uint32_t n)
{
	int left = 1, off = 0;

	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &off, sizeof(off));
	put_zeros(sock, n / 2);
	put_zeros(sock, n - n / 2);
	while (ioctl(sock, SIOCOUTQ, &left) == 0 && left > 0)
		usleep(500);
}

static int reply(int mode)
{
	const int fd = listen_and_say(mode == 'f' ? 1 : 512);
	uint32_t n;
	int sock;

	while ((sock = accept(fd, NULL, NULL)) >= 0) {
		if (mode == 'q')
			continue;
		if (mode == '2')
			put_zeros(sock, 1);
		n = 0;
		if (recv(sock, &n, sizeof(n), MSG_WAITALL) == sizeof(n)) {
			n = ntohl(n);
			if (mode == 'f')
				usleep(200000);
			switch (mode) {
			case '2': reply_in_two(sock, n - 1); break;
			case 'd': put_bytes(sock, stream, sizeof(stream), 100); break;
			case 'p': reply_pausing(sock, n); break;
			case 'R': reset(sock); continue;
			default: put_zeros(sock, mode == 'h' ? n / 2 : n);
			}
		}
		close(sock);
	}
	return 1;
}

/*
 * answer
 */

static size_t request_len; /* bytes to read, 0: all */

static void read_request(int sock)
{
	char buf[1 << 16];
	size_t got = 0, left = sizeof(buf);
	ssize_t n;

	while (request_len == 0 || got < request_len) {
		if (request_len > 0)
			left = request_len - got;
		n = recv(sock, buf, left < sizeof(buf) ? left : sizeof(buf), 0);
		if (n <= 0)
			return;
		got += (size_t)n;
	}
}

/* The answer until the client will have no more of it. */
static void say_without_end(int sock)
{
	while (stream_len > 0 && put(sock, stream, stream_len, 0))
		;
}

static void answer_one(const char *name, int sock)
{
	unsigned char noise[1000];

	set_up(sock);
	if (strcmp(name, "slam") == 0) {
		reset(sock);
		return;
	}
	if (strcmp(name, "talk") == 0 || (strcmp(name, "chat") == 0 && fork() != 0)) {
		say_without_end(sock);
		return;
	}
	read_request(sock);
	if (strcmp(name, "noise") == 0) {
		random_fill(noise, sizeof(noise));
		put(sock, noise, sizeof(noise), 0);
	} else if (strcmp(name, "endless") == 0) {
		say_without_end(sock);
	} else if (strcmp(name, "bytes") == 0) {
		put_bytes(sock, stream, stream_len, 1);
	} else if (strcmp(name, "chat") != 0) {
		put(sock, stream, stream_len, 0);
	}
	while (strcmp(name, "linger") == 0)
		pause();
	close(sock);
}

static int answer(const char *name)
{
	struct pollfd p = {.fd = listen_and_say(64), .events = POLLIN};
	int sock;

	if (strstr(" bytes chat endless leave linger noise say slam talk ", name) == NULL)
		errx(2, "answer %s: no such server", name);
	signal(SIGCHLD, SIG_IGN);
	while (poll(&p, 1, PATIENCE * 1000) > 0 && strcmp(name, "leave") != 0) {
		sock = accept(p.fd, NULL, NULL);
		if (fork() == 0) {
			close(p.fd);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			alarm(PATIENCE);
			answer_one(name, sock);
			_exit(0);
		}
		close(sock);
		random_next();
	}
	return 0;
}

/*
 * The clients.
 */

static int send_stdin(int argc, char **argv)
{
	static char buf[1 << 16];
	const char *how = "";
	ssize_t n;
	int c, sock;

	while ((c = getopt(argc, argv, "d:ckR")) != -1) {
		switch (c) {
		case 'd': pause_ms = atoi(optarg); break;
		case 'c': how = "close"; break;
		case 'k': how = "keep"; break;
		case 'R': how = "reset"; break;
		default: return 2;
		}
	}
	server.sin_port = htons((uint16_t)atoi(argv[optind]));
	sock = dial();
	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0) { /* as it comes: it may pause */
		if (pause_ms > 0)
			put_bytes(sock, buf, (size_t)n, pause_ms);
		else if (!put(sock, buf, (size_t)n, 0))
			break;
	}
	if (strcmp(how, "reset") == 0)
		reset(sock);
	if (strcmp(how, "reset") == 0 || strcmp(how, "close") == 0)
		return 0;
	if (strcmp(how, "keep") != 0)
		shutdown(sock, SHUT_WR);
	while ((n = read(sock, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	return n < 0;
}

static int ask(int n, uint32_t bytes)
{
	static char buf[65536];
	unsigned char length[4];
	long long sum = 0;
	ssize_t got;
	int sock;

	for (put32(length, bytes); n > 0; n--) {
		sock = dial();
		if (!put(sock, length, sizeof(length), 0))
			err(1, "send");
		while ((got = read(sock, buf, sizeof(buf))) > 0)
			sum += got;
		close(sock);
	}
	printf("bytes %lld\n", sum);
	return 0;
}

/* From a source address of its own, each of which has ports of its own in TIME_WAIT. */
static void send_files(int sender, int n)
{
	unsigned char file[3 * 4 + 50] = {0};
	int i;

	for (i = 0; i < 3; i++)
		put32(file + 4 * i, i < 2 ? 1 : 50);
	source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + (uint32_t)sender);
	for (; n > 0; n--) {
		const int sock = dial();

		put(sock, file, sizeof(file), 0);
		finish(sock);
	}
}

static int clients(int senders, int n)
{
	int i, status = 0, worst = 0;

	for (i = 0; i < senders; i++) {
		if (fork() == 0) {
			send_files(i, n);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		worst |= status;
	return worst != 0;
}

/*
 * The attacks.
 */

static int dialled[MANY]; /* the first `count` of them */

static void dial_all(int window)
{
	int i;

	for (i = 0; i < count; i++)
		dialled[i] = dial_with(0, window);
}

static void reset_all(void)
{
	int i;

	for (i = 0; i < count; i++)
		reset(dialled[i]);
}

/* The stream on all connections, in receive windows as small as can be. */
static void play_in_narrow_windows(void)
{
	int i, clamp = 1;

	dial_all(1);
	for (i = 0; i < count; i++) {
		setsockopt(dialled[i], IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp));
		put(dialled[i], stream, stream_len, 0);
	}
}

/* The stream, with an urgent byte at that place. */
static void play(int sock, size_t at)
{
	if (at >= stream_len) {
		put(sock, stream, stream_len, 0);
		return;
	}
	put(sock, stream, at, 0);
	put(sock, stream + at, 1, MSG_OOB);
	put(sock, stream + at + 1, stream_len - at - 1, 0);
}

static void attack_random(void)
{
	unsigned char buf[4096];
	uint32_t how;
	int i, sock;

	for (i = 0; i < count; i++) {
		usleep((useconds_t)pause_ms * 1000);
		how = random_next();
		random_fill(buf, sizeof(buf));
		if (how & 1) {
			put32(buf, how >> 8 & 3);
			put32(buf + 4, how >> 10 & 7);
			put32(buf + 8, how >> 13 & 1023);
		}
		sock = dial();
		put(sock, buf, random_next() % (how & 2 ? 32 : sizeof(buf)), 0);
		switch (how >> 2 & 3) {
		case 0: close(sock); break;
		case 1: reset(sock); break;
		default: finish(sock);
		}
	}
}

static void attack_limits(void)
{
	static const uint32_t value[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
	const unsigned n = sizeof(value) / sizeof(value[0]);
	unsigned char buf[4 * 4 + 100];
	unsigned i, k, rest;
	int sock;

	for (i = seed % 7; i < n * n * n * n; i += 7) { /* all in the course of seven seeds */
		random_fill(buf, sizeof(buf));
		for (k = 0, rest = i; k < 4; k++, rest /= n)
			put32(buf + 4 * k, value[rest % n]);
		sock = dial();
		put(sock, buf, i % 2 ? 16 : sizeof(buf), 0);
		finish(sock);
	}
}

static void attack_empty(void)
{
	unsigned char header[8];
	int loops, sock;

	for (loops = 0; loops < 2; loops++) {
		put32(header, loops ? 0xfffffffe : 1);
		put32(header + 4, 0xffffffff);
		sock = dial();
		put(sock, header, loops ? 4 : 8, 0);
		put_zeros(sock, 4 * (uint64_t)count);
		finish(sock);
	}
}

static void attack_drip(void)
{
	size_t k;
	int i;

	dial_all(0);
	for (k = 0; k < stream_len; k++)
		for (i = 0; i < count; i++)
			put(dialled[i], stream + k, 1, 0);
	for (i = 0; i < count; i++)
		finish(dialled[i]);
}

static void attack_deaf(void)
{
	int i;

	dial_all(1);
	for (i = 0; i < count; i++)
		put(dialled[i], stream, stream_len, 0);
	usleep((useconds_t)(pause_ms > 0 ? pause_ms : 300) *
	       1000); /* for answers that nobody reads */
	reset_all();
}

static void attack_narrow(void)
{
	int i;

	play_in_narrow_windows();
	for (i = 0; i < count; i++)
		finish(dialled[i]);
}

static void attack_sip(void)
{
	char bytes[400];
	int i;

	play_in_narrow_windows();
	for (i = 0; i < 25 * count; i++) {
		if (i % count == 0)
			usleep(100000);
		if (recv(dialled[i % count], bytes, sizeof(bytes), 0) <= 0)
			errx(1, "the server closed connection %d", i % count);
	}
	reset_all();
}

static void attack_halves(void)
{
	static const int how[] = {SHUT_RD, SHUT_WR, SHUT_RDWR};
	size_t at;
	int i, sock;

	for (at = 0; at <= stream_len; at++) {
		for (i = 0; i < 3; i++) {
			sock = dial();
			put(sock, stream, at, 0);
			shutdown(sock, how[i]);
			put(sock, stream + at, stream_len - at, 0);
			finish(sock);
		}
	}
}

static void attack_urgent(void)
{
	size_t at;
	int sock;

	for (at = 0; at <= stream_len; at++) {
		sock = dial();
		if (at < stream_len)
			play(sock, at);
		else
			for (at = 0; at < stream_len; at++)
				put(sock, stream + at, 1, MSG_OOB);
		finish(sock);
	}
}

static void attack_offsets(void)
{
	size_t at;
	int sock;

	for (at = 0; at <= stream_len; at++) {
		sock = dial();
		put(sock, stream, at, 0);
		finish(sock);
		sock = dial();
		put(sock, stream, at, 0);
		reset(sock);
	}
}

static void attack_ask_and_reset(void)
{
	int i, sock;

	for (i = 0; i < count; i++) {
		usleep((useconds_t)pause_ms * 1000);
		sock = dial();
		put(sock, stream, stream_len, 0);
		reset(sock);
	}
}

static void attack_flood(void)
{
	int i;

	for (i = 0; i < count; i++)
		reset(dial_with(SOCK_NONBLOCK, 0));
}

/* Prints what came, a line of text, or that the end did. */
static void print_answer(int sock)
{
	char text[256];
	ssize_t n = recv(sock, text, sizeof(text) - 1, 0);

	if (n > 0) {
		text[n] = '\0';
		text[strcspn(text, "\n")] = '\0';
		printf("said %s\n", text);
	} else {
		printf("closed\n");
	}
	fflush(stdout);
}

static void attack_hold(void)
{
	static struct pollfd p[MANY];
	int left = count, i, ms = pause_ms > 0 ? pause_ms : PATIENCE * 1000;

	for (i = 0; i < count; i++) {
		p[i] = (struct pollfd){.fd = dial(), .events = POLLIN};
		play(p[i].fd, urgent);
	}
	printf("held %d\n", count);
	fflush(stdout);
	while (left > 0) {
		if (poll(p, (nfds_t)count, ms) == 0 && pause_ms == 0)
			errx(1, "held for too long");
		for (i = 0; i < count; i++) {
			if (p[i].fd >= 0 && p[i].revents != 0) {
				print_answer(p[i].fd);
				close(p[i].fd);
				p[i].fd = -1;
				left--;
			} else if (p[i].fd >= 0 && pause_ms > 0) {
				put(p[i].fd, "", 1, 0);
			}
		}
	}
}

static const struct {
	const char *name;
	void (*attack)(void);
} attacks[] = {
	{"random", attack_random},   {"limits", attack_limits},
	{"empty", attack_empty},     {"drip", attack_drip},
	{"deaf", attack_deaf},       {"narrow", attack_narrow},
	{"halves", attack_halves},   {"urgent", attack_urgent},
	{"offsets", attack_offsets}, {"sip", attack_sip},
	{"flood", attack_flood},     {"ask-and-reset", attack_ask_and_reset},
	{"hold", attack_hold},
};

static int make_socket(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)) != 0;
}

static void read_stream(const char *file)
{
	FILE *f = fopen(file, "r");

	if (f == NULL)
		err(1, "%s", file);
	stream_len = fread(stream, 1, sizeof(stream), f);
	fclose(f);
}

static void raise_descriptors(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* The options of attacks and of `answer`. */
static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:d:f:n:s:u:")) != -1) {
		switch (c) {
		case 'a': inet_pton(AF_INET, optarg, &source.sin_addr); break;
		case 'd': pause_ms = atoi(optarg); break;
		case 'f': read_stream(optarg); break;
		case 'n': request_len = (size_t)(count = atoi(optarg)); break;
		case 's': seed = (uint32_t)strtoul(optarg, NULL, 10) * 2654435761u | 1; break;
		case 'u': urgent = (size_t)atoi(optarg); break;
		default: exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "", *port = argc > 2 ? argv[2] : "";
	size_t i;

	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.sin_port = htons((uint16_t)atoi(port));
	if (strcmp(name, "serve") == 0)
		return serve(argc - 1, argv + 1);
	if (strcmp(name, "reply") == 0)
		return reply(port[0] == '-' ? port[1] : 0);
	if (strcmp(name, "answer") == 0 && argc > 2) {
		parse(argc - 2, argv + 2);
		return answer(port);
	}
	if (strcmp(name, "send") == 0)
		return send_stdin(argc - 1, argv + 1);
	if (strcmp(name, "ask") == 0 && argc == 5)
		return ask(atoi(argv[3]), (uint32_t)strtoul(argv[4], NULL, 10));
	if (strcmp(name, "clients") == 0 && argc == 5)
		return clients(atoi(argv[3]), atoi(argv[4]));
	if (strcmp(name, "socket") == 0)
		return make_socket(port);
	for (i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (strcmp(name, attacks[i].name) == 0) {
			parse(argc - 1, argv + 1);
			if (argc - 1 <= optind || (count > MANY && strcmp(name, "empty") != 0))
				errx(2, "%s: [-n COUNT of at most %d] PORT", name, MANY);
			server.sin_port = htons((uint16_t)atoi(argv[1 + optind]));
			raise_descriptors();
			attacks[i].attack();
			return 0;
		}
	}
	errx(2, "no %s", name);
}
