#include "lib/receive/guard.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <linux/tcp.h>
#include <stdarg.h>

#define WORK_BYTES   (64 * 1024) /* a client at work moves as much in a second */
#define CONTINUED_NS 2000000000u /* after a stop, for clients to move data again */
#define LEAST_BYTES  1024        /* a client of a full server moves as much in --idle-timeout */
#define MAPPED_BITS  96          /* of ::ffff:0:0/96, into which IPv4 is mapped: RFC 4291 */

static struct in6_addr address_of(const struct sockaddr_storage *peer)
{
	struct in6_addr a = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (peer->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)peer)->sin6_addr;
	memcpy(&a.s6_addr[12], &((const struct sockaddr_in *)peer)->sin_addr, 4);
	return a;
}

/* Reads `address` or `address/bits`; false if it is malformed. */
static bool parse_prefix(const char *s, struct prefix *p)
{
	size_t len = strcspn(s, "/");
	bool ipv4 = memchr(s, ':', len) == NULL && memchr(s, '.', len) != NULL;
	unsigned long max = ipv4 ? 32 : 128, n = max;
	char mapped[64], *end = "";

	if (s[len] == '/')
		n = isdigit((unsigned char)s[len + 1]) ? strtoul(s + len + 1, &end, 10) : max + 1;
	snprintf(mapped, sizeof(mapped), "%s%.*s", ipv4 ? "::ffff:" : "", (int)len, s);
	p->bits = (int)n + (ipv4 ? MAPPED_BITS : 0);
	return n <= max && *end == '\0' && inet_pton(AF_INET6, mapped, &p->address) == 1;
}

bool allow_add(struct allow *allow, const char *list)
{
	char *rest = strdupa(list), *one;

	while ((one = list_next(&rest)) != NULL) {
		allow->prefix = reallocarray(allow->prefix, allow->n + 1, sizeof(struct prefix));
		if (allow->prefix == NULL)
			die_errno("--allow");
		if (!parse_prefix(one, &allow->prefix[allow->n++]))
			return false;
	}
	return true;
}

static bool has_prefix(const struct in6_addr *a, const struct prefix *p)
{
	int i;

	for (i = 0; i < p->bits; i++)
		if ((a->s6_addr[i / 8] ^ p->address.s6_addr[i / 8]) & 0x80 >> i % 8)
			return false;
	return p->bits >= MAPPED_BITS || !IN6_IS_ADDR_V4MAPPED(a); /* ::/0 does not include IPv4 */
}

static bool is_allowed(const struct allow *allow, const struct sockaddr_storage *peer)
{
	const struct in6_addr a = address_of(peer);
	size_t i;

	for (i = 0; i < allow->n; i++)
		if (has_prefix(&a, &allow->prefix[i]))
			return true;
	return allow->n == 0;
}

/*
 * Stores the IPv4 address of a peer, mapped into IPv6, or the first 64 bits of its IPv6 address:
 * one site usually owns all addresses of such a network.  Returns a hash of it.
 */
static uint32_t network_of(const struct sockaddr_storage *peer, struct in6_addr *network)
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

int log_line(struct places *s, enum log_kind kind, const struct place *p)
{
	struct in6_addr network;
	struct client_log *log = &s->log;
	struct log_slot *slot = &log->slot[kind][network_of(&p->peer, &network) % LOG_SLOTS];
	uint64_t now = now_ns();
	int before = 0;

	pthread_mutex_lock(&log->lock);
	if (slot->since_ns == 0 || now - slot->since_ns > LOG_NS) {
		before = slot->left_out;
		*slot = (struct log_slot){.since_ns = now};
	}
	if (slot->lines++ >= LOG_LINES) {
		before = -1;
		slot->left_out++;
		log->left_out += kind == LOG_BAD;
	}
	pthread_mutex_unlock(&log->lock);
	return before;
}

bool log_client(struct places *s, const struct place *p, const char *fmt, ...)
{
	char name[ADDR_STRLEN], text[160];
	int left_out = log_line(s, LOG_BAD, p);
	va_list ap;

	if (left_out < 0)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (left_out > 0)
		note("%d line%s about such clients %s omitted", left_out,
		     plural((uint64_t)left_out), left_out == 1 ? "was" : "were");
	note("%s: %s", addr_format((const struct sockaddr *)&p->peer, sizeof(p->peer), name), text);
	return true;
}

/* The clients of one IPv4 address, or of one IPv6 network of 64 bits. */
struct network {
	LIST_ENTRY(network) link;
	struct in6_addr address;
	int n; /* places that it has */
};

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

/* The caller has the lock.  The client's own thread closes the connection. */
static void place_remove(struct places *s, struct place *p)
{
	TAILQ_REMOVE(&s->all, p, link);
	s->n--;
	if (--p->network->n == 0) {
		LIST_REMOVE(p->network, link);
		free(p->network);
	}
	p->network = NULL;
}

/* Sends a rejected client the reason.  Only the wire has a place for it: that of the receipt. */
static void send_refusal(const struct places *s, const struct place *p, const char *word)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "refused=%s\n", word);

	if (!s->opt->raw && !s->opt->reply)
		send(p->sock, line, (size_t)len, MSG_DONTWAIT);
}

/*
 * Takes a place from a client, whatever its thread waits for.  Where data for the client may be
 * left, close(2) will reset the connection, so that the kernel does not keep them.
 */
static void place_drop(struct places *s, struct place *p, enum dropped why)
{
	const struct linger reset = {.l_onoff = 1};
	bool is_full = why == DROPPED_FOR_ROOM || why == DROPPED_SLOW;

	p->dropped = why;
	if (is_full)
		send_refusal(s, p, REFUSED_FULL);
	if (is_full || s->opt->reply)
		setsockopt(p->sock, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	shutdown(p->sock, SHUT_RDWR);
	place_remove(s, p);
}

/* Stores what a client has moved; drops it if it was silent, or too slow for a full server. */
static void place_look(struct places *s, struct place *p, uint64_t now, bool late)
{
	double idle_ms;
	uint64_t limit = (uint64_t)(s->opt->idle_timeout * 1e9),
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
	/* The program was stopped (SIGSTOP), and data may have come that it has not read. */
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

/*
 * Returns the client that has to make room for one of a network with n places: of the networks
 * with the most places, the client that moved least in the last second.  NULL if n is not less
 * than that, or if all those clients are at work.  What they moved while this program was stopped,
 * and read nothing, is no measure of that.
 */
static struct place *places_victim(const struct places *s, const struct in6_addr *address)
{
	struct place *p, *victim = NULL;
	uint64_t least = WORK_BYTES, moved;
	int most = 0, n = 0;
	double idle_ms;

	if (*s->continued_ns != 0 && now_ns() < *s->continued_ns + CONTINUED_NS)
		return NULL;
	TAILQ_FOREACH (p, &s->all, link) {
		/* cppcheck-suppress uninitvar ; TAILQ_FOREACH() sets it */
		if (p->network->n > most)
			most = p->network->n;
		if (memcmp(&p->network->address, address, sizeof(*address)) == 0)
			n = p->network->n;
	}
	TAILQ_FOREACH (p, &s->all, link) {
		if (p->network->n < most || n >= most)
			continue;
		moved = sock_moved(p->sock, &idle_ms) - p->moved[LOOKS - 1];
		if (idle_ms >= 1000)
			moved = 0;
		if (moved < least) {
			victim = p;
			least = moved;
		}
		if (moved == 0)
			break;
	}
	return victim;
}

/* Drops a client that lingers, or the victim of a newcomer of that network. */
static void make_room(struct places *s, const struct in6_addr *network)
{
	struct place *p;

	TAILQ_FOREACH (p, &s->all, link)
		if (p->lingers) {
			place_drop(s, p, NOT_DROPPED);
			return;
		}
	p = places_victim(s, network);
	if (p != NULL)
		place_drop(s, p, DROPPED_FOR_ROOM);
}

/* Gives a client a place, perhaps another's; returns whether there was one for it. */
static bool place_take(struct places *s, struct place *p)
{
	struct network_head *slot;
	struct in6_addr address;
	struct network *w;

	slot = &s->network[network_of(&p->peer, &address) % NETWORK_SLOTS];
	if (s->n >= s->opt->max_clients)
		make_room(s, &address);
	LIST_FOREACH (w, slot, link)
		if (memcmp(&w->address, &address, sizeof(address)) == 0)
			break;
	if (s->n >= s->opt->max_clients || (w == NULL && (w = calloc(1, sizeof(*w))) == NULL))
		return false;
	if (w->n++ == 0) {
		w->address = address;
		LIST_INSERT_HEAD(slot, w, link);
	}
	p->network = w;
	TAILQ_INSERT_TAIL(&s->all, p, link);
	s->n++;
	p->active_ns = now_ns();
	p->checked_ns = s->full_ns;
	return true;
}

void place_close(struct places *s, struct place *p)
{
	pthread_mutex_lock(&s->lock);
	close(p->sock);
	p->sock = -1;
	pthread_mutex_unlock(&s->lock);
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
	const struct linger reset = {.l_onoff = 1};

	place_release(s, p);
	send_refusal(s, p, word);
	if (s->opt->raw) /* after an orderly end a client that sent little would report success */
		setsockopt(p->sock, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	else
		shutdown(p->sock, SHUT_WR);
	close(p->sock);
	s->refused++;
}

int places_count(struct places *s)
{
	int n;

	pthread_mutex_lock(&s->lock);
	n = s->n;
	pthread_mutex_unlock(&s->lock);
	return n;
}

bool places_lack(const struct places *s)
{
	return s->lacked_ns != 0 && now_ns() < s->lacked_ns + LACK_NS;
}

void *places_accept(struct places *s, int listener, size_t size)
{
	struct place *p = malloc(
		size); /* glibc keeps what was freed for malloc(3), not for calloc(3) */
	const int flags = s->opt->reply ? SOCK_NONBLOCK : 0; /* others have a thread each */
	socklen_t len = sizeof(p->peer);
	uint64_t last, now;
	bool has;

	if (p != NULL)
		memset(p, 0, size);
	if (p == NULL || (p->sock = accept4(listener, (struct sockaddr *)&p->peer, &len,
					    SOCK_CLOEXEC | flags)) < 0) {
		/* Other errors of accept(2) are the connection's and not the server's. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			now = now_ns();
			last = atomic_exchange(&s->lacked_ns, now);
			/* A lack is printed once while it lasts or recurs. */
			if (last == 0 || now > last + LOG_NS)
				note("accept: %s; new clients wait until others leave",
				     strerror(errno));
		}
	} else if (!is_allowed(&s->opt->allow, &p->peer)) {
		place_reject(s, p, REFUSED_ADDRESS);
		log_client(s, p, "rejected: not in --allow");
	} else {
		pthread_mutex_lock(&s->lock);
		has = place_take(s, p);
		pthread_mutex_unlock(&s->lock);
		if (has)
			return p;
		place_reject(s, p, REFUSED_FULL);
		if (s->opt->reply)
			log_client(s, p, "rejected: there are --max-clients already");
		else
			log_client(s, p, "rejected: there %s %d client%s already (--max-clients)",
				   s->opt->max_clients == 1 ? "is" : "are", s->opt->max_clients,
				   plural((uint64_t)s->opt->max_clients));
	}
	free(p);
	return NULL;
}

void places_end_streams(struct places *s)
{
	struct place *p;

	pthread_mutex_lock(&s->lock);
	/* cppcheck-suppress unknownMacro ; it is that of sys/queue.h */
	TAILQ_FOREACH (p, &s->all, link)
		shutdown(p->sock, SHUT_RD);
	pthread_mutex_unlock(&s->lock);
}

bool place_linger(struct places *s, struct place *p)
{
	pthread_mutex_lock(&s->lock);
	p->lingers = p->network != NULL;
	pthread_mutex_unlock(&s->lock);
	return p->lingers;
}

void place_format_dropped(const struct places *s, const struct place *p, char *buf, size_t size)
{
	static const char *const why[] = {
		[DROPPED_FOR_ROOM] =
			"dropped: its place was given to another address (--max-clients)",
		[DROPPED_SLOW] =
			"dropped: moved under 1 KiB in %g seconds while the server was full",
		[DROPPED_SILENT] = "silent for %g seconds (--idle-timeout)",
	};

	snprintf(buf, size, why[p->dropped], s->opt->idle_timeout);
}
