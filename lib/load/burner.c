#include "lib/load/burner.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "lib/load/cpus.h"

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
};

static void sleep_until(uint64_t ns)
{
	sleep_ns((uint64_t)(1e9 * seconds_between(now_ns(), ns)));
}

/* What it lacks of a period's share, as other threads had the CPU, it has in the next. */
static void burn(struct job *j)
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

static void stream(struct job *j)
{
	if (j->i == 0)
		send_bursts(j);
	else
		receive(j);
}

static void *job_main(void *arg)
{
	static void (*const kinds[])(struct job *) = {[BURNER_BURN] = burn,
						      [BURNER_TURN] = turn,
						      [BURNER_WAKE] = wake,
						      [BURNER_STREAM] = stream};
	struct job *j = arg;

	if (cpu_bind(j->work->cpu[j->i]) != 0)
		die_errno("cannot bind to CPU %d", j->work->cpu[j->i]);
	kinds[j->work->kind](j);
	return NULL;
}

void burner_open_or_die(struct burner *b, int rps_cpu)
{
	*b = (struct burner){.why = ""};
	if (pair_local(&b->path[BURNER_LOOPBACK], "127.0.0.1") != 0)
		die_errno("a burner");
	pair_open(rps_cpu, &b->path[BURNER_VETH], b->why);
	prctl(PR_SET_TIMERSLACK, 1); /* ns */
}

void burner_run_or_die(const struct burner *b, const struct burner_work *w, struct burner_done *d)
{
	const uint64_t end = now_ns() + (uint64_t)(1e9 * w->seconds);
	const uint64_t ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct job job[2];
	int i;

	for (i = 0; i < w->n; i++) {
		job[i] = (struct job){.work = w, .pair = &b->path[w->path], .i = i, .end_ns = end};
		errno = thread_start(&job[i].thread, job_main, &job[i]);
		if (errno != 0)
			die_errno("a burner");
	}
	sleep_until(end);
	*d = (struct burner_done){.count = 0};
	for (i = 0; i < w->n; i++) {
		pthread_join(job[i].thread, NULL);
		d->count += job[i].count;
	}
	d->cpu_seconds = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - ran) / 1e9;
}
