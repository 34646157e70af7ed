/*
 * zcs: receives what zcc sends, any number of clients at once, and says how fast.
 */
#include "common.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define INTERVAL_NS   5000000000u /* between two lines while data flows */
#define BUFFER_SIZE   (64 * 1024) /* of each read, unless -b */
#define STACK_SIZE    (128 * 1024)
#define BACKLOG       4096        /* the kernel lowers it to net.core.somaxconn */
#define BREATHE_MS    100         /* before accept(2) is tried again when it lacked something */
#define DRAIN_SECONDS 10          /* for a client to close when all has been received */
#define LEAVE_NS      2000000000u /* for the clients' summaries on an interrupt */

/* One client: its own thread, its own buffer. */
struct client {
	struct client *next, **link;
	int sock, number;
	char name[ADDR_STRLEN];
	struct wire wire;
	uint64_t start_ns, end_ns; /* of the first byte and the last */
	uint64_t reads;
	struct soak_sample soak_from, soak_to;
	_Atomic uint64_t bytes; /* wire.bytes, for the interval lines */
	bool excess;            /* more came than was announced */
};

static struct {
	struct sock_options sock;
	struct cpus bind;
	const char *port;
	int family;
	size_t buffer;
	int n_cpus; /* 0: all */
	int debug;
	bool load, once;
} opt = {
	.port = WIRE_PORT,
	.family = AF_UNSPEC,
	.buffer = BUFFER_SIZE,
};

/* Clients that are connected at the same time, one joining before the last leaves, are a group. */
static struct {
	pthread_mutex_t lock;
	int left;            /* eventfd(2): a client has left */
	struct client *clients;
	int n, total;        /* now, and in this group */
	uint64_t gone_bytes; /* of all that have left since the start */
	uint64_t from_bytes; /* the same when this group began */
	uint64_t start_ns, end_ns;
	struct soak_sample soak_from, soak_to;
	bool overlapped;
	int failed; /* since the start */
} group = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct soaker *soak; /* set before there are threads, then only read */
static struct calibration calibration;

static _Atomic int stop; /* the signal that ends it; the threads see it too */

static void soak_read(struct soak_sample *p)
{
	if (soak != NULL)
		soaker_sample(soak, &calibration, p, NULL);
}

/* NAN where it was not measured. */
static void load_between(const struct soak_sample *from, const struct soak_sample *to, struct load *l)
{
	if (soak != NULL && from->ns != 0)
		soak_load(&calibration, from, to, -1, l);
	else
		l->load = l->uncertainty = NAN;
}

/* `N kbytes/sec (G Gbit/s), load L, cost C`: how every report of zcs puts a transfer. */
static void rate_format(char *buf, size_t size, uint64_t bytes, double seconds,
			const struct soak_sample *from, const struct soak_sample *to)
{
	char part[128];
	struct load l;

	load_between(from, to, &l);
	snprintf(buf, size, "%.0f kbytes/sec (%.3f Gbit/s)%s", kbytes_per_sec(bytes, seconds),
		 gbits_per_sec(bytes, seconds),
		 load_format(l.load, l.uncertainty, calibration.cpus.n, bytes, seconds, part));
}

/*
 * One client.
 */

/*
 * Reads until the wire or the stream ends; returns 0 or the errno of the read that failed.  The
 * clock starts when the first byte is there and before it is read, so that a transfer of one read
 * takes time too.
 */
static int receive(struct client *c, char *buf)
{
	ssize_t n = recv(c->sock, buf, 1, MSG_PEEK);

	if (n <= 0)
		return n < 0 ? errno : 0;
	soak_read(&c->soak_from);
	c->start_ns = now_ns();
	do {
		n = read(c->sock, buf, opt.buffer);
		if (n <= 0)
			break;
		c->reads++;
		c->excess = wire_feed(&c->wire, buf, (size_t)n) < (size_t)n;
		atomic_store_explicit(&c->bytes, c->wire.bytes, memory_order_relaxed);
	} while (c->wire.state != WIRE_DONE && !atomic_load_explicit(&stop, memory_order_relaxed));
	c->end_ns = now_ns();
	soak_read(&c->soak_to);
	return n < 0 ? errno : 0;
}

static void send_receipt(const struct client *c)
{
	struct receipt r = {
		.bytes = c->wire.bytes,
		.files = c->wire.files,
		.reads = c->reads,
		.seconds = (double)(c->end_ns - c->start_ns) / 1e9,
		.cpus = soak != NULL ? calibration.cpus.n : NAN,
	};
	char line[RECEIPT_MAX];
	struct load l;

	load_between(&c->soak_from, &c->soak_to, &l);
	r.load = l.load;
	r.uncertainty = l.uncertainty;

	/* A client of 2001 has closed by now: that the receipt does not arrive is no error. */
	send(c->sock, line, receipt_format(&r, line), MSG_DONTWAIT);
	shutdown(c->sock, SHUT_WR);
}

/*
 * Waits for the client to close: were the socket closed with something unread, the kernel would
 * reset the connection and the client lose its receipt.
 */
static void drain(struct client *c, char *buf)
{
	const struct timeval patience = {.tv_sec = DRAIN_SECONDS};

	setsockopt(c->sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	c->excess |= read(c->sock, buf, opt.buffer) > 0;
	if (c->excess)
		warnx("%s: sent more than it announced", c->name);
}

static void report_client(const struct client *c)
{
	double seconds = (double)(c->end_ns - c->start_ns) / 1e9;
	char rate[192];

	rate_format(rate, sizeof(rate), c->wire.bytes, seconds, &c->soak_from, &c->soak_to);
	report("%s: %s, %llu bytes in %.*f s, %llu files, %llu reads\n", c->name, rate,
	       (unsigned long long)c->wire.bytes, decimals(seconds), seconds, (unsigned long long)c->wire.files,
	       (unsigned long long)c->reads);
}

/* Whether the client kept to the wire; if not, says so in one line. */
static bool judge(const struct client *c, int error)
{
	const char *where = NULL;

	if (stop && c->wire.state != WIRE_DONE)
		warnx("%s: interrupted after %llu bytes", c->name, (unsigned long long)c->wire.bytes);
	else if (error == 0 && c->reads == 0)
		warnx("%s: closed without sending anything", c->name);
	else if (error == 0 && !wire_ended(&c->wire, &where))
		warnx("%s: closed %s, after %llu bytes", c->name, where, (unsigned long long)c->wire.bytes);
	else if (error != 0)
		warnx("%s: %s, after %llu bytes", c->name, strerror(error),
		      (unsigned long long)c->wire.bytes);
	else
		return true;
	return false;
}

/*
 * The group.
 */

static void group_join(struct client *c)
{
	pthread_mutex_lock(&group.lock);
	if (group.n++ == 0) {
		group.total = 0;
		group.from_bytes = group.gone_bytes;
		group.overlapped = false;
		group.start_ns = 0;
	} else {
		group.overlapped = true;
	}
	group.total++;
	c->next = group.clients;
	c->link = &group.clients;
	if (c->next != NULL)
		c->next->link = &c->next;
	group.clients = c;
	pthread_mutex_unlock(&group.lock);
}

static void report_group(void)
{
	double seconds = (double)(group.end_ns - group.start_ns) / 1e9;
	uint64_t bytes = group.gone_bytes - group.from_bytes;
	char rate[192];

	rate_format(rate, sizeof(rate), bytes, seconds, &group.soak_from, &group.soak_to);
	report("total of %d clients: %s, %llu bytes in %.*f s\n", group.total, rate,
	       (unsigned long long)bytes, decimals(seconds), seconds);
}

/* The group's time is from its first byte to its last. */
static void group_leave(struct client *c, bool ok)
{
	pthread_mutex_lock(&group.lock);
	group.gone_bytes += c->wire.bytes;
	if (c->reads > 0 && (group.start_ns == 0 || c->start_ns < group.start_ns)) {
		group.start_ns = c->start_ns;
		group.soak_from = c->soak_from;
	}
	if (c->reads > 0) {
		group.end_ns = c->end_ns;
		group.soak_to = c->soak_to;
	}
	*c->link = c->next;
	if (c->next != NULL)
		c->next->link = c->link;
	group.failed += !ok;
	if (--group.n == 0 && group.overlapped && group.gone_bytes > group.from_bytes)
		report_group();
	eventfd_write(group.left, 1);
	pthread_mutex_unlock(&group.lock);
}

static void *client_thread(void *arg)
{
	struct client *c = arg;
	char *buf = malloc(opt.buffer);
	bool ok;

	cpu_bind_or_die(&opt.bind, c->number);
	wire_init(&c->wire);
	ok = judge(c, buf == NULL ? ENOMEM : receive(c, buf));
	if (ok)
		send_receipt(c);
	if (c->wire.bytes > 0 || ok)
		report_client(c);
	if (ok)
		drain(c, buf);
	group_leave(c, ok);
	close(c->sock);
	free(buf);
	free(c);
	return NULL;
}

/*
 * The server.
 */

/* Raised to what is allowed: each client is a descriptor. */
static void raise_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

static int listen_on(int family)
{
	struct addrinfo hints = {
		.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *ai;
	int fd, on = 1, off = 0, e;

	if (getaddrinfo(NULL, opt.port, &hints, &ai) != 0)
		return -1;
	fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, ai->ai_protocol);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (family == AF_INET6)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, opt.family == AF_INET6 ? &on : &off,
				   sizeof(on));
		sock_set_options_or_die(fd, &opt.sock);
		if (bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
			e = errno;
			close(fd);
			errno = e;
			fd = -1;
		}
	}
	freeaddrinfo(ai);
	return fd;
}

/* One socket for IPv6 and IPv4; IPv4 alone on a host without IPv6. */
static int listen_or_die(void)
{
	int fd = listen_on(opt.family == AF_UNSPEC ? AF_INET6 : opt.family);

	if (fd < 0 && opt.family == AF_UNSPEC && errno != EADDRINUSE)
		fd = listen_on(AF_INET);
	if (fd < 0)
		err(EXIT_FAILURE, "cannot listen on port %s", opt.port);
	return fd;
}

/* Says which port it is, which with `-p 0` only the kernel knows. */
static void announce(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char name[ADDR_STRLEN];

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0)
		warnx("listening on %s", addr_format((struct sockaddr *)&ss, len, name));
}

/* Gives a client its thread; a client for whom there is none is told so by a close. */
static void serve(int sock, const struct sockaddr *sa, socklen_t len, int number)
{
	struct client *c = calloc(1, sizeof(*c));
	pthread_attr_t attr;
	pthread_t id;
	int e = ENOMEM;

	if (c != NULL) {
		c->sock = sock;
		c->number = number;
		addr_format(sa, len, c->name);
		sock_keep_alive(sock);
		if (opt.debug > 0)
			warnx("%s: connected", c->name);
		group_join(c);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, STACK_SIZE);
		e = pthread_create(&id, &attr, client_thread, c);
		pthread_attr_destroy(&attr);
		if (e == 0)
			return;
		group_leave(c, false);
	}
	warnx("a client was turned away: no thread for it: %s", strerror(e));
	close(sock);
	free(c);
}

/* Bytes since the start; *n is how many clients it has now. */
static uint64_t group_bytes(int *n)
{
	const struct client *c;
	uint64_t sum;

	pthread_mutex_lock(&group.lock);
	sum = group.gone_bytes;
	for (c = group.clients; c != NULL; c = c->next)
		sum += atomic_load_explicit(&c->bytes, memory_order_relaxed);
	*n = group.n;
	pthread_mutex_unlock(&group.lock);
	return sum;
}

/* An interval line's beginning. */
struct mark {
	uint64_t ns, bytes;
	struct soak_sample soak;
};

static void mark_now(struct mark *m, int *n)
{
	m->ns = now_ns();
	m->bytes = group_bytes(n);
	soak_read(&m->soak);
}

/* Once the interval is over: prints its line if data flowed in it, and begins the next. */
static void report_interval(struct mark *m)
{
	struct mark last = *m;
	char rate[192];
	int n;

	if (now_ns() - last.ns < INTERVAL_NS)
		return;
	mark_now(m, &n);
	if (n == 0 || m->bytes <= last.bytes)
		return;
	rate_format(rate, sizeof(rate), m->bytes - last.bytes, (double)(m->ns - last.ns) / 1e9,
		    &last.soak, &m->soak);
	if (n > 1)
		report("%s, %d clients\n", rate, n);
	else
		report("%s\n", rate);
}

/* Waits for input on fd or a signal, while there are clients until the interval is over. */
static bool wait_for(int fd, const struct mark *m, const sigset_t *unblocked)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t now = now_ns(), end = m->ns + INTERVAL_NS, left = end > now ? end - now : 0;
	const struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
	int n;

	group_bytes(&n);
	return ppoll(&p, 1, n > 0 ? &t : NULL, unblocked) > 0;
}

/*
 * Takes in one client; false if there was none after all.  What accept(2) fails with is that
 * connection's trouble and not the server's, but for a lack of descriptors or memory, which
 * passes when clients leave: *lacking is set while it lasts, so that it is said once.
 */
static bool accept_one(int fd, int number, bool *lacking)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int sock = accept4(fd, (struct sockaddr *)&ss, &len, SOCK_CLOEXEC);

	if (sock >= 0) {
		*lacking = false;
		serve(sock, (struct sockaddr *)&ss, len, number);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		if (!*lacking)
			warn("clients have to wait: accept");
		*lacking = true;
		poll(NULL, 0, BREATHE_MS);
	}
	return false;
}

/* Accepts clients and prints interval lines, until a signal, or with -1 the first client. */
static void serve_all(int fd, const sigset_t *unblocked)
{
	bool lacking = false;
	struct mark mark;
	int number = 0, n;

	mark_now(&mark, &n);
	while (!stop && !(opt.once && number > 0)) {
		if (wait_for(fd, &mark, unblocked)) {
			group_bytes(&n);
			if (n == 0) /* the first of a group starts the interval */
				mark_now(&mark, &n);
			number += accept_one(fd, number, &lacking);
		}
		report_interval(&mark);
	}
	close(fd);
	for (group_bytes(&n); n > 0 && !stop; group_bytes(&n)) { /* -1: until it has left */
		wait_for(group.left, &mark, unblocked);
		report_interval(&mark);
	}
}

/* On an interrupt: the clients' streams end here, and their summaries are awaited for a while. */
static void dismiss_clients(void)
{
	struct pollfd p = {.fd = group.left, .events = POLLIN};
	uint64_t until = now_ns() + LEAVE_NS;
	eventfd_t ignored;
	struct client *c;
	int n;

	pthread_mutex_lock(&group.lock);
	for (c = group.clients; c != NULL; c = c->next)
		shutdown(c->sock, SHUT_RD);
	pthread_mutex_unlock(&group.lock);
	for (group_bytes(&n); n > 0 && now_ns() < until; group_bytes(&n)) {
		eventfd_read(group.left, &ignored);
		poll(&p, 1, (int)(LEAVE_NS / 1000000 / 10));
	}
}

static void on_signal(int sig)
{
	stop = sig;
}

/* Blocked, and so in the threads too, but where the main thread waits. */
static void catch_signals(sigset_t *unblocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, unblocked);
	catch_stop_signals(on_signal);
}

/* Tries every CPU of -B before there are clients, and stays on the first. */
static void bind_cpus(void)
{
	int i;

	for (i = opt.bind.n - 1; i >= 0; i--)
		cpu_bind_or_die(&opt.bind, i);
}

/* With -c: what made the loads unsafe, over the whole run. */
static void warn_of_loads(const struct counters *start, const struct soak_sample *from)
{
	struct soak_sample to;
	struct counters end;
	struct load l;

	soak_read(&to);
	counters_read(&end, NULL);
	load_between(from, &to, &l);
	warn_of_run(&calibration.cpus, start, &end, &l);
}

static int run(void)
{
	struct soak_sample from = {.ns = 0};
	struct counters start;
	sigset_t unblocked;
	int fd;

	if (opt.load) {
		calibration_load_or_die(&calibration, CALIBRATION_FILE, opt.n_cpus);
		warn_of_limits();
	}
	raise_descriptors();
	fd = listen_or_die();
	if (opt.load)
		soak = soaker_start_or_die(&calibration.cpus);
	bind_cpus();
	group.left = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (group.left < 0)
		err(EXIT_FAILURE, "eventfd");
	catch_signals(&unblocked);
	announce(fd);
	counters_read(&start, NULL);
	soak_read(&from);
	serve_all(fd, &unblocked);
	dismiss_clients();
	if (soak != NULL) {
		warn_of_loads(&start, &from);
		soaker_stop(soak);
		free(calibration.cpu);
	}
	return opt.once && group.failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * Options.
 */

static const struct option longopts[] = {
	{"port", required_argument, NULL, 'p'},
	{"once", no_argument, NULL, '1'},
	{"buffer-size", required_argument, NULL, 'b'},
	{"rcvbuf", required_argument, NULL, 'i'},
	{"sndbuf", required_argument, NULL, 'o'},
	{"bind-cpu", required_argument, NULL, 'B'},
	{"cpu-load", no_argument, NULL, 'c'},
	{"cpus", required_argument, NULL, 'N'},
	{"debug", no_argument, NULL, 'd'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"Usage: zcs [options]\n"
	"Receives what zcc sends, any number of clients at once, and says how fast.\n"
	"\n"
	"  -p, --port port        to listen on (default 2222; 0: any that is free)\n"
	"  -1, --once             serve one client and exit\n"
	"  -b, --buffer-size size of each read (default 64k)\n"
	"  -i, --rcvbuf size      SO_RCVBUF (default: the kernel's autotuning)\n"
	"  -o, --sndbuf size      SO_SNDBUF (default: the kernel's autotuning)\n"
	"  -4, -6                 IPv4 or IPv6 only (default: both)\n"
	"  -B, --bind-cpu cpus    run on this CPU; a list: one client after the other\n"
	"  -c, --cpu-load         measure this host's CPU load (calibrate first: cyclesoak -C)\n"
	"  -N, --cpus n           how many CPUs to measure (default: all that are online)\n"
	"  -d, --debug            say more on stderr\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"Sizes take a suffix k, m or g.  The manual is zcs(1), the method zc(7).\n";

static void parse_option(int c)
{
	switch (c) {
	case 'p':
		opt.port = arg_port("-p, --port", optarg, 0);
		break;
	case '1':
		opt.once = true;
		break;
	case 'b':
		opt.buffer = (size_t)arg_size("-b, --buffer-size", optarg, 1, 1u << 30);
		break;
	case 'i':
		opt.sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30);
		break;
	case 'o':
		opt.sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30);
		break;
	case '4':
		arg_family(&opt.family, AF_INET);
		break;
	case '6':
		arg_family(&opt.family, AF_INET6);
		break;
	case 'B':
		arg_cpus("-B, --bind-cpu", optarg, &opt.bind);
		break;
	case 'c':
		opt.load = true;
		break;
	case 'N':
		opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX);
		break;
	case 'd':
		opt.debug++;
		break;
	case 'h':
		report("%s", help);
		exit(EXIT_SUCCESS);
	case 'V':
		report("zcs %s\n", VERSION);
		exit(EXIT_SUCCESS);
	default: /* getopt has named it */
		exit(EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	struct cpus online;
	int c;

	init_output();
	while ((c = getopt_long(argc, argv, "p:1b:i:o:46B:cN:dhV", longopts, NULL)) != -1)
		parse_option(c);
	if (optind < argc)
		usage_error("'%s': zcs takes no arguments, only options; see zcs -h", argv[optind]);
	cpus_to_soak(opt.n_cpus, &online); /* refuses an -N that cannot be */
	return run();
}
