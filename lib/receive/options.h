/*
 * options.h: what the command line asks of zcs; const once it is parsed.
 */
#pragma once

#include <netinet/in.h>

#include "lib/load/gauge.h"
#include "lib/net/socket.h"
#include "lib/receive/receiver.h"

/* The prefixes of --allow.  IPv4 is mapped into IPv6.  An empty list allows every address. */
struct allow {
	struct prefix {
		struct in6_addr address;
		int bits;
	} * prefix;
	size_t n;
};

struct receive_options {
	struct sock_options sock;
	struct cpus bind; /* CPUs to run on; empty: any */
	const char *port; /* number of the port; "0": the kernel chooses one */
	/* The address to listen on, NULL: all; whose privileges to take, NULL: to keep them. */
	const char *address, *user;
	struct gauge_setup gauge; /* whether and how the host's load is measured */
	struct allow allow;       /* clients to serve */
	const struct receive_method *method;
	size_t buffer;      /* bytes of each call; 0: the method's default */
	uint64_t max_reply; /* the most bytes that a request may ask for */
	int family;         /* AF_INET, AF_INET6, or AF_UNSPEC for both */
	int max_clients;
	double interval, idle_timeout; /* seconds between two lines of the report; 0: none */
	bool raw, reply, json, once, quiet, debug;
};
