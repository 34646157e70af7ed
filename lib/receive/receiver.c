#include "lib/receive/receiver.h"

#include "lib/net/socket.h"

void receiver_set_lowat(struct receiver *r)
{
	size_t left = r->wire.state == WIRE_RAW && !r->flows ? 0 : wire_body_left(&r->wire);
	int want = left == 0 ? 1 : left < (size_t)r->method->lowat ? (int)left : r->method->lowat;

	if (want != r->lowat && sock_set(r->sock, SOL_SOCKET, SO_RCVLOWAT, want) == 0)
		r->lowat = want;
}
