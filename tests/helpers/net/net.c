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
#include "tests/helpers/net/net.h"

struct sockaddr_in source = {.sin_family = AF_INET};
struct sockaddr_in server = {.sin_family = AF_INET};
unsigned char stream[1 << 20];
size_t stream_len, request_len, urgent = SIZE_MAX;
int count = 100, pause_ms;
uint32_t seed = 1;

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
	parse(argc - 1, argv + 1);
	if (argc - 1 <= optind || (count > MANY && strcmp(name, "empty") != 0))
		errx(2, "%s: [-n COUNT of at most %d] PORT", name, MANY);
	server.sin_port = htons((uint16_t)atoi(argv[1 + optind]));
	raise_descriptors();
	if (attack(name))
		return 0;
	errx(2, "no %s", name);
}
