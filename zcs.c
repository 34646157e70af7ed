/*
 * zcs: receives what zcc sends, any number of clients at once, and reports how fast.  This file
 * has the options and the order of events; lib/receive has the parts.
 */
#include <getopt.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "lib/load/limits.h"
#include "lib/receive/reply.h"
#include "lib/receive/server.h"

static struct receive_options opt = {
	.method = receive_methods,
	.max_reply = 16 * 1024 * 1024,
	.max_clients = 1000,
	.idle_timeout = 60,
	.family = AF_UNSPEC,
	.interval = 5,
};

static _Atomic int stop;              /* the signal that ends the program */
static _Atomic uint64_t continued_ns; /* when a stop (SIGSTOP) last ended; 0: never */

static void on_signal(int sig)
{
	if (sig == SIGCONT)
		continued_ns = now_ns();
	else
		stop = sig;
}

/* Prints on stderr how many lines were omitted from it. */
static void warn_at_end(const struct context *x)
{
	if (x->places.log.left_out > 0)
		note("%ju line%s about clients %s omitted in all", x->places.log.left_out,
		     plural(x->places.log.left_out), x->places.log.left_out == 1 ? "was" : "were");
}

/* Opens all that needs privileges; returns the listener. */
static int open_all(struct context *x)
{
	struct rlimit files;
	int listener;

	if (opt.json)
		environment_read(&x->report.environment);
	/* Before it listens: clients do not wait for this. */
	if (gauge_is_wanted(&opt.gauge))
		meter_start_or_die(&x->meter, &opt.gauge);
	/* Each client is a descriptor. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	listener = listen_or_die(&opt);
	cpus_try_or_die(&opt.bind);
	x->group.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->group.wake < 0)
		die_errno("eventfd");
	return listener;
}

static int run(struct context *x)
{
	const struct sigaction continued = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char name[ADDR_STRLEN];
	sigset_t unblocked;
	int listener = open_all(x), status;

	if (opt.user != NULL)
		privileges_drop_or_die(opt.user);
	if (!opt.reply)
		receiver_try_or_die(opt.method);
	catch_stop_signals_waiting(on_signal, &unblocked);
	sigaction(SIGCONT, &continued, NULL);
	/* With `-p 0` only the kernel knows the port. */
	if (!opt.quiet && getsockname(listener, (struct sockaddr *)&ss, &len) == 0)
		warnx("listening on %s", addr_format((struct sockaddr *)&ss, len, name));
	if (opt.reply)
		serve_replies(x, listener, &unblocked);
	else
		serve(x, listener, &unblocked);
	status = x->report.failed || (opt.once && x->group.failed) ? EXIT_FAILURE : EXIT_SUCCESS;
	/*
	 * Clients that are late still use what a return would free, and exit(3) would wait for a
	 * stderr that one of them has locked and cannot write.  The soakers end by themselves.
	 */
	if (x->group.n == 0 || ftrylockfile(stderr) == 0)
		warn_at_end(x);
	if (x->group.n > 0)
		_exit(status);
	meter_stop(&x->meter);
	close(x->group.wake);
	return status;
}

/*
 * Options.
 */

enum {
	OPT_MAX_REPLY = 256,
	OPT_MAX_CLIENTS,
	OPT_IDLE_TIMEOUT,
	OPT_ALLOW,
	OPT_BIND,
	OPT_BIND_DEV,
	OPT_MPTCP,
	OPT_USER,
	OPT_IDLE,
	OPT_ON_CPUS
};

static const struct option longopts[] = {
	{"port", required_argument, NULL, 'p'},
	{"once", no_argument, NULL, '1'},
	{"method", required_argument, NULL, 'm'},
	{"raw", no_argument, &opt.raw, true},
	{"reply", no_argument, &opt.reply, true},
	{"max-reply", required_argument, NULL, OPT_MAX_REPLY},
	{"max-clients", required_argument, NULL, OPT_MAX_CLIENTS},
	{"idle-timeout", required_argument, NULL, OPT_IDLE_TIMEOUT},
	{"allow", required_argument, NULL, OPT_ALLOW},
	{"bind", required_argument, NULL, OPT_BIND},
	{"bind-dev", required_argument, NULL, OPT_BIND_DEV},
	{"mptcp", no_argument, NULL, OPT_MPTCP},
	{"user", required_argument, NULL, OPT_USER},
	{"idle", no_argument, NULL, OPT_IDLE},
	{"on-cpus", required_argument, NULL, OPT_ON_CPUS},
	{"interval", required_argument, NULL, 'I'},
	{"json", no_argument, NULL, 'J'},
	{"quiet", no_argument, NULL, 'q'},
	{"buffer-size", required_argument, NULL, 'b'},
	{"rcvbuf", required_argument, NULL, 'i'},
	{"sndbuf", required_argument, NULL, 'o'},
	{"bind-cpu", required_argument, NULL, 'B'},
	{"cpu-load", no_argument, NULL, 'c'},
	{"calibration", required_argument, NULL, 'f'},
	{"cpus", required_argument, NULL, 'N'},
	{"debug", no_argument, NULL, 'd'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* Options of iperf3 that zcs lacks. */
static const struct option_hint hints[] = {
	{"-s", "zcs is the server: run it without -s"},
	{"--server", "zcs is the server: run it without --server"},
	{"-D", "zcs stays in the foreground: run it with &, or as a service"},
	{"--daemon", "zcs stays in the foreground: run it with &, or as a service"},
	{"--one-off", "to serve one client use -1, --once"},
	{"-A", "the CPUs to run on are -B, --bind-cpu"},
	{"--affinity", "the CPUs to run on are -B, --bind-cpu"},
	{NULL, NULL},
};

static const char help[] =
	"Usage: zcs [OPTION...]\n"
	"Receive what zcc sends over TCP, from any number of clients at once, and print\n"
	"the throughput; with -c, also the CPU load and what each KiB cost.\n"
	"\n"
	"How to receive:\n"
	"  -m, --method=METHOD      one of read (default), recv, trunc, splice, uring;\n"
	"                           trunc discards the data without copying them\n"
	"  -b, --buffer-size=SIZE   bytes per call (default 256k; trunc and splice 2m;\n"
	"                           uring 64k)\n"
	"      --raw                expect no headers: count what any TCP client sends\n"
	"      --reply              answer zcc --request: send as many bytes as each\n"
	"                           client asks for\n"
	"      --max-reply=SIZE     drop a client that asks for more (default 16m)\n"
	"  -B, --bind-cpu=CPUS      run on CPU 2, or on a list such as 0,2-5: one CPU\n"
	"                           for each client, in turn (default: any CPU)\n"
	"\n"
	"Clients:\n"
	"  -1, --once               exit when the first client, and all that came while\n"
	"                           one was connected, have left\n"
	"      --allow=PREFIXES     serve only clients of these addresses, such as\n"
	"                           192.0.2.0/24,::1; repeatable (default: all clients)\n"
	"      --max-clients=N      serve at most N clients at a time (default 1000)\n"
	"      --idle-timeout=SECS  drop a client that is silent for SECS seconds\n"
	"                           (default 60; 0: never)\n"
	"\n"
	"Connection:\n"
	"  -p, --port=PORT          listen on this port (default 2222; --reply 7890); 0\n"
	"                           for any free port, which zcs prints\n"
	"      --bind=ADDRESS       listen on this address (default: all addresses)\n"
	"      --bind-dev=DEVICE    serve only what arrives by this interface\n"
	"      --mptcp              accept Multipath TCP, besides TCP\n"
	"  -4, -6                   listen on IPv4 only, or on IPv6 only (default: both)\n"
	"  -i, --rcvbuf=SIZE        set SO_RCVBUF (default: the kernel's autotuning)\n"
	"  -o, --sndbuf=SIZE        set SO_SNDBUF (default: the kernel's autotuning)\n"
	"      --user=USER          drop privileges to USER after start-up (root only)\n"
	"\n"
	"CPU load:\n"
	"  -c, --cpu-load           measure the CPU load of this host while there are\n"
	"                           clients by soaking: what they take from other work;\n"
	"                           without a calibration by cyclesoak -C, zcs measures\n"
	"                           the idle host first\n"
	"      --idle               measure it by the CPUs' idle time: how busy they\n"
	"                           make a machine of its own; nothing is soaked\n"
	"  -f, --calibration=FILE   read the calibration from FILE (default\n"
	"                           ./counts_per_sec, unless it does not fit this host)\n"
	"  -N, --cpus=N             measure the first N CPUs (default: all online)\n"
	"      --on-cpus=LIST       measure these CPUs, such as 0-3,64-67\n"
	"\n"
	"Output:\n"
	"  -I, --interval=SECS      print a line every SECS seconds while data arrive\n"
	"                           (default 5; 0: none)\n"
	"  -J, --json               print one JSON object for each group of clients\n"
	"  -q, --quiet              print only summaries\n"
	"  -d, --debug              print more on stderr: each client that connects\n"
	"  -h, --help               print this text and exit\n"
	"  -V, --version            print the version and exit\n"
	"\n"
	"SIZE takes a suffix k, m or g: KiB, MiB or GiB (kb, mb or gb: powers of 1000),\n"
	"and SECS s, m or h.  In reports kbytes/sec is KiB/s: 1024 bytes per second.\n"
	"\n"
	"Exit status: 0 if a signal or -1 ended zcs, 1 if it failed, or with -1 if a\n"
	"client failed, 2 if the command line is wrong.\n"
	"\n"
	"Examples:\n"
	"  zcs -c                   serve all clients, and measure the CPU load\n"
	"  zcs -1 -q -p 5201        serve one client on port 5201, and print its figures\n"
	"\n"
	"The manual is zcs(1); zc(7) explains the method.\n";

static void parse_option(int c)
{
	switch (c) {
	case 0: break; /* getopt_long(3) has stored it */
	case 'p': opt.port = arg_port("-p, --port", optarg, 0); break;
	case '1': opt.once = true; break;
	case 'm':
		opt.method = receive_methods + arg_name("-m, --method", optarg, receive_methods,
							receive_methods_n,
							sizeof(receive_methods[0]));
		break;
	case OPT_MAX_REPLY: opt.max_reply = arg_size("--max-reply", optarg, 0, 1ull << 32); break;
	case OPT_MAX_CLIENTS:
		opt.max_clients = (int)arg_int("--max-clients", optarg, 1, 1000000);
		break;
	case OPT_IDLE_TIMEOUT:
		opt.idle_timeout = arg_seconds("--idle-timeout", optarg, 0, 86400);
		break;
	case OPT_ALLOW:
		if (strchr(optarg, '%') != NULL)
			usage_error(
				"--allow: '%s' has a zone: give the address without %%ZONE, and "
				"the interface with --bind-dev",
				optarg);
		if (!allow_add(&opt.allow, optarg))
			usage_error("--allow: '%s' is not address[/bits][,...], "
				    "such as 192.0.2.0/24,2001:db8::/32",
				    optarg);
		break;
	case OPT_BIND: opt.address = arg_host("--bind", optarg, &opt.port, 0); break;
	case OPT_BIND_DEV: opt.sock.device = arg_device("--bind-dev", optarg); break;
	case OPT_MPTCP: opt.sock.mptcp = true; break;
	case OPT_USER: opt.user = optarg; break;
	case OPT_IDLE: opt.gauge.idle = true; break;
	case OPT_ON_CPUS: arg_cpus("--on-cpus", optarg, &opt.gauge.on); break;
	case 'I': opt.interval = arg_seconds_or_none("-I, --interval", optarg, 0.01, 86400); break;
	case 'J': opt.json = true; break;
	case 'q': opt.quiet = true; break;
	case 'b': opt.buffer = (size_t)arg_size("-b, --buffer-size", optarg, 1, 1u << 30); break;
	case 'i': opt.sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30); break;
	case 'o': opt.sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30); break;
	case '4': arg_family(&opt.family, AF_INET); break;
	case '6': arg_family(&opt.family, AF_INET6); break;
	case 'B': arg_cpus("-B, --bind-cpu", optarg, &opt.bind); break;
	case 'c': opt.gauge.soak = true; break;
	case 'f': opt.gauge.file = arg_file("-f, --calibration", optarg); break;
	case 'N': opt.gauge.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX); break;
	case 'd': opt.debug = true; break;
	case 'h': report("%s", help); exit(EXIT_SUCCESS);
	case 'V': report("zcs %s\n", VERSION); exit(EXIT_SUCCESS);
	}
}

int main(int argc, char **argv)
{
	struct context x = {
		.opt = &opt,
		.stop = &stop,
		.report = {.opt = &opt,
			   .stop = &stop,
			   .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP},
		.places = {.opt = &opt,
			   .log.lock = PTHREAD_MUTEX_INITIALIZER,
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .all = TAILQ_HEAD_INITIALIZER(x.places.all),
			   .continued_ns = &continued_ns},
		.counters.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int c;

	init_program(&stop);
	while ((c = option_next(argc, argv, ":p:1m:b:I:Jqi:o:46B:cf:N:dhV", longopts, hints)) != -1)
		parse_option(c);
	if (optind < argc)
		usage_error("'%s': zcs takes no arguments, only options: try 'zcs --help'",
			    argv[optind]);
	gauge_check_cpus(&opt.gauge);
	if (opt.reply && (opt.once || opt.raw))
		usage_error("--reply cannot be combined with --once or --raw");
	if (opt.gauge.soak && opt.gauge.idle)
		usage_error("-c and --idle cannot be used together: start two zcs on two ports");
	if (opt.gauge.file != NULL && !opt.gauge.soak)
		usage_error("-f, --calibration: only with -c");
	sock_warn_rcvbuf(&opt.sock);
	if (opt.port == NULL)
		opt.port = opt.reply ? REQUEST_PORT : WIRE_PORT;
	die_init(report_fail, &x.report);
	return run(&x);
}
