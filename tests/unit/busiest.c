#include "lib/load/busiest.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/unit/unit.h"

#define NAME "a) R (b\n\033[1m" /* what a program may be called */

/* Starts a child that uses all of its CPU. */
static pid_t burn(const char *name)
{
	const pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	setpriority(PRIO_PROCESS, 0, -20); /* only root's is: others have their share */
	for (;;)
		;
}

/* Looks until a busy machine has let the burner run, for seconds at most. */
static bool find(pid_t keeper, char text[BUSIEST_STRLEN])
{
	int tries;

	for (tries = 0; tries < 50; tries++)
		if (busiest_find(0, keeper, text))
			return true;
	return false;
}

/* Runs as the first process of a PID namespace, whose /proc has no other programs. */
static void test_alone(void)
{
	char text[BUSIEST_STRLEN], want[64];
	unsigned percent = 0;
	const int before = open_files();
	pid_t pid;
	int end = 0;

	ok(!busiest_find(0, 0, text), "none of idle programs is the busiest");
	pid = burn(NAME);
	ok(find(0, text), "a program that uses a CPU is found");
	snprintf(want, sizeof(want), "a) R (b??[1m (pid %d), %%u%%%% of a CPU%%n", pid);
	ok(sscanf(text, want, &percent, &end) == 1 && text[end] == '\0' && percent >= 10 &&
		   percent < 150,
	   "its name is printed without control characters, and its share: %s", text);
	ok(!busiest_find(0, getpid(), text), "a child of the keeper is omitted");
	ok(open_files() == before, "the search for the busiest leaves no descriptor open");
	kill(pid, SIGKILL);
}

int main(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
		skip("the busiest of all programs", "no privilege for namespaces");
		return done();
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount("proc", "/proc", "proc", 0, NULL) != 0)
			skip("the busiest of all programs", "no mount of /proc");
		else
			test_alone();
		exit(done());
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
								    : EXIT_FAILURE;
}
