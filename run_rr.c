/*
 * run_rr: runs a command with the real-time policy SCHED_RR, which its children inherit.
 */
#include <pwd.h>
#include <sched.h>

#include "lib/base/program.h"
#include "lib/report/usage.h"

static struct rr_options {
	int priority;
} opt = {.priority = 1};

static const struct option_row rows[] = {
	{.help = "Usage: run_rr [OPTION...] [COMMAND [ARG...]]\n"
		 "Run COMMAND, or a shell, with the real-time scheduling policy SCHED_RR, which\n"
		 "its children inherit.\n"
		 "\n"},
	{"p", "priority", "N", "set the real-time priority, 1 to 99 (default 1)",
	 OPTION_AT(struct rr_options, INT, priority), .min = 1, .max = 99},
	HELP_OPTIONS,
	{.help = "\n"
		 "A real-time program that neither ends nor sleeps can lock up the machine.\n"
		 "\n"
		 "Exit status: that of COMMAND or of the shell.  If the policy cannot be set or\n"
		 "the command line is wrong, it is 125 with COMMAND, and 1 or 2 without.  It is\n"
		 "126 if the program cannot be run, and 127 if it was not found.\n"
		 "\n"
		 "Examples:\n"
		 "  run_rr zcc -c -s receiver -t 10    send with priority over all soakers\n"
		 "  run_rr -p 50 chrt -p 0             show the policy that a command gets\n"},
};

/* The user's shell: $SHELL, else that of the password file, else /bin/sh. */
static char *shell(void)
{
	static char fallback[] = "/bin/sh";
	char *s = secure_getenv("SHELL");
	struct passwd *pw;

	if (s == NULL || *s == '\0') {
		pw = getpwuid(getuid());
		s = pw != NULL ? pw->pw_shell : NULL;
	}
	return s != NULL && *s != '\0' ? s : fallback;
}

int main(int argc, char **argv)
{
	char *no_command[] = {NULL, NULL};
	struct sched_param p;

	init_program();
	argv += options_read(&USAGE("run_rr", rows, true), argc, argv, &opt, NULL);
	if (*argv == NULL) {
		no_command[0] = shell();
		argv = no_command;
	}
	p.sched_priority = opt.priority;
	if (sched_setscheduler(0, SCHED_RR, &p) != 0) {
		if (geteuid() == 0)
			die_errno("cannot set SCHED_RR: the control group has no real-time budget "
				  "(cpu.rt_runtime_us), or CAP_SYS_NICE is missing");
		die_errno("cannot set SCHED_RR: it takes root, CAP_SYS_NICE, or an RLIMIT_RTPRIO "
			  "of at least %d (ulimit -r)",
			  opt.priority);
	}
	become_as_started();
	execvp(argv[0], argv);
	command_die(argv[0], errno);
}
