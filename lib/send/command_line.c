#include "lib/send/command_line.h"

#include <getopt.h>
#include <limits.h>

#include "lib/net/wire.h"
#include "lib/send/arguments.h"
#include "lib/send/sender.h"
#include "lib/send/plan.h"
#include "lib/send/transfer.h"

#define REQUEST_TIMEOUT 60  /* seconds, unless --timeout is given */
#define REQUESTS        100 /* connections of each size, unless -n is given, as in 1999 */
#define BUILTIN_SECONDS 10  /* that the built-in set is sent for: a pass over it lasts 10 ms */
#define CHUNK_ODD       (10u << 20) /* bytes: a -b this large may be meant as iperf3's rate */
#define PRECISE_ROUNDS  30          /* at most, with --precision, unless -r is given */

enum {
	OPT_CONGESTION = 256,
	OPT_BIND,
	OPT_BIND_DEV,
	OPT_CONTENT,
	OPT_DSCP,
	OPT_MPTCP,
	OPT_NODELAY,
	OPT_RAW,
	OPT_FORCE,
	OPT_PACE,
	OPT_TIMEOUT,
	OPT_WAIT,
	OPT_IDLE,
	OPT_ON_CPUS,
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
	{"nodelay", no_argument, NULL, OPT_NODELAY},
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
	{"raw", no_argument, NULL, OPT_RAW},
	{"request", required_argument, NULL, OPT_REQUEST},
	{"bind-cpu", required_argument, NULL, 'B'},
	{"cpu-load", no_argument, NULL, 'c'},
	{"calibrate", no_argument, NULL, 'C'},
	{"calibration", required_argument, NULL, 'f'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"cpus", required_argument, NULL, 'N'},
	{"wait", required_argument, NULL, OPT_WAIT},
	{"idle", no_argument, NULL, OPT_IDLE},
	{"on-cpus", required_argument, NULL, OPT_ON_CPUS},
	{"json", no_argument, NULL, 'J'},
	{"quiet", no_argument, NULL, 'q'},
	{"title", required_argument, NULL, 'T'},
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
	{"-F", "files to send are arguments: zcc -s HOST FILE..."},
	{"--file", "files to send are arguments: zcc -s HOST FILE..."},
	{"--cport", "the kernel chooses the source port; the address is --bind"},
	{"--tos", "the type of service is --dscp, divided by four"},
	{"--fq-rate", "limit the rate of each stream with --pace, in bytes per second"},
	{"--logfile", "the report is on standard output: zcc ... >FILE"},
	{"--get-server-output", "the report has both ends already"},
	{"-v", "the version is -V, --version"},
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
	"combination is a run, with -c --idle unsoaked and soaked; all are a round:\n"
	"  -r, --runs=N                repeat the round N times (default 5 with a list)\n"
	"      --precision=PERCENT     repeat the round until each cost is known to\n"
	"                              +-PERCENT, twice in a row: 5 to 30 rounds\n"
	"      --save=FILE             add the figures of all runs to FILE\n"
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
	"                              seconds (default 0: never; --request 60)\n"
	"\n"
	"CPU load:\n"
	"  -c, --cpu-load              measure the CPU load of this host during the\n"
	"                              transfer by soaking: what it takes from other\n"
	"                              work; without a calibration zcc also measures the\n"
	"                              idle host, before and after\n"
	"      --idle                  measure it by the CPUs' idle time: how busy the\n"
	"                              transfer makes a machine of its own; nothing is\n"
	"                              soaked\n"
	"  -f, --calibration=FILE      read the calibration from FILE, or with -C write\n"
	"                              it there (default ./counts_per_sec, unless it\n"
	"                              does not fit this host)\n"
	"  -C, --calibrate             calibrate on the idle host, which takes 4 to 10\n"
	"                              seconds, and exit\n"
	"      --force                 with -C, calibrate even if the host is busy\n"
	"  -N, --cpus=N                measure the first N CPUs (default: all online)\n"
	"      --on-cpus=LIST          measure these CPUs, such as 0-3,64-67\n"
	"      --wait=SECS             wait up to SECS seconds for another program that\n"
	"                              measures a load on this host to end; after that\n"
	"                              measure no load (default 2)\n"
	"\n"
	"Output:\n"
	"  -I, --interval=SECS         print a line every SECS seconds (default 0: none)\n"
	"  -J, --json                  print the report as JSON, with iperf3's names\n"
	"  -T, --title=TEXT            print TEXT in the report, as a label\n"
	"  -q, --quiet                 print only the first line of the report, and with\n"
	"                              --request the stalls, if there are any\n"
	"  -d, --debug                 print more on stderr; given twice, each file\n"
	"  -h, --help                  print this text and exit\n"
	"  -V, --version               print the version and exit\n"
	"\n"
	"SIZE and RATE take a suffix k, m or g: KiB, MiB or GiB (kb, mb or gb: powers of\n"
	"1000), and SECS s, m or h.  In the report's first line kbytes/sec is KiB/s, the\n"
	"unit of the lines below: 1024 bytes per second.\n"
	"\n"
	"Exit status: 0 if all was sent and received, 1 if the transfer failed or a FILE\n"
	"was skipped, 2 if the command line is wrong.\n"
	"\n"
	"Examples:\n"
	"  zcc -s receiver -t 10               send for 10 seconds, print the throughput\n"
	"  zcc -c -s receiver -t 10 -m send    the same by send(), with load and cost\n"
	"\n"
	"The manual is zcc(1); zc(7) explains the method.\n";

/*
 * Single options.
 */

/* What was given, where the settings that follow from it do not say so. */
struct given {
	bool send, write, sendfile;
	bool content;
	bool wait;
	bool length;  /* -l was given, which cannot be meant as a rate */
	bool timeout; /* --timeout was given, which may be 0 */
};

static void parse_load_option(struct send_options *opt, int c, struct given *given)
{
	switch (c) {
	case 'c': opt->gauge.soak = true; break;
	case 'C': opt->calibrate = true; break;
	case 'f': opt->gauge.file = arg_file("-f, --calibration", optarg); break;
	case OPT_FORCE: opt->force = true; break;
	case 'N': opt->gauge.n_cpus = arg_first_cpus("-N, --cpus", optarg); break;
	case OPT_IDLE: opt->gauge.idle = true; break;
	case OPT_ON_CPUS: arg_cpus("--on-cpus", optarg, &opt->gauge.on); break;
	case OPT_WAIT:
		given->wait = true;
		opt->gauge.wait = arg_seconds("--wait", optarg, 0, 86400);
		break;
	}
}

static void parse_option(struct send_options *opt, int c, struct given *given)
{
	switch (c) {
	case 's': opt->server = arg_host("-s, --server", optarg, &opt->port, 1); break;
	case 'p': opt->port = arg_port("-p, --port", optarg, 1); break;
	case 'n': opt->loops = arg_loops("-n, --loops", optarg); break;
	case 't': opt->seconds = arg_time("-t, --time", optarg); break;
	case 'O': /* in the unit of the wire, so that both ends warm up equally long */
		opt->warmup = ceil(arg_seconds("--warmup", optarg, 0, WARMUP_MAX) * 10 - 1e-6) / 10;
		break;
	case 'I': opt->interval = arg_seconds_or_none("-I, --interval", optarg, 0.01, 86400); break;
	case 'P': arg_streams("-P, --streams", optarg, &opt->compare.streams); break;
	case 'r':
		opt->compare.rounds = (int)arg_int("-r, --runs", optarg, 1, PLAN_ROUNDS_MAX);
		break;
	case OPT_PRECISION: opt->compare.precision = arg_percent("--precision", optarg, 100); break;
	case OPT_SAVE: opt->compare.save = arg_file("--save", optarg); break;
	case OPT_AGAINST: opt->compare.against = arg_file("--against", optarg); break;
	case 'm': arg_methods("-m, --method", optarg, &opt->compare); break;
	case 'S': given->send = true; break;
	case 'w': given->write = true; break;
	case 'Z': given->sendfile = true; break;
	case 'b':
	case 'l':
		given->length = c == 'l';
		arg_chunks("-b, --buffer-size", optarg, &opt->chunks);
		break;
	case 'k': opt->cork = true; break;
	case OPT_NODELAY: opt->nodelay = true; break;
	case 'i': opt->sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30); break;
	case 'o': opt->sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30); break;
	case 'M': opt->mss = (int)arg_size("--mss", optarg, 88, 32767); break; /* the kernel's */
	case OPT_PACE: opt->pace = arg_size("--pace", optarg, 1, 1ull << 50); break;
	case OPT_CONGESTION: opt->sock.congestion = optarg; break;
	case OPT_BIND: opt->source = arg_host("--bind", optarg, NULL, 0); break;
	case OPT_BIND_DEV: opt->sock.device = arg_device("--bind-dev", optarg); break;
	case OPT_CONTENT:
		given->content = true;
		opt->zeros = arg_content("--content", optarg);
		break;
	case OPT_DSCP: opt->sock.dscp = (int)arg_int("--dscp", optarg, 0, 63); break;
	case OPT_MPTCP: opt->sock.mptcp = true; break;
	case OPT_TIMEOUT:
		given->timeout = true;
		opt->timeout = arg_seconds_or_none("--timeout", optarg, 0.001, 86400);
		break;
	case OPT_RAW: opt->raw = true; break;
	case OPT_REQUEST: arg_requests("--request", optarg, &opt->requests); break;
	case '4': arg_family(&opt->family, AF_INET); break;
	case '6': arg_family(&opt->family, AF_INET6); break;
	case 'B': arg_cpus("-B, --bind-cpu", optarg, &opt->bind); break;
	case 'J': opt->json = true; break;
	case 'q': opt->quiet = true; break;
	case 'T': opt->title = optarg; break;
	case 'd': opt->debug++; break;
	default: parse_load_option(opt, c, given);
	}
}

/*
 * What the user may have meant otherwise, and options together.
 */

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

	if (letter > UCHAR_MAX || optarg != NULL || word == NULL || !is_number(word) ||
	    !is_missing(word))
		return;
	for (i = 0; i < sizeof(meant) / sizeof(meant[0]); i++)
		if (strcmp(meant[i].option, name) == 0)
			hint = meant[i].hint;
	usage_error("%s takes no argument, and there is no file '%s'%s", name, word, hint);
}

/* No server was given: `word`, which may be NULL, is the first argument that is not an option. */
static _Noreturn void reject_no_server(const struct send_options *opt, const char *word)
{
	if (word != NULL && is_missing(word))
		usage_error("-s, --server: no server given: did you mean -s %s?%s", word,
			    gauge_is_wanted(&opt->gauge) ? " (-c measures the CPU load)" : "");
	usage_error("-s, --server: no server given (0 is this host): try 'zcc --help'");
}

/* Warns of values that iperf3's users mean otherwise. */
static void warn_of_letters(const struct send_options *opt, const struct given *given)
{
	sock_warn_rcvbuf(&opt->sock);
	if (opt->chunks.n == 1 && opt->chunks.size[0] >= CHUNK_ODD && opt->pace == 0 &&
	    !given->length)
		warnx("-b, --buffer-size: each call is to send up to %" PRIu64
		      " bytes; for a rate use --pace",
		      opt->chunks.size[0]);
}

/* Of what is not given there is one value; a plan has PLAN_ROUNDS rounds, and one run alone has one. */
static void settle_comparison(struct send_options *opt, const struct given *given)
{
	struct compare_options *c = &opt->compare;
	int runs;

	if (c->n_methods == 0)
		c->method[c->n_methods++] = method_named(given->write  ? "write"
							 : given->send ? "send"
								       : "sendfile");
	if (c->streams.n == 0)
		c->streams = (struct sizes){.n = 1, .size = {1}};
	c->instruments = opt->gauge.soak && opt->gauge.idle;
	runs = options_runs(opt);
	c->wanted = runs > 1 || c->rounds > 0 || c->precision > 0 || c->save != NULL ||
		    c->against != NULL;
	if (opt->requests.n > 0 && c->wanted)
		usage_error("--request cannot be combined with lists of methods, sizes or streams, "
			    "-c with --idle, --runs, --precision, --save and --against");
	if (runs > PLAN_RUNS_MAX)
		usage_error("a comparison of %d runs: more than %d", runs, PLAN_RUNS_MAX);
	if (c->rounds == 0)
		c->rounds = c->precision > 0 ? PRECISE_ROUNDS : c->wanted ? PLAN_ROUNDS : 1;
	options_choose_run(opt, 0);
}

/*
 * Checks the options together and sets defaults.  `word` is the first argument that is not an
 * option, or NULL.
 */
static void settle_options(struct send_options *opt, const struct given *given, const char *word)
{
	const int how = given->send ? 'S' : given->write ? 'w' : 'Z';
	const bool requests = opt->requests.n > 0;

	gauge_check_cpus(&opt->gauge);
	if (opt->calibrate && opt->json)
		usage_error("-C, --calibrate and --json cannot be used together");
	if (opt->calibrate)
		return;
	if (opt->gauge.file != NULL && !opt->gauge.soak)
		usage_error("-f, --calibration: only with -c or -C");
	if (given->wait && !opt->gauge.soak)
		usage_error("--wait: only with -c or -C");
	if (opt->port == NULL)
		opt->port = requests ? REQUEST_PORT : WIRE_PORT;
	if (opt->server[0] == '\0')
		reject_no_server(opt, word);
	if (opt->seconds > 0 && opt->loops > 0)
		usage_error("-n, --loops and -t, --time cannot be used together");
	if (requests && (opt->raw || opt->warmup > 0 || opt->interval > 0 || opt->chunks.n > 0))
		usage_error("--request cannot be combined with --raw, --warmup, --interval or "
			    "--buffer-size");
	if (requests && !given->timeout)
		opt->timeout = REQUEST_TIMEOUT;
	if (opt->loops == 0 && opt->seconds <= 0 && !requests && word == NULL)
		opt->seconds = BUILTIN_SECONDS;
	if (opt->loops == 0)
		opt->loops = requests ? REQUESTS : 1;
	if (given->content && (word != NULL || requests))
		usage_error("--content is of the built-in set, which %s does not send",
			    requests ? "--request" : "zcc with files");
	if (opt->raw && opt->warmup > 0)
		usage_error(
			"--warmup and --raw cannot be used together: only zcs supports a warm-up");
	if (opt->loops >= WIRE_FOREVER - warmup_loops(opt->warmup))
		usage_error("-n, --loops: too many with a --warmup");
	if ((given->send || given->write || given->sendfile) && opt->compare.n_methods > 0)
		usage_error("-%c and -m, --method cannot be used together", how);
	if ((given->send || given->write) && given->sendfile)
		usage_error("-%c and -Z cannot be used together", how);
	settle_comparison(opt, given);
	warn_of_letters(opt, given);
	if (requests && strcmp(opt->port, WIRE_PORT) == 0)
		warnx("--request: a zcs at port " WIRE_PORT
		      " answers only if it has --reply, which "
		      "listens at port " REQUEST_PORT " by default");
}

/* Rejects arguments that are not options where there can be none, and a `-` among the files. */
static void reject_files(const struct send_options *opt, char **files)
{
	if (opt->calibrate && *files != NULL)
		usage_error(
			"-C, --calibrate takes no files: '%s' (congestion control: --congestion)",
			*files);
	if (!opt->calibrate && opt->requests.n > 0 && *files != NULL)
		usage_error("--request sends no files: '%s'", *files);
	for (; *files != NULL; files++)
		arg_file("FILE", *files);
}

bool command_line_parse(struct send_options *opt, int argc, char **argv)
{
	static const char letters[] = ":s:p:n:t:O:I:P:r:m:SwZb:l:ki:o:M:46B:cCf:N:T:JqdhV";
	struct given given = {0};
	int c;

	while ((c = option_next(argc, argv, letters, longopts, hints)) != -1) {
		if (c == 'h')
			report("%s", help);
		if (c == 'V')
			report("zcc %s\n", VERSION);
		if (c == 'h' || c == 'V')
			return false;
		parse_option(opt, c, &given);
		reject_stray_number(c, argv[optind]);
	}
	settle_options(opt, &given, argv[optind]);
	reject_files(opt, argv + optind);
	return true;
}
