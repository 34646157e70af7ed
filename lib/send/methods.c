#include "lib/send/methods.h"

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "lib/net/socket.h"
#include "lib/send/zerocopy.h"

#define COPY_SIZE     (64 * 1024)       /* bytes of each read and send, as in 2001 */
#define SENDFILE_SIZE (1024 * 1024)     /* bytes of one call: few enough to show progress */
#define MEMORY        (4 * 1024 * 1024) /* bytes of all streams' mappings or buffers together */

static ssize_t step_sendfile(struct sender *s, int fd, off_t off, uint64_t len)
{
	const ssize_t n = sendfile(s->sock, fd, &off, at_most(len, s->chunk));

	if (n > 0)
		sender_count(s, n);
	return n;
}

/* Sends a buffer by as many calls as it takes.  Returns how many bytes it sent before a stop. */
static ssize_t put_all(struct sender *s, const char *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len && !sender_stopped(s)) {
		n = s->method->put(s, buf + done, at_most(len - done, s->chunk));
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			done += (size_t)n;
			sender_count(s, n);
		}
	}
	return (ssize_t)done;
}

/* Uses pread(2) instead of read(2), which does the same work, as streams share the files. */
static ssize_t step_copy(struct sender *s, int fd, off_t off, uint64_t len)
{
	char *buf = s->zerocopy != NULL ? zerocopy_buffer(s) : s->buf;
	const ssize_t n = buf != NULL ? pread(fd, buf, at_most(len, s->chunk), off) : 0;

	return n > 0 ? put_all(s, buf, (size_t)n) : n;
}

static ssize_t put_send(struct sender *s, const char *buf, size_t len)
{
	return send(s->sock, buf, len, 0);
}

static ssize_t put_write(struct sender *s, const char *buf, size_t len)
{
	return write(s->sock, buf, len);
}

void sender_unmap(struct sender *s)
{
	if (s->window.map != MAP_FAILED)
		munmap(s->window.map, s->window.size);
	s->window.map = MAP_FAILED;
}

/*
 * Sends a part of a file through a mapping.  The program itself never touches the mapping: where
 * the file has shrunk, the kernel finds no page, which is EFAULT and not SIGBUS.
 */
static ssize_t step_mmap(struct sender *s, int fd, off_t off, uint64_t len)
{
	const size_t before = (size_t)off % (size_t)getpagesize();
	const size_t size = at_most(len + before, s->memory);
	const off_t begin = off - (off_t)before;
	struct window *w = &s->window;
	struct stat sb;
	ssize_t n;

	if (w->map == MAP_FAILED || w->fd != fd || w->off != begin || w->size != size) {
		sender_unmap(s);
		w->map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, begin);
		w->fd = fd;
		w->off = begin;
		w->size = size;
	}
	if (w->map == MAP_FAILED)
		return -1;
	n = put_all(s, w->map + before, size - before);
	if (n < 0)
		return errno == EFAULT ? 0 : -1;
	/* In the last page of a file that has shrunk within that page, zeros follow the data. */
	if ((uint64_t)n == len && fstat(fd, &sb) == 0 && sb.st_size < off + n)
		n = sb.st_size > off ? (ssize_t)(sb.st_size - off) : 0;
	return n;
}

/* What is left in the pipe at a stop is lost: nothing is sent after it, and it is not counted. */
static ssize_t step_splice(struct sender *s, int fd, off_t off, uint64_t len)
{
	ssize_t in = splice(fd, &off, s->pipe[1], NULL, at_most(len, s->chunk), SPLICE_F_MOVE);
	const unsigned flags = SPLICE_F_MOVE | ((uint64_t)in < len ? SPLICE_F_MORE : 0);
	ssize_t done = 0, n;

	while (done < in) {
		n = splice(s->pipe[0], NULL, s->sock, NULL, (size_t)(in - done), flags);
		if (n < 0 && errno == EINTR && !sender_stopped(s))
			continue;
		if (n < 0)
			return errno == EINTR ? done : -1;
		done += n;
		sender_count(s, n);
	}
	return in < 0 ? in : done;
}

static void open_pipe(struct sender *s)
{
	size_t size;

	if (pipe_large(s->pipe, &size) != 0)
		die_errno("-m splice: pipe");
	if (s->chunk > size)
		s->chunk = size;
}

static const struct send_method methods[] = {
	{"sendfile", SENDFILE_SIZE, NULL, step_sendfile, NULL},
	{"send", COPY_SIZE, NULL, step_copy, put_send},
	{"write", COPY_SIZE, NULL, step_copy, put_write},
	{"mmap", 0, NULL, step_mmap, put_send},
	{"splice", SENDFILE_SIZE, open_pipe, step_splice, NULL},
	{"zerocopy", COPY_SIZE, zerocopy_open, step_copy, zerocopy_put},
};

const struct send_method *method_named(const char *name)
{
	return &methods[arg_name("-m, --method", name, methods,
				 sizeof(methods) / sizeof(methods[0]), sizeof(methods[0]))];
}

void sender_open(struct sender *s, const struct send_method *m, int sock, size_t chunk, int streams,
		 const _Atomic int *stop)
{
	size_t memory = MEMORY / (size_t)streams;

	memory -= memory % (size_t)getpagesize();
	if (memory < 64 * 1024)
		memory = 64 * 1024;
	if (chunk == 0)
		chunk = m->chunk > 0 ? m->chunk : memory;
	*s = (struct sender){.method = m,
			     .sock = sock,
			     .chunk = chunk,
			     .memory = memory,
			     .stop = stop,
			     .buf_size = m->step == step_copy ? chunk : 0,
			     .pipe = {-1, -1},
			     .window.map = MAP_FAILED};
	if (m->open != NULL)
		m->open(s);
	if (s->buf_size == 0)
		return;
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
		if (n < 0 && errno != EINTR)
			return -1;
		if (n == 0)
			break;
		done += n > 0 ? (uint64_t)n : 0;
	}
	return (int64_t)done;
}

void sender_close(struct sender *s)
{
	int i;

	close(s->sock);
	for (i = 0; i < 2; i++)
		if (s->pipe[i] >= 0)
			close(s->pipe[i]);
	free(s->zerocopy);
	sender_unmap(s);
	if (s->buf != NULL)
		munmap(s->buf, s->buf_size);
}
