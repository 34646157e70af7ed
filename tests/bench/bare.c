/*
 * bare: sendfile(2) into read(2) over loopback and nothing else, to hold zcc and zcs against.
 *
 *	bare [-t] [-l low_water] seconds sender_cpu receiver_cpu file...
 *
 * sends the files over and over, and prints the KiB per second that were received; with -t they
 * are discarded by recv(2) with MSG_TRUNC, and with -l a call waits for that many bytes (SO_RCVLOWAT).
 */
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
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

#define READ_SIZE  (256 * 1024) /* zcs's defaults */
#define TRUNC_SIZE (1024 * 1024)

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

static ssize_t discard(int sock, void *buf, size_t len)
{
	(void)len;
	return recv(sock, buf, TRUNC_SIZE, MSG_TRUNC);
}

static void receive(int sock, ssize_t (*get)(int, void *, size_t))
{
	char *buf = malloc(TRUNC_SIZE);
	double start = 0;
	uint64_t bytes = 0;
	ssize_t n;

	if (buf == NULL)
		err(1, "%d bytes", TRUNC_SIZE);
	while ((n = get(sock, buf, READ_SIZE)) > 0) {
		if (bytes == 0)
			start = now();
		bytes += (uint64_t)n;
	}
	printf("%.0f\n", (double)bytes / 1024 / (now() - start));
	free(buf);
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
	ssize_t (*get)(int, void *, size_t) = read;
	socklen_t len = sizeof(a);
	int lowat = 1;
	pid_t child;

	if (argc > 1 && strcmp(argv[1], "-t") == 0) {
		get = discard;
		argc--;
		argv++;
	}
	if (argc > 2 && strcmp(argv[1], "-l") == 0) {
		lowat = atoi(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc < 5)
		errx(2, "usage: bare [-t] [-l low_water] seconds sender_cpu receiver_cpu file...");
	if (l < 0 || bind(l, (struct sockaddr *)&a, len) != 0 || listen(l, 1) != 0 ||
	    getsockname(l, (struct sockaddr *)&a, &len) != 0)
		err(1, "listen");
	child = fork();
	if (child == 0) {
		bind_to(atoi(argv[3]));
		sock = accept(l, NULL, NULL);
		if (sock < 0)
			err(1, "accept");
		if (setsockopt(sock, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof(lowat)) != 0)
			err(1, "a low-water mark of %d", lowat);
		close(l);
		receive(sock, get);
		close(sock);
		return 0;
	}
	bind_to(atoi(argv[2]));
	close(l);
	sock = socket(AF_INET, SOCK_STREAM, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a)) != 0)
		err(1, "connect");
	sigaction(SIGALRM, &sa, NULL);
	alarm_after(argv[1]);
	send_files(sock, argv + 4, argc - 4);
	close(sock);
	waitpid(child, NULL, 0);
	return 0;
}
