#include "lib/send/options.h"

#include "lib/base/texts.h"
#include "lib/compare/rounds.h"
#include "lib/net/wire.h"
#include "lib/report/json.h"
#include "lib/report/words.h"
#include "lib/send/sender.h"

#define LOOPS_MAX       (WIRE_FOREVER - 1 - 10 * WARMUP_MAX) /* a warm-up of 0.1 s is a loop */
#define REQUEST_TIMEOUT 60  /* seconds, unless --timeout is given */
#define REQUESTS        100 /* connections of each size, unless -n is given, as in 1999 */
#define BUILTIN_SECONDS 10  /* that the built-in set is sent for: a pass over it lasts 10 ms */
#define STREAMS_MAX     1024
#define CHUNK_MOST      100000000u        /* bytes of a call: more were meant as a rate */
#define PACED_BYTES     (2.0 * 64 * 1024) /* two segments as long as the kernel makes them */

/*
 * Arguments that only zcc has.
 */

/* Either end's address: of the server, also the port where it is behind the address. */
static void take_host(const struct option_row *o, char *text, void *to)
{
	struct send_options *opt = to;
	const bool is_own = strcmp(o->name, "bind") == 0;

	*(is_own ? &opt->source : &opt->server) = arg_host(o, text, is_own ? NULL : &opt->port);
}

/* -m; -S, -w and -Z have no argument.  In 2001 -w came with -S. */
/* NOLINTNEXTLINE(readability-non-const-parameter): a row has functions of one type */
static void take_method(const struct option_row *o, char *text, void *to)
{
	const struct send_method **method = to;

	if (text == NULL && *method != NULL && o->letters[0] != 'w')
		return;
	if (text == NULL)
		text = o->name != NULL ? (char *)o->name : "sendfile";
	*method = &send_methods[method_place(text)];
}

/*
 * The table.
 */

#define AT(kind, member)             OPTION_AT(struct send_options, kind, member)
#define TAKE(kind, member, function) OPTION_TAKE(struct send_options, kind, member, function)

static const struct option_row rows[] = {
	{.help = "Usage: zcc [OPTION...] -s HOST [FILE...]\n"
		 "       zcc [OPTION...] -s HOST --request=SIZE\n"
		 "       zcc -C [-N N] [-f FILE]\n"
		 "       zcc --compare OLD NEW\n"
		 "Send files to zcs over TCP and print the throughput; with --idle or -c, also\n"
		 "the CPU load and what each KiB cost.  Without FILE, zcc sends a built-in set:\n"
		 "63 files of 350 KiB in memory.\n"
		 "\n"
		 "What to send:\n"},
	{"n", "loops", "N", "send all files N times (default 1 with FILE)", AT(INT, loops),
	 .min = 1, .max = LOOPS_MAX, .not_with = "--time"},
	{"t", "time", "SECS", "send the files for SECS seconds (default 10 without FILE)",
	 AT(SECONDS, seconds), .min = 0.001, .max = 1e9},
	{"", "bytes", "SIZE", "end after SIZE bytes of files, of all streams together",
	 AT(SIZE, bytes), .min = 1, .max = 1ull << 50, .not_with = "--loops --time --warmup"},
	{"O", "warmup", "SECS", "send for SECS seconds before the measurement begins (default 0)",
	 AT(SECONDS, warmup), .max = WARMUP_MAX, .not_with = "--raw"},
	{"P", "streams", "N", "open N connections (default 1); each sends all files",
	 AT(INT, streams), .is_list = 5, .min = 1, .max = STREAMS_MAX},
	{"", "raw", NULL, "send no headers and expect no receipt: for a server that is not zcs",
	 AT(FLAG, raw)},
	{"", "request", "SIZE",
	 "open connections that each ask a zcs --reply for SIZE bytes: -n of them (default 100), "
	 "or for -t seconds; of a list such as 10,1k one size after the other",
	 AT(SIZE, request), .is_list = 1, .is_one = true, .max = UINT32_MAX, .alone = true,
	 .not_with = "--raw --warmup --buffer-size --method --send --write -Z "
		     "--preload --bytes --cork"},
	{"", "keep", NULL,
	 "make all requests of a thread over one connection, to a zcs --reply --keep",
	 AT(FLAG, keep), .only_with = "--request"},
	{.help = "\nHow to send:\n"},
	{"m", "method", "METHOD",
	 "one of sendfile (default), send, write, mmap, splice, zerocopy, uring, uring-zc",
	 TAKE(TEXT, method, take_method), .is_list = 2, .not_with = "--send --write -Z"},
	{"S", "send", NULL, "call pread() and send(): the same as -m send",
	 TAKE(FLAG, method, take_method), .not_with = "-Z"},
	{"w", "write", NULL, "call pread() and write(): the same as -m write",
	 TAKE(FLAG, method, take_method), .not_with = "-Z"},
	{"Z", NULL, NULL, "call sendfile(): the same as -m sendfile",
	 TAKE(FLAG, method, take_method)},
	{"bl", "buffer-size", "SIZE",
	 "bytes per call (default 64k; sendfile, splice 1m; mmap 4m in all); a rate is --pace",
	 AT(SIZE, chunk), .is_list = 4, .min = 1, .max = 1u << 30},
	{"", "preload", NULL, "send the files from memory, by all methods with a buffer",
	 AT(FLAG, preload)},
	{"B", "bind-cpu", "CPUS",
	 "run on these CPUs, such as 0,2-5, one after the other (default: any)", AT(CPUS, bind)},
	{.help = "\n"
		 "Comparison: -m, -b, -P and -p take lists, such as -m sendfile,send -b 4k.  Each\n"
		 "combination is a run, with -c --idle unsoaked and soaked; all are a round:\n",
	 .is_neutral = true,
	 .is_shared = true},
	{"", "vs", "OPTIONS",
	 "one more run, with the options of this text over the others, such as --vs '-S -b 64k'; "
	 "may be repeated",
	 AT(TEXT, vs), .is_repeated = true, .not_with = "-C"},
	COMPARE_OPTIONS(struct send_options, compare),
	{"", "compare", "FILE",
	 "compare two files of --save (--compare OLD NEW), or the runs in one; send nothing",
	 AT(FILE, compare.compare),
	 .goes_with = "--compare --brief --fail-above --json --json-stream --quiet --debug"},
	{"", "brief", NULL, "print a block for a commit message: 75 columns, in Gbit/s",
	 AT(FLAG, compare.brief), .not_with = "--json --json-stream --quiet --dry-run"},
	{.help = "\nConnection:\n"},
	{"s", "server", "HOST", "the host that runs zcs: a name, an address, or 0 for this host",
	 OPTION_TEXT, .at = 0, .min = 1, .take = take_host},
	{"p", "port", "PORT",
	 "the server's port (default 2222; --request 7890); each of a list is a run",
	 AT(PORT, port), .is_list = 3, .is_neutral = true, .min = 1, .max = 65535},
	SOCK_OPTIONS(struct send_options),
	{"", "wait-server", "SECS", "wait up to SECS seconds until the server listens (default 0)",
	 AT(SECONDS, wait_server), .max = 86400},
	{"", "bind", "ADDRESS", "connect from this address of the host", OPTION_TEXT,
	 .take = take_host},
	{"", "cport", "PORT",
	 "connect from this port, further streams from the next ones, and further runs from "
	 "those behind them",
	 AT(INT, cport), .min = 1, .max = 65535, .is_shared = true},
	{"", "mptcp", NULL, "use Multipath TCP, which zcs --mptcp accepts", AT(FLAG, sock.mptcp)},
	{"", "dscp", "NUMBER", "mark packets with this DSCP, 0 to 63 (default 0)",
	 AT(INT, sock.dscp), .max = 63},
	{"k", "cork", NULL, "set TCP_CORK during each loop", AT(FLAG, cork)},
	{"", "nodelay", NULL, "set TCP_NODELAY", AT(FLAG, nodelay)},
	{"M", "mss", "BYTES", "set TCP_MAXSEG, the largest segment (default: the kernel's choice)",
	 AT(SIZE, mss), .min = 88, .max = 32767}, /* the kernel's bounds */
	{"", "pace", "RATE", "limit each stream to RATE bytes per second (default: no limit)",
	 AT(SIZE, pace), .min = 1, .max = 1ull << 50},
	{"", "congestion", "ALGORITHM", "set congestion control (default: the system's)",
	 AT(TEXT, sock.congestion)},
	{"", "timeout", "SECS",
	 "fail if the server acknowledges nothing for SECS seconds (default: never; --request 60)",
	 AT(SECONDS_OR_NONE, timeout), .min = 0.001, .max = 86400},
	{.help = "\nCPU load:\n"},
	GAUGE_INSTRUMENTS(struct send_options, NULL),
	{.help = "", .is_shared = true},
	{"", "profile", NULL,
	 "sample what the CPUs do, and print the CPU time of each KiB by parts: data copy, TCP/IP, "
	 "memory, ...",
	 AT(FLAG, gauge.profile), .only_with = "-c", .not_with = "--idle --calibration"},
	{"f", "calibration", "FILE",
	 "read the calibration from FILE, or with -C write it there (default ./counts_per_sec)",
	 AT(FILE, gauge.file), .only_with = "-c or -C"},
	{"C", "calibrate", NULL, "calibrate on the idle host, for 5 seconds, and exit",
	 AT(FLAG, calibrate), .alone = true,
	 .not_with = "--server --request --cpu-load --idle --json --json-stream"},
	GAUGE_CPUS(struct send_options, "-c or --idle or -C"),
	GAUGE_WAITS(struct send_options, "-c or -C", "-c or --idle"),
	{"", "retry", "N",
	 "repeat a run up to N times if it fails or its load is unsafe (default 0)",
	 AT(INT, compare.retries), .max = 1000},
	{.help = "\nOutput:\n", .is_neutral = true, .is_shared = true},
	{"I", "interval", "SECS", "print a line every SECS seconds (default 0: none)",
	 AT(SECONDS_OR_NONE, interval), .min = 0.01, .max = 86400},
	{"", "timestamps", NULL, "print the time of day before each interval", AT(FLAG, timestamps),
	 .only_with = "--interval"},
	{"J", "json", NULL, "print the report as JSON, with iperf3's names", AT(CONSTANT, json),
	 .min = JSON_OBJECTS},
	{"", "json-stream", NULL,
	 "print the report as a line of JSON for each event, as iperf3 does", AT(CONSTANT, json),
	 .min = JSON_EVENTS},
	{"T", "title", "TEXT", "print TEXT in the report, as a label", AT(TEXT, title)},
	{"q", "quiet", NULL, "print only the first line of the report, and the stalls of --request",
	 AT(FLAG, quiet)},
	{"d", "debug", NULL, "print more on stderr; given twice, each file", AT(COUNT, debug)},
	HELP_OPTIONS,
	{.help = "\n"
		 "SIZE and RATE take a suffix k, m, g or t: KiB to TiB (kb, mb, gb, tb: powers of\n"
		 "1000), and SECS s, m or h.  In the report's first line kbytes/sec is KiB/s, the\n"
		 "unit of the lines below: 1024 bytes per second.\n"
		 "\n"
		 "Exit status: 0 if all was sent and received, 1 if the transfer failed or a FILE\n"
		 "was skipped, 2 if the command line is wrong, 3 by --fail-above.\n"
		 "\n"
		 "Examples:\n"
		 "  zcc -s receiver -t 10               send for 10 seconds, print the throughput\n"
		 "  zcc --idle -s receiver -t 10        the same, with the load and the cost\n"},
	/* Options of 1.x. */
	{"", "content", .instead = "send a file of zeros: truncate -s 22m FILE"},
	{"", "force", .instead = "calibrate a busy host by cyclesoak -C --force"},
	{"", "profile-stacks",
	 .instead = "perf-record(1) has the stacks: see Why it costs more in zc-recipes(7)"},
	/* Options of iperf3 that zcc lacks. */
	{"R", "reverse", .instead = "there is no reverse mode: run zcs here and zcc there"},
	{"", "bidir", .instead = "zcc only sends: run zcs and zcc on both hosts"},
	{"u", "udp", .instead = "zcc sends over TCP only"},
	{"", "client", .instead = "the server is -s HOST"},
	{"", "bitrate", .instead = "the rate of each stream is --pace, in bytes per second"},
	{"", "window", .instead = "the socket buffers are --rcvbuf and --sndbuf"},
	{"", "length", .instead = "the bytes per call are --buffer-size"},
	{"", "parallel", .instead = "the number of connections is --streams"},
	{"", "omit", .instead = "the warm-up is --warmup"},
	{"F", "file", .instead = "files to send are arguments: zcc -s HOST FILE..."},
	{"", "zerocopy", .instead = "sendfile() is the default; MSG_ZEROCOPY is -m zerocopy"},
	{"A", "affinity", .instead = "the CPUs to run on are -B, --bind-cpu"},
	{"", "connect-timeout", .instead = "--timeout limits the time to connect, too, in seconds"},
	{"", "get-server-output",
	 .instead = "the report has the receiver's figures, and zcs prints its own"},
	{"", "logfile", .instead = "the report is standard output: zcc ... >FILE"},
	{"v", NULL, .instead = "the version is -V, --version"},
};

/*
 * Options together.
 */

/* One of the methods is to send from memory. */
static void check_preload(const struct send_options *opt)
{
	const struct given *g = option_given(&opt->given, "method");
	bool has_buffer = opt->method->has_buffer;
	int i;

	for (i = 0; g != NULL && i < g->n; i++)
		has_buffer |= send_methods[method_place(g->value[i])].has_buffer;
	if (opt->preload && !has_buffer)
		usage_error("--preload: -m %s sends from the file: use -m send, write, zerocopy, "
			    "uring or uring-zc",
			    opt->method->name);
}

/* Each stream of each run, or thread of requests, has a port of its own. */
static void check_ports(const struct send_options *opt)
{
	const struct compare_options *c = &opt->compare;
	struct send_options run;
	int64_t last = 0;
	int i;

	for (i = 0; i < opt->runs; i++) {
		options_of_run(opt, i, &run);
		last += run.streams;
	}
	last *= c->rounds;
	last += opt->cport - 1;
	if (opt->cport > 0 && last > UINT16_MAX)
		usage_error("--cport: the ports of all runs are %d to %" PRId64
			    ": there is none above %d",
			    opt->cport, last, UINT16_MAX);
}

/* Whether the runs are sizes of requests in one report, as nothing else asks for a comparison. */
static bool is_series(const struct send_options *opt)
{
	const struct given *sizes = option_given(&opt->given, "request");

	return sizes != NULL && opt->runs == sizes->n && opt->compare.fail_above <= 0 &&
	       !opt->compare.brief;
}

static void settle_comparison(struct send_options *opt)
{
	struct compare_options *c = &opt->compare;

	opt->runs = opt->n_words * (c->settings.n > 0 ? c->settings.n : 1);
	opt->gauge.own = c->settings.n > 0; /* a baseline is one of a setting */
	opt->compares = rounds_settle(c, is_series(opt) ? 1 : opt->runs);
	check_ports(opt);
	opt->quiet |= c->brief;
	if (c->brief && !opt->compares)
		usage_error("--brief: there is nothing to compare: give a list, -r or --against");
}

/* What users of iperf3 type, and do not mean here. */
static void warn_of_letters(const struct send_options *opt)
{
	sock_warn_of_interval(&opt->sock);
	if (opt->chunk >= CHUNK_MOST && option_given(&opt->given, "buffer-size")->n == 1)
		warnx("-b, --buffer-size: %" PRIu64 " bytes per call: a bit rate, as in iperf3, is "
		      "--pace, in bytes per second",
		      opt->chunk);
}

/* Sets the defaults of a transfer, or of requests, with that FILE. */
static void settle(struct send_options *opt, const char *file)
{
	const bool requests = opt->request != NO_REQUEST;

	if (opt->server[0] == '\0' && file != NULL && access(file, F_OK) != 0)
		usage_error("-s, --server: no server given: is it -s %s? (try 'zcc --help')", file);
	if (opt->server[0] == '\0')
		usage_error("-s, --server: no server given: 0 is this host (try 'zcc --help')");
	if (opt->port == NULL)
		opt->port = requests ? REQUEST_PORT : WIRE_PORT;
	if (opt->timeout < 0)
		opt->timeout = requests ? REQUEST_TIMEOUT : 0;
	/* At that rate the kernel may send nothing until two segments are due. */
	if (opt->timeout > 0 && opt->pace > 0)
		opt->timeout += PACED_BYTES / (double)opt->pace;
	if (opt->loops == 0 && opt->seconds <= 0 && opt->bytes == 0 && !requests && file == NULL)
		opt->seconds = BUILTIN_SECONDS;
	if (opt->loops == 0)
		opt->loops = requests ? REQUESTS : 1;
	/* In the unit of the wire, so that both ends warm up equally long. */
	opt->warmup = ceil(fmax(0, opt->warmup * 10 - 1e-6)) / 10;
	if (opt->method == NULL)
		opt->method = &send_methods[method_place("sendfile")];
	if (opt->tls != NULL && opt->method->lacks_tls)
		usage_error("-m %s and --tls cannot be used together: kernel TLS lacks it",
			    opt->method->name);
	if (opt->keep && opt->request == 0)
		usage_error("--keep: a request of 0 bytes has no reply");
}

static const struct send_options defaults = {.server = "",
					     .timeout = -1,
					     .gauge = {.wait = SOAK_WAIT},
					     .request = NO_REQUEST,
					     .streams = 1};

/* Splits the words of a run, which getopt_long(3) reads behind the name of the program. */
static char **split(const char *text, int *n)
{
	char *line, **word;

	if (asprintf(&line, "zcc %s", text) < 0)
		die_errno("options");
	word = words_split(line, n);
	if (word == NULL)
		usage_error("a quote or a \\ has no end");
	free(line);
	return word;
}

/* Stores the options of the command line with other words behind them. */
static void read_over(const struct send_options *all, char **word, int n, struct send_options *opt)
{
	*opt = defaults;
	opt->files = all->files;
	options_read_over(&USAGE("zcc", rows, false), &all->given, all->files[0], n, word, opt,
			  &opt->given);
	settle(opt, all->files[0]);
	if (!all->preload)
		check_preload(opt);
	/* The words displace the instrument of the line. */
	if (opt->gauge.soak && opt->gauge.idle && option_given(&all->given, "idle") != NULL) {
		opt->gauge.idle = 0;
		opt->given.option[option_row(&opt->given, "idle")].is_given = false;
	} else if (opt->gauge.idle) {
		opt->gauge.soak = false;
		opt->given.option[option_row(&opt->given, "cpu-load")].is_given = false;
	}
}

/* The same at the beginning, when what is wrong with the words is told.  Returns them split. */
static char **read_over_first(const struct send_options *all, const char *text, int *n,
			      struct send_options *opt)
{
	char place[DIE_MAX], **word;

	snprintf(place, sizeof(place), "--vs '%s'", text);
	die_about(place);
	word = split(text, n);
	read_over(all, word, *n, opt);
	if (word[1] == NULL)
		usage_error("there is no option: -r, --runs repeats all runs");
	die_about(NULL);
	return word;
}

/* Adds the runs of these words, which are over the command line `all`. */
static void add_runs(struct send_options *all, const struct send_options *opt, char *const *word,
		     const char *vs)
{
	const int runs = words_runs(&opt->given);
	struct run_words *r;
	struct send_options one;
	int i, k;

	if ((opt->request == NO_REQUEST) != (all->request == NO_REQUEST))
		usage_error("--vs '%s': either all runs make requests, or none", vs);
	if (runs > PLAN_RUNS_MAX)
		usage_error("a comparison of %d runs: more than %d", runs, PLAN_RUNS_MAX);
	all->words = reallocarray(all->words, (size_t)all->n_words + (size_t)runs, sizeof(*r));
	if (all->words == NULL)
		die_errno("options");
	for (i = 0; i < runs; i++) {
		r = &all->words[all->n_words];
		*r = (struct run_words){
			.text = words_of_run(&opt->given, word, i),
			.vs = vs,
			.reference = words_reference(&all->given, &opt->given, word, i),
			.soak = opt->gauge.soak,
			.idle = opt->gauge.idle};
		if (*word == NULL) /* they are of the line */
			r->reference = 0;
		for (k = 0; k < all->n_words; k++)
			if (strcmp(r->text, all->words[k].text) == 0)
				usage_error("--vs '%s' is given twice: -r, --runs repeats all runs",
					    r->text);
		/* One value of a list of --vs may be wrong. */
		r->word = *word != NULL ? read_over_first(all, r->text, &r->n, &one)
					: split(r->text, &r->n);
		all->n_words++;
	}
}

/* Stores the runs of the line, and of each --vs.  -c --idle stands for --idle --vs -c. */
static void read_runs(struct send_options *opt)
{
	struct given *soak = &opt->given.option[option_row(&opt->given, "cpu-load")];
	const struct given *vs = option_given(&opt->given, "vs");
	static char *none[] = {NULL};
	const bool both = opt->gauge.soak && opt->gauge.idle;
	struct send_options over;
	char **word;
	int i, n;

	if (both) {
		soak->is_given = false;
		opt->gauge.soak = false;
	}
	add_runs(opt, opt, none, NULL);
	for (i = both ? -1 : 0; i < (vs != NULL ? vs->n : 0); i++) {
		word = read_over_first(opt, i < 0 ? "-c" : vs->value[i], &n, &over);
		add_runs(opt, &over, word + 1, i < 0 ? NULL : vs->value[i]);
		free(word);
	}
	for (i = 0; i < opt->n_words; i++) {
		opt->gauge.soak |= opt->words[i].soak;
		opt->gauge.idle = opt->words[i].idle > 0 ? opt->words[i].idle : opt->gauge.idle;
	}
}

void options_of_run(const struct send_options *all, int i, struct send_options *opt)
{
	const struct run_words *r = &all->words[i % all->n_words];

	if (r->text[0] != '\0')
		read_over(all, r->word, r->n, opt);
	else
		*opt = *all;
	opt->setting = i / all->n_words;
	/* What all runs share, and the program may have changed since. */
	opt->compare = all->compare;
	opt->compares = all->compares;
	opt->debug = all->debug;
	opt->quiet = all->quiet;
	opt->gauge = all->gauge;
	opt->gauge.soak = r->soak;
	opt->gauge.idle = r->idle;
	opt->gauge.profile &= r->soak;
}

char *options_command(const struct send_options *opt)
{
	const struct option_row *heading = rows;
	const struct given *g;
	char *text, **file;
	size_t size;
	FILE *f = text_open_or_die(&text, &size, "options");

	words_add(f, "zcc");
	for (g = opt->given.option; g < opt->given.option + opt->given.n; g++) {
		heading = option_is_heading(g->row) ? g->row : heading;
		if (!g->is_given || heading->is_neutral)
			continue;
		words_add(f, g->row->optional && g->n > 0
				     ? text_of("--%s=%s", g->row->name, g->value[0])
				     : option_word(g->row));
		if (g->n > 0 && !g->row->optional)
			words_add(f, g->value[0]);
	}
	for (file = opt->files; *file != NULL; file++)
		words_add(f, *file);
	text_close_or_die(f, "options");
	return text;
}

/* The value that the command line has of an option, given or not; NULL: none. */
static const char *value_of(const struct send_options *opt, const struct given *g)
{
	if (g->row->at == offsetof(struct send_options, method))
		return opt->method->name;
	if (g->is_given && g->n > 0)
		return g->value[0];
	if (g->row->at == offsetof(struct send_options, streams))
		return "1";
	return g->row->at == offsetof(struct send_options, port) ? opt->port : NULL;
}

/* Whether words set an option, or one that sets the same. */
static bool words_set(const struct send_options *of, const struct send_options *line, int option)
{
	const struct given *own, *g = &line->given.option[option];
	int k;

	for (k = 0; k < line->given.n; k++) {
		own = &of->given.option[k];
		if ((k == option || (g->row->at > 0 && own->row->at == g->row->at)) &&
		    (own->is_given != line->given.option[k].is_given ||
		     own->value != line->given.option[k].value))
			return true;
	}
	return false;
}

/* -S, -w and -Z are values of -m. */
char *options_name(const struct send_options *all)
{
	struct send_options of;
	bool *is_set = alloc_or_die((size_t)all->given.n, sizeof(*is_set), "options");
	const struct given *g;
	const char *value;
	char *text;
	size_t size;
	FILE *f = text_open_or_die(&text, &size, "options");
	int i, k;

	for (i = 1; i < all->n_words; i++) {
		options_of_run(all, i, &of);
		for (k = 0; k < all->given.n; k++)
			is_set[k] |= words_set(&of, all, k);
	}
	for (k = 0; k < all->given.n; k++) {
		g = &all->given.option[k];
		value = value_of(all, g);
		if (!is_set[k] || g->row->kind == OPTION_NONE ||
		    (g->row->placeholder == NULL && value != NULL) ||
		    (value == NULL && !g->is_given))
			continue;
		words_add(f, option_word(g->row));
		if (value != NULL)
			words_add(f, value);
	}
	if (ftell(f) == 0 && all->request != NO_REQUEST)
		fprintf(f, "--request %s", option_given(&all->given, "request")->value[0]);
	else if (ftell(f) == 0)
		fprintf(f, "-m %s", all->method->name);
	text_close_or_die(f, "options");
	free(is_set);
	return text;
}

/* Checks options of which one concerns others, and those of --vs. */
static void check(struct send_options *opt, const char *file)
{
	settle(opt, file);
	warn_of_letters(opt);
	check_preload(opt);
	read_runs(opt);
	settle_comparison(opt);
	if (opt->request != NO_REQUEST && strcmp(opt->port, WIRE_PORT) == 0)
		warnx("--request: a zcs at port " WIRE_PORT
		      " answers only if it has --reply, which listens at port " REQUEST_PORT
		      " by default");
}

int options_parse(struct send_options *opt, int argc, char **argv)
{
	int first;

	*opt = defaults;
	opt->command = words_join(argv);
	first = options_read(&USAGE("zcc", rows, false), argc, argv, opt, &opt->given);
	opt->files = argv + first;
	(void)gauge_cpus(&opt->gauge);
	if (opt->compare.compare != NULL && argc - first > 1)
		usage_error("--compare: more than two files: --compare OLD NEW");
	opt->compares = opt->compare.compare != NULL;
	if (opt->compares) {
		opt->compare.against = argc > first ? opt->compare.compare : NULL;
		opt->compare.save = argc > first ? argv[first] : opt->compare.compare;
	} else if (!opt->calibrate) {
		check(opt, argv[first]);
	}
	return first;
}
