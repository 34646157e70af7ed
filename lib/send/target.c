#include "lib/send/target.h"

#include <limits.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/time.h>

#define UNSENT_SECONDS 0.05 /* the time at --pace of the data that wait to be sent, at most */

#define LIMIT_BYTES   65536 /* a server that moves fewer in a --timeout is slow */
#define LIMIT_SECONDS 10.0  /* how long a slow server is waited for, unless 2 x --timeout is more */

/*
 * Limits the rate, and with it what waits to be sent: after -t that is still sent, at the same rate.
 * TCP_NOTSENT_LOWAT leaves the size of the send buffer to the kernel's autotuning.
 */
static void set_pace_or_die(int fd, uint64_t pace)
{
	const int unsent = (int)fmin((double)pace * UNSENT_SECONDS + 1, INT_MAX);

	if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof(pace)) != 0 ||
	    sock_set(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent) != 0)
		die_errno("--pace %" PRIu64, pace);
}

/* The handshake uses the segment size and the timeout: options are set before connect(2). */
static void set_options_or_die(int fd, const struct send_options *opt)
{
	const double timeout = options_timeout(opt);
	const struct timeval t = {(time_t)timeout, (suseconds_t)(fmod(timeout, 1) * 1e6)};

	sock_set_options_or_die(fd, &opt->sock);
	if (opt->mss > 0 && sock_set(fd, IPPROTO_TCP, TCP_MAXSEG, opt->mss) != 0)
		die_errno("--mss %d", opt->mss);
	if (opt->nodelay && sock_set(fd, IPPROTO_TCP, TCP_NODELAY, 1) != 0)
		die_errno("--nodelay 1");
	if (opt->timeout > 0 && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) != 0 ||
				 setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)) != 0))
		die_errno("--timeout %g", opt->timeout);
	if (opt->pace > 0)
		set_pace_or_die(fd, opt->pace);
}

/* The port is chosen by connect(2), so that many connections can have the same: ip(7). */
static void bind_or_die(int fd, const struct target *s, const struct send_options *opt)
{
	sock_set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	if (bind(fd, (const struct sockaddr *)&s->source, s->source_len) != 0)
		die_errno("--bind %s", opt->source);
}

int target_connect(const struct target *s, const struct send_options *opt, const _Atomic int *stop)
{
	const int fd = sock_open(s->addr.ss_family, 0, &opt->sock);
	int e;

	if (fd < 0)
		return -1;
	set_options_or_die(fd, opt);
	if (opt->source != NULL)
		bind_or_die(fd, s, opt);
	/* After EINTR the handshake goes on, and a second call waits for its end: connect(2). */
	do
		e = connect(fd, (const struct sockaddr *)&s->addr, s->addr_len);
	while (e != 0 && errno == EINTR && *stop == 0);
	if (e == 0 || errno == EISCONN)
		return fd;
	e = errno == EINPROGRESS ? ETIMEDOUT : errno; /* SO_SNDTIMEO is over: socket(7) */
	close(fd);
	errno = e;
	return -1;
}

static void resolve_source(struct target *s, const struct send_options *opt)
{
	const struct addrinfo hints = {.ai_family = opt->family, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	const int e = getaddrinfo(opt->source, NULL, &hints, &list);

	if (e != 0)
		die("--bind %s: %s", opt->source,
		    e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
	memcpy(&s->source, list->ai_addr, list->ai_addrlen);
	s->source_len = list->ai_addrlen;
	freeaddrinfo(list);
}

/* Returns the server's addresses, of the family of --bind.  `0` is this host, as in 2001. */
static struct addrinfo *resolve(struct target *s, const struct send_options *opt)
{
	struct addrinfo hints = {.ai_family = opt->family, .ai_socktype = SOCK_STREAM};
	const char *host = opt->server;
	struct addrinfo *list;
	int e;

	if (opt->source != NULL) {
		resolve_source(s, opt);
		hints.ai_family = s->source.ss_family;
	}
	if (strcmp(host, "0") == 0)
		host = hints.ai_family == AF_INET6 ? "::1" : "127.0.0.1";
	e = getaddrinfo(host, opt->port, &hints, &list);
	if (e != 0)
		die("%s: %s", opt->server, e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e));
	return list;
}

static void set_address(struct target *s, const struct addrinfo *ai, const struct send_options *opt)
{
	memcpy(&s->addr, ai->ai_addr, ai->ai_addrlen);
	s->addr_len = ai->ai_addrlen;
	addr_format(ai->ai_addr, ai->ai_addrlen, s->name);
	if (addr_interface(ai->ai_addr, s->interface) != 0)
		s->interface[0] = '\0';
	/* Packets to an address of this host go through lo, whatever the device. */
	if (opt->sock.device != NULL && strcmp(s->interface, "lo") != 0)
		snprintf(s->interface, sizeof(s->interface), "%s", opt->sock.device);
}

void target_resolve(struct target *s, const struct send_options *opt)
{
	struct addrinfo *list = resolve(s, opt);

	set_address(s, list, opt);
	freeaddrinfo(list);
}

int target_connect_first(struct target *s, const struct send_options *opt, const _Atomic int *stop)
{
	struct addrinfo *list = resolve(s, opt), *ai;
	int fd = -1;

	for (ai = list; ai != NULL && fd < 0; ai = ai->ai_next) {
		set_address(s, ai, opt);
		fd = target_connect(s, opt, stop);
	}
	freeaddrinfo(list);
	return fd;
}

bool limit_reached(struct limit *l, double timeout, uint64_t now, double moved)
{
	if (timeout <= 0)
		return false;
	if (seconds_between(l->window_ns, now) >= timeout) {
		l->slow |= moved < l->moved + LIMIT_BYTES;
		l->window_ns = now;
		l->moved = moved;
	}
	return l->slow && seconds_between(l->begin_ns, now) > fmax(LIMIT_SECONDS, 2 * timeout);
}
