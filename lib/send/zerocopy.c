#include "lib/send/zerocopy.h"

#include <linux/errqueue.h>
#include <netinet/in.h>

#include "lib/net/socket.h"

#define SLOTS_MAX   64          /* buffers of a ring */
#define IDS         1024        /* the most sends that are not completed */
#define WAIT_MS     100         /* how long one wait for a completion takes at most */
#define REAP_NS     10000000u   /* how often completions are looked for in vain */
#define PATIENCE_NS 1000000000u /* how long a sender waits in the end after a signal */

/* The kernel numbers the sends from 0, and the buffers of the ring are numbered from 1. */
struct zerocopy {
	unsigned slots, slot; /* how many buffers there are, and which one was filled last */
	unsigned busy[SLOTS_MAX + 1]; /* sends of each buffer that are not completed */
	unsigned char slot_of[IDS];   /* the buffer of each send; 0: the send is completed */
	uint32_t next, oldest;        /* the next send, and the first that is not completed */
	uint64_t copied;              /* sends that the kernel copied after all */
};

/* Marks the sends `lo` to `hi` as completed. */
static void complete(struct zerocopy *z, uint32_t lo, uint32_t hi, bool copied)
{
	uint32_t id;

	for (id = lo; id != hi + 1; id++) {
		if (z->slot_of[id % IDS] == 0)
			continue;
		z->busy[z->slot_of[id % IDS]]--;
		z->slot_of[id % IDS] = 0;
		z->copied += copied;
	}
	while (z->oldest != z->next && z->slot_of[z->oldest % IDS] == 0)
		z->oldest++;
}

bool zerocopy_reap(struct sender *s)
{
	struct sock_extended_err e;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(e) + sizeof(struct sockaddr_in6))];
	const struct cmsghdr *c;
	struct msghdr m;
	bool any = false;

	while (s->zerocopy != NULL) {
		m = (struct msghdr){.msg_control = control, .msg_controllen = sizeof(control)};
		if (recvmsg(s->sock, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			break;
		any = true;
		c = CMSG_FIRSTHDR(&m);
		if (c == NULL)
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (e.ee_origin == SO_EE_ORIGIN_ZEROCOPY)
			complete(s->zerocopy, e.ee_info, e.ee_data,
				 e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED);
	}
	return any;
}

/* Waits for completions, WAIT_MS at most.  The overseer watches whether the server takes data. */
static void await_completion(struct sender *s)
{
	const struct timespec pause = {.tv_nsec = REAP_NS};
	struct pollfd p = {.fd = s->sock};

	/* On a connection that both ends have closed poll(2) returns at once. */
	if (poll(&p, 1, WAIT_MS) > 0 && !zerocopy_reap(s))
		nanosleep(&pause, NULL);
}

/*
 * Sends a part of a buffer.  ENOBUFS means that as many pages are pinned, or completions waiting, as
 * this user or socket may have (RLIMIT_MEMLOCK, net.core.optmem_max): sends under way make room.
 */
static ssize_t send_slot(struct sender *s, const char *buf, size_t len)
{
	const struct zerocopy *z = s->zerocopy;
	ssize_t n;

	while (!sender_stopped(s)) {
		n = z->next - z->oldest < IDS ? send(s->sock, buf, len, MSG_ZEROCOPY) : 0;
		if (n > 0 || (n < 0 && (errno != ENOBUFS || z->next == z->oldest)))
			return n;
		await_completion(s);
	}
	return 0;
}

/* Fills the next buffer once all sends of it are completed, and sends it. */
ssize_t zerocopy_step(struct sender *s, int fd, off_t off, uint64_t len)
{
	struct zerocopy *z = s->zerocopy;
	const unsigned slot = z->slot = z->slot % z->slots + 1;
	char *buf = s->buf + (slot - 1) * s->chunk;
	ssize_t n = 0;

	if (z->busy[slot] > 0)
		zerocopy_reap(s);
	while (z->busy[slot] > 0 && !sender_stopped(s))
		await_completion(s);
	if (!sender_stopped(s))
		n = pread(fd, buf, at_most(len, s->chunk), off);
	if (n > 0)
		n = send_slot(s, buf, (size_t)n);
	if (n > 0) {
		z->slot_of[z->next++ % IDS] = (unsigned char)slot;
		z->busy[slot]++;
	}
	return n;
}

void zerocopy_finish(struct sender *s)
{
	const uint64_t until = now_ns() + PATIENCE_NS * (*s->stop > 0 ? 1 : 10);

	zerocopy_reap(s);
	while (s->zerocopy != NULL && s->zerocopy->oldest != s->zerocopy->next && now_ns() < until)
		await_completion(s);
}

struct zerocopy_figures zerocopy_count(const struct sender *s)
{
	const struct zerocopy *z = s->zerocopy;

	return (struct zerocopy_figures){z->next, z->copied, z->next - z->oldest};
}

void zerocopy_open(struct sender *s)
{
	const size_t slots = s->memory / s->chunk;

	if (sock_set(s->sock, SOL_SOCKET, SO_ZEROCOPY, 1) != 0)
		die_errno("-m zerocopy: SO_ZEROCOPY");
	s->zerocopy = alloc_or_die(1, sizeof(*s->zerocopy), "-m zerocopy");
	s->zerocopy->slots = slots < 2 ? 2 : (unsigned)at_most(slots, SLOTS_MAX);
	s->buf_size *= s->zerocopy->slots;
}
