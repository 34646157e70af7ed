#include "common.h"

#include <limits.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/*
 * Diagnostics.
 */

static int die_status; /* 0: EXIT_FAILURE, or EXIT_USAGE */
static const char *die_place;
static void (*die_hook)(void *arg, const char *why);
static void *die_arg;
/* Takes what this thread dies of; NULL: the program ends. */
static _Thread_local void (*die_taker)(const char *why);
static _Atomic bool output_has_ended; /* the program only waits for who reads it */
static bool report_failed;            /* what was last printed could not be written */

void die_init(void (*hook)(void *arg, const char *why), void *arg)
{
	die_hook = hook;
	die_arg = arg;
}

void die_is_for(void (*taker)(const char *why))
{
	die_taker = taker;
}

void die_about(const char *place)
{
	die_place = place;
}

const char *die_line(const char *error, char line[DIE_MAX])
{
	char text[DIE_MAX]; /* as the error may be in `line` */

	snprintf(text, sizeof(text), "%s%s%s", die_place != NULL ? die_place : "",
		 die_place != NULL ? ": " : "", error);
	return strcpy(line, text);
}

void die_with(int status)
{
	die_status = status;
}

int die_failure(void)
{
	return die_status != 0 ? die_status : EXIT_FAILURE;
}

size_t utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	/* The least code point of each length: a sequence with a lower one is overlong. */
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = n == 1 ? s[0] : s[0] & 0x7fu >> n;
	size_t i;

	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if ((s[0] >= 0x80 && s[0] < 0xc0) || s[0] > 0xf7 || (c >= 0xd800 && c < 0xe000))
		return 0; /* a byte that begins no sequence, or a surrogate */
	return c >= least[n] && c <= 0x10ffff ? n : 0;
}

/* UTF-8 has the control characters U+0080 to U+009F as 0xc2 and one more byte. */
void make_printable(char *s)
{
	size_t n;

	for (; *s != '\0'; s += n > 0 ? n : 1) {
		n = utf8_length(s);
		if (n == 2 && *s == '\xc2' && (unsigned char)s[1] < 0xa0)
			s[0] = s[1] = '?';
		else if (n == 0 || (n == 1 && (*s < ' ' || *s == 0x7f)))
			*s = '?';
	}
}

const char *hash_text(const char *text, char hash[HASH_SIZE])
{
	uint64_t h = 14695981039346656037u;

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	snprintf(hash, HASH_SIZE, "%016" PRIx64, h);
	return hash;
}

const char *printable(const char *s)
{
	static _Thread_local char text[DIE_MAX + 64]; /* as much as die_errno() makes */

	snprintf(text, sizeof(text), "%s", s);
	make_printable(text);
	return text;
}

void die_of(int error, const char *fmt, ...)
{
	static atomic_flag begun = ATOMIC_FLAG_INIT;
	static _Thread_local const char *first; /* why this thread already dies, in the hook */
	char why[DIE_MAX + 64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, DIE_MAX, fmt, ap);
	va_end(ap);
	if (die_taker == NULL)
		die_line(why, why);
	if (error > 0)
		string_append(why, sizeof(why), ": %s", strerror(error));
	if (die_taker != NULL)
		die_taker(why);
	while (first == NULL && (output_has_ended || atomic_flag_test_and_set(&begun)))
		pause();
	output_keep();
	if (first != NULL) {
		warnx("%s", printable(first));
	} else if (error != DIE_OF_USAGE && die_hook != NULL && !report_failed) {
		first = why;
		die_hook(die_arg, why);
	}
	warnx("%s", printable(why));
	if (die_status == 0 && error == DIE_OF_USAGE)
		die_status = EXIT_USAGE;
	exit(die_failure());
}

void command_die(const char *name, int error)
{
	die_status = error == ENOENT ? 127 : 126;
	die_of(error, "cannot run %s", name);
}

/* Removes the beginning of a character, in UTF-8, of which the rest was cut off. */
static void remove_part(char *text, size_t size)
{
	size_t n = strnlen(text, size);

	while (n > 0 && (text[n - 1] & 0xc0) == 0x80)
		n--;
	if (n > 0 && utf8_length(text + n - 1) == 0)
		text[n - 1] = '\0';
}

bool string_append(char *buf, size_t size, const char *fmt, ...)
{
	const size_t used = strnlen(buf, size);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf + used, size - used, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < size - used)
		return true;
	remove_part(buf, size);
	return false;
}

#define TEXTS 16 /* of text_of() that are valid */

#ifdef __SANITIZE_ADDRESS__ /* twice as many, of which older ones are poisoned: whoever reads one is reported */
#include <sanitizer/asan_interface.h>
#define TEXTS_ALL (2 * TEXTS)
#else
#define TEXTS_ALL                            TEXTS
#define ASAN_POISON_MEMORY_REGION(from, n)   (void)0
#define ASAN_UNPOISON_MEMORY_REGION(from, n) (void)0
#endif

const char *text_of(const char *fmt, ...)
{
	static _Thread_local char texts[TEXTS_ALL][TEXT_SIZE];
	static _Thread_local unsigned made;
	char *text = texts[made++ % TEXTS_ALL];
	va_list ap;

	ASAN_UNPOISON_MEMORY_REGION(text, TEXT_SIZE);
	ASAN_POISON_MEMORY_REGION(texts[(made + TEXTS - 1) % TEXTS_ALL], TEXT_SIZE);
	va_start(ap, fmt);
	if (vsnprintf(text, TEXT_SIZE, fmt, ap) >= TEXT_SIZE)
		remove_part(text, TEXT_SIZE);
	va_end(ap);
	return text;
}

const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void *alloc_or_die(size_t n, size_t size, const char *what)
{
	void *p = calloc(n, size);

	if (p == NULL)
		die_errno("%s", what);
	return p;
}

char *copy_or_die(const char *text, const char *what)
{
	char *copy = strdup(text);

	if (copy == NULL)
		die_errno("%s", what);
	return copy;
}

/*
 * Output.
 */

#define QUEUE_MAX (1024 * 1024) /* bytes for which a row has room */
#define RETRY_NS  20000000u     /* after which a terminal is tried again */

/* How a file is written, so that nobody waits for its reader. */
enum sink_kind {
	SINK_FILE,     /* at once: it has no reader */
	SINK_REOPENED, /* a pipe or a terminal, by a descriptor that does not block */
	SINK_SOCKET,   /* with MSG_DONTWAIT */
	SINK_POLLED, /* a pipe or a terminal that could not be opened anew: a line at a time, after poll(2) */
};

struct buffer {
	char *text;
	size_t from, to, room; /* what it has is from `from` to `to` */
};

/* A file that is written. */
struct sink {
	int fd;
	enum sink_kind kind;
	bool is_terminal;
	struct buffer queue; /* what its reader has not taken yet */
	int error;           /* of the last write that failed: errno */
};

/* Standard output or standard error. */
struct outlet {
	struct sink own, *sink;     /* the other one's sink, if both are one file */
	uint64_t dropped, reported; /* lines; of these, what the text that is to be queued says */
};

static struct outlet on_stdout, on_stderr;
static struct buffer printed; /* on stdout, and not queued yet */
static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_queued; /* a reader has not taken all */
static bool is_kept;           /* nothing is dropped any more */
static void (*unclosed)(char *text,
			size_t size);      /* prints what closes an open report; NULL: of text */
static char closing[128];                  /* the same for what is queued */
static const char *report_name = "stdout"; /* where the report goes, as a message names it */

static bool buffer_add(struct buffer *b, const char *text, size_t n)
{
	const size_t room = 2 * (b->to - b->from + n);
	char *more;

	if (n == 0)
		return true;
	if (b->to + n > b->room && b->from > 0) {
		memmove(b->text, b->text + b->from, b->to - b->from);
		b->to -= b->from;
		b->from = 0;
	}
	if (b->to + n > b->room) {
		more = realloc(b->text, room);
		if (more == NULL)
			return false;
		b->text = more;
		b->room = room;
	}
	memcpy(b->text + b->to, text, n);
	b->to += n;
	return true;
}

/*
 * Opens a pipe or a terminal anew: an open file description of the program's own, whose O_NONBLOCK changes nothing
 * for other processes (open(2)).
 */
static void sink_open(struct sink *s, int fd)
{
	struct stat st = {.st_mode = 0};
	int again;

	*s = (struct sink){.fd = fd, .is_terminal = isatty(fd)};
	fstat(fd, &st);
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return; /* writing fails */
	if (S_ISSOCK(st.st_mode)) {
		s->kind = SINK_SOCKET;
	} else if (S_ISFIFO(st.st_mode) || s->is_terminal) {
		again = open_retry(text_of("/proc/self/fd/%d", fd),
				   O_WRONLY | O_NONBLOCK | O_NOCTTY);
		s->kind = again >= 0 ? SINK_REOPENED : SINK_POLLED;
		s->fd = again >= 0 ? again : fd;
	}
}

/* Writes once; the result is that of write(2). */
static ssize_t sink_write(const struct sink *s, const char *text, size_t n)
{
	struct pollfd p = {.fd = s->fd, .events = POLLOUT};
	const char *end;

	if (s->kind == SINK_SOCKET)
		return send(s->fd, text, n, MSG_DONTWAIT);
	if (s->kind == SINK_POLLED) {
		if (poll(&p, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		n = n < PIPE_BUF ? n : PIPE_BUF; /* for so much there is room: pipe(7) */
		end = memchr(text, '\n', n);
		n = end != NULL ? (size_t)(end - text) + 1 : n;
	}
	return write(s->fd, text, n);
}

/* Writes what the reader takes.  After an error the rest is lost. */
static void sink_drain(struct sink *s)
{
	struct buffer *q = &s->queue;
	ssize_t n;

	while (q->from < q->to) {
		n = sink_write(s, q->text + q->from, q->to - q->from);
		if (n < 0 && errno == EAGAIN && s->kind != SINK_FILE)
			return;
		if (n >= 0) {
			q->from += (size_t)n;
		} else if (errno != EINTR) {
			s->error = errno;
			q->from = q->to;
		}
	}
	q->from = q->to = 0;
}

/*
 * While a thread has the lock no handler of signals interrupts it, since one may end the program, and writes then what
 * is queued.  Only a write that may block, for want of a better way, can be interrupted.
 */
static void output_block_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	if (on_stdout.sink->kind == SINK_POLLED || on_stderr.sink->kind == SINK_POLLED)
		sigemptyset(&all);
	pthread_sigmask(SIG_BLOCK, &all, before);
}

static void output_lock_take(sigset_t *before)
{
	output_block_signals(before);
	pthread_mutex_lock(&output_lock);
}

static bool output_lock_try(sigset_t *before)
{
	output_block_signals(before);
	if (pthread_mutex_trylock(&output_lock) == 0)
		return true;
	pthread_sigmask(SIG_SETMASK, before, NULL);
	return false;
}

static void output_unlock(const sigset_t *before)
{
	is_queued = on_stdout.sink->queue.to > 0 || on_stderr.sink->queue.to > 0;
	pthread_mutex_unlock(&output_lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* How many lines a text has; elements of JSON have no ends of lines. */
static uint64_t lines_of(const char *text, size_t n)
{
	const char *end = text + n;
	uint64_t lines = 0;

	while (text < end && (text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		lines++;
		text++;
	}
	return lines > 0 ? lines : 1;
}

/* Queues a text, and writes what its reader takes.  If more than `most` bytes would be queued, it is dropped. */
static bool outlet_put(struct outlet *o, const char *text, size_t n, size_t most)
{
	struct sink *s = o->sink;
	const char *note = "";

	sink_drain(s);
	if (s->queue.to > 0 && s->queue.to - s->queue.from + n > most) {
		o->dropped += lines_of(text, n);
		return false;
	}
	if (o->dropped > 0 && (o == &on_stderr || unclosed == NULL)) {
		note = text_of("%sdropped here, as nobody read it in time: %ju line%s\n",
			       o == &on_stderr ? text_of("%s: ", program_invocation_short_name)
					       : "  ",
			       (uintmax_t)o->dropped, plural(o->dropped));
		o->reported = o->dropped;
	}
	if (!buffer_add(&s->queue, note, strlen(note)) || !buffer_add(&s->queue, text, n))
		s->error = ENOMEM;
	o->dropped -= o->reported;
	o->reported = 0;
	sink_drain(s);
	return true;
}

/* What is printed on stdout is kept until it is whole.  A write function of fopencookie(3). */
static ssize_t keep_printed(void *cookie, const char *text, size_t n)
{
	(void)cookie;
	return buffer_add(&printed, text, n) ? (ssize_t)n : 0;
}

/* Breaks the lines of a text between words where a terminal would break them within one. */
static void fold(char *text, size_t n)
{
	struct winsize w = {.ws_col = 0};
	const size_t width = ioctl(on_stderr.own.fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col
											  : 80;
	char *begin, *blank = NULL, *c;

	for (c = begin = text; c < text + n; c++) {
		if (*c == '\n' || *c == ' ')
			blank = c;
		if (*c != '\n' && ((size_t)(c - begin) < width || blank == NULL))
			continue;
		*blank = '\n';
		begin = blank + 1;
		blank = NULL;
	}
}

/* Progress, which ends no line, is dropped unless it can be printed now. */
static ssize_t put_stderr(void *cookie, const char *text, size_t n)
{
	static char folded[4 * TEXT_SIZE]; /* under the lock */
	sigset_t before;

	(void)cookie;
	output_lock_take(&before);
	if (on_stderr.own.is_terminal && n <= sizeof(folded) && memchr(text, '\n', n) != NULL) {
		fold(memcpy(folded, text, n), n);
		text = folded;
	}
	if (!output_has_ended)
		outlet_put(&on_stderr, text, n,
			   memchr(text, '\n', n) == NULL ? 0
			   : is_kept                     ? SIZE_MAX
							 : QUEUE_MAX);
	output_unlock(&before);
	return (ssize_t)n;
}

static void output_at_exit(void)
{
	if (output_finish() == 0)
		return;
	output_has_ended = false;
	warnx("%s: %s", report_name, strerror(errno));
	(void)output_finish();
	_exit(die_failure());
}

/* As the handler is the first that atexit(3) gets, it is called last. */
void output_open(void)
{
	FILE *lines = fopencookie(NULL, "w", (cookie_io_functions_t){.write = keep_printed});
	FILE *errors = fopencookie(NULL, "w", (cookie_io_functions_t){.write = put_stderr});
	struct stat a, b;

	if (lines == NULL || errors == NULL || atexit(output_at_exit) != 0)
		die_errno("output");
	sink_open(&on_stdout.own, STDOUT_FILENO);
	sink_open(&on_stderr.own, STDERR_FILENO);
	on_stdout.sink = &on_stdout.own;
	on_stderr.sink = on_stdout.own.kind != SINK_FILE && fstat(STDOUT_FILENO, &a) == 0 &&
					 fstat(STDERR_FILENO, &b) == 0 && a.st_dev == b.st_dev &&
					 a.st_ino == b.st_ino
				 ? &on_stdout.own
				 : &on_stderr.own;
	stdout = lines;
	stderr = errors;
	setvbuf(stderr, NULL, _IOLBF, 0);
}

int report_put(bool is_row)
{
	sigset_t before;
	bool fits;
	int e = fflush(stdout) != 0 || ferror(stdout) ? errno : 0;

	if (on_stdout.sink == NULL || e != 0) {
		errno = e;
		return e == 0 ? 0 : -1;
	}
	output_lock_take(&before);
	fits = outlet_put(&on_stdout, printed.text, printed.to,
			  is_row && !is_kept && printed.to > 0 ? QUEUE_MAX : SIZE_MAX);
	printed.to = 0;
	on_stdout.reported = 0;
	if (fits) {
		closing[0] = '\0';
		if (unclosed != NULL)
			unclosed(closing, sizeof(closing));
	}
	e = on_stdout.sink->error;
	on_stdout.sink->error = 0;
	report_failed = e != 0;
	output_unlock(&before);
	errno = e != 0 ? e : ENOBUFS;
	return fits && e == 0 ? 0 : -1;
}

void report_flush(void)
{
	if (report_put(false) != 0)
		die_errno("%s", report_name);
}

bool report_row(void)
{
	if (report_put(true) == 0)
		return true;
	if (errno != ENOBUFS)
		die_errno("%s", report_name);
	return false;
}

void report(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	if (fmt[strlen(fmt) - 1] == '\n')
		report_flush();
}

int report_to_or_die(int fd, const char *path)
{
	const int before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	if (before < 0 || TEMP_FAILURE_RETRY(dup2(fd, STDOUT_FILENO)) < 0)
		die_errno("cannot write %s", path);
	close(fd);
	report_name = path;
	if (on_stderr.sink == &on_stdout.own) {
		on_stderr.own = on_stdout.own;
		on_stderr.sink = &on_stderr.own;
	}
	sink_open(&on_stdout.own, STDOUT_FILENO);
	return before;
}

uint64_t report_dropped(void)
{
	return on_stdout.reported = on_stdout.dropped;
}

void report_closed_by(void (*hook)(char *text, size_t size))
{
	unclosed = hook;
}

void output_keep(void)
{
	is_kept = true;
}

/*
 * Writes what is queued, as far as its reader takes it.  A handler of signals that sleeps may have interrupted a thread
 * that has the lock.
 */
static void output_drain(void)
{
	sigset_t before;

	if (!is_queued || !output_lock_try(&before))
		return;
	sink_drain(on_stdout.sink);
	sink_drain(on_stderr.sink);
	output_unlock(&before);
}

/*
 * Adds to n descriptors those of output that is queued.  Of a terminal poll(2) tells of room where a write blocks: it is
 * tried again, and *due_ns becomes the time of that.
 */
static nfds_t output_polled(struct pollfd *p, nfds_t n, uint64_t *due_ns)
{
	const uint64_t next = now_ns() + RETRY_NS;
	struct sink *const sinks[] = {on_stdout.sink, on_stderr.sink};
	sigset_t before;
	int i;

	output_lock_take(&before);
	for (i = 0; i < (on_stdout.sink == on_stderr.sink ? 1 : 2); i++) {
		if (sinks[i]->queue.to == 0)
			continue;
		if (!sinks[i]->is_terminal)
			p[n++] = (struct pollfd){.fd = sinks[i]->fd, .events = POLLOUT};
		else if (next < *due_ns)
			*due_ns = next;
	}
	output_unlock(&before);
	return n;
}

void wait_until(struct pollfd *p, nfds_t n, uint64_t due_ns, const sigset_t *mask)
{
	struct pollfd all[POLLED_MAX + 2];
	nfds_t i, polled = n;
	struct timespec t;
	uint64_t now;

	for (i = 0; i < n; i++)
		all[i] = p[i];
	if (is_queued)
		polled = output_polled(all, n, &due_ns);
	now = now_ns();
	t = ns_to_timespec(due_ns > now ? due_ns - now : 0);
	if (ppoll(all, polled, due_ns < UINT64_MAX ? &t : NULL, mask) < 0)
		polled = 0;
	for (i = 0; i < n; i++) {
		p[i].revents = 0;
		if (polled > 0)
			p[i].revents = all[i].revents;
	}
	output_drain();
}

int wait_signal(const sigset_t *set, siginfo_t *info, uint64_t due_ns)
{
	uint64_t now, until;
	struct timespec t;
	int sig;

	do {
		output_drain();
		now = now_ns();
		until = is_queued && due_ns > now + RETRY_NS ? now + RETRY_NS : due_ns;
		t = ns_to_timespec(until > now ? until - now : 0);
		sig = sigtimedwait(set, info, &t);
	} while (sig < 0 && errno == EAGAIN && until < due_ns);
	return sig;
}

/*
 * Closes all other files, by which a lock is released, the soakers' keeper sees the end of this program, and who is
 * connected its end of the stream.
 */
static void output_end_all_else(void)
{
	sigset_t set;

	output_lock_take(&set);
	output_has_ended = true;
	if (dup2(on_stdout.sink->fd, STDOUT_FILENO) >= 0 &&
	    dup2(on_stderr.sink->fd, STDERR_FILENO) >= 0) {
		on_stdout.sink->fd = STDOUT_FILENO;
		if (on_stderr.sink != on_stdout.sink)
			on_stderr.sink->fd = STDERR_FILENO;
		syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
	}
	output_unlock(&set);
	stop_signals(&set);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int output_finish(void)
{
	const uint64_t dropped = on_stdout.dropped;
	bool failed = report_failed;
	int e;

	fflush(stdout);
	if (on_stdout.sink == NULL)
		return 0;
	output_keep();
	if (dropped > 0 && unclosed != NULL)
		warnx("dropped at the end, as nobody read it in time: %ju row%s of JSON",
		      (uintmax_t)dropped, plural(dropped));
	if ((printed.to > 0 || dropped > 0) && report_put(false) != 0 && !failed)
		return -1;
	if (is_queued)
		output_end_all_else();
	while (is_queued)
		wait_until(NULL, 0, UINT64_MAX, NULL);
	e = on_stdout.sink->error;
	on_stdout.sink->error = 0;
	errno = e;
	return e == 0 || failed ? 0 : -1;
}

#define PIPE_MOST (1 << 20) /* to which any user may let a pipe grow: pipe(7), pipe-max-size */

/* Gives a pipe that nobody reads the room for all that is queued, as far as its user may: fcntl(2). */
static void sink_make_room(const struct sink *s)
{
	const size_t queued = s->queue.to - s->queue.from + sizeof(closing);
	const int room = fcntl(s->fd, F_GETPIPE_SZ);

	if (room > 0 && fcntl(s->fd, F_SETPIPE_SZ, room + (int)queued) < 0)
		fcntl(s->fd, F_SETPIPE_SZ, PIPE_MOST);
}

/* For a handler of signals: writes what can be written at once, and then what closes an open report. */
static void output_cut(void)
{
	sigset_t before;

	if (on_stdout.sink == NULL || !output_lock_try(&before))
		return;
	sink_drain(on_stderr.sink);
	sink_drain(on_stdout.sink);
	if (on_stdout.sink->queue.to > 0 || closing[0] != '\0') {
		sink_make_room(on_stdout.sink);
		sink_drain(on_stdout.sink);
	}
	if (on_stdout.sink->queue.to == 0 && closing[0] != '\0')
		(void)!sink_write(on_stdout.sink, closing, strlen(closing));
	closing[0] = '\0';
	output_unlock(&before);
}

void error_line(const char *fmt, ...)
{
	struct sink *s = on_stderr.sink;
	char line[DIE_MAX] = "";
	sigset_t before;
	va_list ap;
	size_t n;

	string_append(line, sizeof(line), "%s: ", program_invocation_short_name);
	n = strlen(line);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	make_printable(line);
	n = strlen(strcat(line, "\n"));
	if (s == NULL)
		(void)!write(STDERR_FILENO, line, n);
	if (s == NULL || !output_lock_try(&before))
		return;
	sink_drain(s);
	if (s->queue.to == 0)
		(void)!sink_write(s, line, n);
	else if (s->queue.to + n <= s->queue.room) /* no memory can be had in a handler */
		buffer_add(&s->queue, line, n);
	output_unlock(&before);
}

void die_of_signal(int sig)
{
	sigset_t set;

	output_cut();
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	/* cppcheck-suppress unreachableCode ; the compiler does not know that raise(3) ends it */
	_exit(128 + sig);
}

/*
 * Signals.
 */

void stop_signals(sigset_t *set)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, 0};
	struct sigaction old;
	const int *sig;

	sigemptyset(set);
	for (sig = signals; *sig != 0; sig++)
		if (sigaction(*sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(set, *sig);
}

/*
 * Files.
 */

int open_retry(const char *path, int flags)
{
	return TEMP_FAILURE_RETRY(open(path, flags | O_CLOEXEC, 0600));
}

/*
 * Threads.
 */

int thread_start(pthread_t *id, void *(*function)(void *), void *arg)
{
	pthread_attr_t attr;
	int e;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	e = pthread_create(id, &attr, function, arg);
	pthread_attr_destroy(&attr);
	return e;
}

/*
 * Clocks.
 */

uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct timespec ns_to_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

void sleep_ns(uint64_t ns)
{
	struct timespec t = ns_to_timespec(ns);

	output_drain();
	TEMP_FAILURE_RETRY(nanosleep(&t, &t));
}

double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}
