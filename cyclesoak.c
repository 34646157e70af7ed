/*
 * cyclesoak: says how busy the CPUs are, by how much idle work they can still do.
 */
#include "common.h"
#include "lib/load/baseline.h"
#include "lib/load/calibration.h"
#include "lib/load/counters.h"
#include "lib/load/limits.h"
#include "lib/load/load.h"
#include "lib/load/soaker.h"
#include "lib/report/json.h"
#include "lib/report/terms.h"
#include "lib/report/units.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BRACKET_SECONDS 1   /* of the baselines before and after a command */
#define SHORT_SECONDS   0.5 /* below which a command's load may be smaller than its uncertainty */

static struct {
	double period; /* seconds */
	const char *file;
	int n_cpus; /* 0: all */
	long count; /* lines to print; 0: until interrupted */
	int debug;
	bool calibrate, force, per_cpu, once, json, file_given;
} opt = {
	.period = 1,
	.file = CALIBRATION_FILE,
};

/* The readings of one moment. */
struct reading {
	struct load_sample sum, *each;
	struct counters counters;
};

/* The loads of the periods so far. */
struct history {
	long n;
	double sum, squares, min, max;
	double uncertainty; /* of one period, the largest */
};

struct monitor {
	struct soaker *soak;
	struct calibration cal;
	bool bracketed; /* the baseline is the command's own, not a file's */
	double drift;   /* between its two halves, as a share of the load */
	struct reading first, from, to;
	struct history history;
};

/* Measures the baseline beside a command, before it or after it. */
static void measure_baseline(const struct monitor *m, struct calibration *c)
{
	double tasks;

	calibration_alloc(c);
	tasks = baseline_measure(m->soak, BRACKET_SECONDS, c);
	baseline_check_or_die(c);
	if (tasks > CAL_BUSY)
		warnx("the machine is not idle beside the command: "
		      "other programs took %.1f%% of it",
		      100 * tasks);
}

static void reading_alloc(struct reading *r, int n)
{
	r->each = calloc((size_t)n, sizeof(*r->each));
	if (r->each == NULL)
		die_errno("readings");
}

/* The counters, which take long to read, last at the end of a load and first at its beginning. */
static void monitor_read(const struct monitor *m, struct reading *r, bool end)
{
	if (!end)
		counters_read(&r->counters, NULL);
	load_sample_read(m->soak, &m->cal, &r->sum, r->each);
	if (end)
		counters_read(&r->counters, NULL);
}

/* Without a calibration a command's load is measured against the idle machine before and after. */
static void monitor_start(struct monitor *m, bool command)
{
	memset(m, 0, sizeof(*m));
	m->bracketed = command && !opt.file_given && access(opt.file, F_OK) != 0;
	limits_warn();
	if (m->bracketed) {
		cpus_to_soak(opt.n_cpus, &m->cal.cpus);
		m->soak = soaker_start_or_die(&m->cal.cpus);
		measure_baseline(m, &m->cal);
	} else {
		calibration_load_or_die(&m->cal, opt.file, opt.n_cpus);
		m->soak = soaker_start_or_die(&m->cal.cpus);
	}
	reading_alloc(&m->first, m->cal.cpus.n);
	reading_alloc(&m->from, m->cal.cpus.n);
	reading_alloc(&m->to, m->cal.cpus.n);
	monitor_read(m, &m->from, false);
	m->first.sum = m->from.sum;
	m->first.counters = m->from.counters;
}

static void monitor_stop(struct monitor *m)
{
	struct load l;

	soaker_stop(m->soak);
	load_between(&m->cal, &m->first.sum, &m->from.sum, -1, &l);
	limits_warn_run(&m->cal.cpus, &m->first.counters, &m->from.counters, &l);
	free(m->first.each);
	free(m->from.each);
	free(m->to.each);
	free(m->cal.cpu);
}

/* The next period begins where this one ended. */
static void monitor_next(struct monitor *m)
{
	struct reading swap = m->from;

	m->from = m->to;
	m->to = swap;
}

/*
 * Reports: a line per period and a closing one, as text or JSON.
 */

static void history_add(struct history *h, const struct load *l)
{
	h->min = h->n == 0 ? l->load : fmin(h->min, l->load);
	h->max = h->n == 0 ? l->load : fmax(h->max, l->load);
	h->uncertainty = fmax(h->uncertainty, l->uncertainty);
	h->sum += l->load;
	h->squares += l->load * l->load;
	h->n++;
}

static void report_cpus(const struct monitor *m)
{
	struct load l;
	int i;

	for (i = 0; i < m->cal.cpus.n; i++) {
		load_between(&m->cal, &m->from.each[i], &m->to.each[i], i, &l);
		report(" cpu%d %.1f%%", m->cal.cpus.id[i], percent(l.load));
	}
}

/* The kernel's own accounting of the same time. */
static void report_accounting(const struct rates *r)
{
	int i;

	for (i = 0; i < CPU_COLUMNS && !isnan(r->cpu[i]); i++)
		report("%s%s %.1f%%", i > 0 ? ", " : "; kernel: ", cpu_column[i],
		       percent(r->cpu[i]));
}

static void report_text(const struct monitor *m, const struct load *l, const struct rates *r)
{
	report("System load: %.1f%% +-%.1f%%, slowed %.1f%%", percent(l->load),
	       100 * l->uncertainty, percent(l->slowed));
	if (opt.per_cpu)
		report_cpus(m);
	if (m->bracketed)
		report("; own baselines, drift %.1f%%", percent(m->drift));
	if (opt.debug > 0)
		report_accounting(r);
	report("\n");
}

static void json_cpus(struct json *j, const struct monitor *m)
{
	struct load l;
	int i;

	json_open(j, "per_cpu", '[');
	for (i = 0; i < m->cal.cpus.n; i++) {
		load_between(&m->cal, &m->from.each[i], &m->to.each[i], i, &l);
		json_open(j, NULL, '{');
		json_count(j, "cpu", (uint64_t)m->cal.cpus.id[i]);
		json_number(j, "cpu_utilization_percent", percent(l.load));
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void report_json(const struct monitor *m, const struct load *l, const struct rates *r)
{
	struct json j;

	json_report_open(&j);
	json_number(&j, "seconds", l->seconds);
	json_count(&j, "cpus", (uint64_t)m->cal.cpus.n);
	json_number(&j, "cpu_utilization_percent", percent(l->load));
	json_number(&j, "uncertainty_percent", 100 * l->uncertainty);
	json_number(&j, "slowed_percent", percent(l->slowed));
	json_number(&j, "tasks_percent", percent(l->tasks));
	json_number(&j, "interrupts_per_second", r->interrupts);
	json_string(&j, "baseline", m->bracketed ? "bracket" : "file");
	if (m->bracketed)
		json_number(&j, "drift_percent", percent(m->drift));
	json_cpus(&j, m);
	json_accounting(&j, r);
	json_close(&j, '}');
	report("\n");
}

/* The load from m->from to m->to. */
static struct load report_load(struct monitor *m)
{
	struct rates r;
	struct load l;

	load_between(&m->cal, &m->from.sum, &m->to.sum, -1, &l);
	counters_rates(&m->from.counters, &m->to.counters, &r);
	history_add(&m->history, &l);
	if (opt.json)
		report_json(m, &l, &r);
	else if (opt.once)
		report("%.1f\n", percent(l.load));
	else
		report_text(m, &l, &r);
	return l;
}

static void json_closing(const struct history *h, double mean, double half)
{
	struct json j;

	json_report_open(&j);
	json_count(&j, "periods", (uint64_t)h->n);
	json_number(&j, "mean_percent", percent(mean));
	json_number(&j, "uncertainty_percent", 100 * half);
	json_number(&j, "min_percent", percent(h->min));
	json_number(&j, "max_percent", percent(h->max));
	json_close(&j, '}');
	report("\n");
}

/*
 * The closing line: the mean of the periods with its 95 % interval, which has the baseline's
 * uncertainty, common to all periods, and the periods' own variation.
 */
static void report_closing(const struct history *h)
{
	double mean = h->sum / (double)h->n, sd = 0, half;

	if (h->n == 0)
		return;
	if (h->n > 1)
		sd = sqrt(fmax(0, (h->squares - h->sum * mean) / (double)(h->n - 1)));
	half = sqrt(h->uncertainty * h->uncertainty + 4 * sd * sd / (double)h->n);
	if (opt.json)
		json_closing(h, mean, half);
	else
		report("mean of %ld: %.1f%% +-%.1f%%, minimum %.1f%%, maximum %.1f%%\n", h->n,
		       percent(mean), 100 * half, percent(h->min), percent(h->max));
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

/*
 * Waits until `end` or for a signal that ends the program, and returns that, or 0.  SIGCHLD may be
 * of the soaker, which a reading reports, or of a child that this program inherited by exec.  It
 * waits again where it was stopped and continued.
 */
static int wait_period(struct monitor *m, const sigset_t *set, uint64_t end)
{
	int sig;

	for (;;) {
		sig = wait_signal(set, end);
		if (sig == SIGCHLD)
			monitor_read(m, &m->to, true);
		else if (sig != 0 || now_ns() >= end)
			return sig;
	}
}

/* Reports a line each period. */
static void monitor_periods(struct monitor *m, const sigset_t *set)
{
	uint64_t period = (uint64_t)(opt.period * 1e9), end = now_ns();
	long i;

	for (i = 0; opt.count == 0 || i < opt.count; i++) {
		end += period;
		if (wait_period(m, set, end) != 0)
			break;
		monitor_read(m, &m->to, true);
		report_load(m);
		monitor_next(m);
		/* Stopped and continued: missed periods are not made up. */
		if (now_ns() > end + period)
			end = now_ns();
	}
	if (!opt.once)
		report_closing(&m->history);
}

/* Why a file cannot be executed, as an errno; 0 if it can. */
static int not_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
		return errno;
	return S_ISREG(st.st_mode) ? 0 : EACCES;
}

/* execvp(3) goes on to the next directory of PATH after a file that may not be executed, too. */
static int not_in_path(const char *name, const char *path)
{
	char file[PATH_MAX];
	int e = ENOENT, n;
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, ":");
		n = snprintf(file, sizeof(file), "%.*s%s%s", (int)len, path, len > 0 ? "/" : "",
			     name);
		switch (n < (int)sizeof(file) ? not_executable(file) : ENAMETOOLONG) {
		case 0: return 0;
		case EACCES: e = EACCES; break;
		}
		if (path[len] == '\0')
			return e;
	}
}

/* Dies if execvp(3) would not find the command by PATH, or may not execute the file. */
static void command_find_or_die(const char *name)
{
	const char *path = getenv("PATH");
	int e;

	if (strchr(name, '/') != NULL)
		e = not_executable(name);
	else
		e = *name == '\0' ? ENOENT
				  : not_in_path(name, path != NULL ? path : "/bin:/usr/bin");
	if (e != 0)
		command_die(name, e);
}

/* Reads why the command was not executed, from a pipe that its execution closes; 0 if it was. */
static int read_exec_error(int fd)
{
	int error = 0;

	while (read(fd, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	close(fd);
	return error;
}

static pid_t spawn_or_die(struct monitor *m, char **argv, const sigset_t *mask)
{
	int failed[2], error;
	pid_t pid;

	if (pipe2(failed, O_CLOEXEC) != 0)
		die_errno("pipe");
	pid = fork();
	if (pid < 0)
		die_errno("fork");
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		command_exec(argv);
		error = errno;
		_exit(write(failed[1], &error, sizeof(error)) < 0 ? EXIT_COMMAND : 126);
	}
	close(failed[1]);
	error = read_exec_error(failed[0]);
	if (error != 0) {
		TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
		soaker_stop(m->soak);
		command_die(argv[0], error);
	}
	return pid;
}

/*
 * Waits for the command.  A signal meant for cyclesoak goes to it; the terminal's (SI_KERNEL) has
 * reached it already.  Returns the wait status.
 */
static int wait_command(struct monitor *m, const sigset_t *set, pid_t pid)
{
	siginfo_t info;
	int status;

	while (TEMP_FAILURE_RETRY(waitpid(pid, &status, WNOHANG)) != pid) {
		load_sample_read(m->soak, &m->cal, &m->to.sum, NULL); /* dies if the soaker has */
		if (sigwaitinfo(set, &info) > 0 && info.si_signo != SIGCHLD &&
		    info.si_code != SI_KERNEL)
			kill(pid, info.si_signo);
	}
	return status;
}

/* Puts a reading that was taken against one baseline against another. */
static void rebase(struct reading *r, const struct calibration *from, const struct calibration *to)
{
	double spin, speed;
	int i;

	r->sum.spin = r->sum.work = 0;
	for (i = 0; i < to->cpus.n; i++) {
		spin = from->cpu[i].spin / to->cpu[i].spin;
		speed = from->cpu[i].speed / to->cpu[i].speed;
		r->each[i].spin *= spin;
		r->each[i].work *= spin * speed;
		r->sum.spin += r->each[i].spin;
		r->sum.work += r->each[i].work;
	}
}

/*
 * The readings were taken against the baseline before the command; what is reported is against
 * the middle of that and the one after it.
 */
static void close_bracket(struct monitor *m)
{
	size_t size = (size_t)m->cal.cpus.n * sizeof(struct baseline);
	struct calibration before = m->cal, after = m->cal;

	measure_baseline(m, &after);
	before.cpu = malloc(size);
	if (before.cpu == NULL)
		die_errno("baseline");
	memcpy(before.cpu, m->cal.cpu, size);
	m->drift = baseline_merge(&m->cal, &after);
	rebase(&m->from, &before, &m->cal);
	rebase(&m->to, &before, &m->cal);
	m->first.sum = m->from.sum;
	free(before.cpu);
	free(after.cpu);
}

static int monitor_command(struct monitor *m, char **argv, const sigset_t *set, const sigset_t *old)
{
	int status = wait_command(m, set, spawn_or_die(m, argv, old));
	struct load l;

	monitor_read(m, &m->to, true);
	if (m->bracketed)
		close_bracket(m);
	l = report_load(m);
	if (l.seconds < SHORT_SECONDS && l.uncertainty > l.load)
		warnx("the command took %.3f s, too short for its load: run it for half a second "
		      "or longer",
		      l.seconds);
	monitor_next(m);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(char **argv)
{
	struct monitor m;
	sigset_t set, old;
	int status = EXIT_SUCCESS;

	if (*argv != NULL)
		command_find_or_die(*argv);
	block_signals(&set, &old);
	monitor_start(&m, *argv != NULL);
	if (*argv != NULL)
		status = monitor_command(&m, argv, &set, &old);
	else
		monitor_periods(&m, &set);
	monitor_stop(&m);
	if (m.history.n == 0 && opt.once)
		die("interrupted before the period was over");
	return status;
}

/*
 * Options.
 */

/* What else there is to do when the program dies: die_init(). */
static void close_report(const char *why)
{
	struct json j = {.f = NULL};

	if (opt.json)
		json_fail(&j, why);
}

enum { OPT_FORCE = 256, OPT_JSON };

#define SHORTOPTS "+CN:p:n:B1f:dhV"

static const struct option longopts[] = {
	{"calibrate", no_argument, NULL, 'C'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"cpus", required_argument, NULL, 'N'},
	{"count", required_argument, NULL, 'n'},
	{"json", no_argument, NULL, OPT_JSON},
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
	"       cyclesoak [-B1d] [-N nr_cpus] [-p period] [-n count] [-f file] [command [arg...]]\n"
	"Says how busy the CPUs are, interrupts included, by how much idle work they can still\n"
	"do: every period, or with a command over the time that it takes.  A command needs no -C:\n"
	"without a calibration file the idle machine is measured just before and after it.\n"
	"\n"
	"  -C, --calibrate        measure the idle system and write the file; do this first\n"
	"      --force            with -C: also when the machine is busy\n"
	"  -N, --cpus n           how many CPUs (default: all that are online)\n"
	"  -p, --period secs      length of a period (default 1)\n"
	"  -n, --count n          that many periods (default: until interrupted)\n"
	"  -B, --per-cpu          a figure for each CPU too\n"
	"  -1, --once             one bare figure, then exit\n"
	"  -f, --file file        the calibration (default ./counts_per_sec)\n"
	"      --json             a JSON object per line\n"
	"  -d, --debug            the kernel's own accounting of the same time, too\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"The manual is cyclesoak(1), the method zc(7).\n";

static void parse_option(int c)
{
	switch (c) {
	case 'C': opt.calibrate = true; break;
	case 'N': opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX); break;
	case 'p': opt.period = arg_seconds("-p, --period", optarg, 0.01, 1e6); break;
	case 'n': opt.count = arg_int("-n, --count", optarg, 1, 1000000000); break;
	case OPT_FORCE: opt.force = true; break;
	case OPT_JSON: opt.json = true; break;
	case 'B': opt.per_cpu = true; break;
	case '1': opt.once = true; break;
	case 'f':
		opt.file = optarg;
		opt.file_given = true;
		break;
	case 'd': opt.debug++; break;
	case 'h': report("%s", help); exit(EXIT_SUCCESS);
	case 'V': report("cyclesoak %s\n", VERSION); exit(EXIT_SUCCESS);
	default: usage_exit();
	}
}

int main(int argc, char **argv)
{
	struct cpus online;
	int c;

	init_output();
	name_in_errors(argv);
	die_init(close_report);
	command_expect(argc, argv, SHORTOPTS, longopts);
	while ((c = getopt_long(argc, argv, SHORTOPTS, longopts, NULL)) != -1)
		parse_option(c);
	cpus_to_soak(opt.n_cpus, &online); /* refuses an -N that cannot be */
	if (opt.once && opt.count > 1)
		usage_error("-1, --once and -n, --count exclude each other");
	if (opt.once)
		opt.count = 1;
	if (!opt.calibrate)
		return run(argv + optind);
	if (opt.json)
		usage_error("-C, --calibrate and --json cannot be used together");
	if (optind < argc)
		usage_error("-C, --calibrate takes no command: '%s'", argv[optind]);
	calibrate_or_die(opt.n_cpus, opt.file, opt.force);
	return EXIT_SUCCESS;
}
