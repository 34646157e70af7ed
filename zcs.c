/*
 * zcs: receives what zcc sends, any number of clients at once, and reports how fast.  This file has
 * the options and the order of events; lib/receive has the parts.
 */
#include "common.h"
#include "lib/load/calibration.h"
#include "lib/load/counters.h"
#include "lib/load/limits.h"
#include "lib/load/load.h"
#include "lib/load/soaker.h"
#include "lib/net/socket.h"
#include "lib/net/wire.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"
#include "lib/report/terms.h"
#include "lib/report/units.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * guard.h: who may connect to zcs, and how many lines its log has about one address.
 *
 *	allow_add(&allow, "192.0.2.0/24,2001:db8::/32");
 *	if (!is_allowed(&allow, &peer))
 *		log_client(&log, &peer, "turned away: not of --allow");
 */

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

/* Prints a line on stderr in one piece, where warnx(3) would let other threads' lines come between. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The log limits the lines of each network separately, so that a client cannot flood it: LOG_LINES in
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

/*
 * methods.h: how zcs receives: a receiver reads a connection's wire by one of four methods.
 *
 *	receiver_init(&r, sock, &receive_methods[0], false);
 *	receiver_wait(&r);
 *	if (receiver_open(&r, 0, &buffers) == 0)
 *		while (receiver_receive(&r) > 0)
 *			;
 *	receiver_close(&r);
 */

struct receiver;

struct receive_method {
	const char *name;
	ssize_t (*receive)(struct receiver *r); /* one system call that moves data */
	bool copies;                            /* it copies data into a buffer of the program */
	int lowat;                              /* SO_RCVLOWAT in a body, bytes */
};

#define RECEIVE_METHODS 4
extern const struct receive_method receive_methods[RECEIVE_METHODS]; /* the first is the default */

struct receiver {
	int sock; /* does not block */
	const struct receive_method *method;
	struct wire wire;     /* what has come so far */
	char *buf;            /* NULL if the method does not copy */
	size_t size;          /* the most bytes that one call asks for */
	int lowat;            /* SO_RCVLOWAT now in force, bytes; 0: the kernel's default */
	int pipe[2], sink;    /* of splice; -1: none */
	bool readable;        /* poll(2) has reported data, and no call has been made since */
	bool excess;          /* more data came than the wire announced */
	_Atomic int *buffers; /* counts receivers with a default buffer; NULL: not this one */
};

/* Prepares a receiver on a connected socket; `raw`: the connection has no headers. */
void receiver_init(struct receiver *r, int sock, const struct receive_method *method, bool raw);

/* Waits for data, the end of the stream or an error. */
void receiver_wait(struct receiver *r);

/*
 * Allocates what the method needs.  `size` is the most bytes that a call asks for; 0 stands for the
 * method's default, which is smaller beside many others: *buffers counts those.  Returns 0 or the
 * error.  It is called when data have come, so that idle clients do not shrink others' buffers.
 */
int receiver_open(struct receiver *r, size_t size, _Atomic int *buffers);

/* Receives once, waiting as needed; returns what the system call did: bytes, 0 at the end, or -1. */
ssize_t receiver_receive(struct receiver *r);

/* Frees what receiver_open() allocated; the socket stays open. */
void receiver_close(struct receiver *r);

/*
 * options.h: what the command line asks of zcs; const once it is parsed.
 */

struct receive_options {
	struct sock_options sock;
	struct cpus bind;    /* CPUs to run on; empty: any */
	const char *port;    /* number of the port; "0": the kernel chooses one */
	const char *address; /* to listen on; NULL: all */
	const char *user;    /* whose privileges to take; NULL: to keep them */
	struct allow allow;  /* clients to serve */
	const struct receive_method *method;
	int family;         /* AF_INET, AF_INET6, or AF_UNSPEC for both */
	size_t buffer;      /* bytes of each call; 0: the method's default */
	double interval;    /* seconds between two lines of the report; 0: no such lines */
	int n_cpus;         /* CPUs whose load is measured; 0: all */
	uint32_t max_reply; /* the most bytes that a request may ask for */
	int max_clients;
	double idle_timeout; /* seconds; 0: none */
	/* Flags are int where getopt_long(3) stores them. */
	int raw, reply, json;
	bool load, once, quiet, debug;
};

/*
 * meter.h: reads what a transfer and its host have done so far, and tells the difference between
 * two readings.
 *
 *	mark_now(&meter, &begin);
 *	...
 *	mark_now(&meter, &end);
 *	figures_between(&meter, &begin, &end, &figures);
 */

#define RATES_NS 10000000 /* the host's counters tell nothing of a shorter time */

struct meter {
	struct soaker *soaker; /* NULL: the load is not measured */
	struct calibration calibration;
	const char *method; /* by which zcs receives */
};

/* The state at one time: a zeroed struct, and then what is read of it. */
struct mark {
	uint64_t ns;                  /* now_ns() */
	uint64_t bytes, calls, files; /* received so far; in reply mode calls are replies */
	struct load_sample load;      /* if it is measured */
	struct counters counters;     /* if they are read: counters.ns != 0 */
};

/* Stores the time and the soakers' counts. */
void mark_now(const struct meter *m, struct mark *mark);

/* Fills in *f but for what two marks do not have: warmup, clients, cpu, tcp.  Any thread may call it. */
void figures_between(const struct meter *m, const struct mark *from, const struct mark *to,
		     struct figures *f);

/*
 * report.h: what zcs prints on stdout: lines of text, or with --json one object for each group of
 * clients.  Any thread may call these functions; each takes the report's lock.
 *
 *	struct report r = {.json = false, .lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
 *	report_client(&r, "192.0.2.1:45678", &figures, false);
 *
 * A report that cannot be written is lost, and a message says so once: a client could end the server
 * otherwise, by filling the disk.  With `once`, or where the error cannot pass, the program dies.
 */

#define REPORT_LEAST_BYTES 1024 /* a client that moves less is small: its summaries are limited */

/* JSON in memory. */
struct text {
	struct json json;
	char *text;
	size_t size;
};

struct report {
	bool json, once;
	/* It is of the kind that reports a deadlock: a thread that dies may hold it. */
	pthread_mutex_t lock;
	bool mid_line;       /* the last byte on stdout is not a newline */
	bool broken;         /* the program dies because of stdout */
	_Atomic bool failed; /* something could not be written */
	struct small {
		uint64_t clients, bytes;
	} small; /* clients without a summary that were not printed yet */
	/* The JSON object of the group. */
	struct text group;   /* what is not printed yet; json.f is NULL while there is no group */
	struct text streams; /* its end.streams */
	bool flowed;         /* its beginning is printed */
	bool lost;           /* and its rest is not, because stdout failed */
	uint64_t listed, left_out; /* clients in and not in end.streams */
};

/* Prints the summary of one client; `warmed_up`: its warm-up is to be mentioned. */
void report_client(struct report *r, const char *name, const struct figures *f, bool warmed_up);

/* Counts clients whose summary is left out; their number is printed before the next summary. */
void report_count_small(struct report *r, uint64_t clients, uint64_t bytes);

/* Prints their number at the end. */
void report_last_small(struct report *r);

/*
 * Prints what came in an interval that began `start` seconds after the group did; `warm_up`: a client
 * was in its warm-up at either end.
 */
void report_interval(struct report *r, const struct figures *f, double start, int clients,
		     bool warm_up);

/* Begins the JSON object of a group, whose first client is `peer`. */
void report_group_begin(struct report *r, const struct sockaddr_storage *peer, bool raw,
			const char *method);

/* Adds a client, whose socket is still open, to the JSON object, or only counts it if not `listed`. */
void report_stream(struct report *r, int sock, const struct sockaddr_storage *peer,
		   const struct figures *f, int number, bool listed);

/*
 * Prints the sums of a group and ends its JSON object.  `summary`: one of its clients has a summary;
 * `overlapped`: two were there at a time; `interrupted`: a signal ended it.
 */
void report_group(struct report *r, const struct figures *f, bool summary, bool overlapped,
		  bool interrupted);

/* Requests that were not answered, by the reason. */
struct reply_failures {
	_Atomic uint64_t refused, silent, too_large, broken;
};

/* Prints replies (f->calls): of an interval, or with `total` of the whole run. */
void report_replies(struct report *r, const struct figures *f, const struct reply_failures *total);

/* Ends the JSON report with `why` as its error and keeps the lock: the program dies. */
void report_die(struct report *r, const char *why);

/*
 * group.h: what clients that are connected at the same time have in common.  They are a group: each
 * joins before the last of the others has left.
 *
 *	group_join(&group, &member, &peer);	(the main thread)
 *	...					(the client's thread counts member->bytes)
 *	group_leave(&group, &member, &figures, true, true, false);
 */

/* What the group knows of one client. */
struct member {
	LIST_ENTRY(member) link;
	char interface[IF_NAMESIZE];          /* by which it is reached; empty: unknown */
	_Atomic uint64_t bytes, calls, files; /* received so far; its own thread writes them */
	struct mark begin, end;               /* of what is measured */
	uint64_t warm_ns;                     /* when its warm-up ends; 0: it has none */
	bool warming;                         /* it is in its warm-up (group's lock) */
	bool ended;                           /* the main thread leaves it alone (group's lock) */
};

struct client_group {
	const struct meter *meter;
	struct report *report;
	pthread_mutex_t lock;
	int wake; /* eventfd(2): a client has left, or begins to warm up */
	LIST_HEAD(, member) members;
	int n;               /* clients now */
	uint64_t total;      /* clients in this group so far */
	uint64_t left_bytes; /* received from all clients that have left since the start */
	uint64_t start_ns;   /* when the group began */
	struct figures sum;  /* what was measured of those that have left */
	struct mark begin, end;
	char interface[IF_NAMESIZE]; /* that all clients have; empty: there are several */
	bool overlapped;             /* two clients were there at a time */
	bool summary;                /* a client has a summary */
	bool failed;                 /* a client failed, since the start */
};

/* Reads a member's counts, and with `counters` the host's, into *mark. */
void member_mark(const struct meter *m, const struct member *c, struct mark *mark, bool counters);

/* Adds a client, which begins a group if there is none. */
void group_join(struct client_group *g, struct member *c);

/* Begins a client's warm-up, which lasts `ns` from c->begin on; the main thread ends it. */
void group_warm_up(struct client_group *g, struct member *c, uint64_t ns);

/*
 * Has the main thread leave the client's marks alone, of which c->end.ns is known.  Returns how many
 * clients the group has had so far.
 */
uint64_t group_end_member(struct client_group *g, struct member *c);

/*
 * Removes a client with its figures.  `ok`: it kept to the wire; `summary`: it has one of its own.
 * The last one ends the group, as `interrupted` if so.  What it had open has to be closed before.
 */
void group_leave(struct client_group *g, struct member *c, const struct figures *f, bool ok,
		 bool summary, bool interrupted);

/* Ends the report of a group that still has clients, for good: they cannot leave any more. */
void group_abandon(struct client_group *g);

int group_size(struct client_group *g);

/* Ends the warm-ups that are over and returns when the next one will be; UINT64_MAX: never. */
uint64_t group_end_warm_ups(struct client_group *g);

/* An interval of the report, or where it begins. */
struct interval {
	struct mark begin;
	bool warm_up; /* a client was in its warm-up then */
};

void interval_begin(struct client_group *g, struct interval *v);

/* Prints an interval if data came in it, and begins the next; `quiet`: only into a JSON object. */
void interval_end(struct client_group *g, struct interval *v, bool quiet);

/*
 * places.h: how many clients zcs serves at a time, which of them, and for how long they may be idle;
 * in stream mode and in reply mode.
 *
 *	struct client *c = places_accept(&places, listener, sizeof(*c));
 *	...					(every LOOK_NS: places_look(&places))
 *	place_release(&places, &c->place);
 *	close(c->place.sock);
 *
 * When all places are taken, a newcomer gets the place of a client that is done and only lingers.
 * Otherwise a newcomer whose network has fewer places than another gets one of the latter's, unless
 * those clients are all at work.
 */

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
	int sock;
	struct sockaddr_storage peer;
	uint64_t moved[LOOKS];  /* bytes moved up to each of the last looks, the latest first */
	uint64_t active_ns;     /* when it was last found to have moved something */
	uint64_t checked_ns;    /* places.full_ns when checked_moved was stored */
	uint64_t checked_moved; /* bytes moved up to then */
	bool lingers;           /* it is done, and waits for the client to close */
	_Atomic int dropped;    /* enum dropped */
};

struct places {
	const struct receive_options *opt;
	struct client_log *log;
	pthread_mutex_t lock;
	/* cppcheck-suppress unusedStructMember ; TAILQ_*() use it */
	TAILQ_HEAD(, place) all; /* in the order in which they were taken */
	LIST_HEAD(, network) network[NETWORK_SLOTS];
	int n;
	uint64_t full_ns;           /* for how long all places have been taken, in all */
	_Atomic uint64_t looked_ns; /* when all clients were last looked at */
	_Atomic uint64_t lacked_ns; /* when accept(2) last lacked descriptors or memory; 0: never */
	_Atomic uint64_t refused;   /* clients that were rejected */
};

void places_init(struct places *s, const struct receive_options *opt, struct client_log *log);

/*
 * Accepts a client and gives it a place.  Returns `size` zeroed bytes, which the caller frees and
 * which begin with its struct place; NULL if there was no client, or it was rejected.
 */
void *places_accept(struct places *s, int listener, size_t size);

/* Whether accept(2) lacked descriptors or memory just now: clients have to wait for LACK_NS. */
bool places_lack(const struct places *s);

/* Looks at all clients, if the last look is LOOK_NS ago, and drops those that move too little. */
void places_look(struct places *s);

/* Has the streams of all clients end. */
void places_end_streams(struct places *s);

/* Takes a client's place away; to be called before its socket is closed. */
void place_release(struct places *s, struct place *p);

/* Rejects a client: sends it the reason, a word of the receipt, and closes its socket. */
void place_reject(struct places *s, struct place *p, const char *word);

/* Marks a client as done; returns false if it has lost its place and cannot wait any longer. */
bool place_linger(struct places *s, struct place *p);

/* Writes why a client was dropped. */
void place_format_dropped(const struct places *s, const struct place *p, char *buf, size_t size);

/* Has close(2) reset a connection, so that the kernel keeps nothing unsent. */
void place_reset_on_close(const struct place *p);

/*
 * context.h: what the parts of zcs share.  main makes it and hands it down; it lasts until the
 * program ends.
 */

struct context {
	const struct receive_options *opt;
	const _Atomic int *stop; /* the signal that ends the program, or 0 */
	struct meter meter;
	struct client_log log;
	struct report report;
	struct places places;
	struct client_group group;
	_Atomic int buffers; /* clients that have a buffer of a default size */
};

/*
 * client.h: one client of zcs, from its connection to its summary, in a thread of its own.
 *
 *	struct client *c = places_accept(&x->places, listener, sizeof(*c));
 *	if (c != NULL)
 *		client_start(x, c, number);
 */

struct client {
	struct place place;
	struct context *context;
	struct member member;
	struct receiver receiver;
	int number; /* from 0 */
	double cpu; /* to which its thread is bound; NAN: none */
	char name[ADDR_STRLEN];
};

/*
 * Has an accepted client join the group and starts its thread, which frees it.  Without a thread it is
 * rejected and freed, and false is returned.
 */
bool client_start(struct context *x, struct client *c, int number);

/*
 * server.h: listens, accepts clients that send (client.h) and prints the intervals of their group.
 *
 *	fd = listen_or_die(&opt);
 *	serve(&context, fd, &unblocked);
 */

/* Listens on one socket for IPv6 and IPv4; for IPv4 alone on a host without IPv6.  Does not block. */
int listen_or_die(const struct receive_options *opt);

/*
 * Serves until a signal, which is blocked but in `unblocked`, or with -1 until the first group ends.
 * Closes the listener.  On a signal the clients' streams end, and their summaries are awaited for
 * LEAVE_NS; clients that are still there after that are in group_size().
 */
void serve(struct context *x, int listener, const sigset_t *unblocked);

/*
 * reply.h: zcs --reply: clients that ask for N bytes each, and are sent them.
 *
 *	serve_replies(&context, listen_or_die(&opt), &unblocked);
 *
 * A thread for each CPU waits for the events of its own clients, and accepts new ones from the
 * listener that all threads share.
 */

/*
 * Serves until a signal, which is blocked but in `unblocked`, with a line of the report for each
 * interval in which there were replies, and one at the end.  Closes the listener.
 */
void serve_replies(struct context *x, int listener, const sigset_t *unblocked);

/*
 * privileges.h: zcs --user: gives up the privileges with which a program was started.
 *
 *	fd = listen_or_die(...);	(a port below 1024)
 *	privileges_drop_or_die("nobody");
 */

/*
 * Becomes that user, with that user's groups, without a capability (capabilities(7)) and with no way
 * back.  Dies if it cannot, unless the process is that user already, in all of its ids, and in no
 * other's group.  Call it before there are threads.
 */
void privileges_drop_or_die(const char *user);

#define MAPPED_BITS 96 /* of ::ffff:0:0/96, into which IPv4 is mapped: RFC 4291 */

static struct in6_addr address_of(const struct sockaddr_storage *peer)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (peer->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)peer)->sin6_addr;
	memcpy(&a.s6_addr[12], &((const struct sockaddr_in *)peer)->sin_addr, 4);
	return a;
}

static bool parse_prefix(char *s, struct prefix *p)
{
	bool ipv4 = strchr(s, ':') == NULL && strchr(s, '.') != NULL;
	unsigned long max = ipv4 ? 32 : 128, n = max;
	char mapped[64], *bits = strchr(s, '/');

	if (bits != NULL) {
		*bits++ = '\0';
		if (*bits == '\0' || bits[strspn(bits, "0123456789")] != '\0')
			return false;
		n = strtoul(bits, NULL, 10);
	}
	snprintf(mapped, sizeof(mapped), "%s%s", ipv4 ? "::ffff:" : "", s);
	p->bits = (int)n + (ipv4 ? MAPPED_BITS : 0);
	return n <= max && inet_pton(AF_INET6, mapped, &p->address) == 1;
}

bool allow_add(struct allow *allow, const char *list)
{
	char *copy = strdup(list), *rest = copy, *s;
	bool valid = true;

	if (copy == NULL)
		die_errno("--allow");
	while (valid && (s = strsep(&rest, ",")) != NULL) {
		allow->prefix = reallocarray(allow->prefix, allow->n + 1, sizeof(struct prefix));
		if (allow->prefix == NULL)
			die_errno("--allow");
		valid = parse_prefix(s, &allow->prefix[allow->n++]);
	}
	free(copy);
	return valid;
}

static bool has_prefix(const struct in6_addr *a, const struct prefix *p)
{
	size_t whole = (size_t)p->bits / 8;
	int rest = p->bits % 8;

	if (p->bits < MAPPED_BITS && IN6_IS_ADDR_V4MAPPED(a))
		return false; /* ::/0 does not include IPv4 */
	return memcmp(a, &p->address, whole) == 0 &&
	       (rest == 0 || (a->s6_addr[whole] ^ p->address.s6_addr[whole]) >> (8 - rest) == 0);
}

bool is_allowed(const struct allow *allow, const struct sockaddr_storage *peer)
{
	const struct in6_addr a = address_of(peer);
	size_t i;

	for (i = 0; i < allow->n; i++)
		if (has_prefix(&a, &allow->prefix[i]))
			return true;
	return allow->n == 0;
}

uint32_t network_of(const struct sockaddr_storage *peer, struct in6_addr *network)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	size_t i;

	*network = address_of(peer);
	if (!IN6_IS_ADDR_V4MAPPED(network))
		memset(&network->s6_addr[8], 0, 8);
	for (i = 0; i < sizeof(network->s6_addr); i++)
		hash = (hash ^ network->s6_addr[i]) * 16777619u;
	return hash;
}

void note(const char *fmt, ...)
{
	va_list ap;

	flockfile(stderr);
	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	funlockfile(stderr);
}

bool log_allows(struct client_log *log, enum log_kind kind, const struct sockaddr_storage *peer,
		unsigned *left_out)
{
	struct in6_addr network;
	struct log_slot *s = &log->slot[kind][network_of(peer, &network) % LOG_SLOTS];
	uint64_t now = now_ns();
	bool allows;

	pthread_mutex_lock(&log->lock);
	*left_out = 0;
	if (s->since_ns == 0 || now - s->since_ns > LOG_NS) {
		*left_out = s->left_out;
		*s = (struct log_slot){.since_ns = now};
	}
	allows = s->lines++ < LOG_LINES;
	s->left_out += !allows;
	log->left_out += !allows && kind == LOG_BAD;
	pthread_mutex_unlock(&log->lock);
	return allows;
}

bool log_client(struct client_log *log, const struct sockaddr_storage *peer, const char *fmt, ...)
{
	char name[ADDR_STRLEN], text[128];
	unsigned left_out;
	va_list ap;

	if (!log_allows(log, LOG_BAD, peer, &left_out))
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	flockfile(stderr); /* as in note() */
	if (left_out > 0)
		warnx("%u lines about such clients were left out", left_out);
	warnx("%s: %s", addr_format((const struct sockaddr *)peer, sizeof(*peer), name), text);
	funlockfile(stderr);
	return true;
}

void log_end(struct client_log *log)
{
	pthread_mutex_lock(&log->lock);
	if (log->left_out > 0)
		note("%llu lines about clients were left out in all",
		     (unsigned long long)log->left_out);
	pthread_mutex_unlock(&log->lock);
}

#define BUFFER_LARGE  (256 * 1024) /* bytes of a buffer; zc(7) has the measurements */
#define BUFFER_SMALL  (64 * 1024)  /* the same beside BUFFERS_LARGE others */
#define BUFFERS_LARGE 24
#define SIZE_DISCARD  (1024 * 1024) /* bytes of a call that copies nothing */
#define LOWAT_COPY    (64 * 1024) /* larger, and data would leave the cache before they are read */
#define LOWAT_DISCARD (256 * 1024)

void receiver_init(struct receiver *r, int sock, const struct receive_method *method, bool raw)
{
	*r = (struct receiver){.sock = sock, .method = method, .pipe = {-1, -1}, .sink = -1};
	wire_init(&r->wire, raw);
}

/*
 * In a body the thread is not woken for each packet but for `lowat` bytes, and never for more than
 * the body still has: only a header, or nothing, may follow it.  poll(2) waits rather than the
 * receiving call, which would wait for another `lowat` bytes after each part that it has taken.
 */
void receiver_wait(struct receiver *r)
{
	struct pollfd p = {.fd = r->sock, .events = POLLIN};
	size_t left = r->wire.state == WIRE_RAW ? 0 : wire_body_left(&r->wire);
	int want = left == 0 ? 1 : left < (size_t)r->method->lowat ? (int)left : r->method->lowat;

	if (want != r->lowat &&
	    setsockopt(r->sock, SOL_SOCKET, SO_RCVLOWAT, &want, sizeof(want)) == 0)
		r->lowat = want;
	r->readable = poll(&p, 1, -1) != 0;
}

static ssize_t feed(struct receiver *r, ssize_t n)
{
	if (n > 0)
		r->excess = wire_feed(&r->wire, r->buf, (size_t)n) < (size_t)n;
	return n;
}

static ssize_t receive_read(struct receiver *r)
{
	return feed(r, read(r->sock, r->buf, r->size));
}

static ssize_t receive_recv(struct receiver *r)
{
	return feed(r, recv(r->sock, r->buf, r->size, 0));
}

/* Methods that do not look at bodies read each header by a call of its own. */
static ssize_t receive_header(struct receiver *r)
{
	unsigned char header[WIRE_HEADER];
	ssize_t n;

	n = recv(r->sock, header, wire_header_left(&r->wire), 0);
	if (n > 0)
		wire_feed(&r->wire, header, (size_t)n);
	return n;
}

/* With MSG_TRUNC the kernel drops the data instead of copying them: tcp(7). */
static ssize_t receive_trunc(struct receiver *r)
{
	size_t left = wire_body_left(&r->wire);
	ssize_t n;

	if (left == 0)
		return receive_header(r);
	/* cppcheck-suppress nullPointer ; with MSG_TRUNC there need be no buffer */
	n = recv(r->sock, NULL, left < r->size ? left : r->size, MSG_TRUNC);
	if (n > 0)
		wire_skip(&r->wire, (size_t)n);
	return n;
}

/*
 * splice(2) does not pass an urgent byte (tcp(7)): it reports that there are no data, or at the end
 * of the stream that it has ended, while poll(2) reports data.
 */
static ssize_t receive_urgent(struct receiver *r)
{
	char byte;
	ssize_t n = recv(r->sock, &byte, 1, 0);

	if (n > 0)
		wire_skip(&r->wire, 1);
	return n;
}

static ssize_t receive_splice(struct receiver *r)
{
	size_t left = wire_body_left(&r->wire);
	bool readable = r->readable;
	ssize_t n, out, m;

	r->readable = false;
	if (left == 0)
		return receive_header(r);
	n = splice(r->sock, NULL, r->pipe[1], NULL, left < r->size ? left : r->size, SPLICE_F_MOVE);
	if (n == 0 || (n < 0 && errno == EAGAIN && readable))
		return receive_urgent(r);
	for (out = 0; out < n; out += m) {
		m = TEMP_FAILURE_RETRY(
			splice(r->pipe[0], NULL, r->sink, NULL, (size_t)(n - out), SPLICE_F_MOVE));
		if (m <= 0)
			return -1;
	}
	if (n > 0)
		wire_skip(&r->wire, (size_t)n);
	return n;
}

const struct receive_method receive_methods[RECEIVE_METHODS] = {
	{"read", receive_read, true, LOWAT_COPY},
	{"recv", receive_recv, true, LOWAT_COPY},
	{"trunc", receive_trunc, false, LOWAT_DISCARD},
	{"splice", receive_splice, false, LOWAT_DISCARD},
};

int receiver_open(struct receiver *r, size_t size, _Atomic int *buffers)
{
	size_t pipe_size;

	r->size = size;
	if (r->method->copies) {
		if (size == 0) {
			r->buffers = buffers;
			r->size = (*buffers)++ < BUFFERS_LARGE ? BUFFER_LARGE : BUFFER_SMALL;
		}
		r->buf = malloc(r->size);
		return r->buf != NULL ? 0 : ENOMEM;
	}
	if (size == 0)
		r->size = SIZE_DISCARD;
	if (r->method->receive != receive_splice)
		return 0;
	r->sink = open_retry("/dev/null", O_WRONLY);
	if (r->sink < 0 || pipe_large(r->pipe, &pipe_size) != 0)
		return errno;
	if (r->size > pipe_size)
		r->size = pipe_size;
	return 0;
}

ssize_t receiver_receive(struct receiver *r)
{
	ssize_t n;

	while ((n = r->method->receive(r)) < 0 && (errno == EAGAIN || errno == EINTR))
		if (errno == EAGAIN)
			receiver_wait(r);
	return n;
}

void receiver_close(struct receiver *r)
{
	free(r->buf);
	if (r->buffers != NULL)
		--*r->buffers;
	if (r->sink >= 0)
		close(r->sink);
	if (r->pipe[0] >= 0) {
		close(r->pipe[0]);
		close(r->pipe[1]);
	}
}

void mark_now(const struct meter *m, struct mark *mark)
{
	mark->ns = now_ns();
	if (m->soaker != NULL)
		load_sample_read(m->soaker, &m->calibration, &mark->load, NULL);
}

void figures_between(const struct meter *m, const struct mark *from, const struct mark *to,
		     struct figures *f)
{
	struct load l;

	figures_init(f);
	f->bytes = to->bytes - from->bytes;
	f->calls = to->calls - from->calls;
	f->files = to->files - from->files;
	f->seconds = seconds_between(from->ns, to->ns);
	if (m->soaker != NULL) {
		load_between(&m->calibration, &from->load, &to->load, -1, &l);
		figures_load(f, &l, m->calibration.cpus.n);
	}
	if (to->counters.ns > from->counters.ns + RATES_NS)
		counters_rates(&from->counters, &to->counters, &f->rates);
	strcpy(f->method, m->method);
}

#define LINE_MAX_BYTES 1024
#define STREAMS_MAX    10000 /* clients of one group in end.streams, which is kept in memory */
#define FLOW_BYTES     (64 * 1024) /* of a group's object are kept in memory at most */

/* Returns 0 or the error. */
static int write_all(struct report *r, const char *text, size_t len)
{
	ssize_t n;

	for (; len > 0; text += n, len -= (size_t)n) {
		n = TEMP_FAILURE_RETRY(write(STDOUT_FILENO, text, len));
		if (n < 0)
			return errno;
		if (n > 0)
			r->mid_line = text[n - 1] != '\n';
	}
	return 0;
}

/* Writes text, which begins a line or continues one; returns whether it could. */
static bool write_text(struct report *r, const char *text, size_t len, bool begins)
{
	int e = begins && r->mid_line ? write_all(r, "\n", 1) : 0;

	if (e == 0)
		e = write_all(r, text, len);
	if (e == 0)
		return true;
	if (r->once || (e != ENOSPC && e != EDQUOT && e != EIO && e != EAGAIN)) {
		r->broken = true;
		errno = e;
		die_errno("stdout");
	}
	if (!atomic_exchange(&r->failed, true))
		note("stdout: %s: what cannot be written is lost, zcs goes on", strerror(e));
	return false;
}

static void print(struct report *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void print(struct report *r, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	write_text(r, line, strlen(line), true);
}

static void text_open(struct text *t)
{
	t->json.f = open_memstream(&t->text, &t->size);
	if (t->json.f == NULL)
		die_errno("report");
}

/* Ends the stream, so that t->text has all of it. */
static void text_close(struct text *t)
{
	bool failed = ferror(t->json.f) != 0;

	/* fclose(3) shortens the text to its length, for which it may have no memory. */
	failed |= fclose(t->json.f) != 0 || t->text == NULL;
	t->json.f = NULL;
	if (failed)
		die("report: no memory for it");
}

static void text_free(struct text *t)
{
	if (t->json.f != NULL)
		fclose(t->json.f);
	free(t->text);
	*t = (struct text){.text = NULL};
}

static struct json *object_open(struct text *t)
{
	*t = (struct text){.text = NULL};
	text_open(t);
	json_report_open_to(&t->json, t->json.f);
	return &t->json;
}

static void object_print(struct report *r, struct text *t)
{
	json_close(&t->json, '}');
	putc('\n', t->json.f);
	text_close(t);
	write_text(r, t->text, t->size, true);
	text_free(t);
}

/* Prints what there is of the group's object; the rest follows, so that memory does not grow. */
static void group_flow(struct report *r)
{
	struct text *t = &r->group;

	text_close(t);
	r->lost = r->lost || !write_text(r, t->text, t->size, !r->flowed);
	r->flowed = true;
	free(t->text);
	t->text = NULL;
}

/* `N kbytes/sec (G Gbit/s), load L, cost C`, with which each line about a transfer begins or goes on. */
static const char *rate_format(const struct figures *f, char buf[192])
{
	char load[128];

	snprintf(buf, 192, "%.0f kbytes/sec (%.3f Gbit/s)%s", kbytes_per_sec(f->bytes, f->seconds),
		 gbits_per_sec(f->bytes, f->seconds),
		 load_format(f->load, f->uncertainty, f->cpus, f->bytes, f->seconds, load));
	return buf;
}

static void print_small(struct report *r)
{
	if (r->small.clients > 0)
		print(r, "%llu more clients with less than 1 KiB each: %llu bytes in all\n",
		      (unsigned long long)r->small.clients, (unsigned long long)r->small.bytes);
	r->small = (struct small){0};
}

static void json_small(struct report *r, struct json *j)
{
	if (r->small.clients > 0) {
		json_open(j, "small_clients", '{');
		json_count(j, "clients", r->small.clients);
		json_count(j, "bytes", r->small.bytes);
		json_close(j, '}');
	}
	r->small = (struct small){0};
}

void report_count_small(struct report *r, uint64_t clients, uint64_t bytes)
{
	pthread_mutex_lock(&r->lock);
	r->small.clients += clients;
	r->small.bytes += bytes;
	pthread_mutex_unlock(&r->lock);
}

void report_last_small(struct report *r)
{
	struct text t;

	pthread_mutex_lock(&r->lock);
	if (!r->json) {
		print_small(r);
	} else if (r->small.clients > 0) {
		json_small(r, object_open(&t));
		object_print(r, &t);
	}
	pthread_mutex_unlock(&r->lock);
}

void report_client(struct report *r, const char *name, const struct figures *f, bool warmed_up)
{
	char rate[192], method[32] = "", warmup[64] = "";

	if (strcmp(f->method, receive_methods[0].name) != 0)
		snprintf(method, sizeof(method), " by %s", f->method);
	if (warmed_up)
		snprintf(warmup, sizeof(warmup), ", after %llu bytes of warm-up",
			 (unsigned long long)f->warmup);
	pthread_mutex_lock(&r->lock);
	print_small(r);
	print(r, "%s: %s, %llu bytes in %.*f s, %llu files, %llu reads%s%s\n", name,
	      rate_format(f, rate), (unsigned long long)f->bytes, decimals(f->seconds), f->seconds,
	      (unsigned long long)f->files, (unsigned long long)f->calls, method, warmup);
	pthread_mutex_unlock(&r->lock);
}

static void json_interval(struct report *r, const struct figures *f, double start, int clients,
			  bool warm_up)
{
	struct json *j = &r->group.json;

	json_open(j, NULL, '{');
	json_open(j, "sum", '{');
	json_throughput(j, start, f->seconds, f->bytes);
	json_number(j, "load_percent", 100 * f->load);
	json_count(j, "clients", (uint64_t)clients);
	json_bool(j, "omitted", warm_up);
	json_bool(j, "sender", false);
	json_close(j, '}');
	json_close(j, '}');
	if (f->bytes >= REPORT_LEAST_BYTES || ftello(j->f) >= FLOW_BYTES) {
		group_flow(r);
		text_open(&r->group);
	}
}

void report_interval(struct report *r, const struct figures *f, double start, int clients,
		     bool warm_up)
{
	char rate[192], several[32] = "";

	pthread_mutex_lock(&r->lock);
	if (clients > 1)
		snprintf(several, sizeof(several), ", %d clients", clients);
	if (!r->json)
		print(r, "%s%s%s\n", rate_format(f, rate), several, warm_up ? ", warm-up" : "");
	else if (r->group.json.f != NULL)
		json_interval(r, f, start, clients, warm_up);
	pthread_mutex_unlock(&r->lock);
}

void report_group_begin(struct report *r, const struct sockaddr_storage *peer, bool raw,
			const char *method)
{
	struct json *j;

	pthread_mutex_lock(&r->lock);
	r->flowed = r->lost = false;
	r->listed = r->left_out = 0;
	r->streams = (struct text){.text = NULL};
	text_open(&r->streams);
	j = object_open(&r->group);
	json_open(j, "start", '{');
	json_program(j);
	json_open(j, "accepted_connection", '{');
	json_address(j, "host", "port", (const struct sockaddr *)peer, sizeof(*peer));
	json_close(j, '}');
	json_open(j, "test_start", '{');
	json_string(j, "protocol", raw ? "raw TCP" : "TCP");
	json_string(j, "method", method);
	json_close(j, '}');
	json_close(j, '}');
	json_open(j, "intervals", '[');
	pthread_mutex_unlock(&r->lock);
}

void report_stream(struct report *r, int sock, const struct sockaddr_storage *peer,
		   const struct figures *f, int number, bool listed)
{
	struct json *j = &r->streams.json;

	pthread_mutex_lock(&r->lock);
	if (j->f != NULL && listed && r->listed < STREAMS_MAX) {
		r->listed++;
		json_open(j, NULL, '{');
		json_addresses(j, sock, (const struct sockaddr *)peer, sizeof(*peer));
		json_stream(j, "receiver", f, number, false);
		json_close(j, '}');
	} else {
		r->left_out++;
	}
	pthread_mutex_unlock(&r->lock);
}

static void json_group_end(struct report *r, const struct figures *f, bool interrupted)
{
	struct json *j = &r->group.json;

	json_close(j, ']');
	json_open(j, "end", '{');
	json_open(j, "streams", '[');
	text_close(&r->streams);
	fputs(r->streams.text, j->f);
	json_close(j, ']');
	json_stream(j, "sum_received", f, 0, false);
	json_utilization(j, f, NULL);
	json_host(j, "host", f);
	json_count(j, "clients", f->clients);
	if (r->left_out > 0)
		json_count(j, "streams_left_out", r->left_out);
	json_small(r, j);
	json_close(j, '}');
	if (interrupted)
		json_string(j, "error", "interrupted");
	json_close(j, '}');
	putc('\n', j->f);
	group_flow(r);
}

void report_group(struct report *r, const struct figures *f, bool summary, bool overlapped,
		  bool interrupted)
{
	char rate[192];

	pthread_mutex_lock(&r->lock);
	if (!r->json && overlapped && summary && f->bytes > 0)
		print(r, "total of %llu clients: %s, %llu bytes in %.*f s\n",
		      (unsigned long long)f->clients, rate_format(f, rate),
		      (unsigned long long)f->bytes, decimals(f->seconds), f->seconds);
	if (r->json && r->group.json.f != NULL) {
		if (summary || r->flowed || f->bytes >= REPORT_LEAST_BYTES) {
			json_group_end(r, f, interrupted);
		} else { /* a group of small clients has no object of its own */
			r->small.clients += f->clients;
			r->small.bytes += f->bytes + f->warmup;
		}
		text_free(&r->group);
		text_free(&r->streams);
	}
	pthread_mutex_unlock(&r->lock);
}

static void json_replies(struct json *j, const struct figures *f,
			 const struct reply_failures *total)
{
	json_throughput(j, 0, f->seconds, f->bytes);
	json_count(j, "replies", f->calls);
	json_number(j, "replies_per_second", f->seconds > 0 ? (double)f->calls / f->seconds : 0);
	json_number(j, "load_percent", 100 * f->load);
	if (total != NULL) {
		json_count(j, "refused", total->refused);
		json_count(j, "silent", total->silent);
		json_count(j, "too_large", total->too_large);
		json_count(j, "broken", total->broken);
	}
}

void report_replies(struct report *r, const struct figures *f, const struct reply_failures *total)
{
	struct text t;
	char rate[192];

	pthread_mutex_lock(&r->lock);
	if (r->json) {
		json_replies(object_open(&t), f, total);
		object_print(r, &t);
	} else if (total == NULL) {
		print(r, "%s, %.0f replies/s\n", rate_format(f, rate),
		      (double)f->calls / f->seconds);
	} else { /* no rate, which would be a mean over idle hours */
		print(r,
		      "total: %llu replies, %llu bytes; %llu refused, %llu silent, "
		      "%llu too large, %llu broken\n",
		      (unsigned long long)f->calls, (unsigned long long)f->bytes,
		      (unsigned long long)total->refused, (unsigned long long)total->silent,
		      (unsigned long long)total->too_large, (unsigned long long)total->broken);
	}
	pthread_mutex_unlock(&r->lock);
}

void report_die(struct report *r, const char *why)
{
	struct json none = {.f = NULL};
	struct text *t = &r->group;
	struct timespec until;
	FILE *f;

	if (!r->json || r->broken)
		return;
	/* The thread that dies may have the lock, or another that does not give it back. */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_timedlock(&r->lock, &until);
	f = t->json.f;
	if (f != NULL && !r->lost) {
		json_fail(&t->json, why);
		if (fclose(f) == 0 && t->text != NULL) {
			if (!r->flowed && r->mid_line)
				write_all(r, "\n", 1);
			write_all(r, t->text, t->size);
			return;
		}
	}
	if (r->mid_line)
		write_all(r, "\n", 1);
	json_fail(&none, why);
}

void member_mark(const struct meter *m, const struct member *c, struct mark *mark, bool counters)
{
	mark->bytes = atomic_load_explicit(&c->bytes, memory_order_relaxed);
	mark->calls = atomic_load_explicit(&c->calls, memory_order_relaxed);
	mark->files = atomic_load_explicit(&c->files, memory_order_relaxed);
	mark_now(m, mark);
	if (counters)
		counters_read(&mark->counters, c->interface[0] != '\0' ? c->interface : NULL);
}

void group_join(struct client_group *g, struct member *c)
{
	pthread_mutex_lock(&g->lock);
	if (g->n++ == 0) {
		g->total = 0;
		g->overlapped = g->summary = false;
		strcpy(g->interface, c->interface);
		figures_init(&g->sum);
		memset(&g->begin, 0, sizeof(g->begin));
		memset(&g->end, 0, sizeof(g->end));
		g->start_ns = now_ns();
	} else {
		g->overlapped = true;
		/* Packet rates of different interfaces cannot be added. */
		if (strcmp(g->interface, c->interface) != 0)
			g->interface[0] = '\0';
	}
	g->total++;
	LIST_INSERT_HEAD(&g->members, c, link);
	pthread_mutex_unlock(&g->lock);
}

void group_warm_up(struct client_group *g, struct member *c, uint64_t ns)
{
	pthread_mutex_lock(&g->lock);
	c->warm_ns = c->begin.ns + ns;
	c->warming = true;
	pthread_mutex_unlock(&g->lock);
	eventfd_write(g->wake, 1);
}

uint64_t group_end_member(struct client_group *g, struct member *c)
{
	uint64_t total;

	pthread_mutex_lock(&g->lock);
	c->ended = true;
	/* If the warm-up ended after the client's last byte, nothing is left to be measured. */
	c->warming |= c->warm_ns != 0 && c->begin.ns > c->end.ns;
	total = g->total;
	pthread_mutex_unlock(&g->lock);
	return total;
}

/* The time of the group is from the first begin to the last end. */
static void add_figures(struct client_group *g, const struct member *c, const struct figures *f)
{
	if (c->calls == 0)
		return;
	if (g->begin.ns == 0 || c->begin.ns < g->begin.ns)
		g->begin = c->begin;
	if (c->end.ns > g->end.ns)
		g->end = c->end;
	g->sum.bytes += f->bytes;
	g->sum.calls += f->calls;
	g->sum.files += f->files;
	g->sum.warmup += f->warmup;
}

static void report_all(struct client_group *g, bool interrupted)
{
	struct figures f;

	figures_between(g->meter, &g->begin, &g->end, &f);
	f.bytes = g->sum.bytes;
	f.calls = g->sum.calls;
	f.files = g->sum.files;
	f.warmup = g->sum.warmup;
	f.clients = g->total;
	if (g->interface[0] == '\0')
		f.rates.packets_in = f.rates.packets_out = NAN;
	report_group(g->report, &f, g->summary, g->overlapped, interrupted);
}

void group_leave(struct client_group *g, struct member *c, const struct figures *f, bool ok,
		 bool summary, bool interrupted)
{
	pthread_mutex_lock(&g->lock);
	g->left_bytes += c->bytes;
	add_figures(g, c, f);
	g->summary |= summary;
	g->failed |= !ok;
	LIST_REMOVE(c, link);
	if (--g->n == 0)
		report_all(g, interrupted);
	eventfd_write(g->wake, 1);
	pthread_mutex_unlock(&g->lock);
}

void group_abandon(struct client_group *g)
{
	pthread_mutex_lock(&g->lock);
	if (g->n > 0 && g->report->json)
		report_all(g, true);
}

int group_size(struct client_group *g)
{
	int n;

	pthread_mutex_lock(&g->lock);
	n = g->n;
	pthread_mutex_unlock(&g->lock);
	return n;
}

uint64_t group_end_warm_ups(struct client_group *g)
{
	uint64_t next = UINT64_MAX, now = now_ns();
	struct member *c;

	pthread_mutex_lock(&g->lock);
	LIST_FOREACH(c, &g->members, link)
	{
		if (!c->warming || c->ended)
			continue;
		if (c->warm_ns <= now) {
			member_mark(g->meter, c, &c->begin, true);
			c->warming = false;
		} else if (c->warm_ns < next) {
			next = c->warm_ns;
		}
	}
	pthread_mutex_unlock(&g->lock);
	return next;
}

static void interval_mark(const struct client_group *g, struct interval *v)
{
	const struct member *c;

	mark_now(g->meter, &v->begin);
	v->begin.bytes = g->left_bytes;
	v->warm_up = false;
	LIST_FOREACH(c, &g->members, link)
	{
		v->begin.bytes += atomic_load_explicit(&c->bytes, memory_order_relaxed);
		v->warm_up |= c->warming;
	}
}

void interval_begin(struct client_group *g, struct interval *v)
{
	pthread_mutex_lock(&g->lock);
	interval_mark(g, v);
	pthread_mutex_unlock(&g->lock);
}

void interval_end(struct client_group *g, struct interval *v, bool quiet)
{
	struct interval last = *v;
	struct figures f;

	pthread_mutex_lock(&g->lock);
	interval_mark(g, v);
	/* The first interval begins just before its group, when nothing could come. */
	if (last.begin.ns < g->start_ns)
		last.begin.ns = g->start_ns;
	figures_between(g->meter, &last.begin, &v->begin, &f);
	if (g->n > 0 && f.bytes > 0 && (g->report->json || !quiet))
		report_interval(g->report, &f, seconds_between(g->start_ns, last.begin.ns), g->n,
				last.warm_up || v->warm_up);
	pthread_mutex_unlock(&g->lock);
}

#define WORK_BYTES  (64 * 1024) /* a client at work moves as much in a second */
#define LEAST_BYTES 1024        /* a client of a full server moves as much in --idle-timeout */

/* The clients of one IPv4 address, or of one IPv6 network of 64 bits. */
struct network {
	LIST_ENTRY(network) link;
	struct in6_addr address;
	int n; /* places that it has */
};

void places_init(struct places *s, const struct receive_options *opt, struct client_log *log)
{
	s->opt = opt;
	s->log = log;
	pthread_mutex_init(&s->lock, NULL);
	TAILQ_INIT(&s->all);
}

/* The network of a peer, which is new if it has no place yet; NULL if there is no memory for it. */
static struct network *network_find(struct places *s, const struct sockaddr_storage *peer)
{
	struct in6_addr a;
	uint32_t slot = network_of(peer, &a) % NETWORK_SLOTS;
	struct network *w;

	LIST_FOREACH(w, &s->network[slot], link)
	if (memcmp(&w->address, &a, sizeof(a)) == 0)
		return w;
	w = calloc(1, sizeof(*w));
	if (w != NULL) {
		w->address = a;
		LIST_INSERT_HEAD(&s->network[slot], w, link);
	}
	return w;
}

static void network_free_unused(struct network *w)
{
	if (w->n > 0)
		return;
	LIST_REMOVE(w, link);
	free(w);
}

/*
 * Bytes that a connection received and that its peer acknowledged, headers included; *idle_ms is
 * for how long nothing came, not even an acknowledgement.  TCP_INFO, tcp(7), linux/tcp.h.
 */
static uint64_t sock_moved(int sock, double *idle_ms)
{
	struct tcp_info info = {.tcpi_last_data_recv = 0};
	socklen_t len = sizeof(info);

	getsockopt(sock, IPPROTO_TCP, TCP_INFO, &info, &len);
	*idle_ms = fmin(info.tcpi_last_data_recv, info.tcpi_last_ack_recv);
	return info.tcpi_bytes_received + info.tcpi_bytes_acked;
}

/* Under the lock, as all that follows; the client's own thread does the rest. */
static void place_remove(struct places *s, struct place *p)
{
	TAILQ_REMOVE(&s->all, p, link);
	s->n--;
	p->network->n--;
	network_free_unused(p->network);
	p->network = NULL;
}

/* zcc reads it where a receipt would be; the other protocols have no room for it. */
static void send_refusal(const struct places *s, const struct place *p, const char *word)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "refused=%s\n", word);

	if (!s->opt->raw && !s->opt->reply)
		send(p->sock, line, (size_t)len, MSG_DONTWAIT);
}

/* Takes a place from a client, whatever its thread waits for. */
static void place_drop(struct places *s, struct place *p, enum dropped why)
{
	p->dropped = why;
	if (why == DROPPED_FOR_ROOM || why == DROPPED_SLOW)
		send_refusal(s, p, REFUSED_FULL);
	shutdown(p->sock, SHUT_RDWR);
	place_remove(s, p);
}

/* Notes what a client has moved; drops one that was silent, or moved too little for a full server. */
static void place_look(struct places *s, struct place *p, uint64_t now, bool late)
{
	uint64_t limit = (uint64_t)(s->opt->idle_timeout * 1e9), moved;
	double idle_ms;

	moved = sock_moved(p->sock, &idle_ms);
	if (late || moved != p->moved[0])
		p->active_ns = now;
	memmove(&p->moved[1], &p->moved[0], sizeof(p->moved) - sizeof(p->moved[0]));
	p->moved[0] = moved;
	if (limit == 0 || p->lingers)
		return;
	if (now >= p->active_ns + limit) {
		place_drop(s, p, DROPPED_SILENT);
	} else if (s->full_ns - p->checked_ns >= limit) {
		if (moved - p->checked_moved < LEAST_BYTES)
			place_drop(s, p, DROPPED_SLOW);
		p->checked_ns = s->full_ns;
		p->checked_moved = moved;
	}
}

void places_look(struct places *s)
{
	uint64_t last = s->looked_ns, now = now_ns();
	/* The program was stopped (SIGSTOP), and what came meanwhile may still wait in the sockets. */
	bool late = now > last + 2 * (uint64_t)LOOK_NS;
	struct place *p, *next;

	if (now < last + LOOK_NS || !atomic_compare_exchange_strong(&s->looked_ns, &last, now))
		return;
	pthread_mutex_lock(&s->lock);
	if (s->n >= s->opt->max_clients && !late)
		s->full_ns += now - last;
	for (p = TAILQ_FIRST(&s->all); p != NULL; p = next) {
		next = TAILQ_NEXT(p, link);
		place_look(s, p, now, late);
	}
	pthread_mutex_unlock(&s->lock);
}

/* What a client moved in the last second, or in a little more. */
static uint64_t place_moved_lately(const struct place *p)
{
	double idle_ms;
	uint64_t moved = sock_moved(p->sock, &idle_ms);

	return idle_ms >= 1000 ? 0 : moved - p->moved[LOOKS - 1];
}

/*
 * The client that has to make room for one of network w: of the networks with the most places,
 * the client that moved least.  NULL if w has as many, or if all those clients are at work.
 */
static struct place *places_victim(const struct places *s, const struct network *w)
{
	struct place *p, *victim = NULL;
	uint64_t least = WORK_BYTES, moved;
	int most = 0;

	TAILQ_FOREACH(p, &s->all, link)
	if (p->network->n > most)
		most = p->network->n;
	TAILQ_FOREACH(p, &s->all, link)
	{
		if (w->n >= most || least == 0)
			break;
		if (p->network->n < most || (moved = place_moved_lately(p)) >= least)
			continue;
		victim = p;
		least = moved;
	}
	return victim;
}

/* Gives a client a place, perhaps another's; returns whether there was one for it. */
static bool place_take(struct places *s, struct place *p)
{
	struct network *w;
	struct place *other;

	TAILQ_FOREACH(other, &s->all, link)
	if (s->n < s->opt->max_clients || other->lingers)
		break;
	if (s->n >= s->opt->max_clients && other != NULL)
		place_drop(s, other, NOT_DROPPED);
	w = network_find(s, &p->peer);
	if (w == NULL)
		return false;
	if (s->n >= s->opt->max_clients && (other = places_victim(s, w)) != NULL)
		place_drop(s, other, DROPPED_FOR_ROOM);
	if (s->n >= s->opt->max_clients) {
		network_free_unused(w);
		return false;
	}
	p->network = w;
	w->n++;
	TAILQ_INSERT_TAIL(&s->all, p, link);
	s->n++;
	p->active_ns = now_ns();
	p->checked_ns = s->full_ns;
	return true;
}

void place_release(struct places *s, struct place *p)
{
	pthread_mutex_lock(&s->lock);
	if (p->network != NULL)
		place_remove(s, p);
	pthread_mutex_unlock(&s->lock);
}

void place_reject(struct places *s, struct place *p, const char *word)
{
	place_release(s, p);
	send_refusal(s, p, word);
	shutdown(p->sock, SHUT_WR);
	close(p->sock);
	s->refused++;
}

/*
 * Other errors of accept(2) are the connection's and not the server's.  A lack is reported once
 * while it lasts or recurs.
 */
static void note_lack(struct places *s)
{
	uint64_t now = now_ns(), last;

	if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
		return;
	last = atomic_exchange(&s->lacked_ns, now);
	if (last == 0 || now > last + LOG_NS)
		note("clients have to wait: accept: %s", strerror(errno));
}

bool places_lack(const struct places *s)
{
	return s->lacked_ns != 0 && now_ns() < s->lacked_ns + LACK_NS;
}

/* Gives an accepted client a place, or rejects it. */
static bool place_admit(struct places *s, struct place *p)
{
	bool has;

	if (!is_allowed(&s->opt->allow, &p->peer)) {
		place_reject(s, p, REFUSED_ADDRESS);
		log_client(s->log, &p->peer, "turned away: not of --allow");
		return false;
	}
	pthread_mutex_lock(&s->lock);
	has = place_take(s, p);
	pthread_mutex_unlock(&s->lock);
	if (has)
		return true;
	place_reject(s, p, REFUSED_FULL);
	if (s->opt->reply)
		log_client(s->log, &p->peer, "turned away: there are --max-clients already");
	else
		log_client(s->log, &p->peer,
			   "turned away: there are %d clients already (--max-clients)",
			   s->opt->max_clients);
	return false;
}

void *places_accept(struct places *s, int listener, size_t size)
{
	struct place *p = calloc(1, size);
	socklen_t len = sizeof(p->peer);

	if (p == NULL || (p->sock = accept4(listener, (struct sockaddr *)&p->peer, &len,
					    SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0)
		note_lack(s);
	else if (place_admit(s, p))
		return p;
	free(p);
	return NULL;
}

void places_end_streams(struct places *s)
{
	struct place *p;

	pthread_mutex_lock(&s->lock);
	TAILQ_FOREACH(p, &s->all, link)
	shutdown(p->sock, SHUT_RD);
	pthread_mutex_unlock(&s->lock);
}

bool place_linger(struct places *s, struct place *p)
{
	bool has;

	pthread_mutex_lock(&s->lock);
	has = p->lingers = p->network != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
}

void place_format_dropped(const struct places *s, const struct place *p, char *buf, size_t size)
{
	static const char *const why[] = {
		[DROPPED_FOR_ROOM] = "dropped: its place went to another address (--max-clients)",
		[DROPPED_SLOW] = "dropped: under 1 KiB in %g seconds of a full server",
		[DROPPED_SILENT] = "silent for %g seconds (--idle-timeout)",
	};

	snprintf(buf, size, why[p->dropped], s->opt->idle_timeout);
}

void place_reset_on_close(const struct place *p)
{
	const struct linger now = {.l_onoff = 1};

	setsockopt(p->sock, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

#define LINGER      10          /* seconds for a client to close, at most */
#define RECEIPT_NS  1000000000u /* for a client to take its receipt */
#define POLL_MS     100         /* between two looks whether that time is over */
#define VERDICT_MAX 112

static void store(_Atomic uint64_t *count, uint64_t value)
{
	atomic_store_explicit(count, value, memory_order_relaxed);
}

/* Returns what the system call returned. */
static ssize_t receive_some(struct client *c)
{
	ssize_t n = receiver_receive(&c->receiver);

	if (n > 0) {
		store(&c->member.bytes, c->receiver.wire.bytes);
		store(&c->member.files, c->receiver.wire.files);
		store(&c->member.calls, c->member.calls + 1);
	}
	return n;
}

static bool more_comes(const struct client *c)
{
	return c->receiver.wire.state != WIRE_DONE &&
	       !atomic_load_explicit(c->context->stop, memory_order_relaxed);
}

/*
 * Reads until the wire or the stream ends; returns 0 or the errno of the call that failed.  The
 * clock starts when the first byte is there and before it is read, so that a transfer of one read
 * takes time too.
 */
static int receive(struct client *c)
{
	struct context *x = c->context;
	const struct wire *wire = &c->receiver.wire;
	struct mark *begin = &c->member.begin;
	ssize_t n;
	int e;

	member_mark(&x->meter, &c->member, begin, true);
	receiver_wait(&c->receiver);
	e = receiver_open(&c->receiver, x->opt->buffer, &x->buffers);
	if (e != 0) {
		c->member.end.ns = now_ns();
		return e;
	}
	/* The host's counters are read again only if they are old. */
	member_mark(&x->meter, &c->member, begin, now_ns() > begin->ns + RATES_NS);
	do
		n = receive_some(c);
	while (n > 0 && more_comes(c) && !wire->has_file && !x->opt->raw);
	if (wire->empty_loops > 0)
		group_warm_up(&x->group, &c->member, (uint64_t)wire->empty_loops * WIRE_WARMUP_NS);
	while (n > 0 && more_comes(c))
		n = receive_some(c);
	e = n < 0 ? errno : 0;
	c->member.end.ns = now_ns();
	return e;
}

static void client_figures(struct client *c, struct figures *f)
{
	const struct meter *m = &c->context->meter;
	struct mark *begin = &c->member.begin, *end = &c->member.end;
	uint64_t ns = end->ns;

	member_mark(m, &c->member, end, ns > begin->ns + RATES_NS);
	end->ns = ns;
	if (c->member.warming)
		*begin = *end;
	figures_between(m, begin, end, f);
	f->warmup = begin->bytes;
	f->cpu = c->cpu;
	tcp_figures_read(c->place.sock, &f->tcp);
}

/* A client of 2001 has closed by now, and no receipt reaches it: that is no error. */
static void send_receipt(int sock, const struct figures *f)
{
	struct pollfd p = {.fd = sock, .events = POLLOUT};
	uint64_t until = now_ns() + RECEIPT_NS;
	char line[RECEIPT_MAX];
	size_t len = receipt_format(f, line), sent = 0;
	ssize_t n;

	while (sent < len && now_ns() < until) {
		n = TEMP_FAILURE_RETRY(send(sock, line + sent, len - sent, MSG_DONTWAIT));
		if (n < 0 && errno != EAGAIN)
			break;
		if (n < 0)
			poll(&p, 1, POLL_MS);
		else
			sent += (size_t)n;
	}
	shutdown(sock, SHUT_WR);
}

/*
 * Waits for the client to close: if the socket were closed with something unread, the kernel would
 * reset the connection and the client would lose its receipt.
 */
static void linger(struct client *c)
{
	struct context *x = c->context;
	double limit = x->opt->idle_timeout > 0 ? fmin(LINGER, x->opt->idle_timeout) : LINGER;
	struct pollfd p = {.fd = c->place.sock, .events = POLLIN};
	char byte;

	poll(&p, 1, place_linger(&x->places, &c->place) ? (int)ceil(limit * 1000) : 0);
	if (recv(c->place.sock, &byte, 1, 0) > 0 || c->receiver.excess)
		log_client(&x->log, &c->place.peer, "sent more than it announced");
}

/* Why a client that has ended did not keep to the wire, in buf; NULL if it did. */
static const char *verdict(const struct client *c, int error, char buf[VERDICT_MAX])
{
	const struct wire *wire = &c->receiver.wire;
	const char *where = "in its warm-up";
	bool whole = wire_ended(wire, &where), done = wire->state == WIRE_DONE;
	char why[VERDICT_MAX - 32];

	if (*c->context->stop && !done) {
		snprintf(buf, VERDICT_MAX, "interrupted after %llu bytes",
			 (unsigned long long)wire->bytes);
		return buf;
	}
	if (c->place.dropped != NOT_DROPPED && !done)
		place_format_dropped(&c->context->places, &c->place, why, sizeof(why));
	else if (error != 0)
		snprintf(why, sizeof(why), "%s", strerror(error));
	else if (c->member.calls == 0)
		return "closed without sending anything";
	else if (whole && !c->member.warming)
		return NULL;
	else
		snprintf(why, sizeof(why), "closed %s", where);
	snprintf(buf, VERDICT_MAX, "%s, after %llu bytes", why, (unsigned long long)wire->bytes);
	return buf;
}

/* A CPU of -B may have gone offline since the start; its clients are served all the same. */
static void client_bind(struct client *c)
{
	int cpu = cpu_of(&c->context->opt->bind, c->number);

	c->cpu = NAN;
	if (cpu < 0)
		return;
	if (cpu_bind(cpu) == 0)
		c->cpu = cpu;
	else
		log_client(&c->context->log, &c->place.peer,
			   "served on any CPU: cannot bind to CPU %d: %s", cpu, strerror(errno));
}

/*
 * Logs or counts a client that has ended; returns whether it has a summary.  One that moved next to
 * nothing may come back soon, so that its summaries are limited.
 */
static bool has_summary(struct client *c, const char *why)
{
	struct context *x = c->context;
	uint64_t bytes = c->receiver.wire.bytes;
	bool logged = why != NULL && log_client(&x->log, &c->place.peer, "%s", why), has;
	unsigned ignored;

	if (why != NULL && !x->opt->json)
		return logged && bytes > 0;
	has = bytes >= REPORT_LEAST_BYTES ||
	      log_allows(&x->log, LOG_SMALL, &c->place.peer, &ignored);
	if (!has && !x->opt->json)
		report_count_small(&x->report, 1, bytes);
	return has;
}

/* Closes all that the client has before it leaves the group: nothing is open when that ends. */
static void client_close(struct client *c, const struct figures *f, bool ok, bool summary)
{
	struct context *x = c->context;

	if (x->opt->json)
		report_stream(&x->report, c->place.sock, &c->place.peer, f, c->number + 1, summary);
	receiver_close(&c->receiver);
	place_release(&x->places, &c->place);
	if (c->place.dropped == DROPPED_FOR_ROOM || c->place.dropped == DROPPED_SLOW)
		place_reset_on_close(&c->place);
	if (c->place.sock >= 0)
		close(c->place.sock);
	group_leave(&x->group, &c->member, f, ok, summary, *x->stop != 0);
	free(c);
}

static void *client_thread(void *arg)
{
	struct client *c = arg;
	const struct receive_options *opt = c->context->opt;
	char text[VERDICT_MAX];
	struct figures f;
	const char *why;
	uint64_t clients;
	bool ok, summary;
	int e;

	pthread_detach(pthread_self());
	client_bind(c);
	e = receive(c);
	clients = group_end_member(&c->context->group, &c->member);
	why = verdict(c, e, text);
	ok = why == NULL;
	summary = has_summary(c, why);
	client_figures(c, &f);
	f.clients = clients;
	if (ok && !opt->raw)
		send_receipt(c->place.sock, &f);
	if (!opt->json && summary)
		report_client(&c->context->report, c->name, &f, c->member.warm_ns != 0);
	if (ok && !opt->raw)
		linger(c);
	client_close(c, &f, ok, summary);
	return NULL;
}

bool client_start(struct context *x, struct client *c, int number)
{
	const struct sockaddr *peer = (const struct sockaddr *)&c->place.peer;
	struct figures none;
	pthread_t thread;
	int e;

	c->context = x;
	c->number = number;
	receiver_init(&c->receiver, c->place.sock, x->opt->method, x->opt->raw);
	addr_format(peer, sizeof(c->place.peer), c->name);
	if (addr_interface(peer, c->member.interface) != 0)
		c->member.interface[0] = '\0';
	sock_keep_alive(c->place.sock);
	if (x->opt->debug)
		note("%s: connected", c->name);
	if (x->opt->json && group_size(&x->group) == 0)
		report_group_begin(&x->report, &c->place.peer, x->opt->raw, x->opt->method->name);
	group_join(&x->group, &c->member);
	e = thread_start(&thread, client_thread, c);
	if (e == 0)
		return true;
	place_reject(&x->places, &c->place, REFUSED_FULL);
	log_client(&x->log, &c->place.peer, "turned away: no thread for it: %s", strerror(e));
	c->place.sock = -1;
	figures_init(&none);
	client_close(c, &none, false, false);
	return false;
}

#define BACKLOG      4096        /* the kernel lowers it to net.core.somaxconn */
#define REPLY_UNSENT (64 * 1024) /* bytes unsent that stop a reply; one send more makes 128 KiB */
#define LEAVE_NS     2000000000u /* for the clients' summaries on an interrupt */
#define LEAVE_MS     200         /* between two looks whether that time is over */

static void set_options(const struct receive_options *opt, int fd, int family, bool both)
{
	const int on = 1, only = !both, unsent = REPLY_UNSENT;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)); /* urgent data are data, too */
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	if (opt->reply)
		setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	sock_set_options_or_die(fd, &opt->sock);
}

/* Returns the socket, or -1 with the reason in *why. */
static int listen_on(const struct receive_options *opt, int family, bool both, const char **why)
{
	struct addrinfo hints = {.ai_family = family,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *ai;
	int fd, e = getaddrinfo(opt->address, opt->port, &hints, &ai);

	if (e != 0) {
		errno = e == EAI_SYSTEM ? errno : 0; /* else it is undefined: getaddrinfo(3) */
		*why = e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e);
		return -1;
	}
	fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, ai->ai_protocol);
	if (fd >= 0)
		set_options(opt, fd, ai->ai_family, both);
	if (fd < 0 || bind(fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
		e = errno;
		*why = strerror(e);
		if (fd >= 0)
			close(fd);
		errno = e;
		fd = -1;
	}
	freeaddrinfo(ai);
	return fd;
}

int listen_or_die(const struct receive_options *opt)
{
	bool both = opt->family == AF_UNSPEC && opt->address == NULL;
	const char *why;
	int fd = listen_on(opt, both ? AF_INET6 : opt->family, both, &why);

	if (fd < 0 && both && errno != EADDRINUSE)
		fd = listen_on(opt, AF_INET, both, &why);
	if (fd < 0)
		die("cannot listen on %s%sport %s: %s", opt->address != NULL ? opt->address : "",
		    opt->address != NULL ? " " : "", opt->port, why);
	return fd;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Waits for a client on fd, for one to leave or for a signal, at most until interval_ns or the next
 * thing that has to be done for a client.  Returns whether a client waits to be accepted.
 */
static bool wait_for(struct context *x, int fd, uint64_t interval_ns, const sigset_t *unblocked)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN},
			      {.fd = x->group.wake, .events = POLLIN}};
	uint64_t now = now_ns(), end = group_end_warm_ups(&x->group);
	struct timespec t;
	eventfd_t ignored;

	if (group_size(&x->group) > 0)
		end = earlier(end, earlier(interval_ns, now + LOOK_NS));
	if (places_lack(&x->places)) {
		end = earlier(end, now + LACK_NS);
		p[0].fd = -1;
	}
	now = end > now ? end - now : 0;
	t = (struct timespec){(time_t)(now / 1000000000), (long)(now % 1000000000)};
	if (ppoll(p, 2, end != UINT64_MAX ? &t : NULL, unblocked) <= 0)
		return false;
	if (p[1].revents != 0)
		eventfd_read(x->group.wake, &ignored);
	return p[0].revents != 0;
}

/* Whether the first group has ended with -1.  A client that waits to be accepted belongs to it. */
static bool is_over(struct context *x, int fd, bool served)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return x->opt->once && served && group_size(&x->group) == 0 && poll(&p, 1, 0) <= 0;
}

/* Ends the clients' streams and waits for their summaries. */
static void dismiss_clients(struct context *x)
{
	struct pollfd p = {.fd = x->group.wake, .events = POLLIN};
	uint64_t until = now_ns() + LEAVE_NS;
	eventfd_t ignored;

	places_end_streams(&x->places);
	while (group_size(&x->group) > 0 && now_ns() < until) {
		eventfd_read(x->group.wake, &ignored);
		poll(&p, 1, LEAVE_MS);
	}
	group_abandon(&x->group);
}

void serve(struct context *x, int listener, const sigset_t *unblocked)
{
	const uint64_t period = (uint64_t)(x->opt->interval * 1e9);
	struct interval interval = {.warm_up = false};
	struct client *c;
	uint64_t end;
	bool served = false;
	int number = 0;

	interval_begin(&x->group, &interval);
	while (!*x->stop && !is_over(x, listener, served)) {
		end = period > 0 ? interval.begin.ns + period : UINT64_MAX;
		if (wait_for(x, listener, end, unblocked)) {
			if (group_size(&x->group) ==
			    0) /* the first of a group starts the interval */
				interval_begin(&x->group, &interval);
			c = places_accept(&x->places, listener, sizeof(*c));
			if (c != NULL && client_start(x, c, number)) {
				served = true;
				number = (number + 1) % INT_MAX; /* the report has number + 1 */
			}
		}
		if (period > 0 && now_ns() >= interval.begin.ns + period)
			interval_end(&x->group, &interval, x->opt->quiet);
		places_look(&x->places);
	}
	close(listener);
	dismiss_clients(x);
}

#define EVENTS     64          /* of one epoll_wait() */
#define REPLY_SIZE (64 * 1024) /* bytes of each send of a reply */

struct request {
	struct place place;
	LIST_ENTRY(request) link;
	unsigned header_len; /* bytes of the header that are here */
	uint32_t header;     /* those bytes: the size of the reply */
	uint32_t unsent;     /* bytes of the reply */
	bool waits_to_send;  /* it waits for room in the socket's buffer */
};

struct worker {
	struct replier *all;
	pthread_t thread;
	int number, epoll;
	LIST_HEAD(, request) requests;
	bool paused; /* for a lack: new clients have to wait */
	_Atomic uint64_t replies, bytes;
};

struct replier {
	struct context *context;
	int listener;
	int wake; /* eventfd(2), readable when the workers have to end */
	int n;
	struct worker *worker;
	struct reply_failures failures;
};

static void request_close(struct worker *w, struct request *q)
{
	LIST_REMOVE(q, link);
	place_release(&w->all->context->places, &q->place);
	close(q->place.sock);
	free(q);
}

/* The connection has failed with that errno; 0: the client has closed. */
static void request_fail(struct worker *w, struct request *q, int e)
{
	struct reply_failures *f = &w->all->failures;
	struct context *x = w->all->context;
	const int dropped = q->place.dropped;
	char why[128];

	if (e == EAGAIN || e == EINTR)
		return;
	snprintf(why, sizeof(why), "%s", e != 0 ? strerror(e) : "closed before it had asked");
	if (dropped != NOT_DROPPED) {
		place_format_dropped(&x->places, &q->place, why, sizeof(why));
		place_reset_on_close(&q->place); /* what it has not taken is discarded */
	}
	if (dropped == NOT_DROPPED)
		f->broken++;
	else if (dropped == DROPPED_FOR_ROOM)
		x->places.refused++;
	else
		f->silent++;
	log_client(&x->log, &q->place.peer, "%s", why);
	request_close(w, q);
}

static void reply_send(struct worker *w, struct request *q)
{
	static const char data[REPLY_SIZE];
	struct epoll_event room = {.events = EPOLLOUT, .data.ptr = q};
	ssize_t n;

	while (q->unsent > 0) {
		n = send(q->place.sock, data, q->unsent < REPLY_SIZE ? q->unsent : REPLY_SIZE, 0);
		if (n < 0) {
			if ((errno == EAGAIN || errno == EINTR) && !q->waits_to_send)
				epoll_ctl(w->epoll, EPOLL_CTL_MOD, q->place.sock, &room);
			q->waits_to_send = true;
			request_fail(w, q, errno);
			return;
		}
		q->unsent -= (uint32_t)n;
		atomic_store_explicit(&w->bytes, w->bytes + (uint64_t)n, memory_order_relaxed);
	}
	atomic_store_explicit(&w->replies, w->replies + 1, memory_order_relaxed);
	request_close(w, q);
}

/* Reads what there is of the header, and replies once it is whole. */
static void request_read(struct worker *w, struct request *q)
{
	struct context *x = w->all->context;
	unsigned char header[WIRE_HEADER];
	ssize_t n = recv(q->place.sock, header, WIRE_HEADER - q->header_len, 0), i;

	if (n <= 0) {
		request_fail(w, q, n < 0 ? errno : 0);
		return;
	}
	for (i = 0; i < n; i++)
		q->header = q->header << 8 | header[i];
	q->header_len += (unsigned)n;
	if (q->header_len < WIRE_HEADER)
		return;
	if (q->header > x->opt->max_reply) {
		w->all->failures.too_large++;
		log_client(&x->log, &q->place.peer, "asked for %u bytes, more than --max-reply",
			   q->header);
		request_close(w, q);
		return;
	}
	q->unsent = q->header;
	reply_send(w, q);
}

/* Accepts a client, whose request has often come with it. */
static void request_accept(struct worker *w)
{
	struct context *x = w->all->context;
	struct request *q = places_accept(&x->places, w->all->listener, sizeof(*q));
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = q};

	if (q == NULL)
		return;
	if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, q->place.sock, &ev) != 0) {
		place_reject(&x->places, &q->place, REFUSED_FULL);
		log_client(&x->log, &q->place.peer, "turned away: no memory for it");
		free(q);
		return;
	}
	if (x->opt->idle_timeout <= 0) /* otherwise silence ends a connection that is lost */
		sock_keep_alive(q->place.sock);
	LIST_INSERT_HEAD(&w->requests, q, link);
	request_read(w, q);
}

/* Begins or ends to wait for new clients.  EPOLLEXCLUSIVE can only be added and deleted. */
static int worker_listen(struct worker *w, bool on)
{
	struct epoll_event new = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = w};

	return epoll_ctl(w->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, w->all->listener, &new);
}

static void *worker_thread(void *arg)
{
	struct worker *w = arg;
	struct context *x = w->all->context;
	struct epoll_event ev[EVENTS];
	struct request *q;
	bool lack;
	int n, i;

	cpu_bind_or_die(&x->opt->bind, w->number);
	while (!*x->stop) {
		lack = places_lack(&x->places);
		if (lack != w->paused && worker_listen(w, !lack) == 0)
			w->paused = lack;
		n = epoll_wait(w->epoll, ev, EVENTS, (w->paused ? LACK_NS : LOOK_NS) / 1000000);
		for (i = 0; i < n; i++) {
			q = ev[i].data.ptr;
			if (ev[i].data.ptr == w)
				request_accept(w);
			else if (q != NULL && q->header_len < WIRE_HEADER)
				request_read(w, q);
			else if (q != NULL)
				reply_send(w, q);
		}
		places_look(&x->places);
	}
	while ((q = LIST_FIRST(&w->requests)) != NULL)
		request_close(w, q);
	close(w->epoll);
	return NULL;
}

static void workers_start(struct replier *r)
{
	struct epoll_event end = {.events = EPOLLIN, .data.ptr = NULL};
	struct cpus online;
	struct worker *w;
	int e;

	cpus_online(&online);
	r->n = r->context->opt->bind.n > 0 ? r->context->opt->bind.n : online.n;
	r->worker = calloc((size_t)r->n, sizeof(*r->worker));
	r->wake = eventfd(0, EFD_CLOEXEC);
	if (r->worker == NULL || r->wake < 0)
		die_errno("repliers");
	for (w = r->worker; w < r->worker + r->n; w++) {
		w->all = r;
		w->number = (int)(w - r->worker);
		w->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (w->epoll < 0 || worker_listen(w, true) != 0 ||
		    epoll_ctl(w->epoll, EPOLL_CTL_ADD, r->wake, &end) != 0)
			die_errno("epoll");
		e = thread_start(&w->thread, worker_thread, w);
		if (e != 0)
			die("thread %d of %d: %s", w->number + 1, r->n, strerror(e));
	}
}

static void replies_mark(const struct replier *r, struct mark *mark)
{
	int i;

	mark->calls = mark->bytes = 0;
	for (i = 0; i < r->n; i++) {
		mark->calls += r->worker[i].replies;
		mark->bytes += r->worker[i].bytes;
	}
	mark_now(&r->context->meter, mark);
}

void serve_replies(struct context *x, int listener, const sigset_t *unblocked)
{
	const double interval = x->opt->interval;
	const struct timespec t = {(time_t)interval, (long)(fmod(interval, 1) * 1e9)};
	struct replier r = {.context = x, .listener = listener};
	struct mark start = {.ns = 0}, last, now = {.ns = 0};
	struct figures f;
	int i;

	workers_start(&r);
	replies_mark(&r, &start);
	last = start;
	while (!*x->stop) {
		ppoll(NULL, 0, interval > 0 ? &t : NULL, unblocked);
		replies_mark(&r, &now);
		figures_between(&x->meter, &last, &now, &f);
		if (!*x->stop && !x->opt->quiet && f.calls > 0)
			report_replies(&x->report, &f, NULL);
		last = now;
	}
	eventfd_write(r.wake, 1);
	for (i = 0; i < r.n; i++)
		pthread_join(r.worker[i].thread, NULL);
	close(listener);
	close(r.wake);
	replies_mark(&r, &now);
	figures_between(&x->meter, &start, &now, &f);
	r.failures.refused = x->places.refused;
	report_replies(&x->report, &f, &r.failures);
	free(r.worker);
}

/* Whether the process is that user in all of its ids, and in no other's group. */
static bool is_user(const struct passwd *pw)
{
	gid_t gid[3], groups[NGROUPS_MAX], users[NGROUPS_MAX];
	uid_t uid[3];
	int n = getgroups(NGROUPS_MAX, groups), n_users = NGROUPS_MAX, i, k;

	if (n < 0 || getgrouplist(pw->pw_name, pw->pw_gid, users, &n_users) < 0 ||
	    getresuid(&uid[0], &uid[1], &uid[2]) != 0 || getresgid(&gid[0], &gid[1], &gid[2]) != 0)
		return false;
	for (i = 0; i < 3; i++)
		if (uid[i] != pw->pw_uid || gid[i] != pw->pw_gid)
			return false;
	for (i = 0; i < n; i++) {
		for (k = 0; k < n_users && users[k] != groups[i]; k++)
			;
		if (k == n_users)
			return false;
	}
	return true;
}

static bool become(const struct passwd *pw)
{
	return initgroups(pw->pw_name, pw->pw_gid) == 0 &&
	       setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) == 0 &&
	       setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) == 0;
}

void privileges_drop_or_die(const char *user)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const struct passwd *pw;
	bool became;

	errno = 0;
	pw = getpwnam(user);
	if (pw == NULL)
		die("--user '%s': %s", user, errno != 0 ? strerror(errno) : "no such user");
	became = become(pw);
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

static struct receive_options opt = {
	.method = receive_methods,
	.max_reply = 16 * 1024 * 1024,
	.max_clients = 1000,
	.idle_timeout = 60,
	.family = AF_UNSPEC,
	.interval = 5,
};

static _Atomic int stop; /* the signal that ends the program */

static void on_signal(int sig)
{
	stop = sig;
}

/* Ends an open JSON report when the program dies: die_init_with(). */
static void close_report(void *report, const char *why)
{
	report_die(report, why);
}

/* Prints where it listens: with `-p 0` only the kernel knows the port. */
static void announce(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char name[ADDR_STRLEN];

	if (!opt.quiet && getsockname(fd, (struct sockaddr *)&ss, &len) == 0)
		warnx("listening on %s", addr_format((struct sockaddr *)&ss, len, name));
}

/* Prints on stderr what was left out of it, and with -c what made the loads unsafe since `start`. */
static void warn_at_end(struct context *x, const struct mark *start)
{
	struct mark end = {.ns = 0};
	struct load l;

	log_end(&x->log);
	if (x->meter.soaker == NULL)
		return;
	mark_now(&x->meter, &end);
	counters_read(&end.counters, NULL);
	load_between(&x->meter.calibration, &start->load, &end.load, -1, &l);
	limits_warn_run(&x->meter.calibration.cpus, &start->counters, &end.counters, &l);
}

/* Opens all that needs privileges; returns the listener. */
static int open_all(struct context *x)
{
	struct rlimit files;
	int listener;

	if (opt.load) {
		calibration_load_or_die(&x->meter.calibration, CALIBRATION_FILE, opt.n_cpus);
		limits_warn();
	}
	/* Each client is a descriptor. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	listener = listen_or_die(&opt);
	if (opt.load)
		x->meter.soaker = soaker_start_or_die(&x->meter.calibration.cpus);
	cpus_try_or_die(&opt.bind);
	x->group.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->group.wake < 0)
		die_errno("eventfd");
	return listener;
}

static int run(struct context *x)
{
	struct mark start = {.ns = 0};
	sigset_t unblocked;
	int listener = open_all(x), status;

	if (opt.user != NULL)
		privileges_drop_or_die(opt.user);
	catch_stop_signals_waiting(on_signal, &unblocked);
	announce(listener);
	counters_read(&start.counters, NULL);
	mark_now(&x->meter, &start);
	if (opt.reply)
		serve_replies(x, listener, &unblocked);
	else
		serve(x, listener, &unblocked);
	status = x->report.failed || (opt.once && x->group.failed) ? EXIT_FAILURE : EXIT_SUCCESS;
	/*
	 * Clients that are late still use what a return would free, and exit(3) would wait for a
	 * stderr that one of them has locked and cannot write.  The soakers end by themselves.
	 */
	if (x->group.n > 0 && ftrylockfile(stderr) != 0)
		_exit(status);
	warn_at_end(x, &start);
	if (x->group.n > 0)
		_exit(status);
	if (x->meter.soaker != NULL) {
		soaker_stop(x->meter.soaker);
		free(x->meter.calibration.cpu);
	}
	free(opt.allow.prefix);
	close(x->group.wake);
	return status;
}

/*
 * Options.
 */

enum { OPT_MAX_REPLY = 256, OPT_MAX_CLIENTS, OPT_IDLE_TIMEOUT, OPT_ALLOW, OPT_BIND, OPT_USER };

static const struct option longopts[] = {
	{"port", required_argument, NULL, 'p'},
	{"once", no_argument, NULL, '1'},
	{"method", required_argument, NULL, 'm'},
	{"raw", no_argument, &opt.raw, true},
	{"reply", no_argument, &opt.reply, true},
	{"max-reply", required_argument, NULL, OPT_MAX_REPLY},
	{"max-clients", required_argument, NULL, OPT_MAX_CLIENTS},
	{"idle-timeout", required_argument, NULL, OPT_IDLE_TIMEOUT},
	{"allow", required_argument, NULL, OPT_ALLOW},
	{"bind", required_argument, NULL, OPT_BIND},
	{"user", required_argument, NULL, OPT_USER},
	{"interval", required_argument, NULL, 'I'},
	{"json", no_argument, &opt.json, true},
	{"quiet", no_argument, NULL, 'q'},
	{"buffer-size", required_argument, NULL, 'b'},
	{"rcvbuf", required_argument, NULL, 'i'},
	{"sndbuf", required_argument, NULL, 'o'},
	{"bind-cpu", required_argument, NULL, 'B'},
	{"cpu-load", no_argument, NULL, 'c'},
	{"cpus", required_argument, NULL, 'N'},
	{"debug", no_argument, NULL, 'd'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char help[] =
	"Usage: zcs [options]\n"
	"Receives what zcc sends, any number of clients at once, and says how fast.\n"
	"\n"
	"  -p, --port port        to listen on (default 2222, --reply 7890; 0: any that is free)\n"
	"  -1, --once             serve one client, or those who come together, and exit\n"
	"  -m, --method how       read (default), recv, trunc (discard without copying), splice\n"
	"  -b, --buffer-size size of each read (default 256k; trunc and splice 1m)\n"
	"      --raw              no headers: count what any TCP client sends\n"
	"      --reply            answer requests (zcc --request) with as many bytes\n"
	"      --max-reply size   that one may ask for (default 16m)\n"
	"      --bind address     to listen on (default: every address of this host)\n"
	"      --allow prefixes   serve these clients only: address[/bits][,...], repeatable\n"
	"      --max-clients n    that are served at a time (default 1000)\n"
	"      --idle-timeout s   that one may be silent (default 60; 0: for ever)\n"
	"      --user name        become this user when all is open (as root)\n"
	"  -I, --interval secs    between two lines while data flows (default 5; 0: none)\n"
	"      --json             the report as one line of JSON for each group of clients\n"
	"  -q, --quiet            only summaries\n"
	"  -i, --rcvbuf size      SO_RCVBUF (default: the kernel's autotuning)\n"
	"  -o, --sndbuf size      SO_SNDBUF (default: the kernel's autotuning)\n"
	"  -4, -6                 IPv4 or IPv6 only (default: both)\n"
	"  -B, --bind-cpu cpus    run on this CPU; a list: one client after the other\n"
	"  -c, --cpu-load         measure this host's CPU load (calibrate first: cyclesoak -C)\n"
	"  -N, --cpus n           how many CPUs to measure (default: all that are online)\n"
	"  -d, --debug            say more on stderr\n"
	"  -h, --help             this text\n"
	"  -V, --version          the version\n"
	"\n"
	"Sizes take a suffix k, m or g.  The manual is zcs(1), the method zc(7).\n";

static void parse_option(int c)
{
	size_t i;

	switch (c) {
	case 0: break; /* getopt_long(3) has stored it */
	case 'p': opt.port = arg_port("-p, --port", optarg, 0); break;
	case '1': opt.once = true; break;
	case 'm':
		i = arg_name("-m, --method", optarg, receive_methods, RECEIVE_METHODS,
			     sizeof(receive_methods[0]));
		opt.method = &receive_methods[i];
		break;
	case OPT_MAX_REPLY:
		opt.max_reply = (uint32_t)arg_size("--max-reply", optarg, 0, UINT32_MAX);
		break;
	case OPT_MAX_CLIENTS:
		opt.max_clients = (int)arg_int("--max-clients", optarg, 1, 1000000);
		break;
	case OPT_IDLE_TIMEOUT:
		opt.idle_timeout = arg_seconds("--idle-timeout", optarg, 0, 86400);
		break;
	case OPT_ALLOW:
		if (!allow_add(&opt.allow, optarg))
			usage_error("--allow: '%s' is not address[/bits][,...], "
				    "such as 192.0.2.0/24,2001:db8::/32",
				    optarg);
		break;
	case OPT_BIND: opt.address = optarg; break;
	case OPT_USER: opt.user = optarg; break;
	case 'I':
		opt.interval = arg_seconds("-I, --interval", optarg, 0, 86400);
		if (opt.interval > 0 && opt.interval < 0.01)
			usage_error("-I, --interval: '%s' is neither 0 nor 0.01 or more", optarg);
		break;
	case 'q': opt.quiet = true; break;
	case 'b': opt.buffer = (size_t)arg_size("-b, --buffer-size", optarg, 1, 1u << 30); break;
	case 'i': opt.sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30); break;
	case 'o': opt.sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30); break;
	case '4': arg_family(&opt.family, AF_INET); break;
	case '6': arg_family(&opt.family, AF_INET6); break;
	case 'B': arg_cpus("-B, --bind-cpu", optarg, &opt.bind); break;
	case 'c': opt.load = true; break;
	case 'N': opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX); break;
	case 'd': opt.debug = true; break;
	case 'h': report("%s", help); exit(EXIT_SUCCESS);
	case 'V': report("zcs %s\n", VERSION); exit(EXIT_SUCCESS);
	default: exit(EXIT_USAGE); /* getopt has named it */
	}
}

int main(int argc, char **argv)
{
	static struct context x = {
		.opt = &opt,
		.stop = &stop,
		.log.lock = PTHREAD_MUTEX_INITIALIZER,
		.report.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
		.group = {.meter = &x.meter,
			  .report = &x.report,
			  .lock = PTHREAD_MUTEX_INITIALIZER},
	};
	struct cpus online;
	int c;

	init_output();
	name_in_errors(argv);
	while ((c = getopt_long(argc, argv, "p:1m:b:I:qi:o:46B:cN:dhV", longopts, NULL)) != -1)
		parse_option(c);
	if (optind < argc)
		usage_error("'%s': zcs takes no arguments, only options; see zcs -h", argv[optind]);
	cpus_to_soak(opt.n_cpus, &online); /* rejects an -N that cannot be */
	if (opt.reply && (opt.once || opt.raw))
		usage_error("--reply goes without --once and --raw");
	if (opt.port == NULL)
		opt.port = opt.reply ? REQUEST_PORT : WIRE_PORT;
	x.meter.method = opt.method->name;
	x.report.json = opt.json;
	x.report.once = opt.once;
	places_init(&x.places, &opt, &x.log);
	die_init_with(close_report, &x.report);
	return run(&x);
}
