#include "tests/helpers/net/net.h"

static volatile sig_atomic_t go; /* SIGUSR1 came */

static void on_usr1(int sig)
{
	(void)sig;
	go = 1;
}

/* On 127.0.0.1, or on every address; prints the port. */
static int listen_at(uint32_t address, int backlog)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
	socklen_t len = sizeof(a);
	const int fd = socket(AF_INET, SOCK_STREAM, 0), rcvbuf = 8192;

	if (has('d'))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0 || listen(fd, backlog) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		err(1, "listen");
	printf("port %d\n", ntohs(a.sin_port));
	return fd;
}

/*
 * serve
 */

/* Takes `n` connections, returns the last of them.  A receive buffer made smaller later would drop what is in flight. */
static int accept_last(long n)
{
	static char buf[1 << 16];
	const int fd = listen_at(has('a') ? INADDR_ANY : INADDR_LOOPBACK, 16);
	ssize_t got;
	int sock;

	while ((sock = accept(fd, NULL, NULL)) >= 0 && --n > 0) {
		if (fork() == 0) {
			close(fd);
			while ((got = read(sock, buf, sizeof(buf))) > 0)
				if (has('e'))
					put(sock, buf, (size_t)got);
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

	if (!go && poll(&p, 1, -1) == 1)
		puts("data");
	while (!go)
		sleep_ms(10);
}

static unsigned segments_in(int sock)
{
	struct tcp_info ti = {0};
	socklen_t len = sizeof(ti);

	getsockopt(sock, IPPROTO_TCP, TCP_INFO, &ti, &len);
	return ti.tcpi_data_segs_in;
}

/* Reads all, or -l bytes; returns 0 or, if that fails, -1. */
static ssize_t take(int sock)
{
	static unsigned char buf[1 << 16];
	FILE *out = has('w') ? fopen(option['w'], "w") : NULL;
	const long limit = number('l', -1), ms = number('d', 0);
	long bytes = 0;
	ssize_t n = 0;

	while (limit < 0 || bytes < limit) {
		sleep_ms(ms);
		n = read(sock, buf, ms > 0 ? 500 : sizeof(buf));
		if (n <= 0)
			break;
		bytes += n;
		if (has('e') && !put(sock, buf, (size_t)n))
			break;
		if (out != NULL)
			fwrite(buf, 1, (size_t)n, out);
	}
	if (out != NULL)
		fclose(out);
	printf("segments %u\nbytes %ld\n", segments_in(sock), bytes);
	return n;
}

void serve(void)
{
	ssize_t n;
	int sock;

	signal(SIGUSR1, on_usr1);
	sock = accept_last(number('n', 1));
	put(sock, stream, stream_len);
	if (has('x'))
		shutdown(sock, SHUT_WR);
	if (has('s'))
		stall(sock);
	n = take(sock);
	if (has('r')) {
		put(sock, option['r'], strlen(option['r']));
		put(sock, "\n", 1);
	}
	if (has('R'))
		reset(sock);
	exit(n < 0);
}

/*
 * reply
 */

void reply(void)
{
	const int fd = listen_at(INADDR_LOOPBACK, has('f') ? 1 : 512);
	uint32_t n;
	int sock;

	for (; (sock = accept(fd, NULL, NULL)) >= 0; close(sock)) {
		if (recv(sock, &n, sizeof(n), MSG_WAITALL) != sizeof(n))
			continue;
		if (has('f'))
			sleep_ms(200);
		put_zeros(sock, ntohl(n));
	}
}

/*
 * answer
 */

/* All of it, or -n bytes. */
static void read_request(int sock)
{
	char buf[1 << 16];
	size_t left = has('n') ? (size_t)number('n', 0) : SIZE_MAX;
	ssize_t n;

	for (; left > 0; left -= (size_t)n)
		if ((n = recv(sock, buf, left < sizeof(buf) ? left : sizeof(buf), 0)) <= 0)
			return;
}

/* The answer until the client will have no more of it. */
static void say_without_end(int sock)
{
	while (stream_len > 0 && put(sock, stream, stream_len))
		;
}

static void answer_one(int sock)
{
	unsigned char noise[1000];

	set_up(sock);
	if (is(args[0], "slam")) {
		reset(sock);
		return;
	}
	if (is(args[0], "talk") || (is(args[0], "chat") && fork() != 0)) {
		say_without_end(sock);
		return;
	}
	read_request(sock);
	random_fill(noise, sizeof(noise));
	if (is(args[0], "noise"))
		put(sock, noise, sizeof(noise));
	else if (is(args[0], "endless"))
		say_without_end(sock);
	else if (!is(args[0], "chat"))
		put(sock, stream, stream_len);
	while (is(args[0], "linger"))
		pause();
	close(sock);
}

void answer(void)
{
	struct pollfd p = {.fd = listen_at(INADDR_LOOPBACK, 64), .events = POLLIN};
	unsigned char other[1];
	int sock;

	if (strstr(" chat endless linger noise say slam talk ", args[0]) == NULL)
		errx(2, "answer %s: no such server", args[0]);
	signal(SIGCHLD, SIG_IGN);
	while (poll(&p, 1, PATIENCE * 1000) > 0) {
		sock = accept(p.fd, NULL, NULL);
		if (fork() == 0) {
			close(p.fd);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			alarm(PATIENCE);
			answer_one(sock);
			_exit(0);
		}
		close(sock);
		random_fill(other, 1); /* each client has other noise */
	}
}
