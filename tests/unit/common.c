#include "common.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "tests/unit/unit.h"

/* Two threads may read the clock in either order: a time is never negative, nor 2^64 ns. */
static void test_clocks(void)
{
	struct timespec t = ns_to_timespec(3000000007);
	uint64_t before;

	ok(seconds_between(1000000000, 3500000000) == 2.5, "2.5 s between two times");
	ok(seconds_between(7, 7) == 0, "no time between a time and itself");
	ok(seconds_between(3500000000, 1000000000) == 0, "0 s to a time that came before");
	ok(t.tv_sec == 3 && t.tv_nsec == 7, "3000000007 ns as a struct timespec");
	before = now_ns();
	sleep_ns(2000000);
	ok(now_ns() - before >= 2000000, "sleep_ns sleeps for as long as it is told");
}

static _Atomic int alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void test_sleep_interrupted(void)
{
	const struct sigaction on = {.sa_handler = on_alarm};
	const struct itimerval soon = {.it_value = {.tv_usec = 1000}};
	uint64_t before;

	sigaction(SIGALRM, &on, NULL);
	before = now_ns();
	setitimer(ITIMER_REAL, &soon, NULL);
	sleep_ns(50000000);
	ok(alarms == 1 && now_ns() - before >= 50000000, "sleep_ns sleeps on after a signal");
	signal(SIGALRM, SIG_DFL);
}

static void test_printable(void)
{
	static const struct {
		const char *text, *want;
	} cases[] =
		{
			{"plain ~ text", "plain ~ text"},
			{"a\nb\tc", "a?b?c"},
			{"\033[2J\177", "?[2J?"},
			{"caf\303\251", "caf\303\251"},
			{"\302\233m", "??m"}, /* U+009B, which begins a command to a terminal */
			{"\302\251", "\302\251"},
			{"\302", "\302"},
		};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		is(printable(cases[i].text), cases[i].want, "'%s' without control characters",
		   cases[i].text);
}

static void test_file_read_line(void)
{
	static const struct {
		const char *content, *line; /* NULL: it is an error */
	} cases[] = {
		{"123456\n", "123456"},
		{"one\ntwo\n", "one"},
		{"\n", ""},
		{"\t0\n", "?0"},
		{"1234567\n", NULL}, /* its newline has no room in 8 bytes */
		{"no end", NULL},
		{"", NULL},
	};
	char path[] = "/tmp/zc-unit.XXXXXX", line[8];
	int fd = mkstemp(path), files = open_files();
	size_t i;
	bool read;

	for (i = 0; i < LENGTH(cases); i++) {
		if (ftruncate(fd, 0) != 0 || pwrite(fd, cases[i].content, strlen(cases[i].content),
						    0) != (ssize_t)strlen(cases[i].content))
			err(EXIT_FAILURE, "%s", path);
		read = file_read_line(path, line, sizeof(line)) == 0;
		ok(cases[i].line == NULL ? !read : read && strcmp(line, cases[i].line) == 0,
		   "file_read_line: the first line of '%s'", cases[i].content);
	}
	close(fd);
	unlink(path);
	ok(file_read_line(path, line, sizeof(line)) != 0 && errno == ENOENT,
	   "file_read_line: a file that is missing is ENOENT");
	ok(open_files() == files - 1, "file_read_line closes the file");
}

static void test_file_write(void)
{
	char dir[] = "/tmp/zc-unit.XXXXXX", path[64], line[8];
	int files, fd;

	if (mkdtemp(dir) == NULL)
		err(EXIT_FAILURE, "%s", dir);
	snprintf(path, sizeof(path), "%s/file", dir);
	files = open_files();
	ok(file_write(dir, "file", "1") == -1 && errno == ENOENT,
	   "file_write makes no file that is missing");
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	ok(file_write(dir, "file", "12\n") == 0 && file_read_line(path, line, sizeof(line)) == 0,
	   "file_write returns 0 when it has written");
	is(line, "12", "file_write writes the text");
	ok(file_write("/dev", "full", "1") == -1 && errno == ENOSPC,
	   "file_write returns the error of writing");
	ok(open_files() == files, "file_write closes the file");
	unlink(path);
	rmdir(dir);
}

static void print_new(FILE *f, const void *arg)
{
	fputs(arg, f);
}

/* Whether `path` is a regular file with that mode and line. */
static bool is_file(const char *path, mode_t mode, const char *line)
{
	struct stat st;
	char got[8];

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0777) == mode &&
	       file_read_line(path, got, sizeof(got)) == 0 && strcmp(got, line) == 0;
}

static void test_file_replace(void)
{
	char dir[] = "/tmp/zc-unit.XXXXXX", before[PATH_MAX];
	const mode_t mask = umask(022);

	if (mkdtemp(dir) == NULL || getcwd(before, sizeof(before)) == NULL || chdir(dir) != 0)
		err(EXIT_FAILURE, "%s", dir);
	file_replace_or_die("file", print_new, "one\n");
	ok(is_file("file", 0644, "one"), "file_replace: a new file has the mode that umask leaves");
	file_replace_or_die("file", print_new, "two\n");
	ok(is_file("file", 0644, "two"), "file_replace: a file is replaced");
	if (symlink("file", "link") != 0)
		err(EXIT_FAILURE, "%s", dir);
	chmod("file", 0600);
	file_replace_or_die("link", print_new, "three\n");
	ok(is_file("file", 0600, "three"),
	   "file_replace: a symbolic link is followed, and a file keeps its mode");
	unlink("link");
	unlink("file");
	ok(chdir("/") == 0 && rmdir(dir) == 0, "file_replace leaves no other file");
	if (chdir(before) != 0)
		err(EXIT_FAILURE, "%s", before);
	umask(mask);
}

static void die_long(void *arg)
{
	(void)arg;
	errno = ENOSPC;
	die_errno("%s", "cannot \033 write");
}

static void run_missing(void *arg)
{
	(void)arg;
	command_die("no-such-command", ENOENT);
}

static void run_forbidden(void *arg)
{
	(void)arg;
	command_die("a-command", EACCES);
}

static void die_again(void *arg, const char *why)
{
	(void)arg;
	(void)why;
	die("the report cannot be written");
}

static void die_twice(void *arg)
{
	(void)arg;
	die_init(die_again, NULL);
	die("the first error");
}

/* The report that a dying program prints may fail, too. */
static void test_die_twice(void)
{
	char want[256];

	ok(died(die_twice, NULL) == EXIT_FAILURE,
	   "a program that cannot report its error has the status of the error");
	snprintf(want, sizeof(want), "%1$s: the first error\n%1$s: the report cannot be written\n",
		 program_invocation_short_name);
	is(printed, want, "a program that cannot report its error prints both errors");
}

/* The last line and the status of a program that dies. */
static void test_die(void)
{
	static const struct {
		void (*function)(void *arg);
		int status;
		const char *printed, *title;
	} cases[] = {
		{die_long, 1, "cannot ? write: No space left on device",
		 "die_errno prints what failed and why, as text"},
		{run_missing, 127, "cannot run no-such-command: No such file or directory",
		 "a command that is missing is status 127"},
		{run_forbidden, 126, "cannot run a-command: Permission denied",
		 "a command that cannot be run is status 126"},
	};
	char want[256];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		ok(died(cases[i].function, NULL) == cases[i].status, "%s: the status",
		   cases[i].title);
		snprintf(want, sizeof(want), "%s: %s\n", program_invocation_short_name,
			 cases[i].printed);
		is(printed, want, "%s", cases[i].title);
	}
}

static void test_plural(void)
{
	is(plural(1), "", "plural: one thing");
	ok(strcmp(plural(0), "s") == 0 && strcmp(plural(2), "s") == 0,
	   "plural: no thing, or several");
}

static void test_string_append(void)
{
	char text[8] = "";
	char full[4] = {'f', 'u', 'l', 'l'};

	ok(string_append(text, sizeof(text), "%d", 123) &&
		   string_append(text, sizeof(text), "4567"),
	   "string_append: what has just room is appended");
	is(text, "1234567", "string_append: it stands behind what was there");
	ok(!string_append(text, sizeof(text), "8"), "string_append: what has no room is reported");
	is(text, "1234567", "string_append: and cut off");
	text[5] = '\0';
	ok(!string_append(text, sizeof(text), "%.3f", 1e300),
	   "string_append: a figure of 300 digits");
	is(text, "1234510", "string_append: as much of it as there is room for is appended");
	ok(!string_append(full, sizeof(full), "x") && memcmp(full, "full", 4) == 0,
	   "string_append: a text without an end is left as it is");
}

static void signal_errors(void *arg)
{
	(void)arg;
	init_program(NULL);
	kill(getpid(), SIGPIPE);
	kill(getpid(), SIGXFSZ);
	exit(7);
}

static void test_signals(void)
{
	ok(died(signal_errors, NULL) == 7, "SIGPIPE and SIGXFSZ do not end a program");
}

int main(void)
{
	test_clocks();
	test_sleep_interrupted();
	test_printable();
	test_plural();
	test_string_append();
	test_file_read_line();
	test_file_write();
	test_file_replace();
	test_signals();
	test_die();
	test_die_twice();
	return done();
}
