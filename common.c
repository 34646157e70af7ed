#include "common.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/*
 * Diagnostics.
 */

static int die_status; /* 0: EXIT_FAILURE, or EXIT_USAGE */
static const char *die_place;
static void (*die_hook)(void *arg, const char *why);
static void *die_arg;

void die_init(void (*hook)(void *arg, const char *why), void *arg)
{
	die_hook = hook;
	die_arg = arg;
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
	die_line(why, why);
	if (error > 0)
		string_append(why, sizeof(why), ": %s", strerror(error));
	while (first == NULL && atomic_flag_test_and_set(&begun))
		pause();
	if (first != NULL) {
		warnx("%s", printable(first));
	} else if (error != DIE_OF_USAGE && die_hook != NULL && !ferror(stdout)) {
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

const char *text_of(const char *fmt, ...)
{
	static _Thread_local char texts[16][TEXT_SIZE];
	static _Thread_local unsigned made;
	char *text = texts[made++ % 16];
	va_list ap;

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

static const _Atomic int *stop_signal; /* that ends the program; NULL: it catches none */

/* Signals that are handled otherwise here than in the programs that this one starts. */
static struct {
	int sig;
	void (*here)(int), (*before)(int);
} handled[] = {{SIGPIPE, SIG_IGN, SIG_DFL},
	       {SIGXFSZ, SIG_IGN, SIG_DFL},
	       {SIGCHLD, SIG_DFL, SIG_DFL}}; /* while it is ignored no child can be waited for */
static sigset_t blocked_before;
static struct rlimit files_before; /* of open files; .rlim_max is 0: it is as before */

void init_program(const _Atomic int *stop)
{
	static char buffer[64 * 1024]; /* of stdout: an object of JSON has room for 200 streams */
	sigset_t set;
	size_t i;
	int fd;

	/* The first socket would get a closed 0, 1 or 2: /dev/null takes these, and writing must fail. */
	while ((fd = open_retry("/dev/null", O_RDONLY)) >= 0 && fd <= STDERR_FILENO)
		;
	if (fd >= 0)
		close(fd);
	stop_signal = stop;
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		handled[i].before = signal(handled[i].sig, handled[i].here);
	stop_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &set, &blocked_before);
}

uint64_t files_allow_most(void)
{
	struct rlimit files = {.rlim_cur = 0};

	getrlimit(RLIMIT_NOFILE, &files);
	if (files_before.rlim_max == 0)
		files_before = files;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur;
}

void become_as_started(void)
{
	struct sigaction now;
	size_t i;
	int sig;

	/* A handler must not run between the new mask and exec(3). */
	for (sig = 1; sig <= SIGRTMAX; sig++)
		if (sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			signal(sig, SIG_DFL);
	for (i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		signal(handled[i].sig, handled[i].before);
	if (files_before.rlim_max > 0)
		setrlimit(RLIMIT_NOFILE, &files_before);
	sigprocmask(SIG_SETMASK, &blocked_before, NULL);
}

/* The child of vfork(2), which has the memory of its parent until it becomes the command. */
static _Noreturn void become_command(const struct command_start *c, volatile int *error)
{
	int i;

	if (c->own_session)
		setsid();
	if (c->id != NULL)
		*c->id = getpid();
	for (i = 0; i < 3; i++)
		if (c->file[i] != i)
			TEMP_FAILURE_RETRY(dup2(c->file[i], i));
	become_as_started();
	execvp(c->name, c->argv);
	*error = errno;
	_exit(EXIT_COMMAND);
}

/* posix_spawn(3) cannot have the child ignore a signal that this program does not ignore. */
pid_t command_start(const struct command_start *c)
{
	volatile int error = 0;
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork): see above */
	if (pid == 0)
		become_command(c, &error);
	if (pid < 0)
		error = errno;
	else if (error != 0)
		TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
	if (error != 0 && c->id != NULL)
		*c->id = 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return error == 0 ? pid : -1;
}

int stdout_flush(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
	sigset_t set, old;
	int n, e;

	stop_signals(&set);
	pthread_sigmask(SIG_UNBLOCK, &set, &old);
	do
		n = poll(&p, 1, 1000);
	while (n < 0 || (n == 0 && (stop_signal == NULL || *stop_signal <= 0)));
	e = n == 0 ? EINTR : fflush(stdout) != 0 ? errno : ferror(stdout) ? EIO : 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (e == 0)
		return 0;
	__fpurge(stdout); /* exit(3) would write it */
	errno = e;
	return -1;
}

static const char *report_name = "stdout"; /* where the report goes, as a message names it */

void report_flush(void)
{
	if (stdout_flush() != 0)
		die_errno("%s", report_name);
}

int report_open_or_die(const char *path)
{
	const int before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	const int fd = file_open_or_die(path);

	if (before < 0 || TEMP_FAILURE_RETRY(dup2(fd, STDOUT_FILENO)) < 0)
		die_errno("cannot write %s", path);
	close(fd);
	report_name = path;
	return before;
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

void stop_signals(sigset_t *set)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction old;
	size_t i;

	sigemptyset(set);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
}

/* signal(7) has the default of each signal: it is to end the program unless it is one of these. */
void deadly_signals(sigset_t *set)
{
	static const int others[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH,
				     SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
	struct sigaction old;
	size_t i;
	int sig;

	sigemptyset(set);
	for (sig = 1; sig <= SIGRTMAX; sig++)
		if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaddset(set, sig);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		sigdelset(set, others[i]);
}

#define REQUEST_NS 200000000u /* in which signals of one number are one request */

/* A signal handler is not interrupted by another stop signal. */
bool stop_is_repeated(int sig)
{
	static volatile int last;
	static volatile uint64_t last_ns;
	const uint64_t now = now_ns();
	const bool is_repeated = sig == last && now < last_ns + REQUEST_NS;

	last = sig;
	last_ns = is_repeated ? last_ns : now;
	return is_repeated;
}

static void (*stop_handler)(int);

static void on_stop_signal(int sig)
{
	if (!stop_is_repeated(sig))
		stop_handler(sig);
}

void catch_stop_signals_waiting(void (*handler)(int), sigset_t *unblocked)
{
	struct sigaction new = {.sa_handler = on_stop_signal};
	int sig;

	stop_handler = handler;
	stop_signals(&new.sa_mask);
	sigprocmask(SIG_BLOCK, &new.sa_mask, unblocked);
	for (sig = 1; sig < NSIG; sig++)
		if (sigismember(&new.sa_mask, sig))
			sigaction(sig, &new, NULL);
}

/*
 * Files.
 */

int open_retry(const char *path, int flags)
{
	return TEMP_FAILURE_RETRY(open(path, flags | O_CLOEXEC, 0600));
}

int file_read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	char *end;

	if (f == NULL)
		return -1;
	end = fgets(buf, (int)size, f) != NULL ? strchr(buf, '\n') : NULL;
	fclose(f);
	if (end == NULL) {
		errno = EINVAL;
		return -1;
	}
	*end = '\0';
	make_printable(buf);
	return 0;
}

#define ALL_MAX (64 * 1024 * 1024)

char *file_read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	struct stat st = {.st_size = 0};
	char *all;

	if (f == NULL)
		return NULL;
	fstat(fileno(f), &st);
	*size = st.st_size < ALL_MAX ? (size_t)st.st_size : ALL_MAX;
	all = alloc_or_die(1, *size + 1, path);
	*size = fread(all, 1, *size, f);
	fclose(f);
	return all;
}

int file_write(const char *dir, const char *name, const char *text)
{
	const int fd = open_retry(text_of("%s/%s", dir, name), O_WRONLY);
	int e;

	if (fd < 0)
		return -1;
	e = TEMP_FAILURE_RETRY(write(fd, text, strlen(text))) < 0 ? errno : 0;
	close(fd);
	errno = e;
	return e == 0 ? 0 : -1;
}

#define LINKS_MAX 40 /* as path_resolution(7) has it */

/* Where a file is to be written: its directory, its name there, and its mode; 0 if there is none yet. */
struct place {
	int dir;
	char *name;
	mode_t mode;
};

/* Returns where an opened symbolic link leads, with the names behind it (NULL: none). */
static char *follow_or_die(int link, const struct stat *st, const char *behind, const char *path)
{
	char target[PATH_MAX], *to;
	const ssize_t n = readlinkat(link, "", target, sizeof(target));

	if (st->st_uid != geteuid() && st->st_uid != 0)
		die("cannot write %s: a symbolic link of another user: give what it leads to",
		    path);
	if (n < 0 || asprintf(&to, "%.*s%s%s", (int)n, target, behind != NULL ? "/" : "",
			      behind != NULL ? behind : "") < 0)
		die_errno("cannot write %s", path);
	return to;
}

/*
 * Finds the place to which a path leads.  No name is looked up twice, as another user may replace what has it: it
 * is opened, and what is open is looked at.
 */
static struct place place_find_or_die(const char *path)
{
	char *names = strcpy(alloc_or_die(strlen(path) + 1, 1, path), path), *next = names, *to;
	struct place p = {.dir = open_retry(".", O_PATH)};
	bool is_led = false; /* by a link that is the last name, to a file that must exist */
	struct stat st;
	int fd, links = 0;

	while (p.mode == 0) {
		/* Before the first slash of an absolute path there is an empty name. */
		p.name = next == names && *next == '/' ? "/" : next;
		strsep(&next, "/");
		fd = openat(p.dir, *p.name != '\0' ? p.name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT && next == NULL && !is_led)
			break;
		if (fd < 0 || fstat(fd, &st) != 0)
			die_errno("cannot write %s", path);
		if (S_ISLNK(st.st_mode)) {
			if (++links > LINKS_MAX)
				die_of(ELOOP, "cannot write %s", path);
			is_led |= next == NULL;
			to = follow_or_die(fd, &st, next, path);
			close(fd);
			free(names);
			next = names = to;
		} else if (next != NULL) {
			close(p.dir);
			p.dir = fd;
		} else if (S_ISREG(st.st_mode)) {
			close(fd);
			p.mode = st.st_mode;
		} else {
			die("cannot write %s: not a regular file", path);
		}
	}
	p.name = strcpy(alloc_or_die(strlen(p.name) + 1, 1, path), p.name);
	free(names);
	return p;
}

/* O_NONBLOCK: a FIFO that took the file's place meanwhile would be waited for. */
int file_open_or_die(const char *path)
{
	const struct place p = place_find_or_die(path);
	const int fd = openat(p.dir, p.name,
			      O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		die_errno("cannot write %s", path);
	if (!S_ISREG(st.st_mode))
		die("cannot write %s: not a regular file", path);
	if (ftruncate(fd, 0) != 0)
		die_errno("cannot write %s", path);
	free(p.name);
	close(p.dir);
	return fd;
}

/* A signal that ends the program waits: it would leave the new file behind. */
void file_replace_or_die(const char *path, void (*print)(FILE *f, const void *arg), const void *arg)
{
	const struct place p = place_find_or_die(path);
	sigset_t stop, before;
	bool is_whole = false;
	FILE *f = NULL;
	char *new;
	int fd, e;

	if (asprintf(&new, "%s.%d", p.name, (int)getpid()) < 0)
		die_errno("cannot write %s", path);
	stop_signals(&stop);
	pthread_sigmask(SIG_BLOCK, &stop, &before);
	unlinkat(p.dir, new, 0); /* of a process of the same id that was killed */
	fd = openat(p.dir, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0 && (p.mode == 0 || fchmod(fd, p.mode & 0777) == 0))
		f = fdopen(fd, "w");
	if (f != NULL) {
		if (print != NULL)
			print(f, arg);
		is_whole = fflush(f) == 0 && TEMP_FAILURE_RETRY(fsync(fd)) == 0;
	}
	if (is_whole && print != NULL)
		is_whole = renameat(p.dir, new, p.dir, p.name) == 0;
	e = errno;
	if (!is_whole || print == NULL)
		unlinkat(p.dir, new, 0);
	if (!is_whole)
		die_of(e, "cannot write %s", path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	fclose(f);
	free(new);
	free(p.name);
	close(p.dir);
}

#define LOCK_NS     10000000000u
#define LOCK_TRY_NS 10000000u

/*
 * The file itself is another one whenever it was replaced.  Who may read a directory may lock it for ever, as in /tmp.
 */
int file_lock_or_die(const char *path)
{
	struct place p = place_find_or_die(path);
	const uint64_t until = now_ns() + LOCK_NS;
	const int fd = openat(p.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		die_errno("%s: its directory cannot be locked", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			die_errno("%s: its directory cannot be locked", path);
		if (now_ns() > until)
			die("%s: another program keeps its directory locked: see lslocks(8)", path);
		sleep_ns(LOCK_TRY_NS);
	}
	free(p.name);
	close(p.dir);
	return fd;
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

	TEMP_FAILURE_RETRY(nanosleep(&t, &t));
}

double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}
