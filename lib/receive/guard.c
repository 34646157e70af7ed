#include "lib/receive/guard.h"

#include <arpa/inet.h>
#include <stdarg.h>

#include "lib/net/socket.h"

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
	int i;

	for (i = 0; i < p->bits; i++)
		if ((a->s6_addr[i / 8] ^ p->address.s6_addr[i / 8]) & 0x80 >> i % 8)
			return false;
	return p->bits >= MAPPED_BITS || !IN6_IS_ADDR_V4MAPPED(a); /* ::/0 does not include IPv4 */
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
	if (left_out > 0)
		note("%u lines about such clients were left out", left_out);
	note("%s: %s", addr_format((const struct sockaddr *)peer, sizeof(*peer), name), text);
	return true;
}

void log_end(struct client_log *log)
{
	pthread_mutex_lock(&log->lock);
	if (log->left_out > 0)
		note("%ju lines about clients were left out in all", (uintmax_t)log->left_out);
	pthread_mutex_unlock(&log->lock);
}
