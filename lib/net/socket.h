/*
 * socket.h: what is set on a TCP socket, and how an address is printed.
 *
 *	sock_set_options_or_die(fd, &(struct sock_options){.congestion = "cubic"});
 *	if (connect(fd, sa, len) != 0)
 *		die_errno("%s", addr_format(sa, len));
 */
#pragma once

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common.h"

#define PORT_STRLEN 8
#define HOST_STRLEN 54                              /* enough for `IPv6%scope` */
#define ADDR_STRLEN (HOST_STRLEN + PORT_STRLEN + 2) /* enough for `[IPv6%scope]:port` */

/* Options that are set before connect(2) or listen(2), so that the window scale fits the buffers. */
struct sock_options {
	int rcvbuf;             /* SO_RCVBUF, bytes; 0 leaves it to the kernel's autotuning */
	int sndbuf;             /* SO_SNDBUF, bytes; 0 leaves it to the kernel's autotuning */
	const char *congestion; /* TCP_CONGESTION; NULL is the system's default */
	const char *device;     /* SO_BINDTODEVICE; NULL: the device of the route */
	int dscp;               /* of the packets, 0 to 63: the upper six bits of IP_TOS */
	bool mptcp;             /* Multipath TCP, if the peer has it, too */
};

/* clang-format off */
/* Rows of usage.h, for the members `sock`, `family` and `tls` of a program's options. */
#define SOCK_OPTIONS(type)                                                                         \
	{"4", NULL, NULL, "use IPv4 only (default: IPv4 and IPv6)",                                \
	 OPTION_AT(type, CONSTANT, family), .min = AF_INET, .not_with = "-6"},                     \
	{"6", NULL, NULL, "use IPv6 only", OPTION_AT(type, CONSTANT, family), .min = AF_INET6},    \
	{"", "bind-dev", "DEVICE", "use this interface only (SO_BINDTODEVICE)",                    \
	 OPTION_AT(type, DEVICE, sock.device)},                                                    \
	{"", "tls", "CIPHER",                                                                      \
	 "encrypt by kernel TLS 1.3, as the other end has to, with a key that all know: this "     \
	 "measures and protects nothing; aes-128-gcm (default), aes-256-gcm or chacha20-poly1305", \
	 OPTION_TAKE(type, CIPHER, tls, NULL), .optional = true,                                   \
	 .not_with = "--raw --mptcp --request --reply"},                                           \
	{"i", "rcvbuf", "SIZE", "set SO_RCVBUF (default: the kernel's autotuning)",                \
	 OPTION_AT(type, SIZE, sock.rcvbuf), .min = 1, .max = 1u << 30},                           \
	{"o", "sndbuf", "SIZE", "set SO_SNDBUF (default: the kernel's autotuning)",                \
	 OPTION_AT(type, SIZE, sock.sndbuf), .min = 1, .max = 1u << 30}
/* clang-format on */

/*
 * Opens a stream socket; `flags` may be SOCK_NONBLOCK.  Dies if the kernel lacks Multipath TCP; returns -1 with
 * errno for other errors.
 */
int sock_open(int family, int flags, const struct sock_options *o);

/* setsockopt(2) of an option that is an int. */
int sock_set(int fd, int level, int name, int value);

/* Limits the wait of a connect(2), send(2) or recv(2) (SO_SNDTIMEO, SO_RCVTIMEO); 0: no limit. */
int sock_set_timeout(int fd, double seconds);

/*
 * Whether the end of a connection by close(2), or by the death of the process, resets it: the kernel then
 * drops what is still unsent.
 */
void sock_reset_at_close(int fd, bool resets);

/* getsockopt(2) of an option that is an int; 0 if it fails. */
int sock_get(int fd, int level, int name);

/*
 * Whether the connection uses Multipath TCP (MPTCP_INFO), and not TCP alone.  If so, stores the bytes that were
 * acknowledged and received over all its subflows, or NAN before Linux 6.5; and a number that rises by both, which
 * Linux has had since 5.16.  The pointers may be NULL.
 */
bool sock_is_mptcp(int fd, double *acked, double *received, uint64_t *moved);

/* Sets the options or dies.  Warns the first time that the kernel gives a buffer smaller than asked for. */
void sock_set_options_or_die(int fd, const struct sock_options *o);

/* Warns of a receive buffer so small that -i was meant as the interval that it is for iperf3. */
void sock_warn_of_interval(const struct sock_options *o);

/* Makes the kernel end a connection whose peer has been unreachable for two minutes. */
void sock_keep_alive(int fd);

/* `192.0.2.1:2222`, `[2001:db8::1]:2222`; an IPv4-mapped address is shown as IPv4. */
const char *addr_format(const struct sockaddr *sa, socklen_t len);

/* The address itself.  IPv4 is mapped into IPv6, as in ::ffff:192.0.2.1: RFC 4291. */
struct in6_addr addr_ipv6(const struct sockaddr *sa);

/* Whether it is a link-local address of IPv6 that does not say of which interface. */
bool addr_lacks_zone(const struct sockaddr *sa);

/* Stores its two parts, without brackets; false if the address cannot be printed. */
bool addr_split(const struct sockaddr *sa, socklen_t len, char host[HOST_STRLEN],
		char port[PORT_STRLEN]);

/*
 * Stores the name of the interface via which the kernel routes the packets of a socket to `peer` (rtnetlink(7),
 * RTM_GETROUTE): `lo` for every address of this host, and an empty string if there is none.  The socket need
 * not be connected.  Its addresses, ports, mark, DSCP and device decide, so that they are to be set before.
 */
void sock_interface(int fd, const struct sockaddr *peer, char name[IF_NAMESIZE]);

struct nlmsghdr;

/*
 * Asks the kernel by a message of a protocol of netlink(7), and stores the answer in its place, of `size` bytes.  False if the answer
 * has another type.
 */
bool netlink_ask(int protocol, struct nlmsghdr *m, size_t size, unsigned short answer);

/* A close-on-exec pipe as large as the kernel allows, at most 1 MiB; *size is its size in bytes. */
int pipe_large(int fd[2], size_t *size);

/* Stores the name of a connection's congestion control, or "unknown". */
void sock_congestion(int fd, char name[16]);
