/* The report of zcc: lib/send/report, text and result. */
#include "lib/send/report.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

/* A transfer that was measured at both ends; tests/unit/report.c has all figures. */
static struct send_options opt;
static struct fileset set;
static struct stream_result stream[4];
static struct cpu_result cpu[512];
static struct send_result res;
static struct send_report rep;

#define SENT "bytes=4096000 seconds=2 "

/* A transfer that `zcc -s server` with these options did. */
static void init(const char *options)
{
	options_of(&opt, "-s server -m send ", options);
	set = (struct fileset){.n = 5, .bytes = 4096};
	stream[0] = (struct stream_result){.sent = figures_of("bytes=1024000 seconds=2"),
					   .has_receipt = true,
					   .received = figures_of("bytes=0 seconds=1 cpu=6")};
	stream[1] = (struct stream_result){.sent = figures_of("bytes=2048000 seconds=2")};
	cpu[0] = (struct cpu_result){
		.id = 3, .role = "sender", .figures = figures_of(SENT "load=0.5 cpus=1")};
	cpu[1] = (struct cpu_result){
		.id = 4, .role = "", .figures = figures_of(SENT "load=0.125 cpus=1 unsafe=steal")};
	res = (struct send_result){
		.target = {.name = "192.0.2.1:2222"}, .set = &set, .stream = stream, .cpu = cpu};
	strcpy(res.congestion, "cubic");
	res.chunk = 512;
	res.loops = 9;
	res.sent = figures_of(SENT "reads=250 warmup=77 load=0.25 uncertainty=0.01 cpus=2");
	res.received = figures_of("bytes=2048000 seconds=0.05 reads=10 load=0.5 cpus=1.5");
	rep = (struct send_report){.opt = &opt, .intervals = {.period = 2, .load = true}};
}

static const char *report_text(void)
{
	capture(STDOUT_FILENO);
	report_end(&rep, &res, NULL);
	return captured();
}

static void test_text(void)
{
	init("-P1");
	res.receipts = 1;
	res.received.clients = 1;
	res.sent.host.load = 1e300;
	has(report_text(), "e+302%", "a load of 300 digits stays in its column's buffer");
	opt.quiet = true;
	res.sent.host.load = 0.25;
	expect(report_text(), "a quiet report is one line");
}

static void test_without_load(void)
{
	init("-P2");
	res.receipts = 1;
	has(report_text(), "figures omit 1 of 2 streams, as they",
	    "a receipt of two has its own figures");
	init("-P1");
	stream[0].has_receipt = false;
	set.builtin = true;
	res.received.host.load = NAN;
	res.received.host.unsafe = 0;
	res.sent = figures_of("bytes=4096000 seconds=2 longest_stall=0 clients=17");
	res.loops = 0;
	expect(report_text(), "a report without receipt, load and TCP figures has neither");
	res.receipts = 1;
	set = (struct fileset){.n = 1, .bytes = 1};
	res.loops = 1;
	has(report_text(), "\n  1 file of 1 byte, in 1 loop\n", "one file is in the singular");
}

/* A reason has one sentence for either end, which does not call the load unsafe. */
static void test_unmeasured(void)
{
	init("-P1");
	res.receipts = 1;
	load_init(&res.sent.host);
	res.sent.host.unsafe = UNSAFE_BASELINE_BUSY | UNSAFE_CPU_OFFLINE;
	strcpy(res.sent.host.no_load, "several");
	res.sent.host.baseline = BASELINE_OWN;
	res.sent.host.bracketed = true;
	res.sent.host.drift = 0.028;
	res.received.host = res.sent.host;
	expect(report_text(), "a report has the reason why a load is not measured");
	opt.quiet = true;
	has(report_text(), no_load_text("several"), "so has the line of -q");
}

/* What the runs of a comparison send, and where to. */
static void test_compared(void)
{
	init("-P1");
	set.skipped = 1234;
	res.sent.host.baseline = BASELINE_OWN;
	opt.compares = true;
	is(report_text(),
	   "  to 192.0.2.1:2222, cubic\n  5 files of 4,096 bytes, 1,234 skipped; own baselines\n",
	   "the first run of a comparison prints what is sent");
	rep.run = 2;
	is(report_text(), "", "the next run of a comparison prints nothing");
	rep.run = 1;
	opt.quiet = true;
	is(report_text(), "", "a run of a quiet comparison prints nothing");
}

static void interval(bool measured)
{
	stream[0].interval = stream[0].sent;
	stream[1].interval = stream[1].sent;
	report_interval(&rep, stream, &res.sent, 3, measured);
}

static off_t started; /* the bytes that are there once a report has begun */

/* What JSON has behind the environment of this machine. */
static const char *json(void)
{
	capture(STDOUT_FILENO);
	report_start(&rep, &res.target, &res);
	started = lseek(capturing.file, 0, SEEK_CUR);
	interval(false);
	interval(true);
	report_end(&rep, &res, "why");
	return strstr(captured(), "\"connecting_to\":");
}

static void test_json(void)
{
	init("-P2 --json --nodelay --pace 1000 --warmup 1.5 -t 2.5 --mptcp");
	res.receipts = res.n_cpus = 2;
	res.mss = 11;
	res.sndbuf = 12;
	res.rcvbuf = 13;
	strcpy(res.target.interface, "eth0");
	memcpy(&res.target.addr,
	       &(struct sockaddr_in){AF_INET, htons(2222), {htonl(0xc0000201)}, ""}, 16);
	memcpy(&stream[0].local, &(struct sockaddr_in){AF_INET, htons(8), {htonl(0xc0000202)}, ""},
	       16);
	stream[0].sent.zerocopy = (struct zerocopy_figures){5, 1, 2};
	expect(json(), "a report in JSON has connections, intervals and ends");
	ok(started > 0, "who reads JSON has its start at once");
	res.receipts = 1;
	has(json(), "\"both_ends_on_host\":false,\"receipts\":1},\"error\"",
	    "a report in JSON does not say whether the ends agree where a receipt is missing");
	capture(STDOUT_FILENO);
	report_start(&rep, &res.target, &res);
	report_end_error(&rep, "why");
	has(captured(), "\"intervals\":[],\"error\":\"why\"}\n",
	    "a report in JSON of a program that dies ends with the error");
}

/* Lines of progress, between which they are cleared: by loops, by time, and of a comparison's run. */
static void test_progress(void)
{
	static char buffer[256];
	off_t shown;

	init("-P2 -n 4");
	capture(STDERR_FILENO);
	setvbuf(stderr, buffer, _IOLBF, sizeof(buffer)); /* as in the programs */
	report_clear_progress(&rep);
	report_progress(&rep, 1.25, 4096, 8192, ", waiting");
	shown = lseek(capturing.file, 0, SEEK_CUR);
	report_clear_progress(&rep);
	report_clear_progress(&rep);
	report_progress(&rep, 1.25, 4096, 0, "");
	opt.seconds = 10;
	opt.warmup = 2;
	report_progress(&rep, 3, 78848, 1024, "");
	rep.run = 6;
	rep.runs = 15;
	report_progress(&rep, 1.5, 0, 0, "");
	report_clear_progress(&rep);
	is(captured(),
	   "\r1.2 s, 50%: 3 KiB/s, waiting\033[K\r\033[K\r1.2 s: 3 KiB/s\033[K"
	   "\r3.0 s of 12: 26 KiB/s\033[K\rrun 6 of 15: 1.5 s of 12: 0 KiB/s\033[K\r\033[K",
	   "progress is a share of all bytes, of the time, or of the runs");
	ok(shown > 0, "progress, which ends no line, is there at once");
}

/* Lines on stderr about the congestion control and the interface, and those at the end with -d. */
static void test_notes(void)
{
	const char *paths = "bbr lo|bbr eth0|cubic lo", *path;

	init("-P1 -m send,write"); /* a comparison has a report of its own */
	capture(STDERR_FILENO);
	while ((path = next_of(&paths)) != NULL) {
		sscanf(path, "%15s %15s", res.congestion, res.target.interface);
		report_warn(&rep, &res);
	}
	strcpy(res.congestion, "bbr");
	opt.sock.congestion = "bbr";
	report_warn(&rep, &res);
	opt.sock.congestion = NULL;
	rep.run = 2;
	report_warn(&rep, &res);
	report_tcp_alone(&rep, "server");
	report_tcp_alone(&rep, "server");
	opt.debug = opt.quiet = true;
	report_end(&rep, &res, NULL);
	res.received = figures_of("bytes=1 seconds=1 version=1.2 kernel=6.1");
	report_end(&rep, &res, NULL);
	expect(captured(), "lines on stderr: bbr paces, no MPTCP, the server's version");
}

/* N receipts of four streams that sent 1000 bytes each, 100 of them in the warm-up; the bytes of the first two. */
static void test_check(void)
{
	const char *list = "4 1000 1000|4 1001 999|3 1000 1000|1 1000 0", *s;
	uint64_t bytes[4] = {0, 0, 1000, 1000};
	char why[DIE_MAX];
	int i;

	capture(STDOUT_FILENO);
	while ((s = next_of(&list)) != NULL) {
		sscanf(s, "%d %" SCNu64 " %" SCNu64, &res.receipts, &bytes[0], &bytes[1]);
		for (i = 0; i < 4; i++) {
			stream[i].sent = figures_of("bytes=900 seconds=1 warmup=100");
			stream[i].has_receipt = i < res.receipts;
			stream[i].received.bytes = bytes[i];
		}
		report("%s: %s\n", s, result_check(&res, 4, why) != NULL ? why : "agreed");
	}
	expect(captured(), "receipts are compared with what was sent, or missed");
}

TESTS(test_text, test_without_load, test_unmeasured, test_compared, test_json, test_progress,
      test_notes, test_check)
