#include "lib/send/transfer.h"

#include <linux/tcp.h>

#define PROGRESS_NS 500000000u
#define PAUSE_NS    100000000u /* a look that is late by this or more is a pause */
#define DISCARD_NS  10000000u  /* how often the answers of raw servers are discarded */

/*
 * Intervals.
 */

/* Reports the interval from the last one's end to the marks and the sample of the load that end it. */
static void report_until(struct transfer *t, const struct load_sample *load)
{
	const double start = seconds_between(t->run->start_ns, t->stream[0].last.ns);
	struct gauge *g = &t->run->gauge;
	struct figures sum;
	int i;

	figures_init(&sum);
	for (i = 0; i < t->opt->streams; i++) {
		stream_interval(&t->stream[i]);
		figures_add(&sum, &t->result.stream[i].interval);
	}
	sum.seconds = t->result.stream[0].interval.seconds;
	gauge_between(g, &t->last, load, -1, &sum.host);
	t->last = *load;
	if (t->measuring)
		t->unsafe |= sum.host.unsafe;
	gauge_say(g, &sum.host, true);
	report_interval(t->report, t->result.stream, &sum, start, t->measuring);
}

/* Ends the last interval with the transfer: all intervals together have what was measured. */
static void end_intervals(struct transfer *t)
{
	const struct gauge *g = &t->run->gauge;
	struct load_sample load;
	bool moved = false;
	uint64_t ns = 0;
	int i;

	for (i = 0; i < t->opt->streams; i++) {
		t->stream[i].mark = t->stream[i].end;
		moved |= t->stream[i].end.bytes > t->stream[i].last.bytes;
		ns = t->stream[i].end.ns > ns ? t->stream[i].end.ns : ns;
	}
	for (i = 0; i < t->opt->streams; i++)
		t->stream[i].mark.ns = ns;
	load = gauge_sample_of(g, &g->to, -1);
	if (moved)
		report_until(t, &load);
}

/*
 * What the main thread does while the streams send: handlers of events.
 */

static void mark_all(struct transfer *t)
{
	int i;

	for (i = 0; i < t->opt->streams; i++)
		t->stream[i].mark = stream_mark(&t->stream[i]);
}

/* The warm-up is over: what was sent before is in no figure, and the intervals begin anew. */
static uint64_t on_warm(void *transfer, uint64_t now)
{
	struct transfer *t = transfer;
	struct run *r = t->run;
	struct load_sample load;
	int i;

	if (!run_hold(r))
		return NEVER; /* all was sent before */
	mark_all(t);
	gauge_begin(&r->gauge, r->interface);
	load = gauge_sample_of(&r->gauge, &r->gauge.from, -1);
	if (t->opt->interval > 0)
		report_until(t, &load);
	for (i = 0; i < t->opt->streams; i++)
		stream_begin(&t->stream[i]);
	t->event[ON_INTERVAL].due_ns = time_after(now, t->opt->interval);
	t->measuring = true;
	run_measured(r);
	return NEVER;
}

static uint64_t on_interval(void *transfer, uint64_t now)
{
	struct transfer *t = transfer;
	struct run *r = t->run;
	struct load_sample load;

	if (r->measuring == 0)
		return NEVER; /* what is waited for now is in no figure */
	/* What is still under way when the time is up belongs to the interval that ends then. */
	if (now < r->end_ns || r->stop != 0) {
		mark_all(t);
		gauge_sample(&r->gauge, &load);
		report_until(t, &load);
	}
	return interval_after(r->due_ns, now, t->opt->interval);
}

static uint64_t on_progress(void *transfer, uint64_t now)
{
	struct transfer *t = transfer;
	const uint64_t loops = (uint64_t)t->opt->loops * (uint64_t)t->opt->streams;
	uint64_t bytes = 0;
	int i;

	if (!progress_wanted(
		    t->opt)) /* in the background a terminal may stop who prints: stty(1), tostop */
		return now + PROGRESS_NS;
	for (i = 0; i < t->opt->streams; i++)
		bytes += stream_mark(&t->stream[i]).bytes;
	report_progress(t->report, seconds_between(t->run->start_ns, now), bytes,
			t->opt->bytes > 0 ? t->opt->bytes : loops * t->result.set->bytes,
			t->run->stop != 0 ? ", waiting for the server"
			: t->measuring    ? ""
					  : ", warm-up");
	return now + PROGRESS_NS;
}

static uint64_t on_watch(void *transfer, uint64_t now)
{
	struct transfer *t = transfer;
	int i;

	for (i = 0; i < t->opt->streams; i++)
		stream_watch(&t->stream[i]);
	return time_after(now, t->opt->timeout);
}

static uint64_t on_sample(void *transfer, uint64_t now)
{
	struct transfer *t = transfer;
	int i;

	if (t->measuring)
		pauses_look(&t->result.pauses, t->run->due_ns, now, PAUSE_NS);
	for (i = 0; i < t->opt->streams; i++)
		stream_sample(&t->stream[i]);
	return now + stalls_period(t->opt->streams);
}

/* Discards what raw servers send, until the stream's thread reads for itself. */
static uint64_t on_discard(void *transfer, uint64_t now)
{
	const struct transfer *t = transfer;
	int i;

	for (i = 0; i < t->opt->streams; i++)
		while (t->stream[i].phase == STREAM_SENDING && stream_discard(&t->stream[i]) > 0)
			;
	return now + DISCARD_NS;
}

/* Oversees the streams until all have come to their end. */
static void oversee(struct transfer *t)
{
	const struct send_options *opt = t->opt;
	struct run *r = t->run;
	const struct event events[TRANSFER_EVENTS] = {
		[ON_WARM] = {time_after(r->start_ns, opt->warmup), on_warm},
		[ON_INTERVAL] = {time_after(r->start_ns, opt->interval), on_interval},
		[ON_PROGRESS] = {progress_wanted(opt) ? r->start_ns + PROGRESS_NS : NEVER,
				 on_progress},
		[ON_WATCH] = {time_after(r->start_ns, opt->timeout), on_watch},
		[ON_SAMPLE] = {r->start_ns, on_sample},
		[ON_DISCARD] = {opt->raw ? r->start_ns : NEVER, on_discard},
	};

	memcpy(t->event, events, sizeof(events));
	while (r->running > 0 && !r->is_broken)
		run_step(r, t->event, TRANSFER_EVENTS, t);
	report_clear_progress(t->report);
}

/*
 * The sum.
 */

/* The role of a CPU in the transfer; both ends may be on this host. */
static const char *cpu_role(const struct transfer *t, int cpu)
{
	const struct stream_result *s = t->result.stream;
	bool sends = false, receives = false;
	int i;

	for (i = 0; i < t->opt->streams; i++) {
		sends |= cpu_of(&t->opt->bind, i) == cpu;
		receives |= t->result.local && s[i].has_receipt && s[i].received.cpu == cpu;
	}
	return sends && receives ? "both" : sends ? "sender" : receives ? "receiver" : "";
}

/* The load of each CPU is meaningful if the streams were bound. */
static void load_cpus(struct transfer *t)
{
	struct gauge *g = &t->run->gauge;
	const struct cpus *cpus = &g->calibration.cpus;
	struct send_result *res = &t->result;
	const struct load *each = t->opt->bind.n > 0 ? gauge_load_each(g, res->sent.host.unsafe)
						     : NULL;
	struct cpu_result *c;
	int i;

	if (each == NULL)
		return;
	res->cpu = alloc_or_die((size_t)cpus->n, sizeof(*res->cpu), "load");
	for (i = 0; i < cpus->n; i++) {
		c = &res->cpu[res->n_cpus];
		c->id = cpus->id[i];
		c->role = cpu_role(t, c->id);
		c->figures = res->sent; /* for its cost */
		c->figures.host = each[i];
		res->n_cpus += !isnan(c->figures.host.load); /* it has none if it was offline */
	}
}

/*
 * Whether the server is on this host: its kernel is this one.  Where no receipt says that, the interface decides, though
 * a tunnel's end on lo leads elsewhere.  The hosts behind a balancer share nothing.
 */
static void find_host(struct send_result *res, int streams)
{
	const struct stream_result *s = res->stream;
	char here[HASH_SIZE];
	int known = 0, others = 0, i;

	boot_read(here);
	for (i = 0; i < streams && here[0] != '\0'; i++, s++) {
		known += s->received.boot[0] != '\0';
		others += s->received.boot[0] != '\0' && strcmp(s->received.boot, here) != 0;
	}
	res->local = known > 0 ? others == 0 : strcmp(res->target.interface, "lo") == 0;
	if (known > 0 && res->received.boot[0] == '\0') {
		load_init(&res->received.host);
		strcpy(res->received.host.no_load, NO_LOAD_SEVERAL);
	}
}

/* The receiver's host is as the longest of those streams saw it that have a receipt. */
static void sum_up(struct transfer *t)
{
	struct send_result *res = &t->result;
	const struct stream_result *s = res->stream;
	int i;

	figures_init(&res->sent);
	figures_init(&res->received);
	for (i = 0; i < t->opt->streams; i++, s++) {
		stream_figures(&t->stream[i]);
		figures_add(&res->sent, &s->sent);
		stalls_add(&res->stalls, &t->stream[i].samples.watch.stalls);
		res->has_subflows |= res->mptcp && isnan(s->sent.tcp.rtt);
		res->loops += t->stream[i].files / res->set->entries;
		if (!s->has_receipt)
			continue;
		res->receipts++;
		figures_add(&res->received, &s->received);
	}
	res->sent.clients = (uint64_t)t->opt->streams;
	res->stalls.start_ns = t->run->start_ns;
	find_host(res, t->opt->streams);
	run_host_figures(t->run, &res->sent);
	if (res->has_subflows)
		res->sent.host.rates.packets_in = res->sent.host.rates.packets_out = NAN;
	res->sent.host.unsafe |= t->unsafe;
	load_cpus(t);
}

void transfer_run(struct transfer *t)
{
	const struct send_options *opt = t->opt;
	struct run *r = t->run;
	int i;

	t->measuring = opt->warmup <= 0;
	t->report->intervals = (struct intervals){.period = opt->interval,
						  .timestamps = opt->timestamps,
						  .tcp = true,
						  .load = gauge_measures(&r->gauge)};
	r->how = SHUT_WR;
	run_start(r, stream_work, t->stream, sizeof(*t->stream),
		  opt->seconds > 0 ? opt->warmup + opt->seconds : 0);
	t->last = gauge_sample_of(&r->gauge, &r->gauge.from, -1);
	for (i = 0; i < opt->streams; i++) {
		t->stream[i].mark.ns = r->start_ns;
		stream_begin(&t->stream[i]);
	}
	oversee(t);
	if (r->is_broken) /* before the connections are reset */
		mark_all(t);
	run_end(r);
	if (t->measuring && !r->is_broken) {
		if (opt->interval > 0)
			end_intervals(t);
		run_baseline_after(r);
	}
	sum_up(t);
}

/* Closes the streams that are open; those of a broken run are reset. */
static void close_streams(struct transfer *t, bool is_broken)
{
	while (t->opened-- > 0) {
		sock_reset_at_close(t->stream[t->opened].sender.sock, is_broken);
		sender_close(&t->stream[t->opened].sender);
	}
	free(t->stream);
	free(t->result.stream);
	free(t->result.cpu);
}

/* Connects the streams; returns false if one cannot connect, or after a signal. */
static bool open_streams(void *transfer)
{
	struct transfer *t = transfer;
	const struct send_options *opt = t->opt;
	const size_t n = (size_t)opt->streams;
	struct send_result *res = &t->result;
	struct run *r = t->run;
	struct stream *st;
	int i, sock;

	t->stream = alloc_or_die(n, sizeof(*t->stream), "streams");
	res->stream = alloc_or_die(n, sizeof(*res->stream), "streams");
	for (i = 0; i < opt->streams; i++) {
		st = &t->stream[i];
		sock = i == 0 ? target_find(&res->target, r, 0, &st->worker.sock)
			      : target_connect(&res->target, r, i, &st->worker.sock);
		if (sock < 0) {
			if (i > 0 && r->stop <= 0)
				target_fail(r, 0);
			return false;
		}
		t->connected = sock;
		st->opt = opt;
		st->set = res->set;
		st->peer = res->target.name;
		st->result = &res->stream[i];
		sock_congestion(sock, res->congestion);
		st->paced = opt->pace > 0 || strncmp(res->congestion, "bbr", 3) == 0;
		st->left = opt->bytes / n + ((size_t)i < opt->bytes % n);
		stream_open(st, sock, opt->chunk, &r->stop);
		t->connected = 0;
		t->opened++;
		if (opt->tls != NULL)
			stream_hello(st);
		if (r->stop > 0)
			return false;
	}
	r->interface = res->target.interface;
	sock = t->stream[0].sender.sock;
	res->chunk = t->stream[0].sender.chunk;
	res->mss = sock_get(sock, IPPROTO_TCP, TCP_MAXSEG);
	res->sndbuf = sock_get(sock, SOL_SOCKET, SO_SNDBUF);
	res->rcvbuf = sock_get(sock, SOL_SOCKET, SO_RCVBUF);
	res->mptcp = opt->sock.mptcp && sock_is_mptcp(sock, NULL, NULL, NULL);
	if (opt->sock.mptcp && !res->mptcp)
		report_tcp_alone(t->report, res->target.name);
	if (opt->debug > 0)
		warnx("connected to %s via %s", res->target.name, printable(res->target.interface));
	return true;
}

bool transfer_open(struct transfer *t)
{
	if (run_attempt(t->run, open_streams, t))
		return true;
	if (t->connected > 0)
		close(t->connected);
	close_streams(t, true);
	return false;
}

void transfer_close(struct transfer *t)
{
	close_streams(t, t->run->is_broken);
}
