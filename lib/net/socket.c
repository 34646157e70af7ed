#include "lib/net/socket.h"

#include <linux/mptcp.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <netdb.h>

#define RCVBUF_LEAST 1024 /* bytes: fewer are no buffer for a segment */

/* IPPROTO_MPTCP, SOL_MPTCP and MPTCP_INFO, which headers of glibc before 2.32 and of Linux before 5.16 lack. */
enum { MPTCP_PROTOCOL = 262, MPTCP_LEVEL = 284, MPTCP_OPTION = 1 };

int sock_open(int family, int flags, const struct sock_options *o)
{
	const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags,
			      o->mptcp ? MPTCP_PROTOCOL : IPPROTO_TCP);

	if (fd < 0 && o->mptcp &&
	    (errno == EPROTONOSUPPORT || errno == ENOPROTOOPT || errno == EINVAL))
		die_errno("--mptcp (see net.mptcp.enabled)");
	return fd;
}

/*
 * The 64-bit words of struct mptcp_info: the sequence numbers up to which the peer and this end have acknowledged; and
 * counts that Linux has since 6.5, which older headers lack.
 */
enum { MPTCP_SND_UNA = 3, MPTCP_RCV_NXT, MPTCP_RECEIVED = 8, MPTCP_ACKED, MPTCP_WORDS };

bool sock_is_mptcp(int fd, double *acked, double *received, uint64_t *moved)
{
	uint64_t word[MPTCP_WORDS] = {0};
	socklen_t len = sizeof(word);
	uint32_t flags;

	if (getsockopt(fd, MPTCP_LEVEL, MPTCP_OPTION, word, &len) != 0)
		return false;
	memcpy(&flags, (char *)word + offsetof(struct mptcp_info, mptcpi_flags), sizeof(flags));
	if ((flags & MPTCP_INFO_FLAG_FALLBACK) != 0)
		return false;
	if (acked != NULL)
		*acked = len == sizeof(word) ? (double)word[MPTCP_ACKED] : NAN;
	if (received != NULL)
		*received = len == sizeof(word) ? (double)word[MPTCP_RECEIVED] : NAN;
	if (moved != NULL)
		*moved = word[MPTCP_SND_UNA] + word[MPTCP_RCV_NXT];
	return true;
}

int sock_set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

void sock_reset_at_close(int fd, bool resets)
{
	const struct linger none = {.l_onoff = resets};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

int sock_get(int fd, int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) == 0 ? value : 0;
}

int sock_set_timeout(int fd, double seconds)
{
	const struct timeval t = {(time_t)seconds, (suseconds_t)(fmod(seconds, 1) * 1e6)};

	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) != 0)
		return -1;
	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* Sets one buffer size.  The kernel doubles it, for its own overhead (socket(7)). */
static void set_bufsize_or_die(int fd, int name, const char *what, const char *limit, int want)
{
	static atomic_flag warned[2]; /* one for each buffer, however many connections there are */
	int got;

	if (sock_set(fd, SOL_SOCKET, name, want) != 0)
		die_errno("%s buffer of %d bytes", what, want);
	got = sock_get(fd, SOL_SOCKET, name);
	if (got / 2 < want && !atomic_flag_test_and_set(&warned[name == SO_SNDBUF]))
		/* In one call: with warnx(3), lines of two threads were seen mixed. */
		fprintf(stderr, "%s: %s buffer: asked for %d bytes, the kernel gave %d (see %s)\n",
			program_invocation_short_name, what, want, got / 2, limit);
}

/* A socket of IPv6 has both options: that of IPv4 is for mapped addresses. */
static void set_dscp_or_die(int fd, int dscp)
{
	if (sock_set(fd, IPPROTO_IP, IP_TOS, dscp << 2) != 0)
		die_errno("--dscp %d", dscp);
	sock_set(fd, IPPROTO_IPV6, IPV6_TCLASS, dscp << 2); /* fails on a socket of IPv4 */
}

void sock_set_options_or_die(int fd, const struct sock_options *o)
{
	if (o->device != NULL && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, o->device,
					    (socklen_t)strlen(o->device)) != 0)
		die_errno("--bind-dev '%s'", printable(o->device));
	if (o->dscp > 0)
		set_dscp_or_die(fd, o->dscp);
	if (o->rcvbuf > 0)
		set_bufsize_or_die(fd, SO_RCVBUF, "receive", "net.core.rmem_max", o->rcvbuf);
	if (o->sndbuf > 0)
		set_bufsize_or_die(fd, SO_SNDBUF, "send", "net.core.wmem_max", o->sndbuf);
	if (o->congestion != NULL && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, o->congestion,
						(socklen_t)strlen(o->congestion)) != 0)
		die_errno("congestion control '%s' (see net.ipv4.tcp_%s_congestion_control)",
			  o->congestion, errno == EPERM ? "allowed" : "available");
}

void sock_warn_of_interval(const struct sock_options *o)
{
	if (o->rcvbuf > 0 && o->rcvbuf < RCVBUF_LEAST)
		warnx("-i, --rcvbuf: a receive buffer of %d byte%s: an interval, as in iperf3, is -I",
		      o->rcvbuf, plural((uint64_t)o->rcvbuf));
}

/* A minute of silence, then six probes ten seconds apart: tcp(7). */
void sock_keep_alive(int fd)
{
	sock_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 60);
	sock_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
	sock_set(fd, IPPROTO_TCP, TCP_KEEPCNT, 6);
	sock_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

struct in6_addr addr_ipv6(const struct sockaddr *sa)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (sa->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)sa)->sin6_addr;
	memcpy(&a.s6_addr[12], &((const struct sockaddr_in *)sa)->sin_addr, 4);
	return a;
}

bool addr_lacks_zone(const struct sockaddr *sa)
{
	const struct in6_addr a = addr_ipv6(sa);

	return IN6_IS_ADDR_LINKLOCAL(&a) && ((const struct sockaddr_in6 *)sa)->sin6_scope_id == 0;
}

bool addr_split(const struct sockaddr *sa, socklen_t len, char host[HOST_STRLEN],
		char port[PORT_STRLEN])
{
	if (getnameinfo(sa, len, host, HOST_STRLEN, port, PORT_STRLEN,
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return false;
	if (strncmp(host, "::ffff:", 7) == 0 && strchr(host, '.') != NULL)
		memmove(host, host + 7, strlen(host + 7) + 1);
	return true;
}

const char *addr_format(const struct sockaddr *sa, socklen_t len)
{
	char host[HOST_STRLEN], port[PORT_STRLEN];

	if (!addr_split(sa, len, host, port))
		return "unknown address";
	make_printable(host); /* the name of an interface follows a link-local address */
	return text_of(strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
}

/*
 * The route of a socket: rtnetlink(7).
 */

/* RTA_IP_PROTO, RTA_SPORT and RTA_DPORT, which headers before Linux 4.18 lack; older kernels ignore them. */
enum { ROUTE_PROTOCOL = 27, ROUTE_SPORT, ROUTE_DPORT };

struct route_message {
	struct nlmsghdr nh;
	struct rtmsg rt;
	char rest[4096];
};

static void message_add(struct route_message *m, unsigned short type, const void *data, size_t len)
{
	const struct rtattr head = {.rta_len = (unsigned short)RTA_LENGTH(len), .rta_type = type};
	char *at = (char *)m + m->nh.nlmsg_len;

	memcpy(at, &head, sizeof(head));
	memcpy(at + RTA_LENGTH(0), data, len);
	m->nh.nlmsg_len += RTA_ALIGN(head.rta_len);
}

bool netlink_ask(int protocol, struct nlmsghdr *m, size_t size, unsigned short answer)
{
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (send(fd, m, m->nlmsg_len, 0) >= 0)
		n = recv(fd, m, size, 0);
	close(fd);
	return n >= 0 && NLMSG_OK(m, (size_t)n) && m->nlmsg_type == answer;
}

/*
 * Returns the index of the interface of the route from `own`, whose address may be any, to `peer`; 0 if there is
 * none.  Stores the address that the route has for this host.
 */
static unsigned route_find(int fd, unsigned device, const struct sockaddr *peer,
			   const struct sockaddr *own, struct in6_addr *from)
{
	const struct in6_addr to = addr_ipv6(peer), any = in6addr_any;
	const bool v4 = IN6_IS_ADDR_V4MAPPED(&to);
	const size_t skip = v4 ? 12 : 0, len = sizeof(to) - skip;
	const int tos = v4 ? sock_get(fd, IPPROTO_IP, IP_TOS)
			   : sock_get(fd, IPPROTO_IPV6, IPV6_TCLASS),
		  mark = sock_get(fd, SOL_SOCKET, SO_MARK);
	const unsigned char protocol = IPPROTO_TCP;
	/* The port is at the same place in the addresses of both families. */
	const in_port_t *const sport = &((const struct sockaddr_in *)own)->sin_port,
			       *const dport = &((const struct sockaddr_in *)peer)->sin_port;
	struct route_message m = {.nh = {.nlmsg_type = RTM_GETROUTE,
					 .nlmsg_flags = NLM_F_REQUEST,
					 .nlmsg_len = NLMSG_LENGTH(sizeof(m.rt))},
				  .rt = {.rtm_family = v4 ? AF_INET : AF_INET6,
					 .rtm_tos = (unsigned char)(tos & 0xfc),
					 .rtm_dst_len = (unsigned char)(8 * len)}};
	const struct rtattr *a = (const struct rtattr *)(const void *)m.rest;
	const bool known = memcmp(&from->s6_addr[skip], &any, len) != 0;
	unsigned index = 0;
	int left;

	message_add(&m, RTA_DST, &to.s6_addr[skip], len);
	if (known) {
		m.rt.rtm_src_len = m.rt.rtm_dst_len;
		message_add(&m, RTA_SRC, &from->s6_addr[skip], len);
	}
	if (device != 0)
		message_add(&m, RTA_OIF, &device, sizeof(device));
	if (mark != 0)
		message_add(&m, RTA_MARK, &mark, sizeof(mark));
	message_add(&m, ROUTE_PROTOCOL, &protocol, sizeof(protocol));
	if (*sport != 0) /* NOLINT(clang-analyzer-core.*): the family has a port */
		message_add(&m, ROUTE_SPORT, sport, sizeof(*sport));
	message_add(&m, ROUTE_DPORT, dport, sizeof(*dport));
	if (!netlink_ask(NETLINK_ROUTE, &m.nh, sizeof(m), RTM_NEWROUTE))
		return 0;
	for (left = (int)RTM_PAYLOAD(&m.nh); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type == RTA_OIF)
			memcpy(&index, RTA_DATA(a), sizeof(index));
		if (a->rta_type == RTA_PREFSRC && !known)
			memcpy(&from->s6_addr[skip], RTA_DATA(a), len);
	}
	return index;
}

void sock_interface(int fd, const struct sockaddr *peer, char name[IF_NAMESIZE])
{
	struct sockaddr_storage own = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(own), size = IF_NAMESIZE;
	const struct in6_addr to = addr_ipv6(peer);
	unsigned device = 0, index;
	struct in6_addr from;

	name[0] = '\0';
	if (getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size) == 0 && name[0] != '\0')
		device = if_nametoindex(name);
	else if (IN6_IS_ADDR_LINKLOCAL(&to))
		device = ((const struct sockaddr_in6 *)peer)->sin6_scope_id;
	getsockname(fd, (struct sockaddr *)&own, &len);
	from = addr_ipv6((struct sockaddr *)&own);
	/* The address that the kernel chooses for a socket without one may have a route of its own. */
	route_find(fd, device, peer, (struct sockaddr *)&own, &from);
	index = route_find(fd, device, peer, (struct sockaddr *)&own, &from);
	if (index == 0)
		index = device;
	if (index == 0 || if_indextoname(index, name) == NULL)
		name[0] = '\0';
}

#define PIPE_LARGE (1024 * 1024) /* fs.pipe-max-size, unless it was changed */

/* An ordinary user's share of pipe memory may be used up (pipe(7), fs.pipe-user-pages-soft). */
int pipe_large(int fd[2], size_t *size)
{
	int want = PIPE_LARGE;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return -1;
	while (want > 64 * 1024 && fcntl(fd[0], F_SETPIPE_SZ, want) < 0)
		want /= 2;
	*size = (size_t)fcntl(fd[0], F_GETPIPE_SZ);
	return 0;
}

void sock_congestion(int fd, char name[16])
{
	socklen_t len = 16;

	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) != 0)
		strcpy(name, "unknown");
}
