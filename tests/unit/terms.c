#include "lib/report/terms.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

static char *printed;
static size_t printed_len;

/* A writer into `printed`, with an object open. */
static struct json writer(void)
{
	struct json j = {.f = open_memstream(&printed, &printed_len)};

	json_open(&j, NULL, '{');
	return j;
}

/* Closes the object, ends the writer, and compares what it wrote. */
static void written(struct json *j, const char *want, const char *title)
{
	json_close(j, '}');
	fclose(j->f);
	is(printed, want, "%s", title);
	free(printed);
}

static void test_throughput(void)
{
	struct figures f = {.bytes = 500, .seconds = 2};
	struct json j = writer();

	json_timed(&j, 1, &f, IN_REQUESTS);
	written(&j, "{\"start\":1,\"end\":3,\"bytes\":500,\"seconds\":2,\"bits_per_second\":2000}",
		"a throughput");
	f.seconds = 0;
	j = writer();
	json_timed(&j, 0, &f, IN_REQUESTS);
	written(&j, "{\"start\":0,\"end\":0,\"bytes\":500,\"seconds\":0,\"bits_per_second\":0}",
		"a throughput in no time is 0");
	f.cut = true;
	j = writer();
	json_timed(&j, 0, &f, IN_REQUESTS);
	written(&j, "{\"start\":0,\"end\":0,\"bytes\":500,\"seconds\":0}",
		"what was cut has no throughput");
}

static void test_address(void)
{
	struct sockaddr_storage addr = {.ss_family = AF_UNSPEC};
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	struct json j = writer();

	json_address(&j, "host", "port", &addr);
	written(&j, "{}", "an address that cannot be printed is omitted");
	in->sin_family = AF_INET;
	in->sin_port = htons(2222);
	in->sin_addr.s_addr = htonl(0xc0000201);
	j = writer();
	json_address(&j, "host", "port", &addr);
	written(&j, "{\"host\":\"192.0.2.1\",\"port\":2222}", "an address and its port");
}

static void test_stream(void)
{
	struct figures f;
	struct json j = writer();

	figures_init(&f);
	f.bytes = 2048;
	f.files = 3;
	f.calls = 4;
	f.warmup = 5;
	f.seconds = 2;
	json_stream(&j, "receiver", &f, 0, false);
	written(&j,
		"{\"receiver\":{\"start\":0,\"end\":2,\"bytes\":2048,\"seconds\":2,"
		"\"bits_per_second\":8192,\"files\":3,\"warmup_bytes\":5,\"calls\":4,"
		"\"sender\":false}}",
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
	j = writer();
	json_stream(&j, NULL, &f, 1, true);
	json_stream(&j, NULL, &f, 1, false);
	json_close(&j, '}');
	fclose(j.f);
	ok(strstr(printed, "\"retransmits\":1,\"rtt\":2,\"rttvar\":3,\"min_rtt\":4,\"snd_cwnd\":5,"
			   "\"snd_mss\":6,\"pmtu\":7,\"delivery_rate\":64,\"busy_time\":9,"
			   "\"rwnd_limited\":10,\"sndbuf_limited\":11,\"sender\":true") != NULL,
	   "a sender's stream has its TCP figures, and its delivery rate is in bit/s");
	ok(strstr(printed, "\"rcv_rtt\":12,\"rcv_mss\":13,\"rcv_ooopack\":14,\"sender\":false") !=
		   NULL,
	   "a receiver's stream has its TCP figures");
	free(printed);
}

static void test_host(void)
{
	struct figures f;
	struct json j = writer();
	size_t i;

	figures_init(&f);
	f.bytes = 2048;
	f.seconds = 2;
	f.host.load = 0.5;
	f.host.cpus = 2;
	f.host.rates.interrupts = 7;
	f.host.rates.cpu[CPU_IDLE] = 0.5;
	json_host(&j, "host", &f);
	written(&j,
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
	j = writer();
	json_rows(&j, &f, IN_HOST);
	written(&j,
		"{\"load_percent\":50,\"load_uncertainty_percent\":1,\"tasks_percent\":2,"
		"\"instrument\":\"soak\",\"unsafe\":[\"cpu_offline\",\"weight\"],"
		"\"no_load\":\"off\",\"cpus\":2,\"slowed_percent\":3,\"switches_per_second\":7,"
		"\"cost_us_per_kib\":1000000,\"cost_uncertainty_us_per_kib\":20000,"
		"\"baseline\":\"bracket\",\"baseline_tasks_percent\":25,\"drift_percent\":12.5,"
		"\"interrupts_per_second\":7,\"packets_in_per_second\":8,"
		"\"packets_out_per_second\":9}",
		"a load has all figures that are known");
	for (i = 0; i < CPU_COLUMNS; i++)
		f.host.rates.cpu[i] = (double)i / 100;
	j = writer();
	json_accounting(&j, &f);
	written(&j,
		"{\"accounting_percent\":{\"user\":0,\"nice\":1,\"system\":2,\"idle\":3,"
		"\"iowait\":4,\"irq\":5,\"softirq\":6,\"steal\":7}}",
		"every column of CPU time has its name");
}

static void test_utilization(void)
{
	struct figures host, remote;
	struct json j = writer();

	figures_init(&host);
	figures_init(&remote);
	host.host.load = 0.5;
	json_utilization(&j, &host, NULL);
	written(&j, "{\"cpu_utilization_percent\":{\"host_total\":50}}",
		"the load of the host as iperf3 names it");
	remote.host.load = 0.25;
	host.host.rates.cpu[CPU_USER] = 0.125;
	host.host.rates.cpu[CPU_SYSTEM] = 0.375;
	j = writer();
	json_utilization(&j, &host, &remote);
	written(&j,
		"{\"cpu_utilization_percent\":{\"host_total\":50,\"host_user\":12.5,"
		"\"host_system\":37.5,\"remote_total\":25}}",
		"the loads of both ends as iperf3 names them");
}

int main(void)
{
	test_throughput();
	test_address();
	test_stream();
	test_host();
	test_utilization();
	return done();
}
