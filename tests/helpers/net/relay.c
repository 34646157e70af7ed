/* relay: a path between two interfaces that delays, drops and freezes at known times. */
#include "tests/helpers/net/net.h"

#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>

#define QUEUE     65536 /* packets that are held; more are dropped */
#define FRAME_MAX (sizeof(struct virtio_net_hdr) + 65536 + 64)

/* A packet on its way, with what the kernel has still to do for it: its checksum, its segments. */
struct packet {
	uint64_t due;
	size_t len;
	int to; /* index of the interface */
	char *data;
};

static struct packet queue[QUEUE];
static size_t first, held;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int interface_open(const char *name)
{
	const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL)), on = 1,
		  size = 64 << 20;
	struct sockaddr_ll a = {.sll_family = AF_PACKET,
				.sll_protocol = htons(ETH_P_ALL),
				.sll_ifindex = (int)if_nametoindex(name)};
	const struct packet_mreq m = {.mr_ifindex = a.sll_ifindex, .mr_type = PACKET_MR_PROMISC};

	if (fd < 0 || a.sll_ifindex == 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &m, sizeof(m)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0 ||
	    bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0)
		err(1, "relay: %s", name);
	return fd;
}

/* Takes all packets that came in at interface i, and drops every `drop`-th with data. */
static void take(int fd, int i, uint64_t delay, unsigned drop)
{
	static char frame[FRAME_MAX];
	static unsigned counted;
	struct sockaddr_ll from = {0};
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(fd, frame, sizeof(frame), 0, (struct sockaddr *)&from, &len)) > 0) {
		struct packet *p = &queue[(first + held) % QUEUE];

		len = sizeof(from);
		if (from.sll_pkttype == PACKET_OUTGOING || held == QUEUE ||
		    (n > 200 && drop > 0 && ++counted % drop == 0))
			continue;
		*p = (struct packet){now() + delay, (size_t)n, 1 - i, malloc((size_t)n)};
		if (p->data == NULL)
			err(1, "relay: a packet of %zd bytes", n);
		memcpy(p->data, frame, (size_t)n);
		held++;
	}
}

void relay(void)
{
	const int fd[2] = {interface_open(args[0]), interface_open(args[1])};
	const uint64_t delay = strtoull(args[2], NULL, 10) * 1000,
		       freeze = strtoull(args[4], NULL, 10) * 1000000,
		       every = strtoull(args[5], NULL, 10) * 1000000;
	const unsigned drop = (unsigned)strtoul(args[3], NULL, 10);
	struct pollfd p[2] = {{fd[0], POLLIN, 0}, {fd[1], POLLIN, 0}};
	const uint64_t begin = now();
	uint64_t t, phase, freezes = 0;
	struct timespec real;

	puts("relay");
	for (;;) {
		poll(p, 2, held > 0 ? 1 : 20);
		take(fd[0], 0, delay, drop);
		take(fd[1], 1, delay, drop);
		t = now();
		phase = every > 0 ? (t - begin) % every : freeze;
		if (phase < freeze && t - begin >= every) {
			if ((t - begin) / every > freezes) {
				freezes = (t - begin) / every;
				clock_gettime(CLOCK_REALTIME, &real);
				printf("frozen %lld.%03ld\n", (long long)real.tv_sec,
				       real.tv_nsec / 1000000);
			}
			continue;
		}
		for (; held > 0 && queue[first].due <= t; first = (first + 1) % QUEUE, held--) {
			(void)!write(fd[queue[first].to], queue[first].data, queue[first].len);
			free(queue[first].data);
		}
	}
}
