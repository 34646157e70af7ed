#include "lib/report/json.h"

#include "lib/net/socket.h"

/*
 * The writer.
 */

static void json_text(const char *text)
{
	const char *s = text;
	size_t n;

	putchar('"');
	for (; *s != '\0'; s += n > 0 ? n : 1) {
		n = utf8_length(s);
		if (n == 0) /* a file name may have any bytes */
			fputs("\\ufffd", stdout);
		else if (n == 1 && (*s < ' ' || *s == '"' || *s == '\\' || *s == 0x7f))
			printf("\\u%04x", (unsigned char)*s);
		else
			fwrite(s, 1, n, stdout);
	}
	putchar('"');
}

static void json_key(struct json *j, const char *key)
{
	if (j->stream && j->event == 0) {
		printf("{\"schema\":%d,\"event\":\"%.*s\",\"data\":", JSON_SCHEMA,
		       (int)strlen(key != NULL ? key : j->list) - (key == NULL),
		       key != NULL ? key : j->list);
		return;
	}
	if (j->comma)
		putchar(',');
	j->comma = true;
	if (key != NULL) {
		json_text(key);
		putchar(':');
	}
}

/* Ends the line of an event that is whole: a value that stands alone, or a bracket that closes it. */
static void json_event_end(struct json *j)
{
	if (j->stream && (j->event == 0 || j->depth < j->event)) {
		fputs("}\n", stdout);
		j->event = 0;
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	/* In a stream nothing is printed for the report itself, and for its lists. */
	const bool shown = !j->stream || j->event > 0 || (j->depth > 0 && bracket == '{');

	if (shown) {
		json_key(j, key);
		putchar(bracket);
	} else {
		j->list = key;
	}
	j->comma = false;
	j->closing[j->depth++] = bracket == '{' ? '}' : ']';
	if (shown && j->event == 0)
		j->event = j->depth;
}

void json_close(struct json *j, char bracket)
{
	const bool shown = !j->stream || j->event > 0;

	if (shown)
		putchar(bracket);
	j->comma = true;
	j->depth--;
	if (shown)
		json_event_end(j);
}

static const struct json *report_open; /* NULL: none */

/* Stores what would close the report, of which no event is open. */
static void unclosed(char *text, size_t size)
{
	const struct json *j = report_open;
	int i;

	*text = '\0';
	if (j == NULL || j->depth == 0)
		return;
	if (j->stream)
		string_append(text, size,
			      "{\"schema\":%d,\"event\":\"error\",\"data\":", JSON_SCHEMA);
	for (i = j->depth - 1; i > 0 && !j->stream; i--)
		string_append(text, size, "%c", j->closing[i]);
	string_append(text, size, j->stream ? "%s}\n" : ",\"error\":%s}\n", "\"interrupted\"");
}

void json_report_open(struct json *j)
{
	*j = (struct json){.stream = j->stream};
	report_open = j;
	report_closed_by(unclosed);
	json_open(j, NULL, '{');
	if (!j->stream)
		json_count(j, "schema", JSON_SCHEMA);
}

void json_fail(struct json *j, const char *why)
{
	if (j->depth == 0)
		json_report_open(j);
	while (j->depth > 1)
		json_close(j, j->closing[j->depth - 1]);
	json_report_end(j, why);
	(void)report_put(false);
}

void json_number(struct json *j, const char *key, double value)
{
	if (!isfinite(value))
		return;
	json_key(j, key);
	printf("%.12g", value);
	json_event_end(j);
}

void json_count(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	printf("%llu", (unsigned long long)value);
	json_event_end(j);
}

void json_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	fputs(value ? "true" : "false", stdout);
	json_event_end(j);
}

void json_string(struct json *j, const char *key, const char *value)
{
	if (value == NULL)
		return;
	json_key(j, key);
	json_text(value);
	json_event_end(j);
}

void json_report_end(struct json *j, const char *error)
{
	const uint64_t dropped = report_dropped();

	if (dropped > 0)
		json_count(j, "dropped", dropped);
	json_string(j, "error", error);
	json_close(j, '}');
	if (!j->stream)
		putchar('\n');
	report_open = NULL;
}

void json_report_close(struct json *j, const char *error)
{
	json_report_end(j, error);
	report_flush();
}

/*
 * The objects.
 */

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
	case FIGURE_REASONS: json_unsafe(j, isnan(f->host.load) ? 0 : f->host.unsafe); break;
	case FIGURE_BASELINE: json_string(j, row->key, baseline[f->host.baseline]); break;
	case FIGURE_WORD:
	case FIGURE_NAME:
		json_string(j, row->key, *(const char *)member != '\0' ? member : NULL);
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
	if (objects & IN_HOST && isnan(f->host.load) && no_load_is_told(f->host.no_load))
		json_string(j, "no_load_text", no_load_text(f->host.no_load));
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

void json_interval(struct json *j, const struct figures *f, int stream, double start, bool measured,
		   bool sender)
{
	json_open(j, stream > 0 ? NULL : "sum", '{');
	if (stream > 0)
		json_count(j, "socket", (uint64_t)stream);
	json_timed(j, start, f, IN_INTERVAL);
	if (!sender)
		json_count(j, "clients", f->clients);
	json_bool(j, "omitted", !measured);
	json_bool(j, "sender", sender);
	json_close(j, '}');
}

void json_cpu_time(struct json *j, const struct figures *f)
{
	if (f->host.event[0] != '\0') {
		json_open(j, "profile", '{');
		json_rows(j, f, IN_PROFILE);
		json_close(j, '}');
	}
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

void json_netstat(struct json *j, const struct netstat *n)
{
	json_open(j, "host_tcp", '{');
	json_number(j, "retransmits", n->retransmits);
	json_number(j, "syn_retransmits", n->syn_retransmits);
	json_number(j, "timeouts", n->timeouts);
	json_number(j, "listen_overflows", n->overflows);
	json_close(j, '}');
}

void json_host(struct json *j, const char *key, const struct figures *f)
{
	json_open(j, key, '{');
	json_rows(j, f, IN_HOST);
	json_cpu_time(j, f);
	if (f->version[0] != '\0') { /* another host's receipt, not of zc 0.1 */
		json_open(j, "environment", '{');
		json_string(j, "version", text_of("zc %s", f->version));
		json_string(j, "kernel", f->kernel);
		json_rows(j, f, IN_ENVIRONMENT);
		json_close(j, '}');
	}
	json_close(j, '}');
}
