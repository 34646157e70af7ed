#include "tests/helpers/net/net.h"

static volatile sig_atomic_t go;

static void on_usr1(int sig)
{
	(void)sig;
	go = 1;
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

int serve(int argc, char **argv)
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

int reply(int mode)
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

int answer(const char *name)
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
