#include "lib/load/shared.h"

#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define REMOVE_TRIES 5 /* the soakers have ended; those of another program may be in the group */

/*
 * Sessions share a CPU by the nice value of their autogroup, whatever runs inside (sched(7)).  The
 * kernel lets an ordinary user change one only every 100 ms, machine-wide.  Returns an errno value.
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

/*
 * Closes what the keeper has inherited, except the lock, and makes the pipe its standard input:
 * the keeper must hold neither a port nor a terminal.  The pipe's write end is closed even where
 * there is no /proc.
 */
static void keeper_close_files(const struct soaker *s, const int ends[2])
{
	int null = open_retry("/dev/null", O_RDWR), fd;
	struct dirent *e;
	DIR *d;

	close(ends[1]);
	if (TEMP_FAILURE_RETRY(dup2(ends[0], STDIN_FILENO)) < 0)
		_exit(EXIT_FAILURE);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	d = opendir("/proc/self/fd");
	while (d != NULL && (e = readdir(d)) != NULL) {
		fd = (int)strtol(e->d_name, NULL, 10);
		if (fd > STDERR_FILENO && fd != s->lock && fd != dirfd(d))
			close(fd);
	}
	if (d != NULL)
		closedir(d);
}

void keeper_count_stop(struct soak_events *e, _Atomic bool *stopped, int status)
{
	if (WIFSTOPPED(status) || !atomic_load(stopped))
		atomic_fetch_add(&e->stops, 1);
	atomic_store(stopped, WIFSTOPPED(status));
}

static void interrupt_poll(int sig)
{
	(void)sig;
}

/*
 * Ends the soakers.  Beside programs that have the CPUs whole they would have to wait for seconds, each
 * thread of them, until they get the CPU to end on: so they leave the idle group and the lowest priority
 * before, where that is permitted.
 */
static void end_soakers(const struct soaker *s, pid_t pid)
{
	const struct sched_param none = {0};
	char number[16];
	int i, tid;

	snprintf(number, sizeof(number), "%d", (int)pid);
	if (atomic_load(&s->group_errno) == 0)
		file_write(s->group.root, "cgroup.procs", number);
	for (i = -1; i < s->n; i++) {
		tid = i < 0 ? pid : atomic_load(&s->cpu[i].tid);
		if (tid > 0 && sched_setscheduler(tid, SCHED_OTHER, &none) == 0)
			setpriority(PRIO_PROCESS, (id_t)tid, 0);
	}
	kill(pid, SIGKILL);
	TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
}

/*
 * Runs the soakers, in the idle group, until they end or the program closes its end of the pipe, as its
 * death also does.  A signal could not replace the pipe: the program may have become another user.
 * Returns the keeper's exit status.
 */
static int keeper_run(struct soaker *s, const sigset_t *waiting)
{
	struct pollfd program = {.fd = STDIN_FILENO};
	pid_t keeper = getpid(), pid = fork();
	int status = 0;

	if (pid < 0)
		return EXIT_FAILURE;
	if (pid == 0) {
		atomic_store(&s->group_errno,
			     s->group.root[0] != '\0' ? idle_group_enter(&s->group) : ENOENT);
		spin_main(s, keeper);
	}
	while (ppoll(&program, 1, NULL, waiting) <= 0)
		while (TEMP_FAILURE_RETRY(
			       waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED)) == pid) {
			if (WIFSIGNALED(status) || WIFEXITED(status))
				return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : EXIT_FAILURE;
			keeper_count_stop(s->events, &s->events->soakers_stopped, status);
		}
	end_soakers(s, pid);
	return EXIT_SUCCESS;
}

/*
 * The keeper stands between the program and the soakers.  When the program is killed, the keeper
 * lives on until it has ended the soakers and removed their group, in which it is not itself: there it
 * could take minutes.
 */
_Noreturn void keeper_main(struct soaker *s, const int ends[2])
{
	const struct sigaction chld = {.sa_handler = interrupt_poll};
	const struct sched_param none = {0};
	sigset_t waiting;
	int status;

	sigfillset(&waiting);
	sigprocmask(SIG_BLOCK, &waiting, NULL); /* nothing but SIGKILL ends the keeper */
	sigdelset(&waiting, SIGCHLD);
	sigaction(SIGCHLD, &chld, NULL);
	prctl(PR_SET_NAME, "zc-keeper");
	setsid();
	keeper_close_files(s, ends);
	/* A group without a real-time budget takes no process of such a policy, as run_rr's is. */
	sched_setscheduler(0, SCHED_OTHER, &none);
	atomic_store(&s->autogroup_errno, autogroup_lower());
	if (!cpu_cgroup_find(&s->group))
		s->group.root[0] = '\0';
	status = keeper_run(s, &waiting);
	idle_group_remove(&s->group, REMOVE_TRIES);
	_exit(status);
}
