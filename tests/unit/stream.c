/* One connection of a transfer: lib/send/stream.c. */
#include "lib/send/transfer.h"

#include <signal.h>

#include "tests/unit/unit.h"

/* What was measured lies between two marks; test_warmup() has each figure. */
static void test_figures(void)
{
	static struct stream_result res;
	static struct send_options opt = {.bind = {.n = 2, .id = {4, 6}}};
	static struct stream st = {.opt = &opt, .result = &res, .worker.number = 1};
	const struct figures *f = &res.sent;

	st.sender.method = &send_methods[method_place("splice")];
	st.sender.zerocopy.sends = 5;
	st.begin = (struct stream_mark){.ns = 1000000000, .bytes = 100, .calls = 10, .files = 1};
	st.end = (struct stream_mark){.ns = 3000000000, .bytes = 1100, .calls = 30, .files = 4};
	st.phase = STREAM_DONE;
	stream_figures(&st);
	ok(strcmp(f->method, "splice") == 0 && f->cpu == 6 && f->zerocopy.sends == 5,
	   "a stream has its method, its CPU and what became of its zero-copy sends");
	st.samples = (struct samples){.n = 1, .rest = 2, .waits.max_rtt = 3, .watch.stalls.n = 4};
	st.mark = st.begin;
	stream_begin(&st);
	ok(st.samples.n == 0 && st.samples.rest == 0 && st.samples.waits.max_rtt == 0 &&
		   st.samples.watch.stalls.n == 0,
	   "what was sampled in the warm-up is forgotten");
	st.end.bytes = 50;
	opt.bind.n = 0;
	stream_figures(&st);
	ok(f->bytes == 0 && isnan(f->cpu), "a stream that ended before its warm-up sent nothing");
}

static void test_broken(void)
{
	static const struct send_options opt = {.seconds = 1};
	static struct stream_result res;
	static struct stream st = {.opt = &opt, .result = &res};
	const struct figures *f = &res.sent;

	st.sender.method = &send_methods[0];
	st.sender.zerocopy.sends = 5;
	st.mark = (struct stream_mark){.ns = 2000000000, .bytes = 500, .tcp.mss = 2};
	st.end = (struct stream_mark){.ns = 1, .bytes = 1000};
	st.tcp.mss = 1;
	st.phase = STREAM_WAITING;
	stream_figures(&st);
	ok(f->bytes == 500 && f->seconds == 2 && f->tcp.mss == 2 && isnan(f->zerocopy.sends),
	   "the figures of a stream that has not come to its end are those of its mark");
	st.phase = STREAM_MEASURED;
	stream_figures(&st);
	ok(f->bytes == 1000 && f->tcp.mss == 1 && isnan(f->zerocopy.sends),
	   "a stream that is measured has its own end, though it still waits for completions");
}

static int awaited; /* how often a sender waited for completions */

static void await(struct sender *s)
{
	awaited++;
	sleep_ns(1000000);
	s->zerocopy.incomplete -= awaited == 3;
}

/* The wait for the receipt took the time that the sender may wait after a signal. */
static void test_abandoned(void)
{
	static const struct send_method method = {.await = await};
	_Atomic int stop = TIME_UP;
	struct sender s = {.method = &method, .stop = &stop, .zerocopy.incomplete = 1};

	s.interrupt_ns = 1;
	sender_finish(&s);
	ok(awaited == 3, "after -t a sender waits until the kernel owns no buffer");
	stop = SIGTERM;
	s.zerocopy.incomplete = 1;
	sender_finish(&s);
	ok(awaited == 3, "a signal has one limit for the receipt and the completions");
	s.interrupt_ns = 0;
	ok(!sender_is_abandoned(&s) && s.interrupt_ns > 0 && !sender_is_abandoned(&s),
	   "a signal gives the end of a stream some time");
}

/* The figures of a stream between two of three marks: its start, the end of its warm-up, and its end. */
static struct figures part_of(int from, int to)
{
	static const struct send_options opt = {.seconds = 1};
	struct stream_result res;
	struct stream st = {.opt = &opt, .result = &res};
	struct stream_mark m[3];
	double i;
	int k;

	for (k = 0; k < 3; k++) {
		i = k * (k + 2);
		m[k] = (struct stream_mark){.ns = 1000000000u * (unsigned)i,
					    .bytes = 1000u * (unsigned)i,
					    .calls = 20u * (unsigned)i,
					    .files = 3u * (unsigned)i};
		m[k].tcp = (struct tcp_figures){.retransmits = 4 * i,
						.segments = 50 * i,
						.busy = 1e5 * i,
						.rwnd_limited = 1e4 * i,
						.sndbuf_limited = 2e4 * i};
	}
	st.sender.method = &send_methods[0];
	st.samples = (struct samples){
		.n = 2, .rest = 8, .waits = {.cwnd_limited = 2, .pacing_limited = 4, .max_rtt = 7}};
	st.tcp = (struct tcp_figures){.rtt = 5, .cwnd = 6, .mss = 1448};
	st.begin = m[from];
	st.end = m[to];
	st.phase = STREAM_DONE;
	stream_figures(&st);
	return res.sent;
}

static void test_warmup(void)
{
	const struct figures warm = part_of(0, 1), rest = part_of(1, 2), all = part_of(0, 2);
	const struct figure *row;
	double value, want;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		value = figure_value(row, &rest);
		want = figure_value(row, &all);
		if (row->key == NULL || row->derive != NULL || row->all != 0)
			continue;
		if (strcmp(row->key, "warmup_bytes") == 0)
			want = figure_value(figure_named("bytes"), &warm);
		else if (row->sum == SUM_ADDED || strcmp(row->key, "seconds") == 0)
			want -= figure_value(row, &warm);
		ok(near(value, want) || (isnan(value) && isnan(want)),
		   "%s: after a warm-up it is %g, what it is without one less what came before",
		   row->key, want);
	}
}

/* Streams that begin after -t, of which the server sees headers without a file, and a raw one. */
static void test_late(void)
{
	static const struct {
		double warmup;
		bool raw;
		ssize_t n;
	} cases[] = {{0, false, 4}, {0.2, false, 12}, {0.2, true, 0}};
	static const char receipt[] = "bytes=0 seconds=0\n", headers[12] = "\377\377\377\377";
	static struct run run = {.measuring = 2};
	const _Atomic int stop = TIME_UP;
	int listener, peer;
	char got[64];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		struct send_options opt = {.seconds = 1,
					   .streams = 1,
					   .warmup = cases[i].warmup,
					   .raw = cases[i].raw,
					   .method = send_methods};
		struct stream_result res = {.has_receipt = false};
		struct stream st = {
			.opt = &opt, .peer = "peer", .result = &res, .worker.run = &run};

		stream_open(&st, listen_and_connect(&listener), 0, &stop);
		peer = accept(listener, NULL, NULL);
		if (write(peer, receipt, sizeof(receipt) - 1) < 0 || shutdown(peer, SHUT_WR) != 0)
			abort();
		stream_work(&st);
		ok(recv(peer, got, sizeof(got), MSG_WAITALL) == cases[i].n &&
			   memcmp(got, headers, (size_t)cases[i].n) == 0 &&
			   res.has_receipt != cases[i].raw,
		   "a stream that starts after -t sends %zd bytes of headers", cases[i].n);
		sender_close(&st.sender);
		close(peer);
		close(listener);
	}
}

/* The sender counts nothing meanwhile, as while one of its calls blocks for longer than --timeout. */
static void test_watch(void)
{
	const struct send_options opt = {.timeout = 1};
	const _Atomic int stop = 0;
	struct run run = {.wake = -1};
	struct stream st = {.opt = &opt, .peer = "peer", .worker.run = &run};
	int listener;

	st.sender = (struct sender){.sock = listen_and_connect(&listener), .stop = &stop};
	st.sender.bytes = 9;
	st.phase = STREAM_WAITING;
	stream_watch(&st);
	if (write(st.sender.sock, "x", 1) != 1)
		abort();
	while (stream_mark(&st).bytes == 0)
		sleep_ns(1000000);
	stream_watch(&st);
	ok(!run.is_broken, "--timeout: what the server acknowledges is progress");
	stream_watch(&st);
	ok(run.is_broken, "--timeout: a server that neither acknowledges nor answers is given up");
	close(st.sender.sock);
	close(listener);
}

TESTS(test_figures, test_broken, test_abandoned, test_warmup, test_late, test_watch)
