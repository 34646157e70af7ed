#include "lib/receive/client.h"

#include <limits.h>
#include <sys/eventfd.h>

#define ACCEPT_NS      1000000000u /* for another thread to accept the client that waits, at most */
#define PAUSE_LEAST_NS 100000u     /* between the first two looks for that */
#define PAUSE_MOST_NS  5000000u    /* between two looks, about: each pause is twice the last */
#define SOON_MS        1           /* that a thread which accepts clients waits for one */
#define END_NS         20000       /* for the end of a stream of one call */
#define LINGER         10          /* seconds for a client to close, at most */
#define RECEIPT_NS     1000000000u /* for a client to take its receipt */
#define VERDICT_MAX    160
#define LEAST_NS       1000 /* that a transfer takes: a receipt has microseconds, and 0 is no time */

struct client {
	struct place place;
	struct context *context;
	struct member member;
	struct receiver receiver;
	int number;            /* from 0 */
	struct worker *worker; /* whose thread it has */
	double cpu;            /* to which its thread is bound; NAN: none */
};

/*
 * A thread that has served a client accepts the next one itself, as long as none of its clients makes
 * it wait: to wake another thread costs as much as a short client.  Before it waits it makes the main
 * thread accept clients again.
 */
static void accept_elsewhere(struct context *x, struct worker *w)
{
	if (atomic_compare_exchange_strong(&x->acceptor, &w, NULL))
		eventfd_write(x->group.wake, 1);
}

/*
 * Reads the client's counts, and with `counters` the host's, into *mark.  The counters take long to
 * read, unless another client has just read them: at the begin of what is measured they are read first,
 * at its end last.
 */
static void client_mark(const struct client *c, struct mark *mark, bool counters)
{
	const bool begins = mark == &c->member.begin;

	if (counters && begins)
		readings_get(&c->context->readings, c->member.interface, &mark->counters);
	mark->bytes = c->receiver.wire.bytes;
	mark->files = c->receiver.wire.files;
	mark->calls = c->member.calls;
	mark_now(&c->context->meter, &c->member.tally, mark);
	if (counters && !begins)
		readings_get(&c->context->readings, c->member.interface, &mark->counters);
}

/* Counts what a call has received.  Returns 1 if more comes, 0 at the end or after a signal, or -1. */
static int count_received(struct client *c, ssize_t n)
{
	const struct wire *wire = &c->receiver.wire;

	if (n <= 0)
		return (int)n;
	atomic_store_explicit(&c->member.bytes, wire->bytes, memory_order_relaxed);
	c->member.calls++;
	return wire->state != WIRE_DONE &&
	       !atomic_load_explicit(c->context->stop, memory_order_relaxed);
}

static int receive_some(struct client *c)
{
	return count_received(c, receiver_receive(&c->receiver));
}

/*
 * Receives what has come up to now, also what is below the low-water mark, by as many calls as that
 * takes.  Returns what receive_some() does.
 */
static int receive_queued(struct client *c)
{
	size_t left = receiver_queued(&c->receiver);
	ssize_t n;
	int more = 1;

	while (more > 0 && left > 0 && receiver_wait_more(&c->receiver, 0)) {
		n = receiver_receive(&c->receiver);
		left -= n > 0 && (size_t)n < left ? (size_t)n : left;
		more = count_received(c, n);
	}
	return more;
}

/*
 * Receives for the first time, and opens the receiver if more comes.  Returns what receive_some() does.
 * The clock starts when the first byte is there and before it is read, so that a transfer of one read
 * takes time too.
 */
static int receive_first(struct client *c)
{
	struct context *x = c->context;
	struct mark *begin = &c->member.begin;
	int more = 1, e;
	ssize_t n;

	client_mark(c, begin, true);
	n = receiver_receive_first(&c->receiver, x->opt->buffer);
	if (n < 0 && errno == EAGAIN) {
		if (x->acceptor != c->worker || !receiver_wait(&c->receiver, SOON_MS)) {
			accept_elsewhere(x, c->worker);
			receiver_wait(&c->receiver, -1);
		}
		/* The host's counters are read again only if they are old. */
		client_mark(c, begin, now_ns() > begin->ns + READING_NS);
		n = receiver_receive_first(&c->receiver, x->opt->buffer);
	}
	if (n >= 0 || errno != EAGAIN)
		more = count_received(c, n);
	if (more <= 0)
		return more;
	e = receiver_open(&c->receiver, x->opt->buffer, &x->buffers);
	if (e != 0) {
		errno = e;
		return -1;
	}
	if (n < 0)
		more = receive_some(c);
	if (more > 0)
		accept_elsewhere(x, c->worker);
	return more;
}

/* Reads until the wire or the stream ends; returns 0 or the errno of the call that failed. */
static int receive(struct client *c)
{
	struct context *x = c->context;
	const struct wire *wire = &c->receiver.wire;
	struct mark *begin = &c->member.begin;
	uint64_t end, now;
	int more = receive_first(c);

	while (more > 0 && !wire->has_file && !x->opt->raw)
		more = receive_some(c);
	if (wire->empty_loops > 0 && more > 0) {
		c->member.warming = true;
		end = begin->ns + (uint64_t)wire->empty_loops * WIRE_WARMUP_NS;
		/* The end of the warm-up interrupts the wait: a stall after it is measured. */
		while (more > 0 && (now = now_ns()) < end)
			if (receiver_wait_more(&c->receiver, (int)((end - now) / 1000000) + 1))
				more = receive_some(c);
		if (more > 0)
			more = receive_queued(c);
		if (more > 0) {
			client_mark(c, begin, true);
			c->member.warming = false;
		}
	}
	while (more > 0)
		more = receive_some(c);
	return more < 0 ? errno : 0;
}

/*
 * Stores the figures of a client that has ended.  TCP is asked for nothing about a small stream that
 * came in one call: it has no round trip and no full segment.
 */
static void client_figures(struct client *c, struct figures *f)
{
	struct mark *begin = &c->member.begin, *end = &c->member.end;
	uint64_t ns = end->ns;

	client_mark(c, end, ns > begin->counters.ns + RATES_NS);
	end->ns = ns;
	if (c->member.warming)
		*begin = *end;
	figures_between(c->context, begin, end, f);
	f->warmup = begin->bytes;
	f->clients = c->context->group.total;
	f->cpu = c->cpu;
	strcpy(f->version, c->context->program.version);
	strcpy(f->kernel, c->context->program.kernel);
	if (isnan(f->host.load))
		strcpy(f->no_load, meter_no_load(&c->context->meter, f->host.unsafe));
	if (c->member.calls > 1 || f->bytes >= REPORT_LEAST_BYTES || c->context->opt->json)
		tcp_figures_read(c->place.sock, c->context->mptcp, &f->tcp);
}

/*
 * Sends the receipt, with which the end of the stream is to go: the caller sends that next.  A client
 * of 2001 has closed by now, and no receipt reaches it: that is no error.
 */
static void send_receipt(int sock, const char *line, size_t len)
{
	struct pollfd p = {.fd = sock, .events = POLLOUT};
	uint64_t until = 0;
	size_t sent = 0;
	ssize_t n;

	while (sent < len) {
		n = TEMP_FAILURE_RETRY(
			send(sock, line + sent, len - sent, MSG_DONTWAIT | MSG_MORE));
		if (n >= 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno != EAGAIN || (until != 0 && now_ns() >= until))
			break;
		if (until == 0)
			until = now_ns() + RECEIPT_NS;
		poll(&p, 1, 100);
	}
}

/*
 * Whether the client has half-closed already, and sent nothing behind what it announced.  The end of a
 * stream of one call often comes a microsecond after that call, and is cheaper to wait for than linger()
 * is; not for long, since other clients may wait for this thread.
 */
static bool has_half_closed(struct client *c)
{
	const struct timespec end = {.tv_nsec = END_NS};
	struct pollfd p = {.fd = c->place.sock, .events = POLLIN};
	char byte;
	ssize_t n = recv(c->place.sock, &byte, 1, 0);

	if (n < 0 && errno == EAGAIN && c->member.calls == 1 && ppoll(&p, 1, &end, NULL) > 0)
		n = recv(c->place.sock, &byte, 1, 0);
	c->receiver.excess |= n > 0;
	return n == 0 && !c->receiver.excess;
}

/*
 * Waits for the client to close: if the socket were closed with something unread, the kernel would
 * reset the connection and the client would lose its receipt.
 */
static void linger(struct client *c)
{
	struct context *x = c->context;
	double limit = x->opt->idle_timeout > 0 ? fmin(LINGER, x->opt->idle_timeout) : LINGER;
	struct pollfd p = {.fd = c->place.sock, .events = POLLIN};
	bool waits = place_linger(&x->places, &c->place);
	char byte;
	ssize_t n = recv(c->place.sock, &byte, 1, 0); /* most have closed by now */

	if (n < 0 && waits) {
		if (x->acceptor != c->worker || poll(&p, 1, SOON_MS) == 0) {
			accept_elsewhere(x, c->worker);
			poll(&p, 1, (int)ceil(limit * 1000));
		}
		n = recv(c->place.sock, &byte, 1, 0);
	}
	c->receiver.excess |= n > 0;
	if (c->receiver.excess)
		log_client(&x->places, &c->place, "sent more than it announced");
}

/* Why a client that has ended did not keep to the wire, in buf; NULL if it did. */
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
	if (c->place.dropped != NOT_DROPPED && !done)
		place_format_dropped(&c->context->places, &c->place, why, sizeof(why));
	else if (error != 0)
		snprintf(why, sizeof(why), "%s", receiver_explain(&c->receiver, error, text));
	else if (c->member.calls == 0)
		return "closed without sending anything";
	else if (whole && !c->member.warming)
		return NULL;
	else
		snprintf(why, sizeof(why), "closed %s", where);
	snprintf(buf, VERDICT_MAX, "%s, after %ju byte%s", why, (uintmax_t)wire->bytes,
		 plural(wire->bytes));
	return buf;
}

/*
 * Logs or counts a client that has ended; returns whether it has a summary.  One that moved next
 * to nothing may come back soon, so that its summaries are limited.
 */
static bool has_summary(struct client *c, const char *why)
{
	struct context *x = c->context;
	uint64_t bytes = c->receiver.wire.bytes;
	bool logged = why != NULL && log_client(&x->places, &c->place, "%s", why);

	if (why != NULL && !x->opt->json)
		return logged && bytes > 0;
	if (bytes >= REPORT_LEAST_BYTES || log_line(&x->places, LOG_SMALL, &c->place) >= 0)
		return true;
	if (!x->opt->json)
		report_count_small(&x->report, bytes);
	return false;
}

/* Binds the thread, which another client may have bound, to the client's CPU. */
static void client_bind(struct client *c)
{
	const int cpu = cpu_of(&c->context->opt->bind, c->number);
	int e;

	c->cpu = NAN;
	if (cpu < 0)
		return;
	if (cpu_bind(cpu) == 0) {
		c->cpu = cpu;
		return;
	}
	/* A CPU of -B may have gone offline since the start; its clients are served all the same. */
	e = errno;
	cpu_unbind();
	log_client(&c->context->places, &c->place, "served on any CPU: cannot bind to CPU %d: %s",
		   cpu, strerror(e));
}

/* Accepts a client, if there is one and it is not rejected.  It is not in the group yet. */
static struct client *client_take(struct context *x)
{
	struct client *c = places_accept(&x->places, x->listener, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->context = x;
	receiver_init(&c->receiver, c->place.sock, x->opt->method, x->opt->raw);
	routes_interface(&x->routes, &c->place.peer, c->member.interface);
	if (x->opt->sock.mptcp) /* with TCP it is inherited from the listener */
		sock_keep_alive(c->place.sock);
	return c;
}

/* Adds it to the group.  The caller has the group's lock. */
static void client_join(struct client *c)
{
	struct context *x = c->context;

	if (x->opt->json && x->group.n == 0)
		report_group_begin(&x->report, &c->place.peer, c->member.interface);
	group_join(x, &c->member);
	c->number = (int)(x->accepted++ % INT_MAX); /* the report has number + 1 */
}

/*
 * Accepts a client that waits, in a client's thread; NULL if there is none.  Unless `sure`, there may be
 * none: accept(2) in vain costs more than poll(2), which looks first where the last one was in vain.
 */
static struct client *client_take_next(struct context *x, const struct worker *w, bool sure)
{
	struct pollfd p = {.fd = x->listener, .events = POLLIN};
	struct client *c = NULL;

	pthread_mutex_lock(&x->accepting);
	if (x->listener >= 0 && x->acceptor == w && !places_lack(&x->places) &&
	    (sure || !x->in_vain || poll(&p, 1, 0) > 0)) {
		c = client_take(x);
		x->in_vain = sure || c == NULL;
	}
	if (c != NULL) {
		pthread_mutex_lock(&x->group.lock);
		client_join(c);
		pthread_mutex_unlock(&x->group.lock);
	}
	pthread_mutex_unlock(&x->accepting);
	return c;
}

/* Closes all that the client has.  It keeps its place, as it has a thread. */
static void client_close(struct client *c)
{
	receiver_close(&c->receiver);
	place_close(&c->context->places, &c->place);
}

/*
 * A client that waits to be accepted belongs to the group, whose last client leaves after that.  Once
 * another client has joined, that one waits in turn.  The thread that accepts may have no CPU for long.
 */
static void await_acceptance(struct context *x)
{
	const uint64_t accepted = x->accepted, until = now_ns() + ACCEPT_NS;
	struct pollfd p = {.fd = x->listener, .events = POLLIN};
	uint64_t pause_ns = PAUSE_LEAST_NS;

	while (!*x->stop && poll(&p, 1, 0) > 0 && x->accepted == accepted &&
	       !places_lack(&x->places) && now_ns() < until) {
		sleep_ns(pause_ns);
		if (pause_ns < PAUSE_MOST_NS)
			pause_ns *= 2;
	}
	/* Who has accepted it gives the lock back when it has joined. */
	pthread_mutex_lock(&x->accepting);
	pthread_mutex_unlock(&x->accepting);
}

/*
 * Serves a client to its end.  Returns one that the same thread has accepted meanwhile, before this one
 * has left the group, so that both are in one; else NULL.
 */
static struct client *client_serve(struct client *c)
{
	struct client *next;
	struct context *x = c->context;
	struct place *p = &c->place;
	char name[ADDR_STRLEN], text[VERDICT_MAX], receipt[RECEIPT_MAX];
	struct figures f;
	const char *why;
	bool summary, lingers = false;
	size_t len;
	int e;

	if (x->opt->debug) /* not under a lock: whoever reads stderr may do so late */
		note("%s: connected",
		     addr_format((struct sockaddr *)&p->peer, sizeof(p->peer), name));
	client_bind(c);
	e = receive(c);
	c->member.end.ns = now_ns();
	if (c->member.end.ns < c->member.begin.ns + LEAST_NS)
		c->member.end.ns = c->member.begin.ns + LEAST_NS;
	why = verdict(c, e, text);
	x->group.failed |= why != NULL;
	client_figures(c, &f);
	if (why == NULL && !x->opt->raw) {
		len = receipt_format(&f, receipt);
		lingers = x->opt->json || !has_half_closed(c); /* most have by now */
		send_receipt(p->sock, receipt, len);
		if (lingers)
			shutdown(p->sock, SHUT_WR);
		else
			client_close(c);
	}
	meter_say(&x->meter, &f.host);
	f.cut = (why != NULL && !*x->stop) || c->receiver.excess;
	summary = has_summary(c, why);
	if (!x->opt->json && summary)
		report_client(&x->report, &p->peer, &f, c->receiver.wire.empty_loops > 0);
	if (lingers) {
		linger(c);
		f.cut |= c->receiver.excess;
	}
	if (x->opt->json && why != NULL && (x->opt->once || c->member.calls > 0))
		report_cut(&x->report, &p->peer, why);
	/* All that the client has is closed before it leaves the group, which may end then. */
	if (x->opt->json)
		report_stream(&x->report, p->sock, &p->peer, &f, c->number + 1, summary);
	if (p->sock >= 0)
		client_close(c);
	place_release(&x->places, p);
	next = x->acceptor == c->worker ? client_take_next(x, c->worker, false) : NULL;
	if (next == NULL && x->acceptor != c->worker)
		await_acceptance(x);
	group_remove(x, &c->member, &f, summary);
	free(c);
	return next;
}

/*
 * Returns the next client of a thread that has served one, or NULL.  With -1 the main thread has to
 * see all clients come, and with -c it wakes the soakers for them.
 */
static struct client *client_next(struct context *x, struct worker *w)
{
	struct pollfd p = {.fd = x->listener, .events = POLLIN};
	struct worker *nobody = NULL;
	struct client *c;

	if (x->opt->once || meter_measures(&x->meter) ||
	    (x->acceptor != w && !atomic_compare_exchange_strong(&x->acceptor, &nobody, w)))
		return NULL;
	while (x->acceptor == w && !*x->stop && !places_lack(&x->places) &&
	       poll(&p, 1, POOL_NS / 1000000) > 0) {
		c = client_take_next(x, w, true);
		if (c != NULL)
			return c;
	}
	accept_elsewhere(x, w);
	return NULL;
}

static void client_thread(struct worker *w, void *arg)
{
	struct client *c = arg;
	struct context *x = c->context;

	/* The client has joined its group once client_accept() gives the lock back. */
	pthread_mutex_lock(&x->group.lock);
	pthread_mutex_unlock(&x->group.lock);
	do {
		c->worker = w;
		c = client_serve(c);
		if (c == NULL)
			c = client_next(x, w);
	} while (c != NULL);
}

/* Has a thread of its own serve a client that was accepted, or rejects it. */
static void client_start(struct client *c)
{
	struct context *x = c->context;
	int e;

	pthread_mutex_lock(&x->group.lock);
	e = pool_run(&x->pool, client_thread, c);
	if (e == 0) {
		client_join(c);
	} else {
		x->group.failed = true;
		place_reject(&x->places, &c->place, REFUSED_FULL);
		log_client(&x->places, &c->place, "rejected: cannot start a thread: %s",
			   strerror(e));
		free(c);
	}
	pthread_mutex_unlock(&x->group.lock);
}

void client_accept(struct context *x)
{
	struct client *c;

	/* Until it has joined no client that waits for that leaves: await_acceptance(). */
	pthread_mutex_lock(&x->accepting);
	c = client_take(x);
	if (c != NULL) {
		meter_want(&x->meter);
		client_start(c);
	}
	pthread_mutex_unlock(&x->accepting);
}
