#include "lib/send/request.h"

#include "lib/net/wire.h"
#include "lib/send/text.h"

#define BACKOFF_NS   10000000u /* the pause after a failure that passes, as a lack of ports does */
#define PAUSE_NS     20000000u /* a main thread that is late by this or more has paused */
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
	_Atomic uint64_t begun;      /* connections of this size */
	_Atomic bool succeeded;      /* a connection has, of whatever size */
	_Atomic int failures, error; /* failures before any success, and the last of their errors */
	uint64_t watch_ns;           /* when the main thread is to look next whether it came late */
};

struct requester {
	struct worker worker;
	struct request_run *rr;
	struct requests counts;
	char buf[REQUEST_SIZE];
};

/* A connection, and how its reply came. */
struct reply {
	uint64_t last_ns;       /* when it began, or the last wait ended */
	uint64_t got;           /* bytes */
	enum stall_place place; /* where it waits */
	struct wait wait;
};

/* Ends a wait now.  The next one is at that place. */
static void end_wait(struct reply *r, enum stall_place next)
{
	const uint64_t now = now_ns();

	if (now - r->last_ns > r->wait.ns[r->place])
		r->wait.ns[r->place] = now - r->last_ns;
	r->last_ns = now;
	r->place = next;
}

/* Sends how many bytes are asked for: 0, or the error. */
static int send_request(const struct requester *q, int fd)
{
	unsigned char header[WIRE_HEADER];
	size_t sent = 0;
	ssize_t n;

	wire_put(header, q->counts.size);
	do {
		n = TEMP_FAILURE_RETRY(send(fd, header + sent, sizeof(header) - sent, 0));
		if (n < 0)
			return errno;
		sent += (size_t)n;
	} while (sent < sizeof(header));
	return 0;
}

/* Reads to the end of stream, or more bytes than were asked for: 0, or the error. */
static int read_reply(struct requester *q, int fd, struct reply *r)
{
	ssize_t n;

	do {
		n = TEMP_FAILURE_RETRY(recv(fd, q->buf, REQUEST_SIZE, 0));
		if (n < 0)
			return errno;
		end_wait(r, STALL_DATA);
		r->got += (uint64_t)n;
	} while (n != 0 && r->got <= q->counts.size); /* more might never end */
	return r->got == q->counts.size ? 0 : EMSGSIZE;
}

/* Counts a failure; before any success, too many of them end the connections. */
static void count_failure(struct requester *q, int e)
{
	struct request_run *rr = q->rr;
	const int kind = requests_count_failure(&q->counts, e);
	/* To wait for one that times out was long enough. */
	const int failed = kind == FAIL_TIMEOUT ? HOPELESS : 1;

	if (kind == FAIL_PORTS || e == EMFILE || e == ENOBUFS)
		sleep_ns(BACKOFF_NS);
	if (rr->succeeded)
		return;
	rr->error = e;
	if (atomic_fetch_add(&rr->failures, failed) + failed >= HOPELESS)
		run_stop(rr->run, TIME_UP);
}

/*
 * Makes one connection, asks and reads, and counts how that ended.  A stop shuts the socket down: what
 * fails from then on was open.
 */
static void request_once(struct requester *q)
{
	struct request_run *rr = q->rr;
	const uint64_t begin_ns = now_ns();
	struct reply r = {.last_ns = begin_ns};
	const int fd = target_connect(rr->target, rr->run, &q->worker.sock);
	int e = fd < 0 ? errno : 0;
	bool stopped;

	if (fd >= 0) {
		end_wait(&r, STALL_FIRST_BYTE);
		if (rr->run->opt->sock.mptcp && !rr->succeeded && !sock_is_mptcp(fd, NULL, NULL))
			report_tcp_alone(rr->report, rr->target->name);
		e = send_request(q, fd);
		if (e == 0)
			e = read_reply(q, fd, &r);
	}
	stopped = rr->run->stop != 0;
	if (e == 0) {
		if (!rr->succeeded)
			rr->succeeded = true;
		requests_count(&q->counts, &r.wait, r.last_ns - begin_ns);
	} else if (stopped) {
		end_wait(&r, r.place);
		requests_count_open(&q->counts, &r.wait, r.last_ns - begin_ns);
	}
	q->worker.sock = -1;
	if (fd >= 0)
		close(fd);
	if (e != 0 && !stopped)
		count_failure(q, e);
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
}

static uint64_t on_progress(void *request_run, uint64_t now)
{
	struct request_run *rr = request_run;
	const uint32_t size = rr->requester[0].counts.size;

	fprintf(stderr, "\r%u byte%s: %" PRIu64 " connections\033[K", size, plural(size),
		rr->begun);
	rr->report->has_progress = true;
	return now + TICK_NS;
}

/* The main thread wakes at fixed times: if it comes late, the other threads may have been as well. */
static uint64_t on_watch(void *request_run, uint64_t now)
{
	struct request_run *rr = request_run;
	struct requests *sum = &rr->requester[0].counts;

	pauses_look(&sum->pauses, rr->watch_ns, now, PAUSE_NS);
	rr->watch_ns = now + PAUSE_NS;
	return rr->watch_ns;
}

/* Makes the connections, and waits for their end. */
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
	rr->requester[0].counts.tcp = netstat_between(&from, &to);
}

/* Makes all connections of one size.  Returns what all threads saw, in the counts of the first. */
static const struct requests *request_size(struct request_run *rr, uint32_t size)
{
	struct run *r = rr->run;
	struct requests *sum = &rr->requester[0].counts;
	struct figures *host = &sum->host;
	int i;

	rr->begun = 0;
	for (i = 0; i < r->opt->streams; i++)
		rr->requester[i].counts = (struct requests){.size = size};
	request_all(rr);
	if (rr->failures < HOPELESS)
		run_baseline_after(r);
	for (i = 1; i < r->opt->streams; i++)
		requests_add(sum, &rr->requester[i].counts);
	requests_settle(sum);
	figures_init(host);
	host->bytes = sum->latency[TOTAL].n * size;
	host->seconds = seconds_between(r->start_ns, r->end.counters.ns);
	run_host_figures(r, host);
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
	if (rr->succeeded && rr->failures < HOPELESS)
		return NULL;
	snprintf(why, DIE_MAX, "%s port %s: %s%s: is there a zcs --reply?", opt->server, opt->port,
		 rr->error != 0 ? "the first connections failed, "
				: "none of the connections succeeded",
		 rr->error != 0 ? failure_text(rr->error, text) : "");
	return why;
}

const char *requests_run(struct run *run, struct send_report *report, const struct target *target,
			 char why[DIE_MAX])
{
	const struct send_options *opt = run->opt;
	struct request_run rr = {.run = run, .report = report, .target = target};
	const struct requests *counts;
	const char *error;
	int i;

	rr.requester = alloc_or_die((size_t)opt->streams, sizeof(*rr.requester), "requests");
	for (i = 0; i < opt->streams; i++)
		rr.requester[i].rr = &rr;
	run->interface = target->interface;
	report_start(report, target, NULL);
	if (!opt->json)
		text_title(opt);
	if (!opt->json && !opt->quiet)
		requests_headings();
	for (i = 0; i < opt->requests.n && run->stop <= 0 && rr.failures < HOPELESS; i++) {
		counts = request_size(&rr, (uint32_t)opt->requests.size[i]);
		gauge_say(&run->gauge, &counts->host.host);
		if (gauge_measures(&run->gauge) && run_is_short(&counts->host))
			warnx("the load was measured over less than half a second: "
			      "send more (-n, -t)");
		if (opt->json)
			requests_json(&report->json, counts);
		else
			requests_text(counts, opt->quiet);
	}
	error = requests_error(&rr, why);
	report_end(report, NULL, error);
	free(rr.requester);
	return error;
}
