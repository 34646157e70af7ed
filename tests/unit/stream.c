/* One connection of a transfer: lib/send/stream.c. */
#include "lib/send/transfer.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "lib/net/tls.h"
#include "tests/unit/unit.h"

/* What the kernel says, if its clock has a step, by which each reading puts it on; else it speaks for itself. */
static struct {
	uint64_t ns, step;
	struct tcp_figures tcp;
	double records; /* of TLS */
	int queued; /* bytes that are not acknowledged, one less each time in a clock of large steps */
	int waited; /* ms, at most */
} kernel;

static uint64_t read_clock(void)
{
	return kernel.step > 0 ? kernel.ns += kernel.step : clock_ns(CLOCK_MONOTONIC);
}

static void read_tcp(int fd, bool mptcp, struct tcp_figures *t)
{
	if (kernel.step > 0)
		*t = kernel.tcp;
	else
		tcp_figures_read(fd, mptcp, t);
}

static int read_queued(int fd, unsigned long request, int *n)
{
	*n = kernel.queued;
	kernel.queued -= kernel.step > 1 && kernel.queued > 0;
	return kernel.step > 0 ? 0 : ioctl(fd, request, n);
}

static int wait_for(struct pollfd *p, nfds_t n, int ms)
{
	kernel.waited += ms;
	return poll(p, n, ms);
}

/* Who decrypts takes the head of a record away. */
static int decrypt(int fd)
{
	char head;

	return recv(fd, &head, 1, 0) == 1 ? 0 : -1;
}

#undef now_ns
#define now_ns()                read_clock()
#define poll                    wait_for
#define tcp_figures_read        read_tcp
#define ioctl(fd, request, n)   read_queued(fd, request, n)
#define tls_records(fd, c, way) kernel.records
#define tls_start(fd, c, to, w) decrypt(fd)
#define tls_start_where(...)    (st->encrypts = "software", 0)
#include "lib/send/stream.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* A stream to a kernel that is a script. */
static struct send_options opt;
static struct run run;
static struct stream_result res;
static _Atomic int stop;

static struct stream scripted(enum stream_phase phase, bool is_tls, int why)
{
	struct stream st = {.opt = &opt, .peer = "peer", .result = &res, .worker.run = &run};

	opt = (struct send_options){.timeout = 1, .tls = is_tls ? tls_ciphers : NULL};
	run = (struct run){.wake = -1};
	st.phase = phase;
	st.sender = (struct sender){.method = send_methods, .stop = &stop};
	stop = why;
	kernel.step = 1;
	return st;
}

/* A stream of three files to a server that has answered and ends its side, or more. */
struct row {
	const char *options, *answer;
	enum { ENDS, CLOSES, RESETS, STAYS, STOPS, TAKES_NO, LACKS } how;
	int n; /* STOPS: why; TAKES_NO: the last bytes; LACKS: of the last file, -1: it cannot be read */
};

static bool work(void *stream)
{
	struct stream *st = stream;

	if (st->opt->tls != NULL)
		stream_hello(st);
	stream_work(st);
	return true;
}

/* Prints what the server got: headers in brackets, and the letters of files. */
static void print_wire(int peer)
{
	unsigned char got[256];
	const ssize_t n = recv(peer, got, sizeof(got), MSG_DONTWAIT);
	ssize_t i;

	for (i = 0; i < n; i++)
		if (got[i] >= 'a' && got[i] <= 'z')
			putchar(got[i]);
		else if (i += 3, i < n)
			printf("[%d]",
			       got[i - 3] << 24 | got[i - 2] << 16 | got[i - 1] << 8 | got[i]);
}

static void print_stream(const struct row *r)
{
	const struct linger at_once = {.l_onoff = true};
	struct file file[] = {{.name = "a", .size = 13}, {.name = "b"}, {.name = "c", .size = 5}};
	struct fileset set = {.file = file, .n = 3, .bytes = 18, .entries = 3};
	struct stream st = scripted(STREAM_SENDING, false, 0);
	int listener, peer, i;

	kernel.step = 0;
	run = (struct run){.opt = &opt, .measuring = 2, .wake = -1};
	res.has_receipt = false;
	st.set = &set;
	options_of(&opt, "-s server -m send ", r->options);
	for (i = 0; i < 3; i++) {
		file[i].fd = i == 2 && r->n < 0 && r->how == LACKS ? open("/", O_RDONLY)
								   : memfd_create("file", 0);
		(void)!write(file[i].fd, &"aaaaaaaaaaaaaccccc"[13 * (i / 2)],
			     file[i].size - (size_t)(i == 2 && r->how == LACKS ? r->n : 0));
	}
	st.left = opt.bytes;
	kernel.records = 3;
	stream_open(&st, listen_and_connect(&listener), 0, &stop);
	peer = accept(listener, NULL, NULL);
	close(listener);
	(void)!write(peer, r->answer, strlen(r->answer));
	if (r->how == ENDS || r->how >= STOPS)
		shutdown(peer, SHUT_WR);
	if (r->how == RESETS)
		setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	if (r->how == CLOSES || r->how == RESETS)
		close(peer);
	kernel.records = 7; /* since the hello */
	kernel.queued = r->how == TAKES_NO ? r->n : 0;
	kernel.step = kernel.queued > 0 || r->how == STAYS ? 600000000 : 0;
	kernel.ns = 0;
	kernel.waited = 0;
	stop = r->how == STOPS ? r->n : 0;
	printf("%s, %.*s: ", r->options, (int)strcspn(r->answer, "\n"), r->answer);
	if (!run_attempt(&run, work, &st))
		printf("%s%s", run.has_died ? "dies: " : "", run.failure);
	else
		print_wire(peer);
	printf(": %ju files, %ju bytes%s%s, %d ms, %g\n", (uintmax_t)st.files,
	       (uintmax_t)st.sender.bytes, res.has_receipt ? ", a receipt" : "",
	       st.phase == STREAM_DONE ? ", done" : "", kernel.step > 0 ? kernel.waited : 0,
	       st.mark.records);
	if (r->how != CLOSES && r->how != RESETS)
		close(peer);
	kernel.step = 0;
	for (i = 0; i < 3; i++)
		close(file[i].fd);
	sender_close(&st.sender);
}

static void test_streams(void)
{
	static const struct row rows[] = {
		{"-n 2 -k", "bytes=36 seconds=1\n", ENDS, 0},
		{"-n 1", "", ENDS, 0},
		{"-n 1 --warmup .2", "bytes=18 seconds=1\n", ENDS, 0},
		{"--bytes 20", "bytes=20 seconds=1\n", ENDS, 0},
		{"-n 2 --raw", "noise", ENDS, 0},
		{"-n 1 --raw", "", STAYS, 0},
		{"-n 1 --raw", "", TAKES_NO, 4},
		{"-t 1", "bytes=0 seconds=0\n", STOPS, TIME_UP},
		{"-t 1 --warmup .2", "bytes=0 seconds=0\n", STOPS, TIME_UP},
		{"-t 1 --raw", "", STOPS, TIME_UP},
		{"-n 1", "hello\n", ENDS, 0},
		{"-n 1", "hello\n", STOPS, SIGINT},
		{"-n 1", "refused=full\n", ENDS, 0},
		{"-n 1", "refused=address\n", ENDS, 0},
		{"-n 1", "refused=method\n", ENDS, 0},
		{"-n 1", "refused=x\n", CLOSES, 0},
		{"-n 1", "", CLOSES, 0},
		{"-n 1", "", RESETS, 0},
		{"-n 1 --raw", "", RESETS, 0},
		{"-n 1", "", TAKES_NO, 2},
		{"-n 1 --pace 1000", "", TAKES_NO, 9},
		{"-n 1 --pace 1200", "", TAKES_NO, 9},
		{"-n 1", "", LACKS, 1},
		{"-n 1", "", LACKS, -1},
		{"-n 1 --tls", "\27tls=aes-128-gcm\n", ENDS, 0},
		{"-t 1 --tls", "\27tls=aes-128-gcm\n", STOPS, TIME_UP},
		{"-n 1 --tls", "\27tls=aes-256-gcm\n", ENDS, 0},
		{"-n 1 --tls", "tls=aes-128-gcm\n", ENDS, 0},
		{"-n 1 --tls", "refused=tls\n", ENDS, 0},
		{"-n 1 --tls", "", ENDS, 0},
		{"-n 1 --tls", "", STAYS, 0},
		{"-n 1 --tls", "", STOPS, SIGINT},
	};
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(rows); i++)
		print_stream(&rows[i]);
	expect(captured(), "what a stream sends, and how it ends");
}

/* The bytes of files that are acknowledged, while a stream sends and afterwards. */
static void test_marks(void)
{
	static const struct {
		enum stream_phase phase;
		int stop;
		double acked;
		int queued, want;
		double records; /* NAN: without TLS */
	} rows[] = {
		{STREAM_SENDING, 0, 1000, 99, 988, NAN},  {STREAM_SENDING, 1, 1000, 99, 987, NAN},
		{STREAM_SENDING, 0, 12, 0, 0, NAN},       {STREAM_SENDING, 0, 5, 0, 0, NAN},
		{STREAM_SENDING, 0, NAN, 99, 401, NAN},   {STREAM_WAITING, 0, NAN, 99, 402, NAN},
		{STREAM_WAITING, 1, 512, 1, 500, NAN},    {STREAM_WAITING, 0, 513, 0, 500, NAN},
		{STREAM_WAITING, 0, 511, 2, 499, NAN},    {STREAM_SENDING, 0, 9001, 999, 8790, 10},
		{STREAM_SENDING, 0, 9000, 1000, 0, 1000}, {STREAM_SENDING, 0, 0, 0, 0, 1},
		{STREAM_WAITING, 0, 9000, 99, 402, 10}};
	struct stream st;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		st = scripted(rows[i].phase, !isnan(rows[i].records), rows[i].stop);
		st.headers = 12;
		st.sender.bytes = 500;
		kernel.tcp.acked = rows[i].acked;
		kernel.queued = rows[i].queued;
		kernel.records = rows[i].records;
		ok((int)stream_mark(&st).bytes == rows[i].want,
		   "mark %zu: of %g acknowledged bytes %d are of files", i, rows[i].acked,
		   rows[i].want);
	}
}

static void test_intervals(void)
{
	static const struct {
		enum stream_phase phase;
		unsigned mark, want;
	} rows[] = {{STREAM_WAITING, 150, 50}, {STREAM_SENDING, 90, 0}, {STREAM_MEASURED, 170, 60}};
	struct stream st;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		st = scripted(rows[i].phase, false, 0);
		st.last.bytes = 100;
		st.mark.bytes = rows[i].mark;
		st.end.bytes = 160;
		stream_interval(&st);
		ok(res.interval.bytes == rows[i].want && st.last.bytes == 100 + rows[i].want,
		   "an interval from 100 to %u has %u bytes", rows[i].mark, rows[i].want);
	}
}

/* What TCP did since the look before, and what a stream waited for by all looks so far. */
static void test_samples(void)
{
	static const struct {
		double busy, rwnd, sndbuf, in_flight, unsent, rtt, cwnd;
		bool paced;
	} rows[] = {{100, 0, 0, 7, 9, 5, 40, false},  {100, 30, 20, 7, 9, 6, 30, false},
		    {100, 0, 0, 6, 9, 3, 20, false},  {100, 0, 0, 6, 9, 3, 20, true},
		    {100, 0, 0, 6, 0, 3, 20, true},   {100, 90, 20, 7, 9, 3, 20, false},
		    {NAN, 0, 0, 7, 9, 99, 99, false}, {3, 0, 0, 0, 0, 1, 50, false}};
	struct stream st = scripted(STREAM_SENDING, false, 0);
	const struct samples *s = &st.samples;
	/* gcc's analyzer, which takes the mark for uninitialized, does not see through this. */
	static void (*volatile sample)(struct stream *) = stream_sample;
	double busy = 0;
	size_t i;

	kernel.tcp = (struct tcp_figures){.window = 9, .acked = 50};
	kernel.ns = 0;
	kernel.step = 150000000;
	capture(STDOUT_FILENO);
	for (i = 0; i <= LENGTH(rows); i++) {
		if (i < LENGTH(rows)) {
			busy += isnan(rows[i].busy) ? 0 : rows[i].busy;
			kernel.tcp.busy = isnan(rows[i].busy) ? NAN : busy;
			kernel.tcp.rwnd_limited += rows[i].rwnd;
			kernel.tcp.sndbuf_limited += rows[i].sndbuf;
			kernel.tcp.in_flight = rows[i].in_flight;
			kernel.tcp.unsent = rows[i].unsent;
			kernel.tcp.rtt = rows[i].rtt;
			kernel.tcp.cwnd = rows[i].cwnd;
			st.paced = rows[i].paced;
		} else {
			st.phase = STREAM_MEASURED;
		}
		sample(&st);
		printf("%ju: rest %g, cwnd %g, pacing %g, rtt %g %g, cwnd %g %g; %ju stalls, %ju ms\n",
		       (uintmax_t)s->n, s->rest, s->waits.cwnd_limited, s->waits.pacing_limited,
		       s->waits.mean_rtt, s->waits.max_rtt, s->waits.mean_cwnd, s->waits.max_cwnd,
		       (uintmax_t)s->watch.stalls.n,
		       (uintmax_t)s->watch.stalls.longest_ns / 1000000);
	}
	expect(captured(), "what a stream waits for is sampled");
	kernel.step = 0;
}

/* What was measured lies between two marks; test_warmup() has each figure. */
static void test_figures(void)
{
	struct stream st = scripted(STREAM_DONE, true, 0);
	const struct figures *f = &res.sent;

	opt.bind = (struct cpus){2, {4, 6}};
	st.worker.number = 1;
	st.encrypts = "device";
	st.sender.method = &send_methods[method_place("splice")];
	st.sender.zerocopy.sends = 5;
	st.begin = (struct stream_mark){.ns = 1000000000, .bytes = 100, .calls = 10, .records = 1};
	st.end = (struct stream_mark){.ns = 3000000000, .bytes = 1100, .calls = 30, .records = 4};
	st.samples.watch.stalls = (struct stalls){.n = 4, .longest_ns = 7000};
	stream_figures(&st);
	ok(f->stalls == 4 && f->longest_stall == 7, "a stream has its stalls, the longest in us");
	ok(strcmp(f->method, "splice") == 0 && f->cpu == 6 && f->zerocopy.sends == 5,
	   "a stream has its method, its CPU and what became of its zero-copy sends");
	ok(f->tls.records == 3 && strcmp(f->tls.version, "1.3") == 0 &&
		   strcmp(f->tls.cipher, "aes-128-gcm") == 0 && strcmp(f->tls.place, "device") == 0,
	   "a stream has its records of TLS, its cipher and what encrypts");
	st.samples = (struct samples){.n = 1, .rest = 2, .waits.max_rtt = 3, .watch.stalls.n = 4};
	st.mark = (struct stream_mark){.bytes = 60};
	stream_begin(&st);
	ok(st.begin.bytes == 60 && st.last.bytes == 60 && st.samples.n == 0 &&
		   st.samples.rest == 0 && st.samples.waits.max_rtt == 0 &&
		   st.samples.watch.stalls.n == 0,
	   "what is measured begins at the mark, and what was sampled before is forgotten");
	st.end.bytes = 50;
	opt.bind.n = 0;
	stream_figures(&st);
	ok(f->bytes == 0 && f->warmup == 50 && isnan(f->cpu),
	   "a stream that ended before its warm-up sent nothing");
}

static void test_broken(void)
{
	struct stream st = scripted(STREAM_WAITING, false, 0);
	const struct figures *f = &res.sent;

	st.sender.method = &send_methods[0];
	st.sender.zerocopy.sends = 5;
	st.mark = (struct stream_mark){.ns = 2000000000, .bytes = 500, .tcp.mss = 2};
	st.end = (struct stream_mark){.ns = 1, .bytes = 1000};
	st.tcp.mss = 1;
	stream_figures(&st);
	ok(f->bytes == 500 && f->seconds == 2 && f->tcp.mss == 2 && isnan(f->zerocopy.sends),
	   "the figures of a stream that has not come to its end are those of its mark");
	st.phase = STREAM_MEASURED;
	stream_figures(&st);
	ok(f->bytes == 1000 && f->tcp.mss == 1 && isnan(f->zerocopy.sends),
	   "a stream that is measured has its own end, though it still waits for completions");
}

/* The figures of a stream between two of three marks: its start, the end of its warm-up, and its end. */
static struct figures part_of(int from, int to)
{
	struct stream st = scripted(STREAM_DONE, false, 0);
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

/* The second look of --timeout, after more was acknowledged or the sender has counted more. */
static void test_watch(void)
{
	static const struct {
		enum stream_phase phase;
		bool raw;
		int queued, acked, sent;
		const char *want;
	} rows[] = {{STREAM_SENDING, false, 1, 0, 0, "1 seconds (--timeout) after 1 byte"},
		    {STREAM_SENDING, false, 1, 1, 0, ""},
		    {STREAM_SENDING, false, 1, 0, 1, ""},
		    {STREAM_SENDING, false, 0, 0, 0, ""},
		    {STREAM_WAITING, false, 0, 0, 0, "1 seconds (--timeout) after 0 bytes"},
		    {STREAM_WAITING, true, 0, 0, 0, ""},
		    {STREAM_MEASURED, false, 9, 0, 0, ""}};
	struct stream st;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		st = scripted(rows[i].phase, false, 0);
		opt.raw = rows[i].raw;
		kernel.queued = rows[i].queued;
		kernel.tcp.acked = 1;
		stream_watch(&st);
		run = (struct run){.wake = -1};
		kernel.tcp.acked += rows[i].acked;
		st.sender.bytes += (unsigned)rows[i].sent;
		stream_watch(&st);
		ok(run.is_broken == (*rows[i].want != '\0') && strstr(run.failure, rows[i].want),
		   "--timeout %zu: a server that takes no data is given up: %s", i, run.failure);
	}
}

/* A stop cuts a record of TLS: what was lost with it, of a call and a record at most, was not sent. */
static void test_lost(void)
{
	static const struct {
		bool is_tls;
		int stop;
		unsigned received, want;
	} rows[] = {{true, TIME_UP, 83610, 83611},
		    {true, TIME_UP, 83609, 100000},
		    {true, 0, 90000, 100000},
		    {false, TIME_UP, 90000, 100000}};
	struct stream st;
	char line[64];
	size_t i;
	int n;

	for (i = 0; i < LENGTH(rows); i++) {
		st = scripted(STREAM_WAITING, rows[i].is_tls, rows[i].stop);
		st.sender.bytes = 100000;
		st.sender.chunk = 5;
		kernel.queued = 0;
		n = snprintf(line, sizeof(line), "bytes=%u seconds=1 warmup=6\n",
			     rows[i].received - 5);
		take_receipt(&st, line, (size_t)n, true);
		ok(st.sender.bytes == rows[i].want && res.has_receipt,
		   "of a server that received %u bytes, %u were sent", rows[i].received,
		   rows[i].want);
	}
	kernel.step = 0;
}

TESTS(test_streams, test_marks, test_intervals, test_samples, test_figures, test_broken,
      test_warmup, test_watch, test_lost)
