#include "lib/send/request_report.h"

#include "lib/report/terms.h"
#include "lib/report/units.h"

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

static const char *const latency_name[] = {"connect, ms", "first byte, ms", "total, ms"};
static const char *const latency_key[] = {"connect", "first_byte", "total"};

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
static void load_text(const struct figures *host, uint64_t connections, bool quiet)
{
	char text[LOAD_STRLEN], own[BASELINES_STRLEN], reasons[UNSAFE_STRLEN];
	const double us = figures_cost_each(host, connections);

	if (isnan(host->host.load)) {
		if (host->host.unsafe != 0 && !quiet)
			report("\n  no load: %s", limits_format(host->host.unsafe, reasons));
		report("\n");
		return;
	}
	report("%s%s", quiet ? ", " : "\n  ", load_format(host, text));
	if (!isnan(us))
		report(", %.3f%s us/connection", us, unsafe_mark(host->host.unsafe));
	if (host->host.baseline == BASELINE_OWN && !quiet)
		report("\n  %s", baselines_format(host->host.drift, own));
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
	       per_second(n, seconds), seconds > 0 ? kib / seconds : 0);
	load_text(host, n, quiet);
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

void requests_json(struct json *j, uint32_t size, const struct requests *q,
		   const struct stall_evidence *e, const struct figures *host)
{
	const uint64_t n = q->latency[TOTAL].n;
	int i;

	json_open(j, NULL, '{');
	json_count(j, "request_bytes", size);
	json_throughput(j, 0, host->seconds, q->bytes);
	json_count(j, "connections", n);
	json_number(j, "connections_per_second", per_second(n, host->seconds));
	json_number(j, "cost_us_per_connection", figures_cost_each(host, n));
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
