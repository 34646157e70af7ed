#include "lib/report/figures.h"
#include "lib/send/sender.h"
#include "lib/send/plan.h"

#include "tests/fuzz/fuzz.h"

/*
 * What zcc prints of figures that it did not measure itself: a file of --save that is compared with,
 * and the receipts of a server.
 */

/* Calls a function that prints on stdout; the caller frees what it returns. */
static char *stdout_of(void (*print)(void *arg), void *arg)
{
	FILE *const before = stdout;
	char *text = NULL;
	size_t len;

	stdout = open_memstream(&text, &len);
	if (stdout == NULL)
		err(EXIT_FAILURE, "fuzz");
	print(arg);
	fclose(stdout);
	stdout = before;
	return text;
}

/* Whether a word of a text is not a number, unless the case has it too, as the name of a kernel may. */
static bool has_odd_figure(const char *text, const char *word, const char *s)
{
	return strstr(text, word) != NULL && strstr(s, word + (*word == ' ')) == NULL;
}

/* What is printed has figures, and in JSON no empty object for one. */
static void print_holds(void (*print)(void *arg), void *arg, const char *s)
{
	static const char *const empty[] = {"bits_per_second\":{}", "load_percent\":{}",
					    "us_per_kib\":{}", "_ratio\":{}"};
	char *text = stdout_of(print, arg);
	size_t i;

	holds(text[0] != '\0', "something is printed");
	holds(!has_odd_figure(text, "nan", s), "no figure is printed as nan");
	holds(!has_odd_figure(text, " inf", s) && !has_odd_figure(text, "-inf", s),
	      "no figure is printed as inf");
	for (i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		holds(!has_odd_figure(text, empty[i], s), "a figure in JSON has a value");
	free(text);
}

static struct environment environment;
static struct send_options opt = {
	.server = "server", .port = "2222", .streams = 1, .compare = {.against = "file"}};

struct comparison_case {
	const struct comparison *comparison;
	struct send_options opt;
};

static void print_comparison(void *arg)
{
	const struct comparison_case *c = arg;

	comparison_print(c->comparison, &c->opt);
}

/* Of the plan s->plan, alone and against itself as it was saved, as text and as JSON. */
static void comparison_holds(struct plan *p, const char *s)
{
	struct comparison c = {.plan = p, .environment = &environment};
	struct comparison_case printed = {&c, opt};
	int i;

	for (i = 0; i < 4; i++) {
		c.before = i & 1 ? p : NULL;
		printed.opt.json = (i & 2) != 0;
		print_holds(print_comparison, &printed, s);
	}
}

/*
 * A file of --save.
 */

static bool run_saved(const char *s, size_t len)
{
	struct saved saved = {.last = NULL};
	char *text = malloc(len + 1);
	const char *why;

	if (text == NULL)
		err(EXIT_FAILURE, "fuzz");
	memcpy(text, s, len + 1);
	why = saved_parse(text, &saved);
	free(text);
	if (why != NULL) {
		reason_holds(why);
		holds(saved.last == NULL, "a refusal leaves no plan");
		return false;
	}
	comparison_holds(saved.last, s);
	saved_close(&saved);
	return true;
}

static void put_figure(struct text *t, size_t most)
{
	if (one_in(32))
		put_odd_number(t);
	else if (one_in(16))
		put(t, "-");
	else
		put(t, "%.9g", (double)below(most * 1000) / 1000);
	put_char(t, '\t');
}

static void put_session(struct text *t, size_t runs, size_t rounds)
{
	const char *baseline = one_in(4) ? "own" : "one";
	size_t i;

	for (i = 0; i < runs * rounds; i++) {
		put(t, "%zu\t%s\t65536\t%zu\t%s\t", i / runs + 1, i % runs == 0 ? "send" : "mmap",
		    i % runs + 1, baseline);
		put_figure(t, 1000000);
		put_figure(t, 100);
		put_figure(t, 2);
		put_figure(t, 10);
		put(t, "%s\t", one_in(4) ? "steal,weight" : "-");
		put_figure(t, 100);
		put_figure(t, 2);
		put_figure(t, 10);
		put(t, "-\treno\t0\ttso,gso\t");
		put_figure(t, 2);
		put_figure(t, 2);
		put(t, "%s\thost\tlo\t1\t0\t2026-11-23T05:49:20Z\tlabel\n",
		    i % runs == 0 ? "soak" : "idle");
	}
}

static void make_saved(struct text *t)
{
	const size_t runs = 1 + below(3);

	put(t,
	    "# zcc 1.0, Linux 6.1 x86_64, host\nround\tmethod\tbuffer_bytes\tstreams\tbaseline\t"
	    "kib_per_second\tload_percent\tload_uncertainty_percent\tcost_us_per_kib\tunsafe\t"
	    "receiver_load_percent\treceiver_load_uncertainty_percent\t"
	    "receiver_cost_us_per_kib\treceiver_unsafe\tcongestion\tpace_bytes_per_second\toffloads\t"
	    "load_shared_percent\tdrift_percent\tinstrument\tserver\tinterface\tseconds\t"
	    "warmup_seconds\tdate\ttitle\n");
	put_session(t, runs, 1 + below(3));
	while (one_in(2)) {
		put(t, "# zcc 1.1, host\n");
		put_session(t, runs, 1 + below(3));
	}
}

/*
 * Receipts.
 */

struct report_case {
	struct send_report report;
	struct send_result res;
	struct stream_result stream;
	struct target target;
	struct fileset set;
	struct send_options opt;
};

static void print_report(void *arg)
{
	struct report_case *c = arg;

	report_start(&c->report, c->res.target, &c->res);
	report_end(&c->report, &c->res, NULL);
}

/* What the sender measured is in order; the receipt is the case. */
static void report_init(struct report_case *c, const struct figures *received, bool local)
{
	struct figures *sent = &c->stream.sent;

	*c = (struct report_case){.opt = opt};
	c->opt.method = method_named("send");
	c->report = (struct send_report){.opt = &c->opt, .lock = REPORT_LOCK};
	strcpy(c->target.name, "192.0.2.1:2222");
	c->set = (struct fileset){.n = 1, .bytes = 1000};
	figures_init(sent);
	sent->bytes = 1 + any() % 1000000;
	sent->seconds = one_in(2) ? 1 : 0.001;
	strcpy(sent->method, "send");
	c->stream.received = *received;
	c->stream.has_receipt = true;
	c->res = (struct send_result){.target = &c->target,
				      .set = &c->set,
				      .congestion = "reno",
				      .chunk = 65536,
				      .stream = &c->stream,
				      .sent = *sent,
				      .received = *received,
				      .receipts = 1,
				      .local = local};
}

static void report_holds(struct report_case *c, const char *s)
{
	print_holds(print_report, c, s);
	c->opt.json = true;
	print_holds(print_report, c, s);
}

#define RECEIPTS 4 /* of a case: two rounds of two runs */

static bool run_receipts(const char *s, size_t len)
{
	struct figures received[RECEIPTS];
	struct report_case c;
	struct plan plan;
	const bool local = one_in(2);
	const char *end;
	int i, n;

	(void)len;
	for (n = 0; n < RECEIPTS && *s != '\0'; n++, s = end + 1) {
		end = strchrnul(s, '\n');
		if (*end == '\0' || receipt_parse(s, (size_t)(end - s) + 1, &received[n]) != NULL)
			return false;
	}
	if (n < 2)
		return false;
	s -= len;
	plan_open(&plan, n / 2, 2);
	for (i = 0; i < n / 2 * 2; i++) {
		report_init(&c, &received[i], local);
		plan_add(&plan, i % plan.n, &c.res);
		report_holds(&c, s);
	}
	comparison_holds(&plan, s);
	plan_close(&plan);
	return true;
}

/* Of another server, maybe far from what a host can measure. */
static double far_or(double value)
{
	return one_in(8) ? 1e14 : value;
}

static void make_receipts(struct text *t)
{
	char line[RECEIPT_MAX];
	struct figures f;
	size_t i, n = 2 + below(RECEIPTS - 1);

	for (i = 0; i < n; i++) {
		figures_init(&f);
		f.bytes = 1 + below(1000000);
		f.seconds = 1;
		f.calls = below(100);
		strcpy(f.method, "read");
		f.host.cpus = far_or(1 + (double)below(8));
		f.host.load = far_or((double)below(1000) / 1000);
		f.host.uncertainty = far_or(0.01);
		f.host.unsafe = one_in(4) ? UNSAFE_STEAL : 0;
		put_bytes(t, line, receipt_format(&f, line) - 1);
		put(t, one_in(8) ? " rcv_rtt=1000000\n" : "\n");
	}
}

const struct fuzz_target saved_target = {"saved", true, run_saved, make_saved,
					 "\t|\n|-|0|1e|e9|e300|.|nan|inf|-1|other|later|\t-\t|1\t"};
const struct fuzz_target receipts_target = {
	"receipts", true, run_receipts, make_receipts,
	" load=|999999999999999|00000000|-|.|seconds=|cpus=| uncertainty=99| bytes=| "
	"tasks=|\n| |bytes=0 |bytes=1 |0"};
