/* What a program is to its system: lib/base/program. */
#include "common.h"

#undef now_ns
#define now_ns() clock_now

static uint64_t clock_now; /* in place of the clock */
static bool fails;         /* vfork(2) */
static void look_in_child(void);

#ifndef __clang_analyzer__ /* which knows what a child of vfork(2) must not do, but not this */
#define vfork() (fails ? (errno = EAGAIN, -1) : (vfork)())
#endif
#define setsid() (look_in_child(), (setsid)())

#include "lib/base/program.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "lib/base/proc.h"
#include "tests/unit/unit.h"

/* Ends the process with the status 0 if that holds, otherwise 1: it is that of a test. */
static _Noreturn void conclude(bool holds)
{
	exit(holds ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* How many descriptors are of /dev/null. */
static int nulls(void)
{
	char name[16];
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += readlink(text_of("/proc/self/fd/%d", fd), name, sizeof(name)) == 9 &&
		     memcmp(name, "/dev/null", 9) == 0;
	return n;
}

/* Begins without the descriptors that the text has. */
static void begin_without(void *closed)
{
	const char *c;
	int before;

	for (c = closed; *c != '\0'; c++)
		close(*c - '0');
	before = nulls();
	init_program();
	for (c = closed; *c != '\0'; c++)
		if (write(*c - '0', "", 1) != -1 || errno != EBADF ||
		    read(*c - '0', &before, 0) != 0)
			conclude(false);
	conclude(nulls() == before + (int)strlen(closed));
}

static void on_stop(int sig)
{
	(void)sig;
}

/* The signals of a word in which each is a letter. */
static sigset_t set_of(const char *letters)
{
	sigset_t set;

	sigemptyset(&set);
	for (; *letters != '\0'; letters++)
		sigaddset(&set, *letters == 'T'   ? SIGTERM
				: *letters == 'I' ? SIGINT
				: *letters == 'H' ? SIGHUP
				: *letters == 'C' ? SIGCHLD
						  : SIGUSR1);
	return set;
}

/* Whether these signals are blocked and no others, or if NULL all. */
static bool is_blocked_now(const char *letters)
{
	sigset_t want, now;
	int sig;

	sigfillset(&want);
	if (letters != NULL)
		want = set_of(letters);
	else if (sigdelset(&want, SIGKILL) != 0 || sigdelset(&want, SIGSTOP) != 0)
		abort();

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (sig = 1; sig < NSIG && sigismember(&now, sig) == sigismember(&want, sig); sig++)
		;
	return sig == NSIG;
}

static bool takes_signals; /* while the child has the memory of this program */

static void look_in_child(void)
{
	takes_signals = !is_blocked_now(NULL);
}

/* Begins with blocked and ignored signals. */
static void begin_blocked(void *unused)
{
	const sigset_t all = set_of("TIHCU");

	(void)unused;
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, &all, NULL);
	init_program();
	conclude(is_blocked_now("HU") && signal(SIGCHLD, SIG_DFL) == SIG_DFL &&
		 signal(SIGHUP, SIG_IGN) == SIG_IGN);
}

/* Starts a command that prints what it was given as input, its signals, its limit and its session; and an error. */
static void start(void *in_own)
{
	static char script[] = "/^given/p; s/^Sig\\(Blk\\|Ign\\|Cgt\\):.*\\(.......\\)$/\\1 \\2/p; "
			       "s/^Max open files  *\\([0-9]*\\).*/\\1/p; "
			       "s/^[0-9]* (sed) . [0-9]* [0-9]* \\([0-9]*\\) .*/\\1/p";
	static char *const argv[] = {"sed",
				     "-n",
				     script,
				     "-",
				     "/proc/self/status",
				     "/proc/self/limits",
				     "/proc/self/stat",
				     "/no-such-file",
				     NULL};
	const bool own_session = *(bool *)in_own;
	const int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC),
		  error = memfd_create("error", MFD_CLOEXEC);
	struct rlimit few = {100, 200};
	_Atomic pid_t id = -1;
	const struct command_start c = {argv[0], argv, {in, out, error}, own_session, &id};
	char text[512] = "";
	sigset_t mask = set_of("TU");
	pid_t pid;

	if (write(in, "given\n", 6) != 6 || lseek(in, 0, SEEK_SET) != 0)
		abort();
	setrlimit(RLIMIT_NOFILE, &few);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGUSR2, on_stop);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	init_program();
	mask = set_of("I");
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (own_session && (files_allow_most() + files_allow_most() != 400 ||
			    getrlimit(RLIMIT_NOFILE, &few) != 0 || few.rlim_cur != 200))
		conclude(false);
	pid = command_start(&c);
	if (id != pid || !is_blocked_now("I") || waitpid(pid, NULL, 0) != pid || takes_signals ||
	    pread(out, text, sizeof(text) - 1, 0) <= 0 || lseek(error, 0, SEEK_END) <= 0)
		conclude(false);
	dprintf(STDERR_FILENO, "%s", text);
	conclude(strstr(text, text_of("\n%d\n", own_session ? pid : getsid(0))) != NULL);
}

/* Starts a command that there is not, or where there can be no child. */
static void start_none(void *error)
{
	static char *const argv[] = {"/no-such-command", NULL};
	_Atomic pid_t id = -1;
	const struct command_start c = {argv[0], argv, {0, 1, 2}, true, &id};
	pid_t pid;

	fails = *(int *)error != ENOENT;
	pid = command_start(&c);
	conclude(pid == -1 && errno == *(int *)error && id == 0 && is_blocked_now("") &&
		 waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
}

static void on_late_signal(int sig)
{
	_exit(sig);
}

/* Takes a signal as a command, which is about to begin, that was sent to this program and is blocked. */
static void become_late(void *sig)
{
	sigset_t all;

	init_program();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(*(int *)sig, on_late_signal);
	raise(*(int *)sig);
	become_as_started();
	conclude(true);
}

static char taken[16];

static void take(int sig)
{
	strcat(taken, !is_blocked_now("TIU") ? "interrupted" : sig == SIGTERM ? "T" : "I");
}

/* Signals at times in tenths of a second: each is a new request unless it follows one of its number within 0.2 s. */
static void take_requests(void *unused)
{
	static const int all[] = {SIGTERM, SIGTERM, SIGTERM, SIGINT, SIGTERM, SIGTERM, SIGINT};
	const sigset_t before = set_of("U");
	sigset_t unblocked;
	size_t i;

	(void)unused;
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_SETMASK, &before, NULL);
	catch_stop_signals_waiting(take, &unblocked);
	if (!is_blocked_now("TIU") || signal(SIGHUP, SIG_IGN) != SIG_IGN)
		conclude(false);
	for (i = 0; i < LENGTH(all); i++) {
		clock_now = (i + 1) * 100000000;
		raise(all[i]); /* it is taken where the program waits */
		strcat(taken, i == 0 && taken[0] != '\0' ? "early" : "");
		sigsuspend(&unblocked);
	}
	dprintf(STDERR_FILENO, "%s", taken);
	conclude(true);
}

/* Programs that are to end so, with that on stderr. */
static void test_programs(void)
{
	static const char started[] = "given\nBlk 0004200\nIgn 0010001\nCgt 0000000\n100\n";
	const struct {
		void (*function)(void *arg);
		void *arg;
		int status;
		const char *printed, *title;
	} cases[] = {
		{begin_without, "", 0, "", "no descriptor is opened that was open"},
		{begin_without, "0", 0, "", "a closed stdin is opened, and cannot be written"},
		{begin_without, "012", 0, "", "closed standard descriptors are opened"},
		{begin_blocked, NULL, 0, "", "stop signals that are not ignored are unblocked"},
		{start, &(bool){true}, 0, started,
		 "a command in its own session has all as it was"},
		{start, &(bool){false}, 0, started,
		 "a command in the same session has all as it was"},
		{start_none, &(int){ENOENT}, 0, "", "a missing command leaves no child"},
		{start_none, &(int){EAGAIN}, 0, "", "a command without a process leaves no id"},
		{become_late, &(int){SIGHUP}, -1, "", "SIGHUP meets no handler before a command"},
		{become_late, &(int){SIGUSR2}, -1, "", "SIGUSR2 meets no handler before a command"},
		{become_late, &(int){SIGRTMAX}, -1, "", "a late signal meets no handler"},
		{take_requests, NULL, 0, "TTITI",
		 "a signal within 0.2 s of one of its number is none, and none interrupts another"},
	};
	size_t i;
	int sig;

	for (sig = 1; sig < NSIG; sig++) /* those of a background job are ignored */
		signal(sig, SIG_DFL);
	for (i = 0; i < LENGTH(cases); i++)
		show_unless(ok(died(cases[i].function, cases[i].arg) == cases[i].status &&
				       strstr(printed, cases[i].printed) != NULL,
			       "%s", cases[i].title),
			    printed, cases[i].printed);
}

TESTS(test_programs)
