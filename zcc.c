/*
 * zcc: sends files to zcs over TCP and says what that cost both hosts.
 */
#include "common.h"
#include "lib/load/calibration.h"
#include "lib/load/counters.h"
#include "lib/load/cpus.h"
#include "lib/load/limits.h"
#include "lib/load/load.h"
#include "lib/load/soaker.h"
#include "lib/net/socket.h"
#include "lib/net/wire.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"
#include "lib/report/terms.h"
#include "lib/report/units.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define BUILTIN_FILES   63                /* the file set behind the published tables */
#define BUILTIN_SIZE    (350 * 1024)      /* bytes of each */
#define ENTRY_SPLIT     0xfffff000u       /* of a file that takes several entries: whole pages */
#define COPY_SIZE       (64 * 1024)       /* of each read and send, unless -b; the size of 2001 */
#define SENDFILE_SIZE   (1024 * 1024)     /* the most of one call, unless -b: progress shows */
#define MEMORY          (4 * 1024 * 1024) /* of all streams' windows or rings together */
#define RING_MAX        64                /* buffers of a stream that MSG_ZEROCOPY has */
#define RING_IDS        1024              /* sends of a stream that are not completed */
#define OPEN_RESERVE    64                /* descriptors that are not for files kept open */
#define OPEN_STREAM     4                 /* and of each stream */
#define STREAMS_MAX     1024
#define SIZES_MAX       64  /* of a list */
#define REQUEST_TIMEOUT 60  /* seconds, unless --timeout: none may hang for ever */
#define REQUESTS        100 /* connections of each size, unless -n: as many as in 1999 */
#define WARMUP_MAX      100 /* seconds */
#define WARMUP_LOOPS    (WARMUP_MAX * (1000000000 / WIRE_WARMUP_NS))
#define TICK_NS         100000000u /* a stream that blocks when it should stop is told again */
#define REAP_NS         10000000u  /* how often completions are looked for in vain */
#define PROGRESS_NS     500000000u
#define PATIENCE_NS     1000000000u /* with the server, once interrupted */
#define TIME_UP         (-1)        /* why it stops: the time is over */
#define LIMIT_BYTES     65536       /* a server that moves fewer in each --timeout is slow, and */
#define LIMIT_SECONDS   10.0        /* is waited for so long, or 2 x --timeout, at the end */
#define DISCARD_MAX     (1 << 20)   /* bytes of a raw server's answer that one call discards */
#define DISCARD_NS      10000000u   /* how often they are, where poll(2) would return too often */
#define RAW_NS          1000000u /* how often a raw stream is asked whether all is acknowledged */
#define RAW_SILENCE_NS  1000000000u /* a raw server that says nothing for so long is done */

struct stream;

/*
 * A way to send: `send` moves `len` bytes of `fd` from `off` and returns how many, fewer when it
 * is to stop or the file has shrunk, or -1 with errno set.
 */
struct method {
	const char *name;
	int64_t (*send)(struct stream *st, int fd, off_t off, uint64_t len);
	void (*open)(struct stream *st);                       /* gets what it needs, or dies */
	ssize_t (*put)(int sock, const void *buf, size_t len); /* of those that copy */
};

struct file {
	const char *name;
	int fd; /* -1: opened each time, when there are more files than descriptors */
	uint64_t size;
};

struct fileset {
	struct file *file;
	size_t n;
	uint32_t entries; /* that they take on the wire */
	uint64_t bytes;
	bool builtin;
};

/* A buffer of MSG_ZEROCOPY belongs to the kernel until it has completed every send of it. */
struct ring {
	unsigned slots, slot;    /* how many, and which comes next */
	unsigned busy[RING_MAX]; /* sends of each that are not completed */
	unsigned char slot_of[RING_IDS];
	bool open_id[RING_IDS]; /* that are not completed; the kernel numbers sends from 0 */
	uint32_t next, oldest;  /* of the ids, those that are not completed */
	uint64_t copied;        /* sends that the kernel copied after all */
};

/* The part of a file that is mapped; it stays until another is. */
struct window {
	char *map; /* NULL: none */
	size_t size;
	off_t off;
	int fd;
};

/* What the other threads may read of a stream at any time. */
struct mark {
	uint64_t ns, bytes, calls, files;
	struct tcp_figures tcp;
};

struct stream {
	pthread_t thread;
	int number, sock;
	char peer[ADDR_STRLEN];
	size_t chunk; /* the most asked of one call */
	char *buf;
	size_t buf_size;
	int pipe[2];
	struct ring *ring;
	struct window window;
	_Atomic uint64_t bytes, calls, files; /* so far; only its own thread writes them */
	_Atomic uint64_t headers;             /* bytes of the wire that are not in files */
	uint64_t loops;
	_Atomic bool sending; /* it may block in a send */
	_Atomic bool shut;    /* its sending side is closed: the FIN takes a byte of the sequence */
	/* Of what is measured, and of the interval. */
	struct mark begin, end, last;
	double acked;           /* by the server, headers too, and when that last grew: */
	uint64_t acked_ns;      /* of the main thread, for --timeout */
	struct tcp_figures tcp; /* when all had been sent */
	uint64_t end_ns;        /* when the server had said that it has all */
	struct figures sent, received;
	bool has_receipt;
};

/* A list of sizes, each of which is a run of its own. */
struct sizes {
	int n;
	uint64_t size[SIZES_MAX];
};

static struct {
	struct sock_options sock;
	struct cpus bind;
	const char *server, *port;
	const struct method *method;
	int family;
	size_t chunk;          /* 0: the method's default */
	struct sizes chunks;   /* -b: of each run; none: the default */
	struct sizes requests; /* --request: bytes to ask for */
	uint32_t loops;
	double seconds; /* 0: by loops */
	double warmup, interval, timeout;
	uint64_t pace; /* bytes per second, 0: no limit */
	int streams, mss;
	int n_cpus; /* 0: all */
	int debug;
	bool cork, nodelay, load, calibrate, force, use_send, use_write, raw, json, quiet;
} opt = {
	.server = "",
	.family = AF_UNSPEC,
	.loops = 1,
	.streams = 1,
};

/* Why to send no more: TIME_UP, or the signal that interrupts. */
static _Atomic int stop;

static bool stopped(void)
{
	return atomic_load_explicit(&stop, memory_order_relaxed) != 0;
}

static bool interrupted(void)
{
	return stop > 0;
}

/* The line of progress on a terminal, where it is in the way of what is printed next. */
static _Atomic bool has_progress;

static void clear_progress(void)
{
	if (has_progress)
		fputs("\r\033[K", stderr);
	has_progress = false;
}

/* The JSON report, and who may write it: the main thread, and a thread that dies. */
static struct json json;
static pthread_mutex_t json_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

/* What else there is to do when the program dies: die_init(). */
static void close_report(const char *why)
{
	pthread_mutex_lock(&json_lock); /* an error where the thread that dies has it: no matter */
	clear_progress();
	if (opt.json)
		json_fail(&json, why);
}

/*
 * The ways to send.
 */

static void add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* A call that sent so much. */
static void count(struct stream *st, ssize_t n)
{
	add(&st->bytes, (uint64_t)n);
	add(&st->calls, 1);
}

/* What a call that failed means: true to try again. */
static bool again(void)
{
	return errno == EINTR && !stopped();
}

/* Whether it failed only because it is to stop. */
static bool is_stop(void)
{
	return errno == EINTR;
}

static size_t at_most(uint64_t len, size_t max)
{
	return len < max ? (size_t)len : max;
}

static int64_t send_sendfile(struct stream *st, int fd, off_t off, uint64_t len)
{
	uint64_t done = 0;
	ssize_t n;

	while (done < len && !stopped()) {
		n = sendfile(st->sock, fd, &off, at_most(len - done, st->chunk));
		if (n < 0) {
			if (again())
				continue;
			return is_stop() ? (int64_t)done : -1;
		}
		if (n == 0) /* the file has shrunk */
			break;
		done += (uint64_t)n;
		count(st, n);
	}
	return (int64_t)done;
}

/* Sends all of a buffer, whatever a call takes; returns how much went out before a stop. */
static ssize_t put_all(struct stream *st, const char *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len && !stopped()) {
		n = opt.method->put(st->sock, buf + done, at_most(len - done, st->chunk));
		if (n < 0) {
			if (again())
				continue;
			return is_stop() ? (ssize_t)done : -1;
		}
		done += (size_t)n;
		count(st, n);
	}
	return (ssize_t)done;
}

/* Fills a buffer from the file: pread(2) is read(2)'s work, and streams can share a file. */
static ssize_t fill_buffer(const struct stream *st, char *buf, int fd, off_t off, uint64_t len)
{
	ssize_t n;

	do
		n = pread(fd, buf, at_most(len, st->chunk), off);
	while (n < 0 && again());
	return n < 0 && is_stop() ? 0 : n;
}

static int64_t send_copy(struct stream *st, int fd, off_t off, uint64_t len)
{
	uint64_t done = 0;
	ssize_t got, n;

	while (done < len && !stopped()) {
		got = fill_buffer(st, st->buf, fd, off + (off_t)done, len - done);
		if (got <= 0)
			return got < 0 ? -1 : (int64_t)done;
		n = put_all(st, st->buf, (size_t)got);
		if (n < 0)
			return -1;
		done += (uint64_t)n;
	}
	return (int64_t)done;
}

static ssize_t put_send(int sock, const void *buf, size_t len)
{
	return send(sock, buf, len, 0);
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* The share of MEMORY that each stream has, whole pages, and not below 64 KiB. */
static size_t memory_share(void)
{
	size_t share = MEMORY / (size_t)opt.streams;

	share -= share % page_size();
	return share > 64 * 1024 ? share : 64 * 1024;
}

static void window_close(struct stream *st)
{
	if (st->window.map != NULL)
		munmap(st->window.map, st->window.size);
	st->window.map = NULL;
}

/* Maps a part of a file, unless that is what is mapped already. */
static int window_open(struct stream *st, int fd, off_t off, size_t size)
{
	struct window *w = &st->window;

	if (w->map != NULL && w->fd == fd && w->off == off && w->size == size)
		return 0;
	window_close(st);
	w->map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, off);
	if (w->map == MAP_FAILED) {
		w->map = NULL;
		return -1;
	}
	w->fd = fd;
	w->off = off;
	w->size = size;
	return 0;
}

/*
 * Sends a part of a file through a mapping.  The program itself never touches it: where the file
 * has shrunk, it is the kernel that finds no page, and that is EFAULT and no SIGBUS.
 */
static ssize_t send_window(struct stream *st, int fd, off_t off, uint64_t len)
{
	size_t before = (size_t)off % page_size();
	size_t size = at_most(len + before, memory_share());
	ssize_t n;

	if (window_open(st, fd, off - (off_t)before, size) != 0)
		return -1;
	n = put_all(st, st->window.map + before, size - before);
	return n < 0 && errno == EFAULT ? 0 : n;
}

static int64_t send_mmap(struct stream *st, int fd, off_t off, uint64_t len)
{
	uint64_t done = 0;
	struct stat sb;
	ssize_t n = 1;

	while (done < len && n > 0 && !stopped()) {
		n = send_window(st, fd, off + (off_t)done, len - done);
		if (n < 0)
			return -1;
		done += (uint64_t)n;
	}
	/* The last page of a file that has shrunk within it is there, filled up with zeros. */
	if (fstat(fd, &sb) == 0 && sb.st_size < off + (off_t)done)
		done = sb.st_size > off ? (uint64_t)(sb.st_size - off) : 0;
	return (int64_t)done;
}

/* Empties the pipe into the socket; false when it fails, with errno EINTR when it is to stop. */
static bool empty_pipe(struct stream *st, size_t in, unsigned flags)
{
	size_t done = 0;
	ssize_t n;

	while (done < in) {
		n = splice(st->pipe[0], NULL, st->sock, NULL, in - done, flags);
		if (n < 0 && again())
			continue;
		if (n < 0)
			return false;
		done += (size_t)n;
		count(st, n);
	}
	return true;
}

/* What is in the pipe at a stop is lost, but for the count: nothing is sent after it. */
static int64_t send_splice(struct stream *st, int fd, off_t off, uint64_t len)
{
	uint64_t before = st->bytes, done = 0;
	ssize_t n;

	while (done < len && !stopped()) {
		n = splice(fd, &off, st->pipe[1], NULL, at_most(len - done, st->chunk),
			   SPLICE_F_MOVE);
		if (n == 0)
			break;
		if (n < 0 && again())
			continue;
		done += n > 0 ? (uint64_t)n : 0;
		if (n < 0 ||
		    !empty_pipe(st, (size_t)n, SPLICE_F_MOVE | (done < len ? SPLICE_F_MORE : 0)))
			return is_stop() ? (int64_t)(st->bytes - before) : -1;
	}
	return (int64_t)done;
}

/* The sends `lo` to `hi` are completed: MSG_ZEROCOPY, Documentation/networking/msg_zerocopy.rst. */
static void complete(struct ring *r, uint32_t lo, uint32_t hi, bool copied)
{
	uint32_t id;

	for (id = lo; id != hi + 1; id++) {
		if (!r->open_id[id % RING_IDS])
			continue;
		r->open_id[id % RING_IDS] = false;
		r->busy[r->slot_of[id % RING_IDS]]--;
		r->copied += copied;
	}
	while (r->oldest != r->next && !r->open_id[r->oldest % RING_IDS])
		r->oldest++;
}

/* Takes what completions there are; false if there were none. */
static bool reap(struct stream *st)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct sock_extended_err) +
				    sizeof(struct sockaddr_in6))];
		struct cmsghdr align;
	} control;
	struct msghdr m;
	const struct cmsghdr *c;
	struct sock_extended_err e;
	bool any = false;

	for (;;) {
		m = (struct msghdr){.msg_control = control.buf,
				    .msg_controllen = sizeof(control.buf)};
		if (recvmsg(st->sock, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return any;
		any = true;
		c = CMSG_FIRSTHDR(&m);
		if (c == NULL)
			continue;
		memcpy(&e, CMSG_DATA(c), sizeof(e));
		if (e.ee_origin == SO_EE_ORIGIN_ZEROCOPY)
			complete(st->ring, e.ee_info, e.ee_data,
				 e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED);
	}
}

/*
 * Waits for completions for a tick at most.  False, with errno as a send's timeout has it, when
 * none has come for too long: *since is when the wait began, 0 before it does.
 */
static bool await_completion(struct stream *st, uint64_t *since)
{
	const struct timespec pause = {.tv_nsec = REAP_NS};
	struct pollfd p = {.fd = st->sock};
	uint32_t oldest = st->ring->oldest;
	uint64_t now;

	/* Of a connection that both ends have closed poll(2) returns at once, whatever comes. */
	if (poll(&p, 1, TICK_NS / 1000000) > 0 && !reap(st))
		nanosleep(&pause, NULL);
	now = now_ns();
	if (*since == 0 || st->ring->oldest != oldest)
		*since = now;
	errno = EAGAIN;
	return opt.timeout <= 0 || seconds_between(*since, now) < opt.timeout;
}

/* One send of a buffer's rest; -1 with errno. */
static ssize_t put_zerocopy(struct stream *st, const char *buf, size_t len)
{
	struct ring *r = st->ring;
	ssize_t n = send(st->sock, buf, len, MSG_ZEROCOPY);

	if (n > 0) {
		r->slot_of[r->next % RING_IDS] = (unsigned char)r->slot;
		r->open_id[r->next % RING_IDS] = true;
		r->busy[r->slot]++;
		r->next++;
		count(st, n);
	}
	return n;
}

/*
 * Sends a buffer.  ENOBUFS: as many pages are pinned, or completions waiting, as this user or
 * socket may have (RLIMIT_MEMLOCK, net.core.optmem_max); those that are under way make room.
 */
static ssize_t put_slot(struct stream *st, const char *buf, size_t len)
{
	struct ring *r = st->ring;
	uint64_t since = 0;
	size_t done = 0;
	ssize_t n;

	while (done < len && !stopped()) {
		n = r->next - r->oldest < RING_IDS ? put_zerocopy(st, buf + done, len - done) : 0;
		if (n == 0 || (n < 0 && errno == ENOBUFS && r->next != r->oldest)) {
			if (!await_completion(st, &since))
				return -1;
		} else if (n < 0 && !again()) {
			return is_stop() ? (ssize_t)done : -1;
		} else if (n > 0) {
			done += (size_t)n;
			since = 0;
		}
	}
	return (ssize_t)done;
}

/* A buffer is filled again when its sends are completed: it waits for no others. */
static int64_t send_zerocopy(struct stream *st, int fd, off_t off, uint64_t len)
{
	struct ring *r = st->ring;
	uint64_t done = 0, since = 0;
	ssize_t got, n;
	char *buf;

	while (done < len && !stopped()) {
		if (r->busy[r->slot] > 0)
			reap(st);
		while (r->busy[r->slot] > 0 && !stopped())
			if (!await_completion(st, &since))
				return -1;
		if (stopped())
			break;
		buf = st->buf + r->slot * st->chunk;
		got = fill_buffer(st, buf, fd, off + (off_t)done, len - done);
		if (got <= 0)
			return got < 0 ? -1 : (int64_t)done;
		n = put_slot(st, buf, (size_t)got);
		if (n < 0)
			return -1;
		done += (uint64_t)n;
		since = 0;
		r->slot = (r->slot + 1) % r->slots;
	}
	return (int64_t)done;
}

/* All completions are in before anything is reported, or the server does not let them come. */
static void finish_zerocopy(struct stream *st)
{
	uint64_t until = now_ns() + PATIENCE_NS * (interrupted() ? 1 : 10), since = 0;

	reap(st);
	while (st->ring->oldest != st->ring->next && now_ns() < until)
		await_completion(st, &since);
}

/* Pages of its own, which no other stream shares and nobody touches before its thread does. */
static void buffer_open(struct stream *st, size_t size)
{
	st->buf = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (st->buf == MAP_FAILED)
		die("-b, --buffer-size: %zu bytes: %s", size, strerror(errno));
	st->buf_size = size;
}

static void open_sendfile(struct stream *st)
{
	if (st->chunk == 0)
		st->chunk = SENDFILE_SIZE;
}

static void open_copy(struct stream *st)
{
	if (st->chunk == 0)
		st->chunk = COPY_SIZE;
	buffer_open(st, st->chunk);
}

static void open_mmap(struct stream *st)
{
	if (st->chunk == 0)
		st->chunk = memory_share();
}

static void open_splice(struct stream *st)
{
	size_t size;

	if (pipe_large(st->pipe, &size) != 0)
		die("-m splice: pipe: %s", strerror(errno));
	if (st->chunk == 0 || st->chunk > size)
		st->chunk = size;
}

static void open_zerocopy(struct stream *st)
{
	size_t slots;
	int on = 1;

	if (st->chunk == 0)
		st->chunk = COPY_SIZE;
	if (setsockopt(st->sock, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)) != 0)
		die("-m zerocopy: SO_ZEROCOPY: %s", strerror(errno));
	slots = memory_share() / st->chunk;
	st->ring = calloc(1, sizeof(*st->ring));
	if (st->ring == NULL)
		die("-m zerocopy: %s", strerror(errno));
	st->ring->slots = slots < 2 ? 2 : slots > RING_MAX ? RING_MAX : (unsigned)slots;
	buffer_open(st, st->chunk * st->ring->slots);
}

static const struct method methods[] = {
	{"sendfile", send_sendfile, open_sendfile, NULL},
	{"send", send_copy, open_copy, put_send},
	{"write", send_copy, open_copy, write},
	{"mmap", send_mmap, open_mmap, put_send},
	{"splice", send_splice, open_splice, NULL},
	{"zerocopy", send_zerocopy, open_zerocopy, NULL},
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static const struct method *method_named(const char *name)
{
	return &methods[arg_name("-m, --method", name, methods, METHODS, sizeof(methods[0]))];
}

/*
 * The file set.
 */

/* How many entries of the wire a file takes: all but the last have ENTRY_SPLIT bytes. */
static uint64_t entries_of(uint64_t size)
{
	const uint64_t over = size > WIRE_ENTRY_MAX ? size - WIRE_ENTRY_MAX : 0;

	return 1 + (over + ENTRY_SPLIT - 1) / ENTRY_SPLIT;
}

/* Counts a file in, unless a loop would then have more than 32 bits can say. */
static void fileset_count(struct fileset *set, const char *name, uint64_t size)
{
	const uint64_t entries = set->entries + entries_of(size);

	if ((!opt.raw && entries > UINT32_MAX) || size > UINT64_MAX - set->bytes)
		die("%s: too much for one loop, with the files before it: send fewer files", name);
	set->entries = (uint32_t)entries;
	set->bytes += size;
	set->n++;
}

/* Opens a regular file for reading; prints why not, and returns -1. */
static int file_open(const char *name, struct stat *sb)
{
	/* A FIFO must not block. */
	const int fd = open_retry(name, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, sb) != 0)
		warn("%s: skipped", printable(name));
	else if (!S_ISREG(sb->st_mode))
		warnx("%s: skipped: not a regular file", printable(name));
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Adds a file, or prints why not. */
static void fileset_add(struct fileset *set, const char *name, size_t keep_open)
{
	struct file *f = &set->file[set->n];
	struct stat sb;
	int fd = file_open(name, &sb);

	if (fd < 0)
		return;
	if (set->n >= keep_open) {
		close(fd);
		fd = -1;
	}
	*f = (struct file){.name = name, .fd = fd, .size = (uint64_t)sb.st_size};
	fileset_count(set, name, f->size);
}

/* How many descriptors there are for files, once the soft limit has been raised to the hard one. */
static size_t descriptors(void)
{
	rlim_t reserve = OPEN_RESERVE + OPEN_STREAM * (rlim_t)opt.streams;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return 0;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	getrlimit(RLIMIT_NOFILE, &r);
	return r.rlim_cur > reserve ? (size_t)(r.rlim_cur - reserve) : 0;
}

/* Bytes that no layer below compresses or shares: xorshift64, another sequence for each file. */
static void fill(uint64_t *word, size_t words, uint64_t *state)
{
	size_t i;

	for (i = 0; i < words; i++) {
		*state ^= *state << 13;
		*state ^= *state >> 7;
		*state ^= *state << 17;
		word[i] = *state;
	}
}

static bool write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	for (; len > 0; p += n, len -= (size_t)n) {
		do
			n = write(fd, p, len);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return false;
	}
	return true;
}

/* Memory files, so that the built-in set goes by the same calls as files on disk. */
static void fileset_builtin(struct fileset *set)
{
	uint64_t block[BUILTIN_SIZE / 100 / sizeof(uint64_t)], state;
	struct file *f;
	size_t i;
	int fd;

	for (set->n = 0; set->n < BUILTIN_FILES; set->n++) {
		fd = memfd_create("zcc-builtin", MFD_CLOEXEC);
		if (fd < 0)
			die_errno("built-in file set");
		state = set->n + 1;
		for (i = 0; i < BUILTIN_SIZE; i += sizeof(block)) {
			fill(block, sizeof(block) / sizeof(block[0]), &state);
			if (!write_all(fd, block, sizeof(block)))
				die_errno("built-in file set");
		}
		f = &set->file[set->n];
		*f = (struct file){.name = "built-in", .fd = fd, .size = BUILTIN_SIZE};
	}
	set->entries = BUILTIN_FILES;
	set->bytes = BUILTIN_FILES * BUILTIN_SIZE;
	set->builtin = true;
}

static void fileset_open(struct fileset *set, char **names, int n)
{
	size_t keep_open = descriptors();
	int i;

	memset(set, 0, sizeof(*set));
	set->file = calloc(n > 0 ? (size_t)n : BUILTIN_FILES, sizeof(*set->file));
	if (set->file == NULL)
		die_errno("file set");
	for (i = 0; i < n; i++)
		fileset_add(set, names[i], keep_open);
	if (n == 0)
		fileset_builtin(set);
	else if (set->n == 0)
		die("none of the files can be sent");
}

static void fileset_close(struct fileset *set)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (set->file[i].fd >= 0)
			close(set->file[i].fd);
	free(set->file);
}

/*
 * The stream.
 */

static _Noreturn void die_of_refusal(const struct stream *st, const char *word)
{
	if (strcmp(word, REFUSED_FULL) == 0)
		die("%s: turned away: the server has as many clients as it takes "
		    "(zcs --max-clients)",
		    st->peer);
	if (strcmp(word, REFUSED_ADDRESS) == 0)
		die("%s: turned away: the server does not serve this address (zcs --allow)",
		    st->peer);
	die("%s: turned away: %s", st->peer, word);
}

/* A server that turns a stream away says so and closes, which has a send fail. */
static void look_for_refusal(const struct stream *st)
{
	char line[RECEIPT_MAX];
	struct figures f;
	ssize_t n = recv(st->sock, line, sizeof(line), MSG_DONTWAIT);

	if (!opt.raw && n > 0 && receipt_parse(line, (size_t)n, &f) == NULL && f.refused[0] != '\0')
		die_of_refusal(st, f.refused);
}

/* Bytes of the wire that the server has not acknowledged. */
static int unacknowledged(const struct stream *st)
{
	int n = 0;

	if (ioctl(st->sock, SIOCOUTQ, &n) != 0)
		return 0;
	return st->shut && n > 0 ? n - 1 : n;
}

/*
 * Bytes of files that the server has acknowledged, by TCP_INFO, where the SYN counts as a byte and
 * the FIN as another.  While the stream sends, st->bytes is behind: a call that blocks is counted
 * when it returns.  Headers count once they are in the socket, so that with many small files this
 * may be too little meanwhile.  Linux before 4.1 has only the length of the queue.
 */
static uint64_t acknowledged(const struct stream *st, const struct tcp_figures *t)
{
	uint64_t bytes = atomic_load_explicit(&st->bytes, memory_order_relaxed);
	uint64_t other = (uint64_t)unacknowledged(st), acked;

	if (!(t->acked > 0))
		return bytes > other ? bytes - other : 0;
	acked = (uint64_t)t->acked;
	other = 1 + atomic_load_explicit(&st->headers, memory_order_relaxed);
	acked = acked > other ? acked - other : 0;
	return st->sending || acked < bytes ? acked : bytes;
}

static _Noreturn void die_of_timeout(const struct stream *st)
{
	struct tcp_figures t;

	tcp_figures_read(st->sock, &t);
	die("%s: the server took nothing for %g seconds (--timeout) after %llu bytes", st->peer,
	    opt.timeout, (unsigned long long)acknowledged(st, &t));
}

static _Noreturn void die_of_send(const struct stream *st)
{
	const int e = errno;
	const char *why = strerror(e);
	struct tcp_figures t;

	if (e == EPIPE || e == ECONNRESET) {
		look_for_refusal(st);
		why = e == EPIPE ? "the server closed the connection"
				 : "the server reset the connection";
	}
	if (e == EAGAIN)
		die_of_timeout(st);
	if (e == ENOBUFS && st->ring != NULL)
		why = "no memory to pin: raise ulimit -l or net.core.optmem_max";
	tcp_figures_read(st->sock, &t); /* what it acknowledged is still known after a reset */
	die("%s: %s after %llu bytes", st->peer, why, (unsigned long long)acknowledged(st, &t));
}

/* Headers ride with the data that they announce: MSG_MORE holds them until it comes. */
static void send_header(struct stream *st, const unsigned char *header, size_t len)
{
	ssize_t n;

	while (len > 0 && !stopped()) {
		n = send(st->sock, header, len, MSG_MORE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die_of_send(st);
		add(&st->headers, (uint64_t)n);
		header += n;
		len -= (size_t)n;
	}
}

/* What the file system or kernel lacks is the method's trouble, not the server's. */
static _Noreturn void die_of_file(const struct stream *st, const struct file *f)
{
	int e = errno;

	if (e == EINVAL || e == EOPNOTSUPP || e == ENOSYS || e == ENODEV || e == EIO)
		die("%s: cannot be sent by %s: %s", f->name, opt.method->name, strerror(e));
	errno = e;
	die_of_send(st);
}

/* One entry: its header, before which *held bytes of others wait, then its data. */
static void send_entry(struct stream *st, const struct file *f, int fd, uint64_t off, uint32_t len,
		       unsigned char *header, size_t *held)
{
	int64_t n;

	if (!opt.raw) {
		wire_put(header + *held, len);
		send_header(st, header, *held + WIRE_HEADER);
		*held = 0;
	}
	n = opt.method->send(st, fd, (off_t)off, len);
	if (n < 0)
		die_of_file(st, f);
	if (n < (int64_t)len && !stopped())
		die("%s: shrank while it was being sent", f->name);
	if (n == (int64_t)len)
		add(&st->files, 1);
}

static void send_one_file(struct stream *st, const struct file *f, unsigned char *header,
			  size_t *held)
{
	uint64_t off = 0;
	uint32_t len;
	int fd = f->fd;

	if (fd < 0 && (fd = open_retry(f->name, O_RDONLY | O_NONBLOCK)) < 0)
		die("%s: %s", f->name, strerror(errno));
	do {
		len = f->size - off > WIRE_ENTRY_MAX ? ENTRY_SPLIT : (uint32_t)(f->size - off);
		send_entry(st, f, fd, off, len, header, held);
		off += len;
	} while (off < f->size && !stopped());
	if (fd != f->fd) {
		window_close(st); /* the next file may get this descriptor */
		close(fd);
	}
	if (opt.debug > 1) {
		flockfile(stderr); /* warnx(3) writes a line in pieces, and streams share stderr */
		warnx("%s: %llu bytes", printable(f->name), (unsigned long long)f->size);
		funlockfile(stderr);
	}
}

static void cork(const struct stream *st, int on)
{
	if (opt.cork && setsockopt(st->sock, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)) != 0)
		die("TCP_CORK: %s", strerror(errno));
}

/* How many loops without a file say how long the warm-up is. */
static uint32_t warmup_loops(void)
{
	return (uint32_t)lround(opt.warmup * 1e9 / WIRE_WARMUP_NS);
}

/*
 * What goes before the first loop: how many loops there are, and the loops of the warm-up.  Returns
 * its length; a raw stream has no headers.
 */
static size_t header_begin(unsigned char *header)
{
	if (opt.raw)
		return 0;
	wire_put(header, opt.seconds > 0 ? WIRE_FOREVER : opt.loops + warmup_loops());
	return WIRE_HEADER * (1 + warmup_loops());
}

/* The whole of the wire, up to the last byte or a stop. */
static void send_loops(struct stream *st, const struct fileset *set)
{
	unsigned char header[WIRE_HEADER * (WARMUP_LOOPS + 3)] = {0};
	size_t held = header_begin(header), i;

	while (!stopped() && (opt.seconds > 0 || st->loops < opt.loops)) {
		if (!opt.raw) {
			wire_put(header + held, set->entries);
			held += WIRE_HEADER;
		}
		cork(st, 1);
		for (i = 0; i < set->n && !stopped(); i++)
			send_one_file(st, &set->file[i], header, &held);
		cork(st, 0);
		if (!stopped())
			st->loops++;
	}
}

/*
 * How long a server may take for the rest: the last bytes and its receipt, or a reply.  --timeout
 * ends a silence; this also ends what never falls silent, but goes on a few bytes at a time.
 */
struct limit {
	uint64_t begin_ns;
	uint64_t window_ns; /* when the --timeout under way began */
	uint64_t moved;     /* bytes up to then */
	bool slow;          /* fewer than LIMIT_BYTES moved in one of them */
};

static struct limit limit_begin(void)
{
	const uint64_t now = now_ns();

	return (struct limit){.begin_ns = now, .window_ns = now};
}

/* Whether the limit is reached, once so many bytes have moved since it began. */
static bool limit_reached(struct limit *l, uint64_t now, uint64_t moved)
{
	if (opt.timeout <= 0)
		return false;
	if (seconds_between(l->window_ns, now) >= opt.timeout) {
		l->slow |= moved < l->moved + LIMIT_BYTES;
		l->window_ns = now;
		l->moved = moved;
	}
	return l->slow && seconds_between(l->begin_ns, now) > fmax(LIMIT_SECONDS, 2 * opt.timeout);
}

/* The wait for the server after the last byte. */
struct wait {
	struct limit limit;
	uint64_t acked_ns;  /* when it last acknowledged data */
	uint64_t interrupt; /* when the program was interrupted; 0: not yet */
	int first, left;    /* bytes that it had not acknowledged at first, and now */
	uint64_t received;  /* bytes that it sent */
};

static struct wait wait_begin(const struct stream *st)
{
	const int left = unacknowledged(st);

	return (struct wait){
		.limit = limit_begin(), .acked_ns = now_ns(), .first = left, .left = left};
}

static _Noreturn void die_of_limit(const struct stream *st, const struct wait *w)
{
	struct tcp_figures t;

	tcp_figures_read(st->sock, &t);
	die("%s: the server took less than 64 KiB in %g seconds (--timeout), and was waited for "
	    "for %.0f seconds after %llu bytes",
	    st->peer, opt.timeout, seconds_between(w->limit.begin_ns, now_ns()),
	    (unsigned long long)acknowledged(st, &t));
}

/* Whether to wait on.  --timeout runs from the last data that it took, however slowly it talks. */
static bool is_patient(const struct stream *st, struct wait *w)
{
	uint64_t now = now_ns();
	int was = w->left;

	w->left = unacknowledged(st);
	if (w->left != was)
		w->acked_ns = now;
	if (interrupted() && w->interrupt == 0)
		w->interrupt = now;
	if (opt.timeout > 0 && seconds_between(w->acked_ns, now) > opt.timeout) {
		if (opt.raw && w->left == 0)
			return false;
		die_of_timeout(st);
	}
	if (limit_reached(&w->limit, now, (uint64_t)(w->first - w->left) + w->received))
		die_of_limit(st, w);
	return !(interrupted() && now - w->interrupt > PATIENCE_NS);
}

/* Waits until the server says something or closes: true.  False when it is waited for no longer. */
static bool await_server(const struct stream *st, struct wait *w)
{
	struct pollfd p = {.fd = st->sock, .events = POLLIN};

	while (poll(&p, 1, TICK_NS / 1000000) <= 0)
		if (!is_patient(st, w))
			return false;
	return true;
}

/*
 * What the server says after the last byte: at most RECEIPT_MAX bytes and one that is too many.
 * *closed: it has closed the connection.
 */
static size_t read_receipt(struct stream *st, char *buf, bool *closed)
{
	struct wait w = wait_begin(st);
	size_t len = 0;
	ssize_t n;

	*closed = false;
	while (len <= RECEIPT_MAX && await_server(st, &w)) {
		n = recv(st->sock, buf + len, RECEIPT_MAX + 1 - len, MSG_DONTWAIT);
		*closed = n == 0;
		if (n > 0)
			w.received = len += (size_t)n;
		else if (n == 0 || interrupted())
			break;
		else if (errno == EAGAIN && st->ring != NULL)
			reap(st); /* a completion woke it */
		else if (errno != EINTR && errno != EAGAIN)
			die_of_send(st);
		if (!is_patient(st, &w))
			break;
	}
	return len;
}

/*
 * Discards what a raw server has sent: a receive buffer with data left in it would have the
 * connection reset when it is closed, and a full one stops the server.  Returns how many bytes,
 * 0 at the end of stream, -1 with errno; dies where the connection is reset.
 */
static ssize_t discard_answer(struct stream *st)
{
	ssize_t n;

	do {
		/* cppcheck-suppress nullPointer ; with MSG_TRUNC there need be no buffer */
		n = recv(st->sock, NULL, DISCARD_MAX, MSG_DONTWAIT | MSG_TRUNC);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		die_of_send(st);
	return n;
}

/* After the end of stream recv(2) no longer returns the connection's errors. */
static void look_for_reset(const struct stream *st)
{
	int e = 0;
	socklen_t len = sizeof(e);

	if (getsockopt(st->sock, SOL_SOCKET, SO_ERROR, &e, &len) == 0 && e != 0) {
		errno = e;
		die_of_send(st);
	}
}

/* What is known of a stream now. */
static void mark_stream(const struct stream *st, struct mark *m)
{
	tcp_figures_read(st->sock, &m->tcp);
	m->bytes = acknowledged(st, &m->tcp);
	m->calls = atomic_load_explicit(&st->calls, memory_order_relaxed);
	m->files = atomic_load_explicit(&st->files, memory_order_relaxed);
	m->ns = now_ns();
}

/*
 * The stream's figures, once it has come to its end: counts of the connection are those since the
 * warm-up, which may have outlasted it.
 */
static void stream_figures(struct stream *st)
{
	struct figures *f = &st->sent;
	const struct mark *b = &st->begin, *e = &st->end;

	figures_init(f);
	f->bytes = e->bytes > b->bytes ? e->bytes - b->bytes : 0;
	f->calls = e->calls - b->calls;
	f->files = e->files - b->files;
	f->warmup = b->bytes;
	f->seconds = seconds_between(b->ns, st->end_ns);
	strcpy(f->method, opt.method->name);
	f->cpu = opt.bind.n > 0 ? (double)cpu_of(&opt.bind, st->number) : NAN;
	f->tcp = st->tcp;
	f->tcp.retransmits = e->tcp.retransmits - b->tcp.retransmits;
	f->tcp.busy = e->tcp.busy - b->tcp.busy;
	f->tcp.rwnd_limited = e->tcp.rwnd_limited - b->tcp.rwnd_limited;
	f->tcp.sndbuf_limited = e->tcp.sndbuf_limited - b->tcp.sndbuf_limited;
}

/*
 * Takes what the server said, `len` bytes, before it `closed` the connection.  A server of 2001 says
 * nothing.  One that says something else, or closes while data are under way, has not taken it all.
 */
static void take_receipt(struct stream *st, const char *buf, size_t len, bool closed)
{
	const char *why = len > 0 ? receipt_parse(buf, len, &st->received) : NULL;
	const int left = unacknowledged(st);

	if (len > 0 && why == NULL && st->received.refused[0] != '\0')
		die_of_refusal(st, st->received.refused);
	if (closed && left > 0)
		die("%s: the server closed the connection before it had acknowledged the last "
		    "%d bytes",
		    st->peer, left);
	if (why != NULL && !interrupted())
		die("%s: the server's answer is not a receipt, it %s: use --raw if it is not zcs",
		    st->peer, why);
	st->has_receipt = len > 0 && why == NULL;
	if (!st->has_receipt)
		figures_init(&st->received);
}

/*
 * The run: a thread for each stream, which the main thread oversees.
 */

/* This host at one time. */
struct host_mark {
	uint64_t ns;
	struct counters counters;
	struct load_sample sum, *cpu; /* of all CPUs, and of each */
};

static struct {
	const struct fileset *set;
	struct stream *stream;
	struct soaker *soak; /* NULL: no -c */
	struct calibration calibration;
	char interface[IF_NAMESIZE], congestion[16];
	struct sockaddr_storage peer;
	socklen_t peer_len;
	pthread_barrier_t start;
	_Atomic int measured; /* streams, or requesters, whose figures are not final */
	_Atomic int running;  /* those that are not at their end */
	int wake;             /* eventfd(2): one has come to its end */
	/* Of it all; begin.ns is that of what is measured. */
	uint64_t start_ns;
	struct host_mark begin, end;
	struct load_sample last; /* of the interval */
	bool measuring;          /* the warm-up is over */
	/* By the line of progress. */
	uint64_t shown_ns, shown_bytes;
	struct figures sent, received;
	int receipts;
} run;

static void mark_host(struct host_mark *m)
{
	if (run.soak != NULL)
		load_sample_read(run.soak, &run.calibration, &m->sum, m->cpu);
	counters_read(&m->counters, run.interface[0] != '\0' ? run.interface : NULL);
	m->ns = now_ns();
}

/* The last whose figures are final takes the host's: the main thread would be late. */
static void finish_figures(void)
{
	if (atomic_fetch_sub(&run.measured, 1) == 1)
		mark_host(&run.end);
}

static void leave(void)
{
	atomic_fetch_sub(&run.running, 1);
	eventfd_write(run.wake, 1);
}

/* What a stream measures ends here; what it waits for afterwards is in no figure. */
static void end_measuring(struct stream *st)
{
	st->end_ns = now_ns();
	mark_stream(st, &st->end);
	finish_figures();
}

/* Waits until something comes, or until it is time to look again. */
static void await_answer(const struct stream *st, bool open, bool acked)
{
	const struct timespec pause = {.tv_nsec = RAW_NS};
	struct pollfd p = {.fd = st->sock, .events = POLLIN};

	if (open)
		poll(&p, 1, (int)((acked ? TICK_NS : RAW_NS) / 1000000));
	else
		nanosleep(&pause, NULL); /* poll(2) would return at once */
}

/*
 * Waits for the end of a raw stream, once all is sent: until the server has acknowledged all, and
 * has closed the connection or sent nothing for RAW_SILENCE_NS.  The figures are those of the
 * moment at which all was acknowledged.
 */
static void finish_raw(struct stream *st)
{
	struct wait w = wait_begin(st);
	uint64_t quiet_ns = w.acked_ns; /* since when nothing came */
	bool open = true, acked = false;
	ssize_t n;

	do {
		await_answer(st, open, acked);
		n = open ? discard_answer(st) : 0;
		open = open && n != 0;
		if (n > 0) {
			w.received += (uint64_t)n;
			quiet_ns = now_ns();
		} else if (n < 0 && st->ring != NULL) {
			reap(st); /* a completion may have woken it */
		}
		look_for_reset(st);
		if (!acked && unacknowledged(st) == 0) {
			acked = true;
			quiet_ns = now_ns();
			end_measuring(st);
		}
	} while ((!acked || (open && now_ns() - quiet_ns < RAW_SILENCE_NS)) && is_patient(st, &w));
	if (!acked)
		end_measuring(st);
	if (st->ring != NULL)
		finish_zerocopy(st);
}

/* Waits for the receipt, once all is sent, and takes it. */
static void finish_receipt(struct stream *st)
{
	char buf[RECEIPT_MAX + 1];
	bool closed;
	size_t len = read_receipt(st, buf, &closed);

	st->end_ns = now_ns();
	take_receipt(st, buf, len, closed);
	if (st->ring != NULL)
		finish_zerocopy(st);
	mark_stream(st, &st->end);
	finish_figures();
}

static void *stream_thread(void *arg)
{
	struct stream *st = arg;

	cpu_bind_or_die(&opt.bind, st->number);
	pthread_barrier_wait(&run.start);
	st->sending = true;
	send_loops(st, run.set);
	st->sending = false;
	if (shutdown(st->sock, SHUT_WR) != 0 && errno != ENOTCONN)
		die_of_send(st);
	st->shut = true;
	tcp_figures_read(st->sock, &st->tcp);
	if (opt.raw)
		finish_raw(st);
	else
		finish_receipt(st);
	leave();
	return NULL;
}

/* Warms up no longer: what went before is left out of every figure. */
static void begin_measuring(void)
{
	int i;

	for (i = 0; i < opt.streams; i++)
		mark_stream(&run.stream[i], &run.stream[i].begin);
	mark_host(&run.begin);
	run.measuring = true;
}

/* Has those return that block in a send. */
static void tell_to_stop(void)
{
	int i;

	for (i = 0; i < opt.streams; i++)
		if (run.stream[i].sending)
			pthread_kill(run.stream[i].thread, SIGALRM);
}

/*
 * Intervals.
 */

/* Between a stream's last interval and now, which then is its last. */
static void stream_interval(struct stream *st, struct figures *f)
{
	struct mark now;

	mark_stream(st, &now);
	if (now.bytes < st->last.bytes) /* more headers wait in the socket than did */
		now.bytes = st->last.bytes;
	figures_init(f);
	f->bytes = now.bytes - st->last.bytes;
	f->seconds = seconds_between(st->last.ns, now.ns);
	f->tcp = now.tcp;
	f->tcp.retransmits = now.tcp.retransmits - st->last.tcp.retransmits;
	st->last = now;
}

static void json_interval_of(const struct figures *f, const char *key, int stream, double start)
{
	struct json *j = &json;

	json_open(j, key, '{');
	if (stream > 0)
		json_count(j, "socket", (uint64_t)stream);
	json_throughput(j, start, f->seconds, f->bytes);
	json_number(j, "retransmits", f->tcp.retransmits);
	if (stream > 0) {
		json_number(j, "snd_cwnd", f->tcp.cwnd);
		json_number(j, "rtt", f->tcp.rtt);
		json_number(j, "rttvar", f->tcp.rttvar);
		json_number(j, "pmtu", f->tcp.pmtu);
	} else {
		json_number(j, "load_percent", 100 * f->load);
		json_number(j, "cost_us_per_kib",
			    cost_us_per_kib(f->load, f->cpus, f->bytes, f->seconds));
	}
	json_bool(j, "omitted", !run.measuring);
	json_bool(j, "sender", true);
	json_close(j, '}');
}

static void print_interval(const struct figures *sum, const struct tcp_figures *tcp)
{
	char load[128];

	report("%.0f kbytes/sec (%.3f Gbit/s)%s, %.0f retransmits",
	       kbytes_per_sec(sum->bytes, sum->seconds), gbits_per_sec(sum->bytes, sum->seconds),
	       load_format(sum->load, sum->uncertainty, sum->cpus, sum->bytes, sum->seconds, load),
	       sum->tcp.retransmits);
	if (opt.streams == 1)
		report(", window %.0f KiB, RTT %.3f ms", tcp->cwnd / 1024, tcp->rtt / 1000);
	report("%s\n", run.measuring ? "" : ", warm-up");
}

/* The host's load since the last interval. */
static void interval_load(struct figures *sum)
{
	struct load_sample now;
	struct load l;

	if (run.soak == NULL)
		return;
	load_sample_read(run.soak, &run.calibration, &now, NULL);
	load_between(&run.calibration, &run.last, &now, -1, &l);
	figures_load(sum, &l, run.calibration.cpus.n);
	run.last = now;
}

static void report_interval(void)
{
	double start = seconds_between(run.start_ns, run.stream[0].last.ns);
	struct figures f = {0}, sum;
	int i;

	pthread_mutex_lock(&json_lock);
	figures_init(&sum);
	sum.tcp.retransmits = 0;
	if (opt.json) {
		json_open(&json, NULL, '{');
		json_open(&json, "streams", '[');
	}
	for (i = 0; i < opt.streams; i++) {
		stream_interval(&run.stream[i], &f);
		sum.bytes += f.bytes;
		sum.tcp.retransmits += f.tcp.retransmits;
		if (i == 0)
			sum.seconds = f.seconds;
		if (opt.json)
			json_interval_of(&f, NULL, i + 1, start);
	}
	interval_load(&sum);
	if (opt.json) {
		json_close(&json, ']');
		json_interval_of(&sum, "sum", 0, start);
		json_close(&json, '}');
	} else {
		print_interval(&sum, &f.tcp);
	}
	pthread_mutex_unlock(&json_lock);
}

static void intervals_begin(void)
{
	int i;

	for (i = 0; i < opt.streams; i++)
		mark_stream(&run.stream[i], &run.stream[i].last);
	if (run.soak != NULL)
		load_sample_read(run.soak, &run.calibration, &run.last, NULL);
}

/* Whether a line of progress is of use: a terminal that is ours, and nothing else printed on it. */
static bool wants_progress(void)
{
	return !opt.quiet && !opt.json && opt.interval <= 0 && opt.debug == 0 &&
	       isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static void show_progress(uint64_t now)
{
	double seconds = seconds_between(run.start_ns, now), goal = opt.seconds + opt.warmup;
	const char *phase = run.measuring ? "" : ", warm-up";
	uint64_t bytes = 0;
	struct mark m;
	int i;

	for (i = 0; i < opt.streams; i++) {
		mark_stream(&run.stream[i], &m);
		bytes += m.bytes;
	}
	if (bytes < run.shown_bytes)
		bytes = run.shown_bytes;
	fprintf(stderr, "\r%.1f s", seconds);
	if (opt.seconds > 0)
		fprintf(stderr, " of %g", goal);
	else if (run.set->bytes > 0)
		fprintf(stderr, ", %.0f%%",
			100 * (double)bytes / (double)run.set->bytes / opt.loops / opt.streams);
	fprintf(stderr, ": %.0f kbytes/sec",
		kbytes_per_sec(bytes - run.shown_bytes, seconds_between(run.shown_ns, now)));
	if (stop)
		phase = ", waits for the server";
	fprintf(stderr, "%s\033[K", phase);
	has_progress = true;
	run.shown_ns = now;
	run.shown_bytes = bytes;
}

/*
 * Overseeing.
 */

/*
 * --timeout while calls return, since as long as the socket takes a bit more each of them waits
 * anew.
 */
static void look_at_timeout(struct stream *st, uint64_t now)
{
	struct tcp_figures t;

	tcp_figures_read(st->sock, &t);
	if (!st->sending || t.acked != st->acked || unacknowledged(st) == 0) {
		st->acked = t.acked;
		st->acked_ns = now;
	} else if (t.acked > 0 && seconds_between(st->acked_ns, now) > opt.timeout) {
		die_of_timeout(st);
	}
}

/* When what comes next is due, in ns of the clock; UINT64_MAX for never. */
struct due {
	uint64_t warm, end, tell, interval, progress, timeout, answers;
};

static uint64_t soonest(const struct due *d)
{
	const uint64_t t[] = {d->warm,     d->end,     d->tell,   d->interval,
			      d->progress, d->timeout, d->answers};
	uint64_t min = UINT64_MAX;
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (t[i] < min)
			min = t[i];
	return min;
}

static uint64_t after(uint64_t ns, double seconds)
{
	return seconds > 0 ? ns + (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

/* When the next interval ends.  Those that passed while the program was stopped are not made up. */
static uint64_t next_interval(uint64_t due, uint64_t now)
{
	const uint64_t next = after(due, opt.interval);

	return next > now ? next : after(now, opt.interval);
}

/* Does what is due. */
static void act(struct due *d, uint64_t now)
{
	int i;

	if (run.measured == 0)
		d->interval = UINT64_MAX; /* what is waited for now is in no figure */
	if (now >= d->interval) { /* before the warm-up ends, so that it is marked as part of it */
		report_interval();
		d->interval = next_interval(d->interval, now);
	}
	if (now >= d->warm) {
		begin_measuring();
		d->warm = UINT64_MAX;
	}
	if (now >= d->end && !stop) {
		int running = 0;

		atomic_compare_exchange_strong(&stop, &running, TIME_UP);
	}
	if (stop) {
		d->end = UINT64_MAX;
		d->tell = now + TICK_NS;
		tell_to_stop();
	}
	if (now >= d->progress) {
		show_progress(now);
		d->progress = now + PROGRESS_NS;
	}
	if (now >= d->timeout) {
		for (i = 0; i < opt.streams; i++)
			look_at_timeout(&run.stream[i], now);
		d->timeout = now + TICK_NS;
	}
}

static void watch_fill(struct pollfd *p)
{
	int i;

	p[0] = (struct pollfd){.fd = run.wake, .events = POLLIN};
	for (i = 1; i <= opt.streams; i++)
		p[i] = (struct pollfd){.fd = opt.raw ? run.stream[i - 1].sock : -1,
				       .events = POLLIN};
}

/*
 * What the main thread waits for: run.wake, and behind it, with --raw, what the servers send while
 * the streams send.  Later a stream reads for itself.
 */
static struct pollfd *watch_open(void)
{
	struct pollfd *p = calloc((size_t)opt.streams + 1, sizeof(*p));

	if (p != NULL)
		watch_fill(p);
	else
		die("%d streams: %s", opt.streams, strerror(errno));
	return p;
}

/* Completions of MSG_ZEROCOPY wake poll(2) whatever it is asked for: such streams have a timer. */
static bool has_timer(void)
{
	return opt.raw && run.stream[0].ring != NULL;
}

/* Discards what servers have sent; those that a timer stands for are all asked. */
static void discard_answers(struct pollfd *p)
{
	int i;

	for (i = 0; i < opt.streams; i++)
		if (p[i].fd >= 0 && (run.stream[i].shut || ((p[i].revents != 0 || has_timer()) &&
							    discard_answer(&run.stream[i]) == 0)))
			p[i].fd = -1;
}

/* Until something happens, or the next thing is due. */
static void await_event(struct pollfd *p, const struct due *d, const sigset_t *unblocked)
{
	uint64_t due = soonest(d), now = now_ns(), left = due > now ? due - now : 0;
	struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
	nfds_t n = opt.raw && !has_timer() ? (nfds_t)opt.streams + 1 : 1;
	eventfd_t ignored;

	if (ppoll(p, n, due != UINT64_MAX ? &t : NULL, unblocked) > 0 && p[0].revents != 0)
		eventfd_read(run.wake, &ignored);
}

/* Until all streams have come to their end. */
static void oversee(const sigset_t *unblocked)
{
	struct due d = {
		.warm = after(run.start_ns, opt.warmup),
		.end = opt.seconds > 0 ? after(run.start_ns, opt.warmup + opt.seconds) : UINT64_MAX,
		.tell = UINT64_MAX,
		.interval = after(run.start_ns, opt.interval),
		.progress = wants_progress() ? run.start_ns + PROGRESS_NS : UINT64_MAX,
		.timeout = opt.timeout > 0 ? run.start_ns : UINT64_MAX,
		.answers = has_timer() ? run.start_ns : UINT64_MAX,
	};
	struct pollfd *p = watch_open();

	while (run.running > 0) {
		await_event(p, &d, unblocked);
		if (opt.raw)
			discard_answers(p + 1);
		if (has_timer())
			d.answers = now_ns() + DISCARD_NS;
		if (run.running > 0)
			act(&d, now_ns());
	}
	free(p);
	clear_progress();
}

static void transfer(const sigset_t *unblocked)
{
	int i, e;

	pthread_barrier_init(&run.start, NULL, (unsigned)opt.streams + 1);
	run.running = run.measured = opt.streams;
	for (i = 0; i < opt.streams; i++) {
		e = thread_start(&run.stream[i].thread, stream_thread, &run.stream[i]);
		if (e != 0)
			die("thread %d of %d: %s", i + 1, opt.streams, strerror(e));
	}
	begin_measuring();
	run.measuring = opt.warmup <= 0;
	intervals_begin();
	run.start_ns = run.begin.ns = run.shown_ns = now_ns();
	run.shown_bytes = 0;
	for (i = 0; i < opt.streams; i++)
		run.stream[i].begin.ns = run.stream[i].last.ns = run.start_ns;
	pthread_barrier_wait(&run.start);
	oversee(unblocked);
	for (i = 0; i < opt.streams; i++)
		pthread_join(run.stream[i].thread, NULL);
	pthread_barrier_destroy(&run.start);
}

/*
 * The figures of it all.
 */

static double longer(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

static void add_figures(struct figures *sum, const struct figures *f)
{
	sum->bytes += f->bytes;
	sum->calls += f->calls;
	sum->files += f->files;
	sum->warmup += f->warmup;
	sum->seconds = longer(sum->seconds, f->seconds);
	sum->tcp.retransmits += f->tcp.retransmits;
	strcpy(sum->method, f->method);
}

/* The receiver's host is as the longest of those streams saw it that have a receipt. */
static void sum_receipts(void)
{
	const struct figures *longest = NULL, *f;
	struct figures counts;
	int i;

	figures_init(&counts);
	figures_init(&run.received);
	for (i = 0; i < opt.streams; i++) {
		if (!run.stream[i].has_receipt)
			continue;
		run.receipts++;
		f = &run.stream[i].received;
		add_figures(&counts, f);
		if (longest == NULL || f->seconds >= longest->seconds)
			longest = f;
	}
	if (longest != NULL)
		run.received = *longest;
	run.received.bytes = counts.bytes;
	run.received.calls = counts.calls;
	run.received.files = counts.files;
	run.received.warmup = counts.warmup;
}

/* What this host did from run.begin to run.end. */
static void host_figures(struct figures *f)
{
	struct load l;

	counters_rates(&run.begin.counters, &run.end.counters, &f->rates);
	if (run.soak == NULL)
		return;
	load_between(&run.calibration, &run.begin.sum, &run.end.sum, -1, &l);
	figures_load(f, &l, run.calibration.cpus.n);
}

static void sum_figures(void)
{
	int i;

	figures_init(&run.sent);
	run.sent.tcp.retransmits = 0;
	for (i = 0; i < opt.streams; i++) {
		stream_figures(&run.stream[i]);
		add_figures(&run.sent, &run.stream[i].sent);
	}
	host_figures(&run.sent);
	sum_receipts();
}

/* By how many bytes both ends differ, the warm-up's included. */
static uint64_t missing_bytes(void)
{
	uint64_t sent = run.sent.bytes + run.sent.warmup;
	uint64_t received = run.received.bytes + run.received.warmup;

	return sent > received ? sent - received : received - sent;
}

/* Whether both ends are on this host, so that its load is that of both. */
static bool is_local(void)
{
	return strcmp(run.interface, "lo") == 0;
}

/* What the i-th of the CPUs that are soaked did in the transfer. */
static const char *cpu_role(int i)
{
	bool sends = false, receives = false;
	int cpu = run.calibration.cpus.id[i], k;

	for (k = 0; k < opt.streams; k++) {
		sends |= cpu_of(&opt.bind, k) == cpu;
		receives |= is_local() && run.stream[k].has_receipt &&
			    run.stream[k].received.cpu == cpu;
	}
	return sends && receives ? "both" : sends ? "sender" : receives ? "receiver" : "";
}

/*
 * The report as text.
 */

#define COLUMN 24

/* `%.Nf` and a unit, or `-` where it is not known. */
static const char *number(char buf[COLUMN], int places, double value, const char *unit)
{
	if (isfinite(value))
		snprintf(buf, COLUMN, "%.*f%s", places, value, unit);
	else
		strcpy(buf, "-");
	return buf;
}

/* A figure of both ends; without a receipt the other's is not known. */
static void row(const char *name, int places, double left, double right, const char *unit)
{
	char a[COLUMN], b[COLUMN];

	if (isnan(left) && (isnan(right) || run.receipts == 0))
		return;
	report("  %-15s %18s %18s\n", name, number(a, places, left, unit),
	       number(b, places, run.receipts > 0 ? right : NAN, unit));
}

static double cost_of(const struct figures *f)
{
	return cost_us_per_kib(f->load, f->cpus, f->bytes, f->seconds);
}

static double per_second(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}

/* `61.2% +-0.4%` */
static const char *load_text(const struct figures *f, char buf[COLUMN])
{
	if (isnan(f->load))
		strcpy(buf, "-");
	else if (isnan(f->uncertainty))
		snprintf(buf, COLUMN, "%.1f%%", percent(f->load));
	else
		snprintf(buf, COLUMN, "%.1f%% +-%.1f%%", percent(f->load), 100 * f->uncertainty);
	return buf;
}

static void report_loads(const struct figures *s, const struct figures *r)
{
	char a[COLUMN], b[COLUMN];

	if (isnan(s->load) && isnan(r->load))
		return;
	report("  %-15s %18s %18s\n", is_local() ? "load, both ends" : "load", load_text(s, a),
	       load_text(r, b));
	row("CPUs", 0, s->cpus, r->cpus, "");
	row("by tasks", 1, percent(s->tasks), percent(r->tasks), "%");
	row("slowed", 1, percent(s->slowed), percent(r->slowed), "%");
	row("us/KiB", 3, cost_of(s), cost_of(r), "");
}

/* The kernel's own view. */
static void report_accounting(const struct figures *s, const struct figures *r)
{
	double left, right;
	int i;

	for (i = 0; i < CPU_COLUMNS; i++) {
		left = percent(s->rates.cpu[i]);
		right = percent(r->rates.cpu[i]);
		if (left >= 0.05 || right >= 0.05)
			row(cpu_column[i], 1, left, right, "%");
	}
}

static void report_sides(void)
{
	const struct figures *s = &run.sent, *r = &run.received;

	report("  %-15s %18s %18s\n", "", "sender", run.receipts > 0 ? "receiver" : "no receipt");
	row("bytes", 0, (double)s->bytes, (double)r->bytes, "");
	row("seconds", decimals(s->seconds), s->seconds, r->seconds, "");
	row("kbytes/sec", 0, kbytes_per_sec(s->bytes, s->seconds),
	    kbytes_per_sec(r->bytes, r->seconds), "");
	report_loads(s, r);
	report("  %-15s %18s %18s\n", "calls by", s->method,
	       run.receipts > 0 && r->method[0] ? r->method : "-");
	row("calls", 0, (double)s->calls, (double)r->calls, "");
	row("calls/s", 0, per_second(s->calls, s->seconds), per_second(r->calls, r->seconds), "");
	row("interrupts/s", 0, s->rates.interrupts, r->rates.interrupts, "");
	row("packets/s in", 0, s->rates.packets_in, r->rates.packets_in, "");
	row("packets/s out", 0, s->rates.packets_out, r->rates.packets_out, "");
	report_accounting(s, r);
}

/* What was sent, where to and how. */
static void report_what(bool loops_too)
{
	uint64_t loops = 0;
	int i;

	for (i = 0; i < opt.streams; i++)
		loops += run.stream[i].loops;
	report("  to %s%s%s, %s%s%s%s", run.stream[0].peer, run.interface[0] != '\0' ? " by " : "",
	       run.interface, run.congestion, opt.cork ? ", corked" : "",
	       opt.nodelay ? ", nodelay" : "", opt.raw ? ", raw" : "");
	if (opt.pace > 0)
		report(", paced to %.0f kbytes/sec", (double)opt.pace / 1024);
	if (opt.streams > 1)
		report(", %d streams", opt.streams);
	if (run.set->builtin)
		report("; %d files of %d KiB, built in", BUILTIN_FILES, BUILTIN_SIZE / 1024);
	else
		report("; %zu files of %llu bytes", run.set->n, (unsigned long long)run.set->bytes);
	if (loops_too)
		report(", in %llu loops", (unsigned long long)loops);
	report("\n");
	if (opt.warmup > 0 && loops_too)
		report("  after %g s of warm-up, %llu bytes\n", opt.warmup,
		       (unsigned long long)run.sent.warmup);
}

static void report_streams(void)
{
	const struct figures *f;
	char cpu[COLUMN], read_cpu[COLUMN];
	double to;
	int i;

	report("  stream  CPU to CPU     kbytes/sec  retransmits   RTT ms  window KiB  "
	       "delivery Gbit/s\n");
	for (i = 0; i < opt.streams; i++) {
		f = &run.stream[i].sent;
		to = run.stream[i].has_receipt ? run.stream[i].received.cpu : NAN;
		report("  %6d %4s %6s %14.0f %12.0f %8.3f %11.0f %16.3f\n", i + 1,
		       number(cpu, 0, f->cpu, ""), number(read_cpu, 0, to, ""),
		       kbytes_per_sec(f->bytes, f->seconds), f->tcp.retransmits, f->tcp.rtt / 1000,
		       f->tcp.cwnd / 1024, f->tcp.delivery_rate * 8 / 1e9);
	}
}

/* The share of the time in which it had something to send. */
static double share_of_busy(double us, const struct tcp_figures *t)
{
	return t->busy > 0 ? 100 * us / t->busy : 0;
}

static void report_tcp(const struct tcp_figures *t)
{
	if (isnan(t->mss + t->retransmits)) {
		report("  TCP: not known\n");
		return;
	}
	report("  TCP: %.0f retransmits, RTT %.3f ms (least %.3f), window %.0f KiB, MSS %.0f, "
	       "delivery %.3f Gbit/s\n",
	       t->retransmits, t->rtt / 1000, t->min_rtt / 1000, t->cwnd / 1024, t->mss,
	       t->delivery_rate * 8 / 1e9);
	report("  held back by the receiver's window %.1f%%, by the send buffer %.1f%% "
	       "of the time\n",
	       share_of_busy(t->rwnd_limited, t), share_of_busy(t->sndbuf_limited, t));
}

static void report_zerocopy(void)
{
	uint64_t sends = 0, copied = 0, open = 0;
	const struct ring *r;
	int i;

	if (run.stream[0].ring == NULL)
		return;
	for (i = 0; i < opt.streams; i++) {
		r = run.stream[i].ring;
		sends += r->next;
		copied += r->copied;
		open += r->next - r->oldest;
	}
	report("  zerocopy: %llu of %llu sends were copied by the kernel after all (%.1f%%)\n",
	       (unsigned long long)copied, (unsigned long long)sends,
	       sends > 0 ? 100 * (double)copied / (double)sends : 0);
	if (open > 0)
		report("  zerocopy: %llu sends were never completed\n", (unsigned long long)open);
}

static bool cpu_load(int i, struct load *l)
{
	if (run.soak == NULL || opt.bind.n == 0)
		return false;
	load_between(&run.calibration, &run.begin.cpu[i], &run.end.cpu[i], i, l);
	return !isnan(l->load);
}

/* With both ends on one host, bound to different CPUs, what each of them cost. */
static void report_cpus(void)
{
	struct load l;
	int i;

	for (i = 0; i < run.calibration.cpus.n && cpu_load(i, &l); i++)
		report("  CPU %-4d load %5.1f%% +-%.1f%%, %.3f us/KiB %s\n",
		       run.calibration.cpus.id[i], percent(l.load), 100 * l.uncertainty,
		       cost_us_per_kib(l.load, 1, run.sent.bytes, run.sent.seconds), cpu_role(i));
}

static void report_text(void)
{
	const struct figures *s = &run.sent;
	char load[128];

	report("%.0f kbytes/sec (%.3f Gbit/s)%s\n", kbytes_per_sec(s->bytes, s->seconds),
	       gbits_per_sec(s->bytes, s->seconds),
	       load_format(s->load, s->uncertainty, s->cpus, s->bytes, s->seconds, load));
	if (opt.quiet)
		return;
	report_what(true);
	report_sides();
	if (run.receipts == opt.streams && missing_bytes() == 0)
		report("  all bytes sent were received\n");
	if (run.receipts > 0 && run.received.clients > (uint64_t)opt.streams)
		report("  the receiver had %llu clients meanwhile: its load is that of all\n",
		       (unsigned long long)run.received.clients);
	if (opt.streams > 1)
		report_streams();
	else
		report_tcp(&run.stream[0].sent.tcp);
	report_zerocopy();
	report_cpus();
}

/*
 * Where one end's time went, by the kernel's accounting, and what it cost.  What is left is idle or
 * the soakers have it, which are nice.
 */
static void report_time(const struct figures *f, bool known)
{
	const double *cpu = f->rates.cpu;
	double left = cpu[CPU_IDLE] + cpu[CPU_IOWAIT] + cpu[CPU_NICE];
	char t[6][COLUMN];

	report("  %6s %7s %6s %6s %6s %6s", number(t[0], 1, known ? percent(f->load) : NAN, "%"),
	       number(t[1], 3, known ? cost_of(f) : NAN, ""),
	       number(t[2], 1, known ? percent(cpu[CPU_USER]) : NAN, "%"),
	       number(t[3], 1, known ? percent(cpu[CPU_SYSTEM]) : NAN, "%"),
	       number(t[4], 1, known ? percent(cpu[CPU_IRQ] + cpu[CPU_SOFTIRQ]) : NAN, "%"),
	       number(t[5], 1, known ? percent(left) : NAN, "%"));
}

/* A list of sizes is a table, a line for each. */
static void report_row(void)
{
	static const char time[] = "    load  us/KiB   user system   soft   left";
	static bool begun;

	if (!begun && !opt.quiet) {
		report_what(false);
		report("%50s%44s\n", "sender", is_local() ? "receiver, this host" : "receiver");
		report("%9s %11s %11s%s%s\n", opt.method->name, "kbytes/sec", "calls/s", time,
		       time);
	}
	begun = true;
	report("%9zu %11.0f %11.0f", run.stream[0].chunk,
	       kbytes_per_sec(run.sent.bytes, run.sent.seconds),
	       per_second(run.sent.calls, run.sent.seconds));
	report_time(&run.sent, true);
	report_time(&run.received, run.receipts > 0);
	report("\n");
}

/*
 * The report as JSON.
 */

static int sock_int(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) == 0 ? value : 0;
}

static void json_test_start(struct json *j)
{
	json_open(j, "test_start", '{');
	json_string(j, "protocol", opt.raw ? "raw TCP" : "TCP");
	json_count(j, "num_streams", (uint64_t)opt.streams);
	json_count(j, "blksize", run.stream[0].chunk);
	json_number(j, "omit", opt.warmup);
	json_number(j, "duration", opt.seconds);
	json_string(j, "method", opt.method->name);
	json_bool(j, "cork", opt.cork);
	json_bool(j, "nodelay", opt.nodelay);
	json_count(j, "fqrate", opt.pace * 8);
	json_count(j, "files", run.set->n);
	json_count(j, "file_bytes", run.set->bytes);
	json_bool(j, "builtin_files", run.set->builtin);
	json_close(j, '}');
}

static void json_server(struct json *j)
{
	json_open(j, "connecting_to", '{');
	json_string(j, "host", opt.server);
	json_count(j, "port", strtoull(opt.port, NULL, 10));
	json_close(j, '}');
}

static void json_begin(void)
{
	struct json *j = &json;
	int i, fd = run.stream[0].sock;

	json_report_open(j);
	json_open(j, "start", '{');
	json_open(j, "connected", '[');
	for (i = 0; i < opt.streams; i++) {
		json_open(j, NULL, '{');
		json_count(j, "socket", (uint64_t)i + 1);
		json_addresses(j, run.stream[i].sock, (struct sockaddr *)&run.peer, run.peer_len);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_program(j);
	json_server(j);
	json_count(j, "tcp_mss_default", (uint64_t)sock_int(fd, IPPROTO_TCP, TCP_MAXSEG));
	json_count(j, "sndbuf_actual", (uint64_t)sock_int(fd, SOL_SOCKET, SO_SNDBUF));
	json_count(j, "rcvbuf_actual", (uint64_t)sock_int(fd, SOL_SOCKET, SO_RCVBUF));
	json_string(j, "interface", run.interface);
	json_test_start(j);
	json_close(j, '}');
	json_open(j, "intervals", '[');
}

static void json_streams(struct json *j)
{
	const struct stream *st;
	int i;

	json_open(j, "streams", '[');
	for (i = 0; i < opt.streams; i++) {
		st = &run.stream[i];
		json_open(j, NULL, '{');
		json_stream(j, "sender", &st->sent, i + 1, true);
		if (st->has_receipt)
			json_stream(j, "receiver", &st->received, i + 1, false);
		if (st->ring != NULL) {
			json_count(j, "zerocopy_sends", st->ring->next);
			json_count(j, "zerocopy_copied", st->ring->copied);
			json_count(j, "zerocopy_incomplete", st->ring->next - st->ring->oldest);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void json_cpus(struct json *j)
{
	struct load l;
	int i;

	json_open(j, "load_by_cpu", '[');
	for (i = 0; i < run.calibration.cpus.n && cpu_load(i, &l); i++) {
		json_open(j, NULL, '{');
		json_count(j, "cpu", (uint64_t)run.calibration.cpus.id[i]);
		json_number(j, "load_percent", 100 * l.load);
		json_number(j, "load_uncertainty_percent", 100 * l.uncertainty);
		json_number(j, "cost_us_per_kib",
			    cost_us_per_kib(l.load, 1, run.sent.bytes, run.sent.seconds));
		json_string(j, "role", cpu_role(i));
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* The end of the report, with the error unless that is NULL. */
static void json_end(const char *error)
{
	struct json *j = &json;
	const struct figures *remote = run.receipts > 0 ? &run.received : NULL;

	json_close(j, ']');
	json_open(j, "end", '{');
	json_streams(j);
	json_stream(j, "sum_sent", &run.sent, 0, true);
	if (remote != NULL)
		json_stream(j, "sum_received", remote, 0, false);
	json_utilization(j, &run.sent, remote);
	json_string(j, "sender_tcp_congestion", run.congestion);
	json_host(j, "host", &run.sent);
	if (remote != NULL)
		json_host(j, "remote", remote);
	json_cpus(j);
	json_bool(j, "both_ends_on_host", is_local());
	if (run.receipts == opt.streams)
		json_bool(j, "bytes_agree", missing_bytes() == 0);
	json_close(j, '}');
	if (error != NULL)
		json_string(j, "error", error);
	json_close(j, '}');
	report("\n");
	j->f = NULL;
}

/*
 * The connections and the program.
 */

static void set_int(int fd, int level, int name, int value, const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)) != 0)
		die("%s %d: %s", what, value, strerror(errno));
}

/* What is set before connect(2): the segment size and the timeout hold for the handshake too. */
static void set_options(int fd)
{
	const struct timeval t = {(time_t)opt.timeout, (suseconds_t)(fmod(opt.timeout, 1) * 1e6)};

	sock_set_options_or_die(fd, &opt.sock);
	if (opt.mss > 0)
		set_int(fd, IPPROTO_TCP, TCP_MAXSEG, opt.mss, "--mss");
	if (opt.nodelay)
		set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1, "--nodelay");
	if (opt.timeout > 0 && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) != 0 ||
				setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) != 0))
		die("--timeout %g: %s", opt.timeout, strerror(errno));
	if (opt.pace > 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &opt.pace, sizeof(opt.pace)) != 0)
		die("--pace %llu: %s", (unsigned long long)opt.pace, strerror(errno));
}

static int connect_to(const struct sockaddr *sa, socklen_t len)
{
	int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP), e;

	if (fd < 0)
		return -1;
	set_options(fd);
	/* After EINTR the handshake goes on, and a second call waits for its end: connect(2). */
	do
		e = connect(fd, sa, len);
	while (e != 0 && again());
	if (e == 0 || errno == EISCONN)
		return fd;
	e = errno == EINPROGRESS ? ETIMEDOUT : errno; /* so: SO_SNDTIMEO was over; socket(7) */
	close(fd);
	errno = e;
	return -1;
}

/* The server's addresses.  `0` is this host, as in 2001. */
static struct addrinfo *resolve(void)
{
	struct addrinfo hints = {.ai_family = opt.family, .ai_socktype = SOCK_STREAM}, *list;
	const char *host = opt.server;
	int e;

	if (strcmp(host, "0") == 0)
		host = opt.family == AF_INET6 ? "::1" : "127.0.0.1";
	e = getaddrinfo(host, opt.port, &hints, &list);
	if (e != 0)
		die("%s: %s", opt.server, e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
	return list;
}

static void choose(const struct addrinfo *ai)
{
	memcpy(&run.peer, ai->ai_addr, ai->ai_addrlen);
	run.peer_len = ai->ai_addrlen;
	if (addr_interface(ai->ai_addr, run.interface) != 0)
		run.interface[0] = '\0';
}

/*
 * Connects the first stream: tries each address of the server in the resolver's order, and keeps
 * the one that answers for the others.
 */
static int connect_first(void)
{
	struct addrinfo *list = resolve(), *ai;
	int fd = -1;

	for (ai = list; ai != NULL && fd < 0; ai = ai->ai_next) {
		choose(ai);
		fd = connect_to(ai->ai_addr, ai->ai_addrlen);
	}
	freeaddrinfo(list);
	return fd;
}

static void stream_open(struct stream *st, int number)
{
	st->number = number;
	st->chunk = opt.chunk;
	st->pipe[0] = -1;
	figures_init(&st->received);
	if (number == 0)
		st->sock = connect_first();
	else
		st->sock = connect_to((struct sockaddr *)&run.peer, run.peer_len);
	if (st->sock < 0)
		die("cannot connect to %s port %s: %s", opt.server, opt.port, strerror(errno));
	addr_format((struct sockaddr *)&run.peer, run.peer_len, st->peer);
	sock_keep_alive(st->sock);
	opt.method->open(st);
}

/* All of them are connected before the first sends: then the server's last client is their last. */
static void streams_open(void)
{
	int i;

	run.stream = calloc((size_t)opt.streams, sizeof(*run.stream));
	if (run.stream == NULL)
		die("%d streams: %s", opt.streams, strerror(errno));
	for (i = 0; i < opt.streams; i++)
		stream_open(&run.stream[i], i);
	sock_congestion(run.stream[0].sock, run.congestion);
	if (opt.debug > 0)
		warnx("connected to %s through %s", run.stream[0].peer, run.interface);
}

static void streams_close(void)
{
	int i;

	for (i = 0; i < opt.streams; i++) {
		close(run.stream[i].sock);
		if (run.stream[i].pipe[0] >= 0) {
			close(run.stream[i].pipe[0]);
			close(run.stream[i].pipe[1]);
		}
		free(run.stream[i].ring);
		window_close(&run.stream[i]);
		if (run.stream[i].buf != NULL)
			munmap(run.stream[i].buf, run.stream[i].buf_size);
	}
	free(run.stream);
}

/* The second time it does not wait for the server any more. */
static void on_signal(int sig)
{
	if (interrupted()) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	stop = sig;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * Interruptions are the main thread's, where it waits; the streams have SIGALRM, from it.  Whoever
 * started the program may have blocked that, and a blocked signal interrupts no send.
 */
static void catch_signals(sigset_t *unblocked)
{
	const struct sigaction sa = {.sa_handler = on_alarm};
	sigset_t alarm_only;

	catch_stop_signals_waiting(on_signal, unblocked);
	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	sigdelset(unblocked, SIGALRM);
}

/* Undoes it: where nothing waits and there is nothing to report, a signal just ends the program. */
static void release_signals(const sigset_t *unblocked)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &sa) == 0 && sa.sa_handler == on_signal)
			signal(signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, unblocked, NULL);
}

/* Ends as the signal would have ended it, so that a shell's loop stops too. */
static _Noreturn void die_of_signal(int sig, const sigset_t *unblocked)
{
	signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, unblocked, NULL);
	raise(sig);
	/* cppcheck-suppress unreachableCode ; the compiler does not know that raise(3) ends it */
	_exit(128 + sig);
}

static _Noreturn void die_in_warmup(const sigset_t *unblocked)
{
	if (opt.json)
		json_fail(&json, "interrupted");
	warnx("interrupted before the warm-up was over: nothing was measured");
	die_of_signal(stop, unblocked);
}

static void soak_begin(void)
{
	size_t n = (size_t)run.calibration.cpus.n;

	run.begin.cpu = calloc(n, sizeof(*run.begin.cpu));
	run.end.cpu = calloc(n, sizeof(*run.end.cpu));
	if (run.begin.cpu == NULL || run.end.cpu == NULL)
		die_errno("load");
	run.soak = soaker_start_or_die(&run.calibration.cpus);
}

static void warn_of_load(void)
{
	const struct load l = {.load = run.sent.load};

	limits_warn_run(&run.calibration.cpus, &run.begin.counters, &run.end.counters, &l);
	if (run.sent.seconds < 0.5)
		warnx("the load was measured over less than half a second: send more (-n, -t)");
}

/* What a run has left behind of itself. */
static void run_reset(void)
{
	int time_up = TIME_UP;

	atomic_compare_exchange_strong(&stop, &time_up, 0);
	run.receipts = 0;
	run.measuring = false;
}

/* What is wrong with a run that has come to its end: NULL, or a text in `why`. */
static const char *run_error(char why[DIE_MAX])
{
	const unsigned long long sent = run.sent.bytes + run.sent.warmup;
	const unsigned long long received = run.received.bytes + run.received.warmup;

	if (interrupted())
		return "interrupted";
	if (run.receipts < opt.streams || missing_bytes() == 0)
		return NULL;
	snprintf(why, DIE_MAX, "the server received %llu bytes of the %llu sent", received, sent);
	return why;
}

/*
 * Sends the file set over connections of its own, in chunks of that size; 0: the method's.  False
 * when the server has not received what was sent.
 */
static bool send_once(size_t chunk, sigset_t *unblocked)
{
	char why[DIE_MAX];
	const char *error;

	run_reset();
	opt.chunk = chunk;
	streams_open(); /* a server that does not answer keeps it for minutes */
	catch_signals(unblocked);
	if (opt.json)
		json_begin();
	transfer(unblocked);
	if (!run.measuring && !interrupted())
		die("all was sent before the warm-up was over: send more (-n, -t)");
	if (!run.measuring)
		die_in_warmup(unblocked);
	sum_figures();
	error = run_error(why);
	if (run.soak != NULL)
		warn_of_load();
	if (opt.json)
		json_end(error);
	else if (opt.chunks.n > 1)
		report_row();
	else
		report_text();
	streams_close();
	if (interrupted())
		return true;
	release_signals(unblocked);
	if (error != NULL)
		warnx("%s", error);
	return error == NULL;
}

/* What transfers and requests have to have before they begin. */
static void prepare(void)
{
	if (opt.load) {
		calibration_load_or_die(&run.calibration, CALIBRATION_FILE, opt.n_cpus);
		limits_warn();
	}
	cpus_try_or_die(&opt.bind);
	run.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run.wake < 0)
		die_errno("eventfd");
}

/* What prepare() and soak_begin() have made. */
static void tidy_up(void)
{
	if (run.soak != NULL)
		soaker_stop(run.soak);
	free(run.begin.cpu);
	free(run.end.cpu);
	free(run.calibration.cpu);
	close(run.wake);
}

static int send_all(char **names, int n)
{
	struct fileset set;
	sigset_t unblocked;
	bool ok = true;
	int i;

	prepare();
	fileset_open(&set, names, n);
	run.set = &set;
	if (opt.load)
		soak_begin();
	for (i = 0; (i == 0 || i < opt.chunks.n) && ok && !interrupted(); i++) {
		ok = send_once(opt.chunks.n > 0 ? (size_t)opt.chunks.size[i] : 0, &unblocked);
	}
	tidy_up();
	fileset_close(&set);
	run.set = NULL;
	if (interrupted())
		die_of_signal(stop, &unblocked);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/*
 * Requests: connections that ask for so many bytes each, as in 1999.
 */

#define STALL_NS      20000000u   /* a wait for data this long, and so many times longer than */
#define STALL_CONNECT 5           /* the connection took to be made, is no network's delay */
#define BACKOFF_NS    10000000u   /* after a failure that passes, such as a lack of ports */
#define REQUEST_SIZE  (64 * 1024) /* of each read */
#define HOPELESS      3           /* failures in a row with the same error before any success */

/*
 * Latencies in ns, in classes a 32nd of a power of two wide, so that a percentile is off by 1.6 %
 * at most, and a histogram has the same size whatever it holds.
 */
#define HIST_SHIFT 5
#define HIST_SUB   (1 << HIST_SHIFT)
#define HIST_BITS  40 /* up to 18 minutes */

struct histogram {
	uint64_t n, max;
	uint64_t class[(HIST_BITS - HIST_SHIFT + 1) * HIST_SUB];
};

enum { FAIL_REFUSED, FAIL_RESET, FAIL_PORTS, FAIL_TIMEOUT, FAIL_LENGTH, FAIL_OTHER, FAILURES };

static const struct {
	const char *text, *key;
} failure[FAILURES] = {
	[FAIL_REFUSED] = {"refused", "refused"},
	[FAIL_RESET] = {"reset by the server", "reset"},
	[FAIL_PORTS] = {"for lack of local ports", "no_ports"},
	[FAIL_TIMEOUT] = {"timed out", "timeout"},
	[FAIL_LENGTH] = {"with another length than asked for", "wrong_length"},
	[FAIL_OTHER] = {"for another reason", "other"},
};

/* What one thread, or all, saw of one size. */
struct requests {
	uint64_t bytes, failed[FAILURES];
	uint64_t stalled, stalled_first; /* and of those before the first byte */
	int other_errno;
	struct histogram connect, first, total, stall;
};

struct requester {
	pthread_t thread;
	int number;
	_Atomic bool working;
	struct requests r;
	char *buf;
};

static struct {
	uint32_t size;            /* asked for now */
	_Atomic uint64_t tickets; /* connections still to be made */
	_Atomic uint64_t done;
	_Atomic bool succeeded; /* a connection has, of whatever size */
	/* Failures in a row before that, and their common error. */
	pthread_mutex_t lock;
	int failures, error;
	_Atomic bool hopeless; /* there were HOPELESS of them: no more connections are made */
	struct requester *requester;
} requesting = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t hist_class(uint64_t v)
{
	int shift;

	if (v < HIST_SUB)
		return (size_t)v;
	if (v >> HIST_BITS)
		v = (1ull << HIST_BITS) - 1;
	shift = 63 - __builtin_clzll(v) - HIST_SHIFT;
	return (size_t)(shift + 1) * HIST_SUB + (size_t)((v >> shift) & (HIST_SUB - 1));
}

static void hist_add(struct histogram *h, uint64_t v)
{
	h->class[hist_class(v)]++;
	h->n++;
	if (v > h->max)
		h->max = v;
}

static void hist_merge(struct histogram *to, const struct histogram *from)
{
	size_t i;

	for (i = 0; i < sizeof(to->class) / sizeof(to->class[0]); i++)
		to->class[i] += from->class[i];
	to->n += from->n;
	if (from->max > to->max)
		to->max = from->max;
}

/* The latency in seconds that the share p of all was within: the middle of its class. */
static double hist_percentile(const struct histogram *h, double p)
{
	uint64_t rank = (uint64_t)ceil(p * (double)h->n), seen = 0, low, width;
	size_t i;

	if (h->n == 0)
		return NAN;
	for (i = 0; i + 1 < sizeof(h->class) / sizeof(h->class[0]); i++) {
		seen += h->class[i];
		if (seen >= rank)
			break;
	}
	width = i < HIST_SUB ? 1 : 1ull << (i / HIST_SUB - 1);
	low = i < HIST_SUB ? i : (HIST_SUB + i % HIST_SUB) * width;
	return fmin((double)low + (double)(width - 1) / 2, (double)h->max) / 1e9;
}

static size_t failure_of(int e)
{
	switch (e) {
	case ECONNREFUSED: return FAIL_REFUSED;
	case ECONNRESET:
	case EPIPE: return FAIL_RESET;
	case EADDRNOTAVAIL:
	case EADDRINUSE: return FAIL_PORTS;
	case ETIMEDOUT:
	case EAGAIN: return FAIL_TIMEOUT;
	case EMSGSIZE: return FAIL_LENGTH; /* request_once() says so */
	default: return FAIL_OTHER;
	}
}

static void count_failure(struct requests *r, int e)
{
	const struct timespec backoff = {.tv_nsec = BACKOFF_NS};
	size_t kind = failure_of(e);

	r->failed[kind]++;
	if (kind == FAIL_OTHER)
		r->other_errno = e;
	if (e == EADDRNOTAVAIL || e == EADDRINUSE || e == EMFILE || e == ENOBUFS)
		nanosleep(&backoff, NULL);
}

/* How a reply came. */
struct reply {
	int64_t got;        /* bytes; -1: failed, with errno */
	uint64_t first;     /* when the first byte had been read */
	uint64_t longest;   /* wait for data or for the close, in ns, and */
	bool before_first;  /* whether that was the wait for the first byte */
	uint64_t last;      /* when data last came */
	struct limit limit; /* of how long it may take */
};

/* Takes in `n` bytes, or the end of stream, that came after a wait; false when it takes too long. */
static bool reply_take(struct reply *r, ssize_t n)
{
	const uint64_t now = now_ns();

	if (r->got == 0 && n > 0)
		r->first = now;
	if (now - r->last > r->longest) {
		r->longest = now - r->last;
		r->before_first = r->got == 0;
	}
	r->last = now;
	r->got += n;
	return n == 0 || !limit_reached(&r->limit, now, (uint64_t)r->got);
}

/* Reads to the end of stream, or to more than was asked for at asked_ns. */
static struct reply read_reply(int fd, char *buf, uint64_t asked_ns)
{
	struct reply r = {.last = asked_ns, .limit = limit_begin()};
	ssize_t n;

	do {
		n = recv(fd, buf, REQUEST_SIZE, 0);
		if (n < 0 && again())
			continue;
		if (n >= 0 && !reply_take(&r, n)) {
			n = -1;
			errno = ETIMEDOUT;
		}
		if (n < 0) {
			r.got = -1;
			break;
		}
	} while (n != 0 && r.got <= requesting.size); /* more might never end */
	return r;
}

/* One connection that went well, from `start`. */
static void count_request(struct requests *r, const uint64_t t[4], uint64_t longest,
			  bool before_first)
{
	uint64_t connect = t[1] - t[0];

	hist_add(&r->connect, connect);
	if (requesting.size > 0)
		hist_add(&r->first, t[2] - t[0]);
	hist_add(&r->total, t[3] - t[0]);
	r->bytes += requesting.size;
	if (longest >= STALL_NS && longest >= STALL_CONNECT * connect) {
		hist_add(&r->stall, longest);
		r->stalled++;
		r->stalled_first += before_first;
	}
}

/* Says how many bytes are asked for; -1 on failure. */
static int send_request(int fd)
{
	unsigned char header[WIRE_HEADER];
	size_t sent = 0;
	ssize_t n;

	wire_put(header, requesting.size);
	while (sent < sizeof(header)) {
		n = send(fd, header + sent, sizeof(header) - sent, 0);
		if (n < 0 && !again())
			return -1;
		sent += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Makes one connection, asks and reads; returns 0, the errno, or EMSGSIZE for a wrong length. */
static int request_once(struct requester *q)
{
	struct reply r = {.got = -1};
	uint64_t t[4] = {0};
	int fd, e;

	t[0] = now_ns();
	fd = connect_to((struct sockaddr *)&run.peer, run.peer_len);
	if (fd < 0)
		return errno;
	t[1] = now_ns();
	if (send_request(fd) == 0)
		r = read_reply(fd, q->buf, t[1]);
	e = errno;
	t[2] = r.first;
	t[3] = now_ns();
	close(fd);
	if (r.got < 0)
		return e;
	if ((uint64_t)r.got != requesting.size)
		return EMSGSIZE;
	count_request(&q->r, t, r.longest, r.before_first);
	return 0;
}

/* Whether a report would have both errors in one line. */
static bool same_failure(int a, int b)
{
	return failure_of(a) == failure_of(b) && (failure_of(a) != FAIL_OTHER || a == b);
}

/* Counts a failure before any success; false unless it was one too many. */
static bool count_hopeless(int e)
{
	bool too_many;

	if (requesting.succeeded)
		return false;
	pthread_mutex_lock(&requesting.lock);
	requesting.failures = same_failure(e, requesting.error) ? requesting.failures + 1 : 1;
	requesting.error = e;
	too_many = requesting.failures >= HOPELESS;
	pthread_mutex_unlock(&requesting.lock);
	return too_many;
}

/* Ends the connections of all threads, and of all sizes. */
static void give_up(void)
{
	int running = 0;

	requesting.hopeless = true;
	atomic_compare_exchange_strong(&stop, &running, TIME_UP);
	eventfd_write(run.wake, 1);
}

static bool take_ticket(void)
{
	uint64_t left = atomic_load_explicit(&requesting.tickets, memory_order_relaxed);

	while (left > 0 && !stopped())
		if (atomic_compare_exchange_weak(&requesting.tickets, &left, left - 1))
			return true;
	return false;
}

/* One connection, and what became of it. */
static void request_count(struct requester *q)
{
	const int e = request_once(q);

	if (e == 0) {
		if (!requesting.succeeded)
			requesting.succeeded = true;
	} else if (!(e == EINTR && stopped())) {
		count_failure(&q->r, e);
		if (count_hopeless(e))
			give_up();
	}
	atomic_fetch_add_explicit(&requesting.done, 1, memory_order_relaxed);
}

static void *request_thread(void *arg)
{
	struct requester *q = arg;

	cpu_bind_or_die(&opt.bind, q->number);
	pthread_barrier_wait(&run.start);
	q->working = true;
	while (take_ticket())
		request_count(q);
	q->working = false;
	finish_figures();
	leave();
	return NULL;
}

static void tell_requesters(void)
{
	int i;

	for (i = 0; i < opt.streams; i++)
		if (requesting.requester[i].working)
			pthread_kill(requesting.requester[i].thread, SIGALRM);
}

/* Until all have come to their end, or the time is up. */
static void oversee_requests(const sigset_t *unblocked)
{
	uint64_t end = opt.seconds > 0 ? after(run.start_ns, opt.seconds) : UINT64_MAX, now, due;
	struct pollfd p = {.fd = run.wake, .events = POLLIN};
	bool progress = wants_progress();
	struct timespec t;
	eventfd_t ignored;
	int running = 0;

	while (run.running > 0) {
		now = now_ns();
		due = stop || progress ? now + TICK_NS : end;
		due = due < end ? due : end;
		due = due > now ? due - now : 0;
		t = (struct timespec){(time_t)(due / 1000000000), (long)(due % 1000000000)};
		if (ppoll(&p, 1, end != UINT64_MAX || stop || progress ? &t : NULL, unblocked) > 0)
			eventfd_read(run.wake, &ignored);
		if (now_ns() >= end)
			atomic_compare_exchange_strong(&stop, &running, TIME_UP);
		if (stop && run.running > 0) {
			end = UINT64_MAX;
			tell_requesters();
		}
		if (progress && run.running > 0) {
			fprintf(stderr, "\r%u bytes: %llu connections\033[K", requesting.size,
				(unsigned long long)requesting.done);
			has_progress = true;
		}
	}
	clear_progress();
}

static void merge_requests(struct requests *sum)
{
	const struct requests *r;
	int i, k;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < opt.streams; i++) {
		r = &requesting.requester[i].r;
		sum->bytes += r->bytes;
		for (k = 0; k < FAILURES; k++)
			sum->failed[k] += r->failed[k];
		sum->stalled += r->stalled;
		sum->stalled_first += r->stalled_first;
		if (r->other_errno != 0)
			sum->other_errno = r->other_errno;
		hist_merge(&sum->connect, &r->connect);
		hist_merge(&sum->first, &r->first);
		hist_merge(&sum->total, &r->total);
		hist_merge(&sum->stall, &r->stall);
	}
}

/* All connections of one size. */
static void request_size(uint32_t size, const sigset_t *unblocked, struct requests *sum)
{
	struct requester *q;
	int i, e;

	run_reset();
	requesting.size = size;
	requesting.tickets = opt.seconds > 0 ? UINT64_MAX : opt.loops;
	requesting.done = 0;
	pthread_barrier_init(&run.start, NULL, (unsigned)opt.streams + 1);
	run.running = run.measured = opt.streams;
	for (i = 0; i < opt.streams; i++) {
		q = &requesting.requester[i];
		memset(&q->r, 0, sizeof(q->r));
		q->number = i;
		e = thread_start(&q->thread, request_thread, q);
		if (e != 0)
			die("thread %d of %d: %s", i + 1, opt.streams, strerror(e));
	}
	mark_host(&run.begin);
	run.start_ns = now_ns();
	pthread_barrier_wait(&run.start);
	oversee_requests(unblocked);
	for (i = 0; i < opt.streams; i++)
		pthread_join(requesting.requester[i].thread, NULL);
	pthread_barrier_destroy(&run.start);
	merge_requests(sum);
	figures_init(&run.sent);
	run.sent.bytes = sum->bytes;
	run.sent.seconds = seconds_between(run.start_ns, run.end.ns);
	host_figures(&run.sent);
}

static void report_latency(const char *name, const struct histogram *h)
{
	if (h->n > 0)
		report("  %-14s %10.3f %10.3f %10.3f %10.3f\n", name,
		       1000 * hist_percentile(h, 0.5), 1000 * hist_percentile(h, 0.9),
		       1000 * hist_percentile(h, 0.99), (double)h->max / 1e6);
}

/* What makes 50 connections a second of thousands. */
static void report_stalls(const struct requests *r)
{
	const char *when = "after the first byte";

	if (r->stalled == 0)
		return;
	if (2 * r->stalled_first > r->stalled)
		when = "before the first byte";
	report("  STALLED: %llu of %llu waited for data, median %.1f ms, longest %.1f ms, %s\n",
	       (unsigned long long)r->stalled, (unsigned long long)r->total.n,
	       1000 * hist_percentile(&r->stall, 0.5), (double)r->stall.max / 1e6, when);
	report("           a delayed acknowledgement takes 40 ms or more, "
	       "a retransmission 200 ms or more\n");
}

static void report_failures(const struct requests *r)
{
	int i;

	for (i = 0; i < FAILURES; i++)
		if (r->failed[i] > 0)
			report("  failed: %llu %s%s%s\n", (unsigned long long)r->failed[i],
			       failure[i].text, i == FAIL_OTHER ? ": " : "",
			       i == FAIL_OTHER ? strerror(r->other_errno) : "");
}

/* The first line is as in 1999. */
static void report_requests(const struct requests *r)
{
	double seconds = run.sent.seconds, kbytes = (double)r->bytes / 1024;
	char load[128], name[32];

	snprintf(name, sizeof(name), "%u bytes", requesting.size);
	report("%-16s %10.2fs %12.2fkb %10.2fc/s %12.2fkb/s%s\n", name, seconds, kbytes,
	       per_second(r->total.n, seconds), seconds > 0 ? kbytes / seconds : 0,
	       load_format(run.sent.load, run.sent.uncertainty, run.sent.cpus, r->bytes, seconds,
			   load));
	if (opt.quiet)
		return;
	if (r->total.n > 0)
		report("  %-14s %10s %10s %10s %10s\n", "ms", "p50", "p90", "p99", "max");
	report_latency("connect", &r->connect);
	report_latency("first byte", &r->first);
	report_latency("total", &r->total);
	report_stalls(r);
	report_failures(r);
}

static void json_latency(struct json *j, const char *key, const struct histogram *h)
{
	json_open(j, key, '{');
	json_number(j, "p50", hist_percentile(h, 0.5));
	json_number(j, "p90", hist_percentile(h, 0.9));
	json_number(j, "p99", hist_percentile(h, 0.99));
	if (h->n > 0)
		json_number(j, "max", (double)h->max / 1e9);
	json_close(j, '}');
}

static void json_requests(const struct requests *r)
{
	struct json *j = &json;
	double seconds = run.sent.seconds;
	int i;

	json_open(j, NULL, '{');
	json_count(j, "request_bytes", requesting.size);
	json_throughput(j, 0, seconds, r->bytes);
	json_count(j, "connections", r->total.n);
	json_number(j, "connections_per_second", per_second(r->total.n, seconds));
	json_open(j, "latency_seconds", '{');
	json_latency(j, "connect", &r->connect);
	json_latency(j, "first_byte", &r->first);
	json_latency(j, "total", &r->total);
	json_close(j, '}');
	json_open(j, "stalls", '{');
	json_count(j, "connections", r->stalled);
	json_count(j, "before_first_byte", r->stalled_first);
	json_latency(j, "seconds", &r->stall);
	json_close(j, '}');
	json_open(j, "failed", '{');
	for (i = 0; i < FAILURES; i++)
		json_count(j, failure[i].key, r->failed[i]);
	json_close(j, '}');
	json_host(j, "host", &run.sent);
	json_close(j, '}');
}

static void json_requests_begin(void)
{
	json_report_open(&json);
	json_open(&json, "start", '{');
	json_program(&json);
	json_server(&json);
	json_open(&json, "test_start", '{');
	json_string(&json, "protocol", "requests over TCP");
	json_count(&json, "num_streams", (uint64_t)opt.streams);
	json_number(&json, "duration", opt.seconds);
	json_close(&json, '}');
	json_close(&json, '}');
	json_open(&json, "requests", '[');
}

/* The first of the server's addresses has to do: a connection to try it would be a request. */
static void requesters_open(void)
{
	struct addrinfo *list = resolve();
	int i;

	choose(list);
	freeaddrinfo(list);
	requesting.requester = calloc((size_t)opt.streams, sizeof(*requesting.requester));
	for (i = 0; requesting.requester != NULL && i < opt.streams; i++)
		if ((requesting.requester[i].buf = malloc(REQUEST_SIZE)) == NULL)
			break;
	if (requesting.requester == NULL || i < opt.streams)
		die("%d at a time: %s", opt.streams, strerror(errno));
}

/* Closes the report. */
static void requests_end(const char *error)
{
	if (!opt.json)
		return;
	json_close(&json, ']');
	if (error != NULL)
		json_string(&json, "error", error);
	json_close(&json, '}');
	report("\n");
	json.f = NULL;
}

/* What is wrong with the requests as a whole: NULL, or a text in `why`. */
static const char *requests_error(char why[DIE_MAX])
{
	size_t kind = failure_of(requesting.error);

	if (interrupted())
		return "interrupted";
	if (requesting.succeeded)
		return NULL;
	if (requesting.hopeless)
		snprintf(why, DIE_MAX, "%s port %s: the first %d connections failed, %s%s%s",
			 opt.server, opt.port, HOPELESS, failure[kind].text,
			 kind == FAIL_OTHER ? ": " : "",
			 kind == FAIL_OTHER ? strerror(requesting.error) : "");
	else
		snprintf(why, DIE_MAX, "%s port %s: none of the connections succeeded", opt.server,
			 opt.port);
	return why;
}

/* Asks for each size of the list, and reports it. */
static void request_sizes(const sigset_t *unblocked)
{
	struct requests sum;
	int i;

	for (i = 0; i < opt.requests.n && !interrupted() && !requesting.hopeless; i++) {
		request_size((uint32_t)opt.requests.size[i], unblocked, &sum);
		if (run.soak != NULL)
			warn_of_load();
		if (opt.json)
			json_requests(&sum);
		else
			report_requests(&sum);
	}
}

static int request_all(void)
{
	char why[DIE_MAX];
	const char *error;
	sigset_t unblocked;
	int i;

	prepare();
	requesters_open();
	if (opt.load)
		soak_begin();
	catch_signals(&unblocked);
	if (opt.json)
		json_requests_begin();
	request_sizes(&unblocked);
	error = requests_error(why);
	requests_end(error);
	tidy_up();
	for (i = 0; i < opt.streams; i++)
		free(requesting.requester[i].buf);
	free(requesting.requester);
	if (interrupted())
		die_of_signal(stop, &unblocked);
	if (error != NULL)
		warnx("%s", error);
	return error == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}

/*
 * Options.
 */

enum {
	OPT_CONGESTION = 256,
	OPT_FORCE,
	OPT_WARMUP,
	OPT_PACE,
	OPT_MSS,
	OPT_NODELAY,
	OPT_TIMEOUT,
	OPT_RAW,
	OPT_JSON,
	OPT_REQUEST
};

static const struct option longopts[] = {
	{"server", required_argument, NULL, 's'},
	{"port", required_argument, NULL, 'p'},
	{"loops", required_argument, NULL, 'n'},
	{"time", required_argument, NULL, 't'},
	{"warmup", required_argument, NULL, OPT_WARMUP},
	{"interval", required_argument, NULL, 'I'},
	{"streams", required_argument, NULL, 'P'},
	{"method", required_argument, NULL, 'm'},
	{"send", no_argument, NULL, 'S'},
	{"write", no_argument, NULL, 'w'},
	{"buffer-size", required_argument, NULL, 'b'},
	{"cork", no_argument, NULL, 'k'},
	{"nodelay", no_argument, NULL, OPT_NODELAY},
	{"rcvbuf", required_argument, NULL, 'i'},
	{"sndbuf", required_argument, NULL, 'o'},
	{"mss", required_argument, NULL, OPT_MSS},
	{"pace", required_argument, NULL, OPT_PACE},
	{"congestion", required_argument, NULL, OPT_CONGESTION},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"raw", no_argument, NULL, OPT_RAW},
	{"request", required_argument, NULL, OPT_REQUEST},
	{"bind-cpu", required_argument, NULL, 'B'},
	{"cpu-load", no_argument, NULL, 'c'},
	{"calibrate", no_argument, NULL, 'C'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"cpus", required_argument, NULL, 'N'},
	{"json", no_argument, NULL, OPT_JSON},
	{"quiet", no_argument, NULL, 'q'},
	{"debug", no_argument, NULL, 'd'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"Usage: zcc [options] -s server [file...]\n"
	"       zcc [options] --request bytes[,bytes...] -s server\n"
	"       zcc -C [-N nr_cpus]\n"
	"Sends files to zcs over TCP; says how fast, and with -c what it cost this host.\n"
	"Without files it sends a built-in set, 63 files of 350 KiB in memory.\n"
	"\n"
	"  -s, --server host      where zcs runs: a name, an IPv4 or IPv6 address; 0 is this host\n"
	"  -p, --port port        its port (default 2222; --request 7890)\n"
	"  -n, --loops n          send the file set this many times (default 1)\n"
	"  -t, --time secs        send it over and over for this long\n"
	"      --warmup secs      and before that, this long; in no figure of either end\n"
	"  -I, --interval secs    a line each time that so long has passed\n"
	"  -P, --streams n        so many connections at a time, each sends the file set\n"
	"\n"
	"  -m, --method how       sendfile (default), send, write, mmap, splice or zerocopy\n"
	"  -S, --send             read() and send() instead of sendfile(): -m send\n"
	"  -w, --write            read() and write(), also with -S: -m write\n"
	"  -b, --buffer-size size of each read and send (default 64k); with sendfile, mmap and\n"
	"                         splice the most asked of one call (default 1m; mmap 4m, which\n"
	"                         the streams share); a list, 1,10,1k, makes a run and a line\n"
	"                         of a table of each\n"
	"  -k, --cork             TCP_CORK on the connection, released after the file set\n"
	"      --nodelay          TCP_NODELAY\n"
	"  -i, --rcvbuf size      SO_RCVBUF (default: the kernel's autotuning)\n"
	"  -o, --sndbuf size      SO_SNDBUF (default: the kernel's autotuning)\n"
	"      --mss bytes        the largest segment\n"
	"      --pace rate        at most so many bytes per second of each stream\n"
	"      --congestion name  congestion control (default: the system's)\n"
	"      --timeout secs     fail when the server acknowledges nothing for secs (default:\n"
	"                         never; --request 60)\n"
	"      --raw              no headers, no receipt: for a server that is not zcs; what it\n"
	"                         sends is discarded\n"
	"      --request bytes    connections that each ask a zcs --reply for so many bytes, -n\n"
	"                         of them or for -t seconds, -P at a time; a list: one after the\n"
	"                         other\n"
	"  -4, -6                 IPv4 or IPv6 only\n"
	"\n"
	"  -B, --bind-cpu cpus    run on this CPU; a list: one stream after the other\n"
	"  -c, --cpu-load         measure this host's CPU load during the transfer\n"
	"  -C, --calibrate        calibrate for -c on the idle system, and exit\n"
	"      --force            with -C: also when the machine is busy\n"
	"  -N, --cpus n           how many CPUs to measure (default: all that are online)\n"
	"\n"
	"      --json             the report as JSON, named as iperf3 names it\n"
	"  -q, --quiet            only the report's first line\n"
	"  -d, --debug            say more on stderr; twice: each file\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"Sizes take a suffix k, m or g.  The manual is zcc(1), the method zc(7).\n";

/* Sizes with commas between them. */
static void arg_sizes(const char *name, const char *s, uint64_t min, uint64_t max,
		      struct sizes *list)
{
	char *copy = strdup(s), *rest = copy, *one;

	if (copy == NULL)
		die_errno("%s", name);
	for (list->n = 0; (one = strsep(&rest, ",")) != NULL; list->n++) {
		if (list->n == SIZES_MAX)
			usage_error("%s: more than %d sizes", name, SIZES_MAX);
		list->size[list->n] = arg_size(name, one, min, max);
	}
	free(copy);
}

/* Options that say how the connections are. */
static bool parse_socket_option(int c)
{
	switch (c) {
	case 'i': opt.sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30); return true;
	case 'o': opt.sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30); return true;
	case 'k': opt.cork = true; return true;
	case OPT_NODELAY: opt.nodelay = true; return true;
	case OPT_MSS:
		opt.mss = (int)arg_size("--mss", optarg, 88, 32767); /* what the kernel takes */
		return true;
	case OPT_PACE: opt.pace = arg_size("--pace", optarg, 1, 1ull << 50); return true;
	case OPT_CONGESTION: opt.sock.congestion = optarg; return true;
	case OPT_TIMEOUT: opt.timeout = arg_seconds("--timeout", optarg, 0.001, 86400); return true;
	case '4': arg_family(&opt.family, AF_INET); return true;
	case '6': arg_family(&opt.family, AF_INET6); return true;
	default: return false;
	}
}

/* Options that say what is sent, and how often. */
static bool parse_transfer_option(int c)
{
	switch (c) {
	case 'n':
		opt.loops = (uint32_t)arg_int("-n, --loops", optarg, 1, WIRE_FOREVER - 1);
		return true;
	case 't': opt.seconds = arg_seconds("-t, --time", optarg, 0.001, 1e9); return true;
	case OPT_WARMUP: /* in what the wire has for it, so that both ends warm up equally long */
		opt.warmup = ceil(arg_seconds("--warmup", optarg, 0, WARMUP_MAX) * 10 - 1e-6) / 10;
		return true;
	case 'I': opt.interval = arg_seconds("-I, --interval", optarg, 0.01, 86400); return true;
	case 'P': opt.streams = (int)arg_int("-P, --streams", optarg, 1, STREAMS_MAX); return true;
	case 'm': opt.method = method_named(optarg); return true;
	case 'S': opt.use_send = true; return true;
	case 'w': opt.use_write = true; return true;
	case 'b': arg_sizes("-b, --buffer-size", optarg, 1, 1u << 30, &opt.chunks); return true;
	case OPT_RAW: opt.raw = true; return true;
	case OPT_REQUEST: arg_sizes("--request", optarg, 0, UINT32_MAX, &opt.requests); return true;
	default: return false;
	}
}

static void parse_option(int c)
{
	switch (c) {
	case 's': opt.server = optarg; break;
	case 'p': opt.port = arg_port("-p, --port", optarg, 1); break;
	case 'B': arg_cpus("-B, --bind-cpu", optarg, &opt.bind); break;
	case 'c': opt.load = true; break;
	case 'C': opt.calibrate = true; break;
	case OPT_FORCE: opt.force = true; break;
	case 'N': opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX); break;
	case OPT_JSON: opt.json = true; break;
	case 'q': opt.quiet = true; break;
	case 'd': opt.debug++; break;
	case 'h': report("%s", help); exit(EXIT_SUCCESS);
	case 'V': report("zcc %s\n", VERSION); exit(EXIT_SUCCESS);
	default: exit(EXIT_USAGE); /* getopt has named it */
	}
}

/* What the options mean together. */
static void settle_options(bool loops_given)
{
	const char *method = "sendfile";
	struct cpus online;

	cpus_to_soak(opt.n_cpus, &online); /* refuses an -N that cannot be */
	if (opt.calibrate && opt.json)
		usage_error("-C, --calibrate and --json cannot be used together");
	if (opt.calibrate)
		return;
	if (opt.port == NULL)
		opt.port = opt.requests.n > 0 ? REQUEST_PORT : WIRE_PORT;
	if (opt.server[0] == '\0')
		usage_error("-s, --server: no server given (0 is this host); see zcc -h");
	if (opt.seconds > 0 && loops_given)
		usage_error("-n, --loops and -t, --time exclude each other");
	if (opt.requests.n > 0 &&
	    (opt.raw || opt.warmup > 0 || opt.interval > 0 || opt.chunks.n > 0))
		usage_error("--request goes without --raw, --warmup, --interval and --buffer-size");
	if (opt.requests.n > 0 && opt.timeout <= 0)
		opt.timeout = REQUEST_TIMEOUT;
	if (opt.requests.n > 0 && opt.seconds <= 0 && !loops_given)
		opt.loops = REQUESTS;
	if (opt.raw && opt.warmup > 0)
		usage_error("--warmup and --raw exclude each other: only zcs knows of a warm-up");
	if (opt.loops >= WIRE_FOREVER - warmup_loops())
		usage_error("-n, --loops: too many with a --warmup");
	if ((opt.use_send || opt.use_write) && opt.method != NULL)
		usage_error("-%c and -m, --method exclude each other", opt.use_send ? 'S' : 'w');
	if (opt.use_send)
		method = "send";
	if (opt.use_write)
		method = "write";
	if (opt.method == NULL)
		opt.method = method_named(method);
}

int main(int argc, char **argv)
{
	static const char letters[] = "s:p:n:t:I:P:m:Swb:ki:o:46B:cCN:qdhV";
	bool loops_given = false;
	int c;

	init_output();
	name_in_errors(argv);
	die_init(close_report);
	while ((c = getopt_long(argc, argv, letters, longopts, NULL)) != -1) {
		loops_given |= c == 'n';
		if (!parse_socket_option(c) && !parse_transfer_option(c))
			parse_option(c);
	}
	settle_options(loops_given);
	if (opt.requests.n > 0 && !opt.calibrate && optind < argc)
		usage_error("--request sends no files: '%s'", argv[optind]);
	if (opt.requests.n > 0 && !opt.calibrate)
		return request_all();
	if (!opt.calibrate)
		return send_all(argv + optind, argc - optind);
	if (optind < argc)
		usage_error("-C, --calibrate takes no files: '%s'", argv[optind]);
	calibrate_or_die(opt.n_cpus, CALIBRATION_FILE, opt.force);
	return EXIT_SUCCESS;
}
