/* Commands of a shell: lib/compare/shell.  setting.c has those of --setting. */
#include "common.h"

#undef now_ns
#define now_ns()   (clock_now += step)
#define isatty(fd) is_terminal

static uint64_t clock_now, step = 1000000000; /* from one look to the next */
static bool is_terminal;

#include "lib/compare/shell.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#define KEEPS_FILES /* those of shell_open() */

#include "tests/unit/unit.h"

static const _Atomic int go_on = 0, stopped = 1;

/* Runs a command to its end: prints how it failed, and what it said. */
static void run(const char *command, int how)
{
	const char *error = "none";
	const pid_t pid = shell_start(command, NULL, how);

	if (!shell_wait(pid, "a command", &go_on, UINT64_MAX, &error))
		error = "it goes on";
	fprintf(stderr, "[%s] '%s'\n", error != NULL ? error : "", shell_said());
}

static void test_ends(void)
{
	static const char *const commands[] = {
		":",
		"exit 3",
		"kill -9 $$",
		"cat; echo out; echo error >&2; exit 1",
		"printf 'one\\ntwo \\t\\r\\n\\n' >&2",
		"printf 'a\\033[2Jb\\rc\\033' >&2",
		"printf '\\n\\n' >&2",
		"printf '%0300d' 7 >&2",
	};
	int files;
	size_t i;

	ok(shell_open() == NULL && shell_open() == NULL, "commands can be started");
	files = open_files();
	capture(STDERR_FILENO);
	for (i = 0; i < LENGTH(commands); i++) {
		run(commands[i], SHELL_IS_SILENT);
		run(commands[i], SHELL_PRINTS);
	}
	expect(captured(), "how commands end; those that are silent have said their last line");
	ok(open_files() == files, "what a command said is closed");
	ok(shell_usage.ru_nvcsw + shell_usage.ru_nivcsw > 0, "the usage of a command is known");
}

static void test_words(void)
{
	char *const words[] = {"printf", "<%s>", "$x y", NULL}, *const none[] = {"/no-such-command",
										 NULL};
	const char *error;
	pid_t pid;

	capture(STDERR_FILENO);
	pid = shell_start("its name", words, SHELL_PRINTS);
	ok(shell_wait(pid, NULL, NULL, UINT64_MAX, &error) && error == NULL, "words are a command");
	is(captured(), "<$x y>", "words are no text of a shell");
	pid = shell_start("its name", none, SHELL_IS_SILENT);
	ok(pid == -1 && errno == ENOENT && errors == -1 && running->id == 0,
	   "a command that there is not leaves nothing");
}

static void test_waits(void)
{
	const char *error;
	pid_t pid;

	capture(STDERR_FILENO);
	is_terminal = true;
	run("sleep 0.2", SHELL_PRINTS);
	is_terminal = false;
	run("sleep 0.2", SHELL_PRINTS);
	is(captured(), "shell: a command has run for 5 seconds: sleep 0.2\n[] ''\n[] ''\n",
	   "a command that runs for long is named once, on a terminal");
	pid = shell_start("trap 'exit 3' TERM; while :; do :; done", NULL, SHELL_STAYS);
	ok(running->stays && running->id == pid && getsid(pid) == pid,
	   "the command that runs is known, and has a session");
	ok(!shell_wait(pid, NULL, &stopped, UINT64_MAX, &error) &&
		   !shell_wait(pid, NULL, &go_on, clock_now + 3000000000, &error),
	   "a wait ends if it is stopped, and in time");
	step = SHELL_LOOK_NS / 100; /* it may end late */
	ok(shell_end_running() && kill(-pid, 0) == -1 && shell_end_running(),
	   "a command that runs is ended");
}

/* A command ends by SIGTERM; what ignores it, and its children, are killed. */
static void test_end(void)
{
	const char *error;
	pid_t pid;
	int ends[2];

	capture(STDERR_FILENO);
	pid = shell_start("trap 'echo ended >&2; exit' TERM; echo >&2; while :; do :; done", NULL,
			  SHELL_PRINTS);
	while (lseek(capturing.file, 0, SEEK_END) == 0)
		sleep_ns(SHELL_LOOK_NS);
	shell_end(pid);
	(void)shell_wait(pid, NULL, NULL, UINT64_MAX, &error);
	is(captured(), "\nended\n", "a command can do what it has to at its end");
	capture(STDERR_FILENO);
	if (pipe(ends) != 0)
		abort();
	pid = shell_start(text_of("trap '' TERM; exec 3>/proc/%d/fd/%d; echo >&2; (sleep 60; :) & "
				  "sleep 60",
				  getpid(), ends[1]),
			  NULL, SHELL_PRINTS);
	while (lseek(capturing.file, 0, SEEK_END) == 0)
		sleep_ns(SHELL_LOOK_NS);
	step = 1000000000;
	shell_end(pid);
	step = SHELL_LOOK_NS / 100;
	ok(shell_end_running() && running->id == 0, "a command that ignores SIGTERM is killed");
	close(ends[1]);
	ok(poll(&(struct pollfd){.fd = ends[0]}, 1, 10000) == 1,
	   "the children of a command that ignores SIGTERM are killed");
	close(ends[0]);
	captured();
}

/* Of what a command says no more is kept than its last line needs. */
static void test_forget(void)
{
	static const off_t size[] = {KEEP_MAX, KEEP_MAX + 1};
	const char *error;
	struct stat st;
	pid_t pid;
	size_t i;

	for (i = 0; i < LENGTH(size); i++) {
		pid = shell_start(text_of("head -c %d /dev/zero >&2; exec sleep 60", (int)size[i]),
				  NULL, SHELL_IS_SILENT);
		while (fstat(errors, &st) == 0 && st.st_size < size[i])
			sleep_ns(SHELL_LOOK_NS);
		shell_forget();
		fstat(errors, &st);
		ok(st.st_size == (size[i] > KEEP_MAX ? 0 : KEEP_MAX), "of %d bytes %d are kept",
		   (int)size[i], (int)st.st_size);
		shell_end(pid);
		(void)shell_wait(pid, NULL, NULL, UINT64_MAX, &error);
	}
}

TESTS(test_ends, test_words, test_waits, test_end, test_forget)
