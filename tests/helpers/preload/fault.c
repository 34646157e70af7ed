/*
 * fault: a library to preload.  Under it calls of the C library fail, or move fewer bytes than they
 * were asked to.
 *
 *	FAULT		`PROGRAM,CALL,OBJECT,N,ERROR`: the N-th such call fails, counted over all
 *			threads and processes of that name.  ERROR is an errno value's name, SHORT
 *			(one byte at most is moved) or KILL (the process is killed in the call).
 *			A semicolon separates several such faults.
 *	FAULT_LOG	a file, to which a line `reached FAULT` is appended when it does.  Without FAULT
 *			a line `PROGRAM,CALL,OBJECT` is appended for each call.  A line `closed twice`
 *			is for each close(2) of a descriptor that is not open.
 *	FAULT_SLEEP	the most nanoseconds that nanosleep(2) sleeps
 *	SHORT_SEED	of random numbers: in place of FAULT, every call that moves data or waits may move
 *			less, or fail with EINTR, with EAGAIN where the descriptor does not block, and
 *			with ENOBUFS while a send with MSG_ZEROCOPY is not completed
 *	SHORT_LOG	a file, to which a line `CALL DISTURBED ALL` is appended for each call at the end
 */
#include <alloca.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
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
	_Atomic unsigned disturbed, all;
} __attribute__((aligned(32)));

extern struct call __start_calls[], __stop_calls[];

#define NAME(value) [value] = #value
enum { SHORT = 200, KILL };
static const char *const errors[] = {
	NAME(EACCES), NAME(EADDRINUSE),   NAME(EADDRNOTAVAIL), NAME(EAFNOSUPPORT), NAME(EAGAIN),
	NAME(EBUSY),  NAME(ECONNABORTED), NAME(ECONNREFUSED),  NAME(ECONNRESET),   NAME(EINTR),
	NAME(EINVAL), NAME(EIO),          NAME(EMFILE),        NAME(ENOBUFS),      NAME(ENODEV),
	NAME(ENOENT), NAME(ENOLCK),       NAME(ENOMEM),        NAME(ENOSPC),       NAME(ENOTCONN),
	NAME(EPERM),  NAME(EPIPE),        NAME(ETIMEDOUT),     NAME(SHORT),        NAME(KILL),
};
/* Options of sockets that nobody asked for. */
static const char *const options[] = {NAME(SO_KEEPALIVE), NAME(SO_OOBINLINE), NAME(SO_REUSEADDR)};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct fault {
	char text[400]; /* as in FAULT */
	size_t key_len; /* of the text without N and ERROR */
	unsigned long n;
	int error;
} faults[200];
static size_t planned;                 /* of faults[] */
static _Atomic unsigned long *reached; /* how often each of faults[] was; processes share it */
static const char *log_path, *seed, *longest_sleep;
static char directory[256];
static bool started;
static _Atomic unsigned threads;
static _Thread_local uint64_t state;
static _Thread_local bool zerocopy_open; /* this thread's last send was one, and is not completed */
static _Thread_local bool inside;        /* the library's own calls do not count */

static void log_line(const char *line)
{
	char text[600];
	int fd = log_path != NULL ? (int)syscall(SYS_openat, AT_FDCWD, log_path,
						 O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)
				  : -1;

	if (fd < 0)
		return;
	syscall(SYS_write, fd, text, snprintf(text, sizeof(text), "%s\n", line));
	syscall(SYS_close, fd);
}

/* Reads one fault of FAULT. */
static void parse(struct fault *f, const char *text)
{
	char *n, *name;
	size_t i;

	snprintf(f->text, sizeof(f->text), "%s", text);
	if ((name = strrchr(f->text, ',')) == NULL ||
	    (n = memrchr(f->text, ',', (size_t)(name - f->text))) == NULL)
		abort();
	f->key_len = (size_t)(n - f->text);
	f->n = strtoul(n + 1, NULL, 10);
	for (i = 0; i < COUNT(errors); i++)
		if (errors[i] != NULL && strcmp(errors[i], name + 1) == 0)
			f->error = (int)i;
	if (f->error == 0 || f->n == 0)
		abort();
}

static void parse_all(char *list)
{
	char *text;

	while ((text = strsep(&list, ";")) != NULL) {
		if (*text == '\0')
			continue;
		if (planned == COUNT(faults))
			abort();
		parse(&faults[planned++], text);
	}
}

static __attribute__((constructor)) void start(void)
{
	const char *fault = getenv("FAULT");
	struct call *c;

	inside = true;
	/* cppcheck-suppress comparePointers ; of one array */
	for (c = __start_calls; c < __stop_calls; c++)
		if ((*(void **)&c->real = dlsym(RTLD_NEXT, c->name)) == NULL)
			abort();
	reached = mmap(NULL, COUNT(faults) * sizeof(*reached), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	log_path = getenv("FAULT_LOG");
	seed = getenv("SHORT_SEED");
	longest_sleep = getenv("FAULT_SLEEP");
	if (fault != NULL)
		parse_all(strdupa(fault));
	if (getcwd(directory, sizeof(directory)) == NULL || reached == MAP_FAILED)
		abort();
	strcat(directory, "/");
	started = true;
	inside = false;
}

static __attribute__((destructor)) void print_counts(void)
{
	const char *path = getenv("SHORT_LOG");
	FILE *log;
	struct call *c;

	inside = true;
	log = path != NULL ? fopen(path, "ae") : NULL;
	/* cppcheck-suppress comparePointers ; of one array */
	for (c = __start_calls; log != NULL && c < __stop_calls; c++)
		if (c->all > 0)
			fprintf(log, "%s %u %u\n", c->name, c->disturbed, c->all);
	if (log != NULL)
		fclose(log);
}

/* An option of level SOL_SOCKET; -1 if it is no socket. */
static int socket_option(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	syscall(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &len);
	return value;
}

/* What a socket is to be: the family of one for a connection. */
static const char *socket_kind(word family, word type)
{
	if ((type & 0xf) == SOCK_DGRAM) /* the rest are flags */
		return "UDP";
	return family == AF_INET ? "AF_INET" : family == AF_INET6 ? "AF_INET6" : "-";
}

static bool is_tcp(int fd)
{
	return socket_option(fd, SO_PROTOCOL) == IPPROTO_TCP;
}

/*
 * What a call is about: the text, or what the descriptor is.  A path in this directory is relative,
 * and numbers, such as those of processes, are N.
 */
static void describe(char *what, size_t size, int fd, const char *text, int flags)
{
	char name[32], target[256] = "closed", *to = what;
	const char *from = text;
	bool numbers;
	ssize_t n;

	if (fd >= 0 && text == NULL) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		n = readlink(name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		target[strcspn(target, " ")] = '\0';
		from = is_tcp(fd) ? (flags & MSG_DONTWAIT ? "TCP:MSG_DONTWAIT" : "TCP") : target;
	}
	numbers = from != NULL && (text == NULL || text[0] == '/');
	if (from == NULL)
		from = "-";
	if (strncmp(from, directory, strlen(directory)) == 0)
		from += strlen(directory);
	for (; *from != '\0' && to + 1 < what + size; from++)
		if (!numbers || !isdigit((unsigned char)*from))
			*to++ = *from;
		else if (to == what || to[-1] != 'N')
			*to++ = 'N';
	*to = '\0';
	while ((to = strpbrk(what, ", ")) != NULL)
		*to = '_';
}

/* xorshift64 */
static uint64_t number(void)
{
	if (state == 0) {
		state = strtoull(seed, NULL, 10) + 1;
		state = (state << 8 | (++threads & 255)) * 0x9e3779b97f4a7c15u;
	}
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

/* A file blocks, whatever its flags. */
static bool blocks(int fd, int flags)
{
	return (flags & MSG_DONTWAIT) == 0 &&
	       ((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 || lseek(fd, 0, SEEK_CUR) >= 0);
}

static bool fails_by_chance(struct call *c, int fd, int flags, size_t *len)
{
	uint64_t what = number() % 8;
	size_t most;

	c->all++;
	if (what < 2 || (what == 2 && fd >= 0 && !blocks(fd, flags))) {
		c->disturbed++;
		errno = what < 2 ? EINTR : EAGAIN;
		return true;
	}
	most = (size_t)1 << number() %
				    18; /* mostly far less; a datagram goes whole or not at all */
	if (what > 3 && len != NULL && most < *len &&
	    (is_tcp(fd) || socket_option(fd, SO_TYPE) < 0)) {
		*len = 1 + number() % most;
		c->disturbed++;
	}
	return false;
}

/* Whether a fault's key has the n bytes, and if `whole` no more. */
static bool fits(const struct fault *f, const char *line, size_t n, bool whole)
{
	return (whole ? f->key_len == n : f->key_len >= n) && strncmp(line, f->text, n) == 0;
}

/* The planned fault of this call, NULL if it has none. */
static const struct fault *find_fault(const char *line)
{
	const struct fault *found = NULL;
	size_t i;

	for (i = 0; i < planned; i++)
		if (fits(&faults[i], line, strlen(line), true) &&
		    atomic_fetch_add(&reached[i], 1) + 1 == faults[i].n)
			found = &faults[i];
	return found;
}

/* Whether this is a call that FAULT means; if so, its failure is in errno or in *len. */
static bool fails_by_plan(const struct call *c, int fd, const char *text, int flags, size_t *len)
{
	char name[17] = "", line[512], reached_line[500];
	const struct fault *f;
	size_t i = 0;
	int n;

	prctl(PR_GET_NAME, name);
	n = snprintf(line, sizeof(line), "%s,%s,", name, c->name);
	while (i < planned && !fits(&faults[i], line, (size_t)n, false))
		i++;
	if (planned > 0 && i == planned)
		return false;
	describe(line + n, sizeof(line) - (size_t)n, fd, text, flags);
	if (planned == 0)
		log_line(line);
	if ((f = find_fault(line)) == NULL)
		return false;
	snprintf(reached_line, sizeof(reached_line), "reached %s", f->text);
	log_line(reached_line);
	if (f->error == KILL)
		kill(getpid(), SIGKILL);
	if (f->error == SHORT && len != NULL && *len > 1)
		*len = 1;
	errno = f->error;
	return f->error != SHORT;
}

/* Whether the call fails, with errno; if it does not, *len is what is left of it. */
static bool fails(struct call *c, int fd, const char *text, int flags, size_t *len)
{
	const int before = errno;
	bool failed = false;

	if (inside || !started)
		return false;
	inside = true;
	if (seed == NULL)
		failed = fails_by_plan(c, fd, text, flags, len);
	else if (len != NULL)
		failed = fails_by_chance(c, fd, flags, *len == 0 ? NULL : len);
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
#define CALL(function, failure, fd, text, flags, len)                                              \
	DECLARE(function)                                                                          \
	DEFINE(function)                                                                           \
	{                                                                                          \
		if (fails(&call_##function, (int)(fd), text, (int)(flags), (len)))                 \
			return failure;                                                            \
		return call_##function.real(a, b, c, d, e, f);                                     \
	}
/* About nothing, the descriptor or the path that is the first argument, or a text. */
#define CALL_ANY(function)        CALL(function, FAILED, -1, NULL, 0, NULL)
#define CALL_FD(function)         CALL(function, FAILED, a, NULL, 0, NULL)
#define CALL_PATH(function)       CALL(function, FAILED, -1, (const char *)a, 0, NULL)
#define CALL_TEXT(function, text) CALL(function, FAILED, -1, text, 0, NULL)
/* Returns an error, or a pointer. */
#define CALL_ERROR(function, error) CALL(function, (word)(error), -1, NULL, 0, NULL)
/* Moves up to `len` bytes, or waits. */
#define CALL_MOVE(function, fd, flags, len) CALL(function, FAILED, fd, NULL, flags, &(len))
#define CALL_WAIT(function, fd)             CALL(function, FAILED, fd, NULL, 0, &(word){0})

/* Bytes. */
CALL_MOVE(read, a, 0, c)
CALL_MOVE(pread64, a, 0, c)
CALL_MOVE(write, a, 0, c)
CALL_MOVE(recv, a, d, c)
CALL_MOVE(sendfile64, a, 0, d)
CALL_MOVE(splice, is_tcp((int)a) ? a : c, 0, e)
CALL_WAIT(recvmsg, (zerocopy_open = false, a))

DECLARE(send)
DEFINE(send)
{
	word n;

	if (seed != NULL && d & MSG_ZEROCOPY && zerocopy_open && number() % 4 == 0) {
		call_send.all++;
		call_send.disturbed++;
		errno = ENOBUFS;
		return FAILED;
	}
	if (fails(&call_send, (int)a, NULL, (int)d, &c))
		return FAILED;
	n = call_send.real(a, b, c, d, e, f);
	zerocopy_open = n != FAILED && d & MSG_ZEROCOPY;
	return n;
}

/* The first descriptor. */
static int polled(word fds, word n)
{
	return n > 0 ? ((struct pollfd *)fds)->fd : -1;
}
CALL_WAIT(poll, polled(a, b))
CALL_WAIT(ppoll, polled(a, b))
CALL_WAIT(epoll_wait, -1)
CALL_WAIT(accept4, a)

/* Descriptors. */
CALL_FD(fstat64)
CALL_FD(fchmod)
CALL_FD(fsync)
CALL_FD(flock)
CALL_FD(dup2)
CALL_FD(fcntl64)
CALL_FD(eventfd_read)
CALL_FD(bind)
CALL_FD(connect)
CALL_FD(listen)
CALL_FD(shutdown)
CALL(mmap64, FAILED, e, NULL, 0, NULL)
CALL(readdir64, 0, dirfd((DIR *)a), NULL, 0, NULL)

static const char *option_name(word level, word name)
{
	if (level == SOL_SOCKET && name < COUNT(options) && options[name] != NULL)
		return options[name];
	if (level == IPPROTO_TCP &&
	    (name == TCP_KEEPIDLE || name == TCP_KEEPINTVL || name == TCP_KEEPCNT))
		return "TCP_KEEP";
	return level == IPPROTO_IPV6 ? "IPV6" : "other";
}
CALL_TEXT(setsockopt,
	  b == IPPROTO_TCP && c == TCP_CORK ? *(int *)d ? "TCP_CORK" : "uncork" : option_name(b, c))
CALL(getsockopt, FAILED, b == IPPROTO_TCP && c == TCP_INFO ? -1 : (int)a,
     b == IPPROTO_TCP && c == TCP_INFO ? "TCP_INFO" : NULL, 0, NULL)

/* After any error the descriptor is closed all the same: close(2). */
DECLARE(close)
DEFINE(close)
{
	const bool failed = fails(&call_close, (int)a, NULL, 0, NULL);
	const int error = errno;
	const word r = call_close.real(a, b, c, d, e, f);

	if ((int)r != 0 && errno == EBADF && (int)a >= 0)
		log_line("closed twice");
	if (failed)
		errno = error;
	return failed ? FAILED : r;
}

/* Paths. */
CALL_PATH(open64)
CALL_PATH(stat64)
CALL_PATH(lstat64)
CALL_PATH(access)
CALL_PATH(eaccess)
CALL_PATH(mkdir)
CALL_PATH(execvp)
CALL(opendir, 0, -1, (const char *)a, 0, NULL)

/* What is made, and the rest. */
CALL_ANY(linkat)
CALL_ANY(rename)
CALL_ANY(unlink)
CALL_ANY(memfd_create)
CALL_ANY(eventfd)
CALL_ANY(epoll_create1)
CALL_ANY(epoll_ctl)
CALL_ANY(pipe2)
CALL_ANY(fork)
CALL_ANY(waitpid)
CALL_ANY(sigtimedwait)
CALL_ANY(sigwaitinfo)
CALL_ANY(getrlimit64)
CALL_ANY(setrlimit64)
CALL_ANY(setpriority)
CALL_ANY(sched_setscheduler)
CALL_ANY(sched_setaffinity)
CALL_ANY(sched_getaffinity)
CALL_TEXT(socket, socket_kind(a, b))
CALL_ERROR(pthread_create, errno)

DECLARE(nanosleep)
DEFINE(nanosleep)
{
	const struct timespec *t = (const struct timespec *)a;
	const struct timespec most = {0,
				      longest_sleep != NULL ? strtol(longest_sleep, NULL, 10) : 0};

	if (fails(&call_nanosleep, -1, NULL, 0, NULL)) {
		if (b != 0)
			*(struct timespec *)b = *t;
		return FAILED;
	}
	if (longest_sleep != NULL && (t->tv_sec > 0 || t->tv_nsec > most.tv_nsec))
		t = &most;
	return call_nanosleep.real((word)t, b, c, d, e, f);
}

/* Names. */
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
		if (fails(&call_##function, -1, NULL, 0, NULL))                                    \
			return 0;                                                                  \
		return __libc_##function(a, b);                                                    \
	}
CALL_MEMORY(malloc)
CALL_MEMORY(calloc)
CALL_MEMORY(realloc)

/* Under the names by which programs that are built with _FORTIFY_SOURCE call them. */
#define CALL_CHECKED(function, fits, d)                                                            \
	word checked_##function(word a, word b, word c, word size, word e,                         \
				word f) __asm__("__" #function "_chk");                            \
	word checked_##function(word a, word b, word c, word size, word e, word f)                 \
	{                                                                                          \
		if (!(fits))                                                                       \
			abort();                                                                   \
		return fault_##function(a, b, c, d, e, f);                                         \
	}
CALL_CHECKED(read, c <= size, 0)
CALL_CHECKED(pread64, c <= e, size)
CALL_CHECKED(recv, c <= size, e)
CALL_CHECKED(poll, b <= size / sizeof(struct pollfd), 0)
CALL_CHECKED(ppoll, b <= e / sizeof(struct pollfd), size)
/* NOLINTEND(performance-no-int-to-ptr) */
