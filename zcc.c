/*
 * zcc: sends files to zcs over TCP and says what that cost this host.
 */
#include "common.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define BUILTIN_FILES 63           /* the file set behind the published tables */
#define BUILTIN_SIZE  (350 * 1024) /* bytes of each */
#define ENTRY_SPLIT   0xfffff000u  /* of a file that takes several entries: whole pages */
#define SENDFILE_MAX  0x7ffff000u  /* the most that one call moves: sendfile(2) */
#define OPEN_RESERVE  64           /* descriptors that are not for files kept open */
#define TICK_US       100000       /* a signal that comes just before a call blocks is sent again */

struct stream;

/* A way to send: moves `len` bytes of `fd` from `off`; returns how many it sent, -1 on error. */
struct method {
	const char *name;
	int64_t (*send)(struct stream *st, int fd, off_t off, uint64_t len);
	ssize_t (*put)(int sock, const void *buf, size_t len); /* of those that copy */
};

struct file {
	const char *name;
	int fd; /* -1: opened each time, when there are more files than descriptors */
	uint64_t size;
};

struct fileset {
	struct file *file;
	size_t n;
	uint32_t entries; /* that they take on the wire */
	bool builtin;
};

struct stream {
	int sock;
	char peer[ADDR_STRLEN];
	const struct method *method;
	size_t chunk; /* the most asked of one call */
	char *buf;    /* of the methods that copy */
	uint64_t bytes, files, loops;
	uint64_t writes; /* system calls that sent data */
};

static struct {
	struct sock_options sock;
	struct cpus bind;
	const char *server, *port;
	const struct method *method;
	int family;
	size_t chunk; /* 0: the method's default */
	uint32_t loops;
	double seconds; /* 0: by loops */
	int n_cpus;     /* 0: all */
	int debug;
	bool cork, load, calibrate, force, use_send, use_write;
} opt = {
	.port = WIRE_PORT,
	.family = AF_UNSPEC,
	.loops = 1,
};

/* Why to send no more: SIGALRM when the time is up, else the signal that interrupts. */
static volatile sig_atomic_t stop;

/*
 * The ways to send.
 */

/* What a call that failed means: true to try again. */
static bool again(void)
{
	return errno == EINTR && !stop;
}

static int64_t send_sendfile(struct stream *st, int fd, off_t off, uint64_t len)
{
	uint64_t done = 0;
	ssize_t n;

	while (done < len && !stop) {
		n = sendfile(st->sock, fd, &off, len - done < st->chunk ? len - done : st->chunk);
		if (n < 0) {
			if (again())
				continue;
			return errno == EINTR ? (int64_t)done : -1;
		}
		if (n == 0) /* the file has shrunk */
			break;
		done += (uint64_t)n;
		st->writes++;
	}
	return (int64_t)done;
}

/* Sends all of a buffer, whatever a call takes; returns how much went out before a stop. */
static ssize_t put_all(struct stream *st, const char *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len && !stop) {
		n = st->method->put(st->sock, buf + done, len - done);
		if (n < 0) {
			if (again())
				continue;
			return errno == EINTR ? (ssize_t)done : -1;
		}
		done += (size_t)n;
		st->writes++;
	}
	return (ssize_t)done;
}

/* pread(2) instead of read(2): the same work, and streams can share a file. */
static int64_t send_copy(struct stream *st, int fd, off_t off, uint64_t len)
{
	uint64_t done = 0;
	ssize_t got, n;

	while (done < len && !stop) {
		got = pread(fd, st->buf, len - done < st->chunk ? len - done : st->chunk,
			    off + (off_t)done);
		if (got < 0 && again())
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n = put_all(st, st->buf, (size_t)got);
		if (n < 0)
			return -1;
		done += (uint64_t)n;
	}
	return (int64_t)done;
}

static ssize_t put_send(int sock, const void *buf, size_t len)
{
	return send(sock, buf, len, 0);
}

static const struct method methods[] = {
	{"sendfile", send_sendfile, NULL},
	{"send", send_copy, put_send},
	{"write", send_copy, write},
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static const struct method *method_named(const char *name)
{
	size_t i;

	for (i = 0; i < METHODS; i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	usage_error("-m, --method: '%s' is none of sendfile, send, write", name);
}

/*
 * The file set.
 */

static uint32_t entries_of(uint64_t size)
{
	uint32_t n = 1;

	for (; size > WIRE_ENTRY_MAX; size -= ENTRY_SPLIT)
		n++;
	return n;
}

/* Adds a file, or says on stderr why not. */
static void fileset_add(struct fileset *set, const char *name, size_t keep_open)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a FIFO must not block */
	struct file *f = &set->file[set->n];
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) != 0) {
		warn("%s: skipped", name);
	} else if (!S_ISREG(sb.st_mode)) {
		warnx("%s: skipped: not a regular file", name);
		close(fd);
	} else {
		*f = (struct file){.name = name, .fd = fd, .size = (uint64_t)sb.st_size};
		if (set->n >= keep_open) {
			close(fd);
			f->fd = -1;
		}
		set->entries += entries_of(f->size);
		set->n++;
	}
}

/* How many descriptors there are for files, once the soft limit has been raised to the hard one. */
static size_t descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return 0;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	getrlimit(RLIMIT_NOFILE, &r);
	return r.rlim_cur > OPEN_RESERVE ? (size_t)r.rlim_cur - OPEN_RESERVE : 0;
}

/* Bytes that no layer below compresses or shares: xorshift64, another sequence for each file. */
static void fill(uint64_t *word, size_t words, uint64_t *state)
{
	size_t i;

	for (i = 0; i < words; i++) {
		*state ^= *state << 13;
		*state ^= *state >> 7;
		*state ^= *state << 17;
		word[i] = *state;
	}
}

/* Memory files, so that the built-in set goes by the same calls as files on disk. */
static void fileset_builtin(struct fileset *set)
{
	uint64_t block[BUILTIN_SIZE / 100 / sizeof(uint64_t)], state;
	size_t i;
	int fd;

	for (set->n = 0; set->n < BUILTIN_FILES; set->n++) {
		fd = memfd_create("zcc-builtin", MFD_CLOEXEC);
		if (fd < 0)
			err(EXIT_FAILURE, "built-in file set");
		state = set->n + 1;
		for (i = 0; i < BUILTIN_SIZE; i += sizeof(block)) {
			fill(block, sizeof(block) / sizeof(block[0]), &state);
			if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
				err(EXIT_FAILURE, "built-in file set");
		}
		set->file[set->n] = (struct file){.name = "built-in", .fd = fd, .size = BUILTIN_SIZE};
	}
	set->entries = BUILTIN_FILES;
	set->builtin = true;
}

static void fileset_open(struct fileset *set, char **names, int n)
{
	size_t keep_open = descriptors();
	int i;

	memset(set, 0, sizeof(*set));
	set->file = calloc(n > 0 ? (size_t)n : BUILTIN_FILES, sizeof(*set->file));
	if (set->file == NULL)
		err(EXIT_FAILURE, "file set");
	for (i = 0; i < n; i++)
		fileset_add(set, names[i], keep_open);
	if (n == 0)
		fileset_builtin(set);
	else if (set->n == 0)
		errx(EXIT_FAILURE, "none of the files can be sent");
}

static void fileset_close(struct fileset *set)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (set->file[i].fd >= 0)
			close(set->file[i].fd);
	free(set->file);
}

/*
 * The stream.
 */

static _Noreturn void die_of_send(const struct stream *st)
{
	const char *why = strerror(errno);

	if (errno == EPIPE || errno == ECONNRESET)
		why = "the server closed the connection";
	errx(EXIT_FAILURE, "%s: %s after %llu bytes", st->peer, why, (unsigned long long)st->bytes);
}

/* Headers ride with the data that they announce: MSG_MORE holds them until it comes. */
static void send_header(struct stream *st, const unsigned char *header, size_t len)
{
	ssize_t n;

	while (len > 0 && !stop) {
		n = send(st->sock, header, len, MSG_MORE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die_of_send(st);
		header += n;
		len -= (size_t)n;
	}
}

/* One entry: its header, before which *held bytes of others wait, then its data. */
static void send_entry(struct stream *st, const struct file *f, int fd, uint64_t off, uint32_t len,
		       unsigned char *header, size_t *held)
{
	int64_t n;

	wire_put(header + *held, len);
	send_header(st, header, *held + WIRE_HEADER);
	*held = 0;
	n = st->method->send(st, fd, (off_t)off, len);
	if (n < 0)
		die_of_send(st);
	st->bytes += (uint64_t)n;
	if (n < (int64_t)len && !stop)
		errx(EXIT_FAILURE, "%s: shrank while it was being sent", f->name);
}

static void send_one_file(struct stream *st, const struct file *f, unsigned char *header, size_t *held)
{
	uint64_t off = 0;
	uint32_t len;
	int fd = f->fd;

	if (fd < 0 && (fd = open(f->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		err(EXIT_FAILURE, "%s", f->name);
	do {
		len = f->size - off > WIRE_ENTRY_MAX ? ENTRY_SPLIT : (uint32_t)(f->size - off);
		send_entry(st, f, fd, off, len, header, held);
		off += len;
	} while (off < f->size && !stop);
	if (fd != f->fd)
		close(fd);
	if (opt.debug > 1)
		warnx("%s: %llu bytes", f->name, (unsigned long long)f->size);
	if (!stop)
		st->files++;
}

/* The whole of the wire, up to the last byte or a stop. */
static void send_loops(struct stream *st, const struct fileset *set)
{
	unsigned char header[3 * WIRE_HEADER];
	uint32_t loops = opt.seconds > 0 ? WIRE_FOREVER : opt.loops;
	size_t held = WIRE_HEADER, i;

	wire_put(header, loops);
	while (!stop && (loops == WIRE_FOREVER || st->loops < loops)) {
		wire_put(header + held, set->entries);
		held += WIRE_HEADER;
		for (i = 0; i < set->n && !stop; i++)
			send_one_file(st, &set->file[i], header, &held);
		if (!stop)
			st->loops++;
	}
}

static void cork(int sock, int on)
{
	if (setsockopt(sock, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)) != 0)
		err(EXIT_FAILURE, "TCP_CORK");
}

static bool interrupted(void)
{
	return stop != 0 && stop != SIGALRM;
}

/* What the server says after the last byte: at most RECEIPT_MAX bytes and one that is too many. */
static size_t read_receipt(const struct stream *st, char *buf)
{
	const struct timeval patience = {.tv_sec = 1}; /* with a server, once interrupted */
	size_t len = 0;
	ssize_t n;

	while (len <= RECEIPT_MAX) {
		if (interrupted())
			setsockopt(st->sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		n = recv(st->sock, buf + len, RECEIPT_MAX + 1 - len, 0);
		if (n > 0)
			len += (size_t)n;
		else if (n == 0 || (errno != EINTR && interrupted()))
			break;
		else if (errno != EINTR)
			die_of_send(st);
	}
	return len;
}

/*
 * What was measured, and the report of it.
 */

struct result {
	struct counters from, to;
	struct soak_sample soak_from, soak_to;
	uint64_t start_ns, end_ns;
	char interface[IF_NAMESIZE], congestion[16];
	struct receipt receipt;
	bool has_receipt;
	struct load load; /* its load is NAN when not measured */
};

static void transfer(struct stream *st, const struct fileset *set, const struct soaker *soak,
		     const struct calibration *cal, struct result *r)
{
	char buf[RECEIPT_MAX + 1];
	const char *why;
	size_t len;

	counters_read(&r->from, r->interface);
	if (soak != NULL)
		soaker_sample(soak, cal, &r->soak_from, NULL);
	r->start_ns = now_ns();
	if (opt.cork)
		cork(st->sock, 1);
	send_loops(st, set);
	if (opt.cork)
		cork(st->sock, 0);
	if (shutdown(st->sock, SHUT_WR) != 0 && errno != ENOTCONN)
		err(EXIT_FAILURE, "shutdown");
	len = read_receipt(st, buf);
	r->end_ns = now_ns();
	if (soak != NULL)
		soaker_sample(soak, cal, &r->soak_to, NULL);
	counters_read(&r->to, r->interface);
	if (len == 0)
		return;
	why = receipt_parse(buf, len, &r->receipt);
	if (why != NULL)
		warnx("the server's receipt is left out: it %s", why);
	r->has_receipt = why == NULL;
}

static void report_files(const struct stream *st, const struct fileset *set)
{
	if (set->builtin)
		report("  files       %d of %d KiB, built in", BUILTIN_FILES, BUILTIN_SIZE / 1024);
	else
		report("  files       %zu", set->n);
	report(", in %llu loops\n", (unsigned long long)st->loops);
}

static void report_host(const struct result *r, double seconds)
{
	struct rates rate;
	int i;

	counters_rates(&r->from, &r->to, &rate);
	report("  interrupts  %.0f/s\n", rate.interrupts);
	if (r->interface[0] != '\0')
		report("  packets     %.0f/s in, %.0f/s out on %s\n", rate.packets_in, rate.packets_out,
		       r->interface);
	if (seconds < 0.1) /* a few ticks: noise */
		return;
	report("  accounting ");
	for (i = 0; i < CPU_COLUMNS; i++)
		report(" %s %.1f%%%s", cpu_column[i], percent(rate.cpu[i]), i + 1 < CPU_COLUMNS ? "," : "\n");
}

static void report_receiver(const struct result *r)
{
	const struct receipt *c = &r->receipt;
	char load[128];

	if (!r->has_receipt) {
		report("  receiver    gave no receipt\n");
		return;
	}
	report("  receiver    %llu bytes in %.*f s: %.0f kbytes/sec%s\n", (unsigned long long)c->bytes,
	       decimals(c->seconds), c->seconds, kbytes_per_sec(c->bytes, c->seconds),
	       load_format(c->load, c->uncertainty, c->cpus, c->bytes, c->seconds, load));
	report("  reads       %llu (%.0f/s)\n", (unsigned long long)c->reads,
	       c->seconds > 0 ? (double)c->reads / c->seconds : 0);
}

static void report_result(const struct stream *st, const struct fileset *set, const struct result *r)
{
	double seconds = (double)(r->end_ns - r->start_ns) / 1e9;
	struct cpus cpus;
	char load[128];

	cpus_to_soak(opt.n_cpus, &cpus);
	report("%.0f kbytes/sec (%.3f Gbit/s)%s\n", kbytes_per_sec(st->bytes, seconds),
	       gbits_per_sec(st->bytes, seconds),
	       load_format(r->load.load, r->load.uncertainty, cpus.n, st->bytes, seconds, load));
	report("  sent        %llu bytes in %.*f s by %s to %s, %s\n", (unsigned long long)st->bytes,
	       decimals(seconds), seconds, st->method->name, st->peer, r->congestion);
	if (!isnan(r->load.load))
		report("  load        %.1f%% by tasks; the idle work left went %.1f%% slower\n",
		       percent(r->load.off), percent(r->load.slowed));
	report_files(st, set);
	report("  writes      %llu (%.0f/s)\n", (unsigned long long)st->writes,
	       seconds > 0 ? (double)st->writes / seconds : 0);
	report_host(r, seconds);
	report_receiver(r);
}

/*
 * The connection and the run.
 */

static int try_connect(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol), e;

	if (fd < 0)
		return -1;
	sock_set_options_or_die(fd, &opt.sock);
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return fd;
	e = errno;
	close(fd);
	errno = e;
	return -1;
}

/* Tries each address of the server in the resolver's order; `0` is this host, as in 2001. */
static int connect_or_die(struct sockaddr_storage *peer, socklen_t *peer_len)
{
	struct addrinfo hints = {.ai_family = opt.family, .ai_socktype = SOCK_STREAM};
	const char *host = opt.server;
	struct addrinfo *list, *ai;
	int fd = -1, e;

	if (strcmp(host, "0") == 0)
		host = opt.family == AF_INET6 ? "::1" : "127.0.0.1";
	e = getaddrinfo(host, opt.port, &hints, &list);
	if (e != 0)
		errx(EXIT_FAILURE, "%s: %s", opt.server, e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
	for (ai = list; ai != NULL && (fd = try_connect(ai)) < 0; ai = ai->ai_next)
		;
	if (fd < 0)
		err(EXIT_FAILURE, "cannot connect to %s port %s", opt.server, opt.port);
	memcpy(peer, ai->ai_addr, ai->ai_addrlen);
	*peer_len = ai->ai_addrlen;
	freeaddrinfo(list);
	return fd;
}

static void on_signal(int sig)
{
	if (stop == 0 || sig != SIGALRM) /* the time being up does not hide an interruption */
		stop = sig;
	if (sig != SIGALRM) /* a signal that came just before a call blocks must come again */
		alarm(1);
}

static void catch_signals(void)
{
	const struct sigaction sa = {.sa_handler = on_signal};

	catch_stop_signals(on_signal);
	sigaction(SIGALRM, &sa, NULL);
}

/* The clock is the kernel's timer, so that no loop reads one. */
static void start_timer(void)
{
	struct itimerval it = {
		.it_value = {(time_t)opt.seconds, (suseconds_t)(fmod(opt.seconds, 1) * 1e6)},
		.it_interval = {0, TICK_US},
	};

	if (opt.seconds > 0)
		setitimer(ITIMER_REAL, &it, NULL);
}

static void stop_timer(void)
{
	const struct itimerval off = {0};

	setitimer(ITIMER_REAL, &off, NULL);
}

/* Ends as the signal would have ended it, so that a shell's loop stops too. */
static _Noreturn void die_of_signal(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
	_exit(128 + sig);
}

static void stream_open(struct stream *st, struct result *r)
{
	struct sockaddr_storage peer;
	socklen_t peer_len;

	st->method = opt.method;
	st->chunk = opt.chunk;
	if (st->method->put == NULL && (st->chunk == 0 || st->chunk > SENDFILE_MAX))
		st->chunk = SENDFILE_MAX;
	if (st->method->put != NULL) {
		if (st->chunk == 0)
			st->chunk = 64 * 1024;
		st->buf = malloc(st->chunk);
		if (st->buf == NULL)
			err(EXIT_FAILURE, "-b, --buffer-size: %zu bytes", st->chunk);
	}
	st->sock = connect_or_die(&peer, &peer_len);
	addr_format((struct sockaddr *)&peer, peer_len, st->peer);
	if (addr_interface((struct sockaddr *)&peer, r->interface) != 0)
		r->interface[0] = '\0';
	sock_keep_alive(st->sock);
	sock_congestion(st->sock, r->congestion);
}

static int run(char **names, int n)
{
	struct calibration cal = {.cpu = NULL};
	struct soaker *soak = NULL;
	struct result r = {.load.load = NAN};
	struct stream st = {.sock = -1};
	struct fileset set;

	if (opt.load) {
		calibration_load_or_die(&cal, CALIBRATION_FILE, opt.n_cpus);
		warn_of_limits();
	}
	fileset_open(&set, names, n);
	if (opt.load)
		soak = soaker_start_or_die(&cal.cpus);
	cpu_bind_or_die(&opt.bind, 0);
	stream_open(&st, &r);
	if (opt.debug > 0)
		warnx("connected to %s through %s", st.peer, r.interface);
	catch_signals();
	start_timer();
	transfer(&st, &set, soak, &cal, &r);
	stop_timer();
	if (soak != NULL) {
		soak_load(&cal, &r.soak_from, &r.soak_to, -1, &r.load);
		soaker_stop(soak);
		warn_of_run(&cal.cpus, &r.from, &r.to, &r.load);
		if (r.end_ns - r.start_ns < 500000000)
			warnx("the load was measured over less than half a second: send more (-n, -t)");
	}
	report_result(&st, &set, &r);
	fileset_close(&set);
	close(st.sock);
	free(st.buf);
	free(cal.cpu);
	if (interrupted())
		die_of_signal(stop);
	if (r.has_receipt && r.receipt.bytes != st.bytes)
		errx(EXIT_FAILURE, "the server received %llu bytes of the %llu sent",
		     (unsigned long long)r.receipt.bytes, (unsigned long long)st.bytes);
	return EXIT_SUCCESS;
}

/*
 * Options.
 */

enum { OPT_CONGESTION = 256, OPT_FORCE };

static const struct option longopts[] = {
	{"server", required_argument, NULL, 's'},
	{"port", required_argument, NULL, 'p'},
	{"loops", required_argument, NULL, 'n'},
	{"time", required_argument, NULL, 't'},
	{"method", required_argument, NULL, 'm'},
	{"send", no_argument, NULL, 'S'},
	{"write", no_argument, NULL, 'w'},
	{"buffer-size", required_argument, NULL, 'b'},
	{"cork", no_argument, NULL, 'k'},
	{"rcvbuf", required_argument, NULL, 'i'},
	{"sndbuf", required_argument, NULL, 'o'},
	{"congestion", required_argument, NULL, OPT_CONGESTION},
	{"bind-cpu", required_argument, NULL, 'B'},
	{"cpu-load", no_argument, NULL, 'c'},
	{"calibrate", no_argument, NULL, 'C'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"cpus", required_argument, NULL, 'N'},
	{"debug", no_argument, NULL, 'd'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"Usage: zcc [options] -s server [file...]\n"
	"       zcc -C [-N nr_cpus]\n"
	"Sends files to zcs over TCP; says how fast, and with -c what it cost this host.\n"
	"Without files it sends a built-in set, 63 files of 350 KiB in memory.\n"
	"\n"
	"  -s, --server host      where zcs runs: a name, an IPv4 or IPv6 address; 0 is this host\n"
	"  -p, --port port        its port (default 2222)\n"
	"  -n, --loops n          send the file set this many times (default 1)\n"
	"  -t, --time secs        send it over and over for this long\n"
	"  -m, --method how       sendfile (default), send or write\n"
	"  -S, --send             read() and send() instead of sendfile(): -m send\n"
	"  -w, --write            read() and write(), also with -S: -m write\n"
	"  -b, --buffer-size size of each read and send (default 64k); with sendfile the most\n"
	"                         asked of one call (default: all)\n"
	"  -k, --cork             TCP_CORK on the connection\n"
	"  -i, --rcvbuf size      SO_RCVBUF (default: the kernel's autotuning)\n"
	"  -o, --sndbuf size      SO_SNDBUF (default: the kernel's autotuning)\n"
	"      --congestion name  congestion control (default: the system's)\n"
	"  -4, -6                 IPv4 or IPv6 only\n"
	"  -B, --bind-cpu cpus    run on this CPU\n"
	"  -c, --cpu-load         measure this host's CPU load during the transfer\n"
	"  -C, --calibrate        calibrate for -c on the idle system, and exit\n"
	"      --force            with -C: also when the machine is busy\n"
	"  -N, --cpus n           how many CPUs to measure (default: all that are online)\n"
	"  -d, --debug            say more on stderr; twice: each file\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"Sizes take a suffix k, m or g.  The manual is zcc(1), the method zc(7).\n";

static void parse_option(int c)
{
	switch (c) {
	case 's':
		opt.server = optarg;
		break;
	case 'p':
		opt.port = arg_port("-p, --port", optarg, 1);
		break;
	case 'n':
		opt.loops = (uint32_t)arg_int("-n, --loops", optarg, 1, WIRE_FOREVER - 1);
		break;
	case 't':
		opt.seconds = arg_seconds("-t, --time", optarg, 0.001, 1e9);
		break;
	case 'm':
		opt.method = method_named(optarg);
		break;
	case 'S':
		opt.use_send = true;
		break;
	case 'w':
		opt.use_write = true;
		break;
	case 'b':
		opt.chunk = (size_t)arg_size("-b, --buffer-size", optarg, 1, 1u << 30);
		break;
	case 'k':
		opt.cork = true;
		break;
	case 'i':
		opt.sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30);
		break;
	case 'o':
		opt.sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30);
		break;
	case OPT_CONGESTION:
		opt.sock.congestion = optarg;
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
	case 'C':
		opt.calibrate = true;
		break;
	case OPT_FORCE:
		opt.force = true;
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
		report("zcc %s\n", VERSION);
		exit(EXIT_SUCCESS);
	default: /* getopt has named it */
		exit(EXIT_USAGE);
	}
}

/* What the options mean together. */
static void settle_options(bool loops_given)
{
	struct cpus online;

	cpus_to_soak(opt.n_cpus, &online); /* refuses an -N that cannot be */
	if (opt.calibrate)
		return;
	if (opt.server == NULL)
		usage_error("-s, --server: no server given (0 is this host); see zcc -h");
	if (opt.seconds > 0 && loops_given)
		usage_error("-n, --loops and -t, --time exclude each other");
	if ((opt.use_send || opt.use_write) && opt.method != NULL)
		usage_error("-%c and -m, --method exclude each other", opt.use_send ? 'S' : 'w');
	if (opt.method == NULL)
		opt.method = method_named(opt.use_write ? "write" : opt.use_send ? "send" : "sendfile");
}

int main(int argc, char **argv)
{
	bool loops_given = false;
	int c;

	init_output();
	while ((c = getopt_long(argc, argv, "s:p:n:t:m:Swb:ki:o:46B:cCN:dhV", longopts, NULL)) != -1) {
		loops_given |= c == 'n';
		parse_option(c);
	}
	settle_options(loops_given);
	if (!opt.calibrate)
		return run(argv + optind, argc - optind);
	if (optind < argc)
		usage_error("-C, --calibrate takes no files: '%s'", argv[optind]);
	calibrate_or_die(opt.n_cpus, CALIBRATION_FILE, opt.force);
	return EXIT_SUCCESS;
}
