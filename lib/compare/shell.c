#include "lib/compare/shell.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/base/program.h"
#include "lib/load/keeper.h"

#define END_NS   2000000000u /* for which a command may go on after SIGTERM */
#define SAID_MAX 200         /* bytes of a line */
#define KEEP_MAX (1 << 20)   /* bytes of standard error */
#define NAME_NS  5000000000u /* after which a command that runs is named */

/* The command that was started last, in memory that the keeper shares. */
struct running {
	_Atomic pid_t id; /* 0: it was waited for */
	_Atomic bool stays;
};

static struct running *running; /* NULL: shell_open() was not called */
static const char *running_text;
static int null;        /* a descriptor of /dev/null */
static int errors = -1; /* the file of a silent command's errors; -1: none runs */
static char said[SAID_MAX + 1];

struct rusage shell_usage;

/* Waits for the end of the program: no other process has the other end of the pipe. */
static _Noreturn void keep(const int ends[2])
{
	struct pollfd program = {.fd = STDIN_FILENO};

	keeper_become("zc-commands", ends, -1);
	while (poll(&program, 1, -1) <= 0)
		;
	if (running->id > 0 && !running->stays)
		shell_end(running->id);
	_exit(EXIT_SUCCESS);
}

const char *shell_open(void)
{
	int ends[2] = {-1, -1};
	pid_t pid = -1;

	if (running != NULL)
		return NULL;
	running = mmap(NULL, sizeof(*running), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	null = open_retry("/dev/null", O_RDWR);
	if (running != MAP_FAILED && null >= 0 && pipe2(ends, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		keep(ends);
	close(ends[0]);
	if (pid > 0)
		return NULL;
	running = NULL;
	return text_of("cannot start commands: %s", strerror(errno));
}

/*
 * The file is no pipe, as a pipe needs a reader beside what is measured, and the reader's end would be that of a daemon
 * that the command leaves.
 */
static int open_errors(void)
{
	const int fd = memfd_create("stderr", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd >= 0 && fcntl(fd, F_SETFL, O_APPEND) == 0 ? fd : null;
}

/* Stores the last line of the file, which what the command has left cannot make larger from now on. */
static void read_errors(void)
{
	struct stat st = {.st_size = 0};
	const char *line;
	ssize_t n;

	fcntl(errors, F_ADD_SEALS, F_SEAL_GROW);
	fstat(errors, &st);
	n = pread(errors, said, SAID_MAX, st.st_size > SAID_MAX ? st.st_size - SAID_MAX : 0);
	for (n = n > 0 ? n : 0; n > 0 && strchr(" \t\r\n", said[n - 1]) != NULL; n--)
		;
	said[n] = '\0';
	for (line = said + n; line > said && strchr("\r\n", line[-1]) == NULL; line--)
		;
	memmove(said, line, strlen(line) + 1);
	make_printable(said);
	if (errors != null)
		close(errors);
	errors = -1;
}

const char *shell_said(void)
{
	return said;
}

void shell_forget(void)
{
	struct stat st;

	if (fstat(errors, &st) == 0 && st.st_size > KEEP_MAX)
		(void)!ftruncate(errors, 0);
}

pid_t shell_start(const char *command, char *const *words, int how)
{
	char *const argv[] = {"sh", "-c", (char *)command, NULL};
	struct command_start c = {words != NULL ? words[0] : "/bin/sh",
				  words != NULL ? words : argv,
				  {null, null, null},
				  true,
				  &running->id};
	struct pollfd p = {.fd = STDERR_FILENO};
	pid_t pid;

	poll(&p, 1, 0);
	if (how != SHELL_IS_SILENT && !(p.revents & POLLERR))
		c.file[STDOUT_FILENO] = c.file[STDERR_FILENO] = STDERR_FILENO;
	if (how == SHELL_IS_SILENT)
		c.file[STDERR_FILENO] = errors = open_errors();
	said[0] = '\0';
	running->stays = how == SHELL_STAYS;
	running_text = command;
	pid = command_start(&c);
	if (pid < 0 && errors >= 0)
		read_errors();
	return pid;
}

/* Returns whether a command has ended, and stores how it failed. */
static bool has_ended(pid_t pid, const char **error)
{
	int status = 0;
	const pid_t ended = wait4(pid, &status, WNOHANG, &shell_usage);

	if (ended == 0 || (ended < 0 && errno == EINTR))
		return false;
	running->id = 0;
	if (errors >= 0)
		read_errors();
	*error = ended < 0 ? text_of("the end of its command is not known: %s", strerror(errno))
		 : WIFSIGNALED(status)
			 ? text_of("its command was ended by signal %d", WTERMSIG(status))
		 : status != 0 ? text_of("its command ended with status %d", WEXITSTATUS(status))
			       : NULL;
	return true;
}

bool shell_wait(pid_t pid, const char *what, const _Atomic int *stop, uint64_t until,
		const char **error)
{
	uint64_t name = what != NULL && isatty(STDERR_FILENO) ? now_ns() + NAME_NS : UINT64_MAX;

	while (!has_ended(pid, error)) {
		if ((stop != NULL && *stop > 0) || now_ns() > until)
			return false;
		if (now_ns() > name) {
			error_line("%s has run for 5 seconds: %s", what, running_text);
			name = UINT64_MAX;
		}
		sleep_ns(SHELL_LOOK_NS);
	}
	return true;
}

/* The command itself stays in its process group until it is waited for. */
void shell_end(pid_t pid)
{
	const uint64_t until = now_ns() + END_NS;
	int status;

	kill(-pid, SIGTERM);
	while (waitpid(pid, &status, WNOHANG), kill(-pid, 0) == 0 && now_ns() < until)
		sleep_ns(SHELL_LOOK_NS);
	kill(-pid, SIGKILL);
}

bool shell_end_running(void)
{
	const pid_t pid = running != NULL ? running->id : 0;
	const char *error;

	if (pid > 0)
		shell_end(pid);
	return pid == 0 || shell_wait(pid, NULL, NULL, now_ns() + END_NS, &error);
}
