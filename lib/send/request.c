#include "lib/send/request.h"

#include <sys/eventfd.h>

#include "lib/net/wire.h"

#define STALL_NS      20000000u /* a wait for data of 20 ms, if that is as many times longer than */
#define STALL_CONNECT 5         /* the connection took to be made, is no delay of the network */
#define BACKOFF_NS    10000000u /* after a failure that passes, such as a lack of ports */
#define REQUEST_SIZE  (64 * 1024) /* bytes of each read */
#define HOPELESS      3           /* failures in a row with the same error before any success */

struct requester {
	struct worker worker;
	struct request_run *rr;
	struct requests counts;
	char *buf;
};

/* How a reply came. */
struct reply {
	uint64_t got;
	uint64_t first_ns;   /* when the first byte had been read */
	uint64_t last_ns;    /* when data last came */
	uint64_t longest_ns; /* the longest wait for data or for the close */
	bool before_first;   /* whether that was the wait for the first byte */
	struct limit limit;  /* of how long it may take */
};

/* Counts `n` bytes that came after a wait, or the end of stream (0). */
static void count_wait(struct reply *r, size_t n, uint64_t now)
{
	if (r->got == 0 && n > 0)
		r->first_ns = now;
	if (now - r->last_ns > r->longest_ns) {
		r->longest_ns = now - r->last_ns;
		r->before_first = r->got == 0;
	}
	r->last_ns = now;
	r->got += n;
}

/* Reads to the end of stream, or more bytes than were asked for: 0, or the error. */
static int read_reply(struct requester *q, int fd, struct reply *r)
{
	const struct request_run *rr = q->rr;
	uint64_t now;
	ssize_t n;

	do {
		n = recv(fd, q->buf, REQUEST_SIZE, 0);
		if (n < 0 && (errno != EINTR || *rr->run->stop != 0))
			return errno;
		if (n < 0)
			continue;
		now = now_ns();
		count_wait(r, (size_t)n, now);
		if (n > 0 && limit_reached(&r->limit, rr->opt->timeout, now, r->got))
			return ETIMEDOUT;
	} while (n != 0 && r->got <= rr->size); /* more might never end */
	return r->got == rr->size ? 0 : EMSGSIZE;
}

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

/* Counts a connection that succeeded. */
static void count_success(struct requester *q, const struct reply *r, uint64_t begin_ns,
			  uint64_t connected_ns, uint64_t end_ns)
{
	struct requests *c = &q->counts;
	const uint64_t connect = connected_ns - begin_ns;

	latency_add(&c->connect, connect);
	if (q->rr->size > 0)
		latency_add(&c->first, r->first_ns - begin_ns);
	latency_add(&c->total, end_ns - begin_ns);
	c->bytes += q->rr->size;
	if (r->longest_ns >= STALL_NS && r->longest_ns >= STALL_CONNECT * connect) {
		latency_add(&c->stall, r->longest_ns);
		c->stalled++;
		c->stalled_first += r->before_first;
	}
}

/* Makes one connection, asks and reads: 0, or the error; EMSGSIZE is a reply of another length. */
static int request_once(struct requester *q)
{
	struct request_run *rr = q->rr;
	struct reply r = {0};
	const uint64_t begin_ns = now_ns();
	const int fd = target_connect(&rr->target, rr->opt, rr->run->stop);
	uint64_t connected_ns;
	int e;

	if (fd < 0)
		return errno;
	connected_ns = r.last_ns = now_ns();
	e = send_request(rr, fd);
	if (e == 0) {
		r.limit = limit_begin();
		e = read_reply(q, fd, &r);
	}
	if (e == 0)
		count_success(q, &r, begin_ns, connected_ns, now_ns());
	close(fd);
	return e;
}

/* Counts a failure; before any success, too many with the same error end the connections. */
static void count_failure(struct requester *q, int e)
{
	struct request_run *rr = q->rr;
	const enum failure kind = failure_of(e);

	q->counts.failed[kind]++;
	if (kind == FAIL_OTHER)
		q->counts.other_errno = e;
	if (kind == FAIL_PORTS || e == EMFILE || e == ENOBUFS)
		sleep_ns(BACKOFF_NS);
	if (rr->succeeded)
		return;
	pthread_mutex_lock(&rr->lock);
	if (kind != failure_of(rr->error) || (kind == FAIL_OTHER && e != rr->error))
		rr->failures = 0;
	rr->error = e;
	if (++rr->failures >= HOPELESS) {
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
	run_measured(q->worker.run);
}

static void merge(struct requests *sum, const struct requests *r)
{
	int i;

	sum->bytes += r->bytes;
	for (i = 0; i < FAILURES; i++)
		sum->failed[i] += r->failed[i];
	sum->stalled += r->stalled;
	sum->stalled_first += r->stalled_first;
	if (r->other_errno != 0)
		sum->other_errno = r->other_errno;
	latency_merge(&sum->connect, &r->connect);
	latency_merge(&sum->first, &r->first);
	latency_merge(&sum->total, &r->total);
	latency_merge(&sum->stall, &r->stall);
}

static uint64_t on_requests_progress(void *request_run, uint64_t now)
{
	struct request_run *rr = request_run;

	requests_progress(rr->report, rr->size, rr->done);
	return now + TICK_NS;
}

/* Makes all connections of one size. */
static void request_size(struct request_run *rr, uint32_t size, struct requests *sum)
{
	struct run *r = rr->run;
	struct pollfd wake = {.fd = r->wake, .events = POLLIN};
	struct event progress = {NEVER, on_requests_progress};
	int i;

	rr->size = size;
	rr->left = rr->opt->seconds > 0 ? UINT64_MAX : rr->opt->loops;
	rr->done = 0;
	for (i = 0; i < rr->opt->streams; i++)
		memset(&rr->requester[i].counts, 0, sizeof(rr->requester[i].counts));
	run_start(r, requester_work, rr->requester, sizeof(*rr->requester));
	run_mark(r, &r->begin);
	run_begin(r, rr->opt->seconds);
	if (progress_wanted(rr->opt))
		progress.due_ns = r->start_ns + TICK_NS;
	while (r->running > 0) {
		run_wait(r, &wake, 1, &progress, 1);
		run_handle(r, &progress, 1, rr);
	}
	report_clear_progress(rr->report);
	run_end(r);
	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < rr->opt->streams; i++)
		merge(sum, &rr->requester[i].counts);
	figures_init(&rr->host);
	rr->host.bytes = sum->bytes;
	rr->host.seconds = seconds_between(r->start_ns, r->end.ns);
	run_host_figures(r, &rr->host);
}

void requests_all(struct request_run *rr)
{
	struct requests sum;
	int i;

	report_start(rr->report, NULL);
	for (i = 0; i < rr->opt->requests.n && *rr->run->stop <= 0 && !rr->hopeless; i++) {
		request_size(rr, (uint32_t)rr->opt->requests.size[i], &sum);
		run_warn(rr->run, &rr->host);
		requests_report(rr->report, rr->size, &sum, &rr->host);
	}
}

const char *requests_error(const struct request_run *rr, char why[DIE_MAX])
{
	char text[128];

	if (*rr->run->stop > 0)
		return "interrupted";
	if (rr->succeeded)
		return NULL;
	if (rr->hopeless)
		snprintf(why, DIE_MAX, "%s port %s: the first %d connections failed, %s",
			 rr->opt->server, rr->opt->port, HOPELESS, failure_text(rr->error, text));
	else
		snprintf(why, DIE_MAX, "%s port %s: none of the connections succeeded",
			 rr->opt->server, rr->opt->port);
	return why;
}

void requests_open(struct request_run *rr)
{
	int i;

	target_resolve(&rr->target, rr->opt);
	rr->run->interface = rr->target.interface;
	pthread_mutex_init(&rr->lock, NULL);
	rr->requester = calloc((size_t)rr->opt->streams, sizeof(*rr->requester));
	for (i = 0; rr->requester != NULL && i < rr->opt->streams; i++) {
		rr->requester[i].rr = rr;
		rr->requester[i].buf = malloc(REQUEST_SIZE);
		if (rr->requester[i].buf == NULL)
			break;
	}
	if (rr->requester == NULL || i < rr->opt->streams)
		die_errno("%d at a time", rr->opt->streams);
}

void requests_close(struct request_run *rr)
{
	int i;

	for (i = 0; i < rr->opt->streams; i++)
		free(rr->requester[i].buf);
	free(rr->requester);
	pthread_mutex_destroy(&rr->lock);
}
