#include "lib/send/request_report.h"

#include "lib/report/terms.h"
#include "lib/report/units.h"

static const struct {
	const char *text, *key;
} failure[FAILURES] = {
	[FAIL_REFUSED] = {"refused", "refused"},
	[FAIL_RESET] = {"reset by the server", "reset"},
	[FAIL_PORTS] = {"for lack of local ports", "no_ports"},
	[FAIL_TIMEOUT] = {"timed out", "timeout"},
	[FAIL_LENGTH] = {"with another length than asked for", "wrong_length"},
	[FAIL_OTHER] = {"for another reason", "other"},
};

enum failure failure_of(int error)
{
	switch (error) {
	case ECONNREFUSED: return FAIL_REFUSED;
	case ECONNRESET:
	case EPIPE: return FAIL_RESET;
	case EADDRNOTAVAIL:
	case EADDRINUSE: return FAIL_PORTS;
	case ETIMEDOUT:
	case EAGAIN: return FAIL_TIMEOUT;
	case EMSGSIZE: return FAIL_LENGTH;
	default: return FAIL_OTHER;
	}
}

const char *failure_text(int error, char buf[128])
{
	const enum failure kind = failure_of(error);

	if (kind != FAIL_OTHER)
		return failure[kind].text;
	snprintf(buf, 128, "%s: %s", failure[kind].text, strerror(error));
	return buf;
}

static void report_latency(const char *name, const struct latency *h)
{
	if (h->n > 0)
		report("  %-14s %10.3f %10.3f %10.3f %10.3f\n", name,
		       1000 * latency_percentile(h, 0.5), 1000 * latency_percentile(h, 0.9),
		       1000 * latency_percentile(h, 0.99), (double)h->max / 1e6);
}

/* A few stalls explain why there are 50 connections a second instead of thousands. */
static void report_stalls(const struct requests *q)
{
	if (q->stalled == 0)
		return;
	report("  STALLED: %" PRIu64 " of %" PRIu64
	       " waited for data, median %.1f ms, longest %.1f ms, "
	       "%s the first byte\n",
	       q->stalled, q->total.n, 1000 * latency_percentile(&q->stall, 0.5),
	       (double)q->stall.max / 1e6, 2 * q->stalled_first > q->stalled ? "before" : "after");
	report("           a delayed acknowledgement takes 40 ms or more, "
	       "a retransmission 200 ms or more\n");
}

/* The first line is as in 1999. */
static void requests_text(const struct send_options *opt, uint32_t size, const struct requests *q,
			  const struct figures *host)
{
	const double seconds = host->seconds, kbytes = (double)q->bytes / 1024;
	char load[128], name[32], other[128];
	int i;

	snprintf(name, sizeof(name), "%u bytes", size);
	report("%-16s %10.2fs %12.2fkb %10.2fc/s %12.2fkb/s%s\n", name, seconds, kbytes,
	       per_second(q->total.n, seconds), seconds > 0 ? kbytes / seconds : 0,
	       load_format(host, load));
	if (opt->quiet)
		return;
	if (q->total.n > 0)
		report("  %-14s %10s %10s %10s %10s\n", "ms", "p50", "p90", "p99", "max");
	report_latency("connect", &q->connect);
	report_latency("first byte", &q->first);
	report_latency("total", &q->total);
	report_stalls(q);
	for (i = 0; i < FAILURES; i++)
		if (q->failed[i] > 0)
			report("  failed: %" PRIu64 " %s\n", q->failed[i],
			       i == FAIL_OTHER ? failure_text(q->other_errno, other)
					       : failure[i].text);
}

static void json_latency(struct json *j, const char *key, const struct latency *h)
{
	json_open(j, key, '{');
	json_number(j, "p50", latency_percentile(h, 0.5));
	json_number(j, "p90", latency_percentile(h, 0.9));
	json_number(j, "p99", latency_percentile(h, 0.99));
	if (h->n > 0)
		json_number(j, "max", (double)h->max / 1e9);
	json_close(j, '}');
}

static void requests_json(struct json *j, uint32_t size, const struct requests *q,
			  const struct figures *host)
{
	int i;

	json_open(j, NULL, '{');
	json_count(j, "request_bytes", size);
	json_throughput(j, 0, host->seconds, q->bytes);
	json_count(j, "connections", q->total.n);
	json_number(j, "connections_per_second", per_second(q->total.n, host->seconds));
	json_open(j, "latency_seconds", '{');
	json_latency(j, "connect", &q->connect);
	json_latency(j, "first_byte", &q->first);
	json_latency(j, "total", &q->total);
	json_close(j, '}');
	json_open(j, "stalls", '{');
	json_count(j, "connections", q->stalled);
	json_count(j, "before_first_byte", q->stalled_first);
	json_latency(j, "seconds", &q->stall);
	json_close(j, '}');
	json_open(j, "failed", '{');
	for (i = 0; i < FAILURES; i++)
		json_count(j, failure[i].key, q->failed[i]);
	json_close(j, '}');
	json_host(j, "host", host);
	json_close(j, '}');
}

void requests_report(struct send_report *r, uint32_t size, const struct requests *q,
		     const struct figures *host)
{
	if (r->opt->json)
		requests_json(&r->json, size, q, host);
	else
		requests_text(r->opt, size, q, host);
}

void requests_report_end(struct send_report *r, const char *error)
{
	if (!r->opt->json)
		return;
	json_close(&r->json, ']');
	json_report_close(&r->json, error);
}

void requests_progress(struct send_report *r, uint32_t size, uint64_t done)
{
	fprintf(stderr, "\r%u bytes: %" PRIu64 " connections\033[K", size, done);
	r->has_progress = true;
}
