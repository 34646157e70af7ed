/*
 * guard.h: the options of zcs; and which clients it serves, how many at a time, which of them it drops, and how many
 * lines it prints about them, in stream mode and in reply mode.
 *
 *	struct client *c = places_accept(&places, listener, sizeof(*c));
 *	...					(every LOOK_NS: places_look(&places))
 *	log_client(&places, &c->place, "sent more than it announced");
 *	place_close(&places, &c->place);
 */
#pragma once

#include <sys/queue.h>

#include "lib/load/gauge.h"
#include "lib/net/socket.h"
#include "lib/receive/receiver.h"
#include "lib/report/figures.h"

/* The prefixes of --allow.  IPv4 is mapped into IPv6.  An empty list allows every address. */
struct allow {
	struct prefix {
		struct in6_addr address;
		int bits;
	} * prefix;
	size_t n;
};

/* What the command line asks of zcs; const once it is parsed. */
struct receive_options {
	struct sock_options sock;
	struct cpus bind; /* CPUs to run on; empty: any */
	const char *port; /* number of the port; "0": the kernel chooses one */
	/* The address to listen on, NULL: all; the user to become, NULL: none. */
	const char *address, *user;
	struct gauge_setup gauge; /* whether and how the host's load is measured */
	struct allow allow;       /* clients to serve */
	const struct receive_method *method;
	const struct tls_cipher *tls; /* of clients that say hello; NULL: none may */
	size_t buffer;                /* bytes of each call; 0: the method's default */
	uint64_t max_reply;           /* the most bytes that a request may ask for */
	int family;                   /* AF_INET, AF_INET6, or AF_UNSPEC for both */
	int max_clients;
	double interval, idle_timeout; /* seconds between two lines of the report; 0: none */
	bool raw, reply, keep, timestamps, once, quiet, debug;
	int json; /* JSON_* */
};

/*
 * Adds `address[/bits][,...]`.  Returns false if the list is malformed.  The prefixes are allocated
 * and last until the program ends.
 */
bool allow_add(struct allow *allow, const char *list);

/* Prints a line on stderr in one piece, unlike warnx(3), into which other threads can print. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define LOG_LINES 20 /* about clients, in LOG_NS */
#define LOG_NS    10000000000u
#define LOOK_NS   500000000u /* between two looks at all clients */
#define LACK_NS   100000000u /* a pause after accept(2) lacked descriptors or memory */

/* A full server makes room at the cost of a client that has moved fewer bytes than these, in more than this time. */
#define SLOW_BYTES 65536
#define SLOW_NS    10000000000u

#define ORIGINS 1024 /* lists of the hash table; a power of two */

/* An IPv4 address or IPv6 /64 that has places. */
struct origin {
	LIST_ENTRY(origin) link;
	uint64_t key;
	int places;
};

/* Why the connection of a client was ended. */
enum drop { DROP_NONE, DROP_SILENT, DROP_HEADER, DROP_FILE, DROP_FULL };

/*
 * A connection and its place.  While it has a place, every thread may read it under the lock of the places.
 * It is the first member of the struct of a client.
 */
struct place {
	LIST_ENTRY(place) link;
	int sock;
	struct sockaddr_storage peer;
	struct origin *origin;
	uint64_t accepted_ns;
	uint64_t moved_before; /* what the kernel counted when it was accepted */
	uint64_t moved;        /* bytes moved since, up to the last look */
	uint64_t active_ns;    /* when it was last found to have moved something */
	_Atomic enum drop dropped;
};

struct places {
	const struct receive_options *opt;
	pthread_mutex_t lock;
	/* cppcheck-suppress unusedStructMember ; LIST_*() use it */
	LIST_HEAD(place_head, place) all;
	LIST_HEAD(origin_head, origin) origins[ORIGINS];
	_Atomic int n; /* clients that have a place; one that is dropped to make room has none */
	uint64_t looked_ns;         /* when all clients were last looked at; 0: never */
	_Atomic uint64_t lacked_ns; /* when accept(2) last lacked something; 0: never */
	_Atomic uint64_t refused;   /* clients that were rejected, or dropped to make room */
	struct {
		uint64_t since_ns; /* when the first of the lines was */
		int lines, omitted;
	} log;
};

/*
 * Whether one more line about a client may be printed: clients cannot flood the log.  Counts the line, and prints
 * the number of lines that were omitted before it.
 */
bool log_allows(struct places *s);

/* Prints `zcs: ADDRESS: message` if the limit allows it, and returns whether it did. */
bool log_client(struct places *s, const struct place *p, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints that n lines about clients were omitted, unless n is 0. */
void note_omitted(int n);

/*
 * Accepts a client and gives it a place.  If all are taken, one whose address has fewer places than another gets that
 * of the slowest kind of client (SLOW_BYTES) of the address that has most.  Returns `size` zeroed bytes that begin with its struct place, to be
 * freed by the caller; NULL if there was no client, or it was rejected.
 */
void *places_accept(struct places *s, int listener, size_t size);

/* Whether accept(2) lacked descriptors or memory just now: clients have to wait for LACK_NS. */
bool places_lack(const struct places *s);

/*
 * Drops clients that are silent for --idle-timeout, or have no whole header within that time of their accept, if the last
 * look at all of them is LOOK_NS ago.  The main thread alone calls it.
 */
void places_look(struct places *s);

/* Ends the connection of a client, whatever its thread waits for. */
void place_drop(struct places *s, struct place *p, enum drop why);

/* Why a client was dropped, as text; NULL: it was not. */
const char *place_dropped(const struct places *s, const struct place *p);

/* Frees a client's place and closes its socket. */
void place_close(struct places *s, struct place *p);

/* Sends a client the word REFUSED_* in place of a receipt, which only the wire has, and the end of the stream. */
void place_refuse(const struct places *s, const struct place *p, const char *word);

/* Rejects a client that has a place, because zcs lacks a resource for it, and closes its socket. */
void place_reject(struct places *s, struct place *p, const char *why);
