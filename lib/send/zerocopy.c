#include "lib/send/zerocopy.h"

#include <linux/errqueue.h>
#include <netinet/in.h>

#define SLOTS_MAX   64        /* buffers of a ring */
#define IDS         1024      /* sends that are not completed */
#define WAIT_MS     100       /* how long one wait for a completion takes at most */
#define REAP_NS     10000000u /* how often completions are looked for in vain */
#define PATIENCE_NS 1000000000u

struct zerocopy {
	unsigned slots, slot;     /* how many buffers there are, and which one is filled next */
	unsigned busy[SLOTS_MAX]; /* sends of each that are not completed */
	unsigned char slot_of[IDS];
	bool open_id[IDS];     /* sends that are not completed; the kernel numbers them from 0 */
	uint32_t next, oldest; /* the next number, and the lowest that is not completed */
	uint64_t copied;       /* sends that the kernel copied after all */
};

/* The sends `lo` to `hi` are completed. */
static void complete(struct zerocopy *z, uint32_t lo, uint32_t hi, bool copied)
{
	uint32_t id;

	for (id = lo; id != hi + 1; id++) {
		if (!z->open_id[id % IDS])
			continue;
		z->open_id[id % IDS] = false;
		z->busy[z->slot_of[id % IDS]]--;
		z->copied += copied;
	}
	while (z->oldest != z->next && !z->open_id[z->oldest % IDS])
		z->oldest++;
}

bool zerocopy_reap(struct sender *s)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct sock_extended_err) +
				    sizeof(struct sockaddr_in6))];
		struct cmsghdr align;
	} control;
	struct sock_extended_err e;
	const struct cmsghdr *c;
	struct msghdr m;
	bool any = false;

	while (s->zerocopy != NULL) {
		m = (struct msghdr){.msg_control = control.buf,
				    .msg_controllen = sizeof(control.buf)};
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

static ssize_t put_zerocopy(struct sender *s, const char *buf, size_t len)
{
	struct zerocopy *z = s->zerocopy;
	const ssize_t n = send(s->sock, buf, len, MSG_ZEROCOPY);

	if (n > 0) {
		z->slot_of[z->next % IDS] = (unsigned char)z->slot;
		z->open_id[z->next % IDS] = true;
		z->busy[z->slot]++;
		z->next++;
		sender_count(s, n);
	}
	return n;
}

/*
 * Sends a buffer.  ENOBUFS: as many pages are pinned, or completions waiting, as this user or
 * socket may have (RLIMIT_MEMLOCK, net.core.optmem_max); sends under way make room.
 */
static ssize_t put_slot(struct sender *s, const char *buf, size_t len)
{
	const struct zerocopy *z = s->zerocopy;
	size_t done = 0;
	ssize_t n;

	while (done < len && !sender_stopped(s)) {
		n = z->next - z->oldest < IDS ? put_zerocopy(s, buf + done, len - done) : 0;
		if (n == 0 || (n < 0 && errno == ENOBUFS && z->next != z->oldest))
			await_completion(s);
		else if (n < 0 && errno != EINTR)
			return -1;
		else if (n > 0)
			done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Fills the next buffer once all sends of it are completed, and sends it. */
ssize_t zerocopy_step(struct sender *s, int fd, off_t off, uint64_t len)
{
	struct zerocopy *z = s->zerocopy;
	char *buf = s->buf + z->slot * s->chunk;
	ssize_t n;

	if (z->busy[z->slot] > 0)
		zerocopy_reap(s);
	while (z->busy[z->slot] > 0 && !sender_stopped(s))
		await_completion(s);
	if (sender_stopped(s))
		return 0;
	n = pread(fd, buf, at_most(len, s->chunk), off);
	if (n > 0) {
		n = put_slot(s, buf, (size_t)n);
		z->slot = (z->slot + 1) % z->slots;
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

void zerocopy_count(const struct sender *s, struct zerocopy_figures *f)
{
	const struct zerocopy *z = s->zerocopy;

	*f = (struct zerocopy_figures){z->next, z->copied, z->next - z->oldest};
}

void zerocopy_open(struct sender *s)
{
	const size_t slots = s->memory / s->chunk;
	const int on = 1;

	if (setsockopt(s->sock, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) != 0)
		die_errno("-m zerocopy: SO_ZEROCOPY");
	s->zerocopy = calloc(1, sizeof(*s->zerocopy));
	if (s->zerocopy == NULL)
		die_errno("-m zerocopy");
	s->zerocopy->slots = slots < 2 ? 2 : (unsigned)at_most(slots, SLOTS_MAX);
	s->buf_size = s->chunk * s->zerocopy->slots;
}
