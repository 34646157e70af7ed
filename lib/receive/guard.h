/*
 * guard.h: who may connect to zcs, and how many lines its log has about one address.
 *
 *	allow_add(&allow, "192.0.2.0/24,2001:db8::/32");
 *	if (!is_allowed(&allow, &peer))
 *		log_client(&log, &peer, "turned away: not of --allow");
 */
#pragma once

#include <netinet/in.h>

#include "common.h"

/* The prefixes of --allow.  IPv4 is mapped into IPv6.  An empty list allows every address. */
struct allow {
	struct prefix {
		struct in6_addr address;
		int bits;
	} * prefix;
	size_t n;
};

/*
 * Adds `address[/bits][,...]`.  Returns false if the list is malformed.  The caller frees
 * allow->prefix.
 */
bool allow_add(struct allow *allow, const char *list);

bool is_allowed(const struct allow *allow, const struct sockaddr_storage *peer);

/*
 * Stores the IPv4 address of a peer, mapped into IPv6, or the first 64 bits of its IPv6 address:
 * one site usually owns all addresses of such a network.  Returns a hash of it.
 */
uint32_t network_of(const struct sockaddr_storage *peer, struct in6_addr *network);

/* Prints a line on stderr in one piece; warnx(3) would let other threads' lines come between. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The log limits the lines about each network, so that a client cannot flood it: LOG_LINES in
 * LOG_NS.  Networks that share a slot of the table share a limit.
 */
#define LOG_SLOTS 64
#define LOG_LINES 20
#define LOG_NS    10000000000u

enum log_kind { LOG_BAD, LOG_SMALL, LOG_KINDS }; /* errors on stderr; small summaries on stdout */

struct client_log {
	pthread_mutex_t lock;
	struct log_slot {
		uint64_t since_ns;
		unsigned lines, left_out;
	} slot[LOG_KINDS][LOG_SLOTS];
	uint64_t left_out; /* lines of LOG_BAD since the start */
};

/*
 * Counts a line of that kind about a peer and returns whether it may be printed.  *left_out is the
 * number of earlier lines that were not printed and that no line has mentioned yet.
 */
bool log_allows(struct client_log *log, enum log_kind kind, const struct sockaddr_storage *peer,
		unsigned *left_out);

/* Prints `zcs: ADDRESS: message` if the limit allows it, and returns whether it did. */
bool log_client(struct client_log *log, const struct sockaddr_storage *peer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints how many lines the limit suppressed since the start, if it did. */
void log_end(struct client_log *log);
