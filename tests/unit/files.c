/* Files that a user names to be written: lib/base/files. */
#include "lib/base/proc.h"
#include "lib/base/files.h"

#include <grp.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/base/program.h"
#include "tests/unit/unit.h"

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

static void replace_file(void *path)
{
	file_replace_or_die(path, print_new, "new\n");
}

/* As many links as path_resolution(7) allows, and one more. */
static void test_links(void)
{
	char link[16], to[16] = "file";
	int i;

	file_replace_or_die("file", print_new, "old\n");
	for (i = 1; i <= 41; i++, strcpy(to, link)) {
		snprintf(link, sizeof(link), "link%d", i);
		if (symlink(to, link) != 0)
			abort();
	}
	file_replace_or_die("link40", print_new, "40\n");
	ok(is_file("file", 0644, "40"), "file_replace: 40 links are followed");
	ok(died(replace_file, "link41") == EXIT_FAILURE &&
		   strstr(printed, "cannot write link41: Too many levels of symbolic links"),
	   "file_replace: 41 links are not, which an error says");
	for (; i-- > 1; unlink(link))
		snprintf(link, sizeof(link), "link%d", i);
	unlink("file");
}

static void test_writing(const char *dir)
{
	sigset_t now;
	char path[64];

	file_replace_or_die("file", print_new, "one\n");
	ok(is_file("file", 0644, "one"), "file_replace: a new file has the mode that umask leaves");
	chmod("file", 0600);
	ok(symlink("file", "link") == 0 && symlink("..", "up") == 0, "symbolic links are made");
	snprintf(path, sizeof(path), "up//%s/./link", strrchr(dir, '/'));
	file_replace_or_die(path, print_new, "three\n");
	ok(is_file("file", 0600, "three"),
	   "file_replace: symbolic links are followed, and a file keeps its mode");
	snprintf(path, sizeof(path), "file.%d", (int)getpid());
	file_replace_or_die(path, print_new, "torn\n");
	file_replace_or_die("file", print_new, "four\n");
	ok(is_file("file", 0600, "four") && access(path, F_OK) != 0,
	   "file_replace: what a process of the same id left is replaced");
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	ok(sigisemptyset(&now), "file_replace: no signal stays blocked");
	ok(died(replace_late, "file") == -1 && is_file("file", 0600, "late"),
	   "file_replace: a signal ends the program once the file is replaced");
	ok(died(replace_partly, "file") == EXIT_FAILURE && is_file("file", 0600, "late") &&
		   strstr(printed, "cannot write file: File too large") != NULL,
	   "file_replace: what cannot be written whole replaces no file");
	snprintf(path, sizeof(path), "up%s/none", strrchr(dir, '/'));
	ok(symlink(path, "dangling") == 0 && died(replace_file, "dangling") == EXIT_FAILURE &&
		   unlink("none") == -1 && unlink("dangling") == 0,
	   "file_replace: a link must lead to a file");
	has(printed, "cannot write dangling: No such file or directory", "which an error says");
	unlink("up");
	unlink("link");
	unlink("file");
}

/* Works in a directory of user 65534, who makes `file` alternately a link to a file of root and a file, for ever. */
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

/* A link of root is followed, as a user 65534. */
static void replace_as_other(void *path)
{
	if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
		_exit(EXIT_USAGE);
	file_replace_or_die(path, print_new, "new\n");
	exit(EXIT_SUCCESS);
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
	ok(symlink("mine", "link") == 0 &&
		   close(open("mine", O_CREAT | O_WRONLY | O_CLOEXEC, 0644)) == 0 &&
		   died(replace_as_other, "link") == EXIT_SUCCESS && is_file("mine", 0644, "new") &&
		   unlink("mine") == 0 && unlink("link") == 0,
	   "file_replace: a link of root is followed for all");
	ok(symlink("..", "link") == 0 && lchown("link", 1, 1) == 0 &&
		   died(replace_file, "link/victim") == EXIT_FAILURE && unlink("link") == 0 &&
		   strstr(printed, "a symbolic link of another user: give what it leads to") !=
			   NULL,
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
	test_writing(dir);
	test_links();
	test_race();
	ok(chdir(before) == 0 && rmdir(dir) == 0 && open_files() == files,
	   "files are closed, and file_replace leaves no other file");
	umask(mask);
}

TESTS(test_files)
