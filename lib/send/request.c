#include "lib/send/request.h"

#include "lib/net/wire.h"

#define BACKOFF_NS   10000000u /* the pause after a failure that passes, as a lack of ports does */
#define REQUEST_SIZE (64 * 1024) /* bytes of each read */
#define HOPELESS     3           /* failures in a row, before any success, that end the requests */

/*
 * One connection.
 */

/* The state that the threads share. */
struct request_run {
	struct run *run;
	struct send_report *report;
	const struct target *target;
	struct requester *requester; /* a thread each */
	uint32_t size;               /* bytes asked for now */
	_Atomic uint64_t left, done; /* connections still to be made, and made */
	_Atomic bool succeeded;      /* a connection has, of whatever size */
	pthread_mutex_t lock;        /* of the next two */
	int failures, error;         /* failures before any success, and the last of their errors */
	_Atomic bool hopeless;       /* too many failed so: no more connections are made */
	uint64_t watch_ns;           /* when the main thread is to look next whether it came late */
	struct stall_evidence evidence;
};

struct requester {
	struct worker worker;
	struct request_run *rr;
	struct requests counts;
	char buf[REQUEST_SIZE];
};

/* A connection, and how its reply came. */
struct reply {
	uint64_t begin_ns; /* before the connection was made */
	uint64_t got;      /* bytes */
	uint64_t first_ns; /* when the first byte had been read */
	uint64_t last_ns;  /* when the connection was made, or data last came */
	struct wait wait;
};

/* Sends how many bytes are asked for: 0, or the error. */
static int send_request(const struct request_run *rr, int fd)
{
	unsigned char header[WIRE_HEADER];
	size_t sent = 0;
	ssize_t n;

	wire_put(header, rr->size);
	while (sent < sizeof(header)) {
		n = send(fd, header + sent, sizeof(header) - sent, 0);
		if (n < 0 && errno != EINTR)
			return errno;
		sent += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Notes the wait that ended at `now`, if it is the longest. */
static void note_wait(struct reply *r, uint64_t now)
{
	if (now - r->last_ns > r->wait.longest_ns) {
		r->wait.longest_ns = now - r->last_ns;
		r->wait.before_first = r->got == 0;
	}
}

/* Reads to the end of stream, or more bytes than were asked for: 0, or the error. */
static int read_reply(struct requester *q, int fd, struct reply *r)
{
	const struct request_run *rr = q->rr;
	uint64_t now;
	ssize_t n;

	do {
		n = recv(fd, q->buf, REQUEST_SIZE, 0);
		if (n < 0 && errno != EINTR)
			return errno;
		if (n < 0)
			continue;
		now = now_ns();
		if (r->got == 0)
			r->first_ns = now;
		note_wait(r, now);
		r->last_ns = now;
		r->got += (uint64_t)n;
	} while (n != 0 && r->got <= rr->size); /* more might never end */
	return r->got == rr->size ? 0 : EMSGSIZE;
}

static void count_success(struct requester *q, const struct reply *r, uint64_t end_ns)
{
	struct requests *c = &q->counts;

	if (!q->rr->succeeded)
		q->rr->succeeded = true;
	latency_add(&c->latency[CONNECT], r->wait.connect_ns);
	if (q->rr->size > 0)
		latency_add(&c->latency[FIRST_BYTE], r->first_ns - r->begin_ns);
	latency_add(&c->latency[TOTAL], end_ns - r->begin_ns);
	c->bytes += q->rr->size;
	stalls_add(&c->stalls, &r->wait);
}

/* Counts a connection that the end of the run aborts, which was made if `connected`. */
static void count_open(struct requester *q, struct reply *r, bool connected)
{
	const uint64_t now = now_ns();

	if (connected)
		note_wait(r, now);
	else
		r->wait.connect_ns = now - r->begin_ns;
	stalls_add_open(&q->counts.stalls, &r->wait, now - r->begin_ns);
}

/* Counts a failure; before any success, too many of them end the connections. */
static void count_failure(struct requester *q, int e)
{
	struct request_run *rr = q->rr;
	const int kind = failure_of(e);

	q->counts.failed[kind]++;
	q->counts.error[kind] = e;
	if (kind == FAIL_PORTS || e == EMFILE || e == ENOBUFS)
		sleep_ns(BACKOFF_NS);
	if (rr->succeeded)
		return;
	pthread_mutex_lock(&rr->lock);
	rr->error = e;
	/* To wait for one that times out was long enough. */
	if (++rr->failures >= (kind == FAIL_TIMEOUT ? 1 : HOPELESS)) {
		rr->hopeless = true;
		run_stop(rr->run);
	}
	pthread_mutex_unlock(&rr->lock);
}

/*
 * Makes one connection, asks and reads, and counts how that ended.  A stop shuts the socket down: what
 * fails from then on was open.
 */
static void request_once(struct requester *q)
{
	struct request_run *rr = q->rr;
	struct reply r = {.begin_ns = now_ns()};
	const int fd = target_connect(rr->target, rr->run, &q->worker.sock);
	int e = fd < 0 ? errno : 0;
	bool stopped;

	if (fd >= 0) {
		r.last_ns = now_ns();
		r.wait.connect_ns = r.last_ns - r.begin_ns;
		if (rr->run->opt->sock.mptcp && !rr->succeeded && !sock_is_mptcp(fd, NULL, NULL))
			report_tcp_alone(rr->report, rr->target->name);
		e = send_request(rr, fd);
		if (e == 0)
			e = read_reply(q, fd, &r);
	}
	stopped = rr->run->stop != 0;
	if (e == 0)
		count_success(q, &r, now_ns());
	else if (stopped)
		count_open(q, &r, fd >= 0);
	q->worker.sock = -1;
	if (fd >= 0)
		close(fd);
	if (e != 0 && !stopped)
		count_failure(q, e);
}

/*
 * The threads.
 */

/* Whether the thread is to make another connection. */
static bool take_one(struct request_run *rr)
{
	uint64_t left = atomic_load_explicit(&rr->left, memory_order_relaxed);

	while (left > 0 && rr->run->stop == 0)
		if (atomic_compare_exchange_weak(&rr->left, &left, left - 1))
			return true;
	return false;
}

static void requester_work(void *requester)
{
	struct requester *q = requester;

	while (take_one(q->rr)) {
		request_once(q);
		atomic_fetch_add_explicit(&q->rr->done, 1, memory_order_relaxed);
	}
	run_measured(q->rr->run);
}

static uint64_t on_progress(void *request_run, uint64_t now)
{
	struct request_run *rr = request_run;

	fprintf(stderr, "\r%u byte%s: %" PRIu64 " connection%s\033[K", rr->size, plural(rr->size),
		rr->done, plural(rr->done));
	rr->report->has_progress = true;
	return now + TICK_NS;
}

/* The main thread wakes at fixed times: if it comes late, the other threads may have been as well. */
static uint64_t on_watch(void *request_run, uint64_t now)
{
	struct request_run *rr = request_run;
	struct pauses *p = &rr->evidence.pauses;
	const uint64_t late_ns = now - rr->watch_ns;

	if (late_ns >= PAUSE_NS) {
		p->n++;
		p->longest_ns = late_ns > p->longest_ns ? late_ns : p->longest_ns;
	}
	rr->watch_ns = now + PAUSE_NS;
	return rr->watch_ns;
}

/* Makes the connections that are left, and waits for their end. */
static void request_all(struct request_run *rr)
{
	struct event event[2] = {{.handle = on_progress}, {.handle = on_watch}};
	struct run *r = rr->run;
	struct netstat from, to;

	r->how = SHUT_RDWR;
	netstat_read(&from);
	run_start(r, requester_work, rr->requester, sizeof(*rr->requester), r->opt->seconds);
	event[0].due_ns = progress_wanted(r->opt) ? r->start_ns + TICK_NS : NEVER;
	event[1].due_ns = rr->watch_ns = now_ns() + PAUSE_NS;
	while (r->running > 0)
		run_step(r, event, 2, rr);
	report_clear_progress(rr->report);
	run_end(r);
	netstat_read(&to);
	rr->evidence.tcp = netstat_between(&from, &to);
}

/*
 * Makes all connections of one size.  Returns what all threads saw, in the counts of the first; the
 * host's figures are those of the same time.
 */
static const struct requests *request_size(struct request_run *rr, struct figures *host)
{
	struct run *r = rr->run;
	struct requests *sum = &rr->requester[0].counts;
	int i;

	rr->left = r->opt->seconds > 0 ? UINT64_MAX : r->opt->loops;
	rr->done = 0;
	for (i = 0; i < r->opt->streams; i++)
		memset(&rr->requester[i].counts, 0, sizeof(rr->requester[i].counts));
	rr->evidence = (struct stall_evidence){.steal = NAN};
	request_all(rr);
	if (!rr->hopeless)
		run_baseline_after(r);
	for (i = 1; i < r->opt->streams; i++)
		requests_add(sum, &rr->requester[i].counts);
	stalls_settle(&sum->stalls, &sum->latency[CONNECT]);
	figures_init(host);
	host->bytes = sum->bytes;
	host->seconds = seconds_between(r->start_ns, r->end.counters.ns);
	run_host_figures(r, host);
	rr->evidence.steal = host->host.rates.cpu[CPU_STEAL];
	return sum;
}

/* The error of the requests as a whole: NULL, or a text, which may be in `why`. */
static const char *requests_error(const struct request_run *rr, char why[DIE_MAX])
{
	const struct send_options *opt = rr->run->opt;
	char text[128];

	if (rr->run->stop > 0)
		return "interrupted";
	/* One that was being made meanwhile may have succeeded, but others were not made. */
	if (rr->hopeless)
		snprintf(why, DIE_MAX,
			 "%s port %s: the first connections failed, %s: is there a zcs --reply?",
			 opt->server, opt->port, failure_text(rr->error, text));
	else if (rr->succeeded)
		return NULL;
	else
		snprintf(why, DIE_MAX,
			 "%s port %s: none of the connections succeeded: is there a zcs --reply?",
			 opt->server, opt->port);
	return why;
}

const char *requests_run(struct run *run, struct send_report *report, const struct target *target,
			 char why[DIE_MAX])
{
	const struct send_options *opt = run->opt;
	struct request_run rr = {
		.run = run, .report = report, .target = target, .lock = PTHREAD_MUTEX_INITIALIZER};
	const struct requests *counts;
	struct figures host;
	const char *error;
	int i;

	rr.requester = alloc_or_die((size_t)opt->streams, sizeof(*rr.requester), "requests");
	for (i = 0; i < opt->streams; i++)
		rr.requester[i].rr = &rr;
	run->interface = target->interface;
	report_start_requests(report, target);
	if (!opt->json)
		text_title(opt);
	if (!opt->json && !opt->quiet)
		requests_headings();
	for (i = 0; i < opt->requests.n && run->stop <= 0 && !rr.hopeless; i++) {
		rr.size = (uint32_t)opt->requests.size[i];
		counts = request_size(&rr, &host);
		gauge_say(&run->gauge, &host.host);
		if (gauge_measures(&run->gauge) && run_is_short(&host))
			warnx("the load was measured over less than half a second: "
			      "send more (-n, -t)");
		if (opt->json)
			requests_json(&report->json, rr.size, counts, &rr.evidence, &host);
		else
			requests_text(rr.size, counts, &rr.evidence, &host, opt->quiet);
	}
	error = requests_error(&rr, why);
	report_end_requests(report, error);
	free(rr.requester);
	return error;
}
