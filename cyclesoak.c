/*
 * cyclesoak: says how busy the CPUs are, by how much idle work they can still do.
 */
#include "common.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	double period; /* seconds */
	const char *file;
	int n_cpus; /* 0: all */
	int debug;
	bool calibrate, per_cpu, once;
} opt = {
	.period = 1,
	.file = CALIBRATION_FILE,
};

/* The counts of one moment. */
struct counts {
	uint64_t ns;
	uint64_t *loops;
};

struct monitor {
	struct soaker *soak;
	struct calibration cal;
	struct counts from, to;
};

/* The share of CPU i that something else took between the two readings. */
static double cpu_load(const struct monitor *m, int i)
{
	double seconds = (double)(m->to.ns - m->from.ns) / 1e9;
	double loops = (double)(m->to.loops[i] - m->from.loops[i]);

	return 1 - loops / (m->cal.rate[i] * seconds);
}

static double system_load(const struct monitor *m)
{
	double sum = 0;
	int i;

	for (i = 0; i < m->cal.cpus.n; i++)
		sum += cpu_load(m, i);
	return sum / m->cal.cpus.n;
}

static void monitor_start(struct monitor *m)
{
	size_t n;

	calibration_load_or_die(&m->cal, opt.file, opt.n_cpus);
	n = (size_t)m->cal.cpus.n;
	m->from.loops = calloc(n, sizeof(uint64_t));
	m->to.loops = calloc(n, sizeof(uint64_t));
	if (m->from.loops == NULL || m->to.loops == NULL)
		err(EXIT_FAILURE, "counters");
	m->soak = soaker_start_or_die(&m->cal.cpus);
	soaker_counts(m->soak, &m->from.ns, m->from.loops);
}

/* Ends the period; the next begins where this one ended. */
static void monitor_read(struct monitor *m)
{
	soaker_counts(m->soak, &m->to.ns, m->to.loops);
}

static void monitor_next(struct monitor *m)
{
	struct counts swap = m->from;

	m->from = m->to;
	m->to = swap;
}

static void report_per_cpu(const struct monitor *m)
{
	int i;

	for (i = 0; i < m->cal.cpus.n; i++)
		report(" cpu%d %.1f%%", m->cal.cpus.id[i], percent(cpu_load(m, i)));
}

static void report_load(const struct monitor *m)
{
	report("System load: %.1f%%", percent(system_load(m)));
	if (opt.per_cpu)
		report_per_cpu(m);
	if (opt.debug > 0)
		report(" (%.0f loops/sec calibrated, %.3f s)", m->cal.total,
		       (double)(m->to.ns - m->from.ns) / 1e9);
	report("\n");
}

/* The signals that end it, and a child's end: blocked, and taken where the program waits. */
static void block_signals(sigset_t *set, sigset_t *old)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
	struct sigaction sa;
	size_t i;

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(set);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &sa) == 0 && sa.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
	sigprocmask(SIG_BLOCK, set, old);
}

/* Waits for a signal until `end`; returns it, or 0 when the time is up. */
static int wait_signal(const sigset_t *set, uint64_t end)
{
	uint64_t now = now_ns(), left = end > now ? end - now : 0;
	const struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
	int sig = sigtimedwait(set, NULL, &t);

	return sig > 0 ? sig : 0;
}

/* A line each period until interrupted.  SIGCHLD is the soaker's end, which its reading reports. */
static void monitor_periods(struct monitor *m, const sigset_t *set)
{
	uint64_t period = (uint64_t)(opt.period * 1e9), end = m->from.ns;
	int sig;

	do {
		end += period;
		while ((sig = wait_signal(set, end)) == 0 && now_ns() < end) /* EINTR: stopped, continued */
			;
		monitor_read(m);
		if (sig != 0)
			return;
		if (opt.once)
			report("%.1f\n", percent(system_load(m)));
		else
			report_load(m);
		monitor_next(m);
	} while (!opt.once);
}

static pid_t spawn_or_die(char **argv, const sigset_t *mask)
{
	pid_t pid = fork();

	if (pid < 0)
		err(EXIT_FAILURE, "fork");
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		exec_or_die(argv);
	}
	return pid;
}

/*
 * Waits for the command.  A signal meant for cyclesoak goes to it; the terminal's (SI_KERNEL) has
 * reached it already.  Returns the wait status.
 */
static int wait_command(const struct monitor *m, const sigset_t *set, pid_t pid)
{
	uint64_t ignored;
	siginfo_t info;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		soaker_counts(m->soak, &ignored, m->to.loops); /* dies if the soaker has */
		if (sigwaitinfo(set, &info) > 0 && info.si_signo != SIGCHLD && info.si_code != SI_KERNEL)
			kill(pid, info.si_signo);
	}
	return status;
}

static int monitor_command(struct monitor *m, char **argv, const sigset_t *set, const sigset_t *old)
{
	int status = wait_command(m, set, spawn_or_die(argv, old));

	monitor_read(m);
	if (opt.once)
		report("%.1f\n", percent(system_load(m)));
	else
		report_load(m);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(char **argv)
{
	struct monitor m;
	sigset_t set, old;
	int status = EXIT_SUCCESS;

	block_signals(&set, &old);
	monitor_start(&m);
	if (*argv != NULL)
		status = monitor_command(&m, argv, &set, &old);
	else
		monitor_periods(&m, &set);
	soaker_stop(m.soak);
	return status;
}

/*
 * Options.
 */

static const struct option longopts[] = {
	{"calibrate", no_argument, NULL, 'C'},
	{"cpus", required_argument, NULL, 'N'},
	{"period", required_argument, NULL, 'p'},
	{"per-cpu", no_argument, NULL, 'B'},
	{"once", no_argument, NULL, '1'},
	{"file", required_argument, NULL, 'f'},
	{"debug", no_argument, NULL, 'd'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"Usage: cyclesoak -C [-N nr_cpus] [-f file]\n"
	"       cyclesoak [-B1d] [-N nr_cpus] [-p period] [-f file] [command [arg...]]\n"
	"Says how busy the CPUs are, interrupts included, by how much idle work they can still do:\n"
	"every period, or with a command over the time that it takes.\n"
	"\n"
	"  -C, --calibrate        measure the idle system and write the file; do this first\n"
	"  -N, --cpus n           how many CPUs (default: all that are online)\n"
	"  -p, --period secs      length of a period (default 1)\n"
	"  -B, --per-cpu          a figure for each CPU too\n"
	"  -1, --once             one bare figure, then exit\n"
	"  -f, --file file        the calibration (default ./counts_per_sec)\n"
	"  -d, --debug            say more\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"The manual is cyclesoak(1), the method zc(7).\n";

static void parse_option(int c)
{
	switch (c) {
	case 'C':
		opt.calibrate = true;
		break;
	case 'N':
		opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX);
		break;
	case 'p':
		opt.period = arg_seconds("-p, --period", optarg, 0.01, 1e6);
		break;
	case 'B':
		opt.per_cpu = true;
		break;
	case '1':
		opt.once = true;
		break;
	case 'f':
		opt.file = optarg;
		break;
	case 'd':
		opt.debug++;
		break;
	case 'h':
		report("%s", help);
		exit(EXIT_SUCCESS);
	case 'V':
		report("cyclesoak %s\n", VERSION);
		exit(EXIT_SUCCESS);
	default: /* getopt has named it */
		exit(EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	struct cpus online;
	int c;

	init_output();
	while ((c = getopt_long(argc, argv, "+CN:p:B1f:dhV", longopts, NULL)) != -1)
		parse_option(c);
	cpus_to_soak(opt.n_cpus, &online); /* refuses an -N that cannot be */
	if (!opt.calibrate)
		return run(argv + optind);
	if (optind < argc)
		usage_error("-C, --calibrate takes no command: '%s'", argv[optind]);
	calibrate_or_die(opt.n_cpus, opt.file);
	return EXIT_SUCCESS;
}
