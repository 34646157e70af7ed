/*
 * guard.h: which clients zcs serves, how many at a time, for how long they may be idle, and how
 * many lines its log has about one address.  It is the same in stream mode and in reply mode.
 *
 *	struct client *c = places_accept(&places, listener, sizeof(*c));
 *	...					(every LOOK_NS: places_look(&places))
 *	log_client(&places, &c->place, "closed before sending a request");
 *	place_release(&places, &c->place);
 *	close(c->place.sock);
 *
 * When all places are taken, a newcomer gets the place of a client that is done and only lingers.
 * Otherwise a newcomer whose network has fewer places than another gets one of the latter's,
 * unless those clients are all at work.
 */
#pragma once

#include <sys/queue.h>

#include "lib/receive/options.h"
#include "lib/report/receipt.h"

/*
 * Adds `address[/bits][,...]`.  Returns false if the list is malformed.  The prefixes are allocated
 * and last until the program ends.
 */
bool allow_add(struct allow *allow, const char *list);

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
		int lines, left_out;
	} slot[LOG_KINDS][LOG_SLOTS];
	_Atomic uint64_t left_out; /* lines of LOG_BAD since the start */
};

#define LOOK_NS       500000000u /* between two looks at all clients */
#define LOOKS         3          /* that are kept: the oldest is a second old */
#define LACK_NS       100000000u /* accept(2) pauses after a lack of descriptors or memory */
#define NETWORK_SLOTS 256

/* Why a client has lost its place. */
enum dropped { NOT_DROPPED, DROPPED_FOR_ROOM, DROPPED_SLOW, DROPPED_SILENT };

/*
 * A connection and its place.  While it has one, every thread may see it, under the lock of the
 * places.  It is the first member of what represents a client.
 */
struct place {
	TAILQ_ENTRY(place) link;
	struct network *network; /* NULL: it has no place, or has lost it */
	int sock;                /* -1: it is closed */
	struct sockaddr_storage peer;
	uint64_t moved[LOOKS]; /* bytes moved up to each of the last looks, the latest first */
	uint64_t active_ns;    /* when it was last found to have moved something */
	/* places.full_ns at the last check of a full server, and the bytes moved up to then. */
	uint64_t checked_ns, checked_moved;
	bool lingers;        /* it is done, and waits for the client to close */
	_Atomic int dropped; /* enum dropped */
};

struct places {
	const struct receive_options *opt;
	struct client_log log;
	pthread_mutex_t lock;
	/* cppcheck-suppress unusedStructMember ; TAILQ_*() use it */
	TAILQ_HEAD(place_head, place) all; /* in the order in which they were taken */
	LIST_HEAD(network_head, network) network[NETWORK_SLOTS];
	int n;
	const _Atomic uint64_t *continued_ns; /* when a stop (SIGSTOP) last ended; 0: never */
	uint64_t full_ns;                     /* for how long all places have been taken, in all */
	/* When all clients were last looked at; when accept(2) last lacked something; 0: never. */
	_Atomic uint64_t looked_ns, lacked_ns;
	_Atomic uint64_t refused; /* clients that were rejected */
};

/*
 * Counts a line of that kind about a client.  Returns -1 if it may not be printed, otherwise the
 * number of earlier lines that were not printed and that no line has mentioned yet.
 */
int log_line(struct places *s, enum log_kind kind, const struct place *p);

/* Prints `zcs: ADDRESS: message` if the limit allows it, and returns whether it did. */
bool log_client(struct places *s, const struct place *p, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Accepts a client and gives it a place.  Returns `size` zeroed bytes, which the caller frees and
 * which begin with its struct place; NULL if there was no client, or it was rejected.
 */
void *places_accept(struct places *s, int listener, size_t size);

/* How many clients have a place. */
int places_count(struct places *s);

/* Whether accept(2) lacked descriptors or memory just now: clients have to wait for LACK_NS. */
bool places_lack(const struct places *s);

/* Looks at all clients, if the last look is LOOK_NS ago, and drops those that move too little. */
void places_look(struct places *s);

/* Ends the streams of all clients. */
void places_end_streams(struct places *s);

/* Closes the socket of a client that has its place until place_release(). */
void place_close(struct places *s, struct place *p);

/* Takes a client's place away; to be called before its socket is closed otherwise. */
void place_release(struct places *s, struct place *p);

/* Rejects a client: sends it the reason, a word of the receipt, and closes its socket. */
void place_reject(struct places *s, struct place *p, const char *word);

/* Marks a client as done; returns false if it has lost its place and cannot wait any longer. */
bool place_linger(struct places *s, struct place *p);

/* Writes why a client was dropped. */
void place_format_dropped(const struct places *s, const struct place *p, char *buf, size_t size);
