/*
 * fault: a library to preload.  Under it calls of the C library fail, or move fewer bytes than they
 * were asked to.
 *
 *	FAULT		`N,ERROR,PROGRAM,CALL,OBJECT`: the N-th such call fails, counted over all threads and
 *			processes of that name, or with 0 as N all of them.  ERROR is an errno value's name.
 *	FAULT_LOG	a file, to which a line `reached` is appended when it does, and without FAULT a line
 *			`PROGRAM,CALL,OBJECT` for each call.  A line `closed twice` is for each close(2) of a
 *			descriptor that is not open.
 *	SHORT_SEED	of random numbers: in place of FAULT, every call that moves data or waits may move less, or
 *			fail with EINTR, as the first of each kind does; with EAGAIN where the descriptor does not
 *			block; and with ENOBUFS while a send with MSG_ZEROCOPY is not completed
 */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* NOLINTBEGIN(performance-no-int-to-ptr): arguments pass as numbers, whatever their type */

/* An argument or a result, whatever its type. */
typedef unsigned long word;
_Static_assert(sizeof(word) == sizeof(off64_t), "a file's offset is one argument");
#define FAILED ((word)-1)

/* One function; all of them are an array, which the linker makes of a section. */
struct call {
	const char *name;
	word (*real)(word, word, word, word, word, word); /* the C library's own */
	_Atomic unsigned n;
} __attribute__((aligned(32)));

extern struct call __start_calls[], __stop_calls[];

#define NAME(value) [value] = #value
static const char *const errors[] = {
	NAME(EACCES),       NAME(EADDRINUSE), NAME(EAFNOSUPPORT), NAME(EAGAIN), NAME(ECONNABORTED),
	NAME(ECONNREFUSED), NAME(EINVAL),     NAME(EIO),          NAME(EMFILE), NAME(ECONNRESET),
	NAME(ENOBUFS),      NAME(ENODEV),     NAME(ENOMEM),       NAME(ENOSPC), NAME(EPERM),
	NAME(EPIPE),        NAME(ETIMEDOUT),
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char planned[400]; /* as in FAULT, without N and ERROR; empty: nothing is planned */
static unsigned long planned_n;
static int planned_error;
static _Atomic unsigned long *found; /* how many calls were as planned; processes share it */
static const char *log_path, *seed;
static bool started;
static _Atomic unsigned threads;
static _Thread_local unsigned short state[3];
static _Thread_local bool zerocopy_open; /* this thread's last send was one, and is not completed */
static _Thread_local bool inside;        /* the library's own calls do not count */

static void log_line(const char *line)
{
	int fd;

	if (log_path == NULL)
		return;
	fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	dprintf(fd, "%s\n", line);
	close(fd);
}

static void parse(const char *fault)
{
	char name[32];
	size_t i;

	if (sscanf(fault, "%lu,%31[A-Z],%399s", &planned_n, name, planned) != 3)
		abort();
	for (i = 0; i < COUNT(errors); i++)
		if (errors[i] != NULL && strcmp(errors[i], name) == 0)
			planned_error = (int)i;
	if (planned_error == 0)
		abort();
}

static __attribute__((constructor)) void start(void)
{
	struct call *c;

	inside = true;
	/* cppcheck-suppress comparePointers ; of one array */
	for (c = __start_calls; c < __stop_calls; c++)
		if ((*(void **)&c->real = dlsym(RTLD_NEXT, c->name)) == NULL)
			abort();
	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	log_path = getenv("FAULT_LOG");
	seed = getenv("SHORT_SEED");
	if (getenv("FAULT") != NULL)
		parse(getenv("FAULT"));
	if (found == MAP_FAILED)
		abort();
	started = true;
	inside = false;
}

/* An option of level SOL_SOCKET; -1 if it is no socket. */
static int socket_option(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	syscall(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &len);
	return value;
}

static bool is_tcp(int fd)
{
	return socket_option(fd, SO_PROTOCOL) == IPPROTO_TCP;
}

/*
 * What a call is about: the text, or what the descriptor is.  Numbers in a path, such as those of processes, are N.
 */
static void describe(char *what, size_t size, int fd, const char *text, int flags)
{
	char name[32], target[256] = "closed", *to = what;
	const bool numbers = text == NULL || text[0] == '/';
	ssize_t n;

	if (fd >= 0 && text == NULL) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		n = readlink(name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		target[strcspn(target, " ")] = '\0';
		text = is_tcp(fd) ? (flags & MSG_DONTWAIT ? "TCP:MSG_DONTWAIT" : "TCP") : target;
	}
	for (text = text == NULL ? "-" : text; *text != '\0' && to + 1 < what + size; text++)
		if (!numbers || !isdigit((unsigned char)*text))
			*to++ = (char)(strchr(", ", *text) != NULL ? '_' : *text);
		else if (to == what || to[-1] != 'N')
			*to++ = 'N';
	*to = '\0';
}

static unsigned long number(void)
{
	if (state[2] == 0) {
		state[0] = (unsigned short)strtoul(seed, NULL, 10);
		state[2] = (unsigned short)++threads;
	}
	return (unsigned long)nrand48(state) >> 4;
}

/* A file blocks, whatever its flags. */
static bool blocks(int fd, int flags)
{
	return (flags & MSG_DONTWAIT) == 0 &&
	       ((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 || lseek(fd, 0, SEEK_CUR) >= 0);
}

/* A call that waits; with `len` it moves data, too, or may be one that does not block. */
static bool fails_by_chance(struct call *c, int fd, int flags, word *len)
{
	unsigned long what = c->n++ == 0 ? 0 : number() % 8;
	size_t most;

	if (what < 2 || (what == 2 && len != NULL && !blocks(fd, flags))) {
		errno = what < 2 ? EINTR : EAGAIN;
		return true;
	}
	most = (size_t)1 << number() %
				    18; /* mostly far less; a datagram goes whole or not at all */
	if (what > 3 && len != NULL && most < *len &&
	    (is_tcp(fd) || socket_option(fd, SO_TYPE) < 0))
		*len = 1 + number() % most;
	return false;
}

/* Whether this is the call that FAULT means; if so, its failure is in errno. */
static bool fails_by_plan(const struct call *c, int fd, const char *text, int flags)
{
	char name[17] = "", line[512];
	int n;

	prctl(PR_GET_NAME, name);
	n = snprintf(line, sizeof(line), "%s,%s,", name, c->name);
	if (planned[0] != '\0' && strncmp(line, planned, (size_t)n) != 0)
		return false;
	describe(line + n, sizeof(line) - (size_t)n, fd, text, flags);
	if (planned[0] == '\0')
		log_line(line);
	if (strcmp(line, planned) != 0 || (++*found != planned_n && planned_n != 0))
		return false;
	log_line("reached");
	errno = planned_error;
	return true;
}

/* Whether the call fails, with errno; if it does not, *len is what is left of it. */
static bool fails(struct call *c, bool waits, int fd, const char *text, int flags, word *len)
{
	const int before = errno;
	bool failed = false;

	if (inside || !started)
		return false;
	inside = true;
	if (seed == NULL)
		failed = fails_by_plan(c, fd, text, flags);
	else if (waits)
		failed = fails_by_chance(c, fd, flags, len);
	inside = false;
	if (!failed)
		errno = before;
	return failed;
}

#define DECLARE(function)                                                                          \
	static struct call call_##function                                                         \
		__attribute__((section("calls"), used)) = {.name = #function};                     \
	word fault_##function(word a, word b, word c, word d, word e, word f) __asm__(#function);
#define DEFINE(function) word fault_##function(word a, word b, word c, word d, word e, word f)

/* A function that passes its arguments on as they are; fd, text and *len may be made of them. */
#define CALL(function, failure, waits, fd, text, flags, len)                                       \
	DECLARE(function)                                                                          \
	DEFINE(function)                                                                           \
	{                                                                                          \
		if (fails(&call_##function, waits, (int)(fd), text, (int)(flags), (len)))          \
			return failure;                                                            \
		return call_##function.real(a, b, c, d, e, f);                                     \
	}
/* About nothing, the descriptor or the path that is the first argument, or two numbers. */
#define CALL_ANY(function)        CALL(function, FAILED, false, -1, NULL, 0, NULL)
#define CALL_FD(function)         CALL(function, FAILED, false, a, NULL, 0, NULL)
#define CALL_PATH(function)       CALL(function, FAILED, false, -1, (const char *)a, 0, NULL)
#define CALL_PAIR(function, x, y) CALL(function, FAILED, false, -1, pair(x, y), 0, NULL)
/* Returns an error, or a pointer. */
#define CALL_ERROR(function, error) CALL(function, (word)(error), false, -1, NULL, 0, NULL)
/* Moves up to `len` bytes, or waits. */
#define CALL_MOVE(function, fd, flags, len) CALL(function, FAILED, true, fd, NULL, flags, &(len))
#define CALL_WAIT(function, fd)             CALL(function, FAILED, true, fd, NULL, 0, NULL)

/* Bytes. */
CALL_MOVE(read, a, 0, c)
CALL_MOVE(pread64, a, 0, c)
CALL_MOVE(write, a, 0, c)
CALL_MOVE(recv, a, d, c)
CALL_MOVE(sendfile64, a, 0, d)
CALL_MOVE(splice, is_tcp((int)a) ? a : c, 0, e)
CALL_MOVE(recvmsg, (zerocopy_open = false, a), 0, (word){0})

DECLARE(send)
DEFINE(send)
{
	word n;

	if (seed != NULL && d & MSG_ZEROCOPY && zerocopy_open && number() % 4 == 0) {
		errno = ENOBUFS;
		return FAILED;
	}
	if (fails(&call_send, true, (int)a, NULL, (int)d, &c))
		return FAILED;
	n = call_send.real(a, b, c, d, e, f);
	zerocopy_open = n != FAILED && d & MSG_ZEROCOPY;
	return n;
}

/* What waits, by its first descriptor. */
static int polled(word fds, word n)
{
	return n > 0 ? ((struct pollfd *)fds)->fd : -1;
}
CALL_WAIT(poll, polled(a, b))
CALL_WAIT(ppoll, polled(a, b))
CALL_WAIT(epoll_wait, -1)
CALL_MOVE(accept4, a, 0, (word){0})
CALL_WAIT(connect, a)
CALL_WAIT(eventfd_read, a)
CALL_WAIT(fsync, a)
CALL(open64, FAILED, true, -1, (const char *)a, 0, NULL)

/* All of the time is left. */
CALL(nanosleep, b != 0 ? (*(struct timespec *)b = *(struct timespec *)a, FAILED) : FAILED, true, -1,
     NULL, 0, NULL)

/* After any error the descriptor is closed all the same: close(2). */
DECLARE(close)
DEFINE(close)
{
	const bool failed = fails(&call_close, true, (int)a, NULL, 0, NULL);
	const int error = errno;
	const word r = call_close.real(a, b, c, d, e, f);

	if ((int)r != 0 && errno == EBADF && (int)a >= 0)
		log_line("closed twice");
	if (!failed)
		return r;
	errno = error;
	return FAILED;
}

/* Descriptors. */
CALL_FD(fstat64)
CALL_FD(fchmod)
CALL_FD(fcntl64)
CALL_FD(bind)
CALL_FD(listen)
CALL_FD(shutdown)
CALL(mmap64, FAILED, false, e, NULL, 0, NULL)
CALL(readdir64, 0, false, dirfd((DIR *)a), NULL, 0, NULL)

/* Sockets by family and kind, without its flags, and their options by level and number. */
static const char *pair(word x, word y)
{
	static _Thread_local char text[32];

	snprintf(text, sizeof(text), "%d:%d", (int)x, (int)y);
	return text;
}
CALL_PAIR(socket, a, b & 0xf)
CALL_PAIR(setsockopt, b, c)
CALL_PAIR(getsockopt, b, c)

/* Paths. */
CALL_PATH(lstat64)
CALL(opendir, 0, false, -1, (const char *)a, 0, NULL)

/* What is made, and the rest. */
CALL_ANY(renameat)
CALL_ANY(unlinkat)
CALL_ANY(memfd_create)
CALL_ANY(eventfd)
CALL_ANY(epoll_create1)
CALL_ANY(epoll_ctl)
CALL_ANY(pipe2)
CALL_ANY(sched_setaffinity)
CALL_ANY(sched_getaffinity)
CALL_ERROR(pthread_create, errno)
CALL_ERROR(getaddrinfo, EAI_MEMORY)
CALL_ERROR(getnameinfo, EAI_MEMORY)
CALL_ERROR(if_indextoname, 0)

/* Memory, also the C library's.  The loader asks for it before start(). */
#define CALL_MEMORY(function)                                                                      \
	word __libc_##function(word a, word b);                                                    \
	DECLARE(function)                                                                          \
	DEFINE(function)                                                                           \
	{                                                                                          \
		(void)c, (void)d, (void)e, (void)f;                                                \
		if (fails(&call_##function, false, -1, NULL, 0, NULL))                             \
			return 0;                                                                  \
		return __libc_##function(a, b);                                                    \
	}
CALL_MEMORY(malloc)
CALL_MEMORY(calloc)
CALL_MEMORY(realloc)
/* NOLINTEND(performance-no-int-to-ptr) */
