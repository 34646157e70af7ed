#include "lib/load/keeper.h"

#include "lib/base/proc.h"

#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9; headers may be older */
#endif

#define KEEPER_LOCK  3 /* the descriptor of the lock */
#define REMOVE_TRIES 5 /* of 10 ms: only soakers of another program may be in the group */

/*
 * Lowers the weight of the session: sessions share a CPU by the nice value of their autogroup, whatever runs inside
 * (sched(7)).  The kernel lets ordinary users set one only every 100 ms, machine-wide.  Returns an errno value.
 */
static int autogroup_lower(void)
{
	int tries = 40;

	while (file_write("/proc/self", "autogroup", "19") != 0) {
		if (errno != EAGAIN || --tries == 0)
			return errno == ENOENT ? 0
					       : errno; /* ENOENT: a kernel without autogroups */
		sleep_ns(50000000);
	}
	return 0;
}

#define FILES_MAX 1024 /* descriptors that programs have when they start soakers */

/* A keeper that held the write end would not see the program end. */
static void keeper_close_files(const int ends[2], int lock)
{
	const int null = open_retry("/dev/null", O_RDWR);
	int fd;

	close(ends[1]);
	if (TEMP_FAILURE_RETRY(dup2(ends[0], STDIN_FILENO)) < 0)
		_exit(EXIT_FAILURE);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(lock >= 0 ? lock : null, KEEPER_LOCK);
	/* Filters of system calls that are older than Linux 5.9 deny it (seccomp(2)). */
	if (syscall(SYS_close_range, KEEPER_LOCK + 1, ~0u, 0) != 0)
		for (fd = KEEPER_LOCK + 1; fd < FILES_MAX; fd++)
			close(fd);
}

void keeper_become(const char *name, const int ends[2], int lock)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, name);
	setsid();
	keeper_close_files(ends, lock);
}

static void interrupt_poll(int sig)
{
	(void)sig;
}

/* Lets a thread leave the lowest priority.  In the /proc of another PID namespace it may be another program's. */
static void raise_thread(pid_t soakers, int tid)
{
	const struct sched_param none = {0};

	if (syscall(SYS_tgkill, soakers, tid, 0) == 0 &&
	    sched_setscheduler(tid, SCHED_OTHER, &none) == 0)
		setpriority(PRIO_PROCESS, (id_t)tid, 0);
}

/*
 * Ends the soakers.  Each thread needs CPU time to end, for which it would wait for seconds if other programs occupy
 * the CPUs: the soakers first leave the idle group and the lowest priority, if that is permitted.  A thread that has
 * had no CPU time so far has not stored its id, and only /proc has it.
 */
static void end_soakers(const struct soaker *s, pid_t pid)
{
	DIR *threads = opendir(text_of("/proc/%d/task", (int)pid));
	struct dirent *e;
	int i;

	if (atomic_load(&s->group_errno) == 0)
		file_write(s->group.root, "cgroup.procs", text_of("%d", (int)pid));
	for (i = -1; i < s->n; i++)
		raise_thread(pid, i < 0 ? pid : atomic_load(&s->cpu[i].tid));
	while (threads != NULL && (e = readdir(threads)) != NULL)
		raise_thread(pid, (int)strtol(e->d_name, NULL, 10));
	if (threads != NULL)
		closedir(threads);
	kill(pid, SIGKILL);
	TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
}

/*
 * Runs the soakers, in the idle group, until they end, or until the program closes its end of the pipe or ends.  A
 * signal could not replace the pipe, as the program may have become another user.  Returns the keeper's exit status.
 */
static int keeper_run(struct soaker *s, const sigset_t *waiting)
{
	struct pollfd program = {.fd = STDIN_FILENO};
	pid_t keeper = getpid(), pid = fork();
	int status = 0;

	if (pid < 0)
		return EXIT_FAILURE;
	if (pid == 0)
		spin_main(s, keeper);
	while (ppoll(&program, 1, NULL, waiting) <= 0)
		while (waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == pid) {
			if (WIFSIGNALED(status) || WIFEXITED(status))
				return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : EXIT_FAILURE;
			/* Of a stop and a continuation perhaps only the last is seen. */
			atomic_store(&s->stops, (s->stops | 1) + (WIFCONTINUED(status) ? 1 : 0));
		}
	end_soakers(s, pid);
	return EXIT_SUCCESS;
}

/*
 * When the program is killed, the keeper ends the soakers and removes their group.  The keeper is not in that group
 * itself: it might get no CPU time there for minutes.
 */
_Noreturn void keeper_main(struct soaker *s, const int ends[2])
{
	const struct sched_param none = {0};
	sigset_t waiting;
	int status;

	keeper_become("zc-keeper", ends, s->lock);
	sigfillset(&waiting);
	sigdelset(&waiting, SIGCHLD);
	signal(SIGCHLD, interrupt_poll);
	/* A group without a real-time budget takes no process of such a policy, as run_rr's is. */
	sched_setscheduler(0, SCHED_OTHER, &none);
	atomic_store(&s->autogroup_errno, autogroup_lower());
	(void)cpu_cgroup_find(&s->group);
	status = keeper_run(s, &waiting);
	idle_group_remove(&s->group, REMOVE_TRIES);
	_exit(status);
}
