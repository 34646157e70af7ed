/*
 * short: a library to preload.  Under it calls move fewer bytes than they were asked to, or fail
 * as they may at any time: with EINTR, where the descriptor does not block with EAGAIN, and
 * MSG_ZEROCOPY with ENOBUFS while a send is not completed.
 *
 *	SHORT_SEED	of the random numbers; each thread has its own from there
 *	SHORT_LOG	a file, to which a line `call disturbed all` is appended for each call at the end
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ, PREAD, WRITE, SEND, RECV, RECVMSG, SENDFILE, SPLICE, POLL, ACCEPT, EPOLL, CALLS };

static const char *const name[CALLS] = {
	"read",     "pread",  "write", "send",   "recv",  "recvmsg",
	"sendfile", "splice", "poll",  "accept", "epoll",
};

static _Atomic unsigned disturbed[CALLS], all[CALLS], threads;
static _Thread_local uint64_t state;
static _Thread_local bool zerocopy_open; /* this thread's last send was one, and is not completed */

/* xorshift64 */
static uint64_t number(void)
{
	const char *seed = getenv("SHORT_SEED");

	if (state == 0) {
		state = (seed != NULL ? strtoull(seed, NULL, 10) : 1) + 1;
		state = (state << 8 | (++threads & 255)) * 0x9e3779b97f4a7c15u;
	}
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

/* Whether the call fails, with errno; if it does not, *len is what is left of it. */
static bool fails(int call, bool blocks, size_t *len)
{
	uint64_t what = number() % 8;
	size_t most;

	all[call]++;
	if (what < 2 || (what == 2 && !blocks)) {
		disturbed[call]++;
		errno = what < 2 ? EINTR : EAGAIN;
		return true;
	}
	most = (size_t)1 << number() % 18; /* mostly far less */
	if (what > 3 && len != NULL && most < *len) {
		*len = 1 + number() % most;
		disturbed[call]++;
	}
	return false;
}

/* A file does, whatever its flags. */
static bool blocks(int fd, int flags)
{
	return (flags & MSG_DONTWAIT) == 0 &&
	       ((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 || lseek(fd, 0, SEEK_CUR) >= 0);
}

/* A datagram goes whole or not at all. */
static bool is_stream(int fd)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* The C library's own function of that name. */
static void *next(const char *function)
{
	void *f = dlsym(RTLD_NEXT, function);

	if (f == NULL)
		abort();
	return f;
}

typedef ssize_t read_t(int, void *, size_t);
typedef ssize_t pread_t(int, void *, size_t, off64_t);
typedef ssize_t write_t(int, const void *, size_t);
typedef ssize_t send_t(int, const void *, size_t, int);
typedef ssize_t recv_t(int, void *, size_t, int);
typedef ssize_t recvmsg_t(int, struct msghdr *, int);
typedef ssize_t sendfile_t(int, int, off64_t *, size_t);
typedef ssize_t splice_t(int, off64_t *, int, off64_t *, size_t, unsigned);
typedef int poll_t(struct pollfd *, nfds_t, int);
typedef int ppoll_t(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
typedef int accept4_t(int, struct sockaddr *, socklen_t *, int);
typedef int epoll_wait_t(int, struct epoll_event *, int, int);

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

ssize_t read(int fd, void *buf, size_t len)
{
	read_t *f = (read_t *)next("read");

	if (fails(READ, blocks(fd, 0), &len))
		return -1;
	return f(fd, buf, len);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t off)
{
	pread_t *f = (pread_t *)next("pread64");

	if (fails(PREAD, blocks(fd, 0), &len))
		return -1;
	return f(fd, buf, len, off);
}

ssize_t write(int fd, const void *buf, size_t len)
{
	write_t *f = (write_t *)next("write");

	if (fails(WRITE, blocks(fd, 0), &len))
		return -1;
	return f(fd, buf, len);
}

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	send_t *f = (send_t *)next("send");
	ssize_t n;

	if (flags & MSG_ZEROCOPY && zerocopy_open && number() % 4 == 0) {
		all[SEND]++;
		disturbed[SEND]++;
		errno = ENOBUFS;
		return -1;
	}
	if (fails(SEND, blocks(fd, flags), is_stream(fd) ? &len : NULL))
		return -1;
	n = f(fd, buf, len, flags);
	zerocopy_open = n > 0 && flags & MSG_ZEROCOPY;
	return n;
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	recv_t *f = (recv_t *)next("recv");

	if (fails(RECV, blocks(fd, flags), is_stream(fd) ? &len : NULL))
		return -1;
	return f(fd, buf, len, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	recvmsg_t *f = (recvmsg_t *)next("recvmsg");

	zerocopy_open = false;
	if (fails(RECVMSG, blocks(fd, flags), NULL))
		return -1;
	return f(fd, m, flags);
}

ssize_t sendfile64(int out, int in, off64_t *off, size_t len)
{
	sendfile_t *f = (sendfile_t *)next("sendfile64");

	if (fails(SENDFILE, blocks(out, 0), &len))
		return -1;
	return f(out, in, off, len);
}

ssize_t splice(int in, off64_t *in_off, int out, off64_t *out_off, size_t len, unsigned flags)
{
	splice_t *f = (splice_t *)next("splice");

	if (fails(SPLICE, blocks(in, 0) && blocks(out, 0), &len))
		return -1;
	return f(in, in_off, out, out_off, len, flags);
}

int poll(struct pollfd *p, nfds_t n, int ms)
{
	poll_t *f = (poll_t *)next("poll");

	if (fails(POLL, true, NULL))
		return -1;
	return f(p, n, ms);
}

int ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	ppoll_t *f = (ppoll_t *)next("ppoll");

	if (fails(POLL, true, NULL))
		return -1;
	return f(p, n, t, mask);
}

int accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	accept4_t *f = (accept4_t *)next("accept4");

	if (fails(ACCEPT, blocks(fd, 0), NULL))
		return -1;
	return f(fd, sa, len, flags);
}

int epoll_wait(int fd, struct epoll_event *ev, int n, int ms)
{
	epoll_wait_t *f = (epoll_wait_t *)next("epoll_wait");

	if (fails(EPOLL, true, NULL))
		return -1;
	return f(fd, ev, n, ms);
}

/* Under the names by which programs that are built with _FORTIFY_SOURCE call them. */
ssize_t __read_chk(int fd, void *buf, size_t len, size_t size);
ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t off, size_t size);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags);
int __poll_chk(struct pollfd *p, nfds_t n, int ms, size_t size);
int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *m,
		size_t size);

ssize_t __read_chk(int fd, void *buf, size_t len, size_t size)
{
	return len <= size ? read(fd, buf, len) : (abort(), -1);
}

ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t off, size_t size)
{
	return len <= size ? pread64(fd, buf, len, off) : (abort(), -1);
}

ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags)
{
	return len <= size ? recv(fd, buf, len, flags) : (abort(), -1);
}

int __poll_chk(struct pollfd *p, nfds_t n, int ms, size_t size)
{
	return n <= size / sizeof(*p) ? poll(p, n, ms) : (abort(), -1);
}

int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *m,
		size_t size)
{
	return n <= size / sizeof(*p) ? ppoll(p, n, t, m) : (abort(), -1);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static __attribute__((destructor)) void tell(void)
{
	const char *path = getenv("SHORT_LOG");
	FILE *log = path != NULL ? fopen(path, "ae") : NULL;
	int i;

	for (i = 0; log != NULL && i < CALLS; i++)
		if (all[i] > 0)
			fprintf(log, "%s %u %u\n", name[i], disturbed[i], all[i]);
	if (log != NULL)
		fclose(log);
}
