/*
 * zcs: receives what zcc sends, from any number of clients at once, and reports how fast.  This file
 * has the options and the order of events; lib/receive has the parts.
 */
#include <sys/eventfd.h>
#include <sys/un.h>

#include "lib/base/program.h"
#include "lib/net/tls.h"
#include "lib/receive/group.h"
#include "lib/report/usage.h"

static struct receive_options opt = {
	.method = receive_methods,
	.max_reply = 16 * 1024 * 1024,
	.max_clients = 1000,
	.idle_timeout = 60,
	.family = AF_UNSPEC,
	.interval = 5,
	.gauge = {.parks = true, .wait = SOAK_WAIT},
};

static _Atomic int stop; /* the signal that ends the program */

/* The second one ends it at once: it may be waiting for who reads its report. */
static void on_signal(int sig)
{
	if (stop > 0)
		die_of_signal(sig);
	stop = sig;
}

/* Opens everything that needs privileges; returns the listener. */
static int open_all(struct context *x)
{
	int listener;

	boot_read(x->boot);
	environment_read(&x->report.environment);
	gauge_warn(&opt.gauge);
	/* Before it listens: clients do not wait for this. */
	if (gauge_is_wanted(&opt.gauge))
		meter_start_or_die(&x->meter, &opt.gauge);
	files_allow_most(); /* each client is a descriptor */
	listener = listen_or_die(&opt);
	cpus_try_or_die(&opt.bind);
	x->group.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->group.wake < 0)
		die_errno("eventfd");
	return listener;
}

#define NOTIFY_SECONDS 1 /* in which the service manager has to take the message */

/* Tells the service manager, if there is one, that clients can connect: sd_notify(3). */
static void notify_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const size_t len = path != NULL ? strlen(path) : 0;
	int fd;

	if (len < 2)
		return;
	if (len >= sizeof(to.sun_path)) {
		warnx("NOTIFY_SOCKET %s: %s", printable(path), strerror(ENAMETOOLONG));
		return;
	}
	memcpy(to.sun_path, path, len);
	if (*path == '@') /* an abstract name */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sock_set_timeout(fd, NOTIFY_SECONDS) != 0 ||
	    sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&to,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		warnx("NOTIFY_SOCKET %s: %s", printable(path), strerror(errno));
	if (fd >= 0)
		close(fd);
}

static int run(struct context *x)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	sigset_t unblocked;
	int listener = open_all(x), status;
	const char *why;

	if (opt.user != NULL)
		privileges_drop_or_die(opt.user);
	if (!opt.reply)
		receiver_try_or_die(opt.method);
	why = opt.tls != NULL ? tls_try(opt.tls) : NULL;
	if (why != NULL)
		die("--tls: %s", why);
	catch_stop_signals_waiting(on_signal, &unblocked);
	notify_ready();
	/* With `-p 0` only the kernel knows the port. */
	if (!opt.quiet && getsockname(listener, (struct sockaddr *)&ss, &len) == 0)
		warnx("listening on %s", addr_format((struct sockaddr *)&ss, len));
	pthread_mutex_lock(&x->report.lock);
	x->report.intervals = (struct intervals){.period = opt.interval,
						 .timestamps = opt.timestamps,
						 .requests = opt.reply,
						 .load = gauge_is_wanted(&opt.gauge)};
	if (opt.reply)
		serve_replies(x, listener, &unblocked);
	else
		serve(x, listener, &unblocked);
	/* Clients that are still connected have not sent all. */
	x->group.failed |= x->group.n > 0;
	status = x->report.failed || (opt.once && x->group.failed) ? EXIT_FAILURE : EXIT_SUCCESS;
	note_omitted(x->places.log.omitted);
	/* The threads of such clients still use what the program has.  The soakers end by themselves. */
	if (x->group.n > 0)
		exit(status);
	meter_stop(&x->meter);
	return status;
}

/*
 * Options.
 */

#define AT(kind, member)             OPTION_AT(struct receive_options, kind, member)
#define TAKE(kind, member, function) OPTION_TAKE(struct receive_options, kind, member, function)

static void take_method(const struct option_row *o, char *text, void *to)
{
	(void)o;
	*(const struct receive_method **)to =
		&receive_methods[arg_name("-m, --method", text, receive_methods, receive_methods_n,
					  sizeof(receive_methods[0]))];
}

static void take_prefixes(const struct option_row *o, char *text, void *to)
{
	if (!allow_add(to, text))
		option_error(o,
			     "'%s' is not address[/bits][,...], such as "
			     "192.0.2.0/24,2001:db8::/32, without a %%ZONE",
			     text);
}

/* The address to listen on, and the port if the argument has one. */
static void take_address(const struct option_row *o, char *text, void *to)
{
	struct receive_options *all = to;

	all->address = arg_host(o, text, &all->port);
}

static const struct option_row rows[] = {
	{.help = "Usage: zcs [OPTION...]\n"
		 "Receive what zcc sends over TCP, from any number of clients at once, and print\n"
		 "the throughput; with --idle or -c, also the CPU load and what each KiB cost.\n"
		 "\n"
		 "How to receive:\n"},
	{"m", "method", "METHOD",
	 "one of read (default), recv, trunc, splice, zerocopy, uring; trunc discards the data "
	 "without copying them, zerocopy maps them (TCP_ZEROCOPY_RECEIVE)",
	 TAKE(TEXT, method, take_method)},
	{"b", "buffer-size", "SIZE",
	 "bytes per call (default 256k; trunc, splice and zerocopy 2m; uring 64k)",
	 AT(SIZE, buffer), .min = 1, .max = 1u << 30},
	{"", "raw", NULL, "expect no headers: count what any TCP client sends", AT(FLAG, raw)},
	{"", "reply", NULL, "answer zcc --request: send as many bytes as each client asks for",
	 AT(FLAG, reply), .not_with = "--once --raw --method --buffer-size"},
	{"", "keep", NULL, "answer until the client closes, not once: for zcc --request --keep",
	 AT(FLAG, keep), .only_with = "--reply"},
	{"", "max-reply", "SIZE", "drop a client that asks for more (default 16m)",
	 AT(SIZE, max_reply), .max = 1ull << 32, .only_with = "--reply"},
	{"B", "bind-cpu", "CPUS",
	 "run each client's thread on the next of these CPUs, such as 2 or 0,2-5 (default: any)",
	 AT(CPUS, bind)},
	{.help = "\nClients:\n"},
	{"1", "once", NULL, "serve the first client and all that overlap it, then exit",
	 AT(FLAG, once)},
	{"", "allow", "PREFIXES",
	 "serve only clients of these addresses, such as 192.0.2.0/24,::1; repeatable (default: all "
	 "clients)",
	 TAKE(TEXT, allow, take_prefixes)},
	{"", "max-clients", "N", "serve at most N clients at a time (default 1000)",
	 AT(INT, max_clients), .min = 1, .max = 1000000},
	{"", "idle-timeout", "SECS",
	 "drop a client that is silent for SECS seconds (default 60; 0: never)",
	 AT(SECONDS, idle_timeout), .max = 86400},
	{.help = "\nConnection:\n"},
	{"p", "port", "PORT",
	 "listen on this port (default 2222; --reply 7890); 0 for any free port, which zcs prints",
	 AT(PORT, port), .max = 65535},
	{"", "bind", "ADDRESS", "listen on this address (default: all addresses)", OPTION_TEXT,
	 .at = 0, .take = take_address},
	SOCK_OPTIONS(struct receive_options),
	{"", "mptcp", NULL, "accept Multipath TCP, besides TCP", AT(FLAG, sock.mptcp)},
	{"", "user", "USER", "drop privileges to USER after start-up (root only)", AT(TEXT, user)},
	{.help = "\nCPU load:\n"},
	GAUGE_INSTRUMENTS(struct receive_options, "--idle"),
	{"", "profile", NULL,
	 "sample what the CPUs do while there are clients, for the parts of zcc --profile",
	 AT(FLAG, gauge.profile), .only_with = "-c", .not_with = "--idle --calibration"},
	{"f", "calibration", "FILE",
	 "read the calibration from FILE (default ./counts_per_sec, unless it does not fit this "
	 "host)",
	 AT(FILE, gauge.file), .only_with = "-c"},
	GAUGE_CPUS(struct receive_options, "-c or --idle"),
	{.help = "\nOutput:\n"},
	{"I", "interval", "SECS",
	 "print a line every SECS seconds while data arrive (default 5; 0: none)",
	 AT(SECONDS_OR_NONE, interval), .min = 0.01, .max = 86400},
	{"", "timestamps", NULL, "print the time before each of these lines and each summary",
	 AT(FLAG, timestamps)},
	{"J", "json", NULL, "print one JSON object for each group of clients", AT(CONSTANT, json),
	 .min = JSON_OBJECTS},
	{"", "json-stream", NULL, "print a line of JSON for each event, as iperf3 does",
	 AT(CONSTANT, json), .min = JSON_EVENTS},
	{"q", "quiet", NULL, "print only summaries", AT(FLAG, quiet)},
	{"d", "debug", NULL, "print more on stderr: each client that connects", AT(FLAG, debug)},
	HELP_OPTIONS,
	{.help = "\n"
		 "SIZE takes a suffix k, m or g: KiB, MiB or GiB (kb, mb or gb: powers of 1000),\n"
		 "and SECS s, m or h.  In reports kbytes/sec is KiB/s: 1024 bytes per second.\n"
		 "\n"
		 "Exit status: 0 if a signal or -1 ended zcs, 1 if it failed, or with -1 if a\n"
		 "client failed, 2 if the command line is wrong.\n"
		 "\n"
		 "Examples:\n"
		 "  zcs --idle               serve all clients, and measure the CPU load\n"
		 "  zcs -1 -q -p 5201        serve one client on port 5201, and print its figures\n"},
	/* Options of iperf3 that zcs lacks. */
	{"s", "server", .instead = "zcs is the server: run it without -s"},
	{"D", "daemon", .instead = "zcs stays in the foreground: run it with &, or as a service"},
	{"", "one-off", .instead = "to serve one client use -1, --once"},
	{"", "logfile", .instead = "the report is standard output: zcs ... >FILE"},
	{"A", "affinity", .instead = "the CPUs to run on are -B, --bind-cpu"},
};

/* Reads the options, or exits. */
static void read_options(int argc, char **argv)
{
	const int first = options_read(&USAGE("zcs", rows, false), argc, argv, &opt, NULL);

	if (first < argc)
		usage_error("'%s': zcs takes no arguments, only options (try 'zcs --help')",
			    argv[first]);
	(void)gauge_cpus(&opt.gauge);
	opt.gauge.debug = opt.debug;
	if (opt.method->maps && opt.sock.mptcp)
		usage_error("-m %s needs TCP: it cannot be combined with --mptcp",
			    opt.method->name);
	if (opt.method->lacks_tls && opt.tls != NULL)
		usage_error("-m %s and --tls cannot be used together: kernel TLS lacks it",
			    opt.method->name);
	sock_warn_of_interval(&opt.sock);
	if (opt.port == NULL)
		opt.port = opt.reply ? REQUEST_PORT : WIRE_PORT;
}

int main(int argc, char **argv)
{
	struct context x = {
		.opt = &opt,
		.stop = &stop,
		.report = {.opt = &opt,
			   .stop = &stop,
			   .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP},
		.places = {.opt = &opt, .lock = PTHREAD_MUTEX_INITIALIZER},
		.counters.lock = PTHREAD_MUTEX_INITIALIZER,
		.group.lock = PTHREAD_MUTEX_INITIALIZER,
	};

	init_program();
	read_options(argc, argv);
	if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
		die("stdout: it is closed, or open for reading: give it a file, or /dev/null");
	x.report.json.stream = opt.json == JSON_EVENTS;
	die_init(report_fail, &x.report);
	return run(&x);
}
