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

uint64_t latency_count(const struct latency *h, double from_ns, double to_ns)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < LATENCY_CLASSES; i++)
		if (class_middle(i) >= from_ns && class_middle(i) < to_ns)
			n += h->class[i];
	return n;
}

void latency_drop_below(struct latency *h, double ns)
{
	size_t i;

	for (i = 0; i < LATENCY_CLASSES && class_middle(i) < ns; i++) {
		h->n -= h->class[i];
		h->class[i] = 0;
	}
	if (h->n == 0)
		h->max = 0;
}

/*
 * Stalls.
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

static bool waited_for_data(const struct wait *w)
{
	return w->longest_ns >= STALL_NS && w->longest_ns >= STALL_CONNECT * w->connect_ns;
}

enum stall_place stall_of(const struct wait *w)
{
	if (waited_for_data(w))
		return w->before_first ? STALL_FIRST_BYTE : STALL_DATA;
	return w->connect_ns >= STALL_CONNECT_NS ? STALL_CONNECTING : STALL_PLACES;
}

void stalls_add(struct stalls *s, const struct wait *w)
{
	const enum stall_place place = stall_of(w);

	if (place != STALL_PLACES)
		latency_add(&s->at[place],
			    place == STALL_CONNECTING ? w->connect_ns : w->longest_ns);
}

void stalls_add_open(struct stalls *s, const struct wait *w, uint64_t age_ns)
{
	s->open++;
	s->open_stalled += stall_of(w) != STALL_PLACES;
	if (age_ns > s->open_longest_ns)
		s->open_longest_ns = age_ns;
}

void stalls_merge(struct stalls *sum, const struct stalls *s)
{
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		latency_merge(&sum->at[i], &s->at[i]);
	sum->open += s->open;
	sum->open_stalled += s->open_stalled;
	if (s->open_longest_ns > sum->open_longest_ns)
		sum->open_longest_ns = s->open_longest_ns;
}

void stalls_settle(struct stalls *s, const struct latency *connects)
{
	if (connects->n > 0)
		latency_drop_below(&s->at[STALL_CONNECTING],
				   1e9 * STALL_CONNECT * latency_percentile(connects, 0));
}

uint64_t stalls_count(const struct stalls *s)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		n += s->at[i].n;
	return n;
}

/*
 * Failures.
 */

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

int failure_of(int e)
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

void requests_add(struct requests *sum, const struct requests *r)
{
	int i;

	sum->bytes += r->bytes;
	for (i = 0; i < FAILURES; i++) {
		sum->failed[i] += r->failed[i];
		if (r->error[i] != 0)
			sum->error[i] = r->error[i];
	}
	for (i = 0; i < LATENCIES; i++)
		latency_merge(&sum->latency[i], &r->latency[i]);
	stalls_merge(&sum->stalls, &r->stalls);
}

/*
 * The text.
 */

static const char *const place_name[] = {"connecting", "before the first byte",
					 "after the first byte"};
static const char *const place_key[] = {"connecting", "first_byte", "data"};
static const char *const latency_name[] = {"connect, ms", "first byte, ms", "total, ms"};
static const char *const latency_key[] = {"connect", "first_byte", "total"};

/* A share in percent, with the digits that tell it from 0 and from all. */
static const char *share_text(uint64_t part, uint64_t all, char buf[16])
{
	const double p = 100 * (double)part / (double)all;
	int digits = p < 0.1 ? 4 : p < 10 ? 1 : 0;
	double shown;

	do {
		snprintf(buf, 16, "%.*f%%", digits, p);
		shown = strtod(buf, NULL);
	} while (digits++ < 9 && ((shown <= 0 && part > 0) || (shown >= 100 && part < all)));
	return buf;
}

/* One stall has one time; several have a median and a maximum. */
static void place_text(const char *name, const struct latency *h)
{
	if (h->n == 1)
		report("    %s: 1, %.1f ms\n", name, (double)h->max / 1e6);
	else if (h->n > 1)
		report("    %s: %" PRIu64 ", median %.1f ms, maximum %.1f ms\n", name, h->n,
		       1000 * latency_percentile(h, 0.5), (double)h->max / 1e6);
}

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
static void hints_text(const struct stalls *s)
{
	const struct latency *first = &s->at[STALL_FIRST_BYTE], *data = &s->at[STALL_DATA];
	const uint64_t delayed = latency_count(first, 36e6, 60e6) + latency_count(data, 36e6, 60e6);
	const uint64_t resent = latency_count(first, 190e6, INFINITY) +
				latency_count(data, 190e6, INFINITY);

	hint_text("1 s or more", s->at[STALL_CONNECTING].n,
		  "a lost SYN, or a server whose accept queue is full");
	hint_text("40 to 60 ms", delayed, "a delayed acknowledgement, if not a busy server");
	hint_text("200 ms or more", resent, "a retransmission, or a busy or stopped server");
	hint_text("other times", first->n + data->n - delayed - resent,
		  "a server or a CPU that was busy or stopped");
}

static void evidence_text(const struct stall_evidence *e)
{
	const struct netstat *t = &e->tcp;

	if (!isnan(t->retransmits + t->syn_retransmits))
		report("    this host retransmitted %.0f segment%s, of which SYNs: %.0f\n",
		       t->retransmits, plural((uint64_t)t->retransmits), t->syn_retransmits);
	if (e->pauses.n > 0)
		report("    zcc itself was stopped or waited for a CPU: %" PRIu64
		       " time%s, maximum %.1f ms\n",
		       e->pauses.n, plural(e->pauses.n), (double)e->pauses.longest_ns / 1e6);
	if (e->steal > STEAL_SHOWN)
		report("    the host of this virtual machine took %.1f%% of the CPU time\n",
		       100 * e->steal);
}

static void stalls_text(const struct stalls *s, uint64_t n, const struct stall_evidence *e,
			bool brief)
{
	const uint64_t stalled = stalls_count(s);
	char share[16];
	int i;

	if (stalled == 0)
		return;
	report("  STALLED: %" PRIu64 " of %" PRIu64 " connections, %s\n", stalled, n,
	       share_text(stalled, n, share));
	if (brief)
		return;
	for (i = 0; i < STALL_PLACES; i++)
		place_text(place_name[i], &s->at[i]);
	hints_text(s);
	evidence_text(e);
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
	return q->latency[TOTAL].n > 0 && stalls_count(&q->stalls) == 0 &&
	       q->stalls.open_stalled == 0 && q->failed[FAIL_TIMEOUT] == 0 &&
	       latency_percentile(&q->latency[CONNECT], 0.5) <= 0.008;
}

static void open_text(const struct stalls *s)
{
	if (s->open == 0)
		return;
	report("  open at the end, not counted: %" PRIu64 ", the oldest for %.1f ms", s->open,
	       (double)s->open_longest_ns / 1e6);
	if (s->open_stalled > 0)
		report(", stalled: %" PRIu64, s->open_stalled);
	report("\n");
}

/* Prints the load behind the first line if the report is that line, else below it. */
static void host_text(const struct figures *f, uint64_t connections, bool quiet)
{
	const struct load *l = &f->host;
	char text[LOAD_STRLEN], cost[FIGURE_STRLEN], reasons[UNSAFE_STRLEN];

	if (!isnan(l->load))
		report("%s%s", quiet ? ", " : "\n  ", load_format(f, text));
	else if (l->unsafe != 0 && !quiet)
		report("\n  no load: %s", limits_format(l->unsafe, reasons));
	if (!isnan(figures_cost_each(f, connections)))
		report(", %s us/connection",
		       cost_text(figures_cost_each(f, (double)connections), NAN, l->unsafe, cost));
	if (!isnan(l->load) && l->baseline == BASELINE_OWN && !quiet)
		report("\n  %s", baselines_format(l->drift, text));
	report("\n");
}

void requests_headings(void)
{
	report("%-16s %11s %15s %16s %17s\n", "requests of", "seconds", "received", "connections",
	       "throughput");
}

void requests_text(uint32_t size, const struct requests *q, const struct stall_evidence *e,
		   const struct figures *host, bool quiet)
{
	const double kib = (double)q->bytes / 1024, seconds = host->seconds;
	const uint64_t n = q->latency[TOTAL].n;
	char text[128];
	int i;

	snprintf(text, sizeof(text), "%u byte%s", size, plural(size));
	report("%-16s %10.2fs %12.2fKiB %10.2fconn/s %12.2fKiB/s", text, seconds, kib,
	       per_second((double)n, seconds), per_second(kib, seconds));
	host_text(host, n, quiet);
	if (!quiet)
		latencies_text(q->latency);
	stalls_text(&q->stalls, n, e, quiet);
	if (!quiet && none_stalled(q))
		report("  no connection of %" PRIu64 " stalled\n", n);
	if (!quiet || q->stalls.open_stalled > 0)
		open_text(&q->stalls);
	if (quiet)
		return;
	for (i = 0; i < FAILURES; i++)
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

static void place_json(struct json *j, const char *key, const struct latency *h)
{
	json_open(j, key, '{');
	json_count(j, "connections", h->n);
	latency_json(j, "seconds", h);
	json_close(j, '}');
}

static void stalls_json(struct json *j, const struct stalls *s, const struct stall_evidence *e)
{
	struct latency all = {.n = 0};
	int i;

	for (i = 0; i < STALL_PLACES; i++)
		latency_merge(&all, &s->at[i]);
	json_open(j, "stalls", '{');
	json_count(j, "connections", all.n);
	json_count(j, "before_first_byte", s->at[STALL_FIRST_BYTE].n);
	latency_json(j, "seconds", &all);
	for (i = 0; i < STALL_PLACES; i++)
		place_json(j, place_key[i], &s->at[i]);
	json_open(j, "pauses", '{');
	json_count(j, "count", e->pauses.n);
	json_number(j, "max", (double)e->pauses.longest_ns / 1e9);
	json_close(j, '}');
	json_close(j, '}');
}
void requests_json(struct json *j, uint32_t size, const struct requests *q,
		   const struct stall_evidence *e, const struct figures *host)
{
	const uint64_t n = q->latency[TOTAL].n;
	int i;

	json_open(j, NULL, '{');
	json_count(j, "request_bytes", size);
	json_timed(j, 0, host, IN_REQUESTS);
	json_count(j, "connections", n);
	json_number(j, "connections_per_second", per_second((double)n, host->seconds));
	json_number(j, "cost_us_per_connection", figures_cost_each(host, (double)n));
	json_open(j, "latency_seconds", '{');
	for (i = 0; i < LATENCIES; i++)
		latency_json(j, latency_key[i], &q->latency[i]);
	json_close(j, '}');
	stalls_json(j, &q->stalls, e);
	json_count(j, "open_at_end", q->stalls.open);
	json_count(j, "open_at_end_stalled", q->stalls.open_stalled);
	json_number(j, "open_at_end_seconds",
		    q->stalls.open > 0 ? (double)q->stalls.open_longest_ns / 1e9 : NAN);
	json_open(j, "failed", '{');
	for (i = 0; i < FAILURES; i++)
		json_count(j, failure[i].key, q->failed[i]);
	json_close(j, '}');
	json_netstat(j, &e->tcp);
	json_host(j, "host", host);
	json_close(j, '}');
}
