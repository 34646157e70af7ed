#include "lib/send/sender.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "lib/net/socket.h"
#include "lib/report/usage.h"

#define COPY_SIZE     (64 * 1024)   /* bytes of each read and send, as in 2001 */
#define SENDFILE_SIZE (1024 * 1024) /* bytes of one call: few enough to show progress */
#define PIPE_SIZE     (1024 * 1024) /* bytes of a large pipe, where the system has not set less */
#define MEMORY        (4 * 1024 * 1024) /* bytes of all streams' mappings or buffers together */
#define REAP_NS       10000000u         /* how often completions are looked for in vain */
#define FINISH_NS     10000000000u      /* for which a sender waits for them in the end */

static ssize_t step_sendfile(struct sender *s, int fd, off_t off, uint64_t len)
{
	return sendfile(s->sock, fd, &off, at_most(len, s->chunk));
}

/*
 * Stores where a call's bytes from `off` on are: in the file in memory, or in `buf`, into which it reads them.
 * Uses pread(2) instead of read(2), which does the same work, as streams share the files.  Returns how many
 * there are, or -1 with errno.
 */
static ssize_t get_data(const struct sender *s, int fd, off_t off, uint64_t len, char *buf,
			const char **data)
{
	const size_t size = at_most(len, s->chunk);

	*data = s->data != NULL ? s->data + off : buf;
	return s->data != NULL ? (ssize_t)size : pread(fd, buf, size, off);
}

static ssize_t step_copy(struct sender *s, int fd, off_t off, uint64_t len)
{
	const char *data;
	const ssize_t n = get_data(s, fd, off, len, s->buf, &data);

	if (n <= 0)
		return n;
	return s->method->writes ? write(s->sock, data, (size_t)n)
				 : send(s->sock, data, (size_t)n, 0);
}

static void unmap_window(struct sender *s)
{
	if (s->window.map != NULL)
		munmap(s->window.map, (size_t)s->window.size);
	s->window.map = NULL;
}

/* Maps what there is memory for, from the page of `off` on.  False on failure, with errno. */
static bool map_window(struct sender *s, int fd, off_t off, uint64_t len)
{
	struct window *w = &s->window;

	if (w->map != NULL && w->fd == fd && off >= w->off && off < w->off + w->size)
		return true;
	unmap_window(s);
	w->fd = fd;
	w->off = off - off % getpagesize();
	w->size = (off_t)at_most(len + (uint64_t)(off - w->off), s->memory);
	w->map = mmap(NULL, (size_t)w->size, PROT_READ, MAP_SHARED, fd, w->off);
	if (w->map == MAP_FAILED)
		w->map = NULL;
	return w->map != NULL;
}

/*
 * Sends a part of a file through a mapping.  The program itself never touches the mapping: where
 * the file has shrunk, the kernel finds no page, which is EFAULT and not SIGBUS.
 */
static ssize_t step_mmap(struct sender *s, int fd, off_t off, uint64_t len)
{
	const struct window *w = &s->window;
	struct stat sb;
	size_t size;
	ssize_t n;

	if (!map_window(s, fd, off, len))
		return -1;
	size = at_most(at_most(len, s->chunk), (size_t)(w->off + w->size - off));
	n = send(s->sock, w->map + (off - w->off), size, 0);
	if (n < 0 && errno == EFAULT)
		return 0;
	/* In the last page of a file that has shrunk within that page, zeros follow the data. */
	if (n > 0 && (uint64_t)n == len && fstat(fd, &sb) == 0 && sb.st_size < off + n)
		n = sb.st_size > off ? (ssize_t)(sb.st_size - off) : 0;
	return n;
}

static void open_pipe(struct sender *s)
{
	size_t size;

	if (pipe_large(s->pipe, &size) != 0)
		die_errno("-m splice: pipe");
	s->chunk = at_most(s->chunk, size);
}

static void close_pipe(struct sender *s)
{
	close(s->pipe[0]);
	close(s->pipe[1]);
}

/* Bytes left in the pipe at a stop are lost: nothing is sent after them, and none is counted. */
static ssize_t step_splice(struct sender *s, int fd, off_t off, uint64_t len)
{
	ssize_t in = splice(fd, &off, s->pipe[1], NULL, at_most(len, s->chunk), SPLICE_F_MOVE);
	const unsigned flags = SPLICE_F_MOVE | ((uint64_t)in < len ? SPLICE_F_MORE : 0);
	ssize_t done = 0, n;

	while (done < in) {
		n = splice(s->pipe[0], NULL, s->sock, NULL, (size_t)(in - done), flags);
		if (n < 0 && sender_failed(s))
			return -1;
		if (n < 0 && sender_stopped(s))
			return done;
		done += n > 0 ? n : 0;
		if (n > 0 && done < in)
			s->calls++; /* sender_send() counts one call of each step */
	}
	return in < 0 ? in : done;
}

/*
 * MSG_ZEROCOPY (Documentation/networking/msg_zerocopy.rst).  The kernel owns a buffer until it has
 * completed every send of it, so the sender fills a ring of buffers.  The kernel numbers the sends from
 * 0, as `next` does.
 */

bool sender_reap(struct sender *s)
{
	struct sock_extended_err e;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(e) + sizeof(struct sockaddr_in6))];
	const struct cmsghdr *c;
	struct msghdr m;
	bool any = false;
	uint32_t id;

	for (;;) {
		m = (struct msghdr){.msg_control = control, .msg_controllen = sizeof(control)};
		if (recvmsg(s->sock, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return any;
		any = true;
		c = CMSG_FIRSTHDR(&m);
		if (c == NULL)
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (e.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
			continue;
		/* The sends from ee_info to ee_data are complete. */
		for (id = e.ee_info; id != e.ee_data + 1; id++)
			if (s->owner[id % s->slots] != 0) {
				s->owner[id % s->slots] = 0;
				s->zerocopy.copied += (e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0;
				s->zerocopy.incomplete--;
			}
	}
}

/* Waits for completions, WAIT_MS at most.  The overseer watches whether the server takes data. */
static void zerocopy_await(struct sender *s)
{
	struct pollfd p = {.fd = s->sock};

	/* On a connection that both ends have closed poll(2) returns at once. */
	if (poll(&p, 1, WAIT_MS) > 0 && !sender_reap(s))
		sleep_ns(REAP_NS);
}

/*
 * Fills the next buffer, once the send before is completed, and sends it.  ENOBUFS means that as many
 * pages are pinned, or completions waiting, as this user or socket may have (RLIMIT_MEMLOCK,
 * net.core.optmem_max): sends under way make room.
 */
static ssize_t zerocopy_step(struct sender *s, int fd, off_t off, uint64_t len)
{
	const unsigned slot = s->next % s->slots;
	const char *data;
	ssize_t size, n;

	if (s->owner[slot] != 0)
		sender_reap(s);
	while (s->owner[slot] != 0 && !sender_stopped(s))
		zerocopy_await(s);
	if (s->owner[slot] != 0)
		return 0;
	size = n = get_data(s, fd, off, len, s->buf + slot * s->chunk, &data);
	while (size > 0 && (n = send(s->sock, data, (size_t)size, MSG_ZEROCOPY)) < 0 &&
	       errno == ENOBUFS && s->zerocopy.incomplete > 0) {
		zerocopy_await(s);
		if (sender_stopped(s))
			return 0;
	}
	if (n > 0) {
		s->owner[slot] = 1;
		s->next++;
		s->zerocopy.sends++;
		s->zerocopy.incomplete++;
	}
	return n;
}

static void zerocopy_open(struct sender *s)
{
	if (sock_set(s->sock, SOL_SOCKET, SO_ZEROCOPY, 1) != 0)
		die_errno("-m zerocopy: SO_ZEROCOPY");
}

const struct send_method send_methods[] = {
	{.name = "sendfile", .chunk = SENDFILE_SIZE, .step = step_sendfile},
	{.name = "send", .has_buffer = true, .step = step_copy},
	{.name = "write", .has_buffer = true, .writes = true, .step = step_copy},
	{.name = "mmap", .step = step_mmap, .close = unmap_window},
	{.name = "splice",
	 .chunk = SENDFILE_SIZE,
	 .most = PIPE_SIZE,
	 .open = open_pipe,
	 .step = step_splice,
	 .close = close_pipe},
	{.name = "zerocopy",
	 .has_buffer = true,
	 .lacks_tls = true,
	 .is_zerocopy = true,
	 .open = zerocopy_open,
	 .step = zerocopy_step,
	 .await = zerocopy_await},
	{.name = "uring",
	 .has_buffer = true,
	 .lacks_tls = true,
	 .open = uring_send_open,
	 .step = uring_step,
	 .finish = uring_finish,
	 .close = uring_send_close},
	{.name = "uring-zc",
	 .has_buffer = true,
	 .lacks_tls = true,
	 .is_zerocopy = true,
	 .open = uring_send_open,
	 .step = uring_step,
	 .await = uring_await,
	 .finish = uring_finish,
	 .close = uring_send_close},
};

size_t method_place(const char *name)
{
	const size_t size = sizeof(send_methods[0]);

	return arg_name("-m, --method", name, send_methods, sizeof(send_methods) / size, size);
}

/* The part of the memory that each of N senders has. */
static size_t memory_of(int streams)
{
	const size_t memory = MEMORY / (size_t)streams / COPY_SIZE * COPY_SIZE; /* whole pages */

	return memory > 0 ? memory : COPY_SIZE;
}

size_t method_chunk(const struct send_method *m, uint64_t chunk, int streams)
{
	if (chunk == 0)
		chunk = m->has_buffer ? COPY_SIZE : m->chunk > 0 ? m->chunk : memory_of(streams);
	return at_most(chunk, m->most > 0 ? m->most : SIZE_MAX);
}

void sender_open(struct sender *s, const struct send_method *m, int sock, uint64_t chunk,
		 int streams, const _Atomic int *stop)
{
	*s = (struct sender){.method = m, .sock = sock, .stop = stop, .slots = 1};
	s->chunk = method_chunk(m, chunk, streams);
	s->memory = memory_of(streams);
	if (m->is_zerocopy)
		s->slots = s->memory / s->chunk < 2
				   ? 2
				   : (unsigned)at_most(s->memory / s->chunk, SLOTS_MAX);
	else
		set_unknown(&s->zerocopy, sizeof(s->zerocopy));
	if (m->open != NULL)
		m->open(s);
	if (!m->has_buffer)
		return;
	s->buf_size = s->chunk * s->slots;
	/* No other stream shares these pages, and nobody touches them before its thread does. */
	s->buf = mmap(NULL, s->buf_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (s->buf == MAP_FAILED)
		die_errno("-b, --buffer-size: %zu bytes", s->buf_size);
}

int64_t sender_send(struct sender *s, int fd, off_t off, uint64_t len)
{
	uint64_t done = 0;
	ssize_t n;

	while (done < len && !sender_stopped(s)) {
		n = s->method->step(s, fd, off + (off_t)done, len - done);
		if (n < 0 && sender_failed(s))
			return -1;
		if (n == 0)
			break;
		if (n > 0) {
			done += (uint64_t)n;
			/* As only this thread counts, no locked instruction is needed. */
			atomic_store_explicit(&s->bytes, s->bytes + (uint64_t)n,
					      memory_order_relaxed);
			atomic_store_explicit(&s->calls, s->calls + 1, memory_order_relaxed);
		}
	}
	return (int64_t)done;
}

bool sender_failed(const struct sender *s)
{
	return errno != EINTR && !(errno == EPIPE && sender_stopped(s));
}

bool sender_is_abandoned(struct sender *s)
{
	const uint64_t now = now_ns();

	if (*s->stop <= 0)
		return false;
	if (s->interrupt_ns == 0)
		s->interrupt_ns = now;
	return now - s->interrupt_ns > PATIENCE_NS;
}

void sender_finish(struct sender *s)
{
	const uint64_t until = now_ns() + FINISH_NS;
	const struct send_method *m = s->method;

	while (m->await != NULL && s->zerocopy.incomplete > 0 && now_ns() < until &&
	       !sender_is_abandoned(s))
		m->await(s);
	if (m->finish != NULL)
		m->finish(s);
}

void sender_close(struct sender *s)
{
	close(s->sock);
	if (s->method->close != NULL)
		s->method->close(s);
	if (s->buf != NULL)
		munmap(s->buf, s->buf_size);
	free(s->ring);
}
