/* One connection of a transfer: lib/send/stream.c. */
#include "lib/send/transfer.h"

#include <pthread.h>

#include "tests/unit/unit.h"

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
	st.sender.zerocopy.sends = 5;
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
	ok(f->cpu == 6, "the second stream is bound to the second CPU");
	ok(f->zerocopy.sends == 5, "a stream has what became of its zero-copy sends");
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
	st.last = stream_mark(&st);
	st.sender.bytes = 5000;
	st.sender.calls = 10;
	st.files = 7;
	stream_interval(&st, &f);
	ok(f.bytes == 4000 && f.calls == 7 && f.files == 5 && f.seconds > 0,
	   "an interval of a stream has what was done since the last");
	ok(isnan(f.tcp.rtt) && isnan(f.tcp.retransmits),
	   "an interval without TCP figures has none");
	stream_interval(&st, &f);
	ok(f.bytes == 0 && f.calls == 0 && stream_mark(&st).bytes == 5000,
	   "an interval in which nothing was done has nothing");
}

/* A server: what it received, and how many bytes. */
struct served {
	int listener;
	unsigned char buf[64];
	size_t n;
};

/* Reads to the end of the stream, and answers it with a receipt. */
static void *serve(void *served)
{
	static const char receipt[] = "bytes=0 seconds=0\n";
	struct served *s = served;
	const int fd = accept(s->listener, NULL, NULL);
	ssize_t n;

	while ((n = read(fd, s->buf + s->n, sizeof(s->buf) - s->n)) > 0)
		s->n += (size_t)n;
	if (s->n > 0 && write(fd, receipt, sizeof(receipt) - 1) < 0)
		s->n = sizeof(s->buf);
	close(fd);
	return NULL;
}

/* Returns a connection to a server in a thread of its own. */
static int connect_served(struct served *s, pthread_t *thread)
{
	const int fd = listen_and_connect(&s->listener);

	if (pthread_create(thread, NULL, serve, s) != 0)
		abort();
	return fd;
}

/* Has a stream work when its time is over.  Returns what the server received of it. */
static struct served late(struct send_options *opt)
{
	static const _Atomic int stop = TIME_UP;
	struct file file = {.name = "none", .fd = -1, .size = 1};
	struct fileset set = {.file = &file, .n = 1, .entries = 1, .bytes = 1};
	struct run run = {.opt = opt, .measuring = 2};
	struct stream_result res = {.has_receipt = false};
	struct stream st = {.opt = opt, .set = &set, .peer = "peer", .result = &res};
	struct served served = {.n = 0};
	pthread_t thread;

	opt->seconds = 1;
	opt->streams = 1;
	opt->method = method_named("sendfile");
	st.worker.run = &run;
	stream_open(&st, connect_served(&served, &thread), 0, &stop);
	stream_work(&st);
	sender_close(&st.sender);
	pthread_join(thread, NULL);
	close(served.listener);
	return served;
}

static void test_late(void)
{
	static const unsigned char headers[12] = {255, 255, 255, 255};
	struct send_options opt = {.warmup = 0};
	struct served served = late(&opt);

	ok(served.n == 4 && memcmp(served.buf, headers, 4) == 0,
	   "a stream that starts after -t sends the header of a transfer without a file");
	opt.warmup = 0.2;
	served = late(&opt);
	ok(served.n == 12 && memcmp(served.buf, headers, 12) == 0,
	   "a stream that starts after -t announces its warm-up");
	opt.raw = true;
	ok(late(&opt).n == 0, "a raw stream that starts after -t sends nothing");
}

/* Connects to a server that reads nothing, and fills the connection. */
static int connect_stuck(void)
{
	static const char data[65536];
	int listener, fd = listen_and_connect(&listener);

	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	return fd;
}

/* Looks twice after a stream whose server reads nothing, and dies of it, unless it is exempt. */
struct watched {
	struct send_options opt;
	uint64_t sent; /* between the two times */
	enum stream_phase phase;
};

static void watch(void *watched)
{
	const struct watched *w = watched;
	struct stream st = {.opt = &w->opt, .peer = "peer", .phase = w->phase};
	static const _Atomic int stop;

	st.sender.sock = connect_stuck();
	st.sender.stop = &stop;
	stream_watch(&st);
	st.sender.bytes += w->sent;
	stream_watch(&st);
	_exit(0);
}

/* At 64 KiB a second two segments take 2 seconds. */
static void test_watch(void)
{
	struct watched w = {.opt = {.timeout = 1}, .sent = 1};

	ok(died(watch, &w) == 0,
	   "a server that takes something in each --timeout may take its time");
	w.sent = 0;
	ok(died(watch, &w) == EXIT_FAILURE &&
		   strstr(printed, "accepted no data for 1 seconds (--timeout)") != NULL,
	   "a server that accepts nothing for --timeout is reported");
	w.opt.pace = 65536;
	w.opt.timeout = 3;
	ok(died(watch, &w) == EXIT_FAILURE &&
		   strstr(printed,
			  "accepted no data for 3 seconds (--timeout, and two segments at --pace)") !=
			   NULL,
	   "with --pace a server that accepts nothing is reported, too");
	w.phase = STREAM_DONE;
	ok(died(watch, &w) == 0, "a stream that has come to its end is not watched");
}

/* Sends a directory, which no method can.  Dies. */
static void send_directory(void *method)
{
	static const _Atomic int stop;
	struct send_options opt = {.loops = 1, .streams = 1, .method = method_named(method)};
	struct file file = {.name = "directory", .fd = open("/", O_RDONLY), .size = 1};
	struct fileset set = {.file = &file, .n = 1, .entries = 1, .bytes = 1};
	struct stream_result res = {.has_receipt = false};
	struct stream st = {.opt = &opt, .set = &set, .peer = "peer", .result = &res};
	struct served served = {.n = 0};
	pthread_t thread;

	stream_open(&st, connect_served(&served, &thread), 0, &stop);
	stream_work(&st);
}

static void test_failed_file(void)
{
	const char *methods = "sendfile|send|write|mmap|splice|zerocopy", *method;
	char want[64];

	while ((method = next_of(&methods)) != NULL) {
		snprintf(want, sizeof(want), ": directory: -m %s cannot send it: ", method);
		ok(died(send_directory, (void *)method) == EXIT_FAILURE &&
			   strstr(printed, want) != NULL,
		   "-m %s: a file that cannot be read is no failure of the server", method);
	}
}

int main(void)
{
	test_figures();
	test_interval();
	test_late();
	test_watch();
	test_failed_file();
	return done();
}
