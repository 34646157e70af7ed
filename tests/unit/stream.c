#include "lib/send/stream.h"

#include "tests/unit/unit.h"

static void test_warmup_loops(void)
{
	ok(warmup_loops(0) == 0, "no warm-up has no loops");
	ok(warmup_loops(0.1) == 1 && warmup_loops(1) == 10 && warmup_loops(WARMUP_MAX) == 1000,
	   "a warm-up has ten loops without a file a second");
	ok(warmup_loops(0.14) == 1 && warmup_loops(0.16) == 2, "a warm-up is rounded to 0.1 s");
}

/* What was measured lies between two marks; counts of the connection were not 0 at the first. */
static void test_figures(void)
{
	static struct stream st;
	static struct stream_result res;
	static struct send_options opt = {.bind = {.n = 2, .id = {4, 6}}};
	const struct figures *f = &res.sent;

	st.opt = &opt;
	st.result = &res;
	st.worker.number = 1;
	st.sender.method = method_named("splice");
	st.begin = (struct stream_mark){.ns = 1000000000, .bytes = 100, .calls = 10, .files = 1};
	st.end = (struct stream_mark){.ns = 3000000000, .bytes = 1100, .calls = 30, .files = 4};
	st.begin.tcp = (struct tcp_figures){
		.retransmits = 2, .busy = 100, .rwnd_limited = 10, .sndbuf_limited = 20};
	st.end.tcp = (struct tcp_figures){
		.retransmits = 7, .busy = 400, .rwnd_limited = 40, .sndbuf_limited = 80, .rtt = 1};
	st.tcp = (struct tcp_figures){.retransmits = 9, .busy = 900, .rtt = 33, .mss = 1448};
	stream_figures(&st);
	ok(f->bytes == 1000 && f->calls == 20 && f->files == 3 && f->seconds == 2 &&
		   f->warmup == 100,
	   "the figures of a stream are those since its warm-up");
	ok(f->tcp.retransmits == 5 && f->tcp.busy == 300 && f->tcp.rwnd_limited == 30 &&
		   f->tcp.sndbuf_limited == 60,
	   "retransmits and what limited a stream are those since its warm-up");
	ok(f->tcp.rtt == 33 && f->tcp.mss == 1448,
	   "the state of a stream's connection is that when all had been sent");
	is(f->method, "splice", "a stream has its method");
	ok(f->cpu == 6 && !res.has_zerocopy, "the second stream is bound to the second CPU");
	st.end.bytes = 50;
	opt.bind.n = 0;
	stream_figures(&st);
	ok(f->bytes == 0 && isnan(f->cpu), "a stream that ended before its warm-up sent nothing");
}

/* Without a socket TCP's figures are not known, and what is sent counts as acknowledged. */
static void test_interval(void)
{
	static struct stream st;
	struct figures f;

	st.sender.sock = -1;
	st.sender.bytes = 1000;
	st.sender.calls = 3;
	st.files = 2;
	stream_mark_now(&st, &st.last);
	st.sender.bytes = 5000;
	st.sender.calls = 10;
	st.files = 7;
	stream_interval(&st, &f);
	ok(f.bytes == 4000 && f.calls == 7 && f.files == 5 && f.seconds > 0,
	   "an interval of a stream has what was done since the last");
	ok(isnan(f.tcp.rtt) && isnan(f.tcp.retransmits),
	   "an interval without TCP figures has none");
	stream_interval(&st, &f);
	ok(f.bytes == 0 && f.calls == 0 && stream_acknowledged(&st) == 5000,
	   "an interval in which nothing was done has nothing");
}

int main(void)
{
	test_warmup_loops();
	test_figures();
	test_interval();
	return done();
}
