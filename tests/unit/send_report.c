/* The report of zcc: lib/send/report. */
#include "lib/send/report.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

/* A transfer of two streams that was measured at both ends; each figure has a value of its own. */
struct transfer {
	struct send_options opt;
	struct target target;
	struct fileset set;
	struct stream_result stream[2];
	struct cpu_result cpu[2];
	struct send_result res;
	struct send_report report;
};

static const struct tcp_figures tcp = {.retransmits = 3,
				       .rtt = 1500,
				       .rttvar = 250,
				       .min_rtt = 500,
				       .cwnd = 20480,
				       .mss = 1448,
				       .pmtu = 1500,
				       .delivery_rate = 125e6,
				       .busy = 2000,
				       .rwnd_limited = 500,
				       .sndbuf_limited = 250};

static void sides_init(struct send_result *res)
{
	struct figures *s = &res->sent, *r = &res->received;
	int i;

	figures_init(s);
	figures_init(r);
	s->bytes = 4096000;
	s->seconds = 2;
	s->calls = 250;
	s->warmup = 77;
	s->tcp = tcp;
	strcpy(s->method, "send");
	s->host.load = 0.25;
	s->host.uncertainty = 0.01;
	s->host.cpus = 2;
	s->host.tasks = 0.125;
	s->host.switches = 1234;
	strcpy(s->host.instrument, LOAD_BY_SOAKING);
	s->host.slowed = 0.0625;
	s->host.rates.interrupts = 1001;
	s->host.rates.packets_in = 1002;
	s->host.rates.packets_out = 1003;
	r->bytes = 2048000;
	r->seconds = 0.05;
	r->calls = 10;
	strcpy(r->method, "read");
	r->host.load = 0.5;
	r->host.cpus = 1.5;
	r->host.unsafe = UNSAFE_CPU_OFFLINE | UNSAFE_STEAL;
	r->clients = 3;
	for (i = 0; i < CPU_COLUMNS; i++)
		s->host.rates.cpu[i] = (i + 1) / 1000.0;
	r->host.rates.cpu[CPU_IRQ] = 0.0004;
	s->host.rates.cpu[CPU_STEAL] = 0.0004;
	s->host.rates.cpu[CPU_USER] = 0.0005;
}

static void address_set(struct sockaddr_storage *addr, unsigned char host, unsigned short port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	in->sin_addr.s_addr = htonl(0xc0000200 + host);
}

static void cpu_init(struct cpu_result *c, const struct figures *sent, double load, double half)
{
	c->figures = *sent;
	c->figures.host = (struct load){.load = load, .uncertainty = half, .cpus = 1};
}

static void transfer_init(struct transfer *t)
{
	int i;

	memset(t, 0, sizeof(*t));
	t->opt = (struct send_options){
		.server = "server", .port = "2222", .method = method_named("send"), .streams = 1};
	strcpy(t->target.name, "192.0.2.1:2222");
	t->set = (struct fileset){.n = 5, .bytes = 4096};
	for (i = 0; i < 2; i++) {
		figures_init(&t->stream[i].sent);
		figures_init(&t->stream[i].received);
		t->stream[i].sent.tcp = tcp;
		t->stream[i].sent.bytes = 1024000u * (unsigned)(i + 1);
		t->stream[i].sent.seconds = 2;
		t->stream[i].received.cpu = 6;
	}
	t->res = (struct send_result){.target = &t->target,
				      .set = &t->set,
				      .chunk = 512,
				      .loops = 9,
				      .congestion = "cubic",
				      .stream = t->stream,
				      .cpu = t->cpu};
	sides_init(&t->res);
	t->cpu[0] = (struct cpu_result){.id = 3, .role = "sender"};
	t->cpu[1] = (struct cpu_result){.id = 4, .role = ""};
	cpu_init(&t->cpu[0], &t->res.sent, 0.5, 0.25);
	cpu_init(&t->cpu[1], &t->res.sent, 0.125, 0.01);
	t->cpu[1].figures.host.unsafe = UNSAFE_STEAL;
	t->report = (struct send_report){.opt = &t->opt, .lock = REPORT_LOCK};
}

/* Sums what the two streams' connections did. */
static void add_streams(struct transfer *t)
{
	struct figures sum;

	figures_init(&sum);
	figures_add(&sum, &t->stream[0].sent);
	figures_add(&sum, &t->stream[1].sent);
	t->res.sent.tcp = sum.tcp;
	t->res.sent.zerocopy = sum.zerocopy;
}

static void end(void *arg)
{
	struct transfer *t = arg;

	report_end(&t->report, &t->res, NULL);
}

static void start_and_end(void *arg)
{
	struct transfer *t = arg;

	report_start(&t->report, &t->target, &t->res);
	report_end(&t->report, &t->res, "why");
}

static void interval(void *arg)
{
	struct transfer *t = arg;
	struct figures f[2] = {t->stream[0].sent, t->stream[1].sent};

	report_interval(&t->report, f, &t->res.sent, 3, true);
	report_interval(&t->report, f, &t->res.sent, 3, false);
}

static struct transfer sample;

/* The report must be that of this file. */
static void prints(const char *name, const char *title)
{
	expect_file(name, printed_by(end, &sample), "%s", title);
}

static void test_text(void)
{
	transfer_init(&sample);
	sample.res.receipts = 1;
	prints("zcc-two-ends", "a report of two ends that measured their loads has every figure");
	sample.stream[0].has_receipt = true;
	sample.res.received.clients = 1;
	lacks(printed_by(end, &sample), "all bytes",
	      "a report does not claim that all arrived where a byte is missing");
	lacks(printed, "clients", "a report names no other clients of a receiver that had none");
	sample.res.received.host.load = NAN;
	strcpy(sample.res.received.no_load, "held");
	has(printed_by(end, &sample),
	    "\n    receiver: no load: another program there soaks the CPUs\n",
	    "a receiver without a load has a line that tells why");
	strcpy(sample.res.received.no_load, "");
	has(printed_by(end, &sample),
	    "\n    receiver: no load: its receipt has none (zcs -c measures it)\n",
	    "a receiver of an older version has no reason");
	sample.res.local = true;
	lacks(printed_by(end, &sample), "no load", "on one host one load is of both ends");
	sample.res.local = false;
	set_unknown(&sample.res.sent.tcp, sizeof(sample.res.sent.tcp));
	lacks(printed_by(end, &sample), "TCP", "TCP figures that are not known have no group");
	sample.opt.quiet = true;
	sample.opt.chunks.n = 1;
	prints("zcc-quiet", "a quiet report is one line");
	sample.res.sent.host.load = 1e300;
	sample.opt.quiet = false;
	has(printed_by(end, &sample), "\n  load ",
	    "a load of 300 digits stays in its column's buffer");
}

static void test_without_load(void)
{
	transfer_init(&sample);
	sample.set.builtin = true;
	sample.res.sent.host.load = sample.res.received.host.load = NAN;
	sample.res.sent.host.unsafe = sample.res.received.host.unsafe = 0;
	sample.res.sent.tcp.busy = 0;
	set_unknown(&sample.res.received.host.rates, sizeof(sample.res.received.host.rates));
	prints("zcc-no-load", "a report without a receipt and without a load has neither");
	sample.res.receipts = 1;
	lacks(printed_by(end, &sample), "no load",
	      "a report where neither end measured a load does not tell why the receiver has none");
	sample.set = (struct fileset){.n = 1, .bytes = 1};
	sample.res.loops = 1;
	has(printed_by(end, &sample), "  1 file of 1 byte, in 1 loop\n",
	    "a count of one stands before a noun in the singular");
	sample.res.receipts = 0;
	sample.res.sent.host.unsafe = UNSAFE_BASELINE_BUSY;
	has(printed_by(end, &sample),
	    "    load                                    -\n"
	    "    unsafe: why                 baseline_busy\n",
	    "a load that means nothing is not printed, but its reasons are");
	lacks(printed, "cost", "a load that means nothing has no cost");
}

static void test_options(void)
{
	transfer_init(&sample);
	sample.opt.streams = 2;
	sample.opt.pace = 4096;
	sample.opt.warmup = 1.5;
	sample.opt.cork = true;
	sample.opt.nodelay = sample.opt.raw = 1;
	sample.res.receipts = 2;
	sample.res.n_cpus = 2;
	sample.res.local = true;
	sample.res.sent.host.cpus = sample.res.received.host.cpus = 4;
	sample.res.received.method[0] = '\0';
	strcpy(sample.target.interface, "lo");
	sample.res.sent.host.baseline = BASELINE_OWN;
	sample.res.sent.host.drift = 0.005;
	sample.stream[0].sent.cpu = 5;
	sample.stream[1].sent.tcp.rtt = NAN;
	sample.stream[0].received.bytes = sample.stream[0].sent.bytes;
	sample.stream[0].has_receipt = true;
	sample.stream[0].sent.zerocopy = (struct zerocopy_figures){5, 1, 2};
	sample.stream[1].sent.zerocopy = (struct zerocopy_figures){3, 1, 4};
	add_streams(&sample);
	prints("zcc-options",
	       "a report of two streams and with all options has a row for each stream and CPU");
}

/* Whether two lines begin with the same name of a row. */
static bool has_row_twice(const char *text)
{
	char name[32];
	const char *line, *p;

	for (line = strstr(text, "\n    "); line != NULL; line = strstr(line + 1, "\n    ")) {
		snprintf(name, sizeof(name), "%.25s", line);
		p = line[5] != ' ' ? strstr(line + 1, name) : NULL;
		if (p != NULL)
			return true;
	}
	return false;
}

/* A report of figures as large as they come, on one host or on two. */
static void test_widths(void)
{
	static struct cpu_result many[512];
	int i, local;

	for (local = 0; local < 2; local++) {
		transfer_init(&sample);
		strcpy(sample.target.name, "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535");
		strcpy(sample.target.interface, "enp0s31f6");
		sample.res.local = local;
		sample.res.receipts = sample.opt.streams = 2;
		sample.opt.warmup = 1000000;
		sample.opt.pace = 1u << 31;
		sample.opt.cork = true;
		sample.opt.nodelay = 1;
		sample.res.sent.bytes = sample.res.received.bytes = 1000000000000000000;
		sample.res.sent.warmup = sample.res.sent.calls = 1000000000000000;
		sample.res.sent.seconds = 1000000;
		sample.res.sent.host.load = 1;
		sample.res.sent.host.uncertainty = 0.5;
		sample.res.sent.host.unsafe = UNSAFE_SOAKED_ALREADY;
		sample.res.sent.host.rates.packets_in = 1e9;
		sample.res.received.host.rates = sample.res.sent.host.rates;
		sample.stream[0].has_receipt = true;
		sample.stream[0].sent.cpu = sample.stream[0].received.cpu = 8191;
		for (i = 0; i < 512; i++)
			many[i] = (struct cpu_result){.id = i,
						      .role = i < 3 ? "receiver" : "",
						      .figures.host = {.load = i / 5e4,
								       .uncertainty = 0.01,
								       .unsafe = 1}};
		sample.res.cpu = many;
		sample.res.n_cpus = 512;
		printed_by(end, &sample);
		ok(widest(strchr(printed, '\n') + 1) <= 80,
		   "no line below the first has more than 80 columns, %s: %zu",
		   local ? "one host" : "two hosts", widest(strchr(printed, '\n') + 1));
		ok(strstr(printed, "\n    cpu0 ") != NULL &&
			   strstr(printed, "\n    cpu499 ") == NULL &&
			   strstr(printed, "\n    cpu511 ") != NULL,
		   "CPUs have a row that have a role or a load");
		ok((strstr(printed, "load of this host, both ends\n") != NULL) == local,
		   "two hosts have a column of load each, one host has one column");
		ok(!has_row_twice(strchr(printed, '\n')), "no row is there twice");
	}
}

static void test_comparison(void)
{
	transfer_init(&sample);
	sample.opt.compare.wanted = true;
	prints("zcc-comparison", "the first run of a comparison prints what is sent where");
	sample.report.run = 2;
	is(printed_by(end, &sample), "", "the next run of a comparison prints nothing");
	transfer_init(&sample);
	sample.opt.compare.wanted = true;
	sample.opt.quiet = true;
	is(printed_by(end, &sample), "", "a run of a quiet comparison prints nothing");
}

/* What JSON has from a member on; the environment of this machine stands before. */
static const char *json_from(const char *member, void (*function)(void *arg))
{
	const char *at = strstr(printed_by(function, &sample), member);

	return at != NULL ? at : "";
}

static void test_json(void)
{
	transfer_init(&sample);
	sample.opt.json = sample.opt.nodelay = 1;
	sample.opt.streams = 2;
	sample.opt.pace = 1000;
	sample.opt.warmup = 1.5;
	sample.opt.seconds = 2.5;
	sample.res.receipts = 2;
	sample.res.n_cpus = 2;
	sample.res.mss = 11;
	sample.res.sndbuf = 12;
	sample.res.rcvbuf = 13;
	strcpy(sample.target.interface, "eth0");
	address_set(&sample.target.addr, 1, 2222);
	address_set(&sample.stream[0].local, 2, 8);
	sample.stream[0].has_receipt = true;
	sample.stream[0].sent.zerocopy = (struct zerocopy_figures){5, 1, 2};
	add_streams(&sample);
	expect_file(
		"zcc-json-end", json_from("\"tcp_mss_default\":", start_and_end),
		"a report in JSON has its settings, receipts, sums, loads of each CPU, and the error");
	has(printed,
	    "\"connecting_to\":{\"host\":\"server\",\"port\":2222},"
	    "\"connected\":[{\"socket\":1,\"local_host\":\"192.0.2.2\",\"local_port\":8,"
	    "\"remote_host\":\"192.0.2.1\",\"remote_port\":2222},{\"socket\":2,"
	    "\"remote_host\":\"192.0.2.1\",\"remote_port\":2222}],",
	    "a report in JSON has its connections");
	sample.res.receipts = 1;
	has(printed_by(start_and_end, &sample),
	    "\"both_ends_on_host\":false,\"receipts\":1},\"error\"",
	    "a report in JSON does not say whether the ends agree where a receipt is missing");
}

static void test_interval(void)
{
	transfer_init(&sample);
	sample.res.sent.host.unsafe = UNSAFE_STEAL;
	expect_file(
		"zcc-interval-load", printed_by(interval, &sample),
		"an interval with a load has its time, and its window and its RTT on a second line");
	ok(widest(printed) <= 100, "no line of it has more than 100 columns: %zu", widest(printed));
	sample.res.sent.host.load = NAN;
	sample.res.sent.tcp.retransmits = 6;
	expect_file("zcc-interval", printed_by(interval, &sample),
		    "an interval of one stream without a load is a line");
	add_streams(&sample);
	sample.opt.streams = 2;
	expect_file(
		"zcc-interval-streams", printed_by(interval, &sample),
		"an interval of two streams has the sum of their retransmits, and a line for each");
	sample.res.sent.host.load = 0.25;
	sample.opt.quiet = true;
	expect_file("zcc-interval-quiet", printed_by(interval, &sample),
		    "a quiet interval of two streams has no lines for them");
}

static void json_interval_of_two(void *arg)
{
	report_start(&sample.report, &sample.target, &sample.res);
	interval(arg);
	report_die(&sample.report, "why");
}

static void test_json_interval(void)
{
	transfer_init(&sample);
	sample.opt.json = 1;
	sample.opt.streams = 2;
	sample.res.sent.host.unsafe = UNSAFE_WEIGHT;
	add_streams(&sample);
	expect_file("zcc-json-intervals", json_from("\"intervals\":", json_interval_of_two),
		    "intervals in JSON have streams, their sum, and the end");
}

static void progress(void *arg)
{
	(void)arg;
	dup2(STDOUT_FILENO, STDERR_FILENO);
	report_clear_progress(&sample.report);
	report_progress(&sample.report, 1.25, 4096, 1024, 77, ", waiting");
	report_clear_progress(&sample.report);
	report_clear_progress(&sample.report);
	report_progress(&sample.report, 1.25, 4096, 0, 77, "");
	sample.opt.seconds = 10;
	sample.opt.warmup = 2;
	report_progress(&sample.report, 3, 4096, 1024, 77, "");
}

static void test_progress(void)
{
	const int before = dup(STDERR_FILENO);

	transfer_init(&sample);
	sample.opt.streams = 2;
	sample.opt.loops = 4;
	printed_by(progress, &sample);
	dup2(before, STDERR_FILENO);
	close(before);
	is(printed,
	   "\r1.2 s, 50%: 77 KiB/s, waiting\033[K\r\033[K\r1.2 s: 77 KiB/s\033[K"
	   "\r3.0 s of 12: 77 KiB/s\033[K",
	   "progress is a share of all loops of all streams, or of the time with its warm-up");
}

/* Both go to stderr, which is stdout here. */
static void pacing(void *arg)
{
	struct transfer *t = arg;

	fflush(stdout);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	report_pacing(&t->report, &t->res);
	t->report.run = 2;
	report_pacing(&t->report, &t->res);
}

/* What is printed where the congestion control and the interface are these. */
static size_t paces(const char *congestion, const char *interface, const char *asked)
{
	const int before = dup(STDERR_FILENO);

	transfer_init(&sample);
	strcpy(sample.res.congestion, congestion);
	strcpy(sample.target.interface, interface);
	sample.opt.sock.congestion = asked;
	printed_by(pacing, &sample);
	dup2(before, STDERR_FILENO);
	close(before);
	return strlen(printed);
}

static void test_pacing(void)
{
	const char *line;

	paces("bbr", "lo", NULL);
	line = strstr(printed, ": the congestion control bbr paces the sender");
	ok(line != NULL && strstr(line, "try --congestion reno\n") != NULL &&
		   strchr(line, '\n')[1] == '\0',
	   "bbr over loopback: a line on stderr names --congestion, once");
	ok(paces("bbr", "lo", "bbr") == 0 && paces("bbr", "eth0", NULL) == 0 &&
		   paces("cubic", "lo", NULL) == 0,
	   "none if it was asked for, over another interface, or of what does not pace");
}

static void end_and_exit(void *arg)
{
	end(arg);
	exit(EXIT_SUCCESS);
}

static void test_debug(void)
{
	static const char sent[] =
		"softnet during the run: packets dropped: 3, polls cut short: 4\n",
			  received[] =
				  "softnet at the server: packets dropped: 5, polls cut short: 6\n";

	transfer_init(&sample);
	sample.opt.quiet = true;
	sample.opt.debug = 1;
	sample.opt.compare.wanted = true; /* which prints nothing on standard output */
	set_unknown(&sample.res.sent.host.rates, sizeof(sample.res.sent.host.rates));
	set_unknown(&sample.res.received.host.rates, sizeof(sample.res.received.host.rates));
	died(end_and_exit, &sample);
	lacks(printed, "softnet", "-d: no line of softnet where nothing is known");
	sample.res.sent.host.rates.softnet_dropped = 3;
	sample.res.sent.host.rates.softnet_squeezed = 4;
	died(end_and_exit, &sample);
	ok(strstr(printed, sent) != NULL && strstr(printed, "server") == NULL,
	   "-d: the sender's packets that softnet dropped, without the receiver's");
	sample.res.received.host.rates.softnet_dropped = 5;
	sample.res.received.host.rates.softnet_squeezed = 6;
	died(end_and_exit, &sample);
	ok(strstr(printed, sent) != NULL && strstr(printed, received) != NULL,
	   "-d: the packets that softnet dropped at both ends");
}

/* Run 501 of 510 after 1000 s: ten of 2 s each are to come, this one included. */
static void plan_progress(void *arg)
{
	struct transfer *t = arg;

	report_run(&t->report, 501, 510);
	t->report.began_ns = now_ns() - 1000000000000;
	report_progress(&t->report, 1.5, 0, 0, 77, "");
	exit(EXIT_SUCCESS);
}

static void test_plan_progress(void)
{
	transfer_init(&sample);
	died(plan_progress, &sample);
	is(printed, "\rrun 501 of 510, 20 s left: 1.5 s: 77 KiB/s\033[K",
	   "the progress of a comparison has the run, and the time that is left");
}

#define STREAMS 4

/* Streams that sent 1000 bytes each, 100 of them in the warm-up, of which the first n have a receipt. */
static struct send_result with_receipts(int n)
{
	static struct stream_result stream[STREAMS];
	struct send_result res = {.stream = stream, .receipts = n};
	int i;

	for (i = 0; i < STREAMS; i++) {
		stream[i] = (struct stream_result){.has_receipt = i < n};
		stream[i].sent.bytes = 900;
		stream[i].sent.warmup = 100;
		if (i < n)
			stream[i].received.bytes = 1000;
	}
	return res;
}

static void test_check(void)
{
	struct send_result res = with_receipts(STREAMS);
	char text[RECEIPTS_STRLEN], why[DIE_MAX];

	ok(result_check(&res, STREAMS, why) == NULL, "receipts of all that was sent agree with it");
	res.stream[1].received.bytes = 1001;
	res.stream[2].received.bytes = 999;
	is(result_check(&res, STREAMS, why),
	   "stream 2: the server received 1001 bytes of the 1000 sent",
	   "two receipts are wrong, and their sum is right: the first of them is named");
	res = with_receipts(0);
	ok(result_check(&res, STREAMS, why) == NULL,
	   "a server that gives no receipts is one of 2001");
	is(result_receipts_text(&res, STREAMS, text), "", "and that is no line");
	res = with_receipts(3);
	is(result_check(&res, STREAMS, why), "1 of 4 streams has no receipt",
	   "a stream without a receipt beside others with one is an error");
	res = with_receipts(1);
	is(result_check(&res, STREAMS, why), "3 of 4 streams have no receipt", "and so are three");
	res.stream[0].received.bytes = 1;
	is(result_check(&res, STREAMS, why),
	   "stream 1: the server received 1 bytes of the 1000 sent",
	   "a receipt that is wrong is named even if others are missing");
	is(result_check(&res, 1, why), "the server received 1 bytes of the 1000 sent",
	   "a stream alone has no number");
}

int main(void)
{
	test_plan_progress();
	test_debug();
	test_pacing();
	test_text();
	test_without_load();
	test_options();
	test_widths();
	test_comparison();
	test_json();
	test_interval();
	test_json_interval();
	test_progress();
	test_check();
	return done();
}
