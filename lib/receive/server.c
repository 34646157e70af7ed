#include "lib/receive/server.h"

#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "lib/receive/client.h"

#define BACKLOG      4096        /* the kernel lowers it to net.core.somaxconn */
#define REPLY_UNSENT (64 * 1024) /* bytes unsent that stop a reply; one send more makes 128 KiB */
#define SUMMARIES_NS 2000000000u /* for the clients' summaries on an interrupt */

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

/* Whether the process is that user in all of its ids, and in no other's group. */
static bool is_user(const struct passwd *pw)
{
	gid_t gid[3], groups[NGROUPS_MAX], users[NGROUPS_MAX];
	uid_t uid[3];
	int n = getgroups(NGROUPS_MAX, groups), n_users = NGROUPS_MAX, i, k;
	bool is = n >= 0 && getgrouplist(pw->pw_name, pw->pw_gid, users, &n_users) >= 0 &&
		  getresuid(&uid[0], &uid[1], &uid[2]) == 0 &&
		  getresgid(&gid[0], &gid[1], &gid[2]) == 0;

	for (i = 0; is && i < 3; i++)
		is = uid[i] == pw->pw_uid && gid[i] == pw->pw_gid;
	for (i = 0; is && i < n; i++) {
		for (k = 0; k < n_users && users[k] != groups[i]; k++)
			;
		is = k < n_users;
	}
	return is;
}

/* Whether a user is given by number; 2^32 - 1 and more are no user's. */
static bool is_id(const char *user)
{
	return user[0] != '\0' && user[strspn(user, "0123456789")] == '\0' &&
	       strtoul(user, NULL, 10) < UINT32_MAX;
}

void privileges_drop_or_die(const char *user)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const struct passwd *pw;
	bool became;

	errno = 0;
	pw = getpwnam(user);
	if (pw == NULL && is_id(user))
		pw = getpwuid((uid_t)strtoul(user, NULL, 10));
	if (pw == NULL)
		die("--user '%s': %s%s", user, errno != 0 ? strerror(errno) : "no such user",
		    strchr(user, ':') != NULL ? ": give the user alone, whose groups zcs takes"
					      : "");
	/* cppcheck-suppress nullPointerRedundantCheck ; die() does not return */
	became = initgroups(pw->pw_name, pw->pw_gid) == 0 &&
		 setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) == 0 &&
		 setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) == 0;
	if (!became && errno != EPERM)
		die_errno("--user '%s'", user);
	if (!became && !is_user(pw))
		die("--user '%s': only root can become another user%s", user,
		    pw->pw_uid == geteuid() ? ", or leave other groups" : "");
	if (pw->pw_uid == 0)
		return;
	if (setuid(0) == 0 || setgid(0) == 0)
		die("--user '%s': privileges came back", user);
	/* Of this thread, and so of those that it starts: capset(2). */
	if (syscall(SYS_capset, &header, none) != 0)
		die_errno("--user '%s': capabilities", user);
}

/*
 * Whether a client waits to be accepted though a client's thread accepts them.  That thread waits for
 * something else then, such as a reader of the report, and the main thread accepts clients again.
 */
static bool reclaim(struct context *x)
{
	struct pollfd p = {.fd = x->listener, .events = POLLIN};

	if (poll(&p, 1, 0) <= 0)
		return false;
	x->acceptor = NULL;
	return true;
}

/*
 * Waits until a client connects, the last has left, or a signal comes.  While there are clients the wait
 * ends with the interval of `period`, or when places_look() is due; at the latest when group_look() is.
 * Returns whether a client waits to be accepted.
 */
static bool wait_for(struct context *x, uint64_t period, const sigset_t *unblocked)
{
	const bool lack = places_lack(&x->places), elsewhere = x->acceptor != NULL,
		   looks = lack || elsewhere || x->group.n > 0;
	const uint64_t interval_ns = x->group.interval_ns + period;
	struct pollfd p[2] = {{lack || elsewhere ? -1 : x->listener, POLLIN, 0},
			      {x->group.wake, POLLIN, 0}};
	uint64_t now = now_ns(), wait = lack ? LACK_NS : looks ? LOOK_NS : UINT64_MAX - now;
	struct timespec t;
	eventfd_t ignored;

	if (x->group.n > 0 && interval_ns < now + wait)
		wait = interval_ns > now ? interval_ns - now : 0;
	else if (elsewhere && period < wait) /* the first client of a group may be accepted there */
		wait = period;
	if (x->meter.due_ns < now + wait)
		wait = x->meter.due_ns > now ? x->meter.due_ns - now : 0;
	t = ns_to_timespec(wait);
	if (ppoll(p, 2, wait < UINT64_MAX - now ? &t : NULL, unblocked) <= 0)
		return elsewhere && !lack && reclaim(x);
	if (p[1].revents != 0)
		eventfd_read(x->group.wake, &ignored);
	return p[0].revents != 0;
}

/* Ends the clients' streams and waits for their summaries. */
static void dismiss_clients(struct context *x)
{
	uint64_t until = now_ns() + SUMMARIES_NS;

	places_end_streams(&x->places);
	while (x->group.n > 0 && now_ns() < until)
		sleep_ns(5000000);
	group_close(x);
	report_last_small(&x->report);
}

void serve(struct context *x, int listener, const sigset_t *unblocked)
{
	const double seconds = x->opt->interval;
	const uint64_t period = seconds > 0 ? (uint64_t)(seconds * 1e9) : UINT64_MAX / 2;
	struct client_group *g = &x->group;
	struct pollfd p = {.fd = listener, .events = POLLIN};

	x->listener = listener;
	x->mptcp = sock_get(listener, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_MPTCP;
	figures_program(&x->program);
	interval_next(x);
	while (!*x->stop) {
		/* With -1 the first group is all; a client that waits to be accepted belongs to it. */
		if (x->opt->once && x->accepted > 0 && g->n == 0 && poll(&p, 1, 0) <= 0)
			break;
		if (wait_for(x, period, unblocked))
			client_accept(x);
		group_look(x);
		if (g->n > 0 && now_ns() >= g->interval_ns + period)
			interval_next(x);
		places_look(&x->places);
	}
	shutdown(listener, SHUT_RD); /* ends the wait of a thread that accepts clients */
	pthread_mutex_lock(&x->accepting);
	x->listener = -1;
	close(listener);
	pthread_mutex_unlock(&x->accepting);
	dismiss_clients(x);
	if (g->n == 0)
		pool_end(&x->pool);
}
