#include "lib/report/terms.h"

#include <sys/utsname.h>

#include "lib/net/socket.h"
#include "lib/report/units.h"

void json_program(struct json *j, const struct environment *e, const struct link *link)
{
	struct utsname u;
	char system[sizeof(u)], text[64];
	time_t now = time(NULL);
	struct tm tm;

	json_string(j, "version", "zc " VERSION);
	uname(&u);
	snprintf(system, sizeof(system), "%s %s %s %s", u.sysname, u.nodename, u.release,
		 u.machine);
	json_string(j, "system_info", system);
	json_open(j, "timestamp", '{');
	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	json_string(j, "time", text);
	json_count(j, "timesecs", (uint64_t)now);
	json_close(j, '}');
	environment_json(j, e, link);
}

void json_address(struct json *j, const char *host_key, const char *port_key,
		  const struct sockaddr_storage *addr)
{
	char host[HOST_STRLEN], port[PORT_STRLEN];

	if (!addr_split((const struct sockaddr *)addr, sizeof(*addr), host, port))
		return;
	json_string(j, host_key, host);
	json_count(j, port_key, strtoull(port, NULL, 10));
}

void json_addresses(struct json *j, int fd, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0)
		json_address(j, "local_host", "local_port", &ss);
	json_address(j, "remote_host", "remote_port", peer);
}

static void json_amount(struct json *j, double start, double seconds, uint64_t bytes)
{
	json_number(j, "start", start);
	json_number(j, "end", start + seconds);
	json_number(j, "seconds", seconds);
	json_count(j, "bytes", bytes);
}

void json_throughput(struct json *j, double start, double seconds, uint64_t bytes)
{
	json_amount(j, start, seconds, bytes);
	json_number(j, "bits_per_second", seconds > 0 ? (double)bytes * 8 / seconds : 0);
}

void json_stream(struct json *j, const char *key, const struct figures *f, int stream, bool sender)
{
	const struct tcp_figures *t = &f->tcp;

	json_open(j, key, '{');
	if (stream > 0)
		json_count(j, "socket", (uint64_t)stream);
	if (f->cut)
		json_amount(j, 0, f->seconds, f->bytes);
	else
		json_throughput(j, 0, f->seconds, f->bytes);
	json_count(j, "warmup_bytes", f->warmup);
	json_count(j, "files", f->files);
	json_count(j, "calls", f->calls);
	if (f->method[0] != '\0')
		json_string(j, "method", f->method);
	json_number(j, "cpu", f->cpu);
	if (sender)
		json_number(j, "retransmits", t->retransmits);
	if (stream > 0 && sender) {
		json_number(j, "snd_cwnd", t->cwnd);
		json_number(j, "rtt", t->rtt);
		json_number(j, "rttvar", t->rttvar);
		json_number(j, "min_rtt", t->min_rtt);
		json_number(j, "pmtu", t->pmtu);
		json_number(j, "snd_mss", t->mss);
		json_number(j, "delivery_rate", t->delivery_rate * 8);
		json_number(j, "busy_time", t->busy);
		json_number(j, "rwnd_limited", t->rwnd_limited);
		json_number(j, "sndbuf_limited", t->sndbuf_limited);
	} else if (stream > 0) {
		json_number(j, "rcv_rtt", t->rcv_rtt);
		json_number(j, "rcv_mss", t->rcv_mss);
		json_number(j, "rcv_ooopack", t->rcv_ooo);
	}
	json_bool(j, "sender", sender);
	json_close(j, '}');
}

void json_accounting(struct json *j, const struct rates *r)
{
	int i;

	json_open(j, "accounting_percent", '{');
	for (i = 0; i < CPU_COLUMNS; i++)
		json_number(j, cpu_column[i], 100 * r->cpu[i]);
	json_close(j, '}');
}

void json_unsafe(struct json *j, unsigned unsafe)
{
	int i;

	if (unsafe == 0)
		return;
	json_open(j, "unsafe", '[');
	for (i = 0; i < UNSAFE_REASONS; i++)
		if (unsafe & 1u << i)
			json_string(j, NULL, limits_name(i));
	json_close(j, ']');
}

void json_load(struct json *j, const struct figures *f)
{
	static const char *const baseline[] = {[BASELINE_FILE] = "file",
					       [BASELINE_OWN] = "bracket",
					       [BASELINE_IDLE] = "idle",
					       [BASELINE_NONE] = "none"};

	json_number(j, "cpus", f->host.cpus);
	json_number(j, "load_percent", 100 * f->host.load);
	json_number(j, "load_uncertainty_percent", 100 * f->host.uncertainty);
	if (f->host.instrument[0] != '\0')
		json_string(j, "instrument", f->host.instrument);
	json_unsafe(j, f->host.unsafe);
	if (isnan(f->host.load) && f->no_load[0] != '\0')
		json_string(j, "no_load", f->no_load);
	json_number(j, "tasks_percent", 100 * f->host.tasks);
	json_number(j, "slowed_percent", 100 * f->host.slowed);
	json_number(j, "switches_per_second", f->host.switches);
	json_number(j, "cost_us_per_kib", figures_cost(f));
	json_number(j, "cost_uncertainty_us_per_kib", figures_cost_uncertainty(f));
	json_number(j, "interrupts_per_second", f->host.rates.interrupts);
	json_number(j, "packets_in_per_second", f->host.rates.packets_in);
	json_number(j, "packets_out_per_second", f->host.rates.packets_out);
	json_number(j, "softnet_dropped", f->host.rates.softnet_dropped);
	json_number(j, "softnet_squeezed", f->host.rates.softnet_squeezed);
	if (f->host.baseline != BASELINE_UNKNOWN)
		json_string(j, "baseline", baseline[f->host.baseline]);
	json_number(j, "baseline_tasks_percent", 100 * f->host.others);
	json_number(j, "drift_percent", percent(f->host.drift));
}

static void count_if_known(struct json *j, const char *key, uint64_t value)
{
	if (value != COUNTER_UNKNOWN)
		json_count(j, key, value);
}

void json_netstat(struct json *j, const struct netstat *n)
{
	json_open(j, "host_tcp", '{');
	count_if_known(j, "retransmits", n->retransmits);
	count_if_known(j, "syn_retransmits", n->syn_retransmits);
	count_if_known(j, "timeouts", n->timeouts);
	count_if_known(j, "listen_overflows", n->overflows);
	json_close(j, '}');
}

void json_host(struct json *j, const char *key, const struct figures *f)
{
	json_open(j, key, '{');
	json_load(j, f);
	json_accounting(j, &f->host.rates);
	environment_json_remote(j, f);
	json_close(j, '}');
}

void json_utilization(struct json *j, const struct figures *host, const struct figures *remote)
{
	json_open(j, "cpu_utilization_percent", '{');
	json_number(j, "host_total", 100 * host->host.load);
	json_number(j, "host_user", 100 * host->host.rates.cpu[CPU_USER]);
	json_number(j, "host_system", 100 * host->host.rates.cpu[CPU_SYSTEM]);
	if (remote != NULL) {
		json_number(j, "remote_total", 100 * remote->host.load);
		json_number(j, "remote_user", 100 * remote->host.rates.cpu[CPU_USER]);
		json_number(j, "remote_system", 100 * remote->host.rates.cpu[CPU_SYSTEM]);
	}
	json_close(j, '}');
}
