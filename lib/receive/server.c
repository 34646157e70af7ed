#include "lib/receive/group.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "lib/report/usage.h"

#define BACKLOG       4096        /* the kernel lowers it to net.core.somaxconn */
#define REPLY_UNSENT  (64 * 1024) /* unsent bytes that stop a reply; one more send makes 128 KiB */
#define ACCEPTED_MOST 64          /* clients in a row, before those that have ended are removed */
#define SUMMARIES_NS  2000000000u /* for the clients' summaries on an interrupt */

/* Returns NULL if *fd listens, otherwise why it cannot, with errno set if a system call failed. */
static const char *listen_on(const struct receive_options *opt, int family, bool both, int *fd)
{
	struct addrinfo hints = {.ai_family = family,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *ai;
	int e = getaddrinfo(opt->address, opt->port, &hints, &ai);

	if (e != 0)
		return e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e);
	if (opt->sock.device == NULL && addr_lacks_zone(ai->ai_addr)) {
		freeaddrinfo(ai);
		errno = 0;
		return "a link-local address needs its interface: ADDRESS%INTERFACE";
	}
	*fd = sock_open(ai->ai_family, SOCK_NONBLOCK, &opt->sock);
	if (*fd >= 0) {
		sock_set(*fd, SOL_SOCKET, SO_REUSEADDR, 1);
		sock_set(*fd, SOL_SOCKET, SO_OOBINLINE, 1);      /* urgent data are data, too */
		sock_set(*fd, IPPROTO_IPV6, IPV6_V6ONLY, !both); /* fails on a socket of IPv4 */
		/* Otherwise a client that reads nothing takes megabytes of the kernel's memory. */
		if (opt->reply && sock_set(*fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, REPLY_UNSENT) != 0)
			die_errno("TCP_NOTSENT_LOWAT");
		sock_set_options_or_die(*fd, &opt->sock);
		sock_keep_alive(*fd); /* the clients' sockets inherit it */
	}
	if (*fd < 0 || bind(*fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(*fd, BACKLOG) != 0)
		e = errno;
	if (e != 0 && *fd >= 0)
		close(*fd);
	freeaddrinfo(ai);
	errno = e;
	return e != 0 ? strerror(e) : NULL;
}

int listen_or_die(const struct receive_options *opt)
{
	static const char in_use[] =
		": a program listens there, or a connection has it as its local "
		"port (see 'ss -tan', and net.ipv4.ip_local_port_range)";
	const bool both = opt->family == AF_UNSPEC && opt->address == NULL;
	int fd = -1;
	const char *why = listen_on(opt, both ? AF_INET6 : opt->family, both, &fd);

	if (why != NULL && both && errno != EADDRINUSE)
		why = listen_on(opt, AF_INET, both, &fd);
	if (why != NULL)
		die("cannot listen on %s%sport %s: %s%s", opt->address != NULL ? opt->address : "",
		    opt->address != NULL ? " " : "", opt->port, why,
		    errno == EADDRINUSE ? in_use : "");
	return fd;
}

void privileges_drop_or_die(const char *user)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const double id = parse_number(OPTION_INT, user);
	const struct passwd *pw;

	errno = 0;
	pw = getpwnam(user);
	if (pw == NULL && id < UINT32_MAX) /* 2^32 - 1 and more are no user's */
		pw = getpwuid((uid_t)id);
	if (pw == NULL)
		die("--user '%s': %s%s", user, errno != 0 ? strerror(errno) : "no such user",
		    strchr(user, ':') != NULL ? ": give the user alone, zcs takes the user's groups"
					      : "");
	/* cppcheck-suppress nullPointerRedundantCheck ; die() does not return */
	if ((initgroups(pw->pw_name, pw->pw_gid) != 0 &&
	     (errno != EPERM || geteuid() != pw->pw_uid)) ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) != 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) != 0)
		die("--user '%s': %s", user,
		    errno == EPERM ? "only root can become another user, or leave groups"
				   : strerror(errno));
	/* The threads that this one starts inherit its capabilities: capset(2). */
	if (pw->pw_uid != 0 && syscall(SYS_capset, &header, none) != 0)
		die_errno("--user '%s': capabilities", user);
}

/*
 * Serving.
 */

/*
 * Waits until a client connects or has ended, or a signal comes.  While there are clients the wait ends with the
 * interval of `period`, or when the next look for stalls is due; at the latest when meter_look() is due.
 */
static void wait_for(struct context *x, int listener, uint64_t period, const sigset_t *unblocked)
{
	const bool lack = places_lack(&x->places), clients = x->group.n > 0;
	struct pollfd p[2] = {{lack ? -1 : listener, POLLIN, 0}, {x->group.wake, POLLIN, 0}};
	const uint64_t now = now_ns();
	uint64_t due = x->meter.due_ns;
	eventfd_t ended;

	if (lack && due > now + LACK_NS)
		due = now + LACK_NS;
	if (clients && due > now + stalls_period(x->group.n))
		due = now + stalls_period(x->group.n);
	if (clients && due > x->group.interval.begin.ns + period)
		due = x->group.interval.begin.ns + period;
	wait_for_events(x, p, 2, due, unblocked);
	eventfd_read(x->group.wake, &ended);
}

/* Ends the clients' streams and waits for their summaries. */
static void dismiss_clients(struct context *x)
{
	const uint64_t until = now_ns() + SUMMARIES_NS;
	const struct client *c;

	LIST_FOREACH (c, &x->group.clients, link) {
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		shutdown(c->place.sock, SHUT_RD);
	}
	while (x->group.n > 0 && now_ns() < until) {
		sleep_ns(5000000);
		clients_remove(x);
	}
	if (x->group.n > 0 && x->opt->json)
		group_close(x);
}

/* With -1: whether a client has left, and none is connected that has sent a byte of a file. */
static bool is_over(const struct context *x)
{
	bool served = x->group.served;
	const struct client *c;

	LIST_FOREACH (c, &x->group.clients, link) {
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		if (c->bytes > 0 && !c->ended)
			return false;
		served |= c->ended && c->begun;
	}
	return x->opt->once && served;
}

/* Drops the clients that have not sent a byte of a file. */
static void drop_others(struct context *x)
{
	struct client *c;

	LIST_FOREACH (c, &x->group.clients, link) {
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		if (c->bytes == 0)
			place_drop(&x->places, &c->place, DROP_FILE);
	}
}

void serve(struct context *x, int listener, const sigset_t *unblocked)
{
	const double seconds = x->opt->interval, idle = x->opt->idle_timeout;
	const uint64_t period = seconds > 0 ? (uint64_t)(seconds * 1e9) : UINT64_MAX / 2;
	struct client_group *g = &x->group;
	uint64_t end_ns = UINT64_MAX; /* when those that hold a connection to no end are dropped */

	interval_next(x);
	while (!*x->stop && (listener >= 0 || g->n > 0)) {
		if (listener < 0 || !is_over(x))
			wait_for(x, listener, period, unblocked);
		clients_accept(x, listener, ACCEPTED_MOST);
		if (listener >= 0 && is_over(x)) {
			/* Who had connected belongs to the group; whoever comes later is refused. */
			clients_accept(x, listener, BACKLOG);
			close(listener);
			listener = -1;
			end_ns = idle > 0 ? now_ns() + (uint64_t)(idle * 1e9) : UINT64_MAX;
		}
		clients_remove(x);
		group_look(x);
		meter_look(&x->meter, g->n > 0);
		if (g->n > 0 && now_ns() >= g->interval.begin.ns + period)
			interval_next(x);
		places_look(&x->places);
		if (now_ns() >= end_ns)
			drop_others(x);
	}
	if (listener >= 0)
		close(listener);
	dismiss_clients(x);
}
