#include "lib/net/route.h"

#include "lib/net/socket.h"

/* An IPv4 address is stored as ::ffff:a.b.c.d, by which the kernel has the same route. */
static void key_of(const struct sockaddr_storage *peer, struct in6_addr *address, uint32_t *scope)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;
	const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

	*address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	*scope = 0;
	if (peer->ss_family == AF_INET6) {
		*address = in6->sin6_addr;
		*scope = in6->sin6_scope_id;
	} else {
		memcpy(&address->s6_addr[12], &in->sin_addr, 4);
	}
}

void routes_interface(struct routes *r, const struct sockaddr_storage *peer,
		      char interface[IF_NAMESIZE])
{
	const uint64_t now = now_ns();
	struct in6_addr address;
	struct route *slot;
	uint32_t scope, hash = 0;
	size_t i;

	key_of(peer, &address, &scope);
	for (i = 0; i < sizeof(address.s6_addr); i++)
		hash = hash * 31 + address.s6_addr[i];
	pthread_mutex_lock(&r->lock);
	slot = &r->slot[hash % ROUTE_SLOTS];
	if (slot->ns == 0 || now > slot->ns + ROUTE_NS || slot->scope != scope ||
	    memcmp(&slot->address, &address, sizeof(address)) != 0) {
		*slot = (struct route){.ns = now, .address = address, .scope = scope};
		if (addr_interface((const struct sockaddr *)peer, slot->interface) != 0)
			slot->interface[0] = '\0';
	}
	strcpy(interface, slot->interface);
	pthread_mutex_unlock(&r->lock);
}
