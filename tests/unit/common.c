#include "common.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "tests/unit/unit.h"

static void test_sizes(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {
		{"0", 0},
		{"1", 1},
		{"64k", 65536},
		{"64K", 65536},
		{"3m", 3u << 20},
		{"4g", 4ull << 30},
		{"1t", 1ull << 40},
		{"18446744073709551615", UINT64_MAX},
		{"16777215t", 16777215ull << 40},
		/* Fractions. */
		{"1.5k", 1536},
		{".5m", 1u << 19},
		{"1.5G", 3ull << 29},
		{"1.1k", 1126},
		{"2.k", 2048},
		{"16777215.5t", (16777215ull << 40) + (1ull << 39)},
		/* The suffixes of dd(1) and head(1). */
		{"64KiB", 65536},
		{"64kib", 65536},
		{"64KB", 64000},
		{"1mb", 1000000},
		{"12.5MB", 12500000},
		{"1TiB", 1ull << 40},
		{"1TB", 1000000000000},
	};
	static const char *const bad[] = {
		/* No number. */
		"",
		"k",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1kk",
		"1x",
		"0x10",
		"1.5",
		".k",
		".",
		"1..5k",
		"1,5k",
		"1b",
		"1i",
		"1ki",
		"1kbb",
		"1 k",
		"100Mbit",
		"1e3",
		/* 2^64 and more. */
		"18446744073709551616",
		"16777216t",
		"16777215.9999999999999t",
		"99999999999999999999g",
		"99999999999999999999.5g",
	};
	uint64_t v;
	size_t i;

	for (i = 0; i < LENGTH(good); i++)
		ok(parse_size(good[i].text, &v) == NULL && v == good[i].value,
		   "parse_size: '%s' is a size", good[i].text);
	for (i = 0; i < LENGTH(bad); i++) {
		v = 7;
		ok(parse_size(bad[i], &v) != NULL && v == 7,
		   "parse_size: '%s' is rejected and stores nothing", bad[i]);
	}
}

static void test_seconds(void)
{
	static const char *const bad[] = {"",    "x",  "-1",  "1e5", "nan", "inf", "1.2.3", ".",
					  "0x1", " 1", "1 s", "1ms", "1d",  "s",   "1S"};
	static const struct {
		const char *text;
		double seconds;
	} good[] = {{"0.25", 0.25}, {".5", 0.5},  {"5.", 5}, {"10s", 10}, {"1m", 60},
		    {".5m", 30},    {"2h", 7200}, {"0", 0},  {"10", 10}};
	double v = 0;
	size_t i;

	for (i = 0; i < LENGTH(good); i++)
		ok(parse_seconds(good[i].text, &v) == NULL && v == good[i].seconds,
		   "parse_seconds: '%s' is %g seconds", good[i].text, good[i].seconds);
	for (i = 0; i < LENGTH(bad); i++)
		ok(parse_seconds(bad[i], &v) != NULL && v == 10,
		   "parse_seconds: '%s' is rejected and stores nothing", bad[i]);
}

static void test_lists(void)
{
	static const struct {
		const char *list, *values;
	} cases[] = {
		{"1", "<1>"},       {"1,2", "<1><2>"},       {"1,2,", "<1><2>"},
		{"1, 2", "<1><2>"}, {" 1\t,2 , ", "<1><2>"}, {"", "<>"},
		{",", "<>"},        {",1", "<><1>"},         {"1,,2", "<1><><2>"},
		{"1,,", "<1><>"},   {"a b", "<a b>"},
	};
	char got[64], *rest, *one;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		rest = strdupa(cases[i].list);
		got[0] = '\0';
		while ((one = list_next(&rest)) != NULL)
			string_append(got, sizeof(got), "<%s>", one);
		is(got, cases[i].values, "list_next: the values of '%s'", cases[i].list);
	}
}

/* Arguments of options: at the edges of a range, and what is printed beyond them. */
static const struct wrong {
	enum { SIZE, INT, SECONDS, FILENAME, NAME } of;
	const char *text, *printed;
} wrong[] = {
	{SIZE, "x",
	 "-x: 'x' is not a size in bytes: 65536, 64k, 1.5m, 64KiB (1024 each) or 64KB (1000)"},
	{SIZE, "3.5", "-x: '3.5' is not a whole number of bytes"},
	{SIZE, "100Mbit",
	 "-x: '100Mbit' is in bits: a size and a rate are in bytes, so that 100Mbit is 12.5MB"},
	{SIZE, "1", "-x: '1' is not between 2 and 9"},
	{SIZE, "10", "-x: '10' is not between 2 and 9"},
	{SIZE, "16777216t", "-x: '16777216t' is larger than 64 bits hold"},
	{INT, "", "-x: '' is not a whole number"},
	{INT, "3.5", "-x: '3.5' is not a whole number"},
	{INT, "-3", "-x: '-3' is not a whole number"},
	{INT, "1", "-x: '1' is not between 2 and 9"},
	{INT, "10", "-x: '10' is not between 2 and 9"},
	{INT, "9223372036854775808", "-x: '9223372036854775808' is not between 2 and 9"},
	{SECONDS, "9ms", "-x: '9ms' is not a number of seconds, such as 10, 0.5, 10s, 2m or 1h"},
	{SECONDS, "1.99", "-x: '1.99' is not between 2 and 9 seconds"},
	{SECONDS, "9.01", "-x: '9.01' is not between 2 and 9 seconds"},
	{FILENAME, "-",
	 "-x: '-' is not standard input or output here: a file of this name is './-'"},
	{NAME, "thr", "-x: 'thr' is none of one, two, three"},
};
static const char *const named[] = {"one", "two", "three"};

static void parse_wrong(void *arg)
{
	const struct wrong *w = arg;

	switch (w->of) {
	case SIZE: arg_size("-x", w->text, 2, 9); break;
	case INT: arg_int("-x", w->text, 2, 9); break;
	case SECONDS: arg_seconds("-x", w->text, 2, 9); break;
	case FILENAME: arg_file("-x", w->text); break;
	case NAME: arg_name("-x", w->text, named, LENGTH(named), sizeof(named[0])); break;
	}
}

static void test_arguments(void)
{
	char printed[256], want[256];
	size_t i;

	ok(arg_size("-x", "2", 2, 9) == 2 && arg_size("-x", "9", 2, 9) == 9,
	   "arg_size: both ends of the range are in it");
	ok(arg_int("-x", "2", 2, 9) == 2 && arg_int("-x", "9", 2, 9) == 9,
	   "arg_int: both ends of the range are in it");
	ok(arg_seconds("-x", "2", 2, 9) == 2 && arg_seconds("-x", "9.0", 2, 9) == 9,
	   "arg_seconds: both ends of the range are in it");
	is(arg_file("-x", "./-"), "./-", "arg_file: './-' is a file");
	ok(arg_name("-x", "three", named, LENGTH(named), sizeof(named[0])) == 2,
	   "arg_name: the index of the name");
	for (i = 0; i < LENGTH(wrong); i++) {
		struct wrong w = wrong[i];

		ok(status_of(parse_wrong, &w, printed, sizeof(printed)) == EXIT_USAGE,
		   "a wrong argument '%s' ends the program with status 2", w.text);
		snprintf(want, sizeof(want), "%s: %s\n", program_invocation_short_name, w.printed);
		is(printed, want, "a wrong argument '%s' prints one line", w.text);
	}
}

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

static void replace_dangling(void *path)
{
	file_replace_or_die(path, print_new, "new\n");
}

static void test_file_replace(void)
{
	char dir[] = "/tmp/zc-unit.XXXXXX", before[PATH_MAX], printed[256];
	const mode_t mask = umask(022);
	struct stat st;

	if (mkdtemp(dir) == NULL || getcwd(before, sizeof(before)) == NULL || chdir(dir) != 0)
		err(EXIT_FAILURE, "%s", dir);
	file_replace_or_die("file", print_new, "one\n");
	ok(is_file("file", 0644, "one"), "file_replace: a new file has the mode that umask leaves");
	chmod("file", 0600);
	file_replace_or_die("file", print_new, "two\n");
	ok(is_file("file", 0600, "two"), "file_replace: a file keeps its mode");
	if (symlink("file", "link") != 0)
		err(EXIT_FAILURE, "%s", dir);
	file_replace_or_die("link", print_new, "three\n");
	ok(lstat("link", &st) == 0 && S_ISLNK(st.st_mode) && is_file("file", 0600, "three"),
	   "file_replace: what a link of one's own names is written, and the link stays");
	unlink("file");
	ok(status_of(replace_dangling, "link", printed, sizeof(printed)) == EXIT_FAILURE,
	   "file_replace: a link of one's own that names nothing is an error");
	file_replace_or_die("file", print_new, "four\n");
	if (lchown("link", 65533, 65533) == 0 && chmod("file", 0666) == 0 &&
	    chown("file", 65533, 65533) == 0) {
		file_replace_or_die("link", print_new, "five\n");
		ok(is_file("link", 0644, "five") && is_file("file", 0666, "four"),
		   "file_replace: a link of somebody else is replaced, and not followed");
		file_replace_or_die("file", print_new, "six\n");
		ok(is_file("file", 0644, "six"),
		   "file_replace: a file of somebody else gets no more than umask leaves");
	} else {
		skip("file_replace: links and files of somebody else", "needs root");
	}
	unlink("link");
	unlink("file");
	if (chdir(before) != 0)
		err(EXIT_FAILURE, "%s", before);
	rmdir(dir);
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
	char printed[256], want[256];

	ok(status_of(die_twice, NULL, printed, sizeof(printed)) == EXIT_FAILURE,
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
	char printed[256], want[256];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		ok(status_of(cases[i].function, NULL, printed, sizeof(printed)) == cases[i].status,
		   "%s: the status", cases[i].title);
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

/* grep(1) finds that it ignores neither: each is the lowest bit of its digit. */
static void exec_grep(void *arg)
{
	static char *argv[] = {"grep", "-Eq",
			       "^SigIgn:\t[0-9a-f]{9}[02468ace][0-9a-f]{2}[02468ace][0-9a-f]{3}$",
			       "/proc/self/status", NULL};

	(void)arg;
	init_program(NULL);
	command_exec(argv);
}

static void test_signals(void)
{
	char printed[256];

	ok(status_of(signal_errors, NULL, printed, sizeof(printed)) == 7,
	   "SIGPIPE and SIGXFSZ do not end a program");
	ok(status_of(exec_grep, NULL, printed, sizeof(printed)) == 0,
	   "a command ignores neither SIGPIPE nor SIGXFSZ");
}

int main(void)
{
	test_sizes();
	test_seconds();
	test_lists();
	test_arguments();
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
