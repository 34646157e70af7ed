#include "lib/send/request.h"

#include "lib/report/units.h"

/*
 * Latencies.
 */

void latency_add(struct latency *h, uint64_t ns)
{
	const uint64_t v = ns >> LATENCY_BITS != 0 ? (1ull << LATENCY_BITS) - 1 : ns;
	const int shift = v < LATENCY_SUB ? 0 : 63 - __builtin_clzll(v) - LATENCY_SHIFT;

	h->class[(size_t)shift * LATENCY_SUB + (size_t)(v >> shift)]++;
	h->n++;
	if (ns > h->max)
		h->max = ns;
}

void latency_merge(struct latency *sum, const struct latency *h)
{
	int i;

	for (i = 0; i < LATENCY_CLASSES; i++)
		sum->class[i] += h->class[i];
	sum->n += h->n;
	if (h->max > sum->max)
		sum->max = h->max;
}

/* The middle of class i in ns. */
static double class_middle(size_t i)
{
	const uint64_t width = i < LATENCY_SUB ? 1 : 1ull << (i / LATENCY_SUB - 1);
	const uint64_t low = i < LATENCY_SUB ? i : (LATENCY_SUB + i % LATENCY_SUB) * width;

	return (double)low + (double)(width - 1) / 2;
}

double latency_percentile(const struct latency *h, double p)
{
	const uint64_t rank = (uint64_t)fmax(ceil(p * (double)h->n), 1);
	uint64_t seen = 0;
	size_t i;

	if (h->n == 0)
		return NAN;
	for (i = 0; i + 1 < LATENCY_CLASSES && (seen += h->class[i]) < rank; i++)
		;
	return fmin(class_middle(i), (double)h->max) / 1e9;
}

/* The number of latencies of at least so many ns, by the middles of their classes. */
static uint64_t latency_count(const struct latency *h, double ns)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < LATENCY_CLASSES; i++)
		if (class_middle(i) >= ns)
			n += h->class[i];
	return n;
}

/*
 * Counting and judging.
 */

/*
 * A connection stalls if it waits for data for STALL_NS or longer, and STALL_CONNECT times as long as
 * it took to be made: the network alone does not delay it so.  It stalls while connecting if that
 * takes STALL_CONNECT_NS or longer, and STALL_CONNECT times as long as the fastest connection took: a
 * SYN is sent again after 1 s (TCP_TIMEOUT_INIT of the kernel, RFC 6298).
 */
#define STALL_NS         20000000u
#define STALL_CONNECT_NS 900000000u
#define STALL_CONNECT    5

#define STEAL_SHOWN 0.01 /* share of the CPU time; less hardly delays anything */

enum stall_place stall_of(const struct wait *w)
{
	const uint64_t connect = w->ns[STALL_CONNECTING];
	const enum stall_place p = w->ns[STALL_DATA] > w->ns[STALL_FIRST_BYTE] ? STALL_DATA
									       : STALL_FIRST_BYTE;

	if (w->ns[p] >= STALL_NS && w->ns[p] >= STALL_CONNECT * connect)
		return p;
	return connect >= STALL_CONNECT_NS ? STALL_CONNECTING : STALL_PLACES;
}

void requests_count(struct requests *q, const struct wait *w, uint64_t total_ns)
{
	const enum stall_place place = stall_of(w);

	latency_add(&q->latency[CONNECT], w->ns[STALL_CONNECTING]);
	if (q->size > 0)
		latency_add(&q->latency[FIRST_BYTE],
			    w->ns[STALL_CONNECTING] + w->ns[STALL_FIRST_BYTE]);
	latency_add(&q->latency[TOTAL], total_ns);
	if (place != STALL_PLACES)
		latency_add(&q->stalled[place], w->ns[place]);
}

void requests_count_open(struct requests *q, const struct wait *w, uint64_t age_ns)
{
	q->open++;
	q->open_stalled += stall_of(w) != STALL_PLACES;
	q->open_longest_ns = age_ns > q->open_longest_ns ? age_ns : q->open_longest_ns;
}

static const struct {
	const char *text, *key; /* what follows "failed" in a message, and the JSON key */
	int error[2];           /* the error numbers of this kind */
} failure[FAILURES] = {
	[FAIL_REFUSED] = {"refused", "refused", {ECONNREFUSED}},
	[FAIL_RESET] = {"reset by the server", "reset", {ECONNRESET, EPIPE}},
	[FAIL_PORTS] = {"for lack of local ports", "no_ports", {EADDRNOTAVAIL, EADDRINUSE}},
	[FAIL_TIMEOUT] = {"timed out", "timeout", {ETIMEDOUT, EAGAIN}},
	[FAIL_LENGTH] = {"with a length other than requested", "wrong_length", {EMSGSIZE}},
	[FAIL_OTHER] = {"for another reason", "other", {0}},
};

static int failure_of(int e)
{
	int kind = 0;

	while (kind < FAIL_OTHER && failure[kind].error[0] != e && failure[kind].error[1] != e)
		kind++;
	return kind;
}

const char *failure_text(int error, char buf[128])
{
	const int kind = failure_of(error);

	if (kind != FAIL_OTHER)
		return failure[kind].text;
	snprintf(buf, 128, "%s: %s", failure[kind].text, strerror(error));
	return buf;
}

int requests_count_failure(struct requests *q, int error)
{
	const int kind = failure_of(error);

	q->failed[kind]++;
	q->error[kind] = error;
	return kind;
}

void requests_add(struct requests *sum, const struct requests *q)
{
	int i;

	for (i = 0; i < FAILURES; i++) {
		sum->failed[i] += q->failed[i];
		if (q->error[i] != 0)
			sum->error[i] = q->error[i];
	}
	for (i = 0; i < LATENCIES; i++)
		latency_merge(&sum->latency[i], &q->latency[i]);
	for (i = 0; i < STALL_PLACES; i++)
		latency_merge(&sum->stalled[i], &q->stalled[i]);
	sum->open += q->open;
	sum->open_stalled += q->open_stalled;
	if (q->open_longest_ns > sum->open_longest_ns)
		sum->open_longest_ns = q->open_longest_ns;
}

void requests_settle(struct requests *sum)
{
	const double fastest = 1e9 * latency_percentile(&sum->latency[CONNECT], 0);
	struct latency *h = &sum->stalled[STALL_CONNECTING];
	size_t i;

	for (i = 0; i < LATENCY_CLASSES && class_middle(i) < STALL_CONNECT * fastest; i++) {
		h->n -= h->class[i];
		h->class[i] = 0;
	}
	if (h->n == 0)
		h->max = 0;
}

uint64_t requests_stalled(const struct requests *q)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		n += q->stalled[i].n;
	return n;
}

/*
 * The text.
 */

static const char *const place_name[] = {"connecting", "before the first byte",
					 "after the first byte"};
static const char *const place_key[] = {"connecting", "first_byte", "data"};
static const char *const latency_name[] = {"connect, ms", "first byte, ms", "total, ms"};
static const char *const latency_key[] = {"connect", "first_byte", "total"};

static void hint_text(const char *time, uint64_t n, const char *reason)
{
	if (n > 0)
		report("    %s (%" PRIu64 "): %s\n", time, n, reason);
}

/*
 * What takes such a time.  A delayed acknowledgement takes 40 ms (TCP_DELACK_MIN) and up to two of
 * the kernel's ticks more, and a retransmission 200 ms or more (TCP_RTO_MIN); the client's clock may
 * show a few ms less than the server waited.
 */
static void hints_text(const struct requests *q)
{
	struct latency waits = q->stalled[STALL_FIRST_BYTE];
	uint64_t delayed, resent;

	latency_merge(&waits, &q->stalled[STALL_DATA]);
	delayed = latency_count(&waits, 36e6) - latency_count(&waits, 60e6);
	resent = latency_count(&waits, 190e6);
	hint_text("1 s or more", q->stalled[STALL_CONNECTING].n,
		  "a lost SYN, or a server whose accept queue is full");
	hint_text("40 to 60 ms", delayed, "a delayed acknowledgement, if not a busy server");
	hint_text("200 ms or more", resent, "a retransmission, or a busy or stopped server");
	hint_text("other times", waits.n - delayed - resent,
		  "a server or a CPU that was busy or stopped");
}

/* What else was noticed meanwhile, from which the reason of stalls may be seen. */
static void evidence_text(const struct requests *q)
{
	const double steal = q->host.host.rates.cpu[CPU_STEAL];

	if (!isnan(q->tcp.retransmits + q->tcp.syn_retransmits))
		report("    this host retransmitted %.0f segment%s, of which SYNs: %.0f\n",
		       q->tcp.retransmits, plural((uint64_t)q->tcp.retransmits),
		       q->tcp.syn_retransmits);
	pauses_text(&q->pauses);
	if (steal > STEAL_SHOWN)
		report("    the host of this virtual machine took %.1f%% of the CPU time\n",
		       100 * steal);
}

static void stalls_text(const struct requests *q, bool brief)
{
	const uint64_t stalled = requests_stalled(q), n = q->latency[TOTAL].n;
	const struct latency *h;
	int i;

	if (stalled == 0)
		return;
	report("  STALLED: %" PRIu64 " of %" PRIu64 " connections, %.4g%%\n", stalled, n,
	       100 * (double)stalled / (double)n);
	if (brief)
		return;
	for (i = 0, h = q->stalled; i < STALL_PLACES; i++, h++)
		if (h->n > 0)
			report("    %s: %" PRIu64 ", median %.1f ms, maximum %.1f ms\n",
			       place_name[i], h->n, 1000 * latency_percentile(h, 0.5),
			       (double)h->max / 1e6);
	hints_text(q);
	evidence_text(q);
}

static void latencies_text(const struct latency *h)
{
	int i;

	if (h[TOTAL].n == 0)
		return;
	report("  %-16s %11s %11s %11s %11s %11s\n", "latency", "p50", "p90", "p99", "p99.9",
	       "max");
	for (i = 0; i < LATENCIES; i++, h++)
		if (h->n > 0)
			report("    %-14s %11.3f %11.3f %11.3f %11.3f %11.3f\n", latency_name[i],
			       1000 * latency_percentile(h, 0.5), 1000 * latency_percentile(h, 0.9),
			       1000 * latency_percentile(h, 0.99),
			       1000 * latency_percentile(h, 0.999), (double)h->max / 1e6);
}

/*
 * Whether no connection stalled, and a stall would have been seen: a connection that took longer to
 * be made than a fifth of 40 ms hides one that short.
 */
static bool none_stalled(const struct requests *q)
{
	return q->latency[TOTAL].n > 0 && requests_stalled(q) == 0 && q->open_stalled == 0 &&
	       q->failed[FAIL_TIMEOUT] == 0 &&
	       latency_percentile(&q->latency[CONNECT], 0.5) <= 0.008;
}

/* Prints the load behind the first line if the report is that line, else below it. */
static void host_text(const struct figures *f, uint64_t connections, bool quiet)
{
	const struct load *l = &f->host;
	char text[LOAD_STRLEN], cost[FIGURE_STRLEN], reasons[UNSAFE_STRLEN];

	if (!isnan(l->load))
		report("%s%s, %s us/connection", quiet ? ", " : "\n  ", load_format(f, true, text),
		       cost_text(figures_cost_each(f, (double)connections), NAN, l->unsafe, cost));
	else if (l->unsafe != 0 && !quiet)
		report("\n  no load: %s", limits_format(l->unsafe, reasons));
	if (!isnan(l->load) && l->baseline == BASELINE_OWN && !quiet)
		report("\n  %s", baselines_format(l->drift, text));
	report("\n");
}

void requests_headings(void)
{
	report("%-16s %11s %15s %16s %17s\n", "requests of", "seconds", "received", "connections",
	       "throughput");
}

void requests_text(const struct requests *q, bool quiet)
{
	const double kib = (double)q->host.bytes / 1024, seconds = q->host.seconds;
	const uint64_t n = q->latency[TOTAL].n;
	char text[128];
	int i;

	snprintf(text, sizeof(text), "%u byte%s", q->size, plural(q->size));
	report("%-16s %10.2fs %12.2fKiB %10.2fconn/s %12.2fKiB/s", text, seconds, kib,
	       per_second((double)n, seconds), per_second(kib, seconds));
	host_text(&q->host, n, quiet);
	if (!quiet)
		latencies_text(q->latency);
	stalls_text(q, quiet);
	if (!quiet && none_stalled(q))
		report("  no connection of %" PRIu64 " stalled\n", n);
	if (q->open_stalled > 0 || (q->open > 0 && !quiet))
		report("  open at the end, not counted: %" PRIu64
		       ", the oldest for %.1f ms, stalled: %" PRIu64 "\n",
		       q->open, (double)q->open_longest_ns / 1e6, q->open_stalled);
	for (i = 0; i < FAILURES && !quiet; i++)
		if (q->failed[i] > 0)
			report("  failed: %" PRIu64 " %s\n", q->failed[i],
			       failure_text(q->error[i], text));
}

/*
 * The JSON.
 */

static void latency_json(struct json *j, const char *key, const struct latency *h)
{
	json_open(j, key, '{');
	json_number(j, "p50", latency_percentile(h, 0.5));
	json_number(j, "p90", latency_percentile(h, 0.9));
	json_number(j, "p99", latency_percentile(h, 0.99));
	json_number(j, "p999", latency_percentile(h, 0.999));
	if (h->n > 0)
		json_number(j, "max", (double)h->max / 1e9);
	json_close(j, '}');
}

static void stalls_json(struct json *j, const struct requests *q)
{
	struct latency all = {.n = 0};
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		latency_merge(&all, &q->stalled[i]);
	json_open(j, "stalls", '{');
	json_count(j, "connections", all.n);
	json_count(j, "before_first_byte", q->stalled[STALL_FIRST_BYTE].n);
	latency_json(j, "seconds", &all);
	for (i = 0; i < STALL_PLACES; i++) {
		json_open(j, place_key[i], '{');
		json_count(j, "connections", q->stalled[i].n);
		latency_json(j, "seconds", &q->stalled[i]);
		json_close(j, '}');
	}
	pauses_json(j, &q->pauses);
	json_close(j, '}');
}

void requests_json(struct json *j, const struct requests *q)
{
	const uint64_t n = q->latency[TOTAL].n;
	int i;

	json_open(j, NULL, '{');
	json_count(j, "request_bytes", q->size);
	json_timed(j, 0, &q->host, IN_REQUESTS);
	json_count(j, "connections", n);
	json_number(j, "connections_per_second", per_second((double)n, q->host.seconds));
	json_number(j, "cost_us_per_connection", figures_cost_each(&q->host, (double)n));
	json_open(j, "latency_seconds", '{');
	for (i = 0; i < LATENCIES; i++)
		latency_json(j, latency_key[i], &q->latency[i]);
	json_close(j, '}');
	stalls_json(j, q);
	json_count(j, "open_at_end", q->open);
	json_count(j, "open_at_end_stalled", q->open_stalled);
	json_number(j, "open_at_end_seconds", q->open > 0 ? (double)q->open_longest_ns / 1e9 : NAN);
	json_open(j, "failed", '{');
	for (i = 0; i < FAILURES; i++)
		json_count(j, failure[i].key, q->failed[i]);
	json_close(j, '}');
	json_netstat(j, &q->tcp);
	json_host(j, "host", &q->host);
	json_close(j, '}');
}
