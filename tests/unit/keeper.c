/* The keeper beside a kernel that is a script: what it calls, in order, and what it makes of each end. */
#include "lib/base/proc.h"
#include "lib/load/keeper.h"

#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/script.h"

static struct machine {
	pid_t child;       /* that fork(2) returns */
	int status[3], n;  /* what waitpid(2) returns, and how many it has returned */
	bool is_old;       /* a kernel without close_range(2) */
	bool grouped;      /* a control group was found */
	int denied, error; /* how often the autogroup cannot be lowered, and why */
} the;

static int script_write(const char *dir, const char *name, const char *text)
{
	note("%s/%s %s;", dir, name, text);
	errno = the.error;
	return the.denied > 0 && strcmp(name, "autogroup") == 0 && the.denied-- ? -1 : 0;
}

static int script_dup2(int from, int to)
{
	note("%d to %d;", from, to);
	errno = EBADF;
	return from < 0 ? -1 : to;
}

static pid_t script_wait(pid_t pid, int *status, int how)
{
	if (status == NULL)
		note("wait %d %d;", pid, how);
	else if (how == (WNOHANG | WUNTRACED | WCONTINUED) && the.status[the.n] != 0)
		*status = the.status[the.n++];
	else
		return 0;
	return pid;
}

/* It is over only where no status is left for waitpid(2). */
static int script_poll(struct pollfd *p, nfds_t n, const sigset_t *mask)
{
	return n == 1 && p->fd == 0 && sigismember(mask, SIGTERM) == 1 &&
			       sigismember(mask, SIGCHLD) == 0 && the.status[the.n] == 0
		       ? 1
		       : -1;
}

static int script_policy(pid_t pid, int how, const struct sched_param *param)
{
	note("policy %d %d;", pid, how + param->sched_priority);
	return 0;
}

/* The second thread has not stored its id; the third is of another program. */
static struct dirent *script_thread(void)
{
	static const char *const names[] = {".", "..", "50", "53", "60"};
	static struct dirent e;
	static size_t n;

	n = n < LENGTH(names) ? n + 1 : 0;
	snprintf(e.d_name, sizeof(e.d_name), "%s", n > 0 ? names[n - 1] : "");
	return n > 0 ? &e : NULL;
}

static long script_syscall(long number, int from, unsigned to, int flags)
{
	if (number == SYS_close_range && !the.is_old)
		return note("close %d%s;", from, to == ~0u && flags == 0 ? "" : "?"), 0;
	return number == SYS_tgkill && from == 50 && to >= 50 && to < 60 && flags == 0 ? 0 : -1;
}

#define open_retry(path, flags)          (note("%s;", path), 8 + ((flags) == O_RDWR))
#define close(fd)                        note("close %d;", fd)
#define dup2(from, to)                   script_dup2(from, to)
#define syscall(number, from, to, flags) script_syscall(number, (int)(from), (unsigned)(to), flags)
#define sigprocmask(how, set, before)                                                              \
	note("block %d%d%d;", (how) == SIG_BLOCK, sigismember(set, SIGTERM),                       \
	     sigismember(set, SIGCHLD))
#define signal(sig, handler)                                                                       \
	((handler)(sig), note("catch %s;", (sig) == SIGCHLD ? "children" : "?"))
#define prctl(what, name)                   note("name %s;", (what) == PR_SET_NAME ? (name) : "?")
#define setsid()                            note("session;")
#define fork()                              (the.child)
#define getpid()                            77
#define kill(pid, sig)                      note("kill %d %d;", pid, sig)
#define waitpid(pid, status, how)           script_wait(pid, status, how)
#define ppoll(p, n, t, mask)                script_poll(p, n, mask)
#define sched_setscheduler(pid, how, param) script_policy(pid, how, param)
#define setpriority(what, pid, nice)        note("nice %d %d;", (int)(pid), nice)
#define file_write(dir, name, text)         script_write(dir, name, text)
#define sleep_ns(ns)                        note("sleep;")
#define cpu_cgroup_find(g)                  (strcpy((g)->root, the.grouped ? "root" : ""))
#define opendir(path)                       (strcmp(path, "/proc/50/task") == 0 ? (DIR *)&the : NULL)
#define readdir(d)                          script_thread()
#define closedir(d)                         note("end of threads;")
#define idle_group_remove(g, tries)         note("remove %d;", tries)
#define spin_main(s, keeper)                note_end("spin %d", keeper)
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
#define _exit(status) note_end("exit %d", status)
#include "lib/load/keeper.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static void close_files(void *s)
{
	keeper_close_files((const int[]){the.is_old ? 5 : -1, 6}, ((struct soaker *)s)->lock);
}

static void lower(void *s)
{
	((struct soaker *)s)->autogroup_errno = autogroup_lower();
}

static void main_of(void *s)
{
	keeper_main(s, (const int[]){5, 6});
}

static struct soaker *two_soakers(struct machine machine)
{
	struct soaker *s = two_empty_soakers();

	the = machine;
	s->lock = 7;
	s->cpu[1].tid = 52;
	s->group_errno = EPERM;
	return s;
}

#define BEGIN                                                                                      \
	"block 111;name zc-keeper;session;/dev/null;close 6;5 to 0;9 to 1;9 to 2;7 to 3;close 4;"  \
	"catch children;policy 0 0;/proc/self/autogroup 19;"

#define KILLED                                                                                     \
	"policy 50 0;nice 50 0;policy 52 0;nice 52 0;"                                             \
	"policy 50 0;nice 50 0;policy 53 0;nice 53 0;end of threads;kill 50 9;"                    \
	"wait 50 0;remove 5;exit 0"

/* The first signal comes for each of these changes of the soakers; then the program ends, unless they have ended. */
static void test_ends(void)
{
	static const struct {
		const char *title;
		struct machine machine;
		int stops;
		const char *calls;
	} rows[] = {
		{"the program ends", {.child = 50}, 0, KILLED},
		{"soakers that are stopped, and go on",
		 {.child = 50, .status = {0x137f, 0xffff}},
		 2,
		 KILLED},
		{"soakers that go on, whose stop was not seen",
		 {.child = 50, .status = {0xffff}},
		 2,
		 KILLED},
		{"soakers that stay stopped", {.child = 50, .status = {0x137f, 0x137f}}, 1, KILLED},
		{"soakers that are killed", {.child = 50, .status = {9}}, 0, "remove 5;exit 137"},
		{"soakers that end", {.child = 50, .status = {0x300}}, 0, "remove 5;exit 1"},
		{"no process for soakers", {.child = -1}, 0, "remove 5;exit 1"},
		{"the soakers", {.child = 0}, 0, "spin 77"},
	};
	struct soaker *s;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = two_soakers(rows[i].machine);
		calls_of(main_of, s);
		is(text_of("%s, %d stops", script.calls, (int)s->stops),
		   text_of("%s%s, %d stops", BEGIN, rows[i].calls, rows[i].stops), "keeper: %s",
		   rows[i].title);
	}
	s = two_soakers((struct machine){.child = 50, .grouped = true});
	s->group_errno = 0;
	has(calls_of(main_of, s), "root/cgroup.procs 50;policy 50 0",
	    "soakers leave their group first");
}

static void test_files(void)
{
	struct soaker *s = two_soakers((struct machine){.is_old = true});

	s->lock = -1;
	has(calls_of(close_files, s), "9 to 3;close 4;",
	    "without a lock the null device has its place");
	ok(occurrences(script.calls, "close ") == 1 + 1020,
	   "without close_range(2) all files are closed, one by one");
	the.is_old = false;
	is(calls_of(close_files, s), "/dev/null;close 6;-1 to 0;exit 1",
	   "a keeper that cannot see the end of its program ends");
}

/* How often a write is denied, and why; the result, and how often it is tried. */
static void test_autogroup(void)
{
	static const int rows[][4] = {{0, 0, 0, 1},
				      {39, EAGAIN, 0, 40},
				      {99, EAGAIN, EAGAIN, 40},
				      {1, ENOENT, 0, 1},
				      {1, EACCES, EACCES, 1}};
	struct soaker *s;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = two_soakers((struct machine){.denied = rows[i][0], .error = rows[i][1]});
		calls_of(lower, s);
		ok(s->autogroup_errno == rows[i][2] &&
			   occurrences(script.calls, "/proc/self/autogroup 19;") == rows[i][3] &&
			   occurrences(script.calls, "sleep;") == rows[i][3] - 1,
		   "the weight of the session is lowered in 40 tries, or not: case %d", (int)i);
	}
}

TESTS(test_ends, test_files, test_autogroup)
