#include "common.h"
#include "lib/base/proc.h"

#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "lib/base/program.h"
#include "tests/unit/unit.h"

/* Two threads may read the clock in either order: a time is never negative, nor 2^64 ns. */
static void test_clocks(void)
{
	ok(seconds_between(1000000000, 3500000000) == 2.5 &&
		   seconds_between(3500000000, 1000000000) == 0,
	   "2.5 s between two times, and 0 s to a time that came before");
}

static void test_texts(void)
{
	/* U+009B begins a command to a terminal. */
	static const char *const cases[][2] = {{"plain ~ text\n\t", "plain ~ text??"},
					       {"\033[2J\177", "?[2J?"},
					       {"caf\303\251 \302\233m", "caf\303\251 ??m"},
					       {"\302", "?"},
					       {"\377\233\300\233", "????"}};
	/* Of 2, 4 and 1 bytes, and how many bytes of whole ones there are in 0, 1, 2 ... */
	static const char characters[] = "\303\244\360\237\230\200a";
	static const size_t whole[] = {0, 0, 2, 2, 2, 2, 6};
	char room[8] = "", full[4] = {'f', 'u', 'l', 'l'};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		is(printable(cases[i][0]), cases[i][1], "'%s' has no control characters",
		   cases[i][1]);
	ok(string_append(room, sizeof(room), "%d", 123) &&
		   string_append(room, sizeof(room), "4567") &&
		   !string_append(room, sizeof(room), "8") && strcmp(room, "1234567") == 0,
	   "string_append: text that just fits is appended, and more is reported and cut off");
	for (i = 1; i < sizeof(room); i++) {
		room[0] = '\0';
		ok(!string_append(room, i, "%s", characters) && strlen(room) == whole[i - 1] &&
			   strncmp(room, characters, whole[i - 1]) == 0,
		   "string_append: in %zu bytes text is cut off at a character", i);
	}
	ok(!string_append(full, sizeof(full), "x") && memcmp(full, "full", 4) == 0,
	   "string_append: a text without an end is left as it is");
}

/* What is built for AddressSanitizer has it report who reads a text that is kept for too long. */
static void test_kept_texts(void)
{
	const char *first = text_of("%s", "first");
	int i;

	for (i = 0; i < 15; i++)
		text_of("%d", i);
	is(first, "first", "text_of: a text lasts until 15 more are made");
	text_of("%d", i);
#ifdef __SANITIZE_ADDRESS__
	ok(__asan_address_is_poisoned(first), "and is poisoned by the next one");
#else
	is(first, "15", "and is that of the next one");
#endif
}

static void test_reading(void)
{
	/* In 8 bytes the fifth has no room for its newline. */
	static const char *const cases[][2] = {
		{"123456\n", "123456"}, {"one\ntwo\n", "one"}, {"\n", ""},
		{"1\t\n", "1 "},        {"\0330\n", "?0"},     {"1234567\n", "error"},
		{"no end", "error"},    {"", "error"}};
	const int fd = memfd_create("file", MFD_CLOEXEC);
	char line[8], name[16];
	size_t i;

	snprintf(name, sizeof(name), "%d", fd);
	for (i = 0; i < LENGTH(cases); i++) {
		errno = 0;
		if (ftruncate(fd, 0) != 0 || file_write("/proc/self/fd", name, cases[i][0]) != 0 ||
		    (file_read_line(text_of("/proc/self/fd/%s", name), line, sizeof(line)) != 0 &&
		     errno != 0))
			strcpy(line, "error");
		is(line, cases[i][1], "file_write writes, and file_read_line reads the line '%s'",
		   cases[i][1]);
	}
	close(fd);
	ok(file_write(".", "file", "1") == -1 && errno == ENOENT,
	   "file_write makes no file that is missing");
	ok(file_write("/dev", "full", "1") == -1 && errno == ENOSPC,
	   "file_write returns the error of writing");
}

/* The report that a dying program prints may fail, too. */
static void die_again(void *unused, const char *why)
{
	(void)unused;
	(void)why;
	die("the report cannot be written");
}

static void die_by(void *word)
{
	switch (*(const char *)word) {
	case 'e': errno = ENOSPC; die_errno("%s", "cannot \033 write");
	case 'm': command_die("no-such-command", ENOENT);
	case 'f': command_die("a-command", EACCES);
	case 't': die_init(die_again, NULL); die("the first error");
	default:
		init_program();
		kill(getpid(), SIGPIPE);
		kill(getpid(), SIGXFSZ);
		die("alive");
	}
}

static void test_deaths(void)
{
	expect_deaths(die_by, "error|missing command|forbidden command|two errors|signals",
		      "programs die with a status and a line, but not of SIGPIPE and SIGXFSZ");
}

/* Reports into a file, where stdout and stderr are one pipe. */
static void report_to(void *path)
{
	const int fd = open_retry(path, O_WRONLY | O_CREAT);
	int before;

	dup2(STDERR_FILENO, STDOUT_FILENO);
	init_program();
	printf("early ");
	before = report_to_or_die(fd, path);
	if (fcntl(fd, F_GETFD) >= 0 || dprintf(before, "on the stdout before\n") < 0)
		_exit(EXIT_USAGE);
	warnx("a warning");
	report("a report\n");
	exit(EXIT_SUCCESS);
}

static void test_report_file(void)
{
	char path[] = "/tmp/zc-common-XXXXXX", line[32] = "";

	close(mkstemp(path));
	ok(died(report_to, path) == EXIT_SUCCESS, "a report goes to a file, which is closed");
	is(printed, "on the stdout before\ncommon: a warning\n",
	   "where a report goes to a file, warnings go to the stdout");
	file_read_line(path, line, sizeof(line));
	is(line, "early a report", "all that was not written before is in the file");
	unlink(path);
}

TESTS(test_report_file, test_clocks, test_texts, test_kept_texts, test_reading, test_deaths)
