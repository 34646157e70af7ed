/*
 * bare: sendfile(2) over loopback into a loop of blocking calls and nothing else, to hold zcc and zcs
 * against.
 *
 *	bare [-m read|recv|trunc|splice] [-l low_water] [-b size] [-g congestion]
 *	    seconds sender_cpu receiver_cpu file...
 *
 * sends the files over and over, and prints the KiB per second that were received.  -l: a call waits
 * for that many bytes (SO_RCVLOWAT); -b: it asks for as many (default 256 KiB where data are copied,
 * else 1 MiB).
 */
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COPY_SIZE    (256 * 1024) /* zcs's default */
#define DISCARD_SIZE (1024 * 1024)

/* How to receive: `get` returns the bytes, 0 at the end of the stream. */
struct how {
	const char *method;
	ssize_t (*get)(const struct how *h, int sock);
	size_t size;
	int lowat, pipe[2], sink;
	char *buf;
};

static volatile sig_atomic_t stop;

static void on_alarm(int sig)
{
	stop = sig;
}

/* Arranges SIGALRM after `seconds`, which may have a fraction. */
static void alarm_after(const char *seconds)
{
	const double s = atof(seconds);
	const struct itimerval t = {
		.it_value = {(time_t)s, (suseconds_t)((s - (double)(time_t)s) * 1e6)}};

	if (!(s >= 0.001 && s < 1e6))
		errx(2, "'%s' is not a number of seconds from 0.001 to 1000000", seconds);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		err(1, "CPU %d", cpu);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static ssize_t get_read(const struct how *h, int sock)
{
	return read(sock, h->buf, h->size);
}

static ssize_t get_recv(const struct how *h, int sock)
{
	return recv(sock, h->buf, h->size, 0);
}

static ssize_t get_trunc(const struct how *h, int sock)
{
	/* cppcheck-suppress nullPointer ; with MSG_TRUNC there need be no buffer */
	return recv(sock, NULL, h->size, MSG_TRUNC);
}

static ssize_t get_splice(const struct how *h, int sock)
{
	ssize_t n = splice(sock, NULL, h->pipe[1], NULL, h->size, SPLICE_F_MOVE), out, m;

	for (out = 0; out < n; out += m) {
		m = splice(h->pipe[0], NULL, h->sink, NULL, (size_t)(n - out), SPLICE_F_MOVE);
		if (m <= 0)
			err(1, "/dev/null");
	}
	return n;
}

static void prepare(struct how *h)
{
	const bool splices = strcmp(h->method, "splice") == 0,
		   discards = strcmp(h->method, "trunc") == 0;

	h->get = splices ? get_splice : discards ? get_trunc : get_read;
	if (strcmp(h->method, "recv") == 0)
		h->get = get_recv;
	else if (h->get == get_read && strcmp(h->method, "read") != 0)
		errx(2, "unknown method '%s'", h->method);
	if (h->size == 0)
		h->size = splices || discards ? DISCARD_SIZE : COPY_SIZE;
	h->buf = malloc(h->size);
	if (h->buf == NULL)
		err(1, "%zu bytes", h->size);
	if (!splices)
		return;
	h->sink = open("/dev/null", O_WRONLY);
	if (h->sink < 0 || pipe(h->pipe) != 0 || fcntl(h->pipe[1], F_SETPIPE_SZ, DISCARD_SIZE) < 0)
		err(1, "a pipe");
}

static void receive(const struct how *h, int sock)
{
	double start = 0;
	uint64_t bytes = 0;
	ssize_t n;

	if (setsockopt(sock, SOL_SOCKET, SO_RCVLOWAT, &h->lowat, sizeof(h->lowat)) != 0)
		err(1, "a low-water mark of %d", h->lowat);
	while ((n = h->get(h, sock)) > 0) {
		if (bytes == 0)
			start = now();
		bytes += (uint64_t)n;
	}
	printf("%.0f\n", (double)bytes / 1024 / (now() - start));
}

static void send_files(int sock, char **names, int n)
{
	int *fd = calloc((size_t)n, sizeof(*fd)), i;
	off_t *size = calloc((size_t)n, sizeof(*size)), off;
	struct stat sb;

	if (fd == NULL || size == NULL)
		err(1, "%d files", n);
	for (i = 0; i < n; i++) {
		fd[i] = open(names[i], O_RDONLY);
		if (fd[i] < 0 || fstat(fd[i], &sb) != 0)
			err(1, "%s", names[i]);
		size[i] = sb.st_size;
	}
	for (i = 0; !stop; i = (i + 1) % n)
		for (off = 0; off < size[i] && !stop;)
			if (sendfile(sock, fd[i], &off, (size_t)(size[i] - off)) < 0)
				break;
	free(fd);
	free(size);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sigaction sa = {.sa_handler = on_alarm};
	int l = socket(AF_INET, SOCK_STREAM, 0), sock;
	struct how how = {.method = "read", .lowat = 1};
	socklen_t len = sizeof(a);
	const char *congestion = "";
	pid_t child;
	int o;

	while ((o = getopt(argc, argv, "+m:l:b:g:")) != -1) {
		if (o == 'm')
			how.method = optarg;
		else if (o == 'l')
			how.lowat = atoi(optarg);
		else if (o == 'b')
			how.size = (size_t)atol(optarg);
		else if (o == 'g')
			congestion = optarg;
		else
			return 2;
	}
	argc -= optind;
	argv += optind;
	if (argc < 4)
		errx(2, "usage: bare [-m method] [-l low_water] [-b size] [-g congestion] "
			"seconds sender_cpu receiver_cpu file...");
	prepare(&how);
	if (l < 0 || bind(l, (struct sockaddr *)&a, len) != 0 || listen(l, 1) != 0 ||
	    getsockname(l, (struct sockaddr *)&a, &len) != 0)
		err(1, "listen");
	child = fork();
	if (child == 0) {
		bind_to(atoi(argv[2]));
		sock = accept(l, NULL, NULL);
		if (sock < 0)
			err(1, "accept");
		close(l);
		receive(&how, sock);
		close(sock);
		return 0;
	}
	bind_to(atoi(argv[1]));
	close(l);
	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (*congestion != '\0' && setsockopt(sock, IPPROTO_TCP, TCP_CONGESTION, congestion,
					      (socklen_t)strlen(congestion)) != 0)
		err(1, "congestion control '%s'", congestion);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a)) != 0)
		err(1, "connect");
	sigaction(SIGALRM, &sa, NULL);
	alarm_after(argv[0]);
	send_files(sock, argv + 3, argc - 3);
	close(sock);
	waitpid(child, NULL, 0);
	return 0;
}
