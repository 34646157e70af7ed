/*
 * zcc: sends files to zcs over TCP, or requests bytes of it, and reports what that cost both hosts.
 */
#include <getopt.h>

#include "common.h"
#include "lib/load/calibration.h"
#include "lib/net/wire.h"
#include "lib/send/request.h"
#include "lib/send/transfer.h"

#define STREAMS_MAX     1024
#define REQUEST_TIMEOUT 60  /* seconds, unless --timeout says otherwise */
#define REQUESTS        100 /* connections of each size, unless -n says otherwise, as in 1999 */
#define BUILTIN_SECONDS 10  /* that the built-in set is sent for: a pass over it lasts 10 ms */

static struct send_options opt = {.server = "", .streams = 1};

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

/* A list of sizes is warned of once. */
static void warn_short(struct send_report *rep)
{
	if (!rep->has_warned && !opt.quiet)
		warnx("the transfer took less than half a second, so that its figures mean little: "
		      "send more (-n, -t)");
	rep->has_warned = true;
}

/*
 * Sends the file set over connections of its own, in calls of `chunk` bytes; 0: the method's
 * default.  Returns NULL or what is wrong, which may be in `why`.
 */
static const char *send_once(struct run *run, struct send_report *rep, const struct fileset *set,
			     size_t chunk, char why[DIE_MAX])
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
	if (error == NULL && run_is_short(&res->sent))
		warn_short(rep);
	report_end(rep, res, error);
	transfer_close(&t);
	if (stop <= 0) {
		/* Until the next run, where nothing waits, a signal just ends the program. */
		catch_stop_signals_waiting(SIG_DFL, NULL);
		sigprocmask(SIG_SETMASK, &run->unblocked, NULL);
	}
	return error;
}

/* Sends the files once for each size of a list.  Returns NULL or what is wrong. */
static const char *send_all(struct run *run, struct send_report *rep, char **names, int n,
			    char why[DIE_MAX])
{
	const char *error = NULL;
	struct fileset set;
	int i;

	fileset_open(&set, names, n, opt.streams, opt.raw);
	run_soak(run);
	for (i = 0; (i == 0 || i < opt.chunks.n) && error == NULL && stop <= 0; i++)
		error = send_once(run, rep, &set, opt.chunks.size[i], why);
	fileset_close(&set);
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

enum { OPT_CONGESTION = 256, OPT_FORCE, OPT_WARMUP, OPT_PACE, OPT_MSS, OPT_TIMEOUT, OPT_REQUEST };

static const struct option longopts[] = {
	{"server", required_argument, NULL, 's'},
	{"port", required_argument, NULL, 'p'},
	{"loops", required_argument, NULL, 'n'},
	{"time", required_argument, NULL, 't'},
	{"warmup", required_argument, NULL, OPT_WARMUP},
	{"interval", required_argument, NULL, 'I'},
	{"streams", required_argument, NULL, 'P'},
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
	{"calibration", required_argument, NULL, 'f'},
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
	"       zcc -C [-N nr_cpus] [-f file]\n"
	"Sends files to zcs over TCP; says how fast, and with -c what it cost this host.\n"
	"Without files it sends a built-in set, 63 files of 350 KiB in memory.\n"
	"\n"
	"  -s, --server host      where zcs runs: a name, an IPv4 or IPv6 address; 0 is this host\n"
	"  -p, --port port        its port (default 2222; --request 7890)\n"
	"  -n, --loops n          send the file set this many times (default 1 for files)\n"
	"  -t, --time secs        send it over and over for this long (default 10 for the\n"
	"                         built-in set)\n"
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
	"  -c, --cpu-load         measure this host's CPU load during the transfer; without a\n"
	"                         calibration the idle host is measured for 1 s before and after\n"
	"  -f, --calibration file the calibration that -c reads and -C writes (default\n"
	"                         ./counts_per_sec; one that does not fit is ignored)\n"
	"  -C, --calibrate        calibrate for -c on the idle system, and exit\n"
	"      --force            with -C: also when the machine is busy\n"
	"  -N, --cpus n           how many CPUs to measure (default: all that are online)\n"
	"\n"
	"      --json             the report as JSON, named as iperf3 names it\n"
	"  -q, --quiet            only the report's first line; no warning of a short transfer\n"
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
	case 'P': opt.streams = (int)arg_int("-P, --streams", optarg, 1, STREAMS_MAX); break;
	case 'm': opt.method = method_named(optarg); break;
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
	case 'f': opt.calibration = optarg; break;
	case OPT_FORCE: given->force = true; break;
	case 'N': opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX); break;
	case 'q': opt.quiet = true; break;
	case 'd': opt.debug++; break;
	case 'h': report("%s", help); exit(EXIT_SUCCESS);
	case 'V': report("zcc %s\n", VERSION); exit(EXIT_SUCCESS);
	default: usage_exit(); /* getopt_long(3) has named it */
	}
}

/* What the options mean together. */
static void settle_options(const struct given *given, bool files)
{
	const bool requests = opt.requests.n > 0;
	struct cpus online;

	cpus_to_soak(opt.n_cpus, &online); /* rejects an -N that cannot be */
	if (given->calibrate && opt.json)
		usage_error("-C, --calibrate and --json cannot be used together");
	if (given->calibrate)
		return;
	if (opt.calibration != NULL && !opt.load)
		usage_error("-f, --calibration: only with -c or -C");
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
	if (opt.loops == 0 && opt.seconds <= 0 && !requests && !files)
		opt.seconds = BUILTIN_SECONDS;
	if (opt.loops == 0)
		opt.loops = requests ? REQUESTS : 1;
	if (opt.raw && opt.warmup > 0)
		usage_error("--warmup and --raw exclude each other: only zcs knows of a warm-up");
	if (opt.loops >= WIRE_FOREVER - warmup_loops(opt.warmup))
		usage_error("-n, --loops: too many with a --warmup");
	if ((given->send || given->write) && opt.method != NULL)
		usage_error("-%c and -m, --method exclude each other", given->send ? 'S' : 'w');
	if (opt.method == NULL)
		opt.method = method_named(given->write  ? "write"
					  : given->send ? "send"
							: "sendfile");
}

int main(int argc, char **argv)
{
	static const char letters[] = "s:p:n:t:I:P:m:Swb:ki:o:46B:cCf:N:qdhV";
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
	settle_options(&given, optind < argc);
	if (given.calibrate && optind < argc)
		usage_error("-C, --calibrate takes no files: '%s'", argv[optind]);
	if (given.calibrate) {
		calibrate_or_die(opt.n_cpus,
				 opt.calibration != NULL ? opt.calibration : CALIBRATION_FILE,
				 given.force);
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
