#include "lib/receive/group.h"

#include "lib/net/tls.h"

#include <limits.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#define LINGER 10 /* seconds for a client to close, at most */

/*
 * Reads the client's counts and the host's into *mark.  The host's counters take long to read, unless they were
 * read just now: they are read first when the measurement begins, and last when it ends.
 */
static void client_mark(const struct client *c, struct mark *mark)
{
	struct context *x = c->context;
	const bool begins = mark == &c->begin;

	if (begins)
		counters_recent(&x->counters, c->interface, &mark->counters);
	mark->bytes = c->receiver.wire.bytes;
	mark->files = c->receiver.wire.files;
	mark->calls = c->calls;
	mark->mapped = c->receiver.mapped;
	mark->records = mark->errors = NAN;
	if (c->encrypted) {
		mark->records = tls_records(c->place.sock, x->opt->tls, TLS_RECEIVES);
		mark->errors = tls_decrypt_errors();
	}
	mark_now(&x->meter, mark);
	if (!begins)
		counters_recent(&x->counters, c->interface, &mark->counters);
}

/* Counts a client among those of its group. */
static void client_begins(struct client *c)
{
	c->begun = true;
	c->context->group.total++;
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
	atomic_store_explicit(&c->bytes, wire->bytes, memory_order_relaxed);
	c->calls++;
	if (!c->begun && wire_begun(wire))
		client_begins(c);
	return wire->state != WIRE_DONE && !*c->context->stop;
}

/*
 * Waits for data, the end of the stream or an error, at most `timeout_ms` milliseconds (-1: without
 * a limit).  Returns false if none of these came: the time was over, or a signal came.
 */
static bool has_come(const struct client *c, int timeout_ms)
{
	struct pollfd p = {.fd = c->place.sock, .events = POLLIN};

	return poll(&p, 1, timeout_ms) > 0;
}

/*
 * Receives until the warm-up is over, and then the data that had arrived by that time: they belong to the warm-up.
 * Returns what receive_some() returns.
 */
static int warm_up(struct client *c)
{
	const uint64_t time = (uint64_t)c->receiver.wire.empty_loops * WIRE_WARMUP_NS;
	const uint64_t end = c->begin.ns + time;
	int more = 1, left;
	uint64_t now;
	ssize_t n;

	c->warming = true;
	c->context->group.warms_up = true;
	/* The end of the warm-up interrupts the wait: a stall after it is measured. */
	while (more > 0 && (now = now_ns()) < end)
		if (has_come(c, (int)fmin((double)(end - now) / 1e6 + 1, INT_MAX)))
			more = receive_some(c, &n);
	if (ioctl(c->place.sock, FIONREAD, &left) != 0)
		left = 1; /* Multipath TCP before Linux 5.17 */
	for (; more > 0 && left > 0 && has_come(c, 0); left -= (int)n)
		more = receive_some(c, &n);
	if (more > 0) {
		client_mark(c, &c->begin);
		c->warming = false;
	}
	return more;
}

/* Tells a client that says hello that it is not served, and stores why. */
static bool hello_refuse(struct client *c, const char *why)
{
	struct context *x = c->context;

	snprintf(c->why, sizeof(c->why), "--tls: %s", why);
	(void)sock_get(c->place.sock, SOL_SOCKET, SO_ERROR); /* send(2) would return it */
	place_refuse(&x->places, &c->place, REFUSED_TLS);
	return false;
}

/* Answers a client that says hello.  Others are served without TLS.  Returns false if it is refused. */
static bool hello_answer(struct client *c)
{
	const struct tls_cipher *cipher = c->context->opt->tls;
	const int sock = c->place.sock;
	unsigned char header[WIRE_HEADER];
	const char *answer = text_of("tls=%s\n", cipher->name);
	ssize_t n;

	if (!tls_is_hello(sock))
		return true;
	if (tls_start_where(sock, cipher, TLS_TO_SERVER, TLS_RECEIVES, &c->decrypts) != 0)
		return hello_refuse(c, tls_explain(cipher, errno));
	n = recv(sock, header, sizeof(header), 0);
	if (n < 0)
		return hello_refuse(c, text_of("its hello is not encrypted by %s: zcc has another "
					       "cipher",
					       cipher->name));
	if (n < (ssize_t)sizeof(header))
		return hello_refuse(c, "its hello is not whole");
	wire_feed(&c->receiver.wire, header, sizeof(header));
	if (tls_start(sock, cipher, TLS_TO_CLIENT, TLS_SENDS) != 0)
		return hello_refuse(c, tls_explain(cipher, errno));
	c->encrypted = true;
	c->calls++;
	client_begins(c);
	c->no_pad = tls_expect_no_pad(sock);
	/* The kernel may have room for it at once: nothing was sent before. */
	(void)!send(sock, answer, strlen(answer), MSG_NOSIGNAL);
	has_come(c, -1);
	return true;
}

/* Reads until the wire or the stream ends; stores what failed. */
static void receive(struct client *c)
{
	struct receiver *r = &c->receiver;
	struct context *x = c->context;
	const char *why = NULL;
	int more = 1;
	ssize_t n;

	/* The counters are read before the first mark, which would otherwise start late. */
	counters_recent(&x->counters, c->interface, &c->begin.counters);
	/* The clock starts before the first byte is read, so that a transfer of one call takes time. */
	has_come(c, -1);
	if (x->opt->tls != NULL && !hello_answer(c))
		more = 0;
	client_mark(c, &c->begin);
	if (more > 0)
		why = receiver_open(r, x->opt->buffer);
	if (why != NULL) {
		snprintf(c->why, sizeof(c->why), "-m %s: %s", r->method->name, why);
		place_refuse(&x->places, &c->place, REFUSED_METHOD);
		more = 0;
	}
	while (more > 0 && !r->wire.has_file && !x->opt->raw)
		more = receive_some(c, &n);
	if (more > 0 && r->wire.empty_loops > 0)
		more = warm_up(c);
	while (more > 0)
		more = receive_some(c, &n);
	/* A reset before the first byte is a connection closed without one, as by a port scan. */
	if (more < 0 && (c->calls > 0 || errno != ECONNRESET))
		snprintf(c->why, sizeof(c->why), "%s",
			 c->encrypted && tls_error(errno) != NULL ? tls_error(errno)
								  : strerror(errno));
	if (c->why[0] != '\0' && !c->begun) /* zcs failed, and not the client */
		client_begins(c);
}

/*
 * Stores the interface of a client.  That of a group's first client is read once for all, since this takes a lock of the
 * whole host.
 */
static void client_link(struct client *c, struct link *l)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct context *x = c->context;
	struct link *via = &x->report.via;

	pthread_mutex_lock(&lock);
	if (!x->opt->json && via->interface[0] == '\0')
		link_read(via, c->interface);
	*l = *via;
	pthread_mutex_unlock(&lock);
	if (strcmp(l->interface, c->interface) != 0)
		link_read(l, c->interface);
}

/* Ends what is measured of a client, and stores its figures. */
static void client_figures(struct client *c)
{
	struct mark *begin = &c->begin, *end = &c->end;
	struct context *x = c->context;
	struct figures *f = &c->figures;
	struct link link;

	client_mark(c, end);
	if (c->warming)
		*begin = *end;
	figures_between(x, begin, end, f);
	pthread_mutex_lock(&x->group.lock);
	stalls_end(&c->silence, end->ns);
	f->stalls = (double)c->silence.stalls.n;
	f->longest_stall = (double)c->silence.stalls.longest_ns / 1e3;
	pthread_mutex_unlock(&x->group.lock);
	f->mapped = end->mapped - begin->mapped;
	f->tls.records = end->records - begin->records;
	f->tls.decrypt_errors = end->errors - begin->errors;
	if (c->encrypted) {
		f->tls.no_pad = c->no_pad;
		strcpy(f->tls.version, TLS_VERSION);
		strcpy(f->tls.cipher, x->opt->tls->name);
		strcpy(f->tls.place, c->decrypts);
	}
	f->warmup = begin->bytes;
	f->clients = x->group.total;
	f->cpu = c->cpu;
	client_link(c, &link);
	figures_describe(x, &link, f);
	tcp_figures_read(c->place.sock, true, &f->tcp);
	if (isnan(f->tcp.rtt)) /* of several subflows, which may have other interfaces */
		f->host.rates.packets_in = f->host.rates.packets_out = NAN;
}

/*
 * Waits for the client to close: if the socket were closed with something unread, the kernel would
 * reset the connection and the client would lose its receipt.
 */
static void linger(struct client *c)
{
	struct context *x = c->context;
	const double limit = x->opt->idle_timeout > 0 ? fmin(LINGER, x->opt->idle_timeout) : LINGER;
	char byte;

	has_come(c, (int)ceil(limit * 1000));
	c->receiver.excess |= recv(c->place.sock, &byte, 1, MSG_DONTWAIT) > 0;
	if (c->receiver.excess)
		log_client(&x->places, &c->place, "sent more than it announced");
}

/*
 * Stores why a client failed, if no failed call has stored that already.  A client that kept to the wire has not
 * failed.
 */
static void client_judge(struct client *c)
{
	const struct wire *wire = &c->receiver.wire;
	const bool open = wire->state != WIRE_DONE, stopped = *c->context->stop && open;
	const char *dropped = place_dropped(&c->context->places, &c->place),
		   *where = "in its warm-up";
	const bool whole = wire_ended(wire, &where) && !c->warming;

	if (stopped && c->calls > 0)
		strcpy(c->why, "interrupted");
	else if (dropped != NULL && open)
		snprintf(c->why, sizeof(c->why), "%s", dropped);
	else if (c->why[0] == '\0' && c->calls > 0 && !whole)
		snprintf(c->why, sizeof(c->why), "closed %s", where);
	else if (c->why[0] == '\0' && c->calls == 0 && c->context->opt->debug)
		log_client(&c->context->places, &c->place, "closed without sending anything");
	if (c->why[0] != '\0' && wire_is_tls(wire))
		strcpy(c->why, "is it zcc --tls? then this zcs needs --tls, too: ended");
	if (c->why[0] != '\0')
		string_append(c->why, sizeof(c->why), "%s after %ju byte%s", stopped ? "" : ",",
			      (uintmax_t)wire->bytes, plural(wire->bytes));
}

/*
 * Logs a client that has failed; returns whether the client has a summary.  The summaries of clients that moved
 * next to nothing are limited: such a client may reconnect often.
 */
static bool has_summary(struct client *c)
{
	struct places *places = &c->context->places;
	const uint64_t bytes = c->receiver.wire.bytes;
	bool logged;

	if (c->why[0] == '\0')
		return c->begun && (bytes >= REPORT_LEAST_BYTES || log_allows(places));
	logged = log_client(places, &c->place, "%s", c->why);
	if (!c->begun)
		return false;
	return c->context->opt->json ? logged || bytes >= REPORT_LEAST_BYTES : logged && bytes > 0;
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
	const struct sockaddr *peer = (struct sockaddr *)&c->place.peer;
	bool has_receipt;

	if (x->opt->debug)
		note("%s: connected", addr_format(peer, sizeof(c->place.peer)));
	client_bind(c);
	receive(c);
	client_judge(c);
	client_figures(c);
	has_receipt = c->begun && c->why[0] == '\0' && !x->opt->raw;
	if (has_receipt)
		receipt_send(c->place.sock, &c->figures, c->encrypted ? 0 : MSG_MORE);
	/* Another thread could not cancel what the ring of a receiver has under way. */
	receiver_close(&c->receiver);
	meter_say(&x->meter, &c->figures.host);
	c->summary = has_summary(c);
	if (has_receipt)
		linger(c);
	c->figures.cut = (c->why[0] != '\0' && !*x->stop) || c->receiver.excess || !c->begun;
	c->ended = true;
	eventfd_write(x->group.wake, 1);
	return NULL;
}

/* Reports a client that has ended, removes it from its group and frees all that it has. */
static void client_end(struct client *c)
{
	struct context *x = c->context;
	const bool failed = c->why[0] != '\0' && c->begun;

	pthread_join(c->thread, NULL);
	x->group.failed |= failed;
	x->group.served |= c->begun;
	c->silence.stalls.start_ns = c->begin.ns;
	report_client(&x->report, &c->place, &c->figures, &c->silence.stalls, c->number + 1,
		      c->summary, failed && (x->opt->once || c->calls > 0) ? c->why : NULL);
	place_close(&x->places, &c->place);
	group_remove(x, c);
	free(c);
}

/* Accepts a client, if there is one, starts its thread, and adds it to the group. */
static void client_accept(struct context *x, int listener)
{
	struct client *c = places_accept(&x->places, listener, sizeof(*c));

	if (c == NULL)
		return;
	c->context = x;
	c->number = (int)(x->accepted % INT_MAX); /* the report has number + 1 */
	receiver_init(&c->receiver, c->place.sock, x->opt->method, x->opt->raw);
	sock_interface(c->place.sock, (struct sockaddr *)&c->place.peer, c->interface);
	meter_look(&x->meter, true);
	if (x->group.n == 0)
		report_group_begin(&x->report, &c->place.peer, c->interface);
	group_join(x, c);
	if (thread_start(&c->thread, client_thread, c) == 0) {
		x->accepted++;
		return;
	}
	LIST_REMOVE(c, link);
	x->group.n--;
	x->group.failed = true;
	place_reject(&x->places, &c->place, "cannot start a thread");
	free(c);
}

void clients_accept(struct context *x, int listener, int most)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	for (; most > 0 && !places_lack(&x->places) && poll(&p, 1, 0) > 0; most--)
		client_accept(x, listener);
}

void clients_remove(struct context *x)
{
	struct client *c, *next = LIST_FIRST(&x->group.clients);

	while ((c = next) != NULL) {
		next = LIST_NEXT(c, link);
		if (c->ended)
			client_end(c);
	}
}
