#include "lib/base/program.h"

#include <sys/resource.h>
#include <sys/wait.h>

/* Signals that are handled otherwise here than in the programs that this one starts. */
static struct {
	int sig;
	void (*here)(int), (*before)(int);
} handled[] = {{SIGPIPE, SIG_IGN, SIG_DFL},
	       {SIGXFSZ, SIG_IGN, SIG_DFL},
	       {SIGCHLD, SIG_DFL, SIG_DFL}, /* while it is ignored no child can be waited for */
	       {.sig = 0}};
static sigset_t blocked_before;
static struct rlimit files_before; /* of open files; .rlim_max is 0: it is as before */

void init_program(void)
{
	sigset_t set;
	int fd, i;

	/* The first socket would get a closed 0, 1 or 2: /dev/null takes these, and writing must fail. */
	while ((fd = open_retry("/dev/null", O_RDONLY)) >= 0 && fd <= STDERR_FILENO)
		;
	close(fd);
	for (i = 0; handled[i].sig != 0; i++)
		handled[i].before = signal(handled[i].sig, handled[i].here);
	stop_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &set, &blocked_before);
	output_open();
}

uint64_t files_allow_most(void)
{
	struct rlimit files = {.rlim_cur = 0}; /* a filter of system calls may deny it */

	getrlimit(RLIMIT_NOFILE, &files);
	if (files_before.rlim_max == 0)
		files_before = files;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur;
}

void become_as_started(void)
{
	struct sigaction now;
	int sig, i;

	/* A handler must not run between the new mask and exec(3). */
	for (sig = 1; sig <= SIGRTMAX; sig++)
		if (sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			signal(sig, SIG_DFL);
	for (i = 0; handled[i].sig != 0; i++)
		signal(handled[i].sig, handled[i].before);
	if (files_before.rlim_max > 0)
		setrlimit(RLIMIT_NOFILE, &files_before);
	sigprocmask(SIG_SETMASK, &blocked_before, NULL);
}

/* The child of vfork(2), which has the memory of its parent until it becomes the command. */
static _Noreturn void become_command(const struct command_start *c, volatile int *error)
{
	int i;

	if (c->own_session)
		setsid();
	if (c->id != NULL)
		*c->id = getpid();
	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (c->file[i] != i)
			TEMP_FAILURE_RETRY(dup2(c->file[i], i));
	become_as_started();
	execvp(c->name, c->argv);
	*error = errno;
	_exit(EXIT_COMMAND);
}

/* posix_spawn(3) cannot have the child ignore a signal that this program does not ignore. */
pid_t command_start(const struct command_start *c)
{
	volatile int error = 0;
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork): see above */
	if (pid == 0)
		become_command(c, &error); /* NOLINT(clang-analyzer-unix.Vfork): see there */
	if (pid < 0)
		error = errno;
	else if (error != 0)
		TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
	if (error != 0 && c->id != NULL)
		*c->id = 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return error == 0 ? pid : -1;
}

/* signal(7) has the default of each signal: it is to end the program unless it is one of these. */
void deadly_signals(sigset_t *set)
{
	static const int others[] = {SIGCHLD, SIGCONT, SIGURG,  SIGWINCH, SIGSTOP,
				     SIGTSTP, SIGTTIN, SIGTTOU, 0};
	struct sigaction old;
	const int *other;
	int sig;

	sigemptyset(set);
	for (sig = 1; sig <= SIGRTMAX; sig++)
		if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaddset(set, sig);
	for (other = others; *other != 0; other++)
		sigdelset(set, *other);
}

#define REQUEST_NS 200000000u /* in which signals of one number are one request */

/* A signal handler is not interrupted by another stop signal. */
bool stop_is_repeated(int sig)
{
	static volatile int last;
	static volatile uint64_t last_ns;
	const uint64_t now = now_ns();
	const bool is_repeated = sig == last && now < last_ns + REQUEST_NS;

	last = sig;
	last_ns = is_repeated ? last_ns : now;
	return is_repeated;
}

static void (*stop_handler)(int);

static void on_stop_signal(int sig)
{
	if (!stop_is_repeated(sig))
		stop_handler(sig);
}

void catch_stop_signals_waiting(void (*handler)(int), sigset_t *unblocked)
{
	struct sigaction new = {.sa_handler = on_stop_signal};
	int sig;

	stop_handler = handler;
	stop_signals(&new.sa_mask);
	sigprocmask(SIG_BLOCK, &new.sa_mask, unblocked);
	for (sig = 1; sig < NSIG; sig++)
		if (sigismember(&new.sa_mask, sig))
			sigaction(sig, &new, NULL);
}
