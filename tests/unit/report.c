/*
 * The reports of all programs, as JSON and as text.  Each figure has a value of its own, so that one that stands in
 * another's place, or has another unit or sign, is seen.
 */
#include "lib/report/units.h"

static char flushes[32]; /* of periods: of a row, which may be dropped, or of what may not */

#define report_row()   (void)strcat(flushes, "row ")
#define report_flush() (void)strcat(flushes, "all ")
#include "lib/report/periods.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "lib/command/commands.h"
#include "lib/receive/report.h"
#include "lib/report/verification.h"
#include "lib/send/measures.h"
#include "lib/send/request.h"

#include <arpa/inet.h>

#include "tests/unit/filled.h"

/* Figures of which no part is more than the whole. */
static struct figures consistent(unsigned end, unsigned unsafe)
{
	struct figures f = filled(end, unsafe);

	f.bytes = 20000000000u + 1000003 * f.bytes;
	f.mapped = end == IN_RECEIVER ? floor((double)f.bytes / 3) : NAN;
	f.host.seconds = f.seconds;
	f.host.drift = -0.0123;
	f.tcp.busy = 3.5e6;
	f.tcp.rwnd_limited = 0.87e6;
	f.tcp.sndbuf_limited = 0.65e6;
	if (end == IN_SENDER) {
		f.waits.elapsed = 4e6;
		f.waits.cwnd_limited = 0.21e6;
		f.waits.pacing_limited = 0.43e6;
	}
	return f;
}

/* Has groups of a profile that are just large enough to be printed, and too small. */
static struct figures with_small_groups(struct figures f)
{
	f.host.load = 0.5;
	f.host.profile.group[0] = 0.0025;
	f.host.profile.group[1] = 0.0024;
	return f;
}

static struct figures without_profile(struct figures f)
{
	int i;

	for (i = 0; i < (int)LENGTH(f.host.profile.group); i++)
		f.host.profile.group[i] = NAN;
	f.host.event[0] = f.host.profile_unsafe[0] = '\0';
	return f;
}

/* What was printed, from that text on: before it is the environment of this machine.  Times of day are masked. */
static const char *captured_from(const char *first)
{
	char *text = strstr((char *)(uintptr_t)captured(), first), *c;

	for (c = text; *c != '\0'; c++)
		if (c[2] == ':' && c[5] == ':' && c[8] == '.') {
			memcpy(c, "hh:mm:ss.mmm", 12);
			if (c > text && c[-1] == 'T')
				memcpy(c - 11, "yyyy-mm-dd", 10);
		}
	return text;
}

static void two_stalls(struct stalls *s)
{
	*s = (struct stalls){.start_ns = 1000000000, .n = 2};
	stalls_keep(s, (struct stall){2234000000, 345000000, STALL_DATA});
	stalls_keep(s, (struct stall){5678000000, 912000000, STALL_CONNECTING});
}

/*
 * A transfer.
 */

static struct send_options opt;
static struct stream_result stream[2];
static struct cpu_result cpu[3];
static struct fileset set = {.n = 5, .bytes = 4096, .skipped = 1234};
static struct send_result res = {
	.target = {.name = "192.0.2.1:2222"}, .set = &set, .stream = stream, .cpu = cpu};
static struct send_report rep;

static void send_options(const char *more)
{
	static char *argv[32];

	options_parse(&opt,
		      words_of(text_of("-s server -m send -P 2 --warmup 1.5 --title label_\033 "
				       "--cork --nodelay --dscp 46 --pace 4096%s",
				       more),
			       argv),
		      argv);
	rep = (struct send_report){.opt = &opt,
				   .intervals = {.period = 0.5, .tcp = true, .load = true}};
}

static void transfer(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		stream[i] = (struct stream_result){
			.sent = consistent(IN_SENDER, 0),
			.received = consistent(IN_RECEIVER, 0),
			.interval = consistent(IN_SENDER, UNSAFE_STEAL * (unsigned)i),
			.has_receipt = true};
		stream[i].interval.host.uncertainty = 0.0123;
		stream[i].received.bytes = stream[i].sent.bytes + stream[i].sent.warmup -
					   stream[i].received.warmup;
		cpu[i] = (struct cpu_result){3 + i,
					     consistent(IN_SENDER, UNSAFE_WEIGHT * (unsigned)i),
					     i == 0 ? "both" : ""};
	}
	figures_init(&cpu[2].figures);
	cpu[2].role = ""; /* nor has it a load */
	strcpy(res.congestion, "cubic");
	res.loops = 9;
	res.receipts = 2;
	res.n_cpus = 3;
	res.mptcp = true;
	res.sent = with_small_groups(consistent(IN_SENDER, UNSAFE_STEAL | UNSAFE_OTHER));
	res.received = consistent(IN_RECEIVER, 0);
	res.pauses = (struct pauses){17, 45600000};
	two_stalls(&res.stalls);
}

static void intervals(double period)
{
	rep.intervals.period = period;
	report_interval(&rep, stream, &res.sent, 3.25, true);
	report_interval(&rep, stream, &stream[0].interval, 7.5, false);
}

/* Of a transfer to another host, and of one whose ends are both here. */
static void test_transfer(void)
{
	static char before[sizeof(printed)];

	transfer();
	strcpy(res.target.interface, "eth0");
	capture(STDOUT_FILENO);
	send_options(" --json");
	report_start(&rep, &res.target, &res);
	intervals(0.5);
	report_end(&rep, &res, NULL);
	send_options("");
	intervals(0.25); /* their times have three decimals */
	report_end(&rep, &res, NULL);
	expect(captured_from("\"connecting_to\""), "a transfer");
	res.local = set.builtin = true;
	strcpy(res.target.interface, "lo");
	strcpy(before, printed);
	capture(STDOUT_FILENO);
	report_end(&rep, &res, NULL);
	expect(new_lines(captured_from(""), before, "\n"),
	       "a transfer whose ends are both on this host has other lines");
}

/*
 * Requests.
 */

static void latencies(struct latency *h, int n, uint64_t first)
{
	int i;

	for (i = 0; i < n; i++)
		latency_add(h, first + first * (uint64_t)i);
}

static void test_requests(void)
{
	static struct requests q = {.size = 723,
				    .open = 7,
				    .open_stalled = 6,
				    .failed_last = 20,
				    .open_longest_ns = 8765432,
				    .pauses = {17, 45600000},
				    .tcp = {7, 5, 3, 2}};
	const int errors[] = {ECONNREFUSED, EPIPE,   EADDRINUSE, EADDRNOTAVAIL, EAGAIN,
			      ETIMEDOUT,    ENODATA, EMSGSIZE,   ENOMEM};
	struct json j = {.depth = 0};
	unsigned i;

	q.host = consistent(IN_SENDER, UNSAFE_STEAL);
	for (i = 0; i < 3; i++) {
		latencies(&q.latency[i], 2000 + (int)i, 1234567u * (i + 1));
		latencies(&q.stalled[i], 3 + (int)i, 40000000u * (i + 1));
	}
	for (i = 0; i < LENGTH(errors); i++)
		q.failed[requests_count_failure(&q, errors[i])] += i;
	two_stalls(&q.slow);
	requests_figures(&q);
	q.received = consistent(IN_RECEIVER, 0);
	q.has_receipt = true;
	capture(STDOUT_FILENO);
	json_open(&j, NULL, '{');
	requests_json(&j, &q);
	json_close(&j, '}');
	report("\n");
	requests_text(&q, true, false);
	requests_text(&q, false, true);
	q = (struct requests){.size = 1, .open = 1, .kept = true, .host = q.host};
	q.host.host.load = NAN;
	latencies(&q.latency[TOTAL], 1, 5000000);
	requests_text(&q, false, false);
	q.failed[FAIL_TIMEOUT] = 1;
	requests_text(&q, false, true);
	expect(captured_from("{"), "requests");
}

/*
 * zcs.
 */

static const _Atomic int running;
static struct receive_options receiving;
static struct report group;

static void begin_group(int format, bool requests)
{
	receiving = (struct receive_options){.method = receive_methods + 1, .json = format};
	group = (struct report){.opt = &receiving,
				.stop = &running,
				.began_ns = 1,
				.intervals = {.period = 0.25, .load = true, .requests = requests}};
}

/* A client, which is all of its group. */
static void test_clients(void)
{
	struct figures f = without_profile(consistent(IN_RECEIVER, UNSAFE_STEAL));
	struct place place = {.sock = -1};
	struct stalls silences;
	int format;

	memcpy(&place.peer, &(struct sockaddr_in){AF_INET, htons(7), {htonl(0xc0000201)}, ""}, 16);
	f.clients = 4321;
	two_stalls(&silences);
	capture(STDOUT_FILENO);
	for (format = JSON_OBJECTS; format >= JSON_NONE; format -= JSON_OBJECTS) {
		begin_group(format, false);
		report_group_begin(&group, &place.peer, "lo");
		report_group_interval(&group, &f, 3.25, false);
		report_client(&group, &place, &f, &silences, 1, true, NULL);
		report_group(&group, &f, &silences, true);
	}
	expect(captured_from("\"intervals\""), "an interval of zcs, a client, and all of a group");
}

static void test_replies(void)
{
	static const struct reply_total total = {21, 22, 23, 24, {27, 25, 23, 26}};
	struct figures f = consistent(IN_RECEIVER, UNSAFE_STEAL);
	int format;

	capture(STDOUT_FILENO);
	for (format = JSON_OBJECTS; format >= JSON_NONE; format -= JSON_OBJECTS) {
		begin_group(format, true);
		report_replies(&group, &f, 3.25, &total);
		begin_group(format, true);
		report_replies(&group, &f, 3.25, NULL);
	}
	expect(captured_from("{"), "the total of replies, and an interval");
}

/*
 * cyclesoak.
 */

static void test_periods(void)
{
	static const struct cpus cpus = {.n = 2, .id = {0, 3}};
	const struct figures f = with_small_groups(consistent(IN_SENDER, UNSAFE_STEAL));
	const struct load each[2] = {consistent(IN_SENDER, UNSAFE_STEAL).host,
				     consistent(IN_SENDER, 0).host};
	struct period p = {.figures = f, .cpus = &cpus, .each = each, .is_command = true};
	struct history h = {.n = 0};
	int i;

	capture(STDOUT_FILENO);
	period_json(&p, NULL);
	period_print(&p, true);
	p.is_command = false;
	p.run = 7;
	p.command = "command";
	p.setting = "setting";
	p.figures.host.load = NAN;
	p.figures.host.rates.cpu[1] = NAN;
	period_json(&p, NULL);
	period_print(&p, true);
	periods_json(&h);
	periods_print(&h);
	history_add(&h, NAN, NAN, UNSAFE_CPU_OFFLINE); /* it is not one of the periods */
	for (i = 0; i < 3; i++)
		history_add(&h, (const double[]){0.31, 0.52, 0.97}[i], 0.01, UNSAFE_STEAL);
	periods_json(&h);
	periods_print(&h);
	expect(captured_from("{"),
	       "a command, a run whose load is not measured, and the mean of three periods");
	is(flushes, "all all all all ",
	   "the reports of commands and of all periods are not dropped");
	flushes[0] = '\0';
	p.is_command = false;
	p.run = 0;
	capture(STDOUT_FILENO);
	period_json(&p, &(struct environment){.cpus = 1});
	period_json(&p, NULL);
	period_print(&p, false);
	captured();
	is(flushes, "all row row ", "a period may be dropped, but not the first in JSON");
}

static void test_verification(void)
{
	static const struct evidence evidence = {.cpus = 2, .steal = 0.0125};
	static const struct verdicts v = {
		6,
		{1, 2, 3, 4},
		{{"zero", "mean", &by_soaking, "CPUs", 0.0012, EXPECT_EQUAL, 0.5, 0.02,
		  VERDICT_PASS, .loads = 10},
		 {"yield", "a thread", NULL, "%", 90, EXPECT_AT_LEAST, 97, 3, VERDICT_FAIL,
		  .loads = 11},
		 {"price", "slowing", NULL, "%", 1.2, EXPECT_AT_MOST, 5, 2, VERDICT_PASS,
		  .loads = 9, .unsafe_loads = 1, .unsafe = UNSAFE_STEAL},
		 {"softirq", "load", &by_idle_time, "CPUs", NAN, .kind = VERDICT_NOT_RUN,
		  .why = "none"},
		 {"softirq", "load", &by_idle_time, "CPUs", NAN, .kind = VERDICT_NOT_RUN,
		  .why = "none"},
		 {"bursts", "load", &by_idle_time, "CPUs", NAN, .kind = VERDICT_NOT_RUN,
		  .unsafe = UNSAFE_NOT_MEASURED}}};
	static struct environment environment;

	capture(STDOUT_FILENO);
	verification_json(&environment, &evidence, &v);
	verification_report(&evidence, &v);
	expect(captured_from("\"cpus\""), "a verification");
}

/*
 * Comparisons.
 */

static void open_comparison(struct json *j, void *arg)
{
	(void)arg;
	json_report_open(j);
	json_open(j, "comparison", '{');
}

/* Two runs in three rounds, whose figures are apart: the table of -q has all that has a column. */
static void compare(const struct plan_kind *of, bool of_requests, const char *title)
{
	const struct plan_kind *kind = guarded_kind(of);
	const struct compare_options options = {.rounds = 3};
	struct comparison c = {.opt = &options, .begin_json = open_comparison, .quiet = true};
	struct figures sent[2], received[2];
	struct plan p;
	int i, run;

	plan_open(&p, kind, 2);
	plan_set_value(&p.run[0], RUN_WORDS, "-m send");
	plan_set_value(&p.run[1], RUN_WORDS, "-m mmap");
	for (run = 0; run < 2; run++) {
		sent[run] = without_profile(consistent(IN_SENDER, run == 1 ? UNSAFE_STEAL : 0));
		received[run] = without_profile(
			consistent(IN_RECEIVER, run == 0 ? UNSAFE_WEIGHT : 0));
		sent[run].requests.n = of_requests ? 1000 : NAN;
		sent[run].requests.stalled = 70 + run;
	}
	for (i = 0; i < 6; i++) {
		run = plan_turn(&p, i % 2);
		sent[run].seconds *= 1.02 + 0.01 * i;
		sent[run].host.load *= 1.03 - 0.01 * i;
		sent[run].requests.p50 *= 1.01;
		received[run].seconds = sent[run].seconds;
		received[run].host.load *= 1.01 - 0.02 * i;
		received[run].requests.n = sent[run].requests.n;
		plan_add(&p, run, &(struct ends){&sent[run], &received[run], false});
	}
	c.plan = &p;
	capture(STDOUT_FILENO);
	c.json = true;
	comparison_print(&c, NULL);
	c.json = false;
	comparison_print(&c, NULL);
	expect(captured_from("\"runs\""), title);
	plan_close(&p);
}

static void test_comparisons(void)
{
	compare(&trials_kind, false, "a comparison of transfers");
	compare(&trials_kind, true, "a comparison of requests");
	compare(&commands_kind, false, "a comparison of commands");
}

TESTS(test_transfer, test_requests, test_clients, test_replies, test_periods, test_verification,
      test_comparisons)
