#include "lib/receive/receiver.h"

#include "lib/net/socket.h"

void receiver_set_lowat(struct receiver *r, bool any)
{
	const bool waits = r->method->copies ? r->wire.state != WIRE_RAW : r->flows;
	const size_t left = waits && !any ? wire_body_left(&r->wire) : 0;
	const int want = left == 0 ? 1 : left < (size_t)r->lowat_max ? (int)left : r->lowat_max;

	if (want != r->lowat && sock_set(r->sock, SOL_SOCKET, SO_RCVLOWAT, want) == 0)
		r->lowat = want;
}
