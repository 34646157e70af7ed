/*
 * target.h: finding the server, connecting to it, and how long it may take to answer.
 *
 *	sock = target_connect_first(&target, opt, &stop);
 *	more = target_connect(&target, opt, &stop);
 */
#pragma once

#include "lib/net/socket.h"
#include "lib/send/options.h"

struct target {
	struct sockaddr_storage addr;
	socklen_t addr_len;
	struct sockaddr_storage source; /* opt->source, where that is given */
	socklen_t source_len;
	char name[ADDR_STRLEN];      /* the address and port as text */
	char interface[IF_NAMESIZE]; /* via which packets leave for the server; empty: not known */
};

/* Takes the first address that the resolver has for opt->server and opt->port, or dies. */
void target_resolve(struct target *s, const struct send_options *opt);

/*
 * Makes a socket with the options in `opt`, or dies of them, and connects it.  A signal ends the
 * wait only if *stop is not 0.  Returns the socket, or -1 with errno: ETIMEDOUT when --timeout was
 * over.
 */
int target_connect(const struct target *s, const struct send_options *opt, const _Atomic int *stop);

/* Connects to the first of the server's addresses, in the resolver's order, that accepts. */
int target_connect_first(struct target *s, const struct send_options *opt, const _Atomic int *stop);

/*
 * How long a server may take for the rest: the last bytes and its receipt, or a reply.  --timeout
 * ends a silence; this limit also ends what never falls silent but goes on a few bytes at a time.
 * It begins at a time that is both begin_ns and window_ns.
 */
struct limit {
	uint64_t begin_ns;
	uint64_t window_ns; /* when the --timeout under way began */
	double moved;       /* bytes that had moved when it began */
	bool slow;          /* fewer than 64 KiB moved in one --timeout */
};

/* Whether the limit is reached, once `moved` bytes have moved in all; `timeout` is in seconds. */
bool limit_reached(struct limit *l, double timeout, uint64_t now, double moved);
