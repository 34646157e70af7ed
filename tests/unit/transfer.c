/* What a transfer makes of what its streams and intervals measured; the part itself, for what it has of its own. */
#include "lib/send/transfer.h"

static void print_due(struct run *r, const struct event *e, int n);

static struct stream_mark look_at(void);

static void begin_run(struct run *r, double seconds);

static bool is_terminal;
static unsigned why_unsafe; /* of the host, by the gauge */

#define run_start(r, work, streams, size, seconds) begin_run(r, seconds)
#define run_end(r)
#define run_host_figures(r, f)                ((f)->host.unsafe = why_unsafe)
#define run_step(r, e, n, t)                  print_due(r, e, n)
#define progress_wanted(opt)                  is_terminal
#define stream_mark(st)                       look_at()
#define gauge_between(g, from, to, cpu, load) ((load)->unsafe = UNSAFE_STEAL)
#include "lib/send/transfer.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include <signal.h>

#include "tests/unit/unit.h"

/* The receipts of two streams, and what they say of the server's host. */
static void test_host(const char *here)
{
	static const struct {
		const char *interface, *boot[2];
		bool local;
	} cases[] = {{"lo", {"", ""}, true},     {"eth0", {"", ""}, false},
		     {"eth0", {"h", "h"}, true}, {"lo", {"a", "a"}, false},
		     {"lo", {"h", "b"}, false},  {"lo", {"a", "b"}, false},
		     {"lo", {"a", ""}, false}};
	struct stream_result s[2];
	struct send_result res = {.stream = s};
	size_t i, k;

	for (i = 0; i < LENGTH(cases); i++) {
		figures_init(&res.received);
		for (k = 0; k < 2; k++) {
			figures_init(&s[k].received);
			s[k].received.seconds = s[k].received.host.load = 1;
			strcpy(s[k].received.boot,
			       *cases[i].boot[k] == 'h' ? here : cases[i].boot[k]);
			figures_add(&res.received, &s[k].received);
		}
		strcpy(res.target.interface, cases[i].interface);
		find_host(&res, 2);
		k = strcmp(cases[i].boot[0], cases[i].boot[1]) != 0;
		ok(res.local == cases[i].local &&
			   (isnan(res.received.host.load) != 0) == (k != 0) &&
			   strcmp(res.received.host.no_load, k ? NO_LOAD_SEVERAL : "") == 0,
		   "via %s to the boots '%s' and '%s' (h: here)", cases[i].interface,
		   cases[i].boot[0], cases[i].boot[1]);
	}
}

/* The host's reasons, such as steal, are those of each of its CPUs. */
static void test_cpus(const struct send_options *opt)
{
	static struct baseline idle = {.spin = 1, .speed = 1};
	struct load_sample from[2] = {{.time = 1}}, to[2] = {{.time = 3, .spin = 1, .work = 1}};
	struct run run = {.opt = opt, .gauge = {.from.at = from, .to.at = to}};
	struct stream_result s = {.has_receipt = false};
	struct transfer t = {.opt = opt, .run = &run, .result.stream = &s};

	run.gauge.instrument.kind = &by_soaking;
	run.gauge.calibration = (struct calibration){
		{1, {3}}, &idle, .windows = 8, .kind = &by_soaking};
	t.result.sent.host.unsafe = UNSAFE_STEAL;
	load_cpus(&t);
	ok(t.result.n_cpus == 1 && t.result.cpu[0].id == 3 &&
		   strcmp(t.result.cpu[0].role, "sender") == 0 &&
		   t.result.cpu[0].figures.host.unsafe == UNSAFE_STEAL,
	   "what makes the host's load unsafe makes that of each CPU unsafe");
	free(t.result.cpu);
	free(run.gauge.each);
}

static uint64_t marked_ns; /* when streams are looked at, which have sent 5000 bytes by then */

static struct stream_mark look_at(void)
{
	return (struct stream_mark){.ns = marked_ns, .bytes = 5000};
}

static struct run *ending; /* the run whose last stream ends while its gauge is read; NULL: none */

static void read_late(const struct instrument *in, const struct cpus *cpus, struct load_sample *at,
		      bool for_baseline)
{
	static int reads;
	struct run *r = ending;

	(void)in, (void)for_baseline;
	ending = NULL;
	if (r != NULL)
		run_measured(r);
	at[cpus->n].time = ++reads;
}

/* The last stream ends while the main thread begins what is measured behind the warm-up. */
static void test_warm(void)
{
	static const struct instrument_kind kind = {.read = read_late};
	static const struct send_options opt = {.streams = 1};
	static struct stream stream;
	static struct stream_result result;
	struct load_sample from[1], to[1];
	struct run run = {.opt = &opt,
			  .wake = -1,
			  .measuring = 1,
			  .gauge = {.instrument.kind = &kind,
				    .calibration.kind = &kind,
				    .from.at = from,
				    .to.at = to}};
	struct transfer t = {.opt = &opt, .run = &run, .stream = &stream, .result.stream = &result};

	ending = &run;
	on_warm(&t, now_ns());
	ok(run.measuring == 0 && to[0].time > from[0].time &&
		   run.gauge.to.counters.ns > run.gauge.from.counters.ns,
	   "a transfer that ends with its warm-up: what is measured ends after it begins");
	ok(stream.begin.bytes == 5000, "what was sent by then is of the warm-up");
	t.measuring = false;
	on_warm(&t, now_ns());
	ok(!t.measuring, "nothing is measured of a transfer that ended before its warm-up");
}

/* A run that began a second after the boot. */
static void begin_run(struct run *r, double seconds)
{
	r->start_ns = 1000000000;
	r->end_ns = 4000000000;
	r->running = r->opt->streams;
	if (r->running > 0)
		printf(" %g s:", seconds);
}

/* When each event is due first, in ms; a run whose streams have ended has no other. */
static void print_due(struct run *r, const struct event *e, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (e[i].due_ns == NEVER)
			printf(" -");
		else
			printf(" %ju", (uintmax_t)(e[i].due_ns - r->start_ns) / 1000000);
	printf("\n");
	r->running = 0;
}

/* Of options: when events are due; then at times of a run that ends after 3 s, what is printed and due next. */
static void test_events(void)
{
	static const struct {
		const char *options;
		int ms, stop, measuring;
		bool is_warm;
	} rows[] = {{"-t 3", 0, 0, 1, true},
		    {"-n 2 -P 2 -I .5 --warmup 1.5 --timeout 4", 1000, 0, 1, false},
		    {"-n 5 -I 2 --raw", 2600, 0, 1, true},
		    {"--bytes 900 -I 2", 3000, 0, 1, true},
		    {"-t 3 -I 2", 3000, SIGINT, 1, true},
		    {"-t 3 -I 2", 2500, 0, 0, true}};
	static struct send_options opt;
	struct stream *stream = calloc(2, sizeof(*stream));
	struct stream_result *result = calloc(2, sizeof(*result));
	const struct fileset set = {.bytes = 100, .entries = 3};
	struct send_report rep = {.opt = &opt};
	struct load_sample at[1] = {{.time = 0}};
	struct run run = {.opt = &opt, .wake = -1, .gauge = {.from.at = at, .to.at = at}};
	struct transfer t = {.opt = &opt, .run = &run, .report = &rep, .stream = stream};
	uint64_t now, next;
	size_t i, k;

	t.result.stream = result;
	t.result.set = &set;
	for (k = 0; k < 2; k++) {
		stream[k].opt = &opt;
		stream[k].result = &result[k];
		stream[k].sender.stop = &run.stop;
		stream[k].sender.sock = -1;
		stream[k].sender.method = send_methods;
		stream[k].end = (struct stream_mark){.ns = 3500000000, .bytes = 9000};
	}
	capture_all();
	for (i = 0; i < LENGTH(rows); i++) {
		options_of(&opt, "-s 0 -m send ", rows[i].options);
		is_terminal = i % 2 > 0;
		why_unsafe = UNSAFE_CPU_OFFLINE;
		t.unsafe = UNSAFE_STEAL;
		t.result.receipts = 0;
		t.result.loops = 0;
		for (k = 0; k < 2; k++) {
			stream[k].phase = STREAM_DONE;
			stream[k].mark = (struct stream_mark){.bytes = 0};
			stream[k].files = 7;
			result[k].has_receipt = k == 0;
		}
		printf("%s:", rows[i].options);
		transfer_run(&t);
		printf("%ju bytes in %g s, %ju loops, %d receipts, unsafe %u\n",
		       (uintmax_t)t.result.sent.bytes, t.result.sent.seconds,
		       (uintmax_t)t.result.loops, t.result.receipts, t.result.sent.host.unsafe);
		fflush(stdout);
		rep.intervals = (struct intervals){.period = opt.interval};
		run.stop = rows[i].stop;
		run.measuring = rows[i].measuring;
		t.measuring = rows[i].is_warm;
		t.result.pauses.n = t.unsafe = 0;
		for (k = 0; k < 2; k++) {
			stream[k].phase = STREAM_SENDING;
			stream[k].last = (struct stream_mark){.ns = 2000000000, .bytes = 1000};
		}
		now = marked_ns = run.start_ns + (uint64_t)rows[i].ms * 1000000;
		run.due_ns = now - PAUSE_NS;
		on_progress(&t, now);
		report_clear_progress(&rep);
		next = opt.interval > 0 ? on_interval(&t, now) : now;
		on_sample(&t, now);
		printf("next in %d ms, watch in %d ms, %ju pauses, unsafe %u\n",
		       next == NEVER ? -1 : (int)((next - now) / 1000000),
		       opt.timeout > 0 ? (int)((on_watch(&t, now) - now) / 1000000) : -1,
		       (uintmax_t)t.result.pauses.n, t.unsafe);
	}
	expect(captured(), "the events of a transfer, and its sum");
	transfer_close(&t); /* frees them */
}

int main(void)
{
	char here[HASH_SIZE];
	static struct send_report rep;
	static struct stream_result to_one = {.has_receipt = true, .received.cpu = 3};
	const struct send_options opt = {.server = ""}, one = {.streams = 1, .bind = {1, {3}}};
	struct run run = {.opt = &opt, .interface = ""};
	struct transfer t = {.opt = &opt, .run = &run, .report = &rep, .result.stream = &to_one};

	transfer_run(&t); /* of no streams */
	ok(t.result.sent.host.unsafe == 0, "a transfer that nothing disturbed has no reason");
	/* An interval saw what had passed when the transfer ended: a clock source changed, and back. */
	t.unsafe = UNSAFE_CLOCK_CHANGED;
	transfer_run(&t);
	ok(t.result.sent.host.unsafe == UNSAFE_CLOCK_CHANGED,
	   "a reason that an interval noticed is one of the total");
	t.opt = &one;
	is(cpu_role(&t, 3), "sender", "the CPU of a receiver on another host has no role here");
	t.result.local = true;
	is(cpu_role(&t, 3), "both", "a CPU may be that of both ends");
	is(cpu_role(&t, 4), "", "another CPU has no role");
	to_one.received.cpu = 4;
	is(cpu_role(&t, 4), "receiver", "a CPU may be the receiver's alone");
	boot_read(here);
	ok(strlen(here) == 16 && strspn(here, "0123456789abcdef") == 16, "this boot has a hash");
	test_host(here);
	test_cpus(&one);
	test_warm();
	test_events();
	return done();
}
