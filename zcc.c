/*
 * zcc: sends files to zcs over TCP, or requests bytes of it, and reports what that cost both hosts.
 */
#include <getopt.h>
#include <limits.h>

#include "common.h"
#include "lib/load/calibration.h"
#include "lib/net/wire.h"
#include "lib/send/comparison.h"
#include "lib/send/request.h"
#include "lib/send/sender.h"
#include "lib/send/transfer.h"

#define STREAMS_MAX     1024
#define REQUEST_TIMEOUT 60   /* seconds, unless --timeout is given */
#define REQUESTS        100  /* connections of each size, unless -n is given, as in 1999 */
#define BUILTIN_SECONDS 10   /* that the built-in set is sent for: a pass over it lasts 10 ms */
#define RCVBUF_ODD      1024 /* bytes: a smaller -i may be meant as iperf3's interval */
#define CHUNK_ODD       (10u << 20) /* bytes: a -b this large may be meant as iperf3's rate */
#define METHODS_MAX     16          /* of a list */
#define PRECISE_ROUNDS  30          /* at most, with --precision, unless -r is given */

static struct send_options opt = {.server = ""};

/* The lists of which each combination is a run of a plan, and how often they are run. */
static struct {
	int n_methods;
	const struct send_method *method[METHODS_MAX];
	struct sizes streams;
	bool wanted;      /* there is more than one run, or an option that only a comparison has */
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
 * default.  The figures go to run i of the plan.  Returns NULL or what is wrong, which may be in
 * `why`.
 */
static const char *send_once(struct run *run, struct send_report *rep, const struct fileset *set,
			     size_t chunk, struct plan *plan, int i, char why[DIE_MAX])
{
	struct transfer t = {.opt = &opt, .set = set, .run = run, .report = rep};
	const struct send_result *res = &t.result;
	const char *error = NULL;

	/* A signal ends this, too: the server may take minutes to answer. */
	if (stop > 0 || !transfer_open(&t, chunk)) {
		if (opt.json)
			report_die(rep, "interrupted");
		return "interrupted";
	}
	catch_signals(&run->unblocked);
	report_start(rep, res->target, res);
	transfer_run(&t);
	if (!t.measuring && stop <= 0)
		die("everything was sent before the warm-up ended: send more (-n, -t)");
	if (!t.measuring) {
		report_die(rep, "interrupted");
		warnx("interrupted before the warm-up ended: nothing was measured");
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
	if (error == NULL)
		plan_add(plan, i, res);
	transfer_close(&t);
	/* Until the next run a signal only sets `stop`, and interrupts connect(2). */
	if (stop <= 0)
		sigprocmask(SIG_SETMASK, &run->unblocked, NULL);
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
	const struct send_method *method = compare.method[0];
	size_t chunk;
	int i;

	plan_open(plan, runs_of_plan(), compare.rounds);
	for (i = 0; i < plan->n; i++) {
		chunk = choose_run(i);
		if (opt.method != NULL) /* always: each list has a value */
			method = opt.method;
		plan->run[i].chunk = method_chunk(method, chunk, opt.streams);
		plan->run[i].streams = opt.streams;
		snprintf(plan->run[i].method, sizeof(plan->run[i].method), "%s", method->name);
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
	comparison.environment = &rep->environment;
	for (i = 0; i < compare.streams.n; i++)
		if (streams < (int)compare.streams.size[i])
			streams = (int)compare.streams.size[i];
	fileset_open(&set, names, n, streams, opt.raw, opt.zeros);
	run_soak(run);
	rep->is_comparison = compare.wanted;
	rep->comparison = compare.wanted ? &comparison : NULL;
	error = send_rounds(run, rep, &set, &plan, why);
	rep->comparison = NULL;
	if (stop <= 0) {
		/* Nothing waits any more: a signal just ends the program, also while it prints. */
		catch_stop_signals_waiting(SIG_DFL, NULL);
		sigprocmask(SIG_SETMASK, &run->unblocked, NULL);
	}
	/* In JSON the last object has the error. */
	if (rep->is_comparison && plan.rounds > 0 && (error == NULL || !opt.json))
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
	OPT_BIND,
	OPT_BIND_DEV,
	OPT_CONTENT,
	OPT_DSCP,
	OPT_MPTCP,
	OPT_FORCE,
	OPT_PACE,
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
	{"warmup", required_argument, NULL, 'O'},
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
	{"mss", required_argument, NULL, 'M'},
	{"pace", required_argument, NULL, OPT_PACE},
	{"congestion", required_argument, NULL, OPT_CONGESTION},
	{"bind", required_argument, NULL, OPT_BIND},
	{"bind-dev", required_argument, NULL, OPT_BIND_DEV},
	{"dscp", required_argument, NULL, OPT_DSCP},
	{"mptcp", no_argument, NULL, OPT_MPTCP},
	{"content", required_argument, NULL, OPT_CONTENT},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"raw", no_argument, &opt.raw, true},
	{"request", required_argument, NULL, OPT_REQUEST},
	{"bind-cpu", required_argument, NULL, 'B'},
	{"cpu-load", no_argument, NULL, 'c'},
	{"calibrate", no_argument, NULL, 'C'},
	{"calibration", required_argument, NULL, 'f'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"cpus", required_argument, NULL, 'N'},
	{"json", no_argument, NULL, 'J'},
	{"quiet", no_argument, NULL, 'q'},
	{"debug", no_argument, NULL, 'd'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* Options of iperf3 that zcc lacks. */
static const struct option_hint hints[] = {
	{"-R", "there is no reverse mode: run zcs here and zcc there"},
	{"--reverse", "there is no reverse mode: run zcs here and zcc there"},
	{"--bidir", "zcc only sends: run zcs and zcc on both hosts"},
	{"-u", "zcc sends over TCP only"},
	{"--udp", "zcc sends over TCP only"},
	{"--client", "the server is -s HOST"},
	{"--bitrate", "limit the rate of each stream with --pace, in bytes per second"},
	{"--bandwidth", "limit the rate of each stream with --pace, in bytes per second"},
	{"--window", "the socket buffers are --rcvbuf and --sndbuf"},
	{"--length", "the bytes per call are --buffer-size"},
	{"--parallel", "the number of connections is --streams"},
	{"--omit", "the warm-up is --warmup"},
	{"--set-mss", "the largest segment is --mss"},
	{"--no-delay", "TCP_NODELAY is --nodelay"},
	{"--zerocopy", "sendfile() is the default; MSG_ZEROCOPY is -m zerocopy"},
	{"-A", "the CPUs to run on are -B, --bind-cpu"},
	{"--affinity", "the CPUs to run on are -B, --bind-cpu"},
	{NULL, NULL},
};

static const char help[] =
	"Usage: zcc [OPTION...] -s HOST [FILE...]\n"
	"       zcc [OPTION...] -s HOST --request=SIZE\n"
	"       zcc -C [--force] [-N N] [-f FILE]\n"
	"Send files to zcs over TCP and print the throughput; with -c, also the CPU load\n"
	"and what each KiB cost.  Without FILE, zcc sends a built-in set: 63 files of\n"
	"350 KiB in memory.\n"
	"\n"
	"What to send:\n"
	"  -n, --loops=N               send all files N times (default 1 with FILE)\n"
	"  -t, --time=SECS             send all files over and over for SECS seconds\n"
	"                              (default 10 without FILE)\n"
	"  -O, --warmup=SECS           send for SECS seconds first; neither end counts\n"
	"                              these (default 0)\n"
	"  -P, --streams=N             open N connections; each sends all files\n"
	"                              (default 1)\n"
	"      --content=WHAT          fill the built-in set with random bytes (the\n"
	"                              default) or with zeros, which a link may compress\n"
	"      --raw                   send no headers and expect no receipt: for a\n"
	"                              server that is not zcs\n"
	"      --request=SIZE          send no files: open short connections, each of\n"
	"                              which asks a zcs --reply for SIZE bytes: -n of\n"
	"                              them (default 100), or for -t seconds, and -P at\n"
	"                              a time; a list such as 10,1k,64k is measured one\n"
	"                              size after the other\n"
	"\n"
	"How to send:\n"
	"  -m, --method=METHOD         one of sendfile (default), send, write, mmap,\n"
	"                              splice, zerocopy, uring, uring-zc\n"
	"  -S, --send                  call read() and send(): the same as -m send\n"
	"  -w, --write                 call read() and write(): the same as -m write\n"
	"  -Z                          call sendfile(): the same as -m sendfile\n"
	"  -b, -l, --buffer-size=SIZE  bytes per call (default 64k; sendfile and splice\n"
	"                              1m; mmap 4m, which the streams share); for a\n"
	"                              rate see --pace\n"
	"  -B, --bind-cpu=CPUS         run on CPU 2, or on a list such as 0,2-5: one CPU\n"
	"                              for each stream, in turn (default: any CPU)\n"
	"\n"
	"Comparison: -m, -b and -P take lists, such as -m sendfile,send -b 4k,64k.  Each\n"
	"combination is a run; all of them in turn are a round:\n"
	"  -r, --runs=N                repeat the round N times (default 3 with a list)\n"
	"      --precision=PERCENT     repeat it until half of the interval of each cost\n"
	"                              is at most PERCENT of it, 30 times at most\n"
	"      --save=FILE             keep the figures of all runs in FILE\n"
	"      --against=FILE          compare with the figures that --save has kept\n"
	"\n"
	"Connection:\n"
	"  -s, --server=HOST           the host that runs zcs: a name, an IPv4 or IPv6\n"
	"                              address, or 0 for this host; required\n"
	"  -p, --port=PORT             the server's port (default 2222; --request 7890)\n"
	"  -4, -6                      use IPv4 only, or IPv6 only (default: either)\n"
	"      --bind=ADDRESS          connect from this address of the host\n"
	"      --bind-dev=DEVICE       use this interface only (SO_BINDTODEVICE)\n"
	"      --mptcp                 use Multipath TCP, which zcs --mptcp accepts\n"
	"      --dscp=NUMBER           mark packets with this DSCP, 0 to 63 (default 0)\n"
	"  -k, --cork                  set TCP_CORK until all files are sent\n"
	"      --nodelay               set TCP_NODELAY\n"
	"  -i, --rcvbuf=SIZE           set SO_RCVBUF (default: the kernel's autotuning)\n"
	"  -o, --sndbuf=SIZE           set SO_SNDBUF (default: the kernel's autotuning)\n"
	"  -M, --mss=BYTES             set TCP_MAXSEG, the largest segment (default: the\n"
	"                              kernel's choice)\n"
	"      --pace=RATE             limit each stream to RATE bytes per second\n"
	"                              (default: no limit)\n"
	"      --congestion=ALGORITHM  set congestion control (default: the system's)\n"
	"      --timeout=SECS          fail if the server acknowledges nothing for SECS\n"
	"                              seconds (default: never; --request 60)\n"
	"\n"
	"CPU load:\n"
	"  -c, --cpu-load              measure the CPU load of this host during the\n"
	"                              transfer; without a calibration zcc also measures\n"
	"                              the idle host, for a second before and after\n"
	"  -f, --calibration=FILE      read the calibration from FILE, or with -C write\n"
	"                              it there (default ./counts_per_sec, unless it\n"
	"                              does not fit this host)\n"
	"  -C, --calibrate             calibrate on the idle host, which takes 4 to 10\n"
	"                              seconds, and exit\n"
	"      --force                 with -C, calibrate even if the host is busy\n"
	"  -N, --cpus=N                measure the first N CPUs (default: all online)\n"
	"\n"
	"Output:\n"
	"  -I, --interval=SECS         print a line every SECS seconds (default: none)\n"
	"  -J, --json                  print the report as JSON, with iperf3's names\n"
	"  -q, --quiet                 print only the first line of the report\n"
	"  -d, --debug                 print more on stderr; given twice, each file\n"
	"  -h, --help                  print this text and exit\n"
	"  -V, --version               print the version and exit\n"
	"\n"
	"SIZE and RATE take a suffix k, m or g: KiB, MiB or GiB.\n"
	"\n"
	"Exit status: 0 if all was sent and received, 1 if the transfer failed, 2 if the\n"
	"command line is wrong.\n"
	"\n"
	"Examples:\n"
	"  zcc -s receiver -t 10               send for 10 seconds, print the throughput\n"
	"  zcc -c -s receiver -t 10 -m send    the same by send(), with load and cost\n"
	"\n"
	"The manual is zcc(1); zc(7) explains the method.\n";

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

/* Parses the argument: how often to send all files.  iperf3's users give bytes. */
static uint32_t arg_loops(const char *name)
{
	const size_t digits = strspn(optarg, "0123456789");
	uint64_t bytes;

	if (optarg[digits] != '\0' && parse_size(optarg, &bytes) == NULL)
		usage_error("%s: '%s' is not a whole number: zcc sends all files N times, or with "
			    "-t for a time",
			    name, optarg);
	return (uint32_t)arg_int(name, optarg, 1, WIRE_FOREVER - 1);
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

/* Parses the argument.  Returns whether the content is zeros. */
static bool arg_content(void)
{
	if (strcmp(optarg, "zeros") != 0 && strcmp(optarg, "random") != 0)
		usage_error("--content: '%s' is neither random nor zeros", optarg);
	return strcmp(optarg, "zeros") == 0;
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
	bool send, write, sendfile, calibrate, force;
	bool content;
	bool length; /* -l was given, which cannot be meant as a rate */
};

static void parse_option(int c, struct given *given)
{
	switch (c) {
	case 0: break; /* getopt_long(3) has stored it */
	case 's': opt.server = optarg; break;
	case 'p': opt.port = arg_port("-p, --port", optarg, 1); break;
	case 'n': opt.loops = arg_loops("-n, --loops"); break;
	case 't': opt.seconds = arg_seconds("-t, --time", optarg, 0.001, 1e9); break;
	case 'O': /* in the unit of the wire, so that both ends warm up equally long */
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
	case 'Z': given->sendfile = true; break;
	case 'b':
	case 'l':
		given->length = c == 'l';
		arg_sizes("-b, --buffer-size", 1, 1u << 30, &opt.chunks);
		break;
	case 'k': opt.cork = true; break;
	case 'i': opt.sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30); break;
	case 'o': opt.sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30); break;
	case 'M': opt.mss = (int)arg_size("--mss", optarg, 88, 32767); break; /* the kernel's */
	case OPT_PACE: opt.pace = arg_size("--pace", optarg, 1, 1ull << 50); break;
	case OPT_CONGESTION: opt.sock.congestion = optarg; break;
	case OPT_BIND: opt.source = optarg; break;
	case OPT_BIND_DEV: opt.sock.device = arg_device("--bind-dev", optarg); break;
	case OPT_CONTENT:
		given->content = true;
		opt.zeros = arg_content();
		break;
	case OPT_DSCP: opt.sock.dscp = (int)arg_int("--dscp", optarg, 0, 63); break;
	case OPT_MPTCP: opt.sock.mptcp = true; break;
	case OPT_TIMEOUT: opt.timeout = arg_seconds("--timeout", optarg, 0.001, 86400); break;
	case OPT_REQUEST: arg_sizes("--request", 0, UINT32_MAX, &opt.requests); break;
	case '4': arg_family(&opt.family, AF_INET); break;
	case '6': arg_family(&opt.family, AF_INET6); break;
	case 'B': arg_cpus("-B, --bind-cpu", optarg, &opt.bind); break;
	case 'c': opt.load = true; break;
	case 'C': given->calibrate = true; break;
	case 'f': opt.calibration = optarg; break;
	case OPT_FORCE: given->force = true; break;
	case 'N':
		if (optarg[0] == '-')
			usage_error("-N, --cpus: '%s' is not a whole number: for TCP_NODELAY use "
				    "--nodelay",
				    optarg);
		opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX);
		break;
	case 'J': opt.json = true; break;
	case 'q': opt.quiet = true; break;
	case 'd': opt.debug++; break;
	case 'h': report("%s", help); exit(EXIT_SUCCESS);
	case 'V': report("zcc %s\n", VERSION); exit(EXIT_SUCCESS);
	}
}

static bool is_missing(const char *file)
{
	return access(file, F_OK) != 0 && errno == ENOENT;
}

/* Whether it is a number, which may have a suffix, such as 10, 256K, 1.5g or 0x10. */
static bool is_number(const char *s)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	strtod(s, &end);
	return *end == '\0' || (strchr("kKmMgGtT", *end) != NULL && end[1] == '\0');
}

/*
 * Rejects a number behind an option that takes no argument, unless there is a file of that name:
 * the user may have meant another program's option of the same letter.
 */
static void reject_stray_number(int letter, const char *word)
{
	static const struct option_hint meant[] = {
		{"-c", ": -c measures the CPU load, -s HOST is the server"},
		{"-k", ": -k sets TCP_CORK, and -n sends all files N times"},
		{"-S", ": -S is the method send, and the DSCP is --dscp"},
		{"-w", ": -w is the method write, and the socket buffers are -i and -o"},
	};
	const char name[] = {'-', (char)letter, '\0'}, *hint = "";
	size_t i;

	if (letter > UCHAR_MAX || letter == 0 || optarg != NULL || word == NULL ||
	    !is_number(word) || !is_missing(word))
		return;
	for (i = 0; i < sizeof(meant) / sizeof(meant[0]); i++)
		if (strcmp(meant[i].option, name) == 0)
			hint = meant[i].hint;
	usage_error("%s takes no argument, and there is no file '%s'%s", name, word, hint);
}

/* No server was given: `word`, which may be NULL, is the first argument that is not an option. */
static _Noreturn void reject_no_server(const char *word)
{
	if (word != NULL && is_missing(word))
		usage_error("-s, --server: no server given: did you mean -s %s?%s", word,
			    opt.load ? " (-c measures the CPU load)" : "");
	usage_error("-s, --server: no server given (0 is this host): try 'zcc --help'");
}

/* Warns of values that iperf3's users mean otherwise. */
static void warn_of_letters(const struct given *given)
{
	if (opt.sock.rcvbuf > 0 && opt.sock.rcvbuf < RCVBUF_ODD)
		warnx("-i, --rcvbuf: the receive buffer is to have %d bytes; for interval lines "
		      "use -I",
		      opt.sock.rcvbuf);
	if (opt.chunks.n == 1 && opt.chunks.size[0] >= CHUNK_ODD && opt.pace == 0 && !given->length)
		warnx("-b, --buffer-size: each call is to send up to %" PRIu64
		      " bytes; for a rate use --pace",
		      opt.chunks.size[0]);
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
	compare.wanted = runs_of_plan() > 1 || compare.rounds > 0 || compare.precision > 0 ||
			 compare.save != NULL || compare.against != NULL;
	if (requests && compare.wanted)
		usage_error("--request cannot be combined with lists of methods, sizes or streams, "
			    "--runs, --precision, --save and --against");
	if (runs_of_plan() > PLAN_RUNS_MAX)
		usage_error("a comparison of %d runs: more than %d", runs_of_plan(), PLAN_RUNS_MAX);
	if (compare.rounds == 0)
		compare.rounds = compare.precision > 0 ? PRECISE_ROUNDS
				 : compare.wanted      ? PLAN_ROUNDS
						       : 1;
	choose_run(0);
}

/*
 * Checks the options together and sets defaults.  `word` is the first argument that is not an
 * option, or NULL.
 */
static void settle_options(const struct given *given, const char *word)
{
	const int how = given->send ? 'S' : given->write ? 'w' : 'Z';
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
		reject_no_server(word);
	if (opt.seconds > 0 && opt.loops > 0)
		usage_error("-n, --loops and -t, --time cannot be used together");
	if (requests && (opt.raw || opt.warmup > 0 || opt.interval > 0 || opt.chunks.n > 0))
		usage_error("--request cannot be combined with --raw, --warmup, --interval or "
			    "--buffer-size");
	if (requests && opt.timeout <= 0)
		opt.timeout = REQUEST_TIMEOUT;
	if (opt.loops == 0 && opt.seconds <= 0 && !requests && word == NULL)
		opt.seconds = BUILTIN_SECONDS;
	if (opt.loops == 0)
		opt.loops = requests ? REQUESTS : 1;
	if (given->content && (word != NULL || requests))
		usage_error("--content is of the built-in set, which %s does not send",
			    requests ? "--request" : "zcc with files");
	if (opt.raw && opt.warmup > 0)
		usage_error(
			"--warmup and --raw cannot be used together: only zcs supports a warm-up");
	if (opt.loops >= WIRE_FOREVER - warmup_loops(opt.warmup))
		usage_error("-n, --loops: too many with a --warmup");
	if ((given->send || given->write || given->sendfile) && compare.n_methods > 0)
		usage_error("-%c and -m, --method cannot be used together", how);
	if ((given->send || given->write) && given->sendfile)
		usage_error("-%c and -Z cannot be used together", how);
	settle_comparison(given);
	warn_of_letters(given);
}

int main(int argc, char **argv)
{
	static const char letters[] = ":s:p:n:t:O:I:P:r:m:SwZb:l:ki:o:M:46B:cCf:N:JqdhV";
	struct send_report rep = {.opt = &opt};
	struct given given = {0};
	char why[DIE_MAX];
	const char *error;
	struct run run;
	int c;

	init_program(&stop);
	die_init(report_die, &rep);
	while ((c = option_next(argc, argv, letters, longopts, hints)) != -1) {
		parse_option(c, &given);
		reject_stray_number(c, argv[optind]);
	}
	settle_options(&given, argv[optind]);
	if (given.calibrate && optind < argc)
		usage_error(
			"-C, --calibrate takes no files: '%s' (congestion control: --congestion)",
			argv[optind]);
	if (given.calibrate) {
		calibrate_or_die(opt.n_cpus,
				 opt.calibration != NULL ? opt.calibration : CALIBRATION_FILE,
				 given.force);
		return EXIT_SUCCESS;
	}
	if (opt.requests.n > 0 && optind < argc)
		usage_error("--request sends no files: '%s'", argv[optind]);
	if (opt.json || opt.debug > 0)
		environment_read(&rep.environment);
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
