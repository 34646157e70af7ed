#include "lib/report/terms.h"

#include <sys/utsname.h>

#include "lib/net/socket.h"

void json_program(struct json *j, const struct environment *e, const struct link *link)
{
	json_program_at(j, e, link, time(NULL));
}

void json_program_at(struct json *j, const struct environment *e, const struct link *link,
		     time_t began)
{
	struct utsname u;
	char system[sizeof(u)], text[64];
	struct tm tm;

	json_string(j, "version", "zc " VERSION);
	uname(&u);
	snprintf(system, sizeof(system), "%s %s %s %s", u.sysname, u.nodename, u.release,
		 u.machine);
	json_string(j, "system_info", system);
	json_open(j, "timestamp", '{');
	gmtime_r(&began, &tm);
	strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	json_string(j, "time", text);
	json_count(j, "timesecs", (uint64_t)began);
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

static void json_figure(struct json *j, const struct figure *row, const struct figures *f)
{
	static const char *const baseline[] = {[BASELINE_FILE] = "file",
					       [BASELINE_OWN] = "bracket",
					       [BASELINE_IDLE] = "idle",
					       [BASELINE_NONE] = "none"};
	const void *member = figure_member(row, f);

	switch (row->kind) {
	case FIGURE_COUNT: json_count(j, row->key, *(const uint64_t *)member); break;
	case FIGURE_REASONS: json_unsafe(j, f->host.unsafe); break;
	case FIGURE_BASELINE:
		if (f->host.baseline != BASELINE_UNKNOWN)
			json_string(j, row->key, baseline[f->host.baseline]);
		break;
	case FIGURE_WORD:
	case FIGURE_NAME:
		if (*(const char *)member != '\0')
			json_string(j, row->key, member);
		break;
	default: json_number(j, row->key, figure_factor(row) * figure_value(row, f));
	}
}

void json_rows(struct json *j, const struct figures *f, unsigned objects)
{
	const struct figure *row;

	for (row = figure_table; row < figure_table + figure_rows; row++)
		if (row->objects & objects)
			json_figure(j, row, f);
}

void json_timed(struct json *j, double start, const struct figures *f, unsigned objects)
{
	json_number(j, "start", start);
	json_number(j, "end", start + f->seconds);
	json_rows(j, f, objects);
}

void json_stream(struct json *j, const char *key, const struct figures *f, int stream, bool sender)
{
	json_open(j, key, '{');
	if (stream > 0)
		json_count(j, "socket", (uint64_t)stream);
	json_timed(j, 0, f, sender ? IN_SENDER : IN_RECEIVER);
	json_bool(j, "sender", sender);
	json_close(j, '}');
}

void json_accounting(struct json *j, const struct figures *f)
{
	json_open(j, "accounting_percent", '{');
	json_rows(j, f, IN_ACCOUNTING);
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
	json_rows(j, f, IN_HOST);
	json_accounting(j, f);
	environment_json_remote(j, f);
	json_close(j, '}');
}

/* The load and two columns of one end, whose keys begin with its name. */
static void json_shares(struct json *j, const char *end, const struct load *l)
{
	const double share[] = {l->load, l->rates.cpu[CPU_USER], l->rates.cpu[CPU_SYSTEM]};
	static const char *const name[] = {"total", "user", "system"};
	char key[32];
	int i;

	for (i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "%s_%s", end, name[i]);
		json_number(j, key, 100 * share[i]);
	}
}

void json_utilization(struct json *j, const struct figures *host, const struct figures *remote)
{
	json_open(j, "cpu_utilization_percent", '{');
	json_shares(j, "host", &host->host);
	if (remote != NULL)
		json_shares(j, "remote", &remote->host);
	json_close(j, '}');
}
