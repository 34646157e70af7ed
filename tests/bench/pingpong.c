/*
 * pingpong: round trips of one byte between two threads, each bound to a CPU of its own.  Each
 * thread sleeps until the other wakes it, so the figure shows how long a wake-up from another CPU
 * takes.  The program needs only the C library, also a static one: it runs in a bare virtual machine.
 *
 *	pingpong [-t | -u] [-c cpu,cpu] [-s seconds]
 *		-t	TCP over loopback only
 *		-u	a Unix socket pair only (default: both, one after the other)
 *		-c	CPUs of the two threads (default: the first and the last that are permitted)
 *		-s	seconds of each (default 1)
 *
 * Prints a line for each: via=unix trips=N per_second=N mean_us=N p50_us=N p99_us=N max_us=N
 */
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PART_BITS 5 /* a class of times is a 32nd of a power of two wide */
#define PARTS     (1 << PART_BITS)
#define CLASSES   (60 * PARTS)

static struct {
	double seconds;
	int cpu[2];
	bool tcp, pair;
} opt = {
	.seconds = 1,
	.cpu = {-1, -1},
	.tcp = true,
	.pair = true,
};

struct times {
	uint64_t n, sum, max; /* ns */
	uint64_t count[CLASSES];
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static unsigned class_of(uint64_t ns)
{
	unsigned shift = 0;

	while (ns >> shift >= 2 * PARTS)
		shift++;
	return shift * PARTS + (unsigned)(ns >> shift);
}

/* Returns the middle of the class, ns. */
static double class_middle(unsigned class)
{
	unsigned shift = class < 2 * PARTS ? 0 : class / PARTS - 1;

	return ((double)(class - shift * PARTS) + 0.5) * (double)(1ULL << shift);
}

static void times_add(struct times *t, uint64_t ns)
{
	t->n++;
	t->sum += ns;
	t->max = ns > t->max ? ns : t->max;
	t->count[class_of(ns)]++;
}

/* Returns the time, us, that the share `q` of the trips did not exceed. */
static double percentile_us(const struct times *t, double q)
{
	uint64_t seen = 0;
	unsigned i;

	for (i = 0; i < CLASSES; i++) {
		seen += t->count[i];
		if ((double)seen >= q * (double)t->n)
			return class_middle(i) / 1e3;
	}
	return (double)t->max / 1e3;
}

static void bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		err(EXIT_FAILURE, "CPU %d", cpu);
}

/* Reads one byte; returns whether the other end was still open. */
static bool get(int fd)
{
	ssize_t n;
	char c;

	while ((n = read(fd, &c, 1)) < 0 && errno == EINTR)
		;
	if (n < 0)
		err(EXIT_FAILURE, "read");
	return n == 1;
}

static void put(int fd)
{
	if (write(fd, "x", 1) != 1)
		err(EXIT_FAILURE, "write");
}

/* Sends each byte back until the other end is closed. */
static void *echo(void *arg)
{
	const int *fd = arg;

	bind_to(opt.cpu[1]);
	while (get(*fd))
		put(*fd);
	return NULL;
}

static void pair_connect(int fd[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		err(EXIT_FAILURE, "socketpair");
}

static void tcp_connect(int fd[2])
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, i;

	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || fd[0] < 0 || bind(listener, (struct sockaddr *)&a, len) != 0 ||
	    listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&a, &len) != 0 ||
	    connect(fd[0], (struct sockaddr *)&a, len) != 0 ||
	    (fd[1] = accept(listener, NULL, NULL)) < 0)
		err(EXIT_FAILURE, "TCP over loopback");
	close(listener);
	for (i = 0; i < 2; i++)
		if (setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
			err(EXIT_FAILURE, "TCP_NODELAY");
}

static void play(const char *via, void (*open_both)(int fd[2]))
{
	static struct times t;
	uint64_t start, begin, end;
	pthread_t other;
	int fd[2], e;

	memset(&t, 0, sizeof(t));
	open_both(fd);
	if ((e = pthread_create(&other, NULL, echo, &fd[1])) != 0)
		errx(EXIT_FAILURE, "thread: %s", strerror(e));
	bind_to(opt.cpu[0]);
	put(fd[0]); /* The first trip waits for the thread to start, and does not count. */
	if (!get(fd[0]))
		errx(EXIT_FAILURE, "%s: closed", via);
	start = end = now_ns();
	while ((double)(end - start) < opt.seconds * 1e9) {
		begin = end;
		put(fd[0]);
		if (!get(fd[0]))
			errx(EXIT_FAILURE, "%s: closed", via);
		end = now_ns();
		times_add(&t, end - begin);
	}
	close(fd[0]);
	pthread_join(other, NULL);
	close(fd[1]);
	printf("via=%s trips=%llu per_second=%.1f mean_us=%.2f p50_us=%.2f p99_us=%.2f max_us=%.2f\n",
	       via, (unsigned long long)t.n, (double)t.n * 1e9 / (double)(end - start),
	       (double)t.sum / (double)t.n / 1e3, percentile_us(&t, 0.5), percentile_us(&t, 0.99),
	       (double)t.max / 1e3);
}

/* The first and the last CPU on which this process may run. */
static void default_cpus(void)
{
	cpu_set_t set;
	int i;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		err(EXIT_FAILURE, "sched_getaffinity");
	for (i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &set))
			continue;
		if (opt.cpu[0] < 0)
			opt.cpu[0] = i;
		opt.cpu[1] = i;
	}
	if (opt.cpu[0] == opt.cpu[1])
		errx(EXIT_FAILURE, "only CPU %d is permitted: two are needed", opt.cpu[0]);
}

static _Noreturn void usage(void)
{
	fputs("usage: pingpong [-t | -u] [-c cpu,cpu] [-s seconds]\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	char *rest, after;
	int c;

	while ((c = getopt(argc, argv, "tuc:s:")) != -1) {
		if (c == 't') {
			opt.pair = false;
		} else if (c == 'u') {
			opt.tcp = false;
		} else if (c == 'c') {
			if (sscanf(optarg, "%d,%d%c", &opt.cpu[0], &opt.cpu[1], &after) != 2 ||
			    opt.cpu[0] < 0 || opt.cpu[1] < 0 || opt.cpu[0] >= CPU_SETSIZE ||
			    opt.cpu[1] >= CPU_SETSIZE)
				usage();
		} else if (c == 's') {
			opt.seconds = strtod(optarg, &rest);
			if (rest == optarg || *rest != '\0' ||
			    !(opt.seconds > 0 && opt.seconds <= 86400))
				usage();
		} else {
			usage();
		}
	}
	if (optind < argc || !(opt.tcp || opt.pair))
		usage();
	if (opt.cpu[0] < 0)
		default_cpus();
	if (opt.pair)
		play("unix", pair_connect);
	if (opt.tcp)
		play("tcp", tcp_connect);
	return EXIT_SUCCESS;
}
