#include "lib/send/sender.h"

#include <linux/errqueue.h>
#include <netinet/in.h>

#include "lib/net/socket.h"

#define SLOTS_MAX 64        /* buffers of a ring */
#define WAIT_MS   100       /* how long one wait for a completion takes at most */
#define REAP_NS   10000000u /* how often completions are looked for in vain */

/*
 * The kernel numbers the sends from 0.  Each send has a buffer, which is that of its number modulo
 * `slots`, until it is completed.
 */
struct zerocopy {
	unsigned slots;             /* buffers of the ring */
	bool busy[SLOTS_MAX];       /* whether the send of each buffer is not completed */
	uint32_t sends, incomplete; /* how many there were, and how many are not completed */
	uint64_t copied;            /* sends that the kernel copied after all */
};

/* Marks the sends `lo` to `hi` as completed. */
static void complete(struct zerocopy *z, uint32_t lo, uint32_t hi, bool copied)
{
	uint32_t id;

	for (id = lo; id != hi + 1; id++) {
		z->copied += copied && z->busy[id % z->slots];
		z->incomplete -= z->busy[id % z->slots];
		z->busy[id % z->slots] = false;
	}
}

bool zerocopy_reap(struct sender *s)
{
	struct sock_extended_err e;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(e) + sizeof(struct sockaddr_in6))];
	const struct cmsghdr *c;
	struct msghdr m;
	bool any = false;

	for (;;) {
		m = (struct msghdr){.msg_control = control, .msg_controllen = sizeof(control)};
		if (recvmsg(s->sock, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return any;
		any = true;
		c = CMSG_FIRSTHDR(&m);
		if (c == NULL)
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (e.ee_origin == SO_EE_ORIGIN_ZEROCOPY)
			complete(s->ring, e.ee_info, e.ee_data,
				 e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED);
	}
}

/* Waits for completions, WAIT_MS at most.  The overseer watches whether the server takes data. */
void zerocopy_await(struct sender *s)
{
	struct pollfd p = {.fd = s->sock};

	/* On a connection that both ends have closed poll(2) returns at once. */
	if (poll(&p, 1, WAIT_MS) > 0 && !zerocopy_reap(s))
		sleep_ns(REAP_NS);
}

/*
 * Sends a buffer by one call.  ENOBUFS means that as many pages are pinned, or completions waiting,
 * as this user or socket may have (RLIMIT_MEMLOCK, net.core.optmem_max): sends under way make room.
 */
static ssize_t send_buffer(struct sender *s, const char *buf, size_t len)
{
	const struct zerocopy *z = s->ring;
	ssize_t n;

	while (!sender_stopped(s)) {
		n = send(s->sock, buf, len, MSG_ZEROCOPY);
		if (n >= 0 || errno != ENOBUFS || z->incomplete == 0)
			return n;
		zerocopy_await(s);
	}
	return 0;
}

/* Fills the next buffer, once the send before is completed, and sends it. */
ssize_t zerocopy_step(struct sender *s, int fd, off_t off, uint64_t len)
{
	struct zerocopy *z = s->ring;
	const unsigned slot = z->sends % z->slots;
	char *buf = s->buf + slot * s->chunk;
	ssize_t n;

	if (z->busy[slot])
		zerocopy_reap(s);
	while (z->busy[slot] && !sender_stopped(s))
		zerocopy_await(s);
	if (z->busy[slot])
		return 0;
	n = pread(fd, buf, at_most(len, s->chunk), off);
	if (n > 0)
		n = send_buffer(s, buf, (size_t)n);
	if (n > 0) {
		z->busy[slot] = true;
		z->sends++;
		z->incomplete++;
	}
	return n;
}

struct zerocopy_figures zerocopy_count(const struct sender *s)
{
	const struct zerocopy *z = s->ring;

	return (struct zerocopy_figures){(double)z->sends, (double)z->copied,
					 (double)z->incomplete};
}

void zerocopy_open(struct sender *s)
{
	const size_t slots = s->memory / s->chunk;
	struct zerocopy *z = s->ring = alloc_or_die(1, sizeof(*z), "-m zerocopy");

	if (sock_set(s->sock, SOL_SOCKET, SO_ZEROCOPY, 1) != 0)
		die_errno("-m zerocopy: SO_ZEROCOPY");
	z->slots = slots < 2 ? 2 : (unsigned)at_most(slots, SLOTS_MAX);
	s->buf_size *= z->slots;
}

void zerocopy_close(struct sender *s)
{
	free(s->ring);
}

const char *zerocopy_explain(int error)
{
	return error == ENOBUFS ? "no memory to pin: raise ulimit -l or net.core.optmem_max" : NULL;
}
