/*
 * awake: keeps the CPUs from sleeping while a command runs, and does nothing else: a thread for
 * each, bound to it, that spins with the weight of cyclesoak's soakers.  It is what a measurement
 * under cyclesoak is compared with.
 *
 *	awake command [arg...]
 */
#include "common.h"
#include "lib/load/cpus.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct cpus cpus;
static _Atomic int *spinning; /* how many threads, shared with the spinning process */

static void *spin(void *arg)
{
	volatile uint64_t x = 1;

	(void)arg;
	atomic_fetch_add(spinning, 1);
	for (;;)
		x = x * 3 + 1;
	return NULL;
}

/* The lowest weight against other sessions and within this one: sched(7). */
static void lower(void)
{
	const struct sched_param none = {0};
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "19", 2) != 2)
		warn("/proc/self/autogroup");
	if (fd >= 0)
		close(fd);
	setpriority(PRIO_PROCESS, 0, 19);
	if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
		err(EXIT_FAILURE, "SCHED_IDLE");
}

/* The threads inherit the CPU that this one is bound to. */
static _Noreturn void spinner(pid_t parent)
{
	pthread_t id;
	int i, e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	setsid();
	lower();
	for (i = 0; i < cpus.n; i++) {
		cpu_bind_or_die(&cpus, i);
		if ((e = pthread_create(&id, NULL, spin, NULL)) != 0)
			errx(EXIT_FAILURE, "threads: %s", strerror(e));
	}
	for (;;)
		pause();
}

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(EXIT_FAILURE, "fork");
	return pid;
}

/* Waits for the end of a child; returns its wait status. */
static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	pid_t me = getpid(), spin_pid, pid;
	int status;

	if (argc < 2)
		usage_error("usage: awake command [arg...]");
	cpus_online(&cpus);
	spinning = mmap(NULL, sizeof(*spinning), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (spinning == MAP_FAILED)
		err(EXIT_FAILURE, "shared memory");
	spin_pid = fork_or_die();
	if (spin_pid == 0)
		spinner(me);
	while (atomic_load(spinning) < cpus.n) {
		nanosleep(&pause, NULL);
		if (waitpid(spin_pid, NULL, WNOHANG) == spin_pid)
			errx(EXIT_FAILURE, "the spinning process ended");
	}
	pid = fork_or_die();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != me)
			_exit(EXIT_FAILURE);
		command_exec(argv + 1);
		command_die(argv[1], errno);
	}
	status = wait_for(pid);
	kill(spin_pid, SIGKILL);
	wait_for(spin_pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
