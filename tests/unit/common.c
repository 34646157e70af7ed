#include "common.h"

#include <grp.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

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
	char room[8] = "", full[4] = {'f', 'u', 'l', 'l'};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		is(printable(cases[i][0]), cases[i][1], "'%s' has no control characters",
		   cases[i][1]);
	ok(string_append(room, sizeof(room), "%d", 123) &&
		   string_append(room, sizeof(room), "4567") &&
		   !string_append(room, sizeof(room), "8") && strcmp(room, "1234567") == 0,
	   "string_append: text that just fits is appended, and more is reported and cut off");
	room[4] = '\0';
	ok(!string_append(room, sizeof(room), "\303\244\342\202\254") &&
		   strcmp(room, "1234\303\244") == 0,
	   "string_append: text that does not fit is cut off at a character");
	ok(!string_append(full, sizeof(full), "x") && memcmp(full, "full", 4) == 0,
	   "string_append: a text without an end is left as it is");
}

static void print_new(FILE *f, const void *arg)
{
	fputs(arg, f);
}

/* Whether a file of the current directory is regular, and has that mode and line. */
static bool is_file(const char *path, mode_t mode, const char *line)
{
	struct stat st;
	char got[8];

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0777) == mode &&
	       file_read_line(path, got, sizeof(got)) == 0 && strcmp(got, line) == 0;
}

static void test_reading(void)
{
	/* In 8 bytes the fifth has no room for its newline. */
	static const char *const cases[][2] = {
		{"123456\n", "123456"}, {"one\ntwo\n", "one"}, {"\n", ""},
		{"1\t\n", "1 "},        {"\0330\n", "?0"},     {"1234567\n", "error"},
		{"no end", "error"},    {"", "error"}};
	char line[8];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		file_replace_or_die("file", print_new, cases[i][0]);
		errno = 0;
		if (file_read_line("file", line, sizeof(line)) != 0 && errno != 0)
			strcpy(line, "error");
		is(line, cases[i][1], "file_read_line: the first line of a file is '%s'",
		   cases[i][1]);
	}
	unlink("file");
}

static void print_late(FILE *f, const void *arg)
{
	raise(SIGTERM);
	fputs(arg, f);
}

static void replace_late(void *path)
{
	file_replace_or_die(path, print_late, "late\n");
}

/* As on a disk that is full. */
static void replace_partly(void *path)
{
	const struct rlimit few = {2, 2};

	init_program();
	setrlimit(RLIMIT_FSIZE, &few);
	file_replace_or_die(path, print_new, "new\n");
}

static void test_writing(const char *dir)
{
	char path[64];

	ok(file_write(".", "file", "1") == -1 && errno == ENOENT,
	   "file_write makes no file that is missing");
	ok(file_write("/dev", "full", "1") == -1 && errno == ENOSPC,
	   "file_write returns the error of writing");
	file_replace_or_die("file", print_new, "one\n");
	ok(is_file("file", 0644, "one"), "file_replace: a new file has the mode that umask leaves");
	ok(file_write(".", "file", "12\n") == 0 && is_file("file", 0644, "12"),
	   "file_write writes the text, and returns 0");
	chmod("file", 0600);
	ok(symlink("file", "link") == 0 && symlink("..", "up") == 0, "symbolic links are made");
	snprintf(path, sizeof(path), "up//%s/./link", strrchr(dir, '/'));
	file_replace_or_die(path, print_new, "three\n");
	ok(is_file("file", 0600, "three"),
	   "file_replace: symbolic links are followed, and a file keeps its mode");
	ok(died(replace_late, "file") == -1 && is_file("file", 0600, "late"),
	   "file_replace: a signal ends the program once the file is replaced");
	ok(died(replace_partly, "file") == EXIT_FAILURE && is_file("file", 0600, "late") &&
		   strstr(printed, "cannot write file: File too large") != NULL,
	   "file_replace: what cannot be written whole replaces no file");
	unlink("up");
	unlink("link");
	unlink("file");
}

static void replace_file(void *path)
{
	file_replace_or_die(path, print_new, "new\n");
}

/* Works in a directory of user 65534, who makes `file` a link to a file of root and a file, in turn, for ever. */
static void flip_file(void)
{
	if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
		_exit(EXIT_FAILURE);
	for (;;) {
		if (symlink("../victim", "new") == 0)
			rename("new", "file");
		close(open("new", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
		rename("new", "file");
	}
}

static void test_race(void)
{
	const char *title =
		"file_replace: of another user's links, made meanwhile, none is followed";
	bool kept = true;
	int i, refused = 0;
	pid_t pid;

	if (geteuid() != 0) {
		skip(title, "needs root");
		return;
	}
	file_replace_or_die("victim", print_new, "old\n");
	ok(mkdir("theirs", 0755) == 0 && chown("theirs", 65534, 65534) == 0 && chdir("theirs") == 0,
	   "another user has a directory");
	ok(symlink("..", "link") == 0 && lchown("link", 65534, 65534) == 0 &&
		   died(replace_file, "link/victim") == EXIT_FAILURE && unlink("link") == 0,
	   "file_replace: another user's link to a directory is not followed either");
	pid = fork();
	if (pid == 0)
		flip_file();
	/* A write by names alone met the victim in one of 4 to 18 tries. */
	for (i = 0; i < 100 && kept; i++) {
		refused += died(replace_file, "file") == EXIT_FAILURE;
		kept = is_file("../victim", 0644, "old");
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(kept, "%s (%d of %d refused)", title, refused, i);
	unlink("new");
	unlink("file");
	ok(chdir("..") == 0 && rmdir("theirs") == 0 && unlink("victim") == 0,
	   "file_replace leaves nothing in a directory of another user");
}

/* In a directory of their own, which must be empty at the end. */
static void test_files(void)
{
	char dir[] = "/tmp/zc-unit.XXXXXX", before[PATH_MAX];
	const mode_t mask = umask(022);
	const int files = open_files();

	if (mkdtemp(dir) == NULL || getcwd(before, sizeof(before)) == NULL || chdir(dir) != 0)
		err(EXIT_FAILURE, "%s", dir);
	test_reading();
	test_writing(dir);
	test_race();
	ok(chdir(before) == 0 && rmdir(dir) == 0 && open_files() == files,
	   "files are closed, and file_replace leaves no other file");
	umask(mask);
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

TESTS(test_clocks, test_texts, test_files, test_deaths)
