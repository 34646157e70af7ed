#include "common.h"

#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <mntent.h>
#include <netinet/in.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Diagnostics.
 */

/* What die() and usage_error() do beside the line on stderr; die_init() sets it. */
static struct {
	int status, usage_status;
	void (*hook)(const char *why);
} dying = {EXIT_FAILURE, EXIT_USAGE, NULL};

void die_init(void (*hook)(const char *why))
{
	dying.hook = hook;
}

void die_with(int status)
{
	dying.status = dying.usage_status = status;
}

const char *printable(const char *s)
{
	static _Thread_local char text[DIE_MAX + 64]; /* as much as die_errno() makes */
	size_t i;

	for (i = 0; i < sizeof(text) - 1 && s[i] != '\0'; i++)
		if ((unsigned char)(text[i] = s[i]) < ' ' || s[i] == 0x7f)
			text[i] = '?';
	text[i] = '\0';
	return text;
}

void usage_error(const char *fmt, ...)
{
	char why[DIE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	warnx("%s", printable(why));
	usage_exit();
}

void usage_exit(void)
{
	exit(dying.usage_status);
}

/* Only the first thread to fail is heard: what the others would print at the same time is noise. */
static _Noreturn void die_of(const char *why)
{
	static atomic_flag begun = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&begun))
		pause();
	if (dying.hook != NULL && !ferror(stdout))
		dying.hook(why);
	warnx("%s", printable(why));
	exit(dying.status);
}

void die(const char *fmt, ...)
{
	char why[DIE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	die_of(why);
}

void die_errno(const char *fmt, ...)
{
	const int e = errno;
	char what[DIE_MAX], why[DIE_MAX + 64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(why, sizeof(why), "%s: %s", what, strerror(e));
	die_of(why);
}

void name_in_errors(char **argv)
{
	if (argv[0] != NULL)
		argv[0] = program_invocation_short_name;
}

void init_output(void)
{
	FILE *out;
	int fd;

	/* A closed 0, 1 or 2 would be given to the first socket; so, writing it is an error. */
	do
		fd = open("/dev/null", O_RDONLY);
	while ((fd >= 0 && fd <= STDERR_FILENO) || (fd < 0 && errno == EINTR));
	if (fd >= 0)
		close(fd);
	out = fdopen_retry(STDOUT_FILENO, "w");
	if (out == NULL)
		die_errno("stdout");
	stdout = out;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
}

void catch_stop_signals(void (*handler)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction new = {.sa_handler = handler};
	struct sigaction old;
	size_t i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &new, NULL);
}

void catch_stop_signals_waiting(void (*handler)(int), sigset_t *unblocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, unblocked);
	catch_stop_signals(handler);
}

void report(const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vprintf(fmt, ap);
	va_end(ap);
	if (n < 0 || ferror(stdout))
		die_errno("stdout");
}

/*
 * Calls that a signal interrupts.
 */

int open_retry(const char *path, int flags)
{
	int fd;

	do
		fd = open(path, flags | O_CLOEXEC, 0600);
	while (fd < 0 && errno == EINTR);
	return fd;
}

static ssize_t read_retry(int fd, void *buf, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n;
}

/*
 * Writes all of buf; -1 on failure.  A pipe whose reader takes nothing for a second after a signal
 * counts as one: the signal may be there to end the program.
 */
static int write_retry(int fd, const char *buf, size_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = write(fd, buf + done, size - done);
		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR || poll(&p, 1, 1000) == 0)
			return -1;
	}
	return 0;
}

/* The calls of a stdio stream; its cookie is the descriptor: fopencookie(3). */
static ssize_t stream_read(void *fd, char *buf, size_t size)
{
	return read_retry((int)(intptr_t)fd, buf, size);
}

static ssize_t stream_write(void *fd, const char *buf, size_t size)
{
	return write_retry((int)(intptr_t)fd, buf, size) == 0 ? (ssize_t)size : 0;
}

/* It is closed also after EINTR: close(2). */
static int stream_close(void *fd)
{
	return close((int)(intptr_t)fd) != 0 && errno != EINTR ? -1 : 0;
}

FILE *fdopen_retry(int fd, const char *mode)
{
	static const cookie_io_functions_t calls = {
		.read = stream_read, .write = stream_write, .close = stream_close};

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the cookie is the descriptor */
	return fopencookie((void *)(intptr_t)fd, mode, calls);
}

FILE *fopen_retry(const char *path)
{
	int fd = open_retry(path, O_RDONLY);
	FILE *f = fd < 0 ? NULL : fdopen_retry(fd, "r");

	if (fd >= 0 && f == NULL)
		close(fd);
	return f;
}

/*
 * Parsing.
 */

const char *parse_size(const char *s, uint64_t *bytes)
{
	static const char suffixes[] = "kmgt";
	unsigned shift = 0;
	unsigned long long v;
	const char *suffix;
	char *end;

	if (!isdigit((unsigned char)*s))
		return "is not a size: digits, then k, m, g, t or nothing";
	errno = 0;
	v = strtoull(s, &end, 10);
	if (*end != '\0' && end[1] == '\0' &&
	    (suffix = strchr(suffixes, tolower((unsigned char)*end))) != NULL) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (*end != '\0')
		return "is not a size: digits, then k, m, g, t or nothing";
	if (errno == ERANGE || v > UINT64_MAX >> shift)
		return "is larger than 64 bits hold";
	*bytes = (uint64_t)v << shift;
	return NULL;
}

/* Reads a CPU number at *s and moves *s behind it; -1 if there is none. */
static int parse_cpu(const char **s)
{
	long v;
	char *end;

	if (!isdigit((unsigned char)**s))
		return -1;
	v = strtol(*s, &end, 10); /* LONG_MAX when out of range, which the limit refuses too */
	*s = end;
	return v < CPUS_MAX ? (int)v : -1;
}

const char *parse_cpus(const char *s, struct cpus *cpus)
{
	static const char wrong[] = "is not a CPU list, like 0,2-5";
	struct cpus *r = malloc(sizeof(*r));
	const char *why = NULL;
	int first, last;

	if (r == NULL)
		return "takes more memory than there is";
	r->n = 0;
	do {
		first = last = parse_cpu(&s);
		if (first >= 0 && *s == '-') {
			s++;
			last = parse_cpu(&s);
		}
		if (first < 0 || last < first) {
			why = wrong;
		} else if (last - first >= CPUS_MAX - r->n) {
			why = "has more CPUs than any kernel";
		} else {
			while (first <= last)
				r->id[r->n++] = first++;
		}
	} while (why == NULL && *s++ == ',');
	if (why == NULL && s[-1] != '\0')
		why = wrong;
	if (why == NULL)
		*cpus = *r;
	free(r);
	return why;
}

const char *parse_seconds(const char *s, double *seconds)
{
	static const char wrong[] = "is not a number of seconds";
	double v;
	char *end;

	if (s[strspn(s, "0123456789.")] != '\0' || !isdigit((unsigned char)*s))
		return wrong;
	v = strtod(s, &end);
	if (*end != '\0' || !isfinite(v))
		return wrong;
	*seconds = v;
	return NULL;
}

uint64_t arg_size(const char *opt, const char *s, uint64_t min, uint64_t max)
{
	uint64_t v = 0;
	const char *why = parse_size(s, &v);

	if (why != NULL)
		usage_error("%s: '%s' %s", opt, s, why);
	if (v < min || v > max)
		usage_error("%s: '%s' is not between %llu and %llu", opt, s,
			    (unsigned long long)min, (unsigned long long)max);
	return v;
}

int64_t arg_int(const char *opt, const char *s, int64_t min, int64_t max)
{
	long long v;
	char *end;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (!isdigit((unsigned char)*s) || *end != '\0')
		usage_error("%s: '%s' is not a whole number", opt, s);
	if (errno == ERANGE || v < min || v > max)
		usage_error("%s: '%s' is not between %lld and %lld", opt, s, (long long)min,
			    (long long)max);
	return v;
}

double arg_seconds(const char *opt, const char *s, double min, double max)
{
	double v = 0;
	const char *why = parse_seconds(s, &v);

	if (why != NULL)
		usage_error("%s: '%s' %s", opt, s, why);
	if (v < min || v > max)
		usage_error("%s: '%s' is not between %g and %g seconds", opt, s, min, max);
	return v;
}

void arg_cpus(const char *opt, const char *s, struct cpus *cpus)
{
	const char *why = parse_cpus(s, cpus);

	if (why != NULL)
		usage_error("%s: '%s' %s", opt, s, why);
}

void arg_family(int *family, int want)
{
	if (*family != AF_UNSPEC && *family != want)
		usage_error("-4 and -6 exclude each other");
	*family = want;
}

const char *arg_port(const char *opt, const char *s, long min)
{
	arg_int(opt, s, min, 65535);
	return s;
}

static const char *entry_name(const void *table, size_t i, size_t size)
{
	const char *name;

	memcpy(&name, (const char *)table + i * size, sizeof(name));
	return name;
}

size_t arg_name(const char *opt, const char *s, const void *table, size_t n, size_t size)
{
	char names[256] = "";
	size_t i, used = 0;

	for (i = 0; i < n; i++) {
		if (strcmp(entry_name(table, i, size), s) == 0)
			return i;
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 i > 0 ? ", " : "", entry_name(table, i, size));
	}
	usage_error("%s: '%s' is none of %s", opt, s, names);
}

/*
 * CPU binding and threads.
 */

/* What a terminal might obey becomes `?`: a file, or the name of a process, may be anybody's. */
void make_printable(char *s)
{
	for (; *s != '\0'; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

/* Reads until the end of the file, or until buf is full. */
int file_read(int fd, char *buf, size_t size, size_t *len)
{
	ssize_t n;

	*len = 0;
	while (*len != size && (n = read_retry(fd, buf + *len, size - *len)) != 0) {
		if (n < 0)
			return -1;
		*len += (size_t)n;
	}
	return 0;
}

/*
 * Reads the first line of a small file as a string without its newline, fit to be printed.  A file
 * that does not fit is an error.
 */
int file_read_line(const char *path, char *buf, size_t size)
{
	int fd = open_retry(path, O_RDONLY), r;
	size_t len = 0;

	if (fd < 0)
		return -1;
	r = file_read(fd, buf, size, &len);
	close(fd);
	if (r != 0 || len == size)
		return -1;
	buf[len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	make_printable(buf);
	return 0;
}

cpu_set_t *cpu_set_new(size_t *size)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);

	if (set == NULL)
		die_errno("CPU set");
	*size = CPU_ALLOC_SIZE(CPUS_MAX);
	CPU_ZERO_S(*size, set);
	return set;
}

void cpus_online(struct cpus *cpus)
{
	char buf[CPU_LIST_MAX];
	cpu_set_t *set;
	size_t size;
	int i;

	if (file_read_line("/sys/devices/system/cpu/online", buf, sizeof(buf)) == 0 &&
	    parse_cpus(buf, cpus) == NULL)
		return;
	set = cpu_set_new(&size);
	if (sched_getaffinity(0, size, set) != 0)
		die_errno("sched_getaffinity");
	cpus->n = 0;
	for (i = 0; i < CPUS_MAX; i++)
		if (CPU_ISSET_S(i, size, set))
			cpus->id[cpus->n++] = i;
	CPU_FREE(set);
}

void cpus_to_soak(int n, struct cpus *cpus)
{
	cpus_online(cpus);
	if (n > cpus->n)
		usage_error("-N, --cpus: %d is more than the %d CPUs that are online", n, cpus->n);
	if (n > 0)
		cpus->n = n;
}

bool cpus_format(const struct cpus *cpus, char *buf, size_t size)
{
	size_t used = 0;
	int i, j;

	buf[0] = '\0';
	for (i = 0; i < cpus->n && used < size; i = j + 1) {
		for (j = i; j + 1 < cpus->n && cpus->id[j + 1] == cpus->id[j] + 1; j++)
			;
		used += (size_t)snprintf(buf + used, size - used, i == j ? "%s%d" : "%s%d-%d",
					 i > 0 ? "," : "", cpus->id[i], cpus->id[j]);
	}
	return used < size;
}

bool cpus_equal(const struct cpus *a, const struct cpus *b)
{
	return a->n == b->n && memcmp(a->id, b->id, (size_t)a->n * sizeof(a->id[0])) == 0;
}

void command_expect(int argc, char **argv, const char *shortopts, const struct option *longopts)
{
	const int verbose = opterr;

	opterr = 0;
	while (getopt_long(argc, argv, shortopts, longopts, NULL) != -1)
		;
	if (optind < argc)
		die_with(EXIT_COMMAND);
	opterr = verbose;
	optind = 0; /* has getopt_long(3) begin anew */
}

void command_exec(char **argv)
{
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
}

void command_die(const char *name, int error)
{
	die_with(error == ENOENT ? 127 : 126);
	die("cannot run %s: %s", name, strerror(error));
}

pid_t wait_pid(pid_t pid, int *status, int options)
{
	pid_t r;

	do
		r = waitpid(pid, status, options);
	while (r < 0 && errno == EINTR);
	return r;
}

int cpu_bind(int cpu)
{
	size_t size;
	cpu_set_t *set = cpu_set_new(&size);
	int r;

	CPU_SET_S((size_t)cpu, size, set);
	r = sched_setaffinity(0, size, set);
	CPU_FREE(set);
	return r;
}

int cpu_of(const struct cpus *cpus, int i)
{
	return cpus->n > 0 ? cpus->id[i % cpus->n] : -1;
}

void cpu_bind_or_die(const struct cpus *cpus, int i)
{
	if (cpus->n > 0 && cpu_bind(cpu_of(cpus, i)) != 0)
		die_errno("cannot bind to CPU %d", cpu_of(cpus, i));
}

void cpus_try_or_die(const struct cpus *cpus)
{
	int i;

	for (i = cpus->n - 1; i >= 0; i--)
		cpu_bind_or_die(cpus, i);
}

int thread_start(pthread_t *id, void *(*function)(void *), void *arg)
{
	const long least = sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t attr;
	int e;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, least > THREAD_STACK ? (size_t)least : THREAD_STACK);
	e = pthread_create(id, &attr, function, arg);
	pthread_attr_destroy(&attr);
	return e;
}

/*
 * Clocks and system counters.
 */

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/*
 * The soaker.
 */

/* The clock of the loop: not slewed, so that it runs as the scheduler's does. */
uint64_t raw_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sleep_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

/*
 * The control group of the cpu controller, cgroups(7).
 */

int file_write(const char *dir, const char *name, const char *text)
{
	char path[320];
	int fd, r;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open_retry(path, O_WRONLY);
	if (fd < 0)
		return -1;
	r = write_retry(fd, text, strlen(text));
	close(fd);
	return r;
}

/* The hook of die_init_with(). */
static struct {
	void (*hook)(void *arg, const char *why);
	void *arg;
} closing;

static void call_closing(const char *why)
{
	closing.hook(closing.arg, why);
}

void die_init_with(void (*hook)(void *arg, const char *why), void *arg)
{
	closing.hook = hook;
	closing.arg = arg;
	die_init(call_closing);
}
