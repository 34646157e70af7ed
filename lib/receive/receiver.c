#include "lib/receive/receiver.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

void receiver_init(struct receiver *r, int sock, const struct receive_method *method, bool raw)
{
	*r = (struct receiver){.sock = sock, .method = method};
	wire_init(&r->wire, raw);
}

bool receiver_wait(const struct receiver *r, int timeout_ms)
{
	struct pollfd p = {.fd = r->sock, .events = POLLIN};

	return poll(&p, 1, timeout_ms) > 0;
}

int receiver_open(struct receiver *r, size_t size)
{
	int e;

	r->size = size > 0 ? size : r->method->size;
	e = r->method->open != NULL ? r->method->open(r) : 0;
	r->unopened = e != 0;
	return e;
}

void receiver_try_or_die(const struct receive_method *method)
{
	char why[RECEIVER_ERROR_MAX];
	struct receiver r;
	int e;

	receiver_init(&r, -1, method, true);
	e = receiver_open(&r, 1);
	if (e != 0)
		die("%s", receiver_explain(&r, e, why));
	receiver_close(&r);
}

/* Receives what is left of a header, and nothing behind it. */
static ssize_t receive_header(struct receiver *r)
{
	unsigned char header[WIRE_HEADER];
	ssize_t n = recv(r->sock, header, wire_header_left(&r->wire), 0);

	if (n > 0)
		wire_feed(&r->wire, header, (size_t)n);
	return n;
}

ssize_t receiver_receive(struct receiver *r)
{
	const size_t body = r->method->reads_headers ? r->size : wire_body_left(&r->wire),
		     size = body < r->size ? body : r->size;
	ssize_t n;

	do
		n = size > 0 ? r->method->step(r, size) : receive_header(r);
	while (n < 0 && errno == EINTR);
	return n;
}

size_t receiver_queued(const struct receiver *r)
{
	int n;

	return ioctl(r->sock, FIONREAD, &n) == 0 ? (size_t)n : 1;
}

const char *receiver_explain(const struct receiver *r, int error, char buf[RECEIVER_ERROR_MAX])
{
	const struct receive_method *m = r->method;
	char text[RECEIVER_ERROR_MAX];

	if (r->unopened)
		snprintf(buf, RECEIVER_ERROR_MAX, "-m %s: %s", m->name,
			 m->explain != NULL ? m->explain(error, text) : strerror(error));
	else
		snprintf(buf, RECEIVER_ERROR_MAX, "%s", strerror(error));
	return buf;
}

void receiver_close(struct receiver *r)
{
	if (r->state != NULL && r->method->close != NULL)
		r->method->close(r);
	free(r->state);
	r->state = NULL;
}
