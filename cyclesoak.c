/*
 * cyclesoak: measures how busy the CPUs are, by soaking or by their idle time.
 */
#include <spawn.h>
#include <sys/wait.h>

#include "common.h"
#include "lib/load/gauge.h"
#include "lib/load/statistics.h"
#include "lib/load/verify.h"
#include "lib/report/environment.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"
#include "lib/report/units.h"
#include "lib/report/usage.h"
#include "lib/report/verification.h"

static struct soak_options {
	double period; /* seconds */
	struct gauge_setup gauge;
	int count; /* periods; 0: until interrupted */
	bool calibrate, force, per_cpu, once, json, debug;
	int verify; /* rounds of --verify; 0: without that option */
} opt = {.period = 1, .gauge = {.wait = SOAK_WAIT, .what = "command"}};

static _Atomic int stop; /* the signal that ends periods, or the baseline after a command */

static void on_signal(int sig)
{
	stop = sig;
}

/* A measurement in progress. */
struct monitor {
	struct gauge gauge;
	bool command;               /* a command is measured, not periods */
	struct gauge_mark from, to; /* the start and the end of the period, or of the command */
	struct history history;
	struct environment environment; /* with --json */
};

/*
 * Reports: a line per period and a closing one, as text or JSON.
 */

/* The line of a period, which continues on further lines if there are many CPUs. */
static void report_text(const struct monitor *m, const struct load *l)
{
	const struct cpus *cpus = &m->gauge.calibration.cpus;
	const double *accounting = l->rates.cpu;
	char text[BASELINES_STRLEN], load[FIGURE_STRLEN], reasons[UNSAFE_STRLEN];
	struct wrap line = {.width = WRAP_WIDTH, .indent = "  "};
	struct load one;
	int i;

	if (isnan(l->load)) {
		wrap_add(&line, "", "System load: -, unsafe: %s",
			 limits_format(l->unsafe, reasons));
	} else {
		wrap_add(&line, "", "System load: %s",
			 load_text(l->load, l->uncertainty, l->unsafe, load));
		if (!isnan(l->slowed))
			wrap_add(&line, ", ", "slowed %.1f%%", percent(l->slowed));
	}
	for (i = 0; i < cpus->n && opt.per_cpu && gauge_measures(&m->gauge); i++) {
		gauge_load_cpu(&m->gauge, &m->from, &m->to, i, l->unsafe,
			       &one); /* none where all have none */
		wrap_add(&line, ", ", "cpu%d %s", cpus->id[i],
			 load_text(one.load, NAN, one.unsafe, load));
	}
	if (m->command) {
		wrap_add(&line, "; ", "took %.3f s", l->seconds);
		if (!isnan(l->load))
			wrap_add(&line, ", ", "%.3f s of CPU time", l->load * l->cpus * l->seconds);
		if (!isnan(l->load) && !isnan(l->tasks))
			wrap_add(&line, ", ", "of it, tasks %.3f s",
				 l->tasks * l->cpus * l->seconds);
	}
	if (l->baseline == BASELINE_OWN)
		wrap_add(&line, "; ", "%s", baselines_format(l->drift, text));
	for (i = 0; i < CPU_COLUMNS && opt.debug && !isnan(accounting[i]); i++)
		wrap_add(&line, i > 0 ? ", " : "; ", "%s%s %.1f%%",
			 i > 0 ? "" : "kernel: ", cpu_column[i], percent(accounting[i]));
	report("\n");
}

static void report_json(struct monitor *m, const struct load *l)
{
	const struct cpus *cpus = &m->gauge.calibration.cpus;
	struct figures f, one;
	struct json j = {.stream = false};
	int i;

	figures_init(&f);
	figures_init(&one);
	f.host = *l;
	json_report_open(&j);
	if (m->history.periods == 1) {
		json_open(&j, "start", '{');
		environment_json_start(&j, &m->environment, NULL, clock_ns(CLOCK_REALTIME));
		json_close(&j, '}');
	}
	json_number(&j, "seconds", l->seconds);
	json_rows(&j, &f, IN_HOST);
	json_open(&j, "load_by_cpu", '[');
	for (i = 0; i < cpus->n && gauge_measures(&m->gauge); i++) {
		gauge_load_cpu(&m->gauge, &m->from, &m->to, i, l->unsafe, &one.host);
		json_open(&j, NULL, '{');
		json_count(&j, "cpu", (uint64_t)cpus->id[i]);
		json_rows(&j, &one, IN_CPU);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_accounting(&j, &f);
	json_report_close(&j, NULL);
}

/* Reports the load of a period that is over; the next one begins where it ended. */
static void report_load(struct monitor *m)
{
	const struct gauge_mark from = m->from;
	char reasons[UNSAFE_STRLEN];
	struct load l;

	gauge_load(&m->gauge, &m->from, &m->to, &l);
	gauge_say(&m->gauge, &l, false);
	history_add(&m->history, l.load, l.uncertainty, l.unsafe);
	if (opt.json)
		report_json(m, &l);
	else if (opt.once && isnan(l.load))
		die("there is no load: it is unsafe: %s: see UNSAFE LOADS in zc-method(7)",
		    limits_format(l.unsafe, reasons));
	else if (opt.once)
		report("%.1f\n", percent(l.load));
	else
		report_text(m, &l);
	m->from = m->to;
	m->to = from;
}

/* The closing line: the mean of the periods with its 95 % interval. */
static void report_closing(const struct history *h)
{
	char text[FIGURE_STRLEN];
	double mean, half;
	struct json j = {.stream = false};

	if (h->n == 0)
		return;
	mean = history_mean(h, &half);
	if (!opt.json) {
		report("mean of %ld: %s, minimum %.1f%%, maximum %.1f%%\n", h->n,
		       load_text(mean, half, h->unsafe, text), percent(h->min), percent(h->max));
		return;
	}
	json_report_open(&j);
	json_count(&j, "periods", (uint64_t)h->n);
	json_number(&j, "load_percent", 100 * mean);
	json_number(&j, "load_uncertainty_percent", 100 * half);
	json_unsafe(&j, h->unsafe);
	json_number(&j, "load_min_percent", 100 * h->min);
	json_number(&j, "load_max_percent", 100 * h->max);
	json_report_close(&j, NULL);
}

/*
 * Periods.
 */

/*
 * Waits until `end`, or for a signal that ends the program.  SIGCHLD may come from the keeper: gauge_end() dies if
 * the soakers have ended.  It may also come from a child that this program inherited by exec.  If the program was
 * stopped and continued sigtimedwait(2) returns early, and is called again.
 */
static void wait_period(struct monitor *m, const sigset_t *set, uint64_t end)
{
	struct timespec left;
	int sig;

	do {
		left = ns_to_timespec((uint64_t)(1e9 * seconds_between(now_ns(), end)));
		sig = sigtimedwait(set, NULL, &left);
		if (sig == SIGCHLD)
			gauge_end(&m->gauge, &m->to, NULL);
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
		gauge_end(&m->gauge, &m->to, NULL);
		report_load(m);
		/* Periods that passed while the program was stopped are omitted. */
		if (now_ns() > end + period)
			end = now_ns();
	}
	if (!opt.once)
		report_closing(&m->history);
}

/*
 * A command.
 */

/* Starts the command with the signal mask and the handlers that it would have without cyclesoak. */
static pid_t spawn_or_die(struct monitor *m, char **argv, const sigset_t *mask)
{
	posix_spawnattr_t attributes;
	sigset_t ignored;
	pid_t pid;
	int e;

	sigemptyset(&ignored);
	sigaddset(&ignored, SIGPIPE);
	sigaddset(&ignored, SIGXFSZ);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, mask);
	posix_spawnattr_setsigdefault(&attributes, &ignored);
	e = posix_spawnp(&pid, argv[0], NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	if (e != 0) {
		gauge_stop(&m->gauge);
		command_die(argv[0], e);
	}
	return pid;
}

/*
 * Measures the command, and returns its exit status.  A signal that was sent to cyclesoak is sent on to the
 * command; a signal of the terminal (SI_KERNEL) has reached the command already.
 */
static int monitor_command(struct monitor *m, char **argv, const sigset_t *set, const sigset_t *old)
{
	pid_t pid = spawn_or_die(m, argv, old);
	siginfo_t info;
	int status;

	while (TEMP_FAILURE_RETRY(waitpid(pid, &status, WNOHANG)) != pid) {
		gauge_end(&m->gauge, &m->to, NULL); /* dies if the soakers have ended */
		if (sigwaitinfo(set, &info) > 0 && info.si_signo != SIGCHLD &&
		    info.si_code != SI_KERNEL)
			kill(pid, info.si_signo);
	}
	gauge_end(&m->gauge, &m->to, NULL);
	/* A signal from here on ends the baseline after the command. */
	sigprocmask(SIG_SETMASK, old, NULL);
	gauge_after(&m->gauge, &m->from, &m->to, &stop);
	sigprocmask(SIG_BLOCK, set, NULL);
	report_load(m);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Measures periods, or the command at argv.  Without a calibration a command's load is measured against the
 * idle machine before and after.
 */
static int measure(char **argv)
{
	static struct monitor m;
	sigset_t set, old;
	int status = EXIT_SUCCESS;
	char why[DIE_MAX];

	/* The signals that end the program, and SIGCHLD, are blocked except where it waits. */
	signal(SIGCHLD, SIG_DFL);
	stop_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	if (opt.json)
		environment_read(&m.environment);
	m.command = *argv != NULL;
	opt.gauge.never_idle = !m.command;
	gauge_prepare_or_die(&m.gauge, &opt.gauge);
	gauge_mark_open(&m.gauge, &m.from);
	gauge_mark_open(&m.gauge, &m.to);
	if (m.command && !gauge_wait_idle(&m.gauge, &opt.gauge, NULL, why))
		warnx("%s", why);
	gauge_start(&m.gauge, 0);
	catch_stop_signals_waiting(on_signal, NULL);
	gauge_begin(&m.gauge, &m.from, NULL);
	if (m.command)
		status = monitor_command(&m, argv, &set, &old);
	else
		monitor_periods(&m, &set);
	gauge_stop(&m.gauge);
	if (m.history.periods == 0 && opt.once)
		die("interrupted before the period ended: nothing was measured");
	return status;
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
	report_flush(); /* the loads take minutes, and a signal may end them */
	verify_measure_or_die(&opt.gauge, opt.verify, &evidence);
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

/* Closes a JSON report when the program dies. */
static void close_report(void *arg, const char *why)
{
	struct json j = {.depth = 0};

	(void)arg;
	if (opt.json)
		json_fail(&j, why);
}

static void take_rounds(const struct option_row *o, char *text, void *to)
{
	if (text != NULL && strcmp(text, "quick") != 0)
		option_error(o, "'%s' is not 'quick'", text);
	*(int *)to = text != NULL ? 1 : 5;
}

#define AT(member) OPTION_AT(struct soak_options, member)

static const struct option_row rows[] = {
	{.help = "Usage: cyclesoak -C [OPTION...]\n"
		 "       cyclesoak --verify[=quick] [OPTION...]\n"
		 "       cyclesoak [OPTION...] [COMMAND [ARG...]]\n"
		 "Measure the CPU load of this host, interrupts included: once per period, or\n"
		 "while COMMAND runs.  To measure a command without a calibration, cyclesoak also\n"
		 "measures the idle host before and after it.\n"
		 "\n"
		 "Calibration:\n"},
	{"C", "calibrate", NULL,
	 "calibrate on the idle host (4 to 10 seconds) and exit; periods need this or --idle",
	 OPTION_FLAG, AT(calibrate), .alone = true,
	 .not_with = "--period --count --once --per-cpu --json"},
	{"", "force", NULL, "with -C, calibrate even if the host is busy", OPTION_FLAG, AT(force),
	 .only_with = "-C"},
	{"f", "calibration", "FILE",
	 "read the calibration from FILE, or with -C write it there (default ./counts_per_sec)",
	 OPTION_FILE, AT(gauge.file)},
	{"", "file", "FILE", NULL, OPTION_FILE, AT(gauge.file)}, /* as it was called in 0.1 */
	{.help = "\nMeasurement:\n"},
	{"", "idle", NULL,
	 "measure by the CPUs' idle time: nothing is soaked, and periods need no calibration",
	 OPTION_FLAG, AT(gauge.idle), .not_with = "-C -f --file --wait"},
	{"N", "cpus", "N", "measure the first N CPUs (default: all online)", OPTION_INT,
	 AT(gauge.n_cpus), .min = 1, .max = CPUS_MAX, .not_with = "--on-cpus"},
	{"", "on-cpus", "LIST", "measure these CPUs, such as 0-3,64-67", OPTION_CPUS, AT(gauge.on)},
	{"", "wait", "SECS",
	 "wait up to SECS seconds for another program that measures a load on this host to end "
	 "(default 2); after that COMMAND runs without a load, and without COMMAND cyclesoak fails",
	 OPTION_SECONDS, AT(gauge.wait), .max = 86400},
	{"", "wait-idle", "SECS",
	 "before COMMAND wait up to SECS seconds until others take under 3 % for a second",
	 OPTION_SECONDS, AT(gauge.wait_idle), .min = 1, .max = 86400},
	{"p", "period", "SECS", "measure periods of SECS seconds (default 1)", OPTION_SECONDS,
	 AT(period), .min = 0.01, .max = 1e6, .alone = true},
	{"n", "count", "N", "stop after N periods (default: when interrupted)", OPTION_INT,
	 AT(count), .min = 1, .max = 1e9, .alone = true, .not_with = "--once"},
	{"1", "once", NULL, "print one figure, the load in percent, and exit", OPTION_FLAG,
	 AT(once)},
	{.help = "\nVerification:\n"},
	{"", "verify", "quick",
	 "measure loads of known size with each instrument and print whether the figures are right: "
	 "five minutes on an idle host, or one with --verify=quick",
	 OPTION_TEXT, AT(verify), .take = take_rounds, .optional = true, .alone = true,
	 .not_with = "-C --idle --once --count --period --per-cpu -f --file"},
	{.help = "\nOutput:\n"},
	{"B", "per-cpu", NULL, "print the load of each CPU, too", OPTION_FLAG, AT(per_cpu)},
	{"", "json", NULL, "print one JSON object per period or command", OPTION_FLAG, AT(json)},
	{"d", "debug", NULL, "print the kernel's own accounting of the same time, too", OPTION_FLAG,
	 AT(debug)},
	{"h", "help", NULL, "print this text and exit", OPTION_HELP, .at = 0},
	{"V", "version", NULL, "print the version and exit", OPTION_VERSION, .at = 0},
	{.help = "\n"
		 "Exit status: 0 on success, 1 if cyclesoak failed, 2 if the command line is\n"
		 "wrong.  With --verify, 1 if a step fails, or else 2 if one could not be run.\n"
		 "With COMMAND, the status is that of COMMAND, or 125 if cyclesoak failed or the\n"
		 "command line is wrong, 126 if COMMAND cannot be run, 127 if it was not found.\n"
		 "\n"
		 "Examples:\n"
		 "  cyclesoak -B -n 10               print the load of each CPU for 10 seconds\n"
		 "  cyclesoak -- rsync -a src dst    measure what this rsync takes\n"},
};

int main(int argc, char **argv)
{
	init_program(&stop);
	die_init(close_report, NULL);
	argv += options_read(&USAGE("cyclesoak", rows, true), argc, argv, &opt);
	(void)gauge_cpus(&opt.gauge);
	if (opt.calibrate) {
		gauge_calibrate_or_die(&opt.gauge, opt.force);
		return EXIT_SUCCESS;
	}
	opt.gauge.soak = !opt.gauge.idle;
	gauge_warn(&opt.gauge);
	if (opt.verify > 0)
		return verify();
	if (opt.once)
		opt.count = 1;
	return measure(argv);
}
