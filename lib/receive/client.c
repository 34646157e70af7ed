#include "lib/receive/server.h"

#include <limits.h>
#include <sys/eventfd.h>

#define LINGER        10 /* seconds for a client to close, at most */
#define REJECTED_MOST 64 /* clients that are rejected in a row before others leave */
#define VERDICT_MAX   160
#define LEAST_NS      1000 /* that a transfer takes: a receipt has microseconds, and 0 is no time */

struct client {
	struct place place;
	struct context *context;
	pthread_t thread;
	struct client *next; /* of those that have ended */
	struct member member;
	struct receiver receiver;
	struct figures figures; /* once it has ended */
	char why[VERDICT_MAX];  /* why it failed; empty if it did not */
	bool summary;           /* the report has one of it */
	int number;             /* from 0 */
	double cpu;             /* to which its thread is bound; NAN: none */
};

/*
 * Reads the client's counts and the host's into *mark.  The host's take long to read, unless they were
 * read just now: at the begin of what is measured they are read first, at its end last.
 */
static void client_mark(const struct client *c, struct mark *mark)
{
	struct context *x = c->context;
	const bool begins = mark == &c->member.begin;

	if (begins)
		counters_recent(&x->counters, c->member.interface, &mark->counters);
	mark->bytes = c->receiver.wire.bytes;
	mark->files = c->receiver.wire.files;
	mark->calls = c->member.calls;
	mark_now(&x->meter, mark);
	if (!begins)
		counters_recent(&x->counters, c->member.interface, &mark->counters);
}

/*
 * Receives once; *n is the bytes, headers included.  Returns 1 if more comes, 0 at the end or after a
 * signal, or -1.
 */
static int receive_some(struct client *c, ssize_t *n)
{
	const struct wire *wire = &c->receiver.wire;

	*n = receiver_receive(&c->receiver);
	if (*n <= 0)
		return (int)*n;
	atomic_store_explicit(&c->member.bytes, wire->bytes, memory_order_relaxed);
	c->member.calls++;
	return wire->state != WIRE_DONE && !*c->context->stop;
}

/*
 * Receives until the warm-up is over, and what has come by then: that belongs to it, however many calls
 * it takes.  Returns what receive_some() does.
 */
static int warm_up(struct client *c)
{
	struct receiver *r = &c->receiver;
	const uint64_t end = c->member.begin.ns + (uint64_t)r->wire.empty_loops * WIRE_WARMUP_NS;
	uint64_t now;
	ssize_t left, n;
	int more = 1;

	c->member.warming = true;
	/* The end of the warm-up interrupts the wait: a stall after it is measured. */
	while (more > 0 && (now = now_ns()) < end)
		if (receiver_wait(r, (int)((end - now) / 1000000) + 1))
			more = receive_some(c, &n);
	left = (ssize_t)receiver_queued(r);
	for (; more > 0 && left > 0 && receiver_wait(r, 0); left -= n)
		more = receive_some(c, &n);
	if (more > 0) {
		client_mark(c, &c->member.begin);
		c->member.warming = false;
	}
	return more;
}

/* Reads until the wire or the stream ends; returns 0 or the errno of the call that failed. */
static int receive(struct client *c)
{
	struct receiver *r = &c->receiver;
	struct context *x = c->context;
	int more = 1, e;
	ssize_t n;

	/* The counters that the first mark has are read by now, so that it does not delay the clock. */
	counters_recent(&x->counters, c->member.interface, &c->member.begin.counters);
	/* The clock starts before the first byte is read, so that a transfer of one call takes time. */
	while (!receiver_wait(r, -1))
		;
	client_mark(c, &c->member.begin);
	e = receiver_open(r, x->opt->buffer);
	if (e != 0)
		return e;
	while (more > 0 && !r->wire.has_file && !x->opt->raw)
		more = receive_some(c, &n);
	if (more > 0 && r->wire.empty_loops > 0)
		more = warm_up(c);
	while (more > 0)
		more = receive_some(c, &n);
	return more < 0 ? errno : 0;
}

/* Ends what is measured of a client, and stores its figures. */
static void client_figures(struct client *c)
{
	struct mark *begin = &c->member.begin, *end = &c->member.end;
	struct context *x = c->context;
	struct figures *f = &c->figures;

	client_mark(c, end);
	if (end->ns < begin->ns + LEAST_NS)
		end->ns = begin->ns + LEAST_NS;
	if (c->member.warming)
		*begin = *end;
	figures_between(x, begin, end, f);
	f->warmup = begin->bytes;
	f->clients = x->group.total;
	f->cpu = c->cpu;
	strcpy(f->version, x->program.version);
	strcpy(f->kernel, x->program.kernel);
	if (isnan(f->host.load))
		strcpy(f->no_load, meter_no_load(&x->meter, f->host.unsafe));
	tcp_figures_read(c->place.sock, true, &f->tcp);
}

/*
 * Sends the receipt, and with it the end of the stream.  A client of 2001 has closed by now, and no
 * receipt reaches it: that is no error.
 */
static void send_receipt(int sock, const struct figures *f)
{
	char line[RECEIPT_MAX];
	size_t left = receipt_format(f, line);
	const char *from = line;
	ssize_t n;

	while (left > 0 && (n = TEMP_FAILURE_RETRY(send(sock, from, left, MSG_MORE))) > 0) {
		from += n;
		left -= (size_t)n;
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
	const double limit = x->opt->idle_timeout > 0 ? fmin(LINGER, x->opt->idle_timeout) : LINGER;
	struct pollfd p = {.fd = c->place.sock, .events = POLLIN};
	char byte;

	poll(&p, 1, (int)ceil(limit * 1000));
	c->receiver.excess |= recv(c->place.sock, &byte, 1, MSG_DONTWAIT) > 0;
	if (c->receiver.excess)
		log_client(&x->places, &c->place, "sent more than it announced");
}

/* Why a client that has ended did not keep to the wire, in buf, which is returned; NULL if it did. */
static const char *verdict(const struct client *c, int error, char buf[VERDICT_MAX])
{
	const struct wire *wire = &c->receiver.wire;
	const char *where = "in its warm-up";
	bool whole = wire_ended(wire, &where), done = wire->state == WIRE_DONE;
	char why[VERDICT_MAX - 32], text[RECEIVER_ERROR_MAX];

	if (*c->context->stop && !done) {
		snprintf(buf, VERDICT_MAX, "interrupted after %ju byte%s", (uintmax_t)wire->bytes,
			 plural(wire->bytes));
		return buf;
	}
	if (c->place.silent && !done)
		place_format_silence(&c->context->places, why, sizeof(why));
	else if (error != 0)
		snprintf(why, sizeof(why), "%s", receiver_explain(&c->receiver, error, text));
	else if (c->member.calls == 0)
		return strcpy(buf, "closed without sending anything");
	else if (whole && !c->member.warming)
		return NULL;
	else
		snprintf(why, sizeof(why), "closed %s", where);
	snprintf(buf, VERDICT_MAX, "%s, after %ju byte%s", why, (uintmax_t)wire->bytes,
		 plural(wire->bytes));
	return buf;
}

/*
 * Logs a client that has failed; returns whether one that has ended has a summary.  One that moved next
 * to nothing may come back soon, so that its summaries are limited.
 */
static bool has_summary(struct client *c, const char *why)
{
	const bool json = c->context->opt->json;
	const uint64_t bytes = c->receiver.wire.bytes;
	bool logged;

	if (why != NULL)
		logged = log_client(&c->context->places, &c->place, "%s", why);
	else
		logged = bytes >= REPORT_LEAST_BYTES || log_allows(&c->context->places);
	return json ? logged || bytes >= REPORT_LEAST_BYTES : logged && (why == NULL || bytes > 0);
}

/* Binds the thread to the client's CPU. */
static void client_bind(struct client *c)
{
	const int cpu = cpu_of(&c->context->opt->bind, c->number);

	c->cpu = NAN;
	if (cpu >= 0 && cpu_bind(cpu) == 0)
		c->cpu = cpu;
	else if (cpu >= 0) /* it may have gone offline since the start */
		log_client(&c->context->places, &c->place,
			   "served on any CPU: cannot bind to CPU %d: %s", cpu, strerror(errno));
}

/* Serves a client to its end, and hands it back to the main thread. */
static void *client_thread(void *arg)
{
	struct client *c = arg;
	struct context *x = c->context;
	struct place *p = &c->place;
	struct figures *f = &c->figures;
	char name[ADDR_STRLEN];
	const char *why;
	bool has_receipt;

	if (x->opt->debug)
		note("%s: connected",
		     addr_format((struct sockaddr *)&p->peer, sizeof(p->peer), name));
	client_bind(c);
	why = verdict(c, receive(c), c->why);
	has_receipt = why == NULL && !x->opt->raw;
	client_figures(c);
	if (has_receipt)
		send_receipt(p->sock, f);
	meter_say(&x->meter, &f->host);
	c->summary = has_summary(c, why);
	if (has_receipt)
		linger(c);
	f->cut = (why != NULL && !*x->stop) || c->receiver.excess;
	c->next = x->ended;
	while (!atomic_compare_exchange_weak(&x->ended, &c->next, c))
		;
	eventfd_write(x->group.wake, 1);
	return NULL;
}

/* Reports a client that has ended, removes it from its group and frees all that it has. */
static void client_end(struct client *c)
{
	struct context *x = c->context;
	const struct sockaddr_storage *peer = &c->place.peer;
	const bool failed = c->why[0] != '\0';

	pthread_join(c->thread, NULL);
	x->group.failed |= failed;
	if (x->opt->json && failed && (x->opt->once || c->member.calls > 0))
		report_cut(&x->report, peer, c->why);
	if (x->opt->json)
		report_stream(&x->report, c->place.sock, peer, &c->figures, c->number + 1,
			      c->summary);
	else if (c->summary)
		report_client(&x->report, peer, &c->figures, c->receiver.wire.empty_loops > 0);
	receiver_close(&c->receiver);
	place_close(&x->places, &c->place);
	group_remove(x, &c->member, &c->figures, c->summary);
	free(c);
}

/* Accepts a client, if there is one, and starts its thread; returns whether it has joined the group. */
static bool client_accept(struct context *x, int listener)
{
	struct client *c = places_accept(&x->places, listener, sizeof(*c));
	int e;

	if (c == NULL)
		return false;
	c->context = x;
	c->number = (int)(x->accepted % INT_MAX); /* the report has number + 1 */
	receiver_init(&c->receiver, c->place.sock, x->opt->method, x->opt->raw);
	if (addr_interface((struct sockaddr *)&c->place.peer, c->member.interface) != 0)
		c->member.interface[0] = '\0';
	if (x->opt->sock.mptcp) /* with TCP it is inherited from the listener */
		sock_keep_alive(c->place.sock);
	meter_want(&x->meter);
	if (x->opt->json && x->group.n == 0)
		report_group_begin(&x->report, &c->place.peer, c->member.interface);
	group_join(x, &c->member);
	e = thread_start(&c->thread, client_thread, c);
	if (e == 0) {
		x->accepted++;
		return true;
	}
	x->group.failed = true;
	group_leave(x, &c->member);
	place_reject(&x->places, &c->place);
	log_client(&x->places, &c->place, "rejected: cannot start a thread: %s", strerror(e));
	free(c);
	return false;
}

void clients_look(struct context *x, int listener)
{
	struct client *c = atomic_exchange(&x->ended, NULL), *next;
	struct pollfd p = {.fd = listener, .events = POLLIN};
	int i;

	/* One that waits, perhaps behind some that are rejected, joins the group before others leave it. */
	for (i = 0; i < REJECTED_MOST && !places_lack(&x->places) && poll(&p, 1, 0) > 0; i++)
		if (client_accept(x, listener))
			break;
	for (; c != NULL; c = next) {
		next = c->next;
		client_end(c);
	}
}
