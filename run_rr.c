/*
 * run_rr: runs a command with the real-time policy SCHED_RR, which its children inherit.
 */
#include <getopt.h>
#include <pwd.h>
#include <sched.h>

#include "common.h"

#define LETTERS "+:p:hV"

static const struct option longopts[] = {
	{"priority", required_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"Usage: run_rr [-p priority] [command [arg...]]\n"
	"Runs a command, or a shell, with the scheduling policy SCHED_RR.  Children inherit it.\n"
	"\n"
	"  -p, --priority n       real-time priority, 1 to 99 (default 1)\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"A real-time program that does not end can lock up the system.  The manual is run_rr(1).\n";

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

static void set_rr_or_die(int priority)
{
	const struct sched_param p = {.sched_priority = priority};

	if (sched_setscheduler(0, SCHED_RR, &p) == 0)
		return;
	if (errno != EPERM)
		die_errno("cannot set SCHED_RR");
	if (geteuid() == 0)
		die("cannot set SCHED_RR: it takes CAP_SYS_NICE, and a control group with "
		    "real-time time (cpu.rt_runtime_us)");
	die("cannot set SCHED_RR: it takes root, CAP_SYS_NICE, or an RLIMIT_RTPRIO of at least %d "
	    "(ulimit -r)",
	    priority);
}

int main(int argc, char **argv)
{
	char *no_command[] = {NULL, NULL};
	int priority = 1, c;

	command_expect(argc, argv, LETTERS, longopts);
	init_program();
	while ((c = option_next(argc, argv, LETTERS, longopts, NULL)) != -1) {
		switch (c) {
		case 'p': priority = (int)arg_int("-p, --priority", optarg, 1, 99); break;
		case 'h': report("%s", help); return EXIT_SUCCESS;
		case 'V': report("run_rr %s\n", VERSION); return EXIT_SUCCESS;
		}
	}
	argv += optind;
	if (*argv == NULL) {
		no_command[0] = shell();
		argv = no_command;
	}
	set_rr_or_die(priority);
	command_exec(argv);
	command_die(argv[0], errno);
}
