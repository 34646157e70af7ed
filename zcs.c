/*
 * zcs: receives what zcc sends, any number of clients at once, and says how fast.
 */
#include "common.h"
#include "lib/load/calibration.h"
#include "lib/load/counters.h"
#include "lib/load/cpus.h"
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
#include <linux/tcp.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFFER_LARGE  (256 * 1024) /* of each read, unless -b; zc(7) has the measurements */
#define BUFFER_SMALL  (64 * 1024)  /* the same beside BUFFERS_LARGE others */
#define BUFFERS_LARGE 24
#define TRUNC_SIZE    (1024 * 1024)      /* of each recv() that copies nothing, unless -b */
#define LOWAT_COPY    (64 * 1024)        /* SO_RCVLOWAT in a body: data must not grow cold */
#define LOWAT_DISCARD (256 * 1024)       /* the same where nobody looks at them */
#define MAX_REPLY     (16 * 1024 * 1024) /* bytes that --reply may be asked for, unless told */
#define REPLY_SIZE    (64 * 1024)        /* of each send of a reply */
#define REPLY_UNSENT  (64 * 1024)        /* bytes that end it; one send more makes 128 KiB */
#define MAX_CLIENTS   1000               /* at a time, unless told */
#define IDLE_TIMEOUT  60                 /* seconds that one may be silent */
#define STREAMS_TOLD  10000              /* of one group, in its JSON report: it is in memory */
#define BACKLOG       4096               /* the kernel lowers it to net.core.somaxconn */
#define LACK_NS       100000000u         /* before accept(2) is tried again after a lack */
#define LINGER        10                 /* seconds for a client to close, at most */
#define WORK_BYTES    (64 * 1024)        /* that a client at work moves in a second */
#define LEAST_BYTES   1024               /* to move in each --idle-timeout of a full server */
#define LOOK_NS       250000000u         /* between two looks at what the clients moved */
#define LOOKS         5                  /* that are kept: the first is a second old */
#define CONTINUED_NS  2000000000u        /* after a stop, for clients to move data again */
#define RECEIPT_NS    1000000000u        /* for the client to take its receipt */
#define POLL_MS       100                /* between two looks whether that is over */
#define LEAVE_NS      2000000000u        /* for the clients' summaries on an interrupt */
#define RATES_NS      10000000           /* the host's counters are worth reading after so long */
#define PRINT_MAX     1024               /* bytes of a line of the report */
#define FLOW_BYTES    (64 * 1024)        /* of a JSON report that are kept in memory */
#define SAY_SLOTS     64                 /* of addresses, each of which may have */
#define SAY_LINES     20                 /* lines on stderr about its clients */
#define SAY_NS        10000000000u       /* in this time */

struct client;

/* The clients of one IPv4 address, or of one IPv6 network of 64 bits. */
struct network {
	LIST_ENTRY(network) link;
	struct in6_addr address;
	int n; /* places that it has */
};

/*
 * A client's place among the --max-clients.  Whoever has one may be seen by every thread, under
 * the places' lock, until place_leave() or place_drop() takes it away.
 */
enum dropped { NOT_DROPPED, DROPPED_FOR_ROOM, DROPPED_SLOW };

struct place {
	TAILQ_ENTRY(place) link;
	int sock;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	struct network *network; /* NULL: it has no place, or has lost it */
	uint64_t moved[LOOKS];   /* bytes at each of the last looks, the latest first */
	uint64_t checked_ns;     /* when LEAST_BYTES were last counted */
	uint64_t checked_moved;  /* bytes at that time */
	bool lingers;            /* it is done, and only waits for the client to close */
	_Atomic int dropped;     /* enum dropped: why it has lost its place */
};

/* A way to receive: does one system call on the socket, and counts what came. */
struct method {
	const char *name;
	ssize_t (*receive)(struct client *c);
	/* Of those that copy. */
	ssize_t (*get)(int sock, void *buf, size_t len);
	int lowat; /* SO_RCVLOWAT inside of a body */
};

/* The host and one client at one time. */
struct mark {
	uint64_t ns, bytes, calls, files;
	struct load_sample soak;
	struct counters counters;
};

/* One client: its own thread, its own buffer. */
struct client {
	struct client *next, **link;
	pthread_t thread;
	bool has_thread;
	int number;
	double cpu; /* to which its thread is bound; NAN for none */
	struct place place;
	char name[ADDR_STRLEN], interface[IF_NAMESIZE];
	struct wire wire;
	char *buf;
	size_t size;       /* the most asked of one call */
	int lowat;         /* in force */
	int pipe[2], sink; /* of splice */
	/* So far, for the main thread. */
	_Atomic uint64_t bytes, calls, files;
	struct mark begin, end; /* of what is measured */
	uint64_t warm_ns;       /* when the warm-up is over; 0 if there is none */
	bool warming, ended;    /* under the group's lock */
	bool counted;           /* among those that have a buffer */
	bool readable;          /* poll(2) has said so, and nothing was read since */
	bool silent;            /* for too long */
	bool excess;            /* more came than was announced */
};

/* Addresses that begin with the same `bits`; IPv4 is mapped into IPv6, after MAPPED of them. */
#define MAPPED 96
struct prefix {
	struct in6_addr address;
	int bits;
};

/* JSON in memory. */
struct text {
	struct json json;
	char *text;
	size_t size;
};

static struct {
	struct sock_options sock;
	struct cpus bind;
	const char *port;
	const char *address; /* to listen on; NULL: all */
	const char *user;    /* to become; NULL: none */
	struct prefix *allow;
	size_t n_allow; /* 0: everyone */
	const struct method *method;
	int family;
	size_t buffer; /* 0: the default of the method */
	double interval;
	int n_cpus; /* 0: all */
	int debug;
	bool load, once, raw, json, quiet, reply;
	uint32_t max_reply;
	int max_clients;
	double idle_timeout; /* 0: none */
} opt = {
	.max_reply = MAX_REPLY,
	.max_clients = MAX_CLIENTS,
	.idle_timeout = IDLE_TIMEOUT,
	.family = AF_UNSPEC,
	.interval = 5,
};

/* Clients that are connected at the same time, one joining before the last leaves, are a group. */
static struct {
	pthread_mutex_t lock;
	int wake; /* eventfd(2): a client has left, or begins to warm up */
	struct client *clients;
	struct client *left; /* those that have left and are not yet buried */
	int n;               /* now */
	uint64_t total;      /* in this group */
	uint64_t gone_bytes; /* of all that have left since the start */
	uint64_t start_ns;   /* when it began, for the intervals of the JSON report */
	struct figures sum;  /* of those that have left, of what was measured */
	struct mark begin, end;
	char interface[IF_NAMESIZE]; /* of all its clients; empty: of different ones */
	bool overlapped;
	bool told;           /* one has a summary of its own */
	bool failed;         /* one did, since the start */
	struct text report;  /* of the JSON report: what is not printed yet */
	struct text streams; /* the part of it that comes at the end */
	bool flowed;         /* the beginning of it is printed */
	bool lost;           /* and the rest is not: stdout failed */
	uint64_t streams_told, streams_left_out;
} group = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line on stderr: warnx(3) writes it in pieces, and other threads' would come between. */
static void note(const char *fmt, ...)
{
	va_list ap;

	flockfile(stderr);
	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	funlockfile(stderr);
}

/* The report: whole lines on stdout, from any thread. */
static struct {
	pthread_mutex_t lock;
	bool open;           /* the end of the last line is still to come */
	bool cut;            /* the end of the last line is lost */
	bool broken;         /* stdout is why the program dies */
	_Atomic bool failed; /* something could not be written */
} output = {.lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};

/* Returns 0 or the error; *done is whether a part was written. */
static int write_all(const char *text, size_t len, bool *done)
{
	ssize_t n;

	*done = false;
	while (len > 0) {
		n = write(STDOUT_FILENO, text, len);
		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0) {
			*done = true;
			text += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Writes text, under the output's lock; it begins a line if the end of the last one is lost. */
static int write_lines(const char *text, size_t len)
{
	bool done;
	int e = 0;

	if (output.cut)
		e = write_all("\n", 1, &done);
	if (e != 0)
		return e;
	e = write_all(text, len, &done);
	output.cut = e != 0 && (done || output.open);
	output.open = e == 0 && text[len - 1] != '\n';
	return e;
}

/*
 * What cannot be written is lost and said once, and a server goes on where the error may pass: a
 * client could end it else, by filling the disk.
 */
static void output_failed(int e)
{
	bool passes = e == ENOSPC || e == EDQUOT || e == EIO || e == EAGAIN;

	if (opt.once || !passes) {
		output.broken = true;
		errno = e;
		die_errno("stdout");
	}
	if (!atomic_exchange(&output.failed, true))
		note("stdout: %s: what cannot be written is lost, zcs goes on", strerror(e));
}

/* Whether it was written. */
static bool output_write(const char *text, size_t len)
{
	int e;

	pthread_mutex_lock(&output.lock);
	e = write_lines(text, len);
	pthread_mutex_unlock(&output.lock);
	if (e != 0)
		output_failed(e);
	return e == 0;
}

static void print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line of at most PRINT_MAX bytes. */
static void print(const char *fmt, ...)
{
	char line[PRINT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	output_write(line, strlen(line));
}

/*
 * A part of the JSON report, in memory until it is known whether it is printed.
 */
static void text_open(struct text *t)
{
	t->json.f = open_memstream(&t->text, &t->size);
	if (t->json.f == NULL)
		die_errno("report");
}

/* Ends it, so that t->text has all of it. */
static void text_close(struct text *t)
{
	bool failed = ferror(t->json.f) != 0;

	/* At the end the C library makes the text as long as it is: it may have no memory then. */
	if (fclose(t->json.f) != 0 || failed || t->text == NULL) {
		t->json.f = NULL;
		die("report: no memory for it");
	}
	t->json.f = NULL;
}

static void text_free(struct text *t)
{
	if (t->json.f != NULL)
		fclose(t->json.f);
	t->json.f = NULL;
	free(t->text);
	t->text = NULL;
}

/* A lock that the thread which dies may have itself, or another that will not give it back. */
static void lock_or_go_on(pthread_mutex_t *lock)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_timedlock(lock, &until);
}

/* What else there is to do when the program dies: die_init().  It keeps both locks. */
static void close_report(const char *why)
{
	struct text *t = &group.report;
	struct json none = {.f = NULL};
	FILE *f;
	bool done;

	if (!opt.json || output.broken)
		return;
	lock_or_go_on(&group.lock);
	lock_or_go_on(&output.lock);
	f = t->json.f;
	if (f != NULL && !group.lost) {
		json_fail(&t->json, why);
		if (fclose(f) == 0 && t->text != NULL) {
			write_lines(t->text, t->size);
			return;
		}
	}
	if (output.cut || output.open)
		write_all("\n", 1, &done);
	json_fail(&none, why);
}

static struct soaker *soak; /* set before there are threads, then only read */
static struct calibration calibration;

static _Atomic int stop; /* the signal that ends it; the threads see it too */

static void soak_read(struct load_sample *p)
{
	p->ns = 0;
	if (soak != NULL)
		load_sample_read(soak, &calibration, p, NULL);
}

/* NAN where it was not measured. */
static void load_if_soaked(const struct load_sample *from, const struct load_sample *to,
			   struct load *l)
{
	if (soak != NULL && from->ns != 0)
		load_between(&calibration, from, to, -1, l);
	else
		l->load = l->uncertainty = l->slowed = l->tasks = NAN;
}

/*
 * Who may come, and how much is said of those who come.
 */

/* The address as IPv6 has it; false if it is of another family. */
static bool address_of(const struct sockaddr_storage *ss, struct in6_addr *a)
{
	if (ss->ss_family == AF_INET6) {
		*a = ((const struct sockaddr_in6 *)ss)->sin6_addr;
		return true;
	}
	*a = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	memcpy(&a->s6_addr[12], &((const struct sockaddr_in *)ss)->sin_addr, 4);
	return ss->ss_family == AF_INET;
}

static bool has_prefix(const struct in6_addr *a, const struct prefix *p)
{
	size_t whole = (size_t)p->bits / 8;
	int rest = p->bits % 8;

	if (p->bits < MAPPED && IN6_IS_ADDR_V4MAPPED(a))
		return false; /* ::/0 are the clients of IPv6 */
	return memcmp(a, &p->address, whole) == 0 &&
	       (rest == 0 || (a->s6_addr[whole] ^ p->address.s6_addr[whole]) >> (8 - rest) == 0);
}

static bool is_allowed(const struct sockaddr_storage *peer)
{
	struct in6_addr a;
	size_t i;

	if (opt.n_allow == 0)
		return true;
	if (!address_of(peer, &a))
		return false;
	for (i = 0; i < opt.n_allow; i++)
		if (has_prefix(&a, &opt.allow[i]))
			return true;
	return false;
}

/* The IPv4 address of a peer, or the first 64 bits of its IPv6 address: what its owner has. */
static void network_of(const struct sockaddr_storage *peer, struct in6_addr *a)
{
	*a = (struct in6_addr)IN6ADDR_ANY_INIT;
	address_of(peer, a);
	if (!IN6_IS_ADDR_V4MAPPED(a))
		memset(&a->s6_addr[8], 0, 8);
}

static uint32_t hash_of(const struct in6_addr *a)
{
	uint32_t hash = 2166136261u; /* FNV-1a */
	size_t i;

	for (i = 0; i < sizeof(a->s6_addr); i++)
		hash = (hash ^ a->s6_addr[i]) * 16777619u;
	return hash;
}

/*
 * What was said lately of the clients from one address, or of IPv6 one network of 64 bits.
 * Addresses that share a slot share what may be said: the table, too, is of a bounded size.
 */
enum say { SAY_BAD, SAY_SMALL, SAY_KINDS }; /* on stderr; summaries on stdout */

static struct {
	pthread_mutex_t lock;
	struct said {
		uint64_t since_ns;
		unsigned lines, left_out;
	} slot[SAY_KINDS][SAY_SLOTS];
	uint64_t left_out; /* lines on stderr, since the start */
	struct small {
		uint64_t clients, bytes;
	} small; /* clients without a summary, since small clients were last counted */
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct said *said_of(enum say kind, const struct sockaddr_storage *peer)
{
	struct in6_addr a;

	network_of(peer, &a);
	return &said.slot[kind][hash_of(&a) % SAY_SLOTS];
}

/* Whether one more line may be said of it; *left_out is how many were not, of those before. */
static bool may_say(enum say kind, const struct sockaddr_storage *peer, unsigned *left_out)
{
	struct said *s = said_of(kind, peer);
	uint64_t now = now_ns();
	bool may;

	pthread_mutex_lock(&said.lock);
	*left_out = 0;
	if (s->since_ns == 0 || now - s->since_ns > SAY_NS) {
		*left_out = s->left_out;
		*s = (struct said){.since_ns = now};
	}
	may = s->lines++ < SAY_LINES;
	s->left_out += !may;
	said.left_out += !may && kind == SAY_BAD;
	pthread_mutex_unlock(&said.lock);
	return may;
}

/* Counts clients that have no summary of their own. */
static void small_add(uint64_t clients, uint64_t bytes)
{
	pthread_mutex_lock(&said.lock);
	said.small.clients += clients;
	said.small.bytes += bytes;
	pthread_mutex_unlock(&said.lock);
}

/* Takes the count away, to be printed; whether there are any. */
static bool small_take(struct small *s)
{
	pthread_mutex_lock(&said.lock);
	*s = said.small;
	said.small = (struct small){0};
	pthread_mutex_unlock(&said.lock);
	return s->clients > 0;
}

static bool say(const struct place *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A line about a client, unless there were too many: it may come back a thousand times a second. */
static bool say(const struct place *p, const char *fmt, ...)
{
	char name[ADDR_STRLEN], text[128];
	unsigned left_out;
	va_list ap;

	if (!may_say(SAY_BAD, &p->peer, &left_out))
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	flockfile(stderr); /* as in note() */
	if (left_out > 0)
		warnx("%u lines about such clients were left out", left_out);
	warnx("%s: %s", addr_format((const struct sockaddr *)&p->peer, p->peer_len, name), text);
	funlockfile(stderr);
	return true;
}

static void tell_left_out(void)
{
	pthread_mutex_lock(&said.lock);
	if (said.left_out > 0)
		note("%llu lines about clients were left out in all",
		     (unsigned long long)said.left_out);
	pthread_mutex_unlock(&said.lock);
}

/*
 * Places: no more than --max-clients clients are served at a time, in either mode.  When all places
 * are taken, a client from an address that has fewer of them than another gets one of the latter's,
 * unless those are all at work.
 */

#define NETWORK_SLOTS 256

static struct {
	pthread_mutex_t lock;
	/* cppcheck-suppress unusedStructMember ; TAILQ_*() use it */
	TAILQ_HEAD(place_head, place) all; /* the one that was taken first is the first */
	LIST_HEAD(network_head, network) network[NETWORK_SLOTS];
	int n;
	_Atomic bool full;  /* all of them were taken at noted_ns */
	uint64_t noted_ns;  /* when `full` was set */
	uint64_t full_ns;   /* for how long all were taken: a clock that stops while one is free */
	uint64_t looked_ns; /* when place_look() last saw all clients */
	_Atomic uint64_t continued_ns; /* when a stop (SIGSTOP) last ended */
	_Atomic uint64_t refused;
} places = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = TAILQ_HEAD_INITIALIZER(places.all)};

/* The network of a peer, which is new if it has no place yet; NULL if there is no memory for it. */
static struct network *network_find(const struct sockaddr_storage *peer)
{
	struct in6_addr a;
	struct network *w;
	uint32_t slot;

	network_of(peer, &a);
	slot = hash_of(&a) % NETWORK_SLOTS;
	LIST_FOREACH(w, &places.network[slot], link)
	if (memcmp(&w->address, &a, sizeof(a)) == 0)
		return w;
	w = calloc(1, sizeof(*w));
	if (w != NULL) {
		w->address = a;
		LIST_INSERT_HEAD(&places.network[slot], w, link);
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

/* What a client moved in the last second.  It may be too much, since LOOKS - 1 looks ago. */
static uint64_t place_moved_lately(const struct place *p)
{
	double idle_ms;
	uint64_t moved = sock_moved(p->sock, &idle_ms);

	return idle_ms >= 1000 ? 0 : moved - p->moved[LOOKS - 1];
}

/* Takes a place away, under the places' lock; its client's own thread does the rest. */
static void place_remove(struct place *p)
{
	TAILQ_REMOVE(&places.all, p, link);
	places.n--;
	p->network->n--;
	network_free_unused(p->network);
	p->network = NULL;
}

/* The same against the client's will: whatever its thread waits for ends. */
static void place_drop(struct place *p, enum dropped why)
{
	static const char full[] = "refused=" REFUSED_FULL "\n";

	p->dropped = why;
	if (!opt.raw && !opt.reply)
		send(p->sock, full, sizeof(full) - 1, MSG_DONTWAIT);
	shutdown(p->sock, SHUT_RDWR);
	place_remove(p);
}

static void place_begin_check(struct place *p, uint64_t moved)
{
	p->checked_ns = places.full_ns;
	p->checked_moved = moved;
}

/* Notes what a client has moved up to now; drops one that moved too little for a full server. */
static void place_look(struct place *p)
{
	uint64_t limit = (uint64_t)(opt.idle_timeout * 1e9), moved;
	double idle_ms;

	moved = sock_moved(p->sock, &idle_ms);
	memmove(&p->moved[1], &p->moved[0], sizeof(p->moved) - sizeof(p->moved[0]));
	p->moved[0] = moved;
	if (limit == 0 || places.full_ns - p->checked_ns < limit)
		return;
	if (moved - p->checked_moved < LEAST_BYTES)
		place_drop(p, DROPPED_SLOW);
	else
		place_begin_check(p, moved);
}

/* The places of those that are done are free: there is no linger while all are taken. */
static void places_end_lingers(void)
{
	struct place *p, *next;

	for (p = TAILQ_FIRST(&places.all); p != NULL; p = next) {
		next = TAILQ_NEXT(p, link);
		if (!p->lingers)
			continue;
		shutdown(p->sock, SHUT_RDWR);
		place_remove(p);
	}
}

/* Keeps the clock of the full server, and looks at all its clients every LOOK_NS. */
static void places_look(void)
{
	uint64_t now = now_ns();
	struct place *p, *next;

	if (places.n >= opt.max_clients)
		places_end_lingers();
	if (places.full && places.continued_ns < places.noted_ns)
		places.full_ns += now - places.noted_ns;
	places.full = places.n >= opt.max_clients;
	places.noted_ns = now;
	if (!places.full || now - places.looked_ns < LOOK_NS)
		return;
	places.looked_ns = now;
	for (p = TAILQ_FIRST(&places.all); p != NULL; p = next) {
		next = TAILQ_NEXT(p, link);
		place_look(p);
	}
}

/* Looks at the clients if all places are taken; returns whether they are. */
static bool places_are_full(void)
{
	if (!places.full)
		return false;
	pthread_mutex_lock(&places.lock);
	places_look();
	pthread_mutex_unlock(&places.lock);
	return places.full;
}

/*
 * The client that has to make room for one of network w: of the networks with the most places,
 * the client that moved least.  NULL if w has as many, or if all those clients are at work.  What
 * they moved while this program was stopped, and read nothing, is no measure of that.
 */
static struct place *places_victim(const struct network *w)
{
	struct place *p, *victim = NULL;
	uint64_t least = WORK_BYTES, moved;
	int most = 0;

	if (places.continued_ns != 0 && now_ns() - places.continued_ns < CONTINUED_NS)
		return NULL;
	TAILQ_FOREACH(p, &places.all, link)
	if (p->network->n > most)
		most = p->network->n;
	if (w->n >= most)
		return NULL;
	TAILQ_FOREACH(p, &places.all, link)
	{
		if (p->network->n < most || (moved = place_moved_lately(p)) >= least)
			continue;
		victim = p;
		least = moved;
		if (least == 0)
			break;
	}
	return victim;
}

/* Gives a client a place, perhaps another's; false if there is none for it. */
static bool place_take(struct place *p)
{
	struct place *victim;
	struct network *w;
	bool has;

	pthread_mutex_lock(&places.lock);
	places_look();
	w = network_find(&p->peer);
	if (w != NULL && places.n >= opt.max_clients && (victim = places_victim(w)) != NULL)
		place_drop(victim, DROPPED_FOR_ROOM);
	has = w != NULL && places.n < opt.max_clients;
	if (has) {
		p->network = w;
		w->n++;
		TAILQ_INSERT_TAIL(&places.all, p, link);
		places.n++;
		place_begin_check(p, 0);
		places_look();
	} else if (w != NULL) {
		network_free_unused(w);
	}
	pthread_mutex_unlock(&places.lock);
	return has;
}

/* Has close(2) reset a connection: the client learns at once, and nothing unsent is kept. */
static void reset_on_close(int sock)
{
	const struct linger now = {.l_onoff = 1};

	setsockopt(sock, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* Before the client's socket is closed. */
static void place_leave(struct place *p)
{
	pthread_mutex_lock(&places.lock);
	if (p->network != NULL)
		place_remove(p);
	pthread_mutex_unlock(&places.lock);
}

static void reject(struct place *p, const char *word, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Tells a client why it is not served, and closes: zcc reads that where a receipt would be. */
static void reject(struct place *p, const char *word, const char *fmt, ...)
{
	char line[64], why[96];
	int len = snprintf(line, sizeof(line), "refused=%s\n", word);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	place_leave(p);
	if (!opt.raw && !opt.reply)
		send(p->sock, line, (size_t)len, MSG_DONTWAIT);
	shutdown(p->sock, SHUT_WR);
	close(p->sock);
	places.refused++;
	say(p, "turned away: %s", why);
}

static bool place_take_or_reject(struct place *p)
{
	if (place_take(p))
		return true;
	if (opt.reply)
		reject(p, REFUSED_FULL, "there are --max-clients already");
	else
		reject(p, REFUSED_FULL, "there are %d clients already (--max-clients)",
		       opt.max_clients);
	return false;
}

/*
 * What accept(2) fails with is that connection's trouble and not the server's, but for a lack of
 * descriptors or memory, which passes when clients leave.  It is said once while it lasts or comes
 * back; *lacked_ns is when it was last so, and for LACK_NS after that clients wait.
 */
static void note_lack(uint64_t *lacked_ns)
{
	uint64_t now = now_ns();

	if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
		return;
	if (*lacked_ns == 0 || now - *lacked_ns > SAY_NS)
		note("clients have to wait: accept: %s", strerror(errno));
	*lacked_ns = now;
}

/* Accepts a client that may come, into *p; false if there was none. */
static bool accept_client(int listener, struct place *p, uint64_t *lacked_ns)
{
	*p = (struct place){.peer_len = sizeof(p->peer)};
	p->sock = accept4(listener, (struct sockaddr *)&p->peer, &p->peer_len,
			  SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (p->sock < 0) {
		note_lack(lacked_ns);
		return false;
	}
	if (is_allowed(&p->peer))
		return true;
	reject(p, REFUSED_ADDRESS, "not of --allow");
	return false;
}

/* Why a client has lost its place, or was disconnected for its silence, as a message puts it. */
static void drop_verdict(const struct place *p, char *buf, size_t size)
{
	if (p->dropped == DROPPED_FOR_ROOM)
		snprintf(buf, size, "dropped: its place went to another address (--max-clients)");
	else
		snprintf(buf, size, "dropped: under 1 KiB in %g seconds of a full server",
			 opt.idle_timeout);
}

static void silence_verdict(char *buf, size_t size)
{
	snprintf(buf, size, "silent for %g seconds (--idle-timeout)", opt.idle_timeout);
}

/* Whether a client that is done may keep its place until it has closed; a newcomer ends that. */
static bool place_may_linger(struct place *p)
{
	bool may;

	pthread_mutex_lock(&places.lock);
	may = p->network != NULL && places.n < opt.max_clients;
	p->lingers = may;
	pthread_mutex_unlock(&places.lock);
	return may;
}

/* `N kbytes/sec (G Gbit/s), load L, cost C`: how every line of zcs puts a transfer. */
static void rate_format(char *buf, size_t size, uint64_t bytes, double seconds,
			const struct load *l)
{
	char part[128];

	snprintf(buf, size, "%.0f kbytes/sec (%.3f Gbit/s)%s", kbytes_per_sec(bytes, seconds),
		 gbits_per_sec(bytes, seconds),
		 load_format(l->load, l->uncertainty, calibration.cpus.n, bytes, seconds, part));
}

/* What was measured between two marks. */
static void figures_between(const struct mark *from, const struct mark *to, const char *interface,
			    struct figures *f)
{
	struct load l;

	figures_init(f);
	f->bytes = to->bytes - from->bytes;
	f->calls = to->calls - from->calls;
	f->files = to->files - from->files;
	f->seconds = seconds_between(from->ns, to->ns);
	load_if_soaked(&from->soak, &to->soak, &l);
	if (soak != NULL)
		figures_load(f, &l, calibration.cpus.n);
	if (to->counters.ns > from->counters.ns + RATES_NS)
		counters_rates(&from->counters, &to->counters, &f->rates);
	if (interface[0] == '\0')
		f->rates.packets_in = f->rates.packets_out = NAN;
	strcpy(f->method, opt.method->name);
}

/*
 * The ways to receive.
 */

/* Milliseconds since the client last sent something, or since it connected: TCP_INFO, tcp(7). */
static double silence_ms(int sock)
{
	struct tcp_info info = {.tcpi_last_data_recv = 0};
	socklen_t len = sizeof(info);

	getsockopt(sock, IPPROTO_TCP, TCP_INFO, &info, &len);
	return info.tcpi_last_data_recv;
}

/* Waits until there is something to read; false when there was nothing for --idle-timeout. */
static bool wait_readable(struct pollfd *p)
{
	double limit = opt.idle_timeout * 1000, ms = 0;

	if (opt.idle_timeout <= 0)
		return poll(p, 1, -1) != 0;
	while (poll(p, 1, (int)ceil(limit - ms)) == 0)
		if ((ms = silence_ms(p->fd)) >= limit)
			return false;
	return true;
}

/*
 * Waits for data.  Inside of a body it is woken not for each packet but for so many bytes, and
 * never for more than are left of it: after it nothing may come, or the next file's header.  It is
 * poll(2) that waits, since a call that has taken some bytes already would wait for so many more of
 * them.
 */
static bool await_data(struct client *c)
{
	struct pollfd p = {.fd = c->place.sock, .events = POLLIN};
	size_t left = opt.raw ? 0 : wire_body_left(&c->wire);
	int want = left == 0 ? 1 : left < (size_t)opt.method->lowat ? (int)left : opt.method->lowat;

	if (want != c->lowat &&
	    setsockopt(c->place.sock, SOL_SOCKET, SO_RCVLOWAT, &want, sizeof(want)) == 0)
		c->lowat = want;
	c->readable = wait_readable(&p);
	c->silent = !c->readable;
	return c->readable;
}

static ssize_t receive_copy(struct client *c)
{
	ssize_t n = opt.method->get(c->place.sock, c->buf, c->size);

	if (n > 0)
		c->excess = wire_feed(&c->wire, c->buf, (size_t)n) < (size_t)n;
	return n;
}

static ssize_t get_recv(int sock, void *buf, size_t len)
{
	return recv(sock, buf, len, 0);
}

/* Where bodies are not looked at, headers are read by themselves. */
static ssize_t receive_header(struct client *c)
{
	unsigned char header[WIRE_HEADER];
	ssize_t n;

	n = recv(c->place.sock, header, wire_header_left(&c->wire), 0);
	if (n > 0)
		wire_feed(&c->wire, header, (size_t)n);
	return n;
}

/* MSG_TRUNC: the kernel drops the data instead of copying them; tcp(7). */
static ssize_t receive_trunc(struct client *c)
{
	size_t left = wire_body_left(&c->wire);
	ssize_t n;

	if (left == 0)
		return receive_header(c);
	/* cppcheck-suppress nullPointer ; with MSG_TRUNC there need be no buffer */
	n = recv(c->place.sock, NULL, left < c->size ? left : c->size, MSG_TRUNC);
	if (n > 0)
		wire_skip(&c->wire, (size_t)n);
	return n;
}

/*
 * splice(2) does not go past an urgent byte (tcp(7)): it says that nothing is there, or at the end
 * of stream that it is the end, and poll(2) that there is something.
 */
static ssize_t receive_urgent(struct client *c)
{
	char byte;
	ssize_t n = recv(c->place.sock, &byte, 1, 0);

	if (n > 0)
		wire_skip(&c->wire, 1);
	return n;
}

static ssize_t receive_splice(struct client *c)
{
	size_t left = wire_body_left(&c->wire);
	bool readable = c->readable;
	ssize_t n, out, m;

	c->readable = false;
	if (left == 0)
		return receive_header(c);
	n = splice(c->place.sock, NULL, c->pipe[1], NULL, left < c->size ? left : c->size,
		   SPLICE_F_MOVE);
	if (n == 0 || (n < 0 && errno == EAGAIN && readable))
		return receive_urgent(c);
	for (out = 0; out < n;) {
		m = splice(c->pipe[0], NULL, c->sink, NULL, (size_t)(n - out), SPLICE_F_MOVE);
		if (m == 0 || (m < 0 && errno != EINTR))
			return -1;
		out += m > 0 ? m : 0;
	}
	if (n > 0)
		wire_skip(&c->wire, (size_t)n);
	return n;
}

static const struct method methods[] = {
	{"read", receive_copy, read, LOWAT_COPY},
	{"recv", receive_copy, get_recv, LOWAT_COPY},
	{"trunc", receive_trunc, NULL, LOWAT_DISCARD},
	{"splice", receive_splice, NULL, LOWAT_DISCARD},
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static const struct method *method_named(const char *name)
{
	return &methods[arg_name("-m, --method", name, methods, METHODS, sizeof(methods[0]))];
}

static _Atomic int buffers; /* how many clients have one of a default size */

/* Returns how many others have one. */
static int join_buffers(struct client *c)
{
	c->counted = true;
	return atomic_fetch_add(&buffers, 1);
}

/*
 * What the method needs; 0 or the error.  Called when there are data: clients that send none do not
 * have others receive into smaller buffers.
 */
static int method_open(struct client *c)
{
	size_t pipe_size;

	c->size = opt.buffer;
	if (opt.method->get != NULL) {
		if (c->size == 0)
			c->size = join_buffers(c) < BUFFERS_LARGE ? BUFFER_LARGE : BUFFER_SMALL;
		c->buf = malloc(c->size);
		return c->buf != NULL ? 0 : ENOMEM;
	}
	if (c->size == 0)
		c->size = TRUNC_SIZE;
	if (opt.method->receive != receive_splice)
		return 0;
	c->sink = open_retry("/dev/null", O_WRONLY);
	if (c->sink < 0 || pipe_large(c->pipe, &pipe_size) != 0)
		return errno;
	if (c->size > pipe_size)
		c->size = pipe_size;
	return 0;
}

static void method_close(struct client *c)
{
	free(c->buf);
	if (c->counted)
		atomic_fetch_sub(&buffers, 1);
	if (c->sink >= 0)
		close(c->sink);
	if (c->pipe[0] >= 0) {
		close(c->pipe[0]);
		close(c->pipe[1]);
	}
}

/*
 * One client.
 */

/* `counters` is false where they were read just now, or are of no use any more. */
static void mark_client(const struct client *c, struct mark *m, bool counters)
{
	m->bytes = atomic_load_explicit(&c->bytes, memory_order_relaxed);
	m->calls = atomic_load_explicit(&c->calls, memory_order_relaxed);
	m->files = atomic_load_explicit(&c->files, memory_order_relaxed);
	m->ns = now_ns();
	soak_read(&m->soak);
	if (counters)
		counters_read(&m->counters, c->interface[0] != '\0' ? c->interface : NULL);
}

static void publish(struct client *c)
{
	atomic_store_explicit(&c->bytes, c->wire.bytes, memory_order_relaxed);
	atomic_store_explicit(&c->files, c->wire.files, memory_order_relaxed);
}

/* One call's worth; returns what the call did. */
static ssize_t receive_some(struct client *c)
{
	ssize_t n;

	while ((n = opt.method->receive(c)) < 0 && (errno == EAGAIN || errno == EINTR))
		if (errno == EAGAIN && !await_data(c))
			break;
	if (n > 0) {
		publish(c);
		atomic_store_explicit(&c->calls, c->calls + 1, memory_order_relaxed);
	}
	return n;
}

/* Whether the client asked for a warm-up; the main thread ends it. */
static void warm_up(struct client *c)
{
	if (c->wire.empty_loops == 0)
		return;
	pthread_mutex_lock(&group.lock);
	c->warm_ns = c->begin.ns + (uint64_t)c->wire.empty_loops * WIRE_WARMUP_NS;
	c->warming = true;
	pthread_mutex_unlock(&group.lock);
	eventfd_write(group.wake, 1);
}

static bool more_comes(const struct client *c)
{
	return c->wire.state != WIRE_DONE && !atomic_load_explicit(&stop, memory_order_relaxed);
}

/*
 * Reads until the wire or the stream ends; returns 0 or the errno of the call that failed.  The
 * clock starts when the first byte is there and before it is read, so that a transfer of one read
 * takes time too.
 */
static int receive(struct client *c)
{
	ssize_t n;
	int e;

	mark_client(c, &c->begin, true);
	e = await_data(c) ? method_open(c) : ETIMEDOUT;
	if (e != 0) {
		c->end.ns = now_ns();
		return e;
	}
	mark_client(c, &c->begin, now_ns() > c->begin.ns + RATES_NS);
	do
		n = receive_some(c);
	while (n > 0 && more_comes(c) && !c->wire.has_file && !opt.raw);
	warm_up(c);
	while (n > 0 && more_comes(c))
		n = receive_some(c);
	e = n < 0 ? errno : 0;
	c->end.ns = now_ns();
	return e;
}

/*
 * From here on the main thread does nothing to it any more.  Had that ended the warm-up after the
 * client's last byte, there would be nothing to measure, and the end would come before the begin.
 */
static void end_client(struct client *c)
{
	pthread_mutex_lock(&group.lock);
	c->ended = true;
	c->warming |= c->warm_ns != 0 && c->begin.ns > c->end.ns;
	pthread_mutex_unlock(&group.lock);
}

static uint64_t clients_so_far(void)
{
	uint64_t n;

	pthread_mutex_lock(&group.lock);
	n = group.total;
	pthread_mutex_unlock(&group.lock);
	return n;
}

static void client_figures(struct client *c, struct figures *f)
{
	uint64_t ns = c->end.ns;

	mark_client(c, &c->end, ns > c->begin.ns + RATES_NS);
	c->end.ns = ns;
	if (c->warming)
		c->begin = c->end;
	figures_between(&c->begin, &c->end, c->interface, f);
	f->warmup = c->begin.bytes;
	f->clients = clients_so_far();
	f->cpu = c->cpu;
	tcp_figures_read(c->place.sock, &f->tcp);
}

static void send_receipt(const struct client *c, const struct figures *f)
{
	struct pollfd p = {.fd = c->place.sock, .events = POLLOUT};
	uint64_t until = now_ns() + RECEIPT_NS;
	char line[RECEIPT_MAX];
	size_t len = receipt_format(f, line), sent = 0;
	ssize_t n;

	/* A client of 2001 has closed by now: that the receipt does not arrive is no error. */
	while (sent < len && now_ns() < until) {
		n = send(c->place.sock, line + sent, len - sent, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			poll(&p, 1, POLL_MS);
		else if (n < 0 && errno != EINTR)
			break;
		sent += n > 0 ? (size_t)n : 0;
	}
	shutdown(c->place.sock, SHUT_WR);
}

/*
 * Waits for the client to close: were the socket closed with something unread, the kernel would
 * reset the connection and the client lose its receipt.
 */
static void linger(struct client *c)
{
	double limit = opt.idle_timeout > 0 ? fmin(LINGER, opt.idle_timeout) : LINGER;
	struct pollfd p = {.fd = c->place.sock, .events = POLLIN};
	char byte;

	poll(&p, 1, place_may_linger(&c->place) ? (int)ceil(limit * 1000) : 0);
	c->excess |= recv(c->place.sock, &byte, 1, 0) > 0;
	if (c->excess)
		say(&c->place, "sent more than it announced");
}

/* Counts the clients that had no summary. */
static void report_small(void)
{
	struct small s;

	if (small_take(&s))
		print("%llu more clients with less than 1 KiB each: %llu bytes in all\n",
		      (unsigned long long)s.clients, (unsigned long long)s.bytes);
}

/* Whether a client has a summary of its own: one that moved next to nothing may come back soon. */
static bool has_summary(const struct client *c)
{
	unsigned ignored;

	return c->wire.bytes >= LEAST_BYTES || may_say(SAY_SMALL, &c->place.peer, &ignored);
}

static void report_client(const struct client *c, const struct figures *f)
{
	const struct load l = {.load = f->load, .uncertainty = f->uncertainty};
	char rate[192], what[32] = "", warmup[64] = "";

	rate_format(rate, sizeof(rate), f->bytes, f->seconds, &l);
	if (opt.method->get != read)
		snprintf(what, sizeof(what), " by %s", f->method);
	if (c->warm_ns != 0)
		snprintf(warmup, sizeof(warmup), ", after %llu bytes of warm-up",
			 (unsigned long long)f->warmup);
	report_small();
	print("%s: %s, %llu bytes in %.*f s, %llu files, %llu reads%s%s\n", c->name, rate,
	      (unsigned long long)f->bytes, decimals(f->seconds), f->seconds,
	      (unsigned long long)f->files, (unsigned long long)f->calls, what, warmup);
}

#define VERDICT_MAX 112

/* Why a client that has ended did not keep to the wire, in buf; NULL if it did. */
static const char *verdict(const struct client *c, int error, char buf[VERDICT_MAX])
{
	unsigned long long bytes = c->wire.bytes;
	const char *where = "in its warm-up";
	bool whole = wire_ended(&c->wire, &where), done = c->wire.state == WIRE_DONE;
	char why[VERDICT_MAX - 32];

	if (stop && !done) {
		snprintf(buf, VERDICT_MAX, "interrupted after %llu bytes", bytes);
		return buf;
	}
	if (c->place.dropped != NOT_DROPPED && !done)
		drop_verdict(&c->place, why, sizeof(why));
	else if (c->silent)
		silence_verdict(why, sizeof(why));
	else if (error != 0)
		snprintf(why, sizeof(why), "%s", strerror(error));
	else if (c->calls == 0)
		return "closed without sending anything";
	else if (whole && !c->warming)
		return NULL;
	else
		snprintf(why, sizeof(why), "closed %s", where);
	snprintf(buf, VERDICT_MAX, "%s, after %llu bytes", why, bytes);
	return buf;
}

/*
 * The group.
 */

/* The beginning of the JSON report, which is one object for each group. */
static void json_begin(const struct client *c)
{
	struct json *j = &group.report.json;

	group.streams = group.report = (struct text){0};
	group.flowed = group.lost = false;
	text_open(&group.streams);
	text_open(&group.report);
	json_report_open_to(j, j->f);
	json_open(j, "start", '{');
	json_program(j);
	json_open(j, "accepted_connection", '{');
	json_address(j, "host", "port", (const struct sockaddr *)&c->place.peer, c->place.peer_len);
	json_close(j, '}');
	json_open(j, "test_start", '{');
	json_string(j, "protocol", opt.raw ? "raw TCP" : "TCP");
	json_string(j, "method", opt.method->name);
	json_close(j, '}');
	json_close(j, '}');
	json_open(j, "intervals", '[');
}

/* Prints what there is of the report; the rest follows, so that memory does not grow. */
static void json_flow(void)
{
	struct text *t = &group.report;

	text_close(t);
	group.lost |= !group.lost && !output_write(t->text, t->size);
	group.flowed = true;
	text_free(t);
}

static void group_join(struct client *c)
{
	pthread_mutex_lock(&group.lock);
	if (group.n++ == 0) {
		group.total = 0;
		group.streams_told = group.streams_left_out = 0;
		group.overlapped = group.told = false;
		strcpy(group.interface, c->interface);
		figures_init(&group.sum);
		memset(&group.begin, 0, sizeof(group.begin));
		memset(&group.end, 0, sizeof(group.end));
		group.start_ns = now_ns();
		if (opt.json)
			json_begin(c);
	} else {
		group.overlapped = true;
		/* Packets of different ones do not compare. */
		if (strcmp(group.interface, c->interface) != 0)
			group.interface[0] = '\0';
	}
	group.total++;
	c->next = group.clients;
	c->link = &group.clients;
	if (c->next != NULL)
		c->next->link = &c->next;
	group.clients = c;
	pthread_mutex_unlock(&group.lock);
}

/* Adds a client that leaves: the group's time is from the first of its begins to the last end. */
static void group_add(const struct client *c, const struct figures *f)
{
	if (c->calls == 0)
		return;
	if (group.begin.ns == 0 || c->begin.ns < group.begin.ns)
		group.begin = c->begin;
	if (c->end.ns > group.end.ns)
		group.end = c->end;
	group.sum.bytes += f->bytes;
	group.sum.calls += f->calls;
	group.sum.files += f->files;
	group.sum.warmup += f->warmup;
}

/* What the group as a whole did, once all have left. */
static void group_figures(struct figures *f)
{
	figures_between(&group.begin, &group.end, group.interface, f);
	f->bytes = group.sum.bytes;
	f->calls = group.sum.calls;
	f->files = group.sum.files;
	f->warmup = group.sum.warmup;
	f->clients = group.total;
}

static void report_group(const struct figures *f)
{
	const struct load l = {.load = f->load, .uncertainty = f->uncertainty};
	char rate[192];

	rate_format(rate, sizeof(rate), f->bytes, f->seconds, &l);
	print("total of %llu clients: %s, %llu bytes in %.*f s\n", (unsigned long long)group.total,
	      rate, (unsigned long long)f->bytes, decimals(f->seconds), f->seconds);
}

/* small_clients: what was counted of clients without a report.  False if there were none. */
static bool json_small(struct json *j)
{
	struct small s;

	if (!small_take(&s))
		return false;
	json_open(j, "small_clients", '{');
	json_count(j, "clients", s.clients);
	json_count(j, "bytes", s.bytes);
	json_close(j, '}');
	return true;
}

/* The end of the JSON report. */
static void json_end(const struct figures *f)
{
	struct text *t = &group.report;
	struct json *j = &t->json;

	json_close(j, ']');
	json_open(j, "end", '{');
	json_open(j, "streams", '[');
	text_close(&group.streams);
	fputs(group.streams.text, j->f);
	json_close(j, ']');
	json_stream(j, "sum_received", f, 0, false);
	json_utilization(j, f, NULL);
	json_host(j, "host", f);
	json_count(j, "clients", f->clients);
	if (group.streams_left_out > 0)
		json_count(j, "streams_left_out", group.streams_left_out);
	json_small(j);
	json_close(j, '}');
	if (stop)
		json_string(j, "error", "interrupted");
	json_close(j, '}');
	putc('\n', j->f);
	json_flow();
}

/* Ends the report of a group; one of small clients without a summary is only counted. */
static void json_group(const struct figures *f)
{
	if (group.report.json.f == NULL)
		return;
	if (group.told || group.flowed || f->bytes >= LEAST_BYTES)
		json_end(f);
	else
		small_add(group.total, f->bytes + f->warmup);
	text_free(&group.report);
	text_free(&group.streams);
}

static void json_client(const struct client *c, const struct figures *f, bool told)
{
	struct json *j = &group.streams.json;

	if (j->f == NULL)
		return;
	if (!told || group.streams_told >= STREAMS_TOLD) {
		group.streams_left_out++;
		return;
	}
	group.streams_told++;
	json_open(j, NULL, '{');
	json_addresses(j, c->place.sock, (const struct sockaddr *)&c->place.peer,
		       c->place.peer_len);
	json_stream(j, "receiver", f, c->number + 1, false);
	json_close(j, '}');
}

/* What it has open is closed before it counts as gone: who waits for that may count on it. */
static void group_leave(struct client *c, const struct figures *f, bool ok, bool told)
{
	struct figures sum;

	pthread_mutex_lock(&group.lock);
	group.gone_bytes += c->bytes;
	group_add(c, f);
	if (opt.json)
		json_client(c, f, told);
	group.told |= told;
	*c->link = c->next;
	if (c->next != NULL)
		c->next->link = c->link;
	group.failed |= !ok;
	pthread_mutex_unlock(&group.lock);
	method_close(c);
	place_leave(&c->place);
	if (c->place.dropped != NOT_DROPPED)
		reset_on_close(c->place.sock);
	close(c->place.sock);
	pthread_mutex_lock(&group.lock);
	c->next = group.left;
	group.left = c;
	if (--group.n == 0) {
		group_figures(&sum);
		if (opt.json)
			json_group(&sum);
		else if (group.overlapped && group.told && sum.bytes > 0)
			report_group(&sum);
	}
	eventfd_write(group.wake, 1);
	pthread_mutex_unlock(&group.lock);
}

/* Those that have left, with their threads. */
static void bury_clients(void)
{
	struct client *c, *next;

	pthread_mutex_lock(&group.lock);
	c = group.left;
	group.left = NULL;
	pthread_mutex_unlock(&group.lock);
	for (; c != NULL; c = next) {
		next = c->next;
		if (c->has_thread)
			pthread_join(c->thread, NULL);
		free(c);
	}
}

/* With -B: a CPU may have gone since the start, which is no reason to serve nobody any more. */
static void client_bind(struct client *c)
{
	int cpu = cpu_of(&opt.bind, c->number);

	c->cpu = NAN;
	if (cpu < 0)
		return;
	if (cpu_bind(cpu) == 0)
		c->cpu = cpu;
	else
		say(&c->place, "served on any CPU: cannot bind to CPU %d: %s", cpu,
		    strerror(errno));
}

static void *client_thread(void *arg)
{
	struct client *c = arg;
	char text[VERDICT_MAX];
	struct figures f;
	const char *why;
	bool ok, told;
	int e;

	client_bind(c);
	wire_init(&c->wire, opt.raw);
	e = receive(c);
	end_client(c);
	why = verdict(c, e, text);
	ok = why == NULL;
	told = ok || (say(&c->place, "%s", why) && c->wire.bytes > 0);
	if (ok || opt.json)
		told = has_summary(c);
	if (ok && !told && !opt.json)
		small_add(1, c->wire.bytes);
	client_figures(c, &f);
	if (ok && !opt.raw)
		send_receipt(c, &f);
	if (!opt.json && told)
		report_client(c, &f);
	if (ok && !opt.raw)
		linger(c);
	group_leave(c, &f, ok, told);
	return NULL;
}

/*
 * The server.
 */

/* Raised to what is allowed: each client is a descriptor. */
static void raise_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* Returns -1 with what is wrong in *why. */
static int listen_on(int family, const char **why)
{
	struct addrinfo hints = {.ai_family = family,
				 .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	int fd, on = 1, unsent = REPLY_UNSENT,
		both = opt.family == AF_UNSPEC && opt.address == NULL, only = !both, e;
	struct addrinfo *ai;

	e = getaddrinfo(opt.address, opt.port, &hints, &ai);
	if (e != 0) {
		errno = e == EAI_SYSTEM ? errno : 0; /* which getaddrinfo(3) leaves undefined */
		*why = e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e);
		return -1;
	}
	fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, ai->ai_protocol);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		/* Urgent data are data, too. */
		setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
		if (ai->ai_family == AF_INET6)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
		if (opt.reply)
			setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
		sock_set_options_or_die(fd, &opt.sock);
	}
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

/* One socket for IPv6 and IPv4; IPv4 alone on a host without IPv6. */
static int listen_or_die(void)
{
	bool any = opt.family == AF_UNSPEC && opt.address == NULL;
	const char *why;
	int fd = listen_on(any ? AF_INET6 : opt.family, &why);

	if (fd < 0 && any && errno != EADDRINUSE)
		fd = listen_on(AF_INET, &why);
	if (fd < 0)
		die("cannot listen on %s%sport %s: %s", opt.address != NULL ? opt.address : "",
		    opt.address != NULL ? " " : "", opt.port, why);
	return fd;
}

/* Says which port it is, which with `-p 0` only the kernel knows. */
static void announce(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char name[ADDR_STRLEN];

	if (!opt.quiet && getsockname(fd, (struct sockaddr *)&ss, &len) == 0)
		warnx("listening on %s", addr_format((struct sockaddr *)&ss, len, name));
}

/* A client that was accepted, or NULL; it has no place yet. */
static struct client *client_new(const struct place *p, int number)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->place = *p;
	c->number = number;
	c->pipe[0] = c->sink = -1;
	return c;
}

/* Gives a client that has a place its thread; false if there is none for it. */
static bool serve(struct client *c)
{
	const struct sockaddr *peer = (const struct sockaddr *)&c->place.peer;
	struct figures none;
	int e;

	addr_format(peer, c->place.peer_len, c->name);
	if (addr_interface(peer, c->interface) != 0)
		c->interface[0] = '\0';
	sock_keep_alive(c->place.sock);
	if (opt.debug > 0)
		note("%s: connected", c->name);
	group_join(c);
	e = thread_start(&c->thread, client_thread, c);
	c->has_thread = e == 0;
	if (e != 0) {
		reject(&c->place, REFUSED_FULL, "no thread for it: %s", strerror(e));
		c->place.sock = -1;
		figures_init(&none);
		group_leave(c, &none, false, false);
	}
	return e == 0;
}

/* Bytes since the start, under the group's lock; *warming says whether they are a warm-up's. */
static uint64_t count_bytes(bool *warming)
{
	uint64_t sum = group.gone_bytes;
	const struct client *c;

	*warming = false;
	for (c = group.clients; c != NULL; c = c->next) {
		sum += atomic_load_explicit(&c->bytes, memory_order_relaxed);
		*warming |= c->warming;
	}
	return sum;
}

static int clients_now(void)
{
	int n;

	pthread_mutex_lock(&group.lock);
	n = group.n;
	pthread_mutex_unlock(&group.lock);
	return n;
}

/* Ends the warm-ups that are over; returns when the next one will be, UINT64_MAX for never. */
static uint64_t end_warm_ups(void)
{
	uint64_t next = UINT64_MAX, now = now_ns();
	struct client *c;

	pthread_mutex_lock(&group.lock);
	for (c = group.clients; c != NULL; c = c->next) {
		if (!c->warming || c->ended)
			continue;
		if (c->warm_ns <= now) {
			mark_client(c, &c->begin, true);
			c->warming = false;
		} else if (c->warm_ns < next) {
			next = c->warm_ns;
		}
	}
	pthread_mutex_unlock(&group.lock);
	return next;
}

/* An interval line's beginning. */
struct interval {
	uint64_t ns, bytes;
	struct load_sample soak;
	bool warming; /* at this time */
};

static void interval_begin(struct interval *v)
{
	v->ns = now_ns();
	v->bytes = count_bytes(&v->warming);
	soak_read(&v->soak);
}

static void json_interval(const struct interval *from, const struct interval *to,
			  const struct load *l)
{
	/* The first interval begins just before its group, when nothing could come. */
	uint64_t begin = from->ns > group.start_ns ? from->ns : group.start_ns;
	struct json *j = &group.report.json;

	if (j->f == NULL)
		return;
	json_open(j, NULL, '{');
	json_open(j, "sum", '{');
	json_throughput(j, seconds_between(group.start_ns, begin), seconds_between(begin, to->ns),
			to->bytes - from->bytes);
	json_number(j, "load_percent", 100 * l->load);
	json_count(j, "clients", (uint64_t)group.n);
	json_bool(j, "omitted", from->warming || to->warming);
	json_bool(j, "sender", false);
	json_close(j, '}');
	json_close(j, '}');
	if (to->bytes - from->bytes >= LEAST_BYTES || ftello(j->f) >= FLOW_BYTES) {
		json_flow();
		text_open(&group.report);
	}
}

static void print_interval(const struct interval *from, const struct interval *to,
			   const struct load *l)
{
	char rate[192], clients[32] = "";

	rate_format(rate, sizeof(rate), to->bytes - from->bytes, seconds_between(from->ns, to->ns),
		    l);
	if (group.n > 1)
		snprintf(clients, sizeof(clients), ", %d clients", group.n);
	print("%s%s%s\n", rate, clients, from->warming || to->warming ? ", warm-up" : "");
}

static uint64_t interval_ns(void)
{
	return (uint64_t)(opt.interval * 1e9);
}

/* Once the interval is over: prints its line if data flowed in it, and begins the next. */
static void report_interval(struct interval *v)
{
	struct interval last = *v;
	struct load l;

	if (opt.interval <= 0 || now_ns() - last.ns < interval_ns())
		return;
	pthread_mutex_lock(&group.lock);
	interval_begin(v);
	load_if_soaked(&last.soak, &v->soak, &l);
	if (group.n > 0 && v->bytes > last.bytes) {
		if (opt.json)
			json_interval(&last, v, &l);
		else if (!opt.quiet)
			print_interval(&last, v, &l);
	}
	pthread_mutex_unlock(&group.lock);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Waits for a client on fd, for one to leave or for a signal; while there are clients until the
 * interval or a warm-up is over, or it is time to look at them.  After a lack there is no waiting
 * for clients until LACK_NS are over.  Returns whether a client waits to be accepted.
 */
static bool wait_for(int fd, const struct interval *v, uint64_t lacked_ns,
		     const sigset_t *unblocked)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = group.wake, .events = POLLIN}};
	uint64_t now = now_ns(), end = end_warm_ups();
	struct timespec t;
	eventfd_t ignored;

	if (opt.interval > 0 && clients_now() > 0)
		end = earlier(end, v->ns + interval_ns());
	if (places_are_full())
		end = earlier(end, now + LOOK_NS);
	if (lacked_ns != 0 && now - lacked_ns < LACK_NS) {
		end = earlier(end, lacked_ns + LACK_NS);
		p[0].fd = -1;
	}
	now = end > now ? end - now : 0;
	t = (struct timespec){(time_t)(now / 1000000000), (long)(now % 1000000000)};
	if (ppoll(p, 2, end != UINT64_MAX ? &t : NULL, unblocked) <= 0)
		return false;
	if (p[1].revents != 0)
		eventfd_read(group.wake, &ignored);
	return p[0].revents != 0;
}

/* Takes in one client; false if there was none after all, or it was turned away. */
static bool accept_one(int fd, int number, uint64_t *lacked_ns)
{
	struct client *c;
	struct place p;

	if (!accept_client(fd, &p, lacked_ns))
		return false;
	c = client_new(&p, number);
	if (c == NULL) {
		reject(&p, REFUSED_FULL, "no memory for it");
		return false;
	}
	if (!place_take_or_reject(&c->place)) {
		free(c);
		return false;
	}
	return serve(c);
}

/* With -1: whether its clients have come and gone.  One that waits to be accepted is one too. */
static bool is_over(int fd, bool served)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return opt.once && served && clients_now() == 0 && poll(&p, 1, 0) <= 0;
}

/* Accepts clients and prints interval lines, until a signal or, with -1, the first group's end. */
static void serve_all(int fd, const sigset_t *unblocked)
{
	struct interval interval = {.ns = now_ns()};
	uint64_t lacked_ns = 0;
	bool served = false;
	int number = 0;

	while (!stop && !is_over(fd, served)) {
		if (wait_for(fd, &interval, lacked_ns, unblocked)) {
			if (clients_now() == 0) { /* the first of a group starts the interval */
				pthread_mutex_lock(&group.lock);
				interval_begin(&interval);
				pthread_mutex_unlock(&group.lock);
			}
			if (accept_one(fd, number, &lacked_ns)) {
				served = true;
				number = (number + 1) % INT_MAX; /* a report has number + 1 */
			}
		}
		report_interval(&interval);
		bury_clients();
	}
	close(fd);
}

/* On an interrupt: the clients' streams end here, and their summaries are awaited for a while. */
static void dismiss_clients(void)
{
	struct pollfd p = {.fd = group.wake, .events = POLLIN};
	uint64_t until = now_ns() + LEAVE_NS;
	struct figures sum;
	eventfd_t ignored;
	struct client *c;

	pthread_mutex_lock(&group.lock);
	for (c = group.clients; c != NULL; c = c->next)
		shutdown(c->place.sock, SHUT_RD);
	pthread_mutex_unlock(&group.lock);
	while (clients_now() > 0 && now_ns() < until) {
		eventfd_read(group.wake, &ignored);
		poll(&p, 1, (int)(LEAVE_NS / 1000000 / 10));
	}
	bury_clients();
	pthread_mutex_lock(&group.lock); /* for good: what comes after the report is not in it */
	if (group.n > 0 && opt.json) {
		group_figures(&sum);
		json_group(&sum);
	}
}

/* Counts at the end what was not counted yet. */
static void report_last_small(void)
{
	struct text t = {.text = NULL};
	bool any;

	if (!opt.json) {
		report_small();
		return;
	}
	text_open(&t);
	json_report_open_to(&t.json, t.json.f);
	any = json_small(&t.json);
	json_close(&t.json, '}');
	putc('\n', t.json.f);
	text_close(&t);
	if (any)
		output_write(t.text, t.size);
	text_free(&t);
}

/*
 * Replies: clients that ask for so many bytes each, as in 1999.  A thread for each CPU waits for
 * its own connections and takes new ones from the socket that all of them share.
 */

#define REPLY_EVENTS 64
#define SWEEP_MS     1000 /* between two looks for silent clients */

struct replier;

/* A client of whom is awaited what it asks for, or that it takes what it asked for. */
struct asker {
	struct asker *next, **link;
	struct place place;
	unsigned have;    /* bytes of the header */
	uint32_t left;    /* the header, then bytes to send */
	bool waits_out;   /* for room to send */
	uint64_t moved;   /* bytes that it sent or acknowledged, at the last sweep */
	uint64_t seen_ns; /* when they were last found to be more */
};

struct replier {
	pthread_t thread;
	int number, epoll, listener;
	struct asker *askers;
	uint64_t lacked_ns; /* as note_lack() has it */
	bool paused;        /* for a lack: it does not wait for new clients */
	_Atomic uint64_t served, bytes;
};

static struct {
	struct replier *replier;
	int n, wake; /* eventfd(2), readable when they are to end */
	_Atomic uint64_t silent, too_large, broken;
} replies;

static void asker_leave(struct asker *a)
{
	*a->link = a->next;
	if (a->next != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): *link is what pointed to it */
		a->next->link = a->link;
	place_leave(&a->place);
	close(a->place.sock);
	free(a);
}

/* The same for one that was served: what it asked for is on its way. */
static void asker_done(struct replier *r, struct asker *a)
{
	atomic_store_explicit(&r->served, r->served + 1, memory_order_relaxed);
	asker_leave(a);
}

/* The same for one that is dropped: what it has not taken is not kept in the kernel, either. */
static void asker_reset(struct asker *a)
{
	reset_on_close(a->place.sock);
	asker_leave(a);
}

static void asker_fail(struct asker *a, int e)
{
	const int dropped = a->place.dropped;
	char why[VERDICT_MAX];

	if (e == EAGAIN || e == EINTR)
		return;
	if (dropped == NOT_DROPPED) {
		replies.broken++;
		say(&a->place, "%s", e != 0 ? strerror(e) : "closed before it had asked");
		asker_leave(a);
		return;
	}
	if (dropped == DROPPED_FOR_ROOM)
		places.refused++;
	else
		replies.silent++;
	drop_verdict(&a->place, why, sizeof(why));
	say(&a->place, "%s", why);
	asker_reset(a);
}

static void watch_for_room(struct replier *r, struct asker *a)
{
	struct epoll_event ev = {.events = EPOLLOUT, .data.ptr = a};

	if (!a->waits_out)
		epoll_ctl(r->epoll, EPOLL_CTL_MOD, a->place.sock, &ev);
	a->waits_out = true;
}

static void reply(struct replier *r, struct asker *a)
{
	static const char data[REPLY_SIZE];
	ssize_t n;

	while (a->left > 0) {
		n = send(a->place.sock, data, a->left < REPLY_SIZE ? a->left : REPLY_SIZE, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			watch_for_room(r, a);
			return;
		}
		if (n < 0) {
			asker_fail(a, errno);
			return;
		}
		a->left -= (uint32_t)n;
		atomic_store_explicit(&r->bytes, r->bytes + (uint64_t)n, memory_order_relaxed);
	}
	asker_done(r, a);
}

/* Takes what there is of the header, and once it is whole begins to reply. */
static void hear(struct replier *r, struct asker *a)
{
	unsigned char header[WIRE_HEADER];
	ssize_t n = recv(a->place.sock, header, WIRE_HEADER - a->have, 0), i;

	if (n <= 0) {
		asker_fail(a, n < 0 ? errno : 0);
		return;
	}
	for (i = 0; i < n; i++)
		a->left = a->left << 8 | header[i];
	a->have += (unsigned)n;
	if (a->have < WIRE_HEADER)
		return;
	if (a->left > opt.max_reply) {
		replies.too_large++;
		say(&a->place, "asked for %u bytes, more than --max-reply", a->left);
		asker_leave(a);
	} else {
		reply(r, a);
	}
}

static void asker_join(struct replier *r, struct asker *a)
{
	a->next = r->askers;
	a->link = &r->askers;
	if (a->next != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as in asker_leave */
		a->next->link = &a->next;
	r->askers = a;
}

/* Takes in one client; what it asks for has often come with it. */
static void admit(struct replier *r)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct asker *a;
	struct place p;

	if (!accept_client(r->listener, &p, &r->lacked_ns))
		return;
	a = calloc(1, sizeof(*a));
	if (a == NULL) {
		reject(&p, REFUSED_FULL, "no memory for it");
		return;
	}
	a->place = p;
	a->seen_ns = now_ns();
	ev.data.ptr = a;
	if (!place_take_or_reject(&a->place)) {
		free(a);
	} else if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, p.sock, &ev) != 0) {
		reject(&a->place, REFUSED_FULL, "no memory for it");
		free(a);
	} else {
		if (opt.idle_timeout <= 0) /* else it is silence that ends one that has vanished */
			sock_keep_alive(p.sock);
		asker_join(r, a);
		hear(r, a);
	}
}

/* Looks at what a client sent or acknowledged since the last look; whether it was silent since. */
static bool is_silent(struct asker *a, uint64_t now)
{
	uint64_t limit = (uint64_t)(opt.idle_timeout * 1e9), moved;
	double idle_ms;

	moved = sock_moved(a->place.sock, &idle_ms);
	if (moved != a->moved)
		a->seen_ns = now;
	a->moved = moved;
	return now >= a->seen_ns + limit;
}

/*
 * Drops the clients that had been silent for too long at the time `now`, all events since which are
 * handled: after a stop (SIGSTOP) a client's request waits in its socket, and the clock went on.
 */
static void sweep(struct replier *r, uint64_t now)
{
	struct asker *a, *next;
	char why[VERDICT_MAX];

	if (opt.idle_timeout <= 0)
		return;
	silence_verdict(why, sizeof(why));
	for (a = r->askers; a != NULL; a = next) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as in asker_leave */
		next = a->next;
		if (!is_silent(a, now))
			continue;
		replies.silent++;
		say(&a->place, "%s", why);
		asker_reset(a);
	}
}

/* Whether new clients are waited for.  EPOLLEXCLUSIVE cannot be changed, only left and joined. */
static int replier_listen(struct replier *r, bool on)
{
	struct epoll_event new = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = r};

	return epoll_ctl(r->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, r->listener, &new);
}

/*
 * After a lack of descriptors or memory new clients wait for LACK_NS, and nobody else does.
 * Returns how long to wait for events, in ms.
 */
static int replier_pause(struct replier *r)
{
	bool lacks = r->lacked_ns != 0 && now_ns() - r->lacked_ns < LACK_NS;

	if (lacks != r->paused && replier_listen(r, !lacks) == 0)
		r->paused = lacks;
	if (r->paused)
		return LACK_NS / 1000000;
	return places_are_full() ? LOOK_NS / 1000000 : SWEEP_MS;
}

static void replier_event(struct replier *r, struct asker *a)
{
	if (a->have < WIRE_HEADER)
		hear(r, a);
	else
		reply(r, a);
}

static void *replier_thread(void *arg)
{
	struct replier *r = arg;
	struct epoll_event ev[REPLY_EVENTS];
	uint64_t swept = now_ns(), now;
	bool sweeps;
	int n, i;

	cpu_bind_or_die(&opt.bind, r->number);
	while (!stop) {
		now = now_ns();
		sweeps = now - swept > SWEEP_MS * 1000000ull;
		n = epoll_wait(r->epoll, ev, REPLY_EVENTS, sweeps ? 0 : replier_pause(r));
		for (i = 0; i < n; i++) {
			if (ev[i].data.ptr == r)
				admit(r);
			else if (ev[i].data.ptr != NULL)
				replier_event(r, ev[i].data.ptr);
		}
		if (sweeps) {
			sweep(r, now);
			swept = now;
		}
	}
	while (r->askers != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as in asker_leave */
		asker_leave(r->askers);
	close(r->epoll);
	return NULL;
}

/* NULL stands for the end, the replier itself for a client that wants to be let in. */
static void replier_open(struct replier *r, int number, int listener)
{
	struct epoll_event end = {.events = EPOLLIN, .data.ptr = NULL};

	r->number = number;
	r->listener = listener;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0 || replier_listen(r, true) != 0 ||
	    epoll_ctl(r->epoll, EPOLL_CTL_ADD, replies.wake, &end) != 0)
		die_errno("epoll");
}

static void repliers_start(int listener)
{
	struct cpus online;
	int i, e;

	cpus_online(&online);
	replies.n = opt.bind.n > 0 ? opt.bind.n : online.n;
	replies.replier = calloc((size_t)replies.n, sizeof(*replies.replier));
	replies.wake = eventfd(0, EFD_CLOEXEC);
	if (replies.replier == NULL || replies.wake < 0)
		die_errno("repliers");
	for (i = 0; i < replies.n; i++) {
		replier_open(&replies.replier[i], i, listener);
		e = thread_start(&replies.replier[i].thread, replier_thread, &replies.replier[i]);
		if (e != 0)
			die("thread %d of %d: %s", i + 1, replies.n, strerror(e));
	}
}

/* All that was served up to now. */
struct served {
	uint64_t ns, replies, bytes;
	struct load_sample soak;
};

static void served_now(struct served *s)
{
	int i;

	s->replies = s->bytes = 0;
	for (i = 0; i < replies.n; i++) {
		s->replies += replies.replier[i].served;
		s->bytes += replies.replier[i].bytes;
	}
	s->ns = now_ns();
	soak_read(&s->soak);
}

static void json_served(const struct served *from, const struct served *to, const struct load *l,
			bool total)
{
	struct text t = {.text = NULL};
	struct json *j = &t.json;
	double seconds = seconds_between(from->ns, to->ns);

	text_open(&t);
	json_report_open_to(j, j->f);
	json_throughput(j, 0, seconds, to->bytes - from->bytes);
	json_count(j, "replies", to->replies - from->replies);
	json_number(j, "replies_per_second",
		    seconds > 0 ? (double)(to->replies - from->replies) / seconds : 0);
	json_number(j, "load_percent", 100 * l->load);
	if (total) {
		json_count(j, "refused", places.refused);
		json_count(j, "silent", replies.silent);
		json_count(j, "too_large", replies.too_large);
		json_count(j, "broken", replies.broken);
	}
	json_close(j, '}');
	putc('\n', j->f);
	text_close(&t);
	output_write(t.text, t.size);
	text_free(&t);
}

/*
 * A line of an interval starts as all do; the last has counts, since a rate over idle hours says
 * nothing.
 */
static void report_served(const struct served *from, const struct served *to, bool total)
{
	double seconds = seconds_between(from->ns, to->ns);
	uint64_t n = to->replies - from->replies, bytes = to->bytes - from->bytes;
	char rate[192];
	struct load l;

	load_if_soaked(&from->soak, &to->soak, &l);
	if (opt.json) {
		json_served(from, to, &l, total);
	} else if (!total) {
		rate_format(rate, sizeof(rate), bytes, seconds, &l);
		print("%s, %.0f replies/s\n", rate, (double)n / seconds);
	} else {
		print("total: %llu replies, %llu bytes; %llu refused, %llu silent, "
		      "%llu too large, %llu broken\n",
		      (unsigned long long)n, (unsigned long long)bytes,
		      (unsigned long long)places.refused, (unsigned long long)replies.silent,
		      (unsigned long long)replies.too_large, (unsigned long long)replies.broken);
	}
}

/* Prints a line each interval in which there was something, until a signal. */
static void serve_replies(int listener, const sigset_t *unblocked)
{
	struct timespec t = {(time_t)opt.interval, (long)(fmod(opt.interval, 1) * 1e9)};
	struct served start, last, now;
	int i;

	repliers_start(listener);
	served_now(&start);
	last = start;
	while (!stop) {
		ppoll(NULL, 0, opt.interval > 0 ? &t : NULL, unblocked);
		served_now(&now);
		if (!stop && !opt.quiet && now.replies > last.replies)
			report_served(&last, &now, false);
		last = now;
	}
	eventfd_write(replies.wake, 1);
	for (i = 0; i < replies.n; i++)
		pthread_join(replies.replier[i].thread, NULL);
	close(listener);
	close(replies.wake);
	served_now(&now);
	report_served(&start, &now, true);
	free(replies.replier);
}

/*
 * The program.
 */

static void on_signal(int sig)
{
	stop = sig;
}

static void on_continue(int sig)
{
	(void)sig;
	places.continued_ns = now_ns();
}

static const struct passwd *user_named_or_die(const char *name)
{
	const struct passwd *pw;

	errno = 0;
	pw = getpwnam(name);
	if (pw != NULL)
		return pw;
	die("--user '%s': %s", name, errno != 0 ? strerror(errno) : "no such user");
}

/* Whether a group of the process is one of the user's. */
static bool is_group_of(const struct passwd *pw, gid_t gid)
{
	gid_t *groups;
	bool is = false;
	int n = 0, i;

	getgrouplist(pw->pw_name, pw->pw_gid, NULL, &n);
	groups = calloc((size_t)n + 1, sizeof(*groups));
	if (groups != NULL && getgrouplist(pw->pw_name, pw->pw_gid, groups, &n) >= 0)
		for (i = 0; i < n; i++)
			is |= groups[i] == gid;
	free(groups);
	return is;
}

/* Whether the process is that user in all of its ids, and in no other's group. */
static bool is_user(const struct passwd *pw)
{
	gid_t gid[3], groups[NGROUPS_MAX];
	uid_t uid[3];
	int n, i;

	if (getresuid(&uid[0], &uid[1], &uid[2]) != 0 || getresgid(&gid[0], &gid[1], &gid[2]) != 0)
		return false;
	for (i = 0; i < 3; i++)
		if (uid[i] != pw->pw_uid || gid[i] != pw->pw_gid)
			return false;
	n = getgroups(NGROUPS_MAX, groups);
	for (i = 0; i < n; i++)
		if (!is_group_of(pw, groups[i]))
			return false;
	return n >= 0;
}

/* Empties the capability sets of this thread, and so of those that it starts: capset(2). */
static void drop_capabilities_or_die(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capset, &header, none) != 0)
		die_errno("--user '%s': capabilities", opt.user);
}

static void become_or_die(const struct passwd *pw)
{
	if (initgroups(pw->pw_name, pw->pw_gid) == 0 &&
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) == 0 &&
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) == 0)
		return;
	if (errno != EPERM)
		die_errno("--user '%s'", opt.user);
	die("--user '%s': only root can become another user%s", opt.user,
	    pw->pw_uid == geteuid() ? ", or leave other groups" : "");
}

/* Becomes --user, with that user's groups, without a capability and with no way back. */
static void drop_privileges_or_die(void)
{
	const struct passwd *pw;

	if (opt.user == NULL)
		return;
	pw = user_named_or_die(opt.user);
	if (pw->pw_uid == 0 || !is_user(pw))
		become_or_die(pw);
	if (pw->pw_uid == 0)
		return;
	if (setuid(0) == 0 || setgid(0) == 0)
		die("--user '%s': privileges came back", opt.user);
	drop_capabilities_or_die();
}

/* With -c: what made the loads unsafe, over the whole run. */
static void warn_of_loads(const struct counters *start, const struct load_sample *from)
{
	struct load_sample to;
	struct counters end;
	struct load l;

	soak_read(&to);
	counters_read(&end, NULL);
	load_if_soaked(from, &to, &l);
	limits_warn_run(&calibration.cpus, start, &end, &l);
}

static void warn_at_end(const struct counters *start, const struct load_sample *from)
{
	tell_left_out();
	if (soak != NULL)
		warn_of_loads(start, from);
}

/*
 * The end where clients are late: they still use what a return from main would free, and exit(3)
 * would wait for a stderr that one of them has and cannot write.  The soakers end by themselves.
 */
static _Noreturn void exit_beside_clients(const struct counters *start,
					  const struct load_sample *from, int status)
{
	if (ftrylockfile(stderr) == 0)
		warn_at_end(start, from);
	_exit(status);
}

static int run(void)
{
	const struct sigaction continued = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
	struct load_sample from = {.ns = 0};
	struct counters start;
	sigset_t unblocked;
	int fd, status;

	if (opt.load) {
		calibration_load_or_die(&calibration, CALIBRATION_FILE, opt.n_cpus);
		limits_warn();
	}
	raise_descriptors();
	fd = listen_or_die();
	if (opt.load)
		soak = soaker_start_or_die(&calibration.cpus);
	cpus_try_or_die(&opt.bind);
	group.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (group.wake < 0)
		die_errno("eventfd");
	drop_privileges_or_die();
	catch_stop_signals_waiting(on_signal, &unblocked);
	sigaction(SIGCONT, &continued, NULL);
	announce(fd);
	counters_read(&start, NULL);
	soak_read(&from);
	if (opt.reply) {
		serve_replies(fd, &unblocked);
	} else {
		serve_all(fd, &unblocked);
		dismiss_clients();
		report_last_small();
	}
	status = output.failed || (opt.once && group.failed) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (group.n > 0)
		exit_beside_clients(&start, &from, status);
	warn_at_end(&start, &from);
	if (soak != NULL) {
		soaker_stop(soak);
		free(calibration.cpu);
	}
	free(opt.allow);
	close(group.wake);
	return status;
}

/*
 * Options.
 */

enum {
	OPT_RAW = 256,
	OPT_JSON,
	OPT_REPLY,
	OPT_MAX_REPLY,
	OPT_MAX_CLIENTS,
	OPT_IDLE_TIMEOUT,
	OPT_ALLOW,
	OPT_BIND,
	OPT_USER
};

static const struct option longopts[] = {
	{"port", required_argument, NULL, 'p'},
	{"once", no_argument, NULL, '1'},
	{"method", required_argument, NULL, 'm'},
	{"raw", no_argument, NULL, OPT_RAW},
	{"reply", no_argument, NULL, OPT_REPLY},
	{"max-reply", required_argument, NULL, OPT_MAX_REPLY},
	{"max-clients", required_argument, NULL, OPT_MAX_CLIENTS},
	{"idle-timeout", required_argument, NULL, OPT_IDLE_TIMEOUT},
	{"allow", required_argument, NULL, OPT_ALLOW},
	{"bind", required_argument, NULL, OPT_BIND},
	{"user", required_argument, NULL, OPT_USER},
	{"interval", required_argument, NULL, 'I'},
	{"json", no_argument, NULL, OPT_JSON},
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

/* `address[/bits]`; false if it is none. */
static bool parse_prefix(char *s, struct prefix *p)
{
	char *bits = strchr(s, '/');
	unsigned char v4[4];
	int max = 128;

	if (bits != NULL)
		*bits++ = '\0';
	if (inet_pton(AF_INET, s, v4) == 1) {
		p->address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
		memcpy(&p->address.s6_addr[12], v4, sizeof(v4));
		max = 32;
	} else if (inet_pton(AF_INET6, s, &p->address) != 1) {
		return false;
	}
	p->bits = max;
	if (bits != NULL) {
		if (strlen(bits) > 3 || bits[0] == '\0' || bits[strspn(bits, "0123456789")] != '\0')
			return false;
		p->bits = (int)strtol(bits, NULL, 10);
	}
	if (p->bits > max)
		return false;
	if (max == 32)
		p->bits += MAPPED;
	return true;
}

static void add_allowed(const char *list)
{
	char *copy = strdup(list), *rest = copy, *s;
	struct prefix *more;

	if (copy == NULL)
		die_errno("--allow");
	while ((s = strsep(&rest, ",")) != NULL) {
		more = realloc(opt.allow, (opt.n_allow + 1) * sizeof(*opt.allow));
		if (more == NULL)
			die_errno("--allow");
		opt.allow = more;
		if (!parse_prefix(s, &opt.allow[opt.n_allow++]))
			usage_error("--allow: '%s' is not address[/bits][,...], "
				    "such as 192.0.2.0/24,2001:db8::/32",
				    list);
	}
	free(copy);
}

static void parse_option(int c)
{
	switch (c) {
	case 'p': opt.port = arg_port("-p, --port", optarg, 0); break;
	case '1': opt.once = true; break;
	case 'm': opt.method = method_named(optarg); break;
	case OPT_RAW: opt.raw = true; break;
	case OPT_REPLY: opt.reply = true; break;
	case OPT_MAX_REPLY:
		opt.max_reply = (uint32_t)arg_size("--max-reply", optarg, 0, UINT32_MAX);
		break;
	case OPT_MAX_CLIENTS:
		opt.max_clients = (int)arg_int("--max-clients", optarg, 1, 1000000);
		break;
	case OPT_IDLE_TIMEOUT:
		opt.idle_timeout = arg_seconds("--idle-timeout", optarg, 0, 86400);
		break;
	case OPT_ALLOW: add_allowed(optarg); break;
	case OPT_BIND: opt.address = optarg; break;
	case OPT_USER: opt.user = optarg; break;
	case 'I':
		opt.interval = arg_seconds("-I, --interval", optarg, 0, 86400);
		if (opt.interval > 0 && opt.interval < 0.01)
			usage_error("-I, --interval: '%s' is neither 0 nor 0.01 or more", optarg);
		break;
	case OPT_JSON: opt.json = true; break;
	case 'q': opt.quiet = true; break;
	case 'b': opt.buffer = (size_t)arg_size("-b, --buffer-size", optarg, 1, 1u << 30); break;
	case 'i': opt.sock.rcvbuf = (int)arg_size("-i, --rcvbuf", optarg, 1, 1u << 30); break;
	case 'o': opt.sock.sndbuf = (int)arg_size("-o, --sndbuf", optarg, 1, 1u << 30); break;
	case '4': arg_family(&opt.family, AF_INET); break;
	case '6': arg_family(&opt.family, AF_INET6); break;
	case 'B': arg_cpus("-B, --bind-cpu", optarg, &opt.bind); break;
	case 'c': opt.load = true; break;
	case 'N': opt.n_cpus = (int)arg_int("-N, --cpus", optarg, 1, CPUS_MAX); break;
	case 'd': opt.debug++; break;
	case 'h': report("%s", help); exit(EXIT_SUCCESS);
	case 'V': report("zcs %s\n", VERSION); exit(EXIT_SUCCESS);
	default: exit(EXIT_USAGE); /* getopt has named it */
	}
}

int main(int argc, char **argv)
{
	struct cpus online;
	int c;

	init_output();
	name_in_errors(argv);
	die_init(close_report);
	opt.method = method_named("read");
	while ((c = getopt_long(argc, argv, "p:1m:b:I:qi:o:46B:cN:dhV", longopts, NULL)) != -1)
		parse_option(c);
	if (optind < argc)
		usage_error("'%s': zcs takes no arguments, only options; see zcs -h", argv[optind]);
	cpus_to_soak(opt.n_cpus, &online); /* refuses an -N that cannot be */
	if (opt.reply && (opt.once || opt.raw))
		usage_error("--reply goes without --once and --raw");
	if (opt.port == NULL)
		opt.port = opt.reply ? REQUEST_PORT : WIRE_PORT;
	return run();
}
