/*
 * kit: what the benches compare zc with: loads of known size, and plain loops of blocking calls.
 *
 *	kit load SECONDS MICROSECONDS PERCENT CPUS [free]
 *		A worker for each CPU of the list, bound to it unless `free`, burns PERCENT of each period of
 *		that many MICROSECONDS by its own CPU clock and sleeps for the rest; with 0 it only wakes up.
 *		Prints wakes= (sleeps that ended), least= (the least share of a CPU that a worker got) and
 *		cpu= (CPU seconds of the process, from its start to this line).
 *	kit bare METHOD SIZE CONGESTION SECONDS CPU CPU FILE...
 *		sendfile(2) of the files, over and over, on the first CPU; on the second a loop that receives
 *		by METHOD (read, recv, trunc, splice), SIZE bytes per call.  Prints KiB/s.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common.h"
#include "lib/load/cpus.h"

#define DEBT_PERIODS 4 /* A worker makes up for time that it lost in this many periods, not more. */

struct worker {
	pthread_t thread;
	uint64_t cpu_ns, wakes;
};

static struct {
	uint64_t start, end, period, quota; /* ns */
} load;

static void bind_or_die(int cpu)
{
	if (cpu_bind(cpu) != 0)
		die_errno("CPU %d", cpu);
}

static uint64_t thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Burns until the thread has had `target` ns.  Its CPU clock costs a system call: it is read when it may have. */
static void burn(uint64_t target)
{
	uint64_t cpu, until;

	while ((cpu = thread_ns()) < target && now_ns() < load.end) {
		until = MIN(now_ns() + target - cpu, load.end);
		while (now_ns() < until)
			;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct timespec until;
	uint64_t begun, target, next;

	begun = target = thread_ns();
	for (next = load.start; next < load.end;) {
		target = MIN(target + load.quota, thread_ns() + (1 + DEBT_PERIODS) * load.quota);
		burn(target);
		next += load.period;
		until = ns_to_timespec(MIN(next, load.end));
		w->wakes += now_ns() < next;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	w->cpu_ns = thread_ns() - begun;
	return NULL;
}

static void run_load(char **argv)
{
	const double seconds = atof(argv[0]);
	struct cpus cpus;
	struct worker *w;
	double lowest = 1;
	uint64_t wakes = 0;
	int i;

	if (parse_cpus(argv[3], &cpus) != NULL)
		usage_error("no list of CPUs: '%s'", argv[3]);
	w = alloc_or_die((size_t)cpus.n, sizeof(*w), "workers");
	load.period = 1000 * (uint64_t)atol(argv[1]);
	load.quota = (uint64_t)(atof(argv[2]) / 100 * (double)load.period);
	prctl(PR_SET_TIMERSLACK, 1);
	load.start = now_ns();
	load.end = load.start + (uint64_t)(seconds * 1e9);
	for (i = 0; i < cpus.n; i++) {
		if (argv[4] == NULL)
			bind_or_die(cpus.id[i]); /* The new thread inherits this. */
		if (thread_start(&w[i].thread, work, &w[i]) != 0)
			die("no thread");
	}
	for (i = 0; i < cpus.n; i++) {
		pthread_join(w[i].thread, NULL);
		wakes += w[i].wakes;
		lowest = fmin(lowest, (double)w[i].cpu_ns / (seconds * 1e9));
	}
	report("wakes=%" PRIu64 " least=%.4f cpu=%.6f\n", wakes, lowest,
	       (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9);
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

static void bare(char **argv, int n)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int l = socket(AF_INET, SOCK_STREAM, 0), sock = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(a);

	if (listen(l, 1) != 0 || getsockname(l, (struct sockaddr *)&a, &len) != 0)
		die_errno("listen");
	if (fork() == 0) {
		bind_or_die(atoi(argv[5]));
		close(sock);
		receive(accept(l, NULL, NULL), argv[0], strtoull(argv[1], NULL, 10));
		exit(0);
	}
	bind_or_die(atoi(argv[4]));
	if (setsockopt(sock, IPPROTO_TCP, TCP_CONGESTION, argv[2], (socklen_t)strlen(argv[2])) != 0)
		die_errno("congestion control '%s'", argv[2]);
	if (connect(sock, (struct sockaddr *)&a, len) != 0)
		die_errno("connect");
	send_files(sock, atof(argv[3]), argv + 6, n);
	close(sock);
	wait(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	init_program(NULL);
	if (strcmp(what, "load") == 0 && (argc == 6 || argc == 7))
		run_load(argv + 2);
	else if (strcmp(what, "bare") == 0 && argc > 8)
		bare(argv + 2, argc - 8);
	else
		usage_error("kit load | bare: see the head of kit.c");
	return 0;
}
