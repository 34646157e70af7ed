/*
 * hostile: clients and servers that are broken or mean harm, written without zc's own code.
 *
 *	hostile NAME [-a address] [-d ms] [-f file] [-n count] [-s seed] port
 *		attacks the server on 127.0.0.1, and ends by itself
 *		-a	comes from this address
 *		-d	of `random` and `ask`: the pause between two connections, in ms
 *		-f	the stream that is played (default: none, an end without a byte)
 *		-n	how many connections (default 100); of `empty`, how many files
 *		-s	seed of the random numbers
 *	random	random bytes, every other time after headers that make sense, ended in every way
 *	limits	headers of all combinations of 0, 1, 2 and numbers beyond 31 bits
 *	empty	that many empty files, then as many loops without a file
 *	drip	the stream a byte at a time, over all connections in turn
 *	deaf	the stream, and no reading; resets after 300 ms, or what -d says
 *	narrow	the stream, and reads what comes, in a receive window as small as can be
 *	sip	the stream, and reads at most 400 bytes each 100 ms, in such a window, 25 times;
 *		fails if the server closes meanwhile
 *	halves	closes one side, the other, and both, after each byte of the stream, and goes on
 *	urgent	each byte of the stream is urgent data
 *	offsets	after each byte of the stream, as after none: the end, then a reset
 *	ask	resets after the stream
 *	flood	connects and resets as fast as it goes
 *	hold [-d ms] [-u offset]
 *		opens all connections, sends each the stream and prints `held N`; then `said TEXT`
 *		or `closed` for each that ends, and ends with the last
 *		-d	sends each a byte more after each such pause
 *		-u	this byte of the stream is urgent (the first has the number 0)
 *
 *	hostile serve NAME [-f file] [-n bytes] [-s seed]
 *		prints `port N`; of its clients it reads all, or that many bytes, and then, the file
 *		being its answer,
 *	say	answers and closes
 *	bytes	answers in single bytes, and closes
 *	linger	answers, reads no more and stays, whatever the client does
 *	noise	answers random bytes, and closes
 *	endless	answers again and again, until the client has gone
 *	slam	resets at once
 *	talk	sends its answer again and again from the start and reads nothing
 *	chat	the same, but it reads
 *	leave	closes the port before it takes the connection, and ends
 *
 *	hostile socket path
 *		makes a socket in the file system
 *
 * 50 seconds without a word from the other side end any of them.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE 50    /* seconds: less than the --idle-timeout of zcs */
#define MANY     10000 /* connections that are open at a time */

static struct sockaddr_in source = {.sin_family = AF_INET};
static struct sockaddr_in server = {.sin_family = AF_INET};
static unsigned char stream[1 << 20];
static size_t stream_len;
static int count = 100, pause_ms;
static size_t urgent = SIZE_MAX; /* offset into the stream */
static uint32_t seed = 1;

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

/* What is read or sent after that fails with EAGAIN. */
static void be_patient(int sock)
{
	const struct timeval t = {.tv_sec = PATIENCE};

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

/* `window`: bytes of the receive buffer, 0 for the kernel's. */
static int new_socket(int flags, int window)
{
	int sock = socket(AF_INET, SOCK_STREAM | flags, 0), on = 1;

	if (sock < 0)
		err(1, "socket");
	be_patient(sock);
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (window > 0)
		setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
	setsockopt(sock, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (source.sin_addr.s_addr != 0 &&
	    bind(sock, (struct sockaddr *)&source, sizeof(source)) != 0)
		err(1, "bind");
	return sock;
}

static void dial_out(int sock)
{
	if (connect(sock, (struct sockaddr *)&server, sizeof(server)) != 0 && errno != EINPROGRESS)
		err(1, "connect");
}

static int dial_with(int window)
{
	int sock = new_socket(0, window);

	dial_out(sock);
	return sock;
}

static int dial(void)
{
	return dial_with(0);
}

/* All of it, if the other side lets it; what it does not take is its right. */
static void put(int sock, const void *data, size_t n, int flags)
{
	const char *p = data;
	ssize_t sent;

	for (; n > 0; n -= (size_t)sent, p += sent)
		if ((sent = send(sock, p, n, flags | MSG_NOSIGNAL)) <= 0)
			return;
}

static void reset(int sock)
{
	const struct linger l = {.l_onoff = 1};

	setsockopt(sock, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(sock);
}

/* Reads until the other side has closed. */
static void hear_out(int sock)
{
	char buf[4096];
	ssize_t n;

	while ((n = recv(sock, buf, sizeof(buf), 0)) > 0)
		;
	if (n < 0 && errno == EAGAIN)
		errx(1, "the connection was not closed in %d seconds", PATIENCE);
	close(sock);
}

/* The end of what is sent, and then of the connection. */
static void finish(int sock)
{
	shutdown(sock, SHUT_WR);
	hear_out(sock);
}

/*
 * The attacks.
 */

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
	unsigned i;
	int sock;

	for (i = 0; i < n * n * n * n; i++) {
		if (i % 7 != seed % 7) /* all of them in the course of seven seeds */
			continue;
		random_fill(buf, sizeof(buf));
		put32(buf, value[i % n]);
		put32(buf + 4, value[i / n % n]);
		put32(buf + 8, value[i / n / n % n]);
		put32(buf + 12, value[i / n / n / n]);
		sock = dial();
		put(sock, buf, i % 2 ? 16 : sizeof(buf), 0);
		finish(sock);
	}
}

static void attack_empty(void)
{
	static const unsigned char zeros[1 << 16];
	unsigned char header[8];
	int loops, i, sock;

	for (loops = 0; loops < 2; loops++) {
		put32(header, loops ? 0xfffffffe : 1);
		put32(header + 4, 0xffffffff);
		sock = dial();
		put(sock, header, loops ? 4 : 8, 0);
		for (i = 0; i < count; i += (int)sizeof(zeros) / 4)
			put(sock, zeros, sizeof(zeros), 0);
		finish(sock);
	}
}

static int dialled[MANY]; /* the first `count` of them */

static void dial_all(int window)
{
	int i;

	for (i = 0; i < count; i++)
		dialled[i] = dial_with(window);
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
	for (i = 0; i < count; i++)
		reset(dialled[i]);
}

static void attack_narrow(void)
{
	char bytes[64];
	int i, clamp = 1;

	dial_all(1);
	for (i = 0; i < count; i++) {
		setsockopt(dialled[i], IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp));
		put(dialled[i], stream, stream_len, 0);
		shutdown(dialled[i], SHUT_WR);
		while (recv(dialled[i], bytes, sizeof(bytes), 0) > 0)
			;
		close(dialled[i]);
	}
}

static void attack_sip(void)
{
	char bytes[400];
	int i, clamp = 1;

	dial_all(1);
	for (i = 0; i < count; i++) {
		setsockopt(dialled[i], IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, sizeof(clamp));
		put(dialled[i], stream, stream_len, 0);
	}
	for (i = 0; i < 25 * count; i++) {
		if (i % count == 0)
			usleep(100000);
		if (recv(dialled[i % count], bytes, sizeof(bytes), 0) <= 0)
			errx(1, "the server closed connection %d", i % count);
	}
	for (i = 0; i < count; i++)
		reset(dialled[i]);
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

static void attack_urgent(void)
{
	size_t at, k;
	int sock;

	for (at = 0; at < stream_len; at++) {
		sock = dial();
		play(sock, at);
		finish(sock);
	}
	sock = dial();
	for (k = 0; k < stream_len; k++)
		put(sock, stream + k, 1, MSG_OOB);
	finish(sock);
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

static void attack_ask(void)
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
	int i, sock;

	for (i = 0; i < count; i++) {
		sock = new_socket(SOCK_NONBLOCK, 0);
		dial_out(sock);
		reset(sock);
	}
}

/* Says what came, a line of text, or that the end did. */
static void tell(int sock)
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
				tell(p[i].fd);
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
	{"random", attack_random}, {"limits", attack_limits}, {"empty", attack_empty},
	{"drip", attack_drip},     {"deaf", attack_deaf},     {"narrow", attack_narrow},
	{"halves", attack_halves}, {"urgent", attack_urgent}, {"offsets", attack_offsets},
	{"sip", attack_sip},       {"ask", attack_ask},       {"flood", attack_flood},
	{"hold", attack_hold},
};

/*
 * The servers.
 */

static size_t request_len; /* bytes to read, 0: all */

static void hear(int sock)
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

/* Its answer until the client will have no more of it; false when there is none. */
static void say_without_end(int sock)
{
	while (stream_len > 0 && send(sock, stream, stream_len, MSG_NOSIGNAL) > 0)
		;
}

static bool is_server(const char *name)
{
	static const char *const names[] = {"bytes", "chat", "endless", "leave", "linger",
					    "noise", "say",  "slam",    "talk"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void serve_one(const char *name, int sock)
{
	unsigned char noise[1000];
	int on = 1;
	size_t i;

	be_patient(sock);
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (strcmp(name, "slam") == 0) {
		reset(sock);
		return;
	}
	if (strcmp(name, "chat") == 0 && fork() == 0) {
		hear(sock);
		return;
	}
	if (strcmp(name, "talk") == 0 || strcmp(name, "chat") == 0) {
		say_without_end(sock);
		return;
	}
	hear(sock);
	if (strcmp(name, "noise") == 0) {
		random_fill(noise, sizeof(noise));
		put(sock, noise, sizeof(noise), 0);
	} else if (strcmp(name, "endless") == 0) {
		say_without_end(sock);
	} else if (strcmp(name, "bytes") == 0) {
		for (i = 0; i < stream_len; i++) {
			put(sock, stream + i, 1, 0);
			usleep(1000);
		}
	} else {
		put(sock, stream, stream_len, 0);
	}
	while (strcmp(name, "linger") == 0)
		pause();
	close(sock);
}

static int serve(const char *name)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct pollfd p = {.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
	socklen_t len = sizeof(a);
	int sock;

	if (bind(p.fd, (struct sockaddr *)&a, len) != 0 || listen(p.fd, 64) != 0 ||
	    getsockname(p.fd, (struct sockaddr *)&a, &len) != 0)
		err(1, "listen");
	printf("port %d\n", ntohs(a.sin_port));
	fflush(stdout);
	signal(SIGCHLD, SIG_IGN);
	while (poll(&p, 1, PATIENCE * 1000) > 0 && strcmp(name, "leave") != 0) {
		sock = accept(p.fd, NULL, NULL);
		if (fork() == 0) {
			close(p.fd);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			alarm(PATIENCE);
			serve_one(name, sock);
			_exit(0);
		}
		close(sock);
		random_next();
	}
	return 0;
}

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

int main(int argc, char **argv)
{
	bool serves = argc > 2 && strcmp(argv[1], "serve") == 0;
	const char *name = argc > 1 ? argv[1 + serves] : "";
	size_t i;
	int c;

	if (argc == 3 && strcmp(name, "socket") == 0)
		return make_socket(argv[2]);
	optind = 2 + serves;
	while ((c = getopt(argc, argv, "a:d:f:n:s:u:")) != -1) {
		switch (c) {
		case 'a': inet_pton(AF_INET, optarg, &source.sin_addr); break;
		case 'd': pause_ms = atoi(optarg); break;
		case 'f': read_stream(optarg); break;
		case 'n':
			count = atoi(optarg);
			request_len = (size_t)count;
			break;
		case 's': seed = (uint32_t)strtoul(optarg, NULL, 10) * 2654435761u | 1; break;
		case 'u': urgent = (size_t)atoi(optarg); break;
		default: return 2;
		}
	}
	if (serves && !is_server(name))
		errx(2, "serve %s: no such server", name);
	if (serves)
		return serve(name);
	if (count > MANY && strcmp(name, "empty") != 0)
		errx(2, "-n: at most %d", MANY);
	raise_descriptors();
	inet_pton(AF_INET, "127.0.0.1", &server.sin_addr);
	server.sin_port = htons((uint16_t)atoi(argv[optind]));
	for (i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (strcmp(name, attacks[i].name) == 0) {
			attacks[i].attack();
			return 0;
		}
	}
	errx(2, "no attack %s", name);
}
