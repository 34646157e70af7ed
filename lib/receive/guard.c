#include "lib/receive/guard.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <linux/tcp.h>
#include <stdarg.h>

#define MAPPED_BITS 96 /* of ::ffff:0:0/96, into which IPv4 is mapped: RFC 4291 */

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
	char *text = strdupa(list), *rest, *one;
	const size_t before = allow->n;

	for (; (one = strtok_r(text, ", ", &rest)) != NULL; text = NULL) {
		allow->prefix = reallocarray(allow->prefix, allow->n + 1, sizeof(struct prefix));
		if (allow->prefix == NULL)
			die_errno("--allow");
		if (!parse_prefix(one, &allow->prefix[allow->n++]))
			return false;
	}
	return allow->n > before;
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
	const struct in6_addr a = addr_ipv6((const struct sockaddr *)peer);
	size_t i;

	for (i = 0; i < allow->n; i++)
		if (has_prefix(&a, &allow->prefix[i]))
			return true;
	return allow->n == 0;
}

/*
 * Lines about clients.
 */

void note(const char *fmt, ...)
{
	va_list ap;

	flockfile(stderr);
	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	funlockfile(stderr);
}

void note_omitted(int n)
{
	if (n > 0)
		note("%d line%s about clients %s omitted", n, plural((uint64_t)n),
		     n == 1 ? "was" : "were");
}

bool log_allows(struct places *s)
{
	const uint64_t now = now_ns();
	int omitted = 0;
	bool allowed;

	pthread_mutex_lock(&s->lock);
	if (s->log.since_ns == 0 || now > s->log.since_ns + LOG_NS) {
		omitted = s->log.omitted;
		s->log.omitted = s->log.lines = 0;
		s->log.since_ns = now;
	}
	allowed = s->log.lines < LOG_LINES;
	s->log.lines += allowed;
	s->log.omitted += !allowed;
	pthread_mutex_unlock(&s->lock);
	note_omitted(omitted);
	return allowed;
}

bool log_client(struct places *s, const struct place *p, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	if (!log_allows(s))
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note("%s: %s", addr_format((const struct sockaddr *)&p->peer, sizeof(p->peer)), text);
	return true;
}

/*
 * Places.
 */

/*
 * Bytes that a connection received and that its peer acknowledged, headers included: linux/tcp.h.  TCP_INFO of Multipath
 * TCP has those of its first path alone, which may be dead while others carry the data.
 */
static uint64_t sock_moved(const struct places *s, int sock)
{
	struct tcp_info info = {.tcpi_bytes_acked = 0};
	socklen_t len = sizeof(info);
	uint64_t moved;

	if (s->opt->sock.mptcp && sock_is_mptcp(sock, NULL, NULL, &moved))
		return moved;
	getsockopt(sock, IPPROTO_TCP, TCP_INFO, &info, &len);
	return info.tcpi_bytes_received + info.tcpi_bytes_acked;
}

void place_refuse(const struct places *s, const struct place *p, const char *word)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "refused=%s\n", word);

	if (!s->opt->raw && !s->opt->reply)
		send(p->sock, line, (size_t)len, MSG_DONTWAIT);
	if (s->opt->raw) /* after an orderly end a client that sent little would report success */
		sock_reset_at_close(p->sock, true);
	else
		shutdown(p->sock, SHUT_WR);
}

/* Ends the connection of a client that was not dropped before.  The lock is held. */
static void end_connection(const struct places *s, struct place *p, enum drop why)
{
	p->dropped = why;
	if (why == DROP_FULL)
		place_refuse(s, p, REFUSED_FULL);
	if (why == DROP_FULL || s->opt->reply)
		sock_reset_at_close(p->sock, true);
	shutdown(p->sock, SHUT_RDWR); /* whatever its thread waits for */
}

/* Returns the origin of an address, which has no places if it is new; NULL: no memory. */
static struct origin *origin_of(struct places *s, const struct sockaddr_storage *peer)
{
	const struct in6_addr a = addr_ipv6((const struct sockaddr *)peer);
	struct origin_head *list;
	struct origin *o;
	uint64_t key;

	/* The last 64 bits of a mapped IPv4 address are no prefix of IPv6: RFC 4291 reserves them. */
	memcpy(&key, a.s6_addr + (IN6_IS_ADDR_V4MAPPED(&a) ? 8 : 0), sizeof(key));
	list = &s->origins[key * 0x9e3779b97f4a7c15u >> 32 & (ORIGINS - 1)];
	LIST_FOREACH (o, list, link)
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		if (o->key == key)
			return o;
	o = calloc(1, sizeof(*o));
	if (o != NULL) {
		o->key = key;
		LIST_INSERT_HEAD(list, o, link);
	}
	return o;
}

static void origin_add(struct origin *o, int places)
{
	o->places += places;
	if (o->places > 0)
		return;
	LIST_REMOVE(o, link);
	free(o);
}

/* Takes the place from a client of the origin that has most, and more than `few`; returns whether there was one. */
static bool make_room(struct places *s, int few)
{
	const uint64_t now = now_ns();
	struct place *p, *slow = NULL;
	int most = few + 1;

	LIST_FOREACH (p, &s->all, link) {
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		if (p->dropped != DROP_NONE || p->origin->places < most)
			continue;
		if (p->origin->places > most)
			slow = NULL;
		most = p->origin->places;
		if (now > p->accepted_ns + SLOW_NS && p->moved < SLOW_BYTES)
			slow = p;
	}
	if (slow == NULL)
		return false;
	end_connection(s, slow, DROP_FULL);
	origin_add(slow->origin, -1);
	s->n--;
	s->refused++;
	return true;
}

/* Gives a client a place; returns false if there is none. */
static bool place_take(struct places *s, struct place *p)
{
	bool has_place;

	p->active_ns = p->accepted_ns = now_ns();
	if (s->opt->sock.mptcp) /* its counts begin anywhere */
		p->moved_before = sock_moved(s, p->sock);
	pthread_mutex_lock(&s->lock);
	p->origin = origin_of(s, &p->peer);
	has_place = p->origin != NULL &&
		    (s->n < s->opt->max_clients || make_room(s, p->origin->places));
	if (has_place) {
		LIST_INSERT_HEAD(&s->all, p, link);
		s->n++;
	}
	if (p->origin != NULL)
		origin_add(p->origin, has_place);
	pthread_mutex_unlock(&s->lock);
	return has_place;
}

void place_close(struct places *s, struct place *p)
{
	pthread_mutex_lock(&s->lock);
	LIST_REMOVE(p, link);
	if (p->dropped != DROP_FULL) {
		origin_add(p->origin, -1);
		s->n--;
	}
	pthread_mutex_unlock(&s->lock);
	close(p->sock);
}

/* Rejects a client, with a line in the log and a word for the client. */
static void reject(struct places *s, const struct place *p, const char *word, const char *why)
{
	s->refused++;
	place_refuse(s, p, word);
	log_client(s, p, "rejected: %s", why);
}

void place_reject(struct places *s, struct place *p, const char *why)
{
	reject(s, p, REFUSED_FULL, why);
	place_close(s, p);
}

bool places_lack(const struct places *s)
{
	return s->lacked_ns != 0 && now_ns() < s->lacked_ns + LACK_NS;
}

/* Notes that accept(2) failed for lack of a resource.  Its other errors concern one connection. */
static void note_lack(struct places *s, int e)
{
	const uint64_t now = now_ns();
	uint64_t last;

	if (e != EMFILE && e != ENFILE && e != ENOBUFS && e != ENOMEM)
		return;
	last = atomic_exchange(&s->lacked_ns, now);
	if (last == 0 || now > last + LOG_NS) /* once while it lasts or recurs */
		note("accept: %s; new clients wait until others leave", strerror(e));
}

void *places_accept(struct places *s, int listener, size_t size)
{
	const int flags = s->opt->reply ? SOCK_NONBLOCK : 0; /* others have a thread each */
	struct place *p = calloc(1, size);
	socklen_t len = sizeof(p->peer);

	if (p == NULL || (p->sock = accept4(listener, (struct sockaddr *)&p->peer, &len,
					    SOCK_CLOEXEC | flags)) < 0) {
		note_lack(s, errno);
		free(p);
		return NULL;
	}
	if (s->opt->sock.mptcp) /* with TCP it is inherited from the listener */
		sock_keep_alive(p->sock);
	if (!is_allowed(&s->opt->allow, &p->peer))
		reject(s, p, REFUSED_ADDRESS, "not in --allow");
	else if (place_take(s, p))
		return p;
	else
		reject(s, p, REFUSED_FULL, "all places are taken (--max-clients)");
	close(p->sock);
	free(p);
	return NULL;
}

/*
 * Clients that are dropped.
 */

void places_look(struct places *s)
{
	const uint64_t now = now_ns(), limit = (uint64_t)(s->opt->idle_timeout * 1e9);
	struct place *p;
	uint64_t moved;

	if (now < s->looked_ns + LOOK_NS)
		return;
	s->looked_ns = now;
	pthread_mutex_lock(&s->lock);
	/* cppcheck-suppress unknownMacro ; it is that of sys/queue.h */
	LIST_FOREACH (p, &s->all, link) {
		/* cppcheck-suppress uninitvar ; LIST_FOREACH() sets it */
		moved = sock_moved(s, p->sock) - p->moved_before;
		if (moved != p->moved) {
			p->moved = moved;
			p->active_ns = now;
		}
		if (limit == 0 || p->dropped != DROP_NONE)
			continue;
		if (now >= p->active_ns + limit)
			end_connection(s, p, DROP_SILENT);
		else if (now >= p->accepted_ns + limit && moved < WIRE_HEADER && !s->opt->raw)
			end_connection(s, p, DROP_HEADER);
	}
	pthread_mutex_unlock(&s->lock);
}

void place_drop(struct places *s, struct place *p, enum drop why)
{
	pthread_mutex_lock(&s->lock);
	if (p->dropped == DROP_NONE)
		end_connection(s, p, why);
	pthread_mutex_unlock(&s->lock);
}

const char *place_dropped(const struct places *s, const struct place *p)
{
	const double limit = s->opt->idle_timeout;

	switch ((enum drop)p->dropped) {
	case DROP_SILENT: return text_of("silent for %g seconds (--idle-timeout)", limit);
	case DROP_HEADER:
		return text_of("no whole header within %g seconds (--idle-timeout)", limit);
	case DROP_FILE:
		return text_of("no byte of a file within %g seconds of the last client "
			       "(-1, --idle-timeout)",
			       limit);
	case DROP_FULL: return "dropped for a client of another address (--max-clients)";
	default: return NULL;
	}
}
