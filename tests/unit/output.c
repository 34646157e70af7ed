/* What common.c does with output that nobody reads: at once, later, when it ends, and where it dies. */
#include "common.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static uint64_t clock_now = 1000000000; /* in place of the clock */
static int held;                        /* the lock */
static bool no_proc, is_tty;
static ssize_t test_write(int fd, const char *text, size_t n);
static int test_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask);
static int test_unlock(void);

#undef now_ns
#define now_ns()                    clock_now
#define write(fd, text, n)          test_write(fd, text, n)
#define send(fd, text, n, flags)    (flags == MSG_DONTWAIT ? test_write(fd, text, n) : -1)
#define ppoll                       test_ppoll
#define open(path, flags, mode)     (no_proc ? (errno = ENOENT, -1) : (open)(path, flags, mode))
#define isatty(fd)                  is_tty
#define syscall(call, from, to, by) note("closes all from %d\n", from)
#define pthread_mutex_lock(lock)    ((void)(lock), (void)held++)
#define pthread_mutex_trylock(lock) (held > 0 ? EBUSY : held++)
#define pthread_mutex_unlock(lock)  test_unlock()
#define note(...)                   dprintf(notes, __VA_ARGS__)

static int notes; /* what the child has seen */

#define printed unqueued
#include <common.c> /* NOLINT(bugprone-suspicious-include): the part itself is tested */
#undef printed
#undef write
#undef open
#undef isatty

#include "lib/report/json.h"
#include "tests/unit/unit.h"

static int reader[3]; /* of stdout and stderr */

/* Who has the lock is not interrupted; only who waits in write(2) may be. */
static void check_lock(const char *what)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	if (held != 1 || sigismember(&now, SIGTERM) == no_proc)
		note("%s: the lock is held %d times\n", what, held);
}

static ssize_t test_write(int fd, const char *text, size_t n)
{
	check_lock("write");
	return write(fd, text, n);
}

static int test_unlock(void)
{
	check_lock("unlock");
	held--;
	return 0;
}

/* What was read of stdout and stderr, which the test and its child share. */
static struct output {
	size_t n;
	char text[3 << 20];
} * output[3];

static void take(int fd)
{
	struct output *o = output[fd];
	ssize_t n;

	while ((n = read(reader[fd], o->text + o->n, sizeof(o->text) - 1 - o->n)) > 0)
		o->n += (size_t)n;
}

/* Notes what was read since then, of much the end. */
static void show(int fd)
{
	struct output *o = output[fd];

	take(fd);
	o->text[o->n] = '\0';
	note("%s, %zu bytes: %s|\n", fd == STDOUT_FILENO ? "stdout" : "stderr", o->n,
	     o->n > 120 ? o->text + o->n - 120 : o->text);
	o->n = 0;
}

/* Whoever waits for output has it read.  Notes what is unlike the last time. */
static int test_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	static double last;
	const double s = t != NULL ? (double)t->tv_sec + 1e-9 * (double)t->tv_nsec : -1;
	nfds_t i;

	if (!near(last, s + 1000 * (double)n))
		note("polls %d for %g s\n", (int)n, s);
	last = s + 1000 * (double)n;
	for (i = 0; i < n; i++)
		p[i].revents = p[i].events;
	take(STDOUT_FILENO);
	take(STDERR_FILENO);
	return (int)n;
}

/* Makes a pipe or a socket of little room; returns the end that is written. */
static int make_output(int fd, bool is_socket)
{
	int end[2];

	if ((is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, end) : pipe(end)) != 0 ||
	    fcntl(end[0], F_SETFL, O_NONBLOCK) != 0)
		abort();
	if (!is_socket)
		fcntl(end[1], F_SETPIPE_SZ, 4096);
	reader[fd] = end[0];
	output[fd] = mmap(NULL, sizeof(*output[fd]), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return end[1];
}

/* Rows of 100 bytes, until one is dropped; returns how many were taken. */
static int fill(void)
{
	int n = 0;

	while (n < 30000 && printf("%099d\n", n) > 0 && report_row())
		n++;
	return n;
}

static void wait_for(uint64_t ns)
{
	struct pollfd p = {.fd = 99, .events = POLLIN};

	wait_until(&p, 1, ns, NULL);
	if (p.revents != POLLIN)
		note("not polled\n");
}

static struct json j;

static void begin_report(void)
{
	output_open();
	json_report_open(&j);
	json_open(&j, "rows", '[');
	report_flush();
}

static void read_rows(void)
{
	int i;

	output_open();
	report("first\n");
	warnx("a warning");
	fprintf(stderr, "progress");
	show(STDOUT_FILENO);
	show(STDERR_FILENO);
	wait_for(clock_now + 250000000);
	note("%d00 rows\n", fill() / 100);
	fill();
	report_flush();
	fprintf(stderr, "%0*d\n", 5000, 0); /* more than a pipe takes */
	fprintf(stderr, "lost progress");
	for (i = 0; i < 12; i++) /* for the last of which there is no memory */
		error_line("%0*d", 5000, 0);
	error_line("an error");
	wait_for(clock_now + 250000000);
	wait_for(UINT64_MAX);
	report("last\n");
	sleep_ns(0);
	fill();
	note("%ju dropped\n", (uintmax_t)report_dropped());
	report("of the report\n");
	exit(3);
}

static void read_json(void)
{
	begin_report();
	fill();
	json_close(&j, ']');
	json_report_close(&j, NULL);
	fill(); /* which no report counts */
	exit(0);
}

static void die_with_rows(void)
{
	int i;

	begin_report();
	for (i = 0; i < 90; i++)
		report("%099d\n", i);
	die_of_signal(SIGTERM);
}

static void lose_reader(void)
{
	signal(SIGPIPE, SIG_IGN);
	output_open();
	report("nobody\n");
}

static void name_twice(void)
{
	dup2(STDOUT_FILENO, STDERR_FILENO);
	reader[STDERR_FILENO] = -1;
	output_open();
	warnx("before");
	fill();
	warnx("after");
	exit(0);
}

static void test_lines(void)
{
	char text[] =
		"a message of words, which a terminal of eighty columns would break within one of "
		"them, and a_word_that_is_so_long_that_no_line_of_eighty_columns_has_room_for_it_at_all, "
		"and an end\nshort\n";

	fold(text, sizeof(text) - 1);
	expect(text, "lines break between words");
	ok(lines_of("", 0) == 1 && lines_of("a\nb", 3) == 1 && lines_of("a\n\n", 3) == 2,
	   "elements of JSON are a line each");
}

static void test_output(void)
{
	static const struct {
		const char *title;
		void (*function)(void);
		bool is_socket, no_proc, is_tty;
	} cases[] = {
		{"a pipe", read_rows, false, false, false},
		{"a socket", die_with_rows, true, false, false},
		{"a terminal", read_json, false, false, true},
		{"a pipe that cannot be opened anew", die_with_rows, false, true, false},
		{"a pipe, for which there is room at the end", die_with_rows, false, false, false},
		{"no reader", lose_reader, false, false, false},
		{"one pipe for both", name_twice, false, false, false},
	};
	size_t i;
	int status, fd[3], k;

	for (i = 0; i < LENGTH(cases); i++) {
		capture(STDOUT_FILENO);
		notes = dup(STDOUT_FILENO);
		no_proc = cases[i].no_proc;
		is_tty = cases[i].is_tty;
		fd[1] = make_output(1, cases[i].is_socket);
		fd[2] = make_output(2, false);
		if (cases[i].function == lose_reader)
			close(reader[1]);
		if (fork() == 0) {
			dup2(fd[1], 1);
			dup2(fd[2], 2);
			close(fd[1]);
			close(fd[2]);
			cases[i].function();
			_exit(99);
		}
		wait(&status);
		show(STDOUT_FILENO);
		show(STDERR_FILENO);
		note("status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
		close(notes);
		for (k = 1; k <= 2; k++) {
			close(reader[k]);
			close(fd[k]);
			munmap(output[k], sizeof(*output[k]));
		}
		expect(captured(), cases[i].title);
	}
}

TESTS(test_output, test_lines)
