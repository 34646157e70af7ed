#include "lib/send/request.h"

#include <sys/eventfd.h>

#include "lib/net/wire.h"
#include "lib/report/terms.h"
#include "lib/report/units.h"
#include "lib/send/latency.h"

/*
 * A request stalls if it waits for data for STALL_NS or longer, and STALL_CONNECT times as long as
 * its connection took to be made: the network alone does not delay it so.
 */
#define STALL_NS      20000000u
#define STALL_CONNECT 5
#define BACKOFF_NS    10000000u /* the pause after a failure that passes, as a lack of ports does */
#define REQUEST_SIZE  (64 * 1024) /* bytes of each read */
#define HOPELESS      3           /* failures in a row, before any success, that end the requests */

/*
 * Failures.
 */

/* The kinds of failure; EMSGSIZE stands for FAIL_LENGTH. */
enum { FAIL_REFUSED, FAIL_RESET, FAIL_PORTS, FAIL_TIMEOUT, FAIL_LENGTH, FAIL_OTHER, FAILURES };

static const struct {
	const char *text, *key; /* what follows "failed" in a message, and the JSON key */
	int error[2];           /* the error numbers of this kind */
} failure[FAILURES] = {
	[FAIL_REFUSED] = {"refused", "refused", {ECONNREFUSED}},
	[FAIL_RESET] = {"reset by the server", "reset", {ECONNRESET, EPIPE}},
	[FAIL_PORTS] = {"for lack of local ports", "no_ports", {EADDRNOTAVAIL, EADDRINUSE}},
	[FAIL_TIMEOUT] = {"timed out", "timeout", {ETIMEDOUT, EAGAIN}},
	[FAIL_LENGTH] = {"with a length other than requested", "wrong_length", {EMSGSIZE}},
	[FAIL_OTHER] = {"for another reason", "other", {0}},
};

static int failure_of(int e)
{
	int kind = 0;

	while (kind < FAIL_OTHER && failure[kind].error[0] != e && failure[kind].error[1] != e)
		kind++;
	return kind;
}

/* The name of a failure, with the error's text if it is of no other kind. */
static const char *failure_text(int error, char buf[128])
{
	const int kind = failure_of(error);

	if (kind != FAIL_OTHER)
		return failure[kind].text;
	snprintf(buf, 128, "%s: %s", failure[kind].text, strerror(error));
	return buf;
}

/*
 * One connection.
 */

/* The latencies of a request; that of a stall is the longest wait of a request that stalled. */
enum { CONNECT, FIRST_BYTE, TOTAL, STALL, LATENCIES };

/* The results of one thread, or of all, for one size. */
struct requests {
	uint64_t bytes, failed[FAILURES];
	int error[FAILURES];    /* the last of each kind */
	uint64_t stalled_first; /* requests that stalled before the first byte */
	struct latency latency[LATENCIES];
};

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
};

struct requester {
	struct worker worker;
	struct request_run *rr;
	struct requests counts;
	char buf[REQUEST_SIZE];
};

/* A connection, and how its reply came. */
struct reply {
	uint64_t begin_ns, connected_ns; /* before and after the connection was made */
	uint64_t got;                    /* bytes */
	uint64_t first_ns;               /* when the first byte had been read */
	uint64_t last_ns;                /* when data last came */
	uint64_t longest_ns;             /* the longest wait for data or for the close */
	bool before_first;               /* the longest wait was that for the first byte */
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
		if (n < 0 && (errno != EINTR || *rr->run->stop != 0))
			return errno;
		sent += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Reads to the end of stream, or more bytes than were asked for: 0, or the error. */
static int read_reply(struct requester *q, int fd, struct reply *r)
{
	const struct request_run *rr = q->rr;
	uint64_t now = now_ns();
	struct limit limit = {.begin_ns = now, .window_ns = now};
	ssize_t n;

	do {
		n = recv(fd, q->buf, REQUEST_SIZE, 0);
		if (n < 0 && (errno != EINTR || *rr->run->stop != 0))
			return errno;
		if (n < 0)
			continue;
		now = now_ns();
		if (r->got == 0)
			r->first_ns = now;
		if (now - r->last_ns > r->longest_ns) {
			r->longest_ns = now - r->last_ns;
			r->before_first = r->got == 0;
		}
		r->last_ns = now;
		r->got += (uint64_t)n;
		if (n > 0 && limit_reached(&limit, rr->run->opt->timeout, now, (double)r->got))
			return ETIMEDOUT;
	} while (n != 0 && r->got <= rr->size); /* more might never end */
	return r->got == rr->size ? 0 : EMSGSIZE;
}

static void count_success(struct requester *q, const struct reply *r, uint64_t end_ns)
{
	struct requests *c = &q->counts;
	const uint64_t connect = r->connected_ns - r->begin_ns;

	latency_add(&c->latency[CONNECT], connect);
	if (q->rr->size > 0)
		latency_add(&c->latency[FIRST_BYTE], r->first_ns - r->begin_ns);
	latency_add(&c->latency[TOTAL], end_ns - r->begin_ns);
	c->bytes += q->rr->size;
	if (r->longest_ns >= STALL_NS && r->longest_ns >= STALL_CONNECT * connect) {
		latency_add(&c->latency[STALL], r->longest_ns);
		c->stalled_first += r->before_first;
	}
}

/* Makes one connection, asks and reads: 0, or the error; EMSGSIZE is a reply of another length. */
static int request_once(struct requester *q)
{
	const struct request_run *rr = q->rr;
	struct reply r = {.begin_ns = now_ns()};
	const int fd = target_connect(rr->target, rr->run->opt, rr->run->stop);
	int e;

	if (fd < 0)
		return errno;
	r.connected_ns = r.last_ns = now_ns();
	e = send_request(rr, fd);
	if (e == 0)
		e = read_reply(q, fd, &r);
	if (e == 0)
		count_success(q, &r, now_ns());
	close(fd);
	return e;
}

/*
 * The threads.
 */

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
		eventfd_write(rr->run->wake, 1);
	}
	pthread_mutex_unlock(&rr->lock);
}

/* Whether the thread is to make another connection. */
static bool take_one(struct request_run *rr)
{
	uint64_t left = atomic_load_explicit(&rr->left, memory_order_relaxed);

	while (left > 0 && *rr->run->stop == 0)
		if (atomic_compare_exchange_weak(&rr->left, &left, left - 1))
			return true;
	return false;
}

static void requester_work(void *requester)
{
	struct requester *q = requester;
	struct request_run *rr = q->rr;
	int e;

	q->worker.interruptible = true;
	while (take_one(rr)) {
		e = request_once(q);
		if (e == 0 && !rr->succeeded)
			rr->succeeded = true;
		if (e != 0 && !(e == EINTR && *rr->run->stop != 0))
			count_failure(q, e);
		atomic_fetch_add_explicit(&rr->done, 1, memory_order_relaxed);
	}
	q->worker.interruptible = false;
	run_measured(rr->run);
}

static uint64_t on_progress(void *request_run, uint64_t now)
{
	struct request_run *rr = request_run;

	fprintf(stderr, "\r%u bytes: %" PRIu64 " connections\033[K", rr->size, rr->done);
	rr->report->has_progress = true;
	return now + TICK_NS;
}

/* Adds what one thread saw to what another did. */
static void requests_add(struct requests *sum, const struct requests *r)
{
	int i;

	sum->bytes += r->bytes;
	for (i = 0; i < FAILURES; i++) {
		sum->failed[i] += r->failed[i];
		if (r->error[i] != 0)
			sum->error[i] = r->error[i];
	}
	sum->stalled_first += r->stalled_first;
	for (i = 0; i < LATENCIES; i++)
		latency_merge(&sum->latency[i], &r->latency[i]);
}

/*
 * Makes all connections of one size.  Returns what all threads saw, in the counts of the first; the
 * host's figures are those of the same time.
 */
static const struct requests *request_size(struct request_run *rr, struct figures *host)
{
	struct run *r = rr->run;
	struct pollfd wake;
	struct event progress = {.handle = on_progress};
	struct requests *sum = &rr->requester[0].counts;
	int i;

	rr->left = r->opt->seconds > 0 ? UINT64_MAX : r->opt->loops;
	rr->done = 0;
	for (i = 0; i < r->opt->streams; i++)
		memset(&rr->requester[i].counts, 0, sizeof(rr->requester[i].counts));
	run_start(r, requester_work, rr->requester, sizeof(*rr->requester), r->opt->seconds);
	progress.due_ns = progress_wanted(r->opt) ? r->start_ns + TICK_NS : NEVER;
	while (r->running > 0)
		run_step(r, &wake, 1, &progress, 1, rr);
	report_clear_progress(rr->report);
	run_end(r);
	if (!rr->hopeless)
		run_baseline_after(r);
	for (i = 1; i < r->opt->streams; i++)
		requests_add(sum, &rr->requester[i].counts);
	figures_init(host);
	host->bytes = sum->bytes;
	host->seconds = seconds_between(r->start_ns, r->end.counters.ns);
	run_host_figures(r, host);
	return sum;
}

/*
 * The report.
 */

static const char *const latency_name[] = {"connect, ms", "first byte, ms", "total, ms"};
static const char *const latency_key[] = {"connect", "first_byte", "total"};

static void latencies_text(const struct latency *h)
{
	int i;

	if (h[TOTAL].n == 0)
		return;
	report("  %-16s %12s %12s %12s %12s\n", "latency", "p50", "p90", "p99", "max");
	for (i = 0; i < STALL; i++, h++)
		if (h->n > 0)
			report("    %-14s %12.3f %12.3f %12.3f %12.3f\n", latency_name[i],
			       1000 * latency_percentile(h, 0.5), 1000 * latency_percentile(h, 0.9),
			       1000 * latency_percentile(h, 0.99), (double)h->max / 1e6);
}

/* A few stalls explain why there are 50 connections a second instead of thousands. */
static void stalls_text(const struct requests *q)
{
	const struct latency *stall = &q->latency[STALL];

	if (stall->n == 0)
		return;
	report("  STALLED: %" PRIu64 " of %" PRIu64 " waited for data, %s the first byte\n",
	       stall->n, q->latency[TOTAL].n, 2 * q->stalled_first > stall->n ? "before" : "after");
	report("    median %.1f ms, maximum %.1f ms\n", 1000 * latency_percentile(stall, 0.5),
	       (double)stall->max / 1e6);
	report("    a delayed acknowledgement takes 40 ms or more, a retransmission 200 ms;\n"
	       "    any time may pass where the server, or a CPU, was stopped or busy\n");
}

/* Prints the load behind the first line if the report is that line, else below it. */
static void load_text(const struct figures *host, bool quiet)
{
	char text[LOAD_STRLEN], own[BASELINES_STRLEN];

	if (isnan(host->load)) {
		report("\n");
		return;
	}
	report("%s%s", quiet ? ", " : "\n  ", load_format(host, text));
	if (host->baseline == BASELINE_OWN && !quiet)
		report("\n  %s", baselines_format(host->drift, own));
	report("\n");
}

/* Prints the requests of one size.  The figures of the first line are those of 1999. */
static void requests_text(uint32_t size, const struct requests *q, const struct figures *host,
			  bool quiet)
{
	const double kib = (double)q->bytes / 1024, seconds = host->seconds;
	char text[128];
	int i;

	snprintf(text, sizeof(text), "%u bytes", size);
	report("%-16s %10.2fs %12.2fKiB %10.2fconn/s %12.2fKiB/s", text, seconds, kib,
	       per_second(q->latency[TOTAL].n, seconds), seconds > 0 ? kib / seconds : 0);
	load_text(host, quiet);
	if (quiet)
		return;
	latencies_text(q->latency);
	stalls_text(q);
	for (i = 0; i < FAILURES; i++)
		if (q->failed[i] > 0)
			report("  failed: %" PRIu64 " %s\n", q->failed[i],
			       failure_text(q->error[i], text));
}

static void json_latency(struct json *j, const char *key, const struct latency *h)
{
	json_open(j, key, '{');
	json_number(j, "p50", latency_percentile(h, 0.5));
	json_number(j, "p90", latency_percentile(h, 0.9));
	json_number(j, "p99", latency_percentile(h, 0.99));
	if (h->n > 0)
		json_number(j, "max", (double)h->max / 1e9);
	json_close(j, '}');
}

static void requests_json(struct json *j, uint32_t size, const struct requests *q,
			  const struct figures *host)
{
	int i;

	json_open(j, NULL, '{');
	json_count(j, "request_bytes", size);
	json_throughput(j, 0, host->seconds, q->bytes);
	json_count(j, "connections", q->latency[TOTAL].n);
	json_number(j, "connections_per_second", per_second(q->latency[TOTAL].n, host->seconds));
	json_open(j, "latency_seconds", '{');
	for (i = 0; i < STALL; i++)
		json_latency(j, latency_key[i], &q->latency[i]);
	json_close(j, '}');
	json_open(j, "stalls", '{');
	json_count(j, "connections", q->latency[STALL].n);
	json_count(j, "before_first_byte", q->stalled_first);
	json_latency(j, "seconds", &q->latency[STALL]);
	json_close(j, '}');
	json_open(j, "failed", '{');
	for (i = 0; i < FAILURES; i++)
		json_count(j, failure[i].key, q->failed[i]);
	json_close(j, '}');
	json_host(j, "host", host);
	json_close(j, '}');
}

/* The error of the requests as a whole: NULL, or a text, which may be in `why`. */
static const char *requests_error(const struct request_run *rr, char why[DIE_MAX])
{
	const struct send_options *opt = rr->run->opt;
	char text[128];

	if (*rr->run->stop > 0)
		return "interrupted";
	/* One that was being made meanwhile may have succeeded, but others were not made. */
	if (rr->hopeless)
		snprintf(why, DIE_MAX,
			 "%s port %s: the first connections failed, %s: is there a zcs --reply?",
			 opt->server, opt->port, failure_text(rr->error, text));
	else if (rr->succeeded)
		return NULL;
	else
		snprintf(why, DIE_MAX, "%s port %s: none of the connections succeeded", opt->server,
			 opt->port);
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

	rr.requester = calloc((size_t)opt->streams, sizeof(*rr.requester));
	if (rr.requester == NULL)
		die_errno("%d at a time", opt->streams);
	for (i = 0; i < opt->streams; i++)
		rr.requester[i].rr = &rr;
	run->interface = target->interface;
	report_start(report, target, NULL);
	for (i = 0; i < opt->requests.n && *run->stop <= 0 && !rr.hopeless; i++) {
		rr.size = (uint32_t)opt->requests.size[i];
		counts = request_size(&rr, &host);
		run_warn(run, &host);
		if (run->soak != NULL && run_is_short(&host))
			warnx("the load was measured over less than half a second: "
			      "send more (-n, -t)");
		if (opt->json)
			requests_json(&report->json, rr.size, counts, &host);
		else
			requests_text(rr.size, counts, &host, opt->quiet);
	}
	error = requests_error(&rr, why);
	report_end(report, NULL, error);
	free(rr.requester);
	return error;
}
