#include "lib/load/burner.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/load/cpus.h"
#include "lib/net/pair.h"

#define PERIOD_NS     10000000u
#define BURST_NS      500000u
#define BURST         2       /* sends, each of many datagrams */
#define SEGMENTS      63      /* datagrams of a send: the kernel takes 64, and 64 KiB */
#define BUFFER        1048576 /* bytes, of which the kernel gives what net.core.rmem_max permits */
#define DATAGRAM      1024    /* bytes */
#define TURNS_AT_ONCE 1000000 /* about a millisecond */

/* A thread. */
struct job {
	const struct burner_work *work;
	const struct pair *pair; /* of BURNER_STREAM */
	int i;                   /* the index of the thread */
	uint64_t end_ns;
	double count;
	pthread_t thread;
	bool started;
};

static void sleep_until(uint64_t ns)
{
	sleep_ns((uint64_t)(1e9 * seconds_between(now_ns(), ns)));
}

/* What it lacks of a period's share, as other threads had the CPU, it has in the next. */
static void burn(const struct job *j)
{
	const uint64_t share = (uint64_t)(j->work->share * PERIOD_NS);
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID), next;

	for (next = now_ns() + PERIOD_NS; next <= j->end_ns; next += PERIOD_NS) {
		until += share;
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until && now_ns() < j->end_ns)
			;
		sleep_until(next);
	}
}

static void turn(struct job *j)
{
	volatile uint64_t sink;
	uint64_t x = 1;
	int i;

	while (now_ns() < j->end_ns) {
		for (i = 0; i < TURNS_AT_ONCE; i++)
			x = x * 6364136223846793005u + 1;
		sink = x;
		(void)sink;
		j->count += TURNS_AT_ONCE;
	}
}

static void wake(struct job *j)
{
	while (now_ns() < j->end_ns) {
		sleep_ns(1000000000u / (unsigned)j->work->rate);
		j->count++;
	}
}

/*
 * The kernel cuts what is sent into datagrams where they arrive (UDP_SEGMENT, udp(7)): much of the work
 * is that of a softirq, and of few interrupts.
 */
static void send_bursts(const struct job *j)
{
	static const char datagrams[SEGMENTS * DATAGRAM];
	uint64_t next = now_ns();
	const int size = DATAGRAM;
	int i;

	setsockopt(j->pair->send, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size));
	while (now_ns() < j->end_ns) {
		for (i = 0; i < BURST; i++)
			send(j->pair->send, datagrams, sizeof(datagrams), MSG_DONTWAIT);
		next += BURST_NS;
		sleep_until(next);
	}
}

/*
 * Reads what has come half-way between two bursts: that way no datagram wakes it, and the work does not
 * depend on which CPU has the softirqs.
 */
static void receive(struct job *j)
{
	const int size = BUFFER;
	uint64_t next = now_ns() + BURST_NS / 2;
	char buf[DATAGRAM];

	setsockopt(j->pair->receive, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	while (now_ns() < j->end_ns) {
		while (recv(j->pair->receive, buf, sizeof(buf), MSG_DONTWAIT) > 0)
			j->count++;
		next += BURST_NS;
		sleep_until(next);
	}
}

static void *job_main(void *arg)
{
	struct job *j = arg;

	if (cpu_bind(j->work->cpu[j->i]) != 0)
		return NULL;
	switch (j->work->kind) {
	case BURNER_REST: break;
	case BURNER_BURN: burn(j); break;
	case BURNER_TURN: turn(j); break;
	case BURNER_WAKE: wake(j); break;
	case BURNER_STREAM:
		if (j->i == 0)
			send_bursts(j);
		else
			receive(j);
		break;
	}
	return NULL;
}

static void run(const struct burner_work *w, const struct pair *pair, struct burner_done *d)
{
	const uint64_t end = now_ns() + (uint64_t)(1e9 * w->seconds);
	const uint64_t ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct job job[2];
	int i;

	for (i = 0; i < w->n; i++) {
		job[i] = (struct job){.work = w, .pair = pair, .i = i, .end_ns = end};
		job[i].started = thread_start(&job[i].thread, job_main, &job[i]) == 0;
	}
	sleep_until(end);
	*d = (struct burner_done){.count = 0};
	for (i = 0; i < w->n; i++) {
		if (job[i].started)
			pthread_join(job[i].thread, NULL);
		d->count += job[i].count;
	}
	d->cpu_seconds = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - ran) / 1e9;
}

/*
 * The process.  It asks for its end with the parent last, as a change of its privileges withdraws
 * that.
 */
_Noreturn static void serve(int fd, pid_t parent, int rps_cpu)
{
	struct pair pair[BURNER_PATHS];
	struct burner_work work;
	struct burner_done done;
	char why[DIE_MAX] = "";

	if (pair_local(&pair[BURNER_LOOPBACK], "127.0.0.1") != 0)
		_exit(EXIT_FAILURE);
	pair_open(rps_cpu, &pair[BURNER_VETH], why);
	prctl(PR_SET_TIMERSLACK, 1); /* ns */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || write(fd, why, sizeof(why)) != sizeof(why))
		_exit(EXIT_FAILURE);
	while (TEMP_FAILURE_RETRY(read(fd, &work, sizeof(work))) == sizeof(work)) {
		run(&work, &pair[work.path], &done);
		if (write(fd, &done, sizeof(done)) != sizeof(done))
			break;
	}
	_exit(EXIT_SUCCESS);
}

static void read_or_die(const struct burner *b, void *data, size_t size)
{
	if (TEMP_FAILURE_RETRY(read(b->fd, data, size)) != (ssize_t)size)
		die("the process that makes the loads has ended");
}

void burner_start_or_die(struct burner *b, int rps_cpu)
{
	const pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		die_errno("a burner");
	b->pid = fork();
	if (b->pid < 0)
		die_errno("fork");
	if (b->pid == 0) {
		close(ends[1]);
		serve(ends[0], parent, rps_cpu);
	}
	close(ends[0]);
	b->fd = ends[1];
	read_or_die(b, b->why, sizeof(b->why));
}

void burner_run_or_die(const struct burner *b, const struct burner_work *w, struct burner_done *d)
{
	if (write(b->fd, w, sizeof(*w)) != sizeof(*w))
		die("the process that makes the loads has ended");
	read_or_die(b, d, sizeof(*d));
}

void burner_stop(struct burner *b)
{
	close(b->fd);
	TEMP_FAILURE_RETRY(waitpid(b->pid, NULL, 0));
}
