/*
 * kit: the plain loops of blocking calls over loopback that the benches compare zc with.
 *
 *	kit bare METHOD SIZE CONGESTION SECONDS CPU CPU FILE...
 *		sendfile(2) of the files, over and over, on the first CPU; on the second a loop that receives
 *		by METHOD (read, recv, trunc, splice), SIZE bytes per call.  Prints KiB/s.
 *	kit pingpong SECONDS CPU CPU
 *		A byte goes to the second CPU and back.  Prints round trips per second.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common.h"
#include "lib/load/cpus.h"

static void bind_or_die(int cpu)
{
	if (cpu_bind(cpu) != 0)
		die_errno("CPU %d", cpu);
}

static void receive(int sock, const char *method, size_t size)
{
	const bool splices = strcmp(method, "splice") == 0, reads = strcmp(method, "read") == 0;
	const int flags = strcmp(method, "trunc") == 0 ? MSG_TRUNC : 0;
	int pipes[2], sink = open("/dev/null", O_WRONLY);
	char *buf = alloc_or_die(1, size, "a buffer");
	uint64_t bytes = 0, start = 0;
	ssize_t n, out, m;

	if (splices && (pipe(pipes) != 0 || fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20) < 0))
		die_errno("a pipe");
	for (;; bytes += (uint64_t)n) {
		n = splices ? splice(sock, NULL, pipes[1], NULL, size, SPLICE_F_MOVE)
		    : reads ? read(sock, buf, size)
			    : recv(sock, flags ? NULL : buf, size, flags);
		if (n <= 0)
			break;
		for (out = splices ? 0 : n; out < n; out += m)
			if ((m = splice(pipes[0], NULL, sink, NULL, (size_t)(n - out),
					SPLICE_F_MOVE)) <= 0)
				die_errno("/dev/null");
		if (start == 0)
			start = now_ns();
	}
	report("%.0f\n", (double)bytes / 1024 / seconds_between(start, now_ns()));
}

static void send_files(int sock, double seconds, char **names, int n)
{
	const uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	int *fd = alloc_or_die((size_t)n, sizeof(*fd), "files"), i;
	off_t *size = alloc_or_die((size_t)n, sizeof(*size), "files"), off;
	struct stat sb;

	for (i = 0; i < n; i++) {
		fd[i] = open(names[i], O_RDONLY);
		if (fd[i] < 0 || fstat(fd[i], &sb) != 0)
			die_errno("%s", names[i]);
		size[i] = sb.st_size;
	}
	for (i = 0; now_ns() < end; i = (i + 1) % n)
		for (off = 0; off < size[i];)
			if (sendfile(sock, fd[i], &off, (size_t)(size[i] - off)) <= 0)
				die_errno("%s", names[i]);
}

/* Connects two sockets by TCP. */
static void pair(int sock[2], const char *congestion)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int l = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);

	sock[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (congestion != NULL && setsockopt(sock[0], IPPROTO_TCP, TCP_CONGESTION, congestion,
					     (socklen_t)strlen(congestion)) != 0)
		die_errno("congestion control '%s'", congestion);
	if (listen(l, 1) != 0 || getsockname(l, (struct sockaddr *)&a, &len) != 0 ||
	    connect(sock[0], (struct sockaddr *)&a, len) != 0 ||
	    (sock[1] = accept(l, NULL, NULL)) < 0)
		die_errno("a connection");
	close(l);
}

/* Forks; returns whether this is the far end, which runs on the second CPU. */
static bool fork_far(const int sock[2], const char *const cpu[2])
{
	const bool far = fork() == 0;

	bind_or_die(atoi(cpu[far]));
	close(sock[!far]);
	return far;
}

static void bare(char **argv, int n)
{
	int sock[2];

	pair(sock, argv[2]);
	if (fork_far(sock, (const char *const *)argv + 4)) {
		receive(sock[1], argv[0], strtoull(argv[1], NULL, 10));
		exit(0);
	}
	send_files(sock[0], atof(argv[3]), argv + 6, n);
	close(sock[0]);
	wait(NULL);
}

static void pingpong(char **argv)
{
	const double seconds = atof(argv[0]);
	const uint64_t start = now_ns();
	uint64_t trips = 0, now;
	char byte = 0;
	int sock[2];

	pair(sock, NULL);
	if (fork_far(sock, (const char *const *)argv + 1)) {
		while (recv(sock[1], &byte, 1, 0) == 1 && send(sock[1], &byte, 1, 0) == 1)
			;
		exit(0);
	}
	for (now = start; seconds_between(start, now) < seconds; now = now_ns(), trips++)
		if (send(sock[0], &byte, 1, 0) != 1 || recv(sock[0], &byte, 1, 0) != 1)
			die_errno("a round trip");
	report("%.1f\n", (double)trips / seconds_between(start, now));
	close(sock[0]);
	wait(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	init_program(NULL);
	if (strcmp(what, "bare") == 0 && argc > 8)
		bare(argv + 2, argc - 8);
	else if (strcmp(what, "pingpong") == 0 && argc == 5)
		pingpong(argv + 2);
	else
		usage_error("kit bare | pingpong: see the head of kit.c");
	return 0;
}
