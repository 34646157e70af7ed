#include "lib/send/request.h"

/*
 * Latencies.
 */

static size_t class_of(uint64_t ns)
{
	const uint64_t v = ns >> LATENCY_BITS != 0 ? (1ull << LATENCY_BITS) - 1 : ns;
	const int shift = v < LATENCY_SUB ? 0 : 63 - __builtin_clzll(v) - LATENCY_SHIFT;

	return (size_t)shift * LATENCY_SUB + (size_t)(v >> shift);
}

void latency_add(struct latency *h, uint64_t ns)
{
	h->class[class_of(ns)]++;
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

/* The least of class i in ns. */
static uint64_t class_low(size_t i)
{
	return i < LATENCY_SUB ? i
			       : (uint64_t)(LATENCY_SUB + i % LATENCY_SUB) << (i / LATENCY_SUB - 1);
}

/*
 * The latency in ns that the share p of all was within: the middle of its class, or as if those of a class were spread
 * over it.
 */
static double percentile_ns(const struct latency *h, double p, bool spread)
{
	/* Where doubles are computed with more digits, as on an i686, 0.9 of 10 is more than 9. */
	const uint64_t rank = (uint64_t)fmax(ceil(p * (double)h->n - 1e-6), 1);
	uint64_t seen = 0;
	double low, width;
	size_t i;

	if (rank >= h->n)
		return h->n > 0 ? (double)h->max : NAN;
	for (i = 0; (seen += h->class[i]) < rank; i++)
		;
	low = (double)class_low(i);
	width = (double)class_low(i + 1) - low;
	if (spread)
		low += width * (1 - ((double)(seen - rank) + 0.5) / (double)h->class[i]);
	else
		low += (width - 1) / 2;
	return fmin(low, (double)h->max);
}

double latency_percentile(const struct latency *h, double p)
{
	return percentile_ns(h, p, false) / 1e9;
}

/* The same in us, for comparisons: percentiles in neighbouring classes hardly differ. */
static double percentile_us(const struct latency *h, double p)
{
	return percentile_ns(h, p, true) / 1e3;
}

/*
 * Counting and judging.
 */

/*
 * A wait is a stall if it lasts at least STALL_NS, and at least STALL_TIMES as long as the smaller of two times: the
 * median wait at its place, and the time within which a tenth of the connections were made.  The network's
 * delay alone does not explain such a wait.
 */
#define STALL_NS    20000000u
#define STALL_TIMES 5
#define STALL_KNOWN 32 /* requests after which the medians can be used */

#define STEAL_SHOWN 0.01 /* share of the CPU time; less hardly delays anything */

/* The ns from which a wait at a place is a stall. */
static double stall_from(const struct requests *q, enum stall_place p)
{
	const double here = latency_percentile(&q->wait[p], 0.5),
		     connecting = latency_percentile(&q->latency[CONNECT], 0.1);

	/* fmin(3) ignores what is not known: kept connections have no latency of connecting. */
	const double ns = fmax(STALL_NS, STALL_TIMES * 1e9 * fmin(here, connecting));

	return (double)class_low(class_of((uint64_t)ns)); /* a class is a stall, or is none */
}

void requests_count(struct requests *q, const struct wait *w, uint64_t total_ns)
{
	const uint64_t *ns = w->ns;
	enum stall_place p;
	bool known;

	if (!q->kept)
		latency_add(&q->latency[CONNECT], ns[STALL_CONNECTING]);
	if (q->size > 0)
		latency_add(&q->latency[FIRST_BYTE], ns[STALL_CONNECTING] + ns[STALL_FIRST_BYTE]);
	latency_add(&q->latency[TOTAL], total_ns);
	known = q->latency[TOTAL].n >= STALL_KNOWN;
	for (p = 0; p < STALL_PLACES; p++) {
		latency_add(&q->wait[p], ns[p]);
		/* It may be a stall, as far as the medians so far tell. */
		if (ns[p] >= STALL_NS && (!known || (double)ns[p] >= stall_from(q, p) / 2))
			stalls_keep(&q->slow, (struct stall){w->at_ns[p], ns[p], (int)p});
	}
}

void requests_count_open(struct requests *q, const struct wait *w, uint64_t age_ns)
{
	q->open++;
	q->open_wait = *w;
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
	[FAIL_CLOSED] = {"closed without a reply", "closed", {ENODATA}},
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

const char *failure_text(int error)
{
	const int kind = failure_of(error);

	return kind != FAIL_OTHER ? failure[kind].text
				  : text_of("%s: %s", failure[kind].text, strerror(error));
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
		latency_merge(&sum->wait[i], &q->wait[i]);
	sum->open += q->open;
	if (q->open_longest_ns > sum->open_longest_ns)
		sum->open_longest_ns = q->open_longest_ns;
	stalls_add(&sum->slow, &q->slow);
}

/* The part of a histogram from the class of `ns` on. */
static struct latency latency_from(const struct latency *h, double ns)
{
	struct latency from = {.max = (double)h->max >= ns ? h->max : 0};
	size_t i;

	for (i = class_of((uint64_t)ns); i < LATENCY_CLASSES; i++) {
		from.class[i] = h->class[i];
		from.n += h->class[i];
	}
	return from;
}

void requests_settle(struct requests *sum)
{
	struct stalls *slow = &sum->slow;
	const int n = slow->kept;
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		sum->stalled[i] = latency_from(&sum->wait[i], stall_from(sum, (enum stall_place)i));
	for (i = slow->kept = 0; i < n; i++)
		if ((double)slow->first[i].ns >=
		    stall_from(sum, (enum stall_place)slow->first[i].place))
			slow->first[slow->kept++] = slow->first[i];
}

void requests_settle_open(struct requests *sum, const struct requests *q)
{
	bool stalled = false;
	int i;

	for (i = 0; i < STALL_PLACES && q->open > 0; i++)
		stalled |= (double)q->open_wait.ns[i] >= stall_from(sum, (enum stall_place)i);
	sum->open_stalled += stalled;
}

uint64_t requests_stalled(const struct requests *q)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		n += q->stalled[i].n;
	return n < q->latency[TOTAL].n ? n : q->latency[TOTAL].n;
}

void requests_figures(struct requests *q)
{
	const struct latency *h = &q->latency[TOTAL];
	struct request_figures *f = &q->host.requests;
	int i;

	f->n = (double)h->n;
	f->stalled = (double)requests_stalled(q);
	f->p50 = percentile_us(h, 0.5);
	f->p99 = percentile_us(h, 0.99);
	f->p999 = percentile_us(h, 0.999);
	for (i = 0, f->failed = 0; i < FAILURES; i++)
		f->failed += (double)q->failed[i];
}

/*
 * The text.
 */

static const char *const place_name[] = {"connecting", "before the first byte",
					 "after the first byte"};
static const char *const place_key[] = {"connecting", "first_byte", "data"};
static const char *const latency_name[] = {"connect, ms", "first byte, ms", "total, ms"};
static const char *const latency_key[] = {"connect", "first_byte", "total"};

static const char *noun(const struct requests *q)
{
	return q->kept ? "request" : "connection";
}

/* Seconds in ms, of three digits: a percentile is no more exact. */
static const char *ms_text(double seconds)
{
	const double ms = 1000 * seconds;

	return text_of("%.*f", ms < 10 ? 3 : ms < 100 ? 1 : 0, ms);
}

/* What this host did, before what the network may have done. */
static void evidence_text(const struct requests *q)
{
	const double steal = q->host.host.rates.cpu[CPU_STEAL];

	pauses_text(&q->pauses);
	if (steal > STEAL_SHOWN)
		report("    the hypervisor took %.1f%% of the CPU time\n", 100 * steal);
	if (!isnan(q->tcp.retransmits + q->tcp.syn_retransmits))
		report("    this host retransmitted %.0f segment%s, of which SYNs: %.0f\n",
		       q->tcp.retransmits, plural((uint64_t)q->tcp.retransmits),
		       q->tcp.syn_retransmits);
}

static void stalls_text(const struct requests *q, bool brief)
{
	const uint64_t stalled = requests_stalled(q), n = q->latency[TOTAL].n;
	const struct stall *s = q->slow.first;
	const struct latency *h;
	int i;

	if (stalled == 0)
		return;
	report("  STALLED: %" PRIu64 " of %" PRIu64 " %ss, %.3g%%\n", stalled, n, noun(q),
	       100 * (double)stalled / (double)n);
	if (brief)
		return;
	evidence_text(q);
	for (i = 0, h = q->stalled; i < STALL_PLACES; i++, h++)
		if (h->n > 0)
			report("    %s: %" PRIu64 ", median %s ms, maximum %s ms\n", place_name[i],
			       h->n, ms_text(latency_percentile(h, 0.5)),
			       ms_text(latency_percentile(h, 1)));
	for (i = 0; i < q->slow.kept && i < STALLS_FIRST; i++, s++)
		report("    at %.3f s (%s): %s ms %s\n",
		       seconds_between(q->slow.start_ns, s->at_ns), time_text(s->at_ns, ""),
		       ms_text((double)s->ns / 1e9), place_name[s->place]);
}

static const struct {
	const char *name, *key;
	double share;
} percentile[] = {{"p50", "p50", 0.5},
		  {"p90", "p90", 0.9},
		  {"p99", "p99", 0.99},
		  {"p99.9", "p999", 0.999},
		  {"max", "max", 1}};

#define PERCENTILES (sizeof(percentile) / sizeof(percentile[0]))

static void latencies_text(const struct latency *h)
{
	size_t k;
	int i;

	if (h[TOTAL].n == 0)
		return;
	for (i = -1; i < LATENCIES; i++) { /* first the titles */
		if (i >= 0 && h[i].n == 0)
			continue;
		report("%-18s", i < 0 ? "  latency" : text_of("    %s", latency_name[i]));
		for (k = 0; k < PERCENTILES; k++)
			report(" %11s",
			       i < 0 ? percentile[k].name
				     : ms_text(latency_percentile(&h[i], percentile[k].share)));
		report("\n");
	}
}

/*
 * Whether no request stalled, and a stall would have been seen: if the network's delay is more than a fifth of
 * 40 ms, a wait of 40 ms does not count as a stall.
 */
static bool none_stalled(const struct requests *q)
{
	const struct latency *h = &q->latency[q->kept ? TOTAL : CONNECT];

	return q->latency[TOTAL].n > 0 && requests_stalled(q) == 0 && q->open_stalled == 0 &&
	       q->failed[FAIL_TIMEOUT] == 0 && latency_percentile(h, 0.5) <= 0.008;
}

/* Prints the load behind the first line if the report is that line, else below it. */
static void host_text(const struct requests *q, bool quiet)
{
	const uint64_t connections = q->latency[TOTAL].n;
	const struct figures *f = &q->host;
	const struct load *l = &f->host;
	const char *load = load_format(f);
	struct wrap line = {.width = WRAP_WIDTH, .indent = "  "};

	if (load[0] != '\0')
		report(quiet ? ", " : "\n");
	if (quiet)
		report("%s", load);
	else if (load[0] != '\0')
		wrap_text(&line, text_of("  %s", load));
	if (!isnan(l->load))
		report(", %s us/%s", cost_each_text(f, (double)connections), noun(q));
	if (!isnan(l->load) && l->baseline == BASELINE_OWN && !quiet) {
		report("\n");
		line.column = 0;
		wrap_add(&line, "", "  %s", baselines_format(l));
		groups_add(&line, f);
	}
	report("\n");
}

void requests_text(const struct requests *q, bool headings, bool quiet)
{
	const double kib = (double)q->host.bytes / 1024, seconds = q->host.seconds;
	const uint64_t n = q->latency[TOTAL].n;
	int i;

	if (headings && !quiet)
		report("%-16s %11s %15s %16s %17s\n", "requests of", "seconds", "received",
		       "connections", "throughput");
	report("%-16s %9.2f s %11.2f KiB %9.2f %s/s %11.2f KiB/s",
	       text_of("%u byte%s", q->size, plural(q->size)), seconds, kib,
	       per_second((double)n, seconds), q->kept ? "req" : "conn", per_second(kib, seconds));
	host_text(q, quiet);
	if (!quiet)
		latencies_text(q->latency);
	stalls_text(q, quiet);
	if (!quiet && none_stalled(q))
		report("  no %s of %" PRIu64 " stalled\n", noun(q), n);
	if (q->open_stalled > 0 || (q->open > 0 && !quiet))
		report("  open at the end, not counted: %" PRIu64
		       ", the oldest for %.1f ms, stalled: %" PRIu64 "\n",
		       q->open, (double)q->open_longest_ns / 1e6, q->open_stalled);
	for (i = 0; i < FAILURES && !quiet; i++)
		if (q->failed[i] > 0)
			report("  failed: %" PRIu64 " %s\n", q->failed[i],
			       failure_text(q->error[i]));
	if (q->failed_last > 0 && n > 0 && !quiet)
		report("    none of the last %" PRIu64 " succeeded\n", q->failed_last);
}

/*
 * The JSON.
 */

static void latency_json(struct json *j, const char *key, const struct latency *h)
{
	size_t k;

	json_open(j, key, '{');
	for (k = 0; k < PERCENTILES; k++)
		json_number(j, percentile[k].key, latency_percentile(h, percentile[k].share));
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
	stalls_list_json(j, "first", &q->slow, place_key);
	json_close(j, '}');
}

void requests_interval(struct send_report *r, const struct figures *f, double start,
		       uint64_t longest_ns)
{
	const double longest = f->calls > 0 ? (double)longest_ns / 1e9 : NAN;
	const bool comma = r->json.comma, begun = r->intervals.begun;
	struct json *j = &r->json;

	if (r->opt->json) {
		json_open(j, NULL, '{');
		json_timed(j, start, f, 0);
		json_number(j, "seconds", f->seconds);
		json_count(j, "connections", f->calls);
		json_number(j, "longest_seconds", longest);
		json_close(j, '}');
	} else {
		intervals_row(&r->intervals, f, start, true,
			      f->calls > 0 ? text_of("longest %s ms", ms_text(longest)) : "");
	}
	if (!report_row()) {
		j->comma = comma;
		r->intervals.begun = begun;
	}
}

void requests_json(struct json *j, const struct requests *q)
{
	int i;

	json_timed(j, 0, &q->host, IN_REQUESTS);
	json_rows(j, &q->host, IN_CONNECTIONS);
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
	json_count(j, "failed_last", q->failed_last);
	json_netstat(j, &q->tcp);
	json_host(j, "host", &q->host);
	if (q->has_receipt)
		json_host(j, "remote", &q->received);
}

void requests_begin(struct send_report *r, uint32_t size)
{
	struct json *j = &r->json;

	if (r->opt->json == JSON_OBJECTS) {
		json_open(j, NULL, '{');
		json_count(j, "request_bytes", size);
	}
	if (r->opt->json) {
		json_open(j, "intervals", '[');
		report_flush(); /* an interval may be dropped */
	}
}

void requests_report(struct send_report *r, const struct requests *q, bool headings)
{
	struct json *j = &r->json;

	if (!r->opt->json) {
		requests_text(q, headings, r->opt->quiet);
		return;
	}
	json_close(j, ']');
	if (j->stream) { /* its intervals were events */
		json_open(j, "request", '{');
		json_count(j, "request_bytes", q->size);
	}
	requests_json(j, q);
	if (r->repeats)
		json_bool(j, "repeated", true);
	json_close(j, '}');
	report_flush();
}
