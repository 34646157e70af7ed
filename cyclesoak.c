/*
 * cyclesoak: measures how busy the CPUs are, by soaking or by their idle time.
 */
#include <sys/wait.h>

#include "lib/base/files.h"
#include "lib/base/program.h"
#include "lib/command/commands.h"
#include "lib/load/gauge.h"
#include "lib/load/verify.h"
#include "lib/report/json.h"
#include "lib/report/periods.h"
#include "lib/report/units.h"
#include "lib/report/usage.h"
#include "lib/report/verification.h"
#include "lib/report/words.h"

static struct soak_options {
	double period; /* seconds */
	struct gauge_setup gauge;
	int count; /* periods; 0: until interrupted */
	bool calibrate, force, per_cpu, once, json, debug;
	struct command_options commands; /* of a comparison */
	int verify;                      /* 2: quick; 0: without that option */
	const char *output;              /* where the report goes; NULL: to stdout */
} opt = {.period = 1, .gauge = {.wait = SOAK_WAIT, .what = "command"}};

static _Atomic int stop; /* the signal that ends periods, or the baseline after a command */

/* The second signal ends the program at once: it may be waiting for who reads its report. */
static void on_signal(int sig)
{
	if (stop > 0)
		settings_die_of(sig);
	stop = sig;
}

/* A measurement in progress. */
struct monitor {
	struct gauge gauge;
	bool command;        /* a command is measured, not periods */
	struct rusage usage; /* of the command */
	struct history history;
	struct environment environment; /* with --json */
	int command_stdout;             /* with --output: what the command has as its stdout */
};

/* Reports the load of a period that is over; the next one begins where it ended. */
static void report_load(struct monitor *m)
{
	const struct gauge_mark from = m->gauge.from;
	struct period p = {.cpus = &m->gauge.calibration.cpus, .is_command = m->command};
	struct load *l = &p.figures.host;

	figures_init(&p.figures);
	gauge_load(&m->gauge, l);
	p.figures.seconds = l->seconds;
	p.figures.command = command_figures_of(&m->usage);
	gauge_say(&m->gauge, l, false);
	history_add(&m->history, l->load, l->uncertainty, l->unsafe);
	if (opt.per_cpu || opt.json)
		p.each = gauge_load_each(&m->gauge, l->unsafe);
	if (opt.json)
		period_json(&p, m->history.periods == 1 ? &m->environment : NULL);
	else if (opt.once && isnan(l->load))
		die("-1, --once: there is no figure to print");
	else if (opt.once)
		report("%.1f\n", percent(l->load));
	else
		period_print(&p, opt.debug);
	m->gauge.from = m->gauge.to;
	m->gauge.to = from;
}

/*
 * Periods.
 */

/*
 * Waits until `end`, or for a signal that ends the program.  SIGCHLD may come from the keeper: gauge_end() dies if
 * the soakers have ended.  It may also come from a child that this program inherited by exec.  If the program was
 * stopped and continued wait_signal() returns early, and is called again.
 */
static void wait_period(struct monitor *m, const sigset_t *set, uint64_t end)
{
	int sig;

	do {
		sig = wait_signal(set, NULL, end);
		if (sig == SIGCHLD)
			gauge_end(&m->gauge);
	} while (sig == SIGCHLD || (sig < 0 && now_ns() < end));
	if (sig > 0)
		stop = sig;
}

/* Reports a line each period. */
static void monitor_periods(struct monitor *m, const sigset_t *set)
{
	uint64_t period = (uint64_t)(opt.period * 1e9), end = now_ns();

	while (stop == 0 && (opt.count == 0 || m->history.periods < opt.count)) {
		end += period;
		wait_period(m, set, end);
		if (stop != 0)
			break;
		gauge_end(&m->gauge);
		report_load(m);
		/* Periods that passed while the program was stopped are omitted. */
		if (now_ns() > end + period)
			end = now_ns();
	}
	if (opt.json && !opt.once)
		periods_json(&m->history);
	else if (!opt.once)
		periods_print(&m->history);
}

/*
 * A command.
 */

/* Whether the terminal sent a signal, which it sends to all processes in the foreground. */
static bool is_of_terminal(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL &&
	       (info->si_signo == SIGINT || info->si_signo == SIGQUIT || info->si_signo == SIGHUP);
}

/*
 * Measures the command, and returns its exit status.  A signal that was sent to cyclesoak is sent on to the
 * command; one of the terminal has reached the command already.
 */
static int monitor_command(struct monitor *m, char **argv, const sigset_t *set, const sigset_t *old)
{
	const struct command_start start = {
		argv[0], argv, {STDIN_FILENO, m->command_stdout, STDERR_FILENO}, false, NULL};
	const pid_t pid = command_start(&start);
	pid_t ended;
	siginfo_t info;
	int status = 0;

	if (pid < 0) {
		status = errno;
		gauge_stop(&m->gauge);
		command_die(argv[0], status);
	}
	while ((ended = TEMP_FAILURE_RETRY(wait4(pid, &status, WNOHANG, &m->usage))) == 0) {
		gauge_end(&m->gauge); /* dies if the soakers have ended */
		if (wait_signal(set, &info, UINT64_MAX) > 0 && info.si_signo != SIGCHLD &&
		    !is_of_terminal(&info) && !stop_is_repeated(info.si_signo))
			kill(pid, info.si_signo);
	}
	if (ended < 0)
		die_errno("%s", argv[0]);
	gauge_end(&m->gauge);
	/* A signal from here on ends the baseline after the command. */
	sigprocmask(SIG_SETMASK, old, NULL);
	gauge_after(&m->gauge, &stop);
	sigprocmask(SIG_BLOCK, set, NULL);
	report_load(m);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Measures periods, or the command at argv.  Without a calibration a command's load is measured against the
 * idle machine before and after.
 */
static int measure(char **argv, int command_stdout)
{
	static struct monitor m;
	sigset_t set, old;
	int status = EXIT_SUCCESS;
	const char *why;

	if (opt.json)
		environment_read(&m.environment);
	m.command = *argv != NULL;
	m.command_stdout = command_stdout;
	opt.gauge.never_idle = !m.command;
	gauge_prepare_or_die(&m.gauge, &opt.gauge);
	why = gauge_wait_idle(&m.gauge, &opt.gauge, NULL);
	if (why != NULL)
		warnx("%s", why);
	gauge_start(&m.gauge, 0);
	gauge_begin(&m.gauge, NULL);
	/*
	 * The signals that end the program, and SIGCHLD, are from now on blocked except where it waits.  Before, they
	 * end it: a command that has not started does not get a signal of the terminal.
	 */
	if (m.command)
		deadly_signals(&set);
	else
		stop_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	catch_stop_signals_waiting(on_signal, NULL);
	if (m.command)
		status = monitor_command(&m, argv, &set, &old);
	else
		monitor_periods(&m, &set);
	gauge_close(&m.gauge);
	if (m.history.periods == 0 && opt.once)
		die("interrupted before the period ended: nothing was measured");
	return status;
}

/*
 * A comparison of commands.
 */

static int compare(struct commands *c)
{
	sigset_t unblocked;
	char why[DIE_MAX];
	const char *error;

	opt.gauge.own = opt.commands.compare.settings.n > 0; /* a baseline is one of a setting */
	environment_read(&c->environment);
	catch_stop_signals_waiting(on_signal, &unblocked);
	sigprocmask(SIG_SETMASK, &unblocked, NULL);
	error = commands_run(c, why);
	if (stop > 0)
		settings_finish(stop);
	if (error != NULL)
		warnx("%s", printable(error));
	return error == NULL ? c->comparison.status : EXIT_COMMAND;
}

/*
 * Verification.
 */

/* Measures loads of known size; returns the status to exit with. */
static int verify(void)
{
	struct environment environment;
	struct verdicts verdicts;
	struct evidence evidence;

	environment_read(&environment);
	if (!opt.json)
		environment_print(&environment, NULL, stdout, "");
	report_flush(); /* the loads take minutes */
	verify_measure_or_die(&opt.gauge, opt.verify == 1 ? 5 : 1, &evidence);
	verdicts_of(&evidence, &verdicts);
	if (opt.json)
		verification_json(&environment, &evidence, &verdicts);
	else
		verification_report(&evidence, &verdicts);
	return verdicts_status(&verdicts);
}

/*
 * Options.
 */

#define AT(kind, member)             OPTION_AT(struct soak_options, kind, member)
#define TAKE(kind, member, function) OPTION_TAKE(struct soak_options, kind, member, function)

/* Each of these makes a comparison. */
#define COMPARES     "-r or --vs or --setting or --save or --against or --precision or --dry-run"
#define NOT_COMPARED "--runs --vs --setting --save --against --precision --fail-above --dry-run"

static const struct option_row rows[] = {
	{.help = "Usage: cyclesoak -C [OPTION...]\n"
		 "       cyclesoak --verify[=quick] [OPTION...]\n"
		 "       cyclesoak [OPTION...] [COMMAND [ARG...]]\n"
		 "       cyclesoak [-r N] [--vs COMMAND]... [OPTION...] COMMAND [ARG...]\n"
		 "Measure the CPU load of this host, interrupts included: once per period, or\n"
		 "while COMMAND runs.  To measure a command without a calibration, cyclesoak also\n"
		 "measures the idle host before and after it.  With --vs and the like it compares\n"
		 "what commands take.\n"
		 "\n"
		 "Calibration:\n"},
	{"C", "calibrate", NULL,
	 "calibrate on the idle host (5 seconds) and exit; periods need this or --idle",
	 AT(FLAG, calibrate), .alone = true,
	 .not_with = "--period --count --once --per-cpu --json " NOT_COMPARED},
	{"", "force", NULL, "with -C, calibrate even if the host is busy", AT(FLAG, force),
	 .only_with = "-C"},
	{"f", "calibration", "FILE",
	 "read the calibration from FILE, or with -C write it there (default ./counts_per_sec)",
	 AT(FILE, gauge.file)},
	{"", "file", "FILE", NULL, AT(FILE, gauge.file)}, /* as it was called in 0.1 */
	{.help = "\nMeasurement:\n"},
	{"", "idle", "clock",
	 "measure by the CPUs' idle time: nothing is soaked, and periods need no calibration; "
	 "--idle=clock: counted by BPF programs",
	 AT(WORD, gauge.idle), .optional = true, .not_with = "-C -f --file --wait"},
	{"", "profile", NULL,
	 "sample what the CPUs do, and print the load by parts: data copy, TCP/IP, memory, ...; "
	 "periods, too, are then relative to the idle host",
	 AT(FLAG, gauge.profile), .not_with = "--idle -C -f --file --verify --once"},
	GAUGE_CPUS(struct soak_options, NULL),
	GAUGE_WAITS(struct soak_options, NULL, NULL),
	{"p", "period", "SECS", "measure periods of SECS seconds (default 1)", AT(SECONDS, period),
	 .min = 0.01, .max = 1e6, .alone = true},
	{"n", "count", "N", "stop after N periods (default: when interrupted)", AT(INT, count),
	 .min = 1, .max = 1e9, .alone = true, .not_with = "--once"},
	{"1", "once", NULL, "print one figure, the load in percent, and exit", AT(FLAG, once),
	 .not_with = NOT_COMPARED},
	{.help = "\n"
		 "Comparison: sh runs COMMAND and the command of each --vs, with the output to\n"
		 "/dev/null; all of them in each setting are a round:\n"},
	{"", "vs", "COMMAND", "compare COMMAND with this one, a command line of sh",
	 TAKE(TEXT, commands, commands_take), .is_repeated = true},
	{"", "prepare", "COMMAND", "run this before each run, outside all measurement",
	 AT(TEXT, commands.prepare), .only_with = COMPARES},
	{"", "conclude", "COMMAND", "run this behind each run, outside all measurement",
	 AT(TEXT, commands.conclude), .only_with = COMPARES},
	{"", "no-shell", NULL, "run the commands without sh, as words that nothing expands",
	 AT(FLAG, commands.no_shell), .only_with = COMPARES},
	{"", "show-output", NULL, "print the output of the commands on standard error",
	 AT(FLAG, commands.show_output), .only_with = COMPARES},
	{"", "retry", "N",
	 "repeat a run up to N times if it fails or its load is unsafe (default 0)",
	 AT(INT, commands.compare.retries), .max = 1000, .only_with = COMPARES},
	{.help = "", .is_neutral = true},
	COMPARE_OPTIONS(struct soak_options, commands.compare),
	{.help = "\nVerification:\n"},
	{"", "verify", "quick",
	 "measure loads of known size with each instrument and print whether the figures are right: "
	 "four minutes on an idle host, or one with --verify=quick",
	 AT(WORD, verify), .optional = true, .alone = true,
	 .not_with = "-C --idle --once --count --period --per-cpu -f --file " NOT_COMPARED},
	{.help = "\nOutput:\n", .is_neutral = true},
	{"B", "per-cpu", NULL, "print the load of each CPU, too", AT(FLAG, per_cpu)},
	{"", "json", NULL, "print one JSON object per period or command", AT(FLAG, json)},
	{"", "output", "FILE", "write the report to FILE: COMMAND keeps standard output",
	 AT(FILE, output)},
	{"d", "debug", NULL, "print the kernel's own accounting of the same time, too",
	 AT(FLAG, debug)},
	HELP_OPTIONS,
	{.help = "\n"
		 "Exit status: 0 on success, 1 if cyclesoak failed, 2 if the command line is\n"
		 "wrong.  With --verify, 1 if a step fails, or else 2 if one could not be run.\n"
		 "With COMMAND, the status is that of COMMAND, or 125 if cyclesoak failed or the\n"
		 "command line is wrong, 126 if COMMAND cannot be run, 127 if it was not found.\n"
		 "A comparison has 0, or 125 if cyclesoak or a command failed; with --fail-above\n"
		 "also 3, or 1 if it could not be judged.\n"
		 "\n"
		 "Examples:\n"
		 "  cyclesoak --idle -B -n 10        print the load of each CPU for 10 seconds\n"
		 "  cyclesoak --idle -- rsync -a src dst    measure what this rsync takes\n"
		 "  cyclesoak --idle --vs 'cp -r src dst' -- rsync -a src dst    compare two\n"},
	{"", "profile-stacks",
	 .instead = "perf-record(1) has the stacks: see Why it costs more in zc-recipes(7)"},
};

int main(int argc, char **argv)
{
	static struct options_given given;
	static struct commands commands = {
		.opt = &opt.commands, .setup = &opt.gauge, .stop = &stop, .given = &given};
	int command_stdout = STDOUT_FILENO;
	bool compares;

	init_program();
	commands.line = words_join(argv);
	argv += options_read(&USAGE("cyclesoak", rows, true), argc, argv, &opt, &given);
	(void)gauge_cpus(&opt.gauge);
	compares = commands_settle(&opt.commands, argv);
	commands.json = opt.json;
	commands.debug = opt.debug;
	commands.per_cpu = opt.per_cpu;
	if (opt.output != NULL)
		command_stdout = report_to_or_die(file_open_or_die(opt.output), opt.output);
	die_init(commands_die, &commands); /* it prints to the report's file */
	if (opt.calibrate) {
		gauge_calibrate_or_die(&opt.gauge, opt.force);
		return EXIT_SUCCESS;
	}
	opt.gauge.soak = opt.gauge.idle == 0;
	opt.gauge.debug = opt.debug;
	gauge_warn(&opt.gauge);
	if (opt.verify > 0)
		return verify();
	if (compares)
		return compare(&commands);
	if (opt.once)
		opt.count = 1;
	return measure(argv, command_stdout);
}
