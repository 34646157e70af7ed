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
	struct json j = writer();

	json_throughput(&j, 1, 2, 500);
	written(&j, "{\"start\":1,\"end\":3,\"seconds\":2,\"bytes\":500,\"bits_per_second\":2000}",
		"a throughput");
	j = writer();
	json_throughput(&j, 0, 0, 500);
	written(&j, "{\"start\":0,\"end\":0,\"seconds\":0,\"bytes\":500,\"bits_per_second\":0}",
		"a throughput in no time is 0");
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
		"{\"receiver\":{\"start\":0,\"end\":2,\"seconds\":2,\"bytes\":2048,"
		"\"bits_per_second\":8192,\"warmup_bytes\":5,\"files\":3,\"calls\":4,"
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
	ok(strstr(printed, "\"retransmits\":1,\"snd_cwnd\":5,\"rtt\":2,\"rttvar\":3,\"min_rtt\":4,"
			   "\"pmtu\":7,\"snd_mss\":6,\"delivery_rate\":64,\"busy_time\":9,"
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
		"{\"host\":{\"cpus\":2,\"load_percent\":50,\"cost_us_per_kib\":1000000,"
		"\"interrupts_per_second\":7,\"accounting_percent\":{\"idle\":50}}}",
		"a host has its load, and nothing that was not measured");
	f.host.unsafe = UNSAFE_CPU_OFFLINE | UNSAFE_WEIGHT;
	j = writer();
	json_load(&j, &f);
	written(&j,
		"{\"cpus\":2,\"load_percent\":50,\"unsafe\":[\"cpu_offline\",\"weight\"],"
		"\"cost_us_per_kib\":1000000,\"interrupts_per_second\":7}",
		"the reasons that make a load unsafe are an array");
	f.host.unsafe = 0;
	f.host.uncertainty = 0.01;
	f.host.tasks = 0.02;
	f.host.slowed = 0.03;
	f.host.seconds = 1.5;
	f.host.switches = 7;
	j = writer();
	json_load(&j, &f);
	written(&j,
		"{\"cpus\":2,\"load_percent\":50,\"load_uncertainty_percent\":1,"
		"\"tasks_percent\":2,"
		"\"slowed_percent\":3,\"switches_per_second\":7,"
		"\"cost_us_per_kib\":750000,\"cost_uncertainty_us_per_kib\":15000,"
		"\"interrupts_per_second\":7}",
		"a load has its uncertainty, tasks, slowing and switches");
	figures_init(&f);
	f.bytes = 2048;
	f.seconds = 2;
	f.host.load = 0.5;
	f.host.cpus = 2;
	f.host.rates.interrupts = 7;
	f.host.uncertainty = 0.01;
	f.host.tasks = 0.02;
	f.host.slowed = 0.03;
	f.host.rates.packets_in = 8;
	f.host.rates.packets_out = 9;
	f.host.others = 0.25;
	j = writer();
	json_load(&j, &f);
	written(&j,
		"{\"cpus\":2,\"load_percent\":50,\"load_uncertainty_percent\":1,"
		"\"tasks_percent\":2,\"slowed_percent\":3,\"cost_us_per_kib\":1000000,"
		"\"cost_uncertainty_us_per_kib\":20000,\"interrupts_per_second\":7,"
		"\"packets_in_per_second\":8,\"packets_out_per_second\":9,"
		"\"baseline_tasks_percent\":25}",
		"a load has all figures that are known");
	for (i = 0; i < CPU_COLUMNS; i++)
		f.host.rates.cpu[i] = (double)i / 100;
	j = writer();
	json_accounting(&j, &f.host.rates);
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
