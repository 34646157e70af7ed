/*
 * net: the other end of a connection, whole or broken, written without zc's own code, so that what zcc and zcs
 * print is judged by a second reading of the wire.  Servers print `port N`; all are on 127.0.0.1.
 *
 *	net serve [options]	takes a connection, reads it to its end, prints `segments N`, those with data, and `bytes N`
 *		-a	listens on every address of IPv4
 *		-w FILE	stores what came
 *		-r LINE	answers with this at the end of stream
 *		-f FILE	sends this file before it reads
 *		-e	sends back all that it reads
 *		-x	closes its sending side before it reads
 *		-d MS	reads 500 bytes at most after each such pause, with a small receive buffer
 *		-s	does not read before SIGUSR1; prints `data` when there is something to read
 *		-l N	closes after that many bytes
 *		-R	resets the connection when it closes
 *		-n N	takes N connections; all but the last are just read, or echoed, by processes of their own
 *	net reply [-f]
 *		the protocol of 1999: a client that sends a length gets that many bytes and the end
 *		-f	has a short accept queue, and pauses for 200 ms before each answer: while the queue is
 *			full the kernel drops SYNs
 *	net answer [-f FILE] [-n BYTES] say|linger|noise|endless|slam|talk|chat
 *		reads all of each client, or that many bytes, and answers with the file: at once; at once, and stays;
 *		with random bytes; again and again.  `slam` resets at once, `talk` answers without end from the start
 *		and reads nothing, `chat` reads meanwhile.
 *
 *	net send [-d MS] [-c | -k | -R] PORT <FILE
 *		sends standard input, with -d a byte at a time with that pause, closes its sending side and
 *		prints what the server answers; -c closes at once, as the client of 2001 does; -k keeps the sending
 *		side open; -R resets the connection
 *	net ask PORT COUNT BYTES
 *		that many requests of 1999, one after the other; prints `bytes N`
 *	net ATTACK [-a ADDRESS] [-d MS] [-f FILE] [-n COUNT] [-s SEED] PORT
 *		attacks from this address, by that many connections (default 100), with the stream that the
 *		file has (default: none, an end without a byte)
 *		random	random bytes, every other time after headers that make sense, ended in every way
 *		deaf	the stream, and no reading; resets after 300 ms, or what -d says
 *		offsets	after each byte of the stream, as after none: the end, then a reset
 *		hold	opens all connections, sends each the stream and prints `held N`; then `said TEXT` or `closed`
 *			for each that ends, and ends with the last; with -d each gets a byte more after each such
 *			pause
 *
 *	net relay IFACE IFACE DELAY_US DROP FREEZE_MS EVERY_MS
 *		is a path between two interfaces: passes packets on after that delay, drops each DROP-th that
 *		has data (0: none), and holds all back for FREEZE_MS at the end of each EVERY_MS.  Prints
 *		`relay`, and for each freeze `frozen AT`, the seconds of CLOCK_REALTIME.
 *
 * 50 seconds without a word from the other side end it.
 */
#include "tests/helpers/net/net.h"

#define MANY 10000 /* connections that are open at a time */

const char *option[128];
char **args;
unsigned char stream[1 << 20];
size_t stream_len;
static struct sockaddr_in source = {.sin_family = AF_INET}, server = {.sin_family = AF_INET};
static uint32_t seed = 1;
static int count, dialled[MANY]; /* of these the first `count` */

bool has(int letter)
{
	return option[letter] != NULL;
}

long number(int letter, long otherwise)
{
	return has(letter) ? atol(option[letter]) : otherwise;
}

bool is(const char *word, const char *this)
{
	return strcmp(word, this) == 0;
}

/* xorshift32: Marsaglia, "Xorshift RNGs", 2003 */
static uint32_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

void random_fill(unsigned char *p, size_t n)
{
	for (; n > 0; n--)
		*p++ = (unsigned char)random_next();
}

void sleep_ms(long ms)
{
	usleep((useconds_t)ms * 1000);
}

/*
 * Sockets.
 */
static void put32(unsigned char *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}

void set_up(int sock)
{
	const struct timeval t = {.tv_sec = PATIENCE};
	const int on = 1;

	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int dial(int window)
{
	const int sock = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	set_up(sock);
	if (window > 0)
		setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
	setsockopt(sock, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (bind(sock, (struct sockaddr *)&source, sizeof(source)) != 0 ||
	    connect(sock, (struct sockaddr *)&server, sizeof(server)) != 0)
		err(1, "connect");
	return sock;
}

bool put(int sock, const void *data, size_t n)
{
	const char *p = data;
	ssize_t sent;

	for (; n > 0; n -= (size_t)sent, p += sent)
		if ((sent = send(sock, p, n, MSG_NOSIGNAL)) <= 0)
			return false;
	return true;
}

void put_zeros(int sock, uint64_t n)
{
	static const char zeros[4096];
	size_t part;

	for (; n > 0; n -= part) {
		part = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);
		if (!put(sock, zeros, part))
			return;
	}
}

void reset(int sock)
{
	const struct linger l = {.l_onoff = 1};

	setsockopt(sock, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(sock);
}

void finish(int sock)
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

/*
 * Clients.
 */
static void send_stdin(void)
{
	static char buf[1 << 16];
	const int sock = dial(0);
	ssize_t n, i;

	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0) { /* as it comes: it may pause */
		for (i = 0; has('d') && i < n && put(sock, buf + i, 1); i++)
			sleep_ms(number('d', 0));
		if (!has('d') && !put(sock, buf, (size_t)n))
			break;
	}
	if (has('R'))
		reset(sock);
	if (has('R') || has('c'))
		exit(0);
	if (!has('k'))
		shutdown(sock, SHUT_WR);
	while ((n = read(sock, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	exit(n < 0);
}

static void ask(void)
{
	static char buf[65536];
	unsigned char length[4];
	long long sum = 0;
	ssize_t got;
	int n, sock;

	put32(length, (uint32_t)strtoul(args[2], NULL, 10));
	for (n = atoi(args[1]); n > 0; n--) {
		sock = dial(0);
		if (!put(sock, length, sizeof(length)))
			err(1, "send");
		while ((got = read(sock, buf, sizeof(buf))) > 0)
			sum += got;
		close(sock);
	}
	printf("bytes %lld\n", sum);
}

/*
 * Attacks.
 */

static void attack_random(void)
{
	unsigned char buf[4096];
	uint32_t how;
	int i, sock;

	for (i = 0; i < count; i++) {
		how = random_next();
		random_fill(buf, sizeof(buf));
		if (how & 1) {
			put32(buf, how >> 8 & 3);
			put32(buf + 4, how >> 10 & 7);
			put32(buf + 8, how >> 13 & 1023);
		}
		sock = dial(0);
		put(sock, buf, random_next() % (how & 2 ? 32 : sizeof(buf)));
		if ((how >> 2 & 3) == 0)
			close(sock);
		else
			((how >> 2 & 3) == 1 ? reset : finish)(sock);
	}
}

/* deaf: the stream on all connections at a time, in small receive windows, for answers that nobody reads */
static void attack_by_windows(void)
{
	int i;

	for (i = 0; i < count; i++)
		dialled[i] = dial(1);
	for (i = 0; i < count; i++)
		put(dialled[i], stream, stream_len);
	sleep_ms(number('d', 300));
	for (i = 0; i < count; i++)
		reset(dialled[i]);
}

/* offsets: the begin of the stream, of each length, on one connection after the other */
static void attack_by_offsets(void)
{
	size_t i;
	int sock;

	for (i = 0; i < 2 * (stream_len + 1); i++) {
		sock = dial(0);
		put(sock, stream, i / 2);
		(i % 2 == 1 ? reset : finish)(sock);
	}
}

/* Prints what came, a line of text, or that the end did. */
static void print_answer(int sock)
{
	char text[256];
	ssize_t n = recv(sock, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	printf("%s%s\n", n > 0 ? "said " : "closed", text);
}

static void attack_hold(void)
{
	static struct pollfd p[MANY];
	const int ms = (int)number('d', 0);
	int left = count, i;

	for (i = 0; i < count; i++) {
		p[i] = (struct pollfd){.fd = dial(0), .events = POLLIN};
		put(p[i].fd, stream, stream_len);
	}
	printf("held %d\n", count);
	while (left > 0) {
		if (poll(p, (nfds_t)count, ms > 0 ? ms : PATIENCE * 1000) == 0 && ms == 0)
			errx(1, "held for too long");
		for (i = 0; i < count; i++) {
			if (p[i].fd >= 0 && p[i].revents != 0) {
				print_answer(p[i].fd);
				close(p[i].fd);
				p[i].fd = -1;
				left--;
			} else if (p[i].fd >= 0 && ms > 0) {
				put(p[i].fd, "", 1);
			}
		}
	}
}

#define ATTACK "a:d:f:n:s:"
static const struct command {
	const char *name, *options;
	int args;
	void (*run)(void);
} commands[] = {
	{"serve", "aw:r:f:exd:sl:Rn:", 0, serve},
	{"reply", "f", 0, reply},
	{"answer", "f:n:", 1, answer},
	{"send", "d:ckR", 1, send_stdin},
	{"ask", "", 3, ask},
	{"relay", "", 6, relay},
	{"random", ATTACK, 1, attack_random},
	{"deaf", ATTACK, 1, attack_by_windows},
	{"offsets", ATTACK, 1, attack_by_offsets},
	{"hold", ATTACK, 1, attack_hold},
};

static void parse(int argc, char **argv, const struct command *c)
{
	FILE *f;
	int letter;

	while ((letter = getopt(argc, argv, c->options)) != -1) {
		if (letter == '?')
			exit(2);
		option[letter] = optarg != NULL ? optarg : "";
	}
	args = argv + optind;
	if (argc - optind != c->args)
		errx(2, "%s takes %d arguments", c->name, c->args);
	if (c->args > 0) {
		server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		server.sin_port = htons((uint16_t)atoi(args[0]));
	}
	if (strstr(c->options, "f:") != NULL && has('f')) {
		if ((f = fopen(option['f'], "r")) == NULL)
			err(1, "%s", option['f']);
		stream_len = fread(stream, 1, sizeof(stream), f);
		fclose(f);
	}
	if (is(c->options, ATTACK)) {
		inet_pton(AF_INET, has('a') ? option['a'] : "0", &source.sin_addr);
		seed = (uint32_t)number('s', 1) * 2654435761u | 1;
		count = (int)number('n', 100);
		if (count > MANY)
			errx(2, "more than %d connections", MANY);
	}
}

int main(int argc, char **argv)
{
	const struct command *c = commands;
	struct rlimit r;

	while (argc < 2 || !is(c->name, argv[1]))
		if (++c == commands + sizeof(commands) / sizeof(*c))
			errx(2, "no such command");
	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc - 1, argv + 1, c);
	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	c->run();
	return 0;
}
