/*
 * zcc: sends files to zcs over TCP, or requests bytes of it, and reports what that cost both hosts.
 */
#include <getopt.h>

#include "common.h"
#include "lib/load/calibration.h"
#include "lib/net/wire.h"
#include "lib/send/comparison.h"
#include "lib/send/request.h"
#include "lib/send/sender.h"
#include "lib/send/transfer.h"

#define STREAMS_MAX     1024
#define REQUEST_TIMEOUT 60  /* seconds, unless --timeout says otherwise */
#define REQUESTS        100 /* connections of each size, unless -n says otherwise, as in 1999 */
#define METHODS_MAX     16  /* of a list */
#define PRECISE_ROUNDS  30  /* at most, with --precision, unless -r says otherwise */

static struct send_options opt = {.server = ""};

/* The lists of which each combination is a run of a plan, and how often they are run. */
static struct {
	int n_methods;
	const struct send_method *method[METHODS_MAX];
	struct sizes streams;
	int rounds;       /* 0: not given */
	double precision; /* a share of each cost; 0: not given */
	const char *save, *against;
} compare;

/* Why the threads are to stop: TIME_UP, or the signal that interrupts them; 0: they are not. */
static _Atomic int stop;

/*
 * Signals.
 */

/*
 * SIGALRM only interrupts a call.  The second other signal ends the program, which waits for the
 * server after the first.
 */
static void on_signal(int sig)
{
	if (sig == SIGALRM)
		return;
	if (stop > 0) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	stop = sig;
}

/*
 * Only the main thread receives interrupts, where it waits; it sends SIGALRM to the threads.
 * Whoever started the program may have blocked SIGALRM, and a blocked signal interrupts no send.
 */
static void catch_signals(sigset_t *unblocked)
{
	const struct sigaction sa = {.sa_handler = on_signal};
	sigset_t alarm_only;

	catch_stop_signals_waiting(on_signal, unblocked);
	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	sigdelset(unblocked, SIGALRM);
}

/* Ends as the signal would have ended the program, so that a shell's loop stops too. */
static _Noreturn void die_of_signal(const sigset_t *unblocked)
{
	signal(stop, SIG_DFL);
	sigprocmask(SIG_SETMASK, unblocked, NULL);
	raise(stop);
	/* cppcheck-suppress unreachableCode ; the compiler does not know that raise(3) ends it */
	_exit(128 + stop);
}

/*
 * The order of events.
 */

/*
 * Sends the file set over connections of its own, in calls of `chunk` bytes; 0: the method's
 * default.  The figures go to run i of the plan.  Returns NULL or what is wrong, which may be in
 * `why`.
 */
static const char *send_once(struct run *run, struct send_report *rep, const struct fileset *set,
			     size_t chunk, struct plan *plan, int i, char why[DIE_MAX])
{
	struct transfer t = {.opt = &opt, .set = set, .run = run, .report = rep};
	const struct send_result *res = &t.result;
	const char *error = NULL;

	transfer_open(&t, chunk); /* a signal ends it: the server may take minutes to answer */
	catch_signals(&run->unblocked);
	report_start(rep, res);
	transfer_run(&t);
	if (!t.measuring && stop <= 0)
		die("all was sent before the warm-up was over: send more (-n, -t)");
	if (!t.measuring) {
		report_die(rep, "interrupted");
		warnx("interrupted before the warm-up was over: nothing was measured");
		die_of_signal(&run->unblocked);
	}
	if (stop > 0) {
		error = "interrupted";
	} else if (res->receipts == opt.streams && res->missing > 0) {
		snprintf(why, DIE_MAX,
			 "the server received %" PRIu64 " bytes of the %" PRIu64 " sent",
			 res->received.bytes + res->received.warmup,
			 res->sent.bytes + res->sent.warmup);
		error = why;
	}
	run_warn(run, &res->sent);
	report_end(rep, res, error);
	if (error == NULL)
		plan_add(plan, i, res);
	transfer_close(&t);
	if (stop <= 0) {
		/* Until the next run, where nothing waits, a signal just ends the program. */
		catch_stop_signals_waiting(SIG_DFL, NULL);
		sigprocmask(SIG_SETMASK, &run->unblocked, NULL);
	}
	return error;
}

/* The number of combinations of the lists' values. */
static int runs_of_plan(void)
{
	const int chunks = opt.chunks.n > 0 ? opt.chunks.n : 1;

	return compare.n_methods * chunks * compare.streams.n;
}

/*
 * Makes the settings those of run i of a plan: the last list, that of the streams, varies fastest.
 * Returns the bytes of a call.
 */
static size_t choose_run(int i)
{
	const int chunks = opt.chunks.n > 0 ? opt.chunks.n : 1;

	opt.streams = (int)compare.streams.size[i % compare.streams.n];
	i /= compare.streams.n;
	opt.method = compare.method[i / chunks];
	return opt.chunks.size[i % chunks];
}

/* Whether there is more than one run, or what only a comparison does was asked for. */
static bool is_comparison(void)
{
	return runs_of_plan() > 1 || compare.rounds > 0 || compare.precision > 0 ||
	       compare.save != NULL || compare.against != NULL;
}

/* Runs the plan, one round after the other.  Returns NULL or what is wrong. */
static const char *send_rounds(struct run *run, struct send_report *rep, const struct fileset *set,
			       struct plan *plan, char why[DIE_MAX])
{
	const char *error = NULL;
	size_t chunk;
	int i;

	while (plan->rounds < plan->capacity) {
		for (i = 0; i < plan->n; i++) {
			chunk = choose_run(i);
			report_run(rep, plan->rounds * plan->n + i + 1, plan->capacity * plan->n);
			error = send_once(run, rep, set, chunk, plan, i, why);
			if (error != NULL || stop > 0)
				return error;
		}
		if (compare.save != NULL)
			saved_write_or_die(plan, compare.save);
		if (compare.precision > 0 && plan->rounds >= PLAN_ROUNDS &&
		    plan_is_precise(plan, compare.precision))
			break;
	}
	return NULL;
}

/* Prepares the plan, and what it is compared with. */
static void plan_prepare(struct plan *plan, struct comparison *c, struct saved *before)
{
	int i;

	plan_open(plan, runs_of_plan(), compare.rounds);
	for (i = 0; i < plan->n; i++) {
		plan->run[i].chunk = choose_run(i);
		plan->run[i].streams = opt.streams;
		snprintf(plan->run[i].method, sizeof(plan->run[i].method), "%s", opt.method->name);
	}
	*c = (struct comparison){.plan = plan};
	if (compare.save != NULL)
		saved_try_or_die(compare.save);
	if (compare.against == NULL)
		return;
	saved_read_or_die(before, compare.against);
	c->before = before;
	c->before_path = compare.against;
	comparison_check_or_die(c);
}

/* Sends the files: once, or as often as a comparison needs.  Returns NULL or what is wrong. */
static const char *send_all(struct run *run, struct send_report *rep, char **names, int n,
			    char why[DIE_MAX])
{
	struct saved before = {.plan.n = 0};
	struct comparison comparison;
	const char *error = NULL;
	struct fileset set;
	struct plan plan;
	int i, streams = 1;

	plan_prepare(&plan, &comparison, &before);
	for (i = 0; i < compare.streams.n; i++)
		if (streams < (int)compare.streams.size[i])
			streams = (int)compare.streams.size[i];
	fileset_open(&set, names, n, streams, opt.raw);
	run_soak(run);
	rep->is_comparison = is_comparison();
	error = send_rounds(run, rep, &set, &plan, why);
	if (rep->is_comparison && plan.rounds > 0)
		comparison_print(&comparison, &opt);
	fileset_close(&set);
	plan_close(&plan);
	saved_close(&before);
	return error;
}

static const char *request_all(struct run *run, struct send_report *rep, char why[DIE_MAX])
{
	struct target target;

	target_resolve(&target, &opt);
	run_soak(run);
	catch_signals(&run->unblocked);
	return requests_run(run, rep, &target, why);
}

/*
 * Options.
 */

enum {
	OPT_CONGESTION = 256,
	OPT_FORCE,
	OPT_WARMUP,
	OPT_PACE,
	OPT_MSS,
	OPT_TIMEOUT,
	OPT_REQUEST,
	OPT_PRECISION,
	OPT_SAVE,
	OPT_AGAINST
};

static const struct option longopts[] = {
	{"server", required_argument, NULL, 's'},
	{"port", required_argument, NULL, 'p'},
	{"loops", required_argument, NULL, 'n'},
	{"time", required_argument, NULL, 't'},
	{"warmup", required_argument, NULL, OPT_WARMUP},
	{"interval", required_argument, NULL, 'I'},
	{"streams", required_argument, NULL, 'P'},
	{"runs", required_argument, NULL, 'r'},
	{"precision", required_argument, NULL, OPT_PRECISION},
	{"save", required_argument, NULL, OPT_SAVE},
	{"against", required_argument, NULL, OPT_AGAINST},
	{"method", required_argument, NULL, 'm'},
	{"send", no_argument, NULL, 'S'},
	{"write", no_argument, NULL, 'w'},
	{"buffer-size", required_argument, NULL, 'b'},
	{"cork", no_argument, NULL, 'k'},
	{"nodelay", no_argument, &opt.nodelay, true},
	{"rcvbuf", required_argument, NULL, 'i'},
	{"sndbuf", required_argument, NULL, 'o'},
	{"mss", required_argument, NULL, OPT_MSS},
	{"pace", required_argument, NULL, OPT_PACE},
	{"congestion", required_argument, NULL, OPT_CONGESTION},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"raw", no_argument, &opt.raw, true},
	{"request", required_argument, NULL, OPT_REQUEST},
	{"bind-cpu", required_argument, NULL, 'B'},
	{"cpu-load", no_argument, NULL, 'c'},
	{"calibrate", no_argument, NULL, 'C'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"cpus", required_argument, NULL, 'N'},
	{"json", no_argument, &opt.json, true},
	{"quiet", no_argument, NULL, 'q'},
	{"debug", no_argument, NULL, 'd'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"Usage: zcc [options] -s server [file...]\n"
	"       zcc [options] --request bytes[,bytes...] -s server\n"
	"       zcc -C [-N nr_cpus]\n"
	"Sends files to zcs over TCP; says how fast, and with -c what it cost this host.\n"
	"Without files it sends a built-in set, 63 files of 350 KiB in memory.\n"
	"\n"
	"  -s, --server host      where zcs runs: a name, an IPv4 or IPv6 address; 0 is this host\n"
	"  -p, --port port        its port (default 2222; --request 7890)\n"
	"  -n, --loops n          send the file set this many times (default 1)\n"
	"  -t, --time secs        send it over and over for this long\n"
	"      --warmup secs      and before that, this long; in no figure of either end\n"
	"  -I, --interval secs    a line each time that so long has passed\n"
	"  -P, --streams n        so many connections at a time, each sends the file set\n"
	"\n"
	"  -m, --method how       sendfile (default), send, write, mmap, splice or zerocopy\n"
	"  -S, --send             read() and send() instead of sendfile(): -m send\n"
	"  -w, --write            read() and write(), also with -S: -m write\n"
	"  -b, --buffer-size size of each read and send (default 64k); with sendfile, mmap and\n"
	"                         splice the most asked of one call (default 1m; mmap 4m, which\n"
	"                         the streams share); a list, 1,10,1k, makes a run and a line\n"
	"                         of a table of each\n"
	"  -k, --cork             TCP_CORK on the connection, released after the file set\n"
	"      --nodelay          TCP_NODELAY\n"
	"  -i, --rcvbuf size      SO_RCVBUF (default: the kernel's autotuning)\n"
	"  -o, --sndbuf size      SO_SNDBUF (default: the kernel's autotuning)\n"
	"      --mss bytes        the largest segment\n"
	"      --pace rate        at most so many bytes per second of each stream\n"
	"      --congestion name  congestion control (default: the system's)\n"
	"      --timeout secs     fail when the server acknowledges nothing for secs (default:\n"
	"                         never; --request 60)\n"
	"      --raw              no headers, no receipt: for a server that is not zcs; what it\n"
	"                         sends is discarded\n"
	"      --request bytes    connections that each ask a zcs --reply for so many bytes, -n\n"
	"                         of them or for -t seconds, -P at a time; a list: one after the\n"
	"                         other\n"
	"  -4, -6                 IPv4 or IPv6 only\n"
	"\n"
	"  -B, --bind-cpu cpus    run on this CPU; a list: one stream after the other\n"
	"  -c, --cpu-load         measure this host's CPU load during the transfer\n"
	"  -C, --calibrate        calibrate for -c on the idle system, and exit\n"
	"      --force            with -C: also when the machine is busy\n"
	"  -N, --cpus n           how many CPUs to measure (default: all that are online)\n"
	"\n"
	"      --json             the report as JSON, named as iperf3 names it\n"
	"  -q, --quiet            only the report's first line\n"
	"  -d, --debug            say more on stderr; twice: each file\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"Sizes take a suffix k, m or g.  The manual is zcc(1), the method zc(7).\n";

/* Parses the argument: sizes with commas between them. */
static void arg_sizes(const char *name, uint64_t min, uint64_t max, struct sizes *list)
{
	char *rest = strdupa(optarg), *one;

	for (list->n = 0; (one = strsep(&rest, ",")) != NULL; list->n++) {
		if (list->n == SIZES_MAX)
			usage_error("%s: more than %d sizes", name, SIZES_MAX);
		list->size[list->n] = arg_size(name, one, min, max);
	}
}

/* Parses the argument: numbers of streams with commas between them. */
static void arg_streams(void)
{
	char *rest = strdupa(optarg), *one;

	for (compare.streams.n = 0; (one = strsep(&rest, ",")) != NULL; compare.streams.n++) {
		if (compare.streams.n == SIZES_MAX)
			usage_error("-P, --streams: more than %d numbers", SIZES_MAX);
		compare.streams.size[compare.streams.n] = (uint64_t)arg_int("-P, --streams", one, 1,
									    STREAMS_MAX);
	}
}

/* Parses the argument: methods with commas between them. */
static void arg_methods(void)
{
	char *rest = strdupa(optarg), *one;

	for (compare.n_methods = 0; (one = strsep(&rest, ",")) != NULL; compare.n_methods++) {
		if (compare.n_methods == METHODS_MAX)
			usage_error("-m, --method: more than %d methods", METHODS_MAX);
		compare.method[compare.n_methods] = method_named(one);
	}
}

/* Parses the argument: `3%` or `3`.  Returns it as a share. */
static double arg_percent(const char *name, double max)
{
	char *text = strdupa(optarg);
	const size_t n = strlen(text);
	double percent;

	if (n > 1 && text[n - 1] == '%')
		text[n - 1] = '\0';
	if (parse_seconds(text, &percent) != NULL || percent <= 0 || percent > max)
		usage_error("%s: '%s' is not a percentage above 0, up to %g%%", name, optarg, max);
	return percent / 100;
}

/* Options that only main needs. */
struct given {
	bool send, write, calibrate, force;
};

static void parse_option(int c, struct given *given)
{
	switch (c) {
	case 0: break; /* getopt_long(3) has stored it */
	case 's': opt.server = optarg; break;
	case 'p': opt.port = arg_port("-p, --port", optarg, 1); break;
	case 'n': opt.loops = (uint32_t)arg_int("-n, --loops", optarg, 1, WIRE_FOREVER - 1); break;
	case 't': opt.seconds = arg_seconds("-t, --time", optarg, 0.001, 1e9); break;
	case OPT_WARMUP: /* in the unit of the wire, so that both ends warm up equally long */
		opt.warmup = ceil(arg_seconds("--warmup", optarg, 0, WARMUP_MAX) * 10 - 1e-6) / 10;
		break;
	case 'I': opt.interval = arg_seconds("-I, --interval", optarg, 0.01, 86400); break;
	case 'P': arg_streams(); break;
	case 'r': compare.rounds = (int)arg_int("-r, --runs", optarg, 1, PLAN_ROUNDS_MAX); break;
	case OPT_PRECISION: compare.precision = arg_percent("--precision", 100); break;
	case OPT_SAVE: compare.save = optarg; break;
	case OPT_AGAINST: compare.against = optarg; break;
	case 'm': arg_methods(); break;
	case 'S': given->send = true; break;
	case 'w': given->write = true; break;
	case 'b': arg_sizes("-b, --buffer-size", 1, 1u << 30, &opt.chunks); break;
	case 'k': opt.cork = true; break;
	case 'i': opt.sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30); break;
	case 'o': opt.sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30); break;
	case OPT_MSS: opt.mss = (int)arg_size("--mss", optarg, 88, 32767); break; /* the kernel's */
	case OPT_PACE: opt.pace = arg_size("--pace", optarg, 1, 1ull << 50); break;
	case OPT_CONGESTION: opt.sock.congestion = optarg; break;
	case OPT_TIMEOUT: opt.timeout = arg_seconds("--timeout", optarg, 0.001, 86400); break;
	case OPT_REQUEST: arg_sizes("--request", 0, UINT32_MAX, &opt.requests); break;
	case '4': arg_family(&opt.family, AF_INET); break;
	case '6': arg_family(&opt.family, AF_INET6); break;
	case 'B': arg_cpus("-B, --bind-cpu", optarg, &opt.bind); break;
	case 'c': opt.load = true; break;
	case 'C': given->calibrate = true; break;
	case OPT_FORCE: given->force = true; break;
	case 'N': opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX); break;
	case 'q': opt.quiet = true; break;
	case 'd': opt.debug++; break;
	case 'h': report("%s", help); exit(EXIT_SUCCESS);
	case 'V': report("zcc %s\n", VERSION); exit(EXIT_SUCCESS);
	default: usage_exit(); /* getopt_long(3) has named it */
	}
}

/* Of what is not given there is one value; a plan has three rounds, and one run alone has one. */
static void settle_comparison(const struct given *given)
{
	const bool requests = opt.requests.n > 0;

	if (compare.n_methods == 0)
		compare.method[compare.n_methods++] = method_named(given->write  ? "write"
								   : given->send ? "send"
										 : "sendfile");
	if (compare.streams.n == 0)
		compare.streams = (struct sizes){.n = 1, .size = {1}};
	if (requests && is_comparison())
		usage_error("--request cannot be combined with lists of methods, sizes or streams, "
			    "--runs, --precision, --save and --against");
	if (runs_of_plan() > PLAN_RUNS_MAX)
		usage_error("a comparison of %d runs: more than %d", runs_of_plan(), PLAN_RUNS_MAX);
	if (compare.rounds == 0)
		compare.rounds = compare.precision > 0 ? PRECISE_ROUNDS
				 : is_comparison()     ? PLAN_ROUNDS
						       : 1;
	choose_run(0);
}

/* What the options mean together. */
static void settle_options(const struct given *given)
{
	const bool requests = opt.requests.n > 0;
	struct cpus online;

	cpus_to_soak(opt.n_cpus, &online); /* rejects an -N that cannot be */
	if (given->calibrate && opt.json)
		usage_error("-C, --calibrate and --json cannot be used together");
	if (given->calibrate)
		return;
	if (opt.port == NULL)
		opt.port = requests ? REQUEST_PORT : WIRE_PORT;
	if (opt.server[0] == '\0')
		usage_error("-s, --server: no server given (0 is this host); see zcc -h");
	if (opt.seconds > 0 && opt.loops > 0)
		usage_error("-n, --loops and -t, --time exclude each other");
	if (requests && (opt.raw || opt.warmup > 0 || opt.interval > 0 || opt.chunks.n > 0))
		usage_error("--request goes without --raw, --warmup, --interval and --buffer-size");
	if (requests && opt.timeout <= 0)
		opt.timeout = REQUEST_TIMEOUT;
	if (opt.loops == 0)
		opt.loops = requests ? REQUESTS : 1;
	if (opt.raw && opt.warmup > 0)
		usage_error("--warmup and --raw exclude each other: only zcs knows of a warm-up");
	if (opt.loops >= WIRE_FOREVER - warmup_loops(opt.warmup))
		usage_error("-n, --loops: too many with a --warmup");
	if ((given->send || given->write) && compare.n_methods > 0)
		usage_error("-%c and -m, --method exclude each other", given->send ? 'S' : 'w');
	settle_comparison(given);
}

int main(int argc, char **argv)
{
	static const char letters[] = "s:p:n:t:I:P:r:m:Swb:ki:o:46B:cCN:qdhV";
	struct send_report rep = {.opt = &opt};
	struct given given = {0};
	char why[DIE_MAX];
	const char *error;
	struct run run;
	int c;

	init_program(argv);
	die_init(report_die, &rep);
	while ((c = getopt_long(argc, argv, letters, longopts, NULL)) != -1)
		parse_option(c, &given);
	settle_options(&given);
	if (given.calibrate && optind < argc)
		usage_error("-C, --calibrate takes no files: '%s'", argv[optind]);
	if (given.calibrate) {
		calibrate_or_die(opt.n_cpus, CALIBRATION_FILE, given.force);
		return EXIT_SUCCESS;
	}
	if (opt.requests.n > 0 && optind < argc)
		usage_error("--request sends no files: '%s'", argv[optind]);
	run_open(&run, &opt, &stop);
	error = opt.requests.n > 0 ? request_all(&run, &rep, why)
				   : send_all(&run, &rep, argv + optind, argc - optind, why);
	run_close(&run);
	if (stop > 0)
		die_of_signal(&run.unblocked);
	if (error != NULL)
		warnx("%s", error);
	return error == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
