#include "lib/report/json.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

static FILE *standard_output;
static char *output;
static size_t output_len;

/* A writer into `output`. */
static struct json writer(void)
{
	standard_output = stdout;
	stdout = open_memstream(&output, &output_len);
	return (struct json){.depth = 0};
}

static void writer_end(void)
{
	fclose(stdout);
	stdout = standard_output;
}

/* Ends the writer, and compares what it wrote. */
static void written(const char *want, const char *title)
{
	writer_end();
	is(output, want, "%s", title);
	free(output);
}

static void test_strings(void)
{
	static const struct {
		const char *text, *json, *title;
	} cases[] = {
		{"", "\"\"", "an empty string"},
		{"zcc", "\"zcc\"", "plain text"},
		{"a \"b\" \\ c", "\"a \\u0022b\\u0022 \\u005c c\"", "quotes and backslashes"},
		{"\n\t\001\037\177 ~", "\"\\u000a\\u0009\\u0001\\u001f\\u007f ~\"",
		 "control characters"},
		{"a/b'", "\"a/b'\"", "a slash and an apostrophe"},
		{"\302\200\337\277", "\"\302\200\337\277\"", "UTF-8 of 2 bytes, first and last"},
		{"\340\240\200\355\237\277\356\200\200\357\277\277",
		 "\"\340\240\200\355\237\277\356\200\200\357\277\277\"",
		 "UTF-8 of 3 bytes, first and last, and beside the surrogates"},
		{"\360\220\200\200\364\217\277\277", "\"\360\220\200\200\364\217\277\277\"",
		 "UTF-8 of 4 bytes, first and last"},
		/* What is none becomes U+FFFD, a byte at a time, and what follows it is kept. */
		{"\200a", "\"\\ufffda\"", "a byte that continues nothing"},
		{"a\377", "\"a\\ufffd\"", "the byte 0xff"},
		{"\303", "\"\\ufffd\"", "a sequence of 2 bytes without its end"},
		{"\303\"", "\"\\ufffd\\u0022\"", "a sequence of 2 bytes that a quote ends"},
		{"\342\202", "\"\\ufffd\\ufffd\"", "a sequence of 3 bytes without its end"},
		{"\342\202x", "\"\\ufffd\\ufffdx\"", "a sequence of 3 bytes that a letter ends"},
		{"\360\237\230", "\"\\ufffd\\ufffd\\ufffd\"",
		 "a sequence of 4 bytes without its end"},
		{"\300\257", "\"\\ufffd\\ufffd\"", "an overlong sequence of 2 bytes"},
		{"\340\237\277", "\"\\ufffd\\ufffd\\ufffd\"", "an overlong sequence of 3 bytes"},
		{"\360\217\277\277", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"",
		 "an overlong sequence of 4 bytes"},
		{"\355\240\200", "\"\\ufffd\\ufffd\\ufffd\"", "a surrogate"},
		{"\364\220\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"", "U+110000"},
		{"\365\200\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"", "beyond U+13FFFF"},
	};
	struct json j;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		j = writer();
		json_string(&j, NULL, cases[i].text);
		written(cases[i].json, cases[i].title);
	}
	j = writer();
	json_open(&j, NULL, '{');
	json_string(&j, "a\"b", "c");
	json_close(&j, '}');
	written("{\"a\\u0022b\":\"c\"}", "a key is escaped as a string is");
}

static void test_structure(void)
{
	struct json j = writer();

	json_open(&j, NULL, '{');
	json_open(&j, "empty", '{');
	json_close(&j, '}');
	json_open(&j, "list", '[');
	json_count(&j, NULL, 0);
	json_count(&j, NULL, UINT64_MAX);
	json_open(&j, NULL, '[');
	json_close(&j, ']');
	json_close(&j, ']');
	json_bool(&j, "yes", true);
	json_bool(&j, "no", false);
	json_close(&j, '}');
	written("{\"empty\":{},\"list\":[0,18446744073709551615,[]],\"yes\":true,\"no\":false}",
		"objects and arrays have commas between their members");
}

static void test_numbers(void)
{
	struct json j = writer();

	json_open(&j, NULL, '{');
	json_number(&j, "nan", NAN);
	json_number(&j, "a", 0.25);
	json_number(&j, "inf", INFINITY);
	json_number(&j, "minus_inf", -INFINITY);
	json_number(&j, "b", -3);
	json_number(&j, "nan", NAN);
	json_close(&j, '}');
	written("{\"a\":0.25,\"b\":-3}",
		"numbers that are not known are omitted, and so are their commas");
	j = writer();
	json_number(&j, NULL, 1700000000.123);
	written("1700000000.12", "a number has 12 digits");
}

static void test_report(void)
{
	struct json j = writer();

	json_report_open(&j);
	json_open(&j, "start", '{');
	json_open(&j, "list", '[');
	json_count(&j, NULL, 7);
	json_fail(&j, "a \"reason\"");
	written("{\"schema\":1,\"start\":{\"list\":[7]},\"error\":\"a \\u0022reason\\u0022\"}\n",
		"a report that fails closes all brackets and ends with its error");
}

/* A writer into `output`, with an object open. */
static struct json object(void)
{
	struct json j = writer();

	json_open(&j, NULL, '{');
	return j;
}

/* Closes the object, ends the writer, and compares what it wrote. */
static void object_is(struct json *j, const char *want, const char *title)
{
	json_close(j, '}');
	written(want, title);
}

/* The same with the file of that name. */
static void object_expected(struct json *j, const char *name, const char *title)
{
	json_close(j, '}');
	writer_end();
	expect_file(name, output, "%s", title);
	free(output);
}

static void test_throughput(void)
{
	struct figures f = {.bytes = 500, .seconds = 2};
	struct json j = object();

	json_timed(&j, 1, &f, IN_REQUESTS);
	object_is(&j,
		  "{\"start\":1,\"end\":3,\"bytes\":500,\"seconds\":2,\"bits_per_second\":2000}",
		  "a throughput");
	f.seconds = 0;
	j = object();
	json_timed(&j, 0, &f, IN_REQUESTS);
	object_is(&j, "{\"start\":0,\"end\":0,\"bytes\":500,\"seconds\":0,\"bits_per_second\":0}",
		  "a throughput in no time is 0");
	f.cut = true;
	j = object();
	json_timed(&j, 0, &f, IN_REQUESTS);
	object_is(&j, "{\"start\":0,\"end\":0,\"bytes\":500,\"seconds\":0}",
		  "what was cut has no throughput");
}

static void test_address(void)
{
	struct sockaddr_storage addr = {.ss_family = AF_UNSPEC};
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	struct json j = object();

	json_address(&j, "host", "port", &addr);
	object_is(&j, "{}", "an address that cannot be output is omitted");
	in->sin_family = AF_INET;
	in->sin_port = htons(2222);
	in->sin_addr.s_addr = htonl(0xc0000201);
	j = object();
	json_address(&j, "host", "port", &addr);
	object_is(&j, "{\"host\":\"192.0.2.1\",\"port\":2222}", "an address and its port");
}

static void test_stream(void)
{
	struct figures f;
	struct json j = object();

	figures_init(&f);
	f.bytes = 2048;
	f.files = 3;
	f.calls = 4;
	f.warmup = 5;
	f.seconds = 2;
	json_stream(&j, "receiver", &f, 0, false);
	object_expected(&j, "json-receiver",
			"a receiver has its counts, and nothing that was not measured");
	f.tcp = (struct tcp_figures){.retransmits = 1,
				     .rtt = 2,
				     .rttvar = 3,
				     .min_rtt = 4,
				     .cwnd = 5,
				     .mss = 6,
				     .pmtu = 7,
				     .delivery_rate = 8,
				     .busy = 9,
				     .rwnd_limited = 10,
				     .sndbuf_limited = 11,
				     .rcv_rtt = 12,
				     .rcv_mss = 13,
				     .rcv_ooo = 14};
	j = object();
	json_stream(&j, NULL, &f, 1, true);
	json_stream(&j, NULL, &f, 1, false);
	object_expected(
		&j, "json-streams",
		"the streams of a sender and a receiver have their TCP figures, and a delivery rate in bit/s");
}

static void test_host(void)
{
	struct figures f;
	struct json j = object();
	size_t i;

	figures_init(&f);
	f.bytes = 2048;
	f.seconds = 2;
	f.host.load = 0.5;
	f.host.cpus = 2;
	f.host.rates.interrupts = 7;
	f.host.rates.cpu[CPU_IDLE] = 0.5;
	json_host(&j, "host", &f);
	object_is(&j,
		  "{\"host\":{\"load_percent\":50,\"cpus\":2,\"cost_us_per_kib\":1000000,"
		  "\"interrupts_per_second\":7,\"accounting_percent\":{\"idle\":50}}}",
		  "a host has its load, and nothing that was not measured");
	f.host.unsafe = UNSAFE_CPU_OFFLINE | UNSAFE_WEIGHT;
	f.host.uncertainty = 0.01;
	f.host.tasks = 0.02;
	f.host.slowed = 0.03;
	f.host.switches = 7;
	f.host.rates.packets_in = 8;
	f.host.rates.packets_out = 9;
	f.host.others = 0.25;
	f.host.drift = 0.125;
	f.host.baseline = BASELINE_OWN;
	strcpy(f.host.instrument, LOAD_BY_SOAKING);
	strcpy(f.no_load, NO_LOAD_OFF);
	j = object();
	json_rows(&j, &f, IN_HOST);
	object_expected(&j, "json-host", "a load has all figures that are known");
	for (i = 0; i < CPU_COLUMNS; i++)
		f.host.rates.cpu[i] = (double)i / 100;
	j = object();
	json_accounting(&j, &f);
	object_is(&j,
		  "{\"accounting_percent\":{\"user\":0,\"nice\":1,\"system\":2,\"idle\":3,"
		  "\"iowait\":4,\"irq\":5,\"softirq\":6,\"steal\":7}}",
		  "every column of CPU time has its name");
}

static void test_utilization(void)
{
	struct figures host, remote;
	struct json j = object();

	figures_init(&host);
	figures_init(&remote);
	host.host.load = 0.5;
	json_utilization(&j, &host, NULL);
	object_is(&j, "{\"cpu_utilization_percent\":{\"host_total\":50}}",
		  "the load of the host as iperf3 names it");
	remote.host.load = 0.25;
	host.host.rates.cpu[CPU_USER] = 0.125;
	host.host.rates.cpu[CPU_SYSTEM] = 0.375;
	j = object();
	json_utilization(&j, &host, &remote);
	object_is(&j,
		  "{\"cpu_utilization_percent\":{\"host_total\":50,\"host_user\":12.5,"
		  "\"host_system\":37.5,\"remote_total\":25}}",
		  "the loads of both ends as iperf3 names them");
}

int main(void)
{
	test_strings();
	test_structure();
	test_numbers();
	test_report();
	test_throughput();
	test_address();
	test_stream();
	test_host();
	test_utilization();
	return done();
}
