#include "lib/send/report_json.h"

#include "lib/report/units.h"
#include "lib/send/sender.h"

/* The settings of a test; of requests, where `res` is NULL, only those that they have. */
static void json_test_start(struct json *j, const struct send_options *opt,
			    const struct send_result *res)
{
	json_open(j, "test_start", '{');
	json_string(j, "protocol",
		    res == NULL ? "requests over TCP"
		    : opt->raw  ? "raw TCP"
				: "TCP");
	json_count(j, "num_streams", (uint64_t)opt->streams);
	if (res != NULL) {
		json_count(j, "blksize", res->chunk);
		json_number(j, "omit", opt->warmup);
	}
	json_number(j, "duration", opt->seconds);
	if (res != NULL) {
		json_string(j, "method", opt->method->name);
		json_bool(j, "cork", opt->cork);
		json_bool(j, "nodelay", opt->nodelay);
		json_count(j, "fqrate", opt->pace * 8);
		json_count(j, "files", res->set->n);
		json_count(j, "file_bytes", res->set->bytes);
		json_bool(j, "builtin_files", res->set->builtin);
	}
	json_close(j, '}');
}

/* The local and the remote address of each connection. */
static void json_connected(struct json *j, const struct send_options *opt,
			   const struct send_result *res)
{
	int i;

	json_open(j, "connected", '[');
	for (i = 0; i < opt->streams; i++) {
		json_open(j, NULL, '{');
		json_count(j, "socket", (uint64_t)i + 1);
		json_address(j, "local_host", "local_port", &res->stream[i].local);
		json_address(j, "remote_host", "remote_port", &res->target->addr);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void json_start(struct json *j, const struct send_options *opt, const struct environment *e,
		const struct link *link, const struct send_result *res)
{
	json_report_open(j);
	if (opt->title != NULL)
		json_string(j, "title", opt->title);
	json_open(j, "start", '{');
	if (res != NULL)
		json_connected(j, opt, res);
	json_program(j, e, link);
	json_open(j, "connecting_to", '{');
	json_string(j, "host", opt->server);
	json_count(j, "port", strtoull(opt->port, NULL, 10));
	json_close(j, '}');
	if (res != NULL) {
		json_count(j, "tcp_mss_default", (uint64_t)res->mss);
		json_count(j, "sndbuf_actual", (uint64_t)res->sndbuf);
		json_count(j, "rcvbuf_actual", (uint64_t)res->rcvbuf);
		json_string(j, "interface", res->target->interface);
	}
	json_test_start(j, opt, res);
	json_close(j, '}');
	json_open(j, res != NULL ? "intervals" : "requests", '[');
}

void json_interval(struct json *j, const struct figures *f, int stream, double start, bool measured)
{
	json_open(j, stream > 0 ? NULL : "sum", '{');
	if (stream > 0)
		json_count(j, "socket", (uint64_t)stream);
	json_throughput(j, start, f->seconds, f->bytes);
	json_number(j, "retransmits", f->tcp.retransmits);
	json_number(j, "snd_cwnd", f->tcp.cwnd);
	json_number(j, "rtt", f->tcp.rtt);
	json_number(j, "rttvar", f->tcp.rttvar);
	json_number(j, "pmtu", f->tcp.pmtu);
	json_number(j, "load_percent", 100 * f->host.load);
	json_unsafe(j, f->host.unsafe);
	json_number(j, "cost_us_per_kib", figures_cost(f));
	json_bool(j, "omitted", !measured);
	json_bool(j, "sender", true);
	json_close(j, '}');
}

static void json_streams(struct json *j, const struct stream_result *s, int streams)
{
	int i;

	json_open(j, "streams", '[');
	for (i = 0; i < streams; i++, s++) {
		json_open(j, NULL, '{');
		json_stream(j, "sender", &s->sent, i + 1, true);
		if (s->has_receipt)
			json_stream(j, "receiver", &s->received, i + 1, false);
		if (s->has_zerocopy) {
			json_count(j, "zerocopy_sends", s->zerocopy.sends);
			json_count(j, "zerocopy_copied", s->zerocopy.copied);
			json_count(j, "zerocopy_incomplete", s->zerocopy.incomplete);
		}
		json_close(j, '}');
	}
	json_close(j, ']');
}

void json_end(struct json *j, const struct send_options *opt, const struct send_result *res)
{
	const struct figures *remote = res->receipts > 0 ? &res->received : NULL;
	const struct cpu_result *c;

	json_open(j, "end", '{');
	json_streams(j, res->stream, opt->streams);
	json_stream(j, "sum_sent", &res->sent, 0, true);
	if (remote != NULL)
		json_stream(j, "sum_received", remote, 0, false);
	json_utilization(j, &res->sent, remote);
	json_string(j, "sender_tcp_congestion", res->congestion);
	if (opt->sock.mptcp)
		json_bool(j, "mptcp", res->mptcp);
	json_host(j, "host", &res->sent);
	if (remote != NULL)
		json_host(j, "remote", remote);
	json_open(j, "load_by_cpu", '[');
	for (c = res->cpu; c < res->cpu + res->n_cpus; c++) {
		json_open(j, NULL, '{');
		json_count(j, "cpu", (uint64_t)c->id);
		json_number(j, "load_percent", 100 * c->load.load);
		json_number(j, "load_uncertainty_percent", 100 * c->load.uncertainty);
		json_unsafe(j, c->load.unsafe);
		json_number(j, "cost_us_per_kib",
			    cost_us_per_kib(c->load.load, 1, res->sent.bytes, c->load.seconds));
		json_string(j, "role", c->role);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_bool(j, "both_ends_on_host", res->local);
	if (!opt->raw)
		json_count(j, "receipts", (uint64_t)res->receipts);
	if (res->receipts == opt->streams)
		json_bool(j, "bytes_agree", res->missing == 0);
	json_close(j, '}');
}
