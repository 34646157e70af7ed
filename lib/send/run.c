#include "lib/send/run.h"

#include <limits.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "lib/net/tls.h"
#include "lib/send/sender.h"

#define UNSENT_SECONDS 0.05 /* the time at --pace of the data that wait to be sent, at most */
#define TRY_SECONDS    3.0  /* of one address, at most, with --wait-server */
#define TRY_PAUSE_MS   100
#define LOOK_NS        1000000u /* how often the end of a thread is looked for */
#define TRY_CLOSE_MS                                                                               \
	1000 /* for which a server may take to close a connection that it was tried with */

/*
 * The server.
 */

/* Dies because the kernel has rejected an option. */
static _Noreturn void die_of_option(const struct send_options *opt, const char *option)
{
	if (errno == EOPNOTSUPP && opt->sock.mptcp)
		die("%s cannot be combined with --mptcp: this kernel has it for TCP alone", option);
	die_errno("%s", option);
}

/* The handshake uses the segment size and the timeout: options are set before connect(2). */
static void set_options_or_die(int fd, const struct send_options *opt)
{
	const int unsent = (int)fmin((double)opt->pace * UNSENT_SECONDS + 1, INT_MAX);

	sock_set_options_or_die(fd, &opt->sock);
	if (opt->mss > 0 && sock_set(fd, IPPROTO_TCP, TCP_MAXSEG, opt->mss) != 0)
		die_of_option(opt, "--mss");
	if (opt->nodelay && sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1) != 0)
		die_of_option(opt, "--nodelay");
	if (opt->timeout > 0 && sock_set_timeout(fd, opt->timeout) != 0)
		die_errno("--timeout %g", opt->timeout);
	/*
	 * The rate limits what waits to be sent, too: after -t that is still sent, at the same rate.
	 * TCP_NOTSENT_LOWAT leaves the size of the send buffer to the kernel's autotuning.
	 */
	if (opt->pace > 0 &&
	    (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &opt->pace, sizeof(opt->pace)) != 0 ||
	     sock_set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent) != 0))
		die_of_option(opt, "--pace");
}

/* Binds the socket to the own address and port that options name. */
static void bind_or_die(int fd, const struct target *s, const struct run *r, int number)
{
	const int port = r->cport > 0 && number >= 0 ? r->cport + number : 0;
	struct sockaddr_storage own = s->source;

	if (r->opt->source == NULL && port == 0)
		return;
	if (port > UINT16_MAX)
		die("--cport: there is no port above %d", UINT16_MAX);
	own.ss_family = s->addr.ss_family;
	((struct sockaddr_in *)&own)->sin_port = htons((uint16_t)port); /* as sin6_port */
	/*
	 * A port of the kernel's choice is chosen by connect(2), so that many connections can have the same: ip(7).
	 * An own one may rest in TIME_WAIT after a connection to another server.
	 */
	if (port == 0)
		sock_set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	else
		sock_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(fd, (const struct sockaddr *)&own, s->addr_len) == 0)
		return;
	if (port != 0 && errno != EADDRNOTAVAIL)
		die_errno("--cport: port %d", port);
	die_errno("--bind %s", r->opt->source);
}

static int open_socket(const struct target *s, const struct run *r, int number)
{
	const int fd = sock_open(s->addr.ss_family, 0, &r->opt->sock);

	if (fd < 0)
		return -1;
	set_options_or_die(fd, r->opt);
	bind_or_die(fd, s, r, number);
	return fd;
}

/* Where nobody listens at a local port, TCP can connect a socket to itself. */
static bool is_itself(int fd)
{
	struct sockaddr_storage own = {0}, peer = {0};
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

	getsockname(fd, (struct sockaddr *)&own, &own_len);
	getpeername(fd, (struct sockaddr *)&peer, &peer_len);
	return memcmp(&own, &peer, sizeof(own)) == 0;
}

/* As target_connect(); `until` is when --wait-server is over, or 0: an address has then only a part of that time. */
static int connect_until(const struct target *s, const struct run *r, int number, _Atomic int *sock,
			 uint64_t until)
{
	const int fd = open_socket(s, r, number);
	const double most = r->opt->timeout > 0 ? fmin(r->opt->timeout, TRY_SECONDS) : TRY_SECONDS;
	int e;

	*sock = fd;
	if (fd < 0)
		return -1;
	if (until > 0)
		sock_set_timeout(fd, fmax(fmin(most, seconds_between(now_ns(), until)), 0.01));
	/* After EINTR the handshake goes on, and a second call waits for its end: connect(2). */
	do
		e = connect(fd, (const struct sockaddr *)&s->addr, s->addr_len);
	while (e != 0 && errno == EINTR && r->stop == 0);
	if (e != 0 && errno != EISCONN)
		/* SO_SNDTIMEO is over: socket(7); in a repeated call that is EALREADY. */
		e = errno == EINPROGRESS || errno == EALREADY ? ETIMEDOUT : errno;
	else if (is_itself(fd))
		e = ECONNREFUSED;
	else
		return fd;
	*sock = -1;
	close(fd);
	errno = e;
	return -1;
}

int target_connect(const struct target *s, const struct run *r, int number, _Atomic int *sock)
{
	return connect_until(s, r, number, sock, 0);
}

void run_fail(struct run *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->failure, sizeof(r->failure), fmt, ap);
	va_end(ap);
}

void target_fail(struct run *r, double seconds)
{
	const char *why = strerror(errno),
		   *hint = errno == ECONNREFUSED ? ": is zcs running there?"
			   : errno == EADDRNOTAVAIL && r->cport > 0
				   ? ": the port of --cport was in use less than a minute ago"
				   : "";
	char waited[48] = "";

	if (seconds > 0 && option_given(&r->opt->given, "wait-server") != NULL)
		snprintf(waited, sizeof(waited), " within %g s (--wait-server)", seconds);
	run_fail(r, "cannot connect to %s port %s%s: %s%s", r->opt->server, r->opt->port, waited,
		 why, hint);
}

/* Returns the addresses of a name, or NULL; r->failure says then why, with `option` before the name. */
static struct addrinfo *look_up(const char *option, const char *name, const char *port, int family,
				struct run *r, uint64_t until)
{
	const struct send_options *opt = r->opt;
	const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
	const bool of_bind = *option == '\0' && opt->source != NULL;
	struct addrinfo *list;
	int e;

	while ((e = getaddrinfo(name, port, &hints, &list)) == EAI_AGAIN && now_ns() < until &&
	       r->stop <= 0)
		poll(NULL, 0, TRY_PAUSE_MS);
	if (e == EAI_ADDRFAMILY || e == EAI_NODATA)
		run_fail(r, "%s%s: has no address of IPv%c, which %s%s asks for", option, name,
			 family == AF_INET6 ? '6' : '4',
			 of_bind              ? "--bind "
			 : family == AF_INET6 ? "-6"
					      : "-4",
			 of_bind ? opt->source : "");
	else if (e != 0)
		run_fail(r, "%s%s: %s", option, name,
			 e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
	else if (opt->sock.device == NULL && addr_lacks_zone(list->ai_addr))
		run_fail(r, "%s%s: a link-local address needs its interface: %s%%INTERFACE", option,
			 name, name);
	else
		return list;
	if (e == 0)
		freeaddrinfo(list);
	return NULL;
}

static void set_address(struct target *s, const struct addrinfo *ai)
{
	memcpy(&s->addr, ai->ai_addr, ai->ai_addrlen);
	s->addr_len = ai->ai_addrlen;
	strcpy(s->name, addr_format(ai->ai_addr, ai->ai_addrlen));
}

/* Connects to the first of the addresses that accepts, of which each is tried again until the time `until`. */
static int connect_first(struct target *s, struct run *r, int number, _Atomic int *sock,
			 const struct addrinfo *list, uint64_t until)
{
	const struct addrinfo *ai;
	int fd = -1;

	for (;;) {
		for (ai = list; ai != NULL && fd < 0 && r->stop <= 0; ai = ai->ai_next) {
			set_address(s, ai);
			fd = connect_until(s, r, number, sock, until);
		}
		if (fd >= 0 || r->stop > 0)
			return fd;
		if (now_ns() >= until) {
			target_fail(r, r->opt->wait_server);
			return -1;
		}
		poll(NULL, 0, TRY_PAUSE_MS);
	}
}

static void free_addresses(struct run *r)
{
	if (r->addresses != NULL)
		freeaddrinfo(r->addresses);
	r->addresses = NULL;
}

/* The server's addresses are of the family of --bind.  `0` is this host, as in 2001. */
int target_find(struct target *s, struct run *r, int number, _Atomic int *sock)
{
	const struct send_options *opt = r->opt;
	const uint64_t until = opt->wait_server > 0 ? time_after(now_ns(), opt->wait_server) : 0;
	const char *host = opt->server;
	struct addrinfo *list;
	int fd = -1, shown, family = opt->family;

	*s = (struct target){.addr_len = 0};
	if (opt->source != NULL) {
		list = look_up("--bind ", opt->source, NULL, family, r, until);
		if (list == NULL)
			return -1;
		memcpy(&s->source, list->ai_addr, list->ai_addrlen);
		family = list->ai_family;
		freeaddrinfo(list);
	}
	if (strcmp(host, "0") == 0)
		host = family == AF_INET6 ? "::1" : "127.0.0.1";
	list = r->addresses = look_up("", host, opt->port, family, r, until);
	if (list == NULL)
		return -1;
	if (sock != NULL)
		fd = connect_first(s, r, number, sock, list, until);
	else
		set_address(s, list);
	free_addresses(r);
	/* Requests begin without a connection: a socket as theirs will be shows the way. */
	shown = sock != NULL ? fd : open_socket(s, r, -1);
	if (shown >= 0)
		sock_interface(shown, (struct sockaddr *)&s->addr, s->interface);
	if (sock == NULL && shown >= 0)
		close(shown);
	return fd;
}

bool target_wait(struct target *s, struct run *r)
{
	struct pollfd p = {.events = POLLIN};
	_Atomic int sock;
	int fd;

	if (r->opt->wait_server <= 0)
		return false;
	fd = target_find(s, r, -1, &sock);
	if (fd >= 0) {
		/* Once the server has closed it, too, it has no place among the clients that the server accepts. */
		p.fd = fd;
		shutdown(fd, SHUT_WR);
		poll(&p, 1, TRY_CLOSE_MS);
		sock_reset_at_close(fd, true);
		close(fd);
	}
	return true;
}

/*
 * Threads, and the host.
 */

uint64_t time_after(uint64_t ns, double seconds)
{
	return seconds > 0 ? ns + (uint64_t)(seconds * 1e9) : NEVER;
}

uint64_t interval_after(uint64_t due, uint64_t now, double seconds)
{
	const uint64_t next = time_after(due, seconds);

	return next > now ? next : time_after(now, seconds);
}

void run_open(struct run *r, const struct send_options *opt)
{
	*r = (struct run){.opt = opt, .interface = "", .cport = opt->cport};
	r->in_turn = opt->gauge.idle && opt->gauge.soak;
	gauge_warn(&opt->gauge);
	gauge_prepare_or_die(&r->gauge, &opt->gauge);
	cpus_try_or_die(&opt->bind);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake < 0)
		die_errno("eventfd");
}

void run_try_or_die(const struct run *r)
{
	const struct send_options *opt = r->opt;
	const int fd = sock_open(opt->family == AF_INET6 ? AF_INET6 : AF_INET, 0, &opt->sock);
	struct sender s;
	const char *why;

	if (fd < 0)
		die_errno(opt->sock.mptcp ? "--mptcp" : "socket");
	set_options_or_die(fd, opt);
	sender_open(&s, opt->method, fd, opt->chunk, opt->streams, &r->stop);
	sender_close(&s);
	why = opt->tls != NULL ? tls_try(opt->tls) : NULL;
	if (why != NULL)
		die("--tls: %s", why);
	cpus_try_or_die(&opt->bind);
}

void run_gauge(struct run *r)
{
	const struct gauge_setup *asked = &r->opt->gauge;
	const char *why = gauge_wait_idle(&r->gauge, asked, &r->stop);

	if (why != NULL && r->stop == 0) {
		run_fail(r, "nothing was sent: %s", why);
		return;
	}
	if (!gauge_is_wanted(asked) || (gauge_measures(&r->gauge) && !r->in_turn))
		return;
	gauge_stop(&r->gauge);
	r->gauge.setup = asked;
	gauge_start(&r->gauge, r->opt->seconds);
}

void run_close(struct run *r)
{
	gauge_close(&r->gauge);
	close(r->wake);
}

static struct worker *worker_at(const struct run *r, int i)
{
	return (struct worker *)(void *)(r->workers + (size_t)i * r->worker_size);
}

static _Thread_local struct run
	*own_run; /* of a worker, or of an attempt; NULL: run_break() returns */
static _Thread_local jmp_buf end_of_run; /* where it ends in that thread if it is broken */

/* die() breaks the run, which has no figures.  The main thread decides whether the program ends. */
static void take_death(const char *why)
{
	own_run->has_died = true;
	run_break(own_run, "%s", why);
}

bool run_attempt(struct run *r, bool (*attempt)(void *arg), void *arg)
{
	volatile bool has_succeeded = false;

	r->is_broken = r->has_failed = r->has_died = false;
	own_run = r;
	if (setjmp(end_of_run) == 0) {
		die_is_for(take_death);
		has_succeeded = attempt(arg);
	}
	die_is_for(NULL);
	own_run = NULL;
	free_addresses(r);
	return has_succeeded;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct run *r = w->run;

	cpu_bind_or_die(&r->opt->bind, w->number);
	pthread_barrier_wait(&r->barrier);
	own_run = r;
	if (setjmp(end_of_run) == 0) {
		die_is_for(take_death);
		r->work(w);
	}
	atomic_fetch_sub(&r->running, 1);
	eventfd_write(r->wake, 1);
	return NULL;
}

void run_start(struct run *r, void (*work)(void *worker), void *workers, size_t size,
	       double seconds)
{
	struct worker *w;
	static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	sigset_t all, before;
	int i, e;

	r->work = work;
	r->workers = workers;
	r->worker_size = size;
	r->running = r->measuring = r->opt->streams;
	r->is_broken = r->has_failed = r->has_died = false;
	pthread_barrier_init(&r->barrier, NULL, (unsigned)r->opt->streams + 1);
	/* The main thread alone takes signals, as it alone restores a setting.  A fault is its own thread's,
	 * and kills the program before it restores the setting if its signal is blocked. */
	sigfillset(&all);
	for (i = 0; i < (int)(sizeof(faults) / sizeof(faults[0])); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	for (i = 0; i < r->opt->streams; i++) {
		w = worker_at(r, i);
		w->number = i;
		w->run = r;
		w->sock = -1;
		e = thread_start(&w->thread, worker_main, w);
		if (e != 0)
			die("thread %d of %d: %s", i + 1, r->opt->streams, strerror(e));
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	gauge_begin(&r->gauge, r->interface);
	r->shut_ns = 0;
	r->start_ns = now_ns();
	r->end_ns = time_after(r->start_ns, seconds);
	pthread_barrier_wait(&r->barrier);
}

void run_step(struct run *r, struct event *e, int events, void *arg)
{
	uint64_t now = now_ns(), due = r->stop != 0 ? now + TICK_NS : r->end_ns;
	struct pollfd p = {.fd = r->wake, .events = POLLIN};
	eventfd_t ignored;
	int i;

	for (i = 0; i < events; i++)
		if (e[i].due_ns < due)
			due = e[i].due_ns;
	wait_until(&p, 1, due, NULL);
	eventfd_read(r->wake, &ignored);
	if (r->running == 0 || r->is_broken)
		return;
	now = now_ns();
	for (i = 0; i < events; i++)
		if (now >= e[i].due_ns) {
			r->due_ns = e[i].due_ns;
			e[i].due_ns = e[i].handle(arg, now);
		}
	/* Only once: a stop wakes this thread, and the tail of the run is in its load. */
	if (now >= r->end_ns && r->stop == 0)
		run_stop(r, TIME_UP);
	/* TLS would lose the rest of a record: a call has some time to end by itself. */
	if (r->stop != 0 && r->shut_ns == 0)
		r->shut_ns = now + (r->opt->tls != NULL ? PATIENCE_NS : 0);
	/* A worker without a socket has -1; one that begins to use its socket now is met the next time. */
	for (i = 0; i < r->opt->streams && r->stop != 0 && now >= r->shut_ns; i++)
		shutdown(worker_at(r, i)->sock, r->how);
}

/*
 * Resets a connection, by which the kernel also gives up what it still has to send: connect(2), which ThreadSanitizer takes
 * for a begin that another thread must not see.
 */
static void reset(int sock)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	if (syscall(SYS_connect, sock, &none, sizeof(none)) != 0) /* TLS lacks it */
		shutdown(sock, SHUT_RDWR);
}

void run_end(struct run *r)
{
	int i, time_up = TIME_UP;

	if (r->is_broken && atomic_exchange(&r->measuring, 0) > 0)
		gauge_end(&r->gauge);
	for (; r->is_broken && r->running > 0; sleep_ns(LOOK_NS))
		for (i = 0; i < r->opt->streams; i++)
			reset(worker_at(r, i)->connection); /* whatever the thread waits for */
	for (i = 0; i < r->opt->streams; i++)
		pthread_join(worker_at(r, i)->thread, NULL);
	pthread_barrier_destroy(&r->barrier);
	if (r->cport > 0) /* the ports of this run may rest in TIME_WAIT */
		r->cport += r->opt->streams;
	atomic_compare_exchange_strong(&r->stop, &time_up, 0);
}

void run_baseline_after(struct run *r)
{
	if (r->stop == 0)
		gauge_after(&r->gauge, &r->stop);
}

void run_stop(struct run *r, int why)
{
	const int e = errno;
	int running = 0;

	if (!atomic_compare_exchange_strong(&r->stop, &running, why) && why != TIME_UP)
		r->stop = why;
	eventfd_write(r->wake, 1);
	errno = e;
}

void run_break(struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (!atomic_exchange(&r->has_failed, true)) {
		va_start(ap, fmt);
		vsnprintf(r->failure, sizeof(r->failure), fmt, ap);
		va_end(ap);
		r->is_broken = true;
		eventfd_write(r->wake, 1);
	}
	if (own_run != NULL)
		longjmp(end_of_run, 1);
}

bool run_hold(struct run *r)
{
	int n = r->measuring;

	while (n > 0 && !atomic_compare_exchange_weak(&r->measuring, &n, n + 1))
		;
	return n > 0;
}

/* The main thread would come too late to read the host's figures. */
void run_measured(struct run *r)
{
	if (atomic_fetch_sub(&r->measuring, 1) == 1)
		gauge_end(&r->gauge);
}

void run_host_figures(const struct run *r, struct figures *f)
{
	gauge_load(&r->gauge, &f->host);
}
