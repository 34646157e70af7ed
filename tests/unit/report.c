/*
 * The reports of all programs: each number of a text is that of the same report's JSON.  Each figure has a value of its own,
 * so that one that stands in another's place, or has another unit or sign, is seen.
 */
#include "lib/command/commands.h"
#include "lib/receive/report.h"
#include "lib/report/periods.h"
#include "lib/report/verification.h"
#include "lib/send/measures.h"
#include "lib/send/request.h"

#include <arpa/inet.h>
#include <ctype.h>

#include "tests/unit/shows.h"

/*
 * Figures.
 */

static int serial; /* of the value that was given last */

static double new_value(enum figure_kind kind)
{
	const double n = serial;

	switch (kind) {
	case FIGURE_CPUS: return 2 + 0.02 * n;
	case FIGURE_SECONDS: return 1.5 + 0.0371 * n;
	case FIGURE_STALL: return 300000 + 7013 * n;
	case FIGURE_BYTES: return 100000 + 5123 * n;
	case FIGURE_LOAD:
	case FIGURE_SHARE: return 0.1 + 0.0113 * n;
	case FIGURE_CHANGE: return -0.1 - 0.0113 * n;
	default: return 1000 + 37 * n;
	}
}

/* Gives a value to all figures that an end has: IN_SENDER or IN_RECEIVER, whose figures come by a receipt. */
static struct figures filled(unsigned end, unsigned unsafe)
{
	const unsigned ends = IN_SENDER | IN_RECEIVER | IN_STREAM;
	const struct figure *row;
	struct figures f;
	char *member;

	serial = serial > 1500 ? 0 : serial;
	figures_init(&f);
	for (row = figure_table; row < figure_table + figure_rows; row++) {
		if ((row->is_kept && end == IN_RECEIVER) || row->derive != NULL || row->all != 0 ||
		    ((row->objects & ends) != 0 && (row->objects & (end | IN_STREAM)) == 0))
			continue;
		member = (char *)&f + row->offset;
		serial++;
		if (row->kind == FIGURE_COUNT)
			*(uint64_t *)(void *)member = (uint64_t)new_value(row->kind);
		else if (row->kind < FIGURE_WORD)
			*(double *)(void *)member = new_value(row->kind);
		else if (row->size > 0)
			snprintf(member, row->size, "%c%c%c", 'a' + serial % 26,
				 'a' + serial / 26 % 26, 'a' + serial / 676);
	}
	f.bytes = 20000000000u + 10000019u * (unsigned)serial;
	f.mapped = end == IN_RECEIVER ? floor((double)f.bytes / 3) : NAN;
	f.host.unsafe = unsafe;
	f.host.seconds = f.seconds;
	f.host.drift = -0.0123;
	f.host.baseline = BASELINE_OWN;
	f.host.bracketed = true;
	if (end == IN_SENDER) /* the times that TCP waited are parts of another one */
		f.waits = (struct waits){4e6,
					 0.21e6,
					 0.43e6,
					 f.waits.mean_rtt,
					 f.waits.max_rtt,
					 f.waits.mean_cwnd,
					 f.waits.max_cwnd};
	f.tcp.busy = 3.5e6;
	f.tcp.rwnd_limited = 0.87e6;
	f.tcp.sndbuf_limited = 0.65e6;
	return f;
}

/*
 * Patterns.
 */

static char pattern[1 << 15];

#define add(...) string_append(pattern, sizeof(pattern), __VA_ARGS__)

/* Adds a text in which `@` stands for an object of JSON. */
static void add_of(const char *object, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '@')
			add("%s", object);
		else
			add("%c", *text);
}

#define BITS       "@.bits_per_second"
#define KIB        "{" BITS "/8192}"
#define GBIT       "{" BITS "/1000000000} Gbit/s"
#define LOAD_SHOWN "{@.load_percent}%{?@} +-{@.load_uncertainty_percent}%"
#define COST_SHOWN "{@.cost_us_per_kib}{?@} +-{@.cost_uncertainty_us_per_kib}"
#define LOAD_LINE  "load " LOAD_SHOWN " of {@.cpus} CPUs, cost " COST_SHOWN " us/KiB"
#define DRIFT_LINE "idle machine before and after differs by {@.drift_percent} points"

/* What JSON has no key for in the object of an end; zero-copy sends are those of both streams. */
static const struct {
	const char *label, *cell;
} formulas[] = {
	{"KiB/s", KIB},
	{"calls/s", "{@.calls/@.seconds}"},
	{"bytes/call", "{@.bytes/@.calls}"},
	{"mapped, not copied", "{100*@.mapped_bytes/@.bytes|%}"},
	{"retransmitted", "{100*@.retransmits/@.segments|%}"},
	{"zerocopy sends",
	 "{@.segments*0+end.streams.0.zerocopy_sends+end.streams.1.zerocopy_sends}"},
	{"  copied by the kernel",
	 "{@.segments*0+end.streams.0.zerocopy_copied+end.streams.1.zerocopy_copied}"},
	{"  never completed",
	 "{@.segments*0+end.streams.0.zerocopy_incomplete+end.streams.1.zerocopy_incomplete}"},
	{"  bytes/record", "{@.bytes/@.tls_records}"},
	{"receiver's window", "{@.rwnd_limited/40000}%"},
	{"send buffer", "{@.sndbuf_limited/40000}%"},
	{"congestion window", "{@.cwnd_limited/40000}%"},
	{"pacing", "{@.pacing_limited/40000}%"},
	{"path or this host",
	 "{@.busy_time-@.rwnd_limited-@.sndbuf_limited-@.cwnd_limited-@.pacing_limited/40000}%"},
	{"data to send", "{4000000-@.busy_time/40000}%"},
};

/* The cell of a row whose object of JSON has it. */
static const char *cell_of(const struct figure *row)
{
	const int n = (int)strlen(row->key) - (int)strlen("_us_per_kib");

	switch (row->kind) {
	case FIGURE_LOAD: return LOAD_SHOWN;
	case FIGURE_COST: return COST_SHOWN;
	case FIGURE_CHANGE:
	case FIGURE_SHARE: return text_of("{@.%s|%%}", row->key);
	case FIGURE_US:
	case FIGURE_STALL: return text_of("{@.%s/1000}", row->key);
	case FIGURE_BYTES: return text_of("{@.%s/1024}", row->key);
	case FIGURE_BIT_RATE: return text_of("{@.%s/1000000000| Gbit/s}", row->key);
	case FIGURE_CPU_TIME:
		return text_of("{@.%s}? +-{@.%s*@.%.*s_uncertainty_percent/@.%.*s_percent} "
			       "{100*@.%.*s_percent/$.load_percent}%%",
			       row->key, row->key, n, row->key, n, row->key, n, row->key);
	default: return text_of("{@.%s}", row->key);
	}
}

/* The objects of an end. */
struct end {
	const char *stream, *host;
};
static const struct end sender = {"end.sum_sent", "end.host"},
			receiver = {"end.sum_received", "end.remote"};

static void add_cell(const struct figure *row, const struct end *of)
{
	const char *object = row->objects & IN_PROFILE ? text_of("%s.profile", of->host)
			     : row->objects & IN_HOST  ? of->host
						       : of->stream;
	const char *cell = NULL, *whole;
	size_t i;

	for (i = 0; i < LENGTH(formulas); i++)
		if (strcmp(formulas[i].label, row->label) == 0)
			cell = formulas[i].cell;
	cell = cell != NULL ? cell : cell_of(row);
	add(" ");
	for (; (whole = strchr(cell, '$')) != NULL; cell = whole + 1) {
		add_of(object, strndupa(cell, (size_t)(whole - cell)));
		add("%s", of->host);
	}
	add_of(object, cell);
}

/* Adds the rows of a group below their heading, of one end or of both. */
static void add_rows(const char *heading, enum figure_group group, const struct end *second)
{
	const struct figure *row;

	add(" %s%s", heading, second != NULL ? " sender receiver" : "");
	for (row = figure_table; row < figure_table + figure_rows; row++) {
		if (row->group != group)
			continue;
		add(" %s", row->label + strspn(row->label, " "));
		add_cell(row, &sender);
		if (second != NULL)
			add_cell(row, second);
	}
}

/* Adds the groups of a profile in a line, of a host. */
static void add_groups(const char *host)
{
	const struct figure *row;

	for (row = figure_table; row < figure_table + figure_rows; row++)
		if (row->kind == FIGURE_CPU_TIME && row->group == GROUP_PROFILE)
			add(", %s {%sprofile.%.*s_percent}%%?", row->label, host,
			    (int)strlen(row->key) - (int)strlen("_us_per_kib"), row->key);
	add(", the profile is unsafe: {%sprofile.profile_unsafe}", host);
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

static void send_options(const char *words)
{
	static char *argv[32];

	options_parse(&opt, words_of(words, argv), argv);
	rep = (struct send_report){.opt = &opt,
				   .intervals = {.period = 0.5, .tcp = true, .load = true}};
}

static void two_stalls(struct stalls *s)
{
	*s = (struct stalls){.start_ns = 1000000000, .n = 2};
	stalls_keep(s, (struct stall){2234000000, 345000000, STALL_DATA});
	stalls_keep(s, (struct stall){5678000000, 912000000, STALL_CONNECTING});
}

static void transfer(unsigned sent_unsafe, unsigned received_unsafe)
{
	int i;

	for (i = 0; i < 2; i++) {
		stream[i] = (struct stream_result){
			.sent = filled(IN_SENDER, 0),
			.received = filled(IN_RECEIVER, 0),
			.interval = filled(IN_SENDER, UNSAFE_STEAL * (unsigned)i),
			.has_receipt = true};
		stream[i].interval.host.uncertainty = 0.0123;
		stream[i].received.bytes = stream[i].sent.bytes + stream[i].sent.warmup -
					   stream[i].received.warmup;
		cpu[i] = (struct cpu_result){3 + i, filled(IN_SENDER, UNSAFE_WEIGHT * (unsigned)i),
					     i == 0 ? "both" : ""};
	}
	figures_init(&cpu[2].figures);
	cpu[2].role = ""; /* nor has it a load */
	strcpy(res.congestion, "cubic");
	res.loops = 9;
	res.receipts = 2;
	res.n_cpus = 3;
	res.mptcp = true;
	res.sent = filled(IN_SENDER, sent_unsafe);
	res.received = filled(IN_RECEIVER, received_unsafe);
	res.sent.zerocopy.sends = stream[0].sent.zerocopy.sends + stream[1].sent.zerocopy.sends;
	res.sent.zerocopy.copied = stream[0].sent.zerocopy.copied + stream[1].sent.zerocopy.copied;
	res.sent.zerocopy.incomplete = stream[0].sent.zerocopy.incomplete +
				       stream[1].sent.zerocopy.incomplete;
	res.pauses = (struct pauses){17, 45600000};
	two_stalls(&res.stalls);
}

#define TRANSFER                                                                                   \
	"-s server -m send -P 2 --warmup 1.5 --title label_\033 --cork --nodelay --dscp 46 --pace 4096"

static const char *transfer_json(void)
{
	send_options(TRANSFER " --json");
	capture(STDOUT_FILENO);
	report_start(&rep, &res.target, &res);
	report_interval(&rep, stream, &res.sent, 3.25, true);
	report_interval(&rep, stream, &res.received, 7.5, false);
	report_end(&rep, &res, NULL);
	json_captured();
	return json;
}

static void add_stalls(const char *path)
{
	add(" zcc itself was stopped or waited for a CPU: {%s.count} times, maximum {%s.max*1000} ms",
	    path, path);
}

/* Of a transfer to another host, and of one whose ends are both here. */
static void test_transfer(void)
{
	const struct end *second = &receiver;
	int i, local;

	for (local = 0; local < 2; local++, second = NULL) {
		transfer(UNSAFE_STEAL | UNSAFE_OTHER, 0);
		res.local = set.builtin = local;
		strcpy(res.target.interface, local ? "lo" : "eth0");
		transfer_json();
		pattern[0] = '\0';
		add_of(sender.stream, KIB " kbytes/sec (" GBIT "), ");
		add_of(sender.host, LOAD_LINE);
		add(" title: label ? to 192.0.2.1:2222 via {start.interface}, cubic, corked, nodelay, "
		    "MPTCP, DSCP 46, paced to {start.test_start.fqrate/8} bytes/s, "
		    "{start.test_start.num_streams} streams %s, 1,234 skipped, in 9 loops after "
		    "{start.test_start.omit} s of warm-up, {end.sum_sent.warmup_bytes} bytes all bytes "
		    "sent were received",
		    local ? "63 built-in files of 350 KiB"
			  : "{start.test_start.files} files of {start.test_start.file_bytes} bytes");
		add_rows("transfer", GROUP_TRANSFER, &receiver);
		add_stalls("end.pauses");
		add(" the first stalls: {end.first_stalls.0.seconds} s at {end.first_stalls.0.start} s "
		    "({*}), {end.first_stalls.1.seconds} s at {end.first_stalls.1.start} s ({*})");
		add_rows(local ? "load of this host, both ends" : "load", GROUP_LOAD, second);
		add_rows("CPU time, us/KiB, sampled by {end.host.profile.sampled_by}",
			 GROUP_PROFILE, second);
		add_of(sender.host, local ? " " DRIFT_LINE : " sender: " DRIFT_LINE);
		add(" the receiver had %ju clients during the transfer: its load is that of all of "
		    "them load by CPU load cost, us/KiB",
		    (uintmax_t)res.received.clients);
		for (i = 0; i < 2; i++) {
			add(" cpu{end.load_by_cpu.%d.cpu} ", i);
			add_of(text_of("end.load_by_cpu.%d", i),
			       i == 0 ? LOAD_SHOWN " " COST_SHOWN " {@.role}"
				      : LOAD_SHOWN " " COST_SHOWN);
		}
		add_rows("interrupts and packets", GROUP_HOST, second);
		add_rows("TCP", GROUP_TCP, &receiver);
		add_rows("TCP waited for", GROUP_WAITS, NULL);
		add(" streams CPU KiB/s retransmits RTT, ms cwnd, KiB");
		for (i = 0; i < 2; i++)
			add_of(text_of("end.streams.%d", i),
			       text_of(" %d {@.sender.cpu} to {@.receiver.cpu} "
				       "{@.sender.bits_per_second/8192} {@.sender.retransmits} "
				       "{@.sender.rtt/1000} {@.sender.snd_cwnd/1024}",
				       i + 1));
		send_options(TRANSFER);
		capture(STDOUT_FILENO);
		report_end(&rep, &res, NULL);
		shows(captured(), pattern, "the report of a transfer");
	}
}

static void test_intervals(void)
{
	int i, k;

	transfer(UNSAFE_STEAL, 0);
	res.received = filled(IN_SENDER, 0);
	res.sent.host.uncertainty = res.received.host.uncertainty = 0.0123;
	transfer_json();
	strcpy(pattern, "interval, s KiB/s rate retransmits cwnd, KiB RTT, ms load cost, us/KiB");
	for (k = 0; k < 2; k++) {
		for (i = -1; i < 2; i++) {
			const char *of = i < 0 ? text_of("intervals.%d.sum", k)
					       : text_of("intervals.%d.streams.%d", k, i);

			if (i < 0)
				add_of(of, " {@.start}-{@.end} ");
			else
				add(" stream %d ", i + 1);
			add_of(of, KIB " " GBIT " {@.retransmits} {@.snd_cwnd/1024} {@.rtt/1000} "
				       "{@.load_percent}%{?@} +-1.2% {@.cost_us_per_kib}{?@}");
			add("%s", i < 0 && k == 1 ? " warm-up" : "");
		}
	}
	send_options(TRANSFER);
	capture(STDOUT_FILENO);
	rep.intervals.period = 0.25; /* its times have three decimals */
	report_interval(&rep, stream, &res.sent, 3.25, true);
	report_interval(&rep, stream, &res.received, 7.5, false);
	shows(captured(), pattern, "intervals");
}

/*
 * Requests.
 */

static void latencies(struct latency *h, int n, uint64_t first)
{
	int i;

	for (i = 0; i < n; i++)
		latency_add(h, first + first * (uint64_t)(i * i) / 7);
}

static void test_requests(void)
{
	static const char *const names[] = {"connect", "first_byte", "total"},
				 *const labels[] = {"connect", "first byte", "total"},
				 *const places[] = {"connecting", "first_byte", "data"},
				 *const where[] = {"connecting", "before the first byte",
						   "after the first byte"},
				 *const keys[] = {"refused", "reset",  "no_ports",
						  "timeout", "closed", "wrong_length"};
	static struct requests q = {.size = 723,
				    .open = 7,
				    .open_stalled = 6,
				    .failed_last = 20,
				    .open_longest_ns = 8765432,
				    .tcp = {7, 5, 3, 2},
				    .failed = {110, 111, 112, 113, 114, 115}};
	struct json j = {.depth = 0};
	int i;

	q.host = filled(IN_SENDER, UNSAFE_STEAL);
	for (i = 0; i < 3; i++) {
		latencies(&q.latency[i], 40 + i, 1234567u * (unsigned)(i + 1));
		latencies(&q.stalled[i], 3 + i, 40000000u * (unsigned)(i + 1));
	}
	for (i = 0; i < FAIL_OTHER; i++)
		q.error[i] = (int[]){ECONNREFUSED, ECONNRESET, EADDRINUSE,
				     ETIMEDOUT,    ENODATA,    EMSGSIZE}[i];
	q.pauses = (struct pauses){17, 45600000};
	two_stalls(&q.slow);
	requests_figures(&q);
	ok(q.host.requests.failed == 110 + 111 + 112 + 113 + 114 + 115,
	   "the requests that failed are those of all kinds");
	capture(STDOUT_FILENO);
	json_open(&j, NULL, '{');
	requests_json(&j, &q);
	json_close(&j, '}');
	json_captured();
	strcpy(pattern,
	       "requests of seconds received connections throughput 723 bytes {seconds} s "
	       "{bytes/1024} KiB {connections/seconds} conn/s {bits_per_second/8192} KiB/s ");
	add_of("host", LOAD_LINE ", {cost_us_per_connection}{?@} +-"
				 "{cost_uncertainty_us_per_connection} us/connection " DRIFT_LINE);
	add_groups("host.");
	add(" latency p50 p90 p99 p99.9 max");
	for (i = 0; i < 3; i++) {
		add(" %s, ms", labels[i]);
		add_of(text_of("latency_seconds.%s", names[i]),
		       " {@.p50*1000} {@.p90*1000} {@.p99*1000} {@.p999*1000} {@.max*1000}");
	}
	add(" STALLED: {stalls.connections} of {connections} connections, "
	    "{100*stalls.connections/connections}%%");
	add_stalls("stalls.pauses");
	add(" the hypervisor took {host.accounting_percent.steal}%% of the CPU time this host "
	    "retransmitted {host_tcp.retransmits} segments, of which SYNs: {host_tcp.syn_retransmits}");
	for (i = 0; i < 3; i++) {
		add(" %s: ", where[i]);
		add_of(text_of("stalls.%s", places[i]),
		       "{@.connections}, median {@.seconds.p50*1000} ms, maximum {@.seconds.max*1000} ms");
	}
	add(" at {stalls.first.0.start} s ({*}): {stalls.first.0.seconds*1000} ms after the first byte "
	    "at {stalls.first.1.start} s ({*}): {stalls.first.1.seconds*1000} ms connecting open at the "
	    "end, not counted: {open_at_end}, the oldest for {open_at_end_seconds*1000} ms, stalled: "
	    "{open_at_end_stalled}");
	for (i = 0; i < FAIL_OTHER; i++)
		add(" failed: {failed.%s} %s", keys[i], failure_text(q.error[i]));
	add(" none of the last {failed_last} succeeded");
	capture(STDOUT_FILENO);
	requests_text(&q, true, false);
	shows(captured(), pattern, "the report of requests");
}

/*
 * zcs.
 */

static const _Atomic int running;
static struct receive_options receiving;
static struct report group;
static struct stalls silences;

/* Reports a client, which is all of its group, and two intervals; returns what was printed, on one line. */
static const char *client(const struct figures *f, int format)
{
	static char line[sizeof(printed)];
	struct place place = {.sock = -1};
	struct sockaddr_in *in = (struct sockaddr_in *)&place.peer;
	char *at;

	*in = (struct sockaddr_in){AF_INET, htons(7), {htonl(0xc0000201)}, ""};
	receiving = (struct receive_options){.method = receive_methods + 1, .json = format};
	group = (struct report){
		.opt = &receiving, .stop = &running, .intervals = {.period = 0.25, .load = true}};
	two_stalls(&silences);
	capture(STDOUT_FILENO);
	report_group_begin(&group, &place.peer, "lo");
	report_group_interval(&group, f, 3.25, false);
	report_client(&group, &place, f, &silences, 1, true, NULL);
	report_group(&group, f, &silences, true);
	strcpy(line, captured());
	while ((at = strstr(line, "\n  192.0.2.1:7: ")) != NULL)
		memmove(at + 1, at + 16, strlen(at + 15));
	while ((at = strstr(line, "\n  total of ")) != NULL)
		memmove(at + 1, strchr(at, ':') + 2, strlen(strchr(at, ':') + 1));
	return line;
}

static void test_clients(void)
{
	struct figures f = filled(IN_RECEIVER, UNSAFE_STEAL);
	const char *silent;

	f.clients = 4321;
	strcpy(json, strchr(client(&f, JSON_OBJECTS), '{'));
	strcpy(pattern, "interval, s KiB/s rate load cost, us/KiB ");
	add_of("intervals.0.sum", "{@.start}-{@.end} " KIB " " GBIT " {@.load_percent}%{?@} +-");
	add("{end.host.load_uncertainty_percent}%% {intervals.0.sum.cost_us_per_kib}? "
	    "{intervals.0.sum.clients} clients 192.0.2.1:7: ");
	add_of("end.streams.0.receiver", KIB " kbytes/sec (" GBIT "), ");
	add_of("end.host", LOAD_LINE);
	add_of("end.streams.0.receiver",
	       ", {@.bytes} bytes in {@.seconds} s, {@.files} files, {@.calls} reads by {@.method}, "
	       "{100*@.mapped_bytes/@.bytes}% mapped, after {@.warmup_bytes} bytes of warm-up");
	silent =
		", silent 2 times for over 0.2 s, the longest {@.longest_stall/1000000} s, the first at "
		"{end.first_stalls.0.start} s ({*})";
	add_of("end.streams.0.receiver", silent);
	add(", load of all {end.clients} clients");
	add_groups("end.host.");
	add(" total of {end.clients} clients: ");
	add_of("end.sum_received", KIB " kbytes/sec (" GBIT "), ");
	add_of("end.host", LOAD_LINE);
	add_of("end.sum_received", ", {@.bytes} bytes in {@.seconds} s");
	add_of("end.sum_received", silent);
	add_groups("end.host.");
	shows(client(&f, JSON_NONE), pattern,
	      "intervals, the summary of a client, and that of all");
}

static const char *replies(const struct figures *f, int format, const struct reply_total *total)
{
	receiving = (struct receive_options){.method = receive_methods, .json = format};
	group = (struct report){.opt = &receiving,
				.stop = &running,
				.began_ns = 1,
				.intervals = {.period = 0.25, .load = true, .requests = true}};
	capture(STDOUT_FILENO);
	report_replies(&group, f, 3.25, total);
	return captured();
}

static void test_replies(void)
{
	const struct reply_total total = {21, 22, 23, 24, {27, 25, 23, 26}};
	struct figures f = filled(IN_RECEIVER, UNSAFE_STEAL);

	strcpy(json, replies(&f, JSON_OBJECTS, &total));
	shows(replies(&f, JSON_NONE, &total),
	      "total: {replies} replies, {bytes} bytes; {refused} rejected, {silent} silent, {too_large} "
	      "too large, {broken} broken this host retransmitted {host_tcp.retransmits} segments, of "
	      "which SYNs: {host_tcp.syn_retransmits}; accept queue full: {host_tcp.listen_overflows}",
	      "the total of replies");
	strcpy(json, replies(&f, JSON_OBJECTS, NULL));
	strcpy(pattern,
	       "interval, s KiB/s rate replies/s load cost, us/KiB 3.250-{seconds+3.25} "
	       "{bits_per_second/8192} {bits_per_second/1000000000} Gbit/s {replies_per_second} ");
	add_of("host", LOAD_SHOWN " {@.cost_us_per_kib}{?@}");
	shows(replies(&f, JSON_NONE, NULL), pattern, "an interval of replies");
}

/*
 * cyclesoak.
 */

static void test_periods(void)
{
	static const struct cpus cpus = {.n = 2, .id = {0, 3}};
	const struct figures f = filled(IN_SENDER, UNSAFE_STEAL);
	const struct load each[2] = {filled(IN_SENDER, UNSAFE_STEAL).host,
				     filled(IN_SENDER, 0).host};
	const struct period p = {.figures = f, .cpus = &cpus, .each = each, .is_command = true};
	struct history h = {.n = 0};
	int i;

	capture(STDOUT_FILENO);
	period_json(&p, NULL);
	json_captured();
	strcpy(pattern,
	       "System load: {load_percent}%? +-{load_uncertainty_percent}%, slowed "
	       "{slowed_percent}%, cpu{load_by_cpu.0.cpu} {load_by_cpu.0.load_percent}%?, "
	       "cpu{load_by_cpu.1.cpu} {load_by_cpu.1.load_percent}%; took {seconds} s, user "
	       "{user_seconds} s, system {system_seconds} s; {cpu_seconds} s of CPU time, CPU "
	       "time of tasks {tasks_percent*cpus*seconds/100} s; idle machine before and after "
	       "differs by {drift_percent} points");
	add_groups("");
	for (i = 0; i < CPU_COLUMNS; i++)
		add("%s%s {accounting_percent.%s}%%", i > 0 ? ", " : "; kernel: ", cpu_column[i],
		    cpu_column[i]);
	capture(STDOUT_FILENO);
	period_print(&p, true);
	shows(captured(), pattern, "the line of a command");
	history_add(&h, NAN, NAN, UNSAFE_CPU_OFFLINE); /* it is not one of the periods */
	for (i = 0; i < 3; i++)
		history_add(&h, (const double[]){0.31, 0.52, 0.97}[i], 0.01, UNSAFE_STEAL);
	capture(STDOUT_FILENO);
	periods_json(&h);
	json_captured();
	capture(STDOUT_FILENO);
	periods_print(&h);
	shows(captured(),
	      "mean of {periods}: {load_percent}%{?} +-{load_uncertainty_percent}%, minimum "
	      "{load_min_percent}%, maximum {load_max_percent}%",
	      "the line of all periods");
}

static void test_verification(void)
{
	static const struct evidence evidence = {.cpus = 2, .steal = 0.0125};
	static const struct verdicts v = {
		5,
		{1, 2, 3, 4},
		{{"zero", "mean", &by_soaking, "CPUs", 0.0012, EXPECT_EQUAL, 0.5, 0.02,
		  VERDICT_PASS, .loads = 10},
		 {"yield", "a thread", NULL, "%", 90, EXPECT_AT_LEAST, 97, 3, VERDICT_FAIL,
		  .loads = 11},
		 {"price", "slowing", NULL, "%", 1.2, EXPECT_AT_MOST, 5, 2, VERDICT_PASS,
		  .loads = 9, .unsafe_loads = 3, .unsafe = UNSAFE_STEAL},
		 {"softirq", "load", &by_idle_time, "CPUs", NAN, .kind = VERDICT_NOT_RUN,
		  .why = "none"},
		 {"bursts", "load", &by_idle_time, "CPUs", NAN, .kind = VERDICT_NOT_RUN,
		  .unsafe = UNSAFE_NOT_MEASURED}}};
	static struct environment environment;

	capture(STDOUT_FILENO);
	verification_json(&environment, &evidence, &v);
	json_captured();
	strcpy(pattern,
	       "step by measured expected verdict zero mean soaking {verdicts.0.measured} CPUs "
	       "{verdicts.0.expected} +-{verdicts.0.tolerance} pass yield a thread "
	       "{verdicts.1.measured} % >= {verdicts.1.expected-verdicts.1.tolerance} FAIL price "
	       "slowing {verdicts.2.measured} % <= {verdicts.2.expected+verdicts.2.tolerance} "
	       "pass {verdicts.2.unsafe_loads} of {verdicts.2.loads+verdicts.2.unsafe_loads} "
	       "loads unsafe: {verdicts.2.unsafe} softirq load idle time {verdicts.3.measured} "
	       "not run {verdicts.3.why} bursts load idle time - not run load not measured: ");
	add("%s steal: {steal_percent}%% at most in a load result: {passed} passed, {failed} failed, "
	    "{not_run} could not be run",
	    no_load_text(no_load_of(UNSAFE_NOT_MEASURED, LOAD_BY_IDLE)));
	capture(STDOUT_FILENO);
	verification_report(&evidence, &v);
	shows(captured(), pattern, "a verification");
	shows("zero mean soaking CPUs equal at_least at_most pass fail not_run 2",
	      "{verdicts.0.step} {verdicts.0.what} {verdicts.0.instrument} {verdicts.0.unit} "
	      "{verdicts.0.relation} {verdicts.1.relation} {verdicts.2.relation} "
	      "{verdicts.0.verdict} {verdicts.1.verdict} {verdicts.3.verdict} {cpus}",
	      "the words of a verification");
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

/* A mean and half of its interval, as a cell has them. */
static void add_mean(const struct measure *m, int run, bool unsafe)
{
	const struct figure *row = figure_named(m->key);
	const char *kib = row->kind == FIGURE_BIT_RATE ? "/8192" : "",
		   *percent = figure_factor(row) > 1 ? "%" : "";

	add_of(text_of("comparison.runs.%d.%s%s", run, m->end == 1 ? PLAN_REMOTE : "", m->key),
	       text_of(" {@.mean%s}%s%s +-{@.high-@.low/2%s}%s", kib, percent, unsafe ? "?" : "",
		       kib, percent));
}

/* Two runs in three rounds, whose figures are apart: the table of -q has all that has a column. */
static void compare(const struct plan_kind *of, bool of_requests, const char *title)
{
	const struct plan_kind *kind = guarded_kind(of);
	const struct compare_options options = {.rounds = 3};
	struct comparison c = {.opt = &options, .begin_json = open_comparison, .quiet = true};
	const struct measure *m;
	struct figures sent[2], received[2];
	struct plan p;
	int i, run;

	plan_open(&p, kind, 2);
	plan_set_value(&p.run[0], RUN_WORDS, "-m send");
	plan_set_value(&p.run[1], RUN_WORDS, "-m mmap");
	for (run = 0; run < 2; run++) {
		sent[run] = filled(IN_SENDER, run == 1 ? UNSAFE_STEAL : 0);
		received[run] = filled(IN_RECEIVER, run == 0 ? UNSAFE_WEIGHT : 0);
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
	c.json = true;
	capture(STDOUT_FILENO);
	comparison_print(&c, NULL);
	json_captured();
	strcpy(pattern, "run");
	for (m = kind->measure; m < kind->measure + kind->measures; m++)
		if (m->title != NULL && plan_has(&p, (int)(m - kind->measure)))
			add(" %s%s", m->title, m->ratio_key != NULL ? " ratio to the first" : "");
	for (run = 0; run < 2; run++) {
		add(" %s", plan_name(&p.run[run]));
		for (m = kind->measure; m < kind->measure + kind->measures; m++) {
			if (m->title == NULL || !plan_has(&p, (int)(m - kind->measure)))
				continue;
			add_mean(m, run, m->is_of_load && m->end != run);
			if (m->ratio_key != NULL && run == 1)
				add_of(text_of("comparison.runs.1.%s%s",
					       m->end == 1 ? PLAN_REMOTE : "", m->ratio_key),
				       text_of(" {@.ratio}%s ({@.low} to {@.high}){=@}",
					       m->is_of_load ? "?" : ""));
		}
	}
	c.json = false;
	capture(STDOUT_FILENO);
	comparison_print(&c, NULL);
	shows(captured(), pattern, title);
	plan_close(&p);
}

static void test_comparisons(void)
{
	compare(&trials_kind, false, "a comparison of transfers");
	compare(&trials_kind, true, "a comparison of requests");
	compare(&commands_kind, false, "a comparison of commands");
}

TESTS(test_transfer, test_intervals, test_requests, test_clients, test_replies, test_periods,
      test_verification, test_comparisons)
