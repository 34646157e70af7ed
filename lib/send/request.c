#include "lib/send/request.h"

#include "lib/net/wire.h"
#include "lib/send/sender.h"

#define BACKOFF_NS   10000000u /* the pause after a failure that passes, as a lack of ports does */
#define PAUSE_NS     20000000u /* a main thread that is late by this or more has paused */
#define REQUEST_SIZE (64 * 1024) /* bytes of each read */
#define HOPELESS     3           /* failures in a row, before any success, that end the requests */
#define CLOSE_MS     3000 /* how long the end of a connection may take after its reply or receipt */
#define ANSWER_MS    1000 /* how long the first reply may take before its connection is tested */

/*
 * One connection.
 */

/* The state that the threads share. */
struct request_run {
	struct run *run;
	struct send_report *report;
	const struct target *target;
	struct requester *requester; /* a thread each */
	struct request_server *server;
	_Atomic uint64_t begun;       /* connections of this size */
	_Atomic uint64_t failed_last; /* failures of this size since a request succeeded */
	uint64_t last_ns;             /* when the interval under way began */
};

struct requester {
	struct worker worker;
	struct request_run *rr;
	struct requests counts;
	int kept;                    /* the connection that is used again; -1: none is open */
	_Atomic uint64_t done;       /* requests that succeeded */
	_Atomic uint64_t longest_ns; /* of the interval under way */
	uint64_t reported;           /* of `done` those that intervals have had */
	char buf[REQUEST_SIZE];
};

/* A connection, and how its reply came. */
struct reply {
	uint64_t begin_ns;      /* when the request began */
	uint64_t last_ns;       /* when it began, or the last wait ended */
	uint64_t got;           /* bytes */
	enum stall_place place; /* where it waits */
	bool again;             /* over a connection that has had a reply */
	bool tested; /* the sending side is closed, so that no other request can follow */
	struct wait wait;
};

/* Ends a wait now.  The next one is at that place. */
static void end_wait(struct reply *r, enum stall_place next)
{
	const uint64_t now = now_ns();

	if (now - r->last_ns > r->wait.ns[r->place]) {
		r->wait.ns[r->place] = now - r->last_ns;
		r->wait.at_ns[r->place] = r->last_ns;
	}
	r->last_ns = now;
	r->place = next;
}

/* Sends how many bytes are asked for: 0, or the error. */
static int send_request(const struct requester *q, int fd)
{
	unsigned char header[WIRE_HEADER];
	size_t sent;
	ssize_t n;

	wire_put(header, q->counts.size);
	for (sent = 0; sent < sizeof(header); sent += (size_t)n) {
		n = TEMP_FAILURE_RETRY(send(fd, header + sent, sizeof(header) - sent, 0));
		if (n < 0)
			return errno;
	}
	return 0;
}

/* Whether the server keeps the first connection, whose reply is whole: its end would never come. */
static bool is_left_open(struct requester *q, int fd, uint64_t got)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return got == q->counts.size && !q->counts.kept && !q->rr->server->succeeded &&
	       poll(&p, 1, CLOSE_MS) == 0;
}

/*
 * A zcs without --reply takes a request for the first header of a transfer, and waits.  If the server has never
 * replied, the end of the request's side makes it close: a server that replies does that all the same.
 */
static void test_server(const struct requester *q, int fd, struct reply *r)
{
	const double timeout = q->rr->run->opt->timeout;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (q->rr->server->succeeded || q->counts.size == 0 ||
	    (timeout > 0 && timeout * 1000 <= ANSWER_MS) || poll(&p, 1, ANSWER_MS) != 0)
		return;
	r->tested = true;
	shutdown(fd, SHUT_WR);
}

/*
 * Reads to the end of the stream, or of the reply if the connection is kept, or until more bytes came than were
 * asked for.  Returns 0 or the error: an end of stream after a stop may be that of the stop's own shutdown(2).
 */
static int read_reply(struct requester *q, int fd, struct reply *r)
{
	const uint64_t size = q->counts.size, end = q->counts.kept ? size : size + 1;
	ssize_t n;

	test_server(q, fd, r);
	do {
		if (is_left_open(q, fd, r->got)) {
			q->rr->server->keeps = true;
			return ETIMEDOUT;
		}
		n = TEMP_FAILURE_RETRY(recv(fd, q->buf, REQUEST_SIZE, 0));
		if (n < 0)
			return errno;
		end_wait(r, STALL_DATA);
		r->got += (uint64_t)n;
	} while (n != 0 && r->got < end); /* more might never end */
	if (n == 0 && r->got == 0 && size > 0 && !r->again && !r->tested && q->rr->run->stop == 0)
		return ENODATA;
	if (q->counts.kept && r->got == 0)
		return EPIPE;
	if (n == 0 && !q->counts.kept && q->rr->run->stop != 0) {
		q->rr->server->keeps |= r->got == size && size > 0;
		return ECANCELED;
	}
	return r->got == size ? 0 : EMSGSIZE;
}

/* Counts a failure; before any success, too many of them end the connections. */
static void count_failure(struct requester *q, const struct reply *r, int e)
{
	struct request_run *rr = q->rr;
	const int kind = requests_count_failure(&q->counts, e);
	/* One that took long counts as all the failures. */
	const int failed = kind == FAIL_TIMEOUT || r->tested ? HOPELESS : 1;

	rr->failed_last++;
	if (kind == FAIL_PORTS || e == EMFILE || e == ENOBUFS)
		sleep_ns(BACKOFF_NS);
	if (rr->server->succeeded)
		return;
	rr->server->error = e;
	if (atomic_fetch_add(&rr->server->failures, failed) + failed >= HOPELESS)
		run_stop(rr->run, TIME_UP);
}

/* The connection of a request: a new one, or that which is kept. */
static int request_connect(struct requester *q, struct reply *r)
{
	struct request_run *rr = q->rr;
	int fd = q->kept;

	if (fd >= 0) {
		r->place = STALL_FIRST_BYTE;
		r->again = true;
		return fd;
	}
	fd = target_connect(rr->target, rr->run, q->worker.number, &q->worker.sock);
	if (fd < 0)
		return fd;
	end_wait(r, STALL_FIRST_BYTE);
	if (rr->run->opt->sock.mptcp && !rr->server->succeeded &&
	    !sock_is_mptcp(fd, NULL, NULL, NULL))
		report_tcp_alone(rr->report, rr->target->name);
	if (!q->counts.kept)
		return fd;
	/* The first request of a connection is measured as the others are. */
	*r = (struct reply){.last_ns = now_ns(), .place = STALL_FIRST_BYTE};
	r->begin_ns = r->last_ns;
	q->kept = fd;
	return fd;
}

/* Counts a request that succeeded. */
static void count_success(struct requester *q, const struct reply *r)
{
	const uint64_t ns = r->last_ns - r->begin_ns;

	if (!q->rr->server->succeeded)
		q->rr->server->succeeded = true;
	if (q->rr->failed_last != 0)
		q->rr->failed_last = 0;
	requests_count(&q->counts, &r->wait, ns);
	atomic_store_explicit(&q->done, q->done + 1, memory_order_relaxed);
	if (ns > q->longest_ns)
		q->longest_ns = ns;
}

/*
 * Makes a request, over a new connection if none is kept, and counts how it ended.  A stop shuts the socket
 * down: a request that fails after a stop counts as open.
 */
static void request_once(struct requester *q)
{
	struct request_run *rr = q->rr;
	struct reply r = {.last_ns = now_ns()};
	int fd, e;
	bool stopped;

	r.begin_ns = r.last_ns;
	fd = request_connect(q, &r);
	e = fd < 0 ? errno : send_request(q, fd);
	if (e == 0)
		e = read_reply(q, fd, &r);
	stopped = rr->run->stop != 0;
	if (e == 0) {
		count_success(q, &r);
	} else if (stopped) {
		end_wait(&r, r.place);
		requests_count_open(&q->counts, &r.wait, r.last_ns - r.begin_ns);
	}
	if (e == 0 && q->kept >= 0 && !r.tested)
		return;
	q->worker.sock = q->kept = -1;
	if (fd >= 0 && stopped) /* an orderly end would ask for a receipt */
		sock_reset_at_close(fd, true);
	if (fd >= 0)
		close(fd);
	if (e != 0 && !stopped)
		count_failure(q, &r, e);
}

/*
 * The threads.
 */

static void requester_work(void *requester)
{
	struct requester *q = requester;
	struct request_run *rr = q->rr;
	const struct send_options *opt = rr->run->opt;
	const uint64_t most = opt->seconds > 0 ? UINT64_MAX : opt->loops;

	while (rr->run->stop == 0 &&
	       atomic_fetch_add_explicit(&rr->begun, 1, memory_order_relaxed) < most)
		request_once(q);
	run_measured(rr->run);
	if (q->kept >= 0)
		close(q->kept);
	q->worker.sock = q->kept = -1;
}

/* The main thread wakes at fixed times: if it comes late, the other threads may have been as well. */
static uint64_t on_watch(void *request_run, uint64_t now)
{
	struct request_run *rr = request_run;

	pauses_look(&rr->requester[0].counts.pauses, rr->run->due_ns, now, PAUSE_NS);
	return now + PAUSE_NS;
}

static uint64_t on_interval(void *request_run, uint64_t now)
{
	struct request_run *rr = request_run;
	const struct run *r = rr->run;
	const double start = seconds_between(r->start_ns, rr->last_ns);
	struct figures f;
	struct requester *q;
	uint64_t n, ns, longest_ns = 0;

	figures_init(&f);
	f.seconds = seconds_between(rr->last_ns, now);
	for (q = rr->requester; q < rr->requester + r->opt->streams; q++) {
		n = q->done;
		f.calls += n - q->reported;
		q->reported = n;
		ns = atomic_exchange(&q->longest_ns, 0);
		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	/* The time was up as an interval ended. */
	if (r->running == 0 && f.calls == 0 && f.seconds < r->opt->interval / 10)
		return NEVER;
	f.bytes = f.calls * rr->requester[0].counts.size;
	requests_interval(rr->report, &f, start, longest_ns);
	rr->last_ns = now;
	return interval_after(r->due_ns, now, r->opt->interval);
}

/* Makes the connections, and waits for their end. */
static void request_all(struct request_run *rr)
{
	struct run *r = rr->run;
	struct netstat from, to;

	r->how = SHUT_RD; /* ends what blocks, a connect(2), too, and sends nothing */
	netstat_read(&from);
	run_start(r, requester_work, rr->requester, sizeof(*rr->requester), r->opt->seconds);
	struct event event[] = {{now_ns() + PAUSE_NS, on_watch},
				{time_after(r->start_ns, r->opt->interval), on_interval}};
	rr->last_ns = r->start_ns;
	rr->report->intervals = (struct intervals){
		.period = r->opt->interval, .timestamps = r->opt->timestamps, .requests = true};
	while (r->running > 0 && !r->is_broken)
		run_step(r, event, 2, rr);
	if (r->is_broken)
		die("%s", r->failure);
	if (r->opt->interval > 0)
		on_interval(rr, now_ns());
	run_end(r);
	netstat_read(&to);
	rises_between(&from, &to, &rr->requester[0].counts.tcp, sizeof(to));
}

/*
 * Asks the server for a receipt, by a connection that ends before it asks for anything.  A server of 1999 may then send
 * what it was asked for last; an old zcs sends nothing.  Returns whether there is one, which is of the time since the
 * one before.
 */
static bool receipt_ask(const struct target *target, const struct run *r, struct figures *f)
{
	_Atomic int sock;
	struct pollfd p = {.fd = target_connect(target, r, -1, &sock), .events = POLLIN};
	char buf[RECEIPT_MAX + 1];
	size_t len = 0;
	ssize_t n = -1;

	if (p.fd < 0)
		return false;
	shutdown(p.fd, SHUT_WR);
	while (len < sizeof(buf) && poll(&p, 1, CLOSE_MS) > 0 &&
	       (n = recv(p.fd, buf + len, sizeof(buf) - len, MSG_DONTWAIT)) > 0)
		len += (size_t)n;
	close(p.fd);
	return n == 0 && receipt_parse(buf, len, f) == NULL && f->refused[0] == '\0';
}

/* Takes the server's receipt, if it `has_come`, of the replies since the one before, as far as that is of this run alone. */
static void receipt_take(struct requests *q, const struct figures *f, bool has_come)
{
	q->has_receipt = has_come && f->seconds >= q->host.seconds;
	q->received = *f;
	q->received.requests.n = (double)f->calls;
	if (!q->has_receipt)
		warnx("%s: its load is not known",
		      has_come ? "the server's receipt lacks a part of the run, as another "
				 "client has asked, too"
			       : "the server's receipt did not come");
}

/* Adds what all threads saw to the counts of the first. */
static void requests_sum(struct request_run *rr)
{
	struct run *r = rr->run;
	struct requests *sum = &rr->requester[0].counts;
	struct figures *host = &sum->host;
	int i;

	for (i = 1; i < r->opt->streams; i++)
		requests_add(sum, &rr->requester[i].counts);
	sum->failed_last = rr->failed_last;
	requests_settle(sum);
	for (i = 0; i < r->opt->streams; i++)
		requests_settle_open(sum, &rr->requester[i].counts);
	sum->slow.start_ns = r->start_ns;
	figures_init(host);
	host->seconds = seconds_between(r->start_ns, r->gauge.to.counters.ns);
	host->bytes = sum->latency[TOTAL].n * sum->size;
	requests_figures(sum);
	run_host_figures(r, host);
}

/* The error of the requests as a whole: NULL, or a text, which may be in `why`. */
static const char *requests_error(const struct request_run *rr, char why[DIE_MAX])
{
	const struct send_options *opt = rr->run->opt;
	const bool unanswered = rr->server->error == ENODATA && !rr->server->closes &&
				!rr->server->keeps;
	const char *what = rr->server->closes       ? "it closes each connection after its reply"
			   : rr->server->keeps      ? "it keeps its connections open"
			   : rr->server->error != 0 ? "the first connections failed, "
						    : "none of the connections succeeded";

	if (rr->run->stop > 0)
		return "interrupted";
	/* A connection under way at the end may have succeeded, but the rest were not made. */
	if (rr->server->succeeded && rr->server->failures < HOPELESS && !rr->server->closes)
		return NULL;
	snprintf(why, DIE_MAX, "%s port %s: %s%s", opt->server, opt->port, what,
		 rr->server->error != 0 && !rr->server->closes && !rr->server->keeps
			 ? failure_text(rr->server->error)
			 : "");
	if (rr->server->error == EMFILE && !rr->server->closes && !rr->server->keeps)
		string_append(why, DIE_MAX, ": raise ulimit -n");
	else if (unanswered)
		string_append(why, DIE_MAX, ": is zcs at its --max-clients, or --allow?");
	else
		string_append(why, DIE_MAX, ": is there a zcs --reply%s?",
			      opt->keep           ? " --keep"
			      : rr->server->keeps ? " without --keep"
						  : "");
	return why;
}

bool requests_go_on(const struct request_server *server)
{
	return server->failures < HOPELESS && !server->closes;
}

const char *requests_run(struct run *run, struct send_report *report, const struct target *target,
			 struct request_server *server, struct requests *all, char why[DIE_MAX])
{
	const struct send_options *opt = run->opt;
	struct request_run rr = {.run = run, .report = report, .target = target, .server = server};
	struct figures received;
	bool has_receipts, has_come;
	const char *error;
	int i;

	rr.requester = alloc_or_die((size_t)opt->streams, sizeof(*rr.requester), "requests");
	for (i = 0; i < opt->streams; i++) {
		rr.requester[i].rr = &rr;
		rr.requester[i].kept = -1;
		rr.requester[i].counts = (struct requests){.size = (uint32_t)opt->request,
							   .kept = opt->keep};
	}
	run->interface = target->interface;
	requests_begin(report, (uint32_t)opt->request);
	has_receipts = opt->compares && receipt_ask(target, run, &received);
	request_all(&rr);
	/* At once: the server soon measures its idle host anew, and its load of the requests would be lost. */
	has_come = has_receipts && receipt_ask(target, run, &received);
	if (server->failures < HOPELESS)
		run_baseline_after(run);
	requests_sum(&rr);
	*all = rr.requester[0].counts;
	if (has_receipts)
		receipt_take(all, &received, has_come);
	if (opt->keep && 2 * all->failed[FAIL_RESET] > all->latency[TOTAL].n)
		server->closes = true;
	error = requests_error(&rr, why);
	free(rr.requester);
	return error;
}
