#include "lib/compare/shell.h"

#include <sys/wait.h>

#define END_NS 5000000000u /* for which a command may go on after SIGTERM */

/*
 * How commands are started.  posix_spawn(3) allocates no memory, in contrast to the functions that make its arguments,
 * and can be called by a signal handler.
 */
static posix_spawnattr_t attributes;
static posix_spawn_file_actions_t files, no_files;
static _Atomic pid_t running; /* the command that was started last; 0: it was waited for */

void shell_open(void)
{
	static bool is_open;
	sigset_t ignored, none;

	if (is_open)
		return;
	is_open = true;
	signals_ignored_here(&ignored);
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &ignored);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	posix_spawn_file_actions_init(&no_files);
	posix_spawn_file_actions_addopen(&no_files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&no_files, STDIN_FILENO, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&no_files, STDIN_FILENO, STDERR_FILENO);
}

pid_t shell_start(const char *command, bool silent)
{
	char *const argv[] = {"sh", "-c", (char *)command, NULL};
	struct pollfd p = {.fd = STDERR_FILENO};
	sigset_t all, before;
	pid_t pid;

	poll(&p, 1, 0);
	/* A handler of signals must know of the command. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	errno = command_spawn(&pid, "/bin/sh", silent || p.revents & POLLERR ? &no_files : &files,
			      &attributes, argv);
	pid = errno == 0 ? pid : -1;
	running = pid > 0 ? pid : 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

bool shell_wait(pid_t pid, int *status, uint64_t until)
{
	while (waitpid(pid, status, WNOHANG) == 0) {
		if (now_ns() > until)
			return false;
		sleep_ns(SHELL_LOOK_NS);
	}
	running = 0;
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
	const pid_t pid = running;
	int status;

	if (pid > 0)
		shell_end(pid);
	return pid == 0 || shell_wait(pid, &status, now_ns() + END_NS);
}

const char *shell_error(int status)
{
	if (status == 0)
		return NULL;
	if (WIFSIGNALED(status))
		return text_of("its command was ended by signal %d", WTERMSIG(status));
	return text_of("its command ended with status %d", WEXITSTATUS(status));
}
