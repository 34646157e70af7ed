#include "lib/receive/group.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#define EVENTS     64          /* of one epoll_wait() */
#define REPLY_SIZE (64 * 1024) /* bytes of each send of a reply */

#define ARRIVAL_NS 50000000u /* between two looks for a first client, if the load is measured */
/* Intervals are still printed for this time after the last client: two lost SYNs delay a client by 3 s. */
#define SERIES_NS 4000000000u

struct request {
	struct place place;
	unsigned char header[WIRE_HEADER];
	unsigned header_len; /* bytes of the header that have arrived */
	uint32_t unsent;     /* bytes of the reply */
	bool answered;       /* it has had a reply */
	uint32_t events;     /* for which epoll(7) watches it; 0: it is not watched yet */
};

struct reply_worker {
	struct replier *all;
	pthread_t thread;
	int epoll;
	bool paused; /* it accepts no client, since accept(2) lacked a resource */
	_Atomic uint64_t replies, bytes;
};

struct replier {
	struct context *context;
	int listener, n; /* the socket, and the number of workers */
	struct reply_worker *worker;
	struct reply_total total;
	uint64_t seen_replies; /* at the last look at them */
	pthread_mutex_t lock;  /* for the next member */
	struct mark receipt;   /* when the last receipt was sent */
};

static void request_close(struct reply_worker *w, struct request *q)
{
	place_close(&w->all->context->places, &q->place);
	free(q);
}

/* Has these events wake the worker.  A request that has arrived with its client needs none. */
static void request_watch(struct reply_worker *w, struct request *q, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = q};
	const int op = q->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (q->events == events || epoll_ctl(w->epoll, op, q->place.sock, &ev) == 0) {
		q->events = events;
		return;
	}
	place_reject(&w->all->context->places, &q->place, "out of memory");
	free(q);
}

/*
 * After a call that moved nothing and returned n, waits for these events to repeat it.  Closes a connection
 * that failed, or that the client has closed (n is 0).
 */
static void request_wait(struct reply_worker *w, struct request *q, ssize_t n, uint32_t events)
{
	struct reply_total *total = &w->all->total;
	struct context *x = w->all->context;
	const char *dropped;

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		request_watch(w, q, events);
		return;
	}
	dropped = place_dropped(&x->places, &q->place);
	if (dropped != NULL) {
		total->silent += q->place.dropped != DROP_FULL; /* which is `refused` */
		log_client(&x->places, &q->place, "%s", dropped);
	} else {
		total->broken++;
		log_client(&x->places, &q->place, "%s",
			   n < 0 ? strerror(errno) : "closed in the middle of its request");
	}
	request_close(w, q);
}

static void reply_send(struct reply_worker *w, struct request *q)
{
	static const char data[REPLY_SIZE];
	ssize_t n;

	while (q->unsent > 0) {
		n = send(q->place.sock, data, q->unsent < REPLY_SIZE ? q->unsent : REPLY_SIZE, 0);
		if (n < 0) {
			request_wait(w, q, n, EPOLLOUT);
			return;
		}
		q->unsent -= (uint32_t)n;
		atomic_store_explicit(&w->bytes, w->bytes + (uint64_t)n, memory_order_relaxed);
	}
	atomic_store_explicit(&w->replies, w->replies + 1, memory_order_relaxed);
	if (!w->all->context->opt->keep) {
		request_close(w, q);
		return;
	}
	q->header_len = 0;
	q->answered = true;
	request_watch(w, q, EPOLLIN);
}

static void replies_count(const struct replier *r, struct mark *mark)
{
	int i;

	mark->calls = mark->bytes = 0;
	for (i = 0; i < r->n; i++) {
		mark->calls += r->worker[i].replies;
		mark->bytes += r->worker[i].bytes;
	}
}

/* Sends a client what was replied since the last receipt, and this host's load of that time. */
static void request_receipt(struct replier *r, const struct place *p)
{
	struct context *x = r->context;
	struct mark now = {.ns = 0};
	char interface[IF_NAMESIZE];
	struct figures f;
	struct link link;

	sock_interface(p->sock, (const struct sockaddr *)&p->peer, interface);
	link_read(&link, interface);
	pthread_mutex_lock(&r->lock);
	counters_recent(&x->counters, interface, &now.counters);
	replies_count(r, &now);
	mark_now(&x->meter, &now);
	figures_between(x, &r->receipt, &now, &f);
	r->receipt = now;
	pthread_mutex_unlock(&r->lock);
	f.method[0] = '\0'; /* it is one of receiving */
	figures_describe(x, &link, &f);
	receipt_send(p->sock, &f, 0);
}

/* Reads what there is of the header, and replies once it is whole. */
static void request_read(struct reply_worker *w, struct request *q)
{
	struct context *x = w->all->context;
	const ssize_t n = recv(q->place.sock, q->header + q->header_len,
			       WIRE_HEADER - q->header_len, 0);
	uint32_t size;

	q->header_len += n > 0 ? (unsigned)n : 0;
	memcpy(&size, q->header, sizeof(size));
	size = ntohl(size);
	if ((n == 0 || (n < 0 && errno == ECONNRESET)) && q->header_len == 0 &&
	    q->place.dropped == DROP_NONE) {
		if (n == 0 && !q->answered) /* or it only looked whether the port is open */
			request_receipt(w->all, &q->place);
		request_close(w, q);
	} else if (n <= 0) {
		request_wait(w, q, n, EPOLLIN);
	} else if (q->header_len < WIRE_HEADER) {
		request_watch(w, q, EPOLLIN);
	} else if (size > x->opt->max_reply) {
		w->all->total.too_large++;
		log_client(&x->places, &q->place, "requested %u byte%s, more than --max-reply%s",
			   size, plural(size),
			   size == WIRE_FOREVER ? ": is it a zcc without --request?" : "");
		request_close(w, q);
	} else {
		q->unsent = size;
		reply_send(w, q);
	}
}

/* Starts or stops accepting in the worker.  EPOLLEXCLUSIVE can only be added and deleted. */
static int worker_listen(struct reply_worker *w, bool on)
{
	struct epoll_event new = {.events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = w};

	return epoll_ctl(w->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, w->all->listener, &new);
}

static void *worker_thread(void *arg)
{
	struct reply_worker *w = arg;
	struct context *x = w->all->context;
	struct epoll_event ev[EVENTS];
	struct request *q;
	bool lack;
	int n, i;

	cpu_bind_or_die(&x->opt->bind, (int)(w - w->all->worker));
	while (!*x->stop) {
		lack = places_lack(&x->places);
		if (lack != w->paused && worker_listen(w, !lack) == 0)
			w->paused = lack;
		n = epoll_wait(w->epoll, ev, EVENTS, lack ? (int)(LACK_NS / 1000000) : -1);
		for (i = 0; i < n; i++) {
			q = ev[i].data.ptr;
			if (ev[i].data.ptr == w) /* a client's request has often come with it */
				q = places_accept(&x->places, w->all->listener, sizeof(*q));
			if (q != NULL && q->header_len < WIRE_HEADER)
				request_read(w, q);
			else if (q != NULL)
				reply_send(w, q);
		}
	}
	return NULL;
}

static void workers_start(struct replier *r)
{
	struct epoll_event end = {.events = EPOLLIN, .data.ptr = NULL};
	struct cpus online;
	struct reply_worker *w;
	int e;

	cpus_online(&online);
	r->n = r->context->opt->bind.n > 0 ? r->context->opt->bind.n : online.n;
	r->worker = alloc_or_die((size_t)r->n, sizeof(*r->worker), "repliers");
	/* All are opened before the first runs, whose clients may take all descriptors that are left. */
	for (w = r->worker; w < r->worker + r->n; w++) {
		w->all = r;
		w->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (w->epoll < 0 ||
		    epoll_ctl(w->epoll, EPOLL_CTL_ADD, r->context->group.wake, &end) != 0 ||
		    worker_listen(w, true) != 0)
			die_errno("epoll");
	}
	for (w = r->worker; w < r->worker + r->n; w++) {
		e = thread_start(&w->thread, worker_thread, w);
		if (e != 0)
			die("thread %d of %d: %s", (int)(w - r->worker) + 1, r->n, strerror(e));
	}
}

/*
 * Waits for a signal, until `until`, or until a measurement of the load begins or ends: an interval has the load
 * of its whole time, or none.
 */
static void replies_wait(struct replier *r, uint64_t until, const sigset_t *unblocked)
{
	struct context *x = r->context;
	struct mark seen;
	uint64_t now, due;
	bool clients;

	while (!*x->stop && (now = now_ns()) < until) {
		replies_count(r, &seen);
		clients = seen.calls != r->seen_replies || x->places.n > 0;
		r->seen_replies = seen.calls;
		if (meter_look(&x->meter, clients))
			return;
		due = now + (x->meter.wanted && !clients ? ARRIVAL_NS : LOOK_NS);
		due = x->meter.due_ns < due ? x->meter.due_ns : due;
		wait_for_events(x, NULL, 0, due < until ? due : until, unblocked);
		places_look(&x->places);
	}
}

void serve_replies(struct context *x, int listener, const sigset_t *unblocked)
{
	const uint64_t period = (uint64_t)(x->opt->interval * 1e9);
	struct replier r = {.context = x, .listener = listener, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct mark start = {.ns = 0}, last, now = {.ns = 0};
	uint64_t busy_ns = 0; /* when an interval last had a reply or a client */
	struct netstat from, to;
	struct figures f;
	struct place *p;
	int i;

	netstat_read(&from);
	/* The first mark precedes the workers, so that the total includes all their replies. */
	mark_now(&x->meter, &start);
	last = r.receipt = start;
	workers_start(&r);
	while (!*x->stop) {
		replies_wait(&r, period > 0 ? now_ns() + period : UINT64_MAX, unblocked);
		replies_count(&r, &now);
		mark_now(&x->meter, &now);
		figures_between(x, &last, &now, &f);
		meter_say(&x->meter, &f.host);
		if (f.calls > 0 || x->places.n > 0)
			busy_ns = now.ns;
		/* An interval without a reply is a stall if a client is or recently was connected. */
		if (busy_ns != 0 && now.ns < busy_ns + SERIES_NS && !x->opt->quiet &&
		    /* cppcheck-suppress knownConditionTrueFalse ; a signal handler sets it */
		    (!*x->stop || !isnan(f.host.load)))
			report_replies(&x->report, &f, seconds_between(start.ns, last.ns), NULL);
		last = now;
	}
	eventfd_write(x->group.wake, 1);
	for (i = 0; i < r.n; i++)
		pthread_join(r.worker[i].thread, NULL);
	while ((p = LIST_FIRST(&x->places.all)) != NULL) {
		place_close(&x->places, p);
		free(p);
	}
	close(listener);
	replies_count(&r, &now);
	now.ns = now_ns();
	figures_between(x, &start, &now, &f);
	load_init(&f.host); /* it would be a mean over idle hours */
	r.total.refused = x->places.refused;
	netstat_read(&to);
	rises_between(&from, &to, &r.total.tcp, sizeof(to));
	report_replies(&x->report, &f, 0, &r.total);
	free(r.worker);
}
