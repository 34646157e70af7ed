#include "lib/load/burner.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "lib/base/proc.h"
#include "lib/load/cpus.h"

#define TURN     2000 /* steps of arithmetic: some us */
#define BURST    2    /* sends, each of many datagrams */
#define SEGMENTS 63   /* datagrams of a send: the kernel takes 64, and 64 KiB */
#define DATAGRAM 1024 /* bytes */

/*
 * Paths.
 */

/* Binds the receiving socket to an address and a free port, to which the other socket then sends. */
static int join(const struct path *p, uint32_t ip)
{
	struct sockaddr_in a = {AF_INET, .sin_addr.s_addr = htonl(ip)};
	const int datagram = DATAGRAM, buffer = 1048576; /* net.core.rmem_max limits it */
	socklen_t size = sizeof(a);

	setsockopt(p->send, IPPROTO_UDP, UDP_SEGMENT, &datagram, sizeof(datagram));
	setsockopt(p->receive, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (bind(p->receive, (struct sockaddr *)&a, size) != 0 ||
	    getsockname(p->receive, (struct sockaddr *)&a, &size) != 0)
		return -1;
	return connect(p->send, (struct sockaddr *)&a, size);
}

/* Opens a path from the sender's namespace to this one, by the i-th pair of devices (veth(4)). */
static int open_veth(const struct path *p, int sender, int i)
{
	char command[400];

	snprintf(command, sizeof(command),
		 "PATH=$PATH:/usr/sbin:/sbin; exec 2>/dev/null; s=/proc/%d/fd/%d d=veth%d; "
		 "ip link add $d type veth peer name $d netns $s && "
		 "ip address add 192.168.%d.2/24 dev $d && ip link set $d up && nsenter --net=$s "
		 "sh -c \"ip address add 192.168.%d.1/24 dev $d && ip link set $d up\"",
		 (int)getpid(), sender, i, i, i);
	errno = ENOTSUP;
	/* NOLINTNEXTLINE(cert-env33-c): the command has numbers of ours */
	return system(command) == 0 ? join(p, 0xc0a80002 + 256 * (unsigned)i) : -1;
}

static int udp_socket(void)
{
	return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/*
 * Moves the process into a new network namespace, and into a user namespace first if that needs privilege.  The
 * user must be mapped before, since the files of the network namespace belong to root.
 */
static int make_namespace(void)
{
	const unsigned user = geteuid();

	if (unshare(CLONE_NEWNET) == 0)
		return 0;
	if (unshare(CLONE_NEWUSER) != 0 ||
	    file_write("/proc/self", "uid_map", text_of("0 %u 1", user)) != 0)
		return -1;
	return unshare(CLONE_NEWNET);
}

/* Opens the paths between two namespaces.  Returns what failed, with errno set, or NULL. */
static const char *open_paths(struct path path[2], int rps_cpu)
{
	char mask[9 * CPUS_MAX / 32]; /* the longest */
	bool is_set;
	int i, sender;

	if (make_namespace() != 0)
		return "no network namespace";
	sender = open_retry("/proc/self/ns/net", O_RDONLY);
	path[0].send = udp_socket();
	path[1].send = udp_socket();
	if (unshare(CLONE_NEWNET) != 0)
		return "no second network namespace";
	path[0].receive = udp_socket();
	path[1].receive = udp_socket();
	/* The mask of one CPU: words of 32 bits with commas between. */
	snprintf(mask, sizeof(mask), "%x", 1u << rps_cpu % 32);
	for (i = 0; i < rps_cpu / 32; i++)
		string_append(mask, sizeof(mask), ",00000000");
	if (open_veth(&path[0], sender, 0) != 0)
		return "no veth devices by ip(8) and nsenter(1)";
	is_set = file_write("/proc/sys/net/core", "rps_default_mask", mask) == 0;
	if (open_veth(&path[1], sender, 1) != 0)
		return "no second veth devices";
	/* Before Linux 6.3 the mask is in the sysfs of the namespace, which is mounted on any directory. */
	if (!is_set &&
	    (unshare(CLONE_NEWNS) != 0 ||
	     mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	     mount("sysfs", "/sys/class/net", "sysfs", 0, NULL) != 0 ||
	     file_write("/sys/class/net/class/net/veth1/queues/rx-0", "rps_cpus", mask) != 0))
		return "no RPS, which only root may set before Linux 6.3";
	return NULL;
}

/*
 * Work.
 */

/* A thread. */
struct job {
	const struct burner_work *work;
	const struct path *path;
	int i; /* the index of the thread */
	uint64_t end_ns;
	double count;
	pthread_t thread;
};

static void sleep_until(uint64_t ns)
{
	sleep_ns((uint64_t)(1e9 * seconds_between(now_ns(), ns)));
}

/* If other threads had the CPU, the rest of a period's share is worked off in the next period. */
static void burn(struct job *j, uint64_t period)
{
	const uint64_t share = (uint64_t)(j->work->share * (double)period);
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID), next;
	volatile int i;

	for (next = now_ns() + period; next <= j->end_ns; next += period) {
		until += share;
		while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until && now_ns() < j->end_ns) {
			for (i = 0; i < TURN; i++)
				;
			j->count++;
		}
		j->count += now_ns() < next;
		sleep_until(next);
	}
}

/*
 * The kernel cuts a send into datagrams at the receiver (UDP_SEGMENT, udp(7)): much of the work is that of
 * softirqs, of few interrupts.  The second thread reads the datagrams half-way between two bursts: no datagram
 * wakes it, and the work does not depend on which CPU has the softirqs.
 */
static void stream(struct job *j, uint64_t period)
{
	static const char datagrams[SEGMENTS * DATAGRAM];
	uint64_t next = now_ns() + (uint64_t)j->i * period / 2;
	char buf[DATAGRAM];
	int i;

	for (; next < j->end_ns; next += period) {
		sleep_until(next);
		for (i = 0; i < BURST && j->i == 0; i++)
			send(j->path->send, datagrams, sizeof(datagrams), MSG_DONTWAIT);
		while (j->i > 0 && recv(j->path->receive, buf, sizeof(buf), MSG_DONTWAIT) > 0)
			j->count++;
	}
}

static void *job_main(void *arg)
{
	struct job *j = arg;
	const uint64_t period = 1000000000u / (unsigned)j->work->rate;

	if (cpu_bind(j->work->cpu[j->i]) != 0)
		die_errno("--verify: cannot bind to CPU %d", j->work->cpu[j->i]);
	if (j->work->path == BURNER_NO_PATH)
		burn(j, period);
	else
		stream(j, period);
	return NULL;
}

void burner_open(struct burner *b, int rps_cpu, char why[DIE_MAX])
{
	const char *failed = open_paths(&b->path[BURNER_VETH], rps_cpu);

	why[0] = '\0';
	if (failed != NULL)
		snprintf(why, DIE_MAX, "%s: %s", failed, strerror(errno));
	prctl(PR_SET_TIMERSLACK, 1); /* ns */
}

void burner_run_or_die(const struct burner *b, const struct burner_work *w, struct burner_done *d)
{
	const uint64_t end = now_ns() + (uint64_t)(1e9 * w->seconds);
	const uint64_t ran = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct job job[2];
	int i;

	for (i = 0; i < w->n; i++) {
		job[i] = (struct job){.work = w, .path = &b->path[w->path], .i = i, .end_ns = end};
		errno = thread_start(&job[i].thread, job_main, &job[i]);
		if (errno != 0)
			die_errno("--verify: cannot start a thread");
	}
	sleep_until(end);
	*d = (struct burner_done){.count = 0};
	for (i = 0; i < w->n; i++) {
		pthread_join(job[i].thread, NULL);
		d->count += job[i].count;
	}
	d->cpu_seconds = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - ran) / 1e9;
}
