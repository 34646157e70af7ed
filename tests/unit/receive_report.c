/* The report of zcs: lib/receive/report. */
#include "lib/receive/report.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

static const _Atomic int running;
static _Atomic int interrupted = SIGINT;

/* A server with that report, and a client of it. */
struct server {
	struct receive_options opt;
	struct report report;
	struct place place;
	struct figures f;
	struct reply_total total;
	bool flag;
};

static struct server s;

static void server_init(bool json)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&s.place.peer;

	memset(&s, 0, sizeof(s));
	s.opt.method = receive_methods;
	s.opt.json = json;
	s.report.opt = &s.opt;
	s.report.stop = &running;
	pthread_mutex_init(&s.report.lock, NULL);
	in->sin_family = AF_INET;
	in->sin_port = htons(7);
	in->sin_addr.s_addr = htonl(0xc0000201);
	figures_init(&s.f);
	s.f.bytes = 2048000;
	s.f.seconds = 0.5;
	s.f.files = 3;
	s.f.calls = 40;
	s.place.sock = -1;
	s.f.clients = 2;
	strcpy(s.f.method, "splice");
}

static void prints(void (*function)(void *arg), const char *want, const char *title)
{
	is(printed_by(function, NULL), want, "%s", title);
}

/* The object must be that of this file, from the address of the client on: this machine's environment is before it. */
static void prints_object(void (*function)(void *arg), const char *name, const char *title)
{
	const char *at = strstr(printed_by(function, NULL), "\"accepted_connection\":");

	ok(strncmp(printed, "{\"schema\":1,\"start\":{\"version\":", 30) == 0, "%s: the start",
	   title);
	expect_file(name, at != NULL ? at : "", "%s", title);
}

static void client(void *arg)
{
	(void)arg;
	report_client(&s.report, &s.place, &s.f, 1, true, NULL);
}

static void test_clients(void)
{
	server_init(false);
	prints(client,
	       "192.0.2.1:7: 4000 kbytes/sec (0.033 Gbit/s), 2048000 bytes in 0.500 s, 3 files, "
	       "40 reads\n",
	       "a client by the default method has its counts");
	s.opt.method++;
	s.f.warmup = 5;
	s.f.seconds = 0.05;
	prints(client,
	       "192.0.2.1:7: 40000 kbytes/sec (0.328 Gbit/s), 2048000 bytes in 0.050000 s\n"
	       "  192.0.2.1:7: 3 files, 40 reads by splice, after 5 bytes of warm-up\n",
	       "a client by another method has that, its warm-up and more decimals");
	figures_init(&s.f);
	s.f.bytes = 1u << 31;
	s.f.seconds = 1;
	s.f.host.seconds = 1;
	s.f.host.load = 1;
	s.f.host.uncertainty = 0.01;
	s.f.host.cpus = 256;
	s.f.host.unsafe = UNSAFE_STEAL;
	s.f.files = 1000000;
	s.f.calls = 1000000;
	s.f.warmup = 1u << 31;
	strcpy(s.f.method, "splice");
	((struct sockaddr_in *)&s.place.peer)->sin_addr.s_addr = htonl(0xc0a86464);
	prints(client,
	       "192.168.100.100:7: 2097152 kbytes/sec (17.180 Gbit/s), load 100.0%? +-1.0%, cost 122.070? us/KiB\n"
	       "  192.168.100.100:7: 2147483648 bytes in 1.000 s, 1000000 files, 1000000 reads by splice\n"
	       "  192.168.100.100:7: after 2147483648 bytes of warm-up, load of 256 CPUs\n",
	       "the lines of a client with a load have 100 columns at most, and all its address");
	s.f.clients = 4;
	has(printed_by(client, NULL), "load of 256 CPUs and all 4 clients\n",
	    "the line of one of four clients tells that the load is that of all");
	server_init(false);
	s.f.cut = true;
	prints(client, "192.0.2.1:7: 2048000 bytes in 0.500 s, 3 files, 40 reads\n",
	       "a client that was cut has no throughput");
	s.f.host.load = 0.5;
	s.f.host.uncertainty = 0.01;
	s.f.host.cpus = 2;
	s.f.clients = 1;
	prints(client,
	       "192.0.2.1:7: 2048000 bytes in 0.500 s, load 50.0% +-1.0%, cost 250.000 us/KiB, 3 files, 40 reads\n"
	       "  192.0.2.1:7: load of 2 CPUs\n",
	       "a client that was cut has its load");
}

static void interval(void *arg)
{
	(void)arg;
	report_group_interval(&s.report, &s.f, 2, s.flag);
}

static void group(void *arg)
{
	(void)arg;
	report_group(&s.report, &s.f, s.flag);
}

static void test_group_text(void)
{
	server_init(false);
	prints(interval, "4000 kbytes/sec (0.033 Gbit/s), 2.0-2.5 s, 2 clients\n",
	       "an interval of two clients");
	s.f.clients = 1;
	s.flag = true;
	prints(interval, "4000 kbytes/sec (0.033 Gbit/s), 2.0-2.5 s, warm-up\n",
	       "an interval of the warm-up");
	prints(group, "", "a group of one client has no total");
	s.opt.quiet = true;
	prints(interval, "", "a quiet server prints no intervals");
	s.f.clients = 2;
	prints(group,
	       "total of 2 clients: 4000 kbytes/sec (0.033 Gbit/s), 2048000 bytes in 0.500 s\n",
	       "a group of two clients has a total");
	s.flag = false;
	prints(group, "", "a group without a client that has a summary has no total");
	s.flag = true;
	s.f.bytes = 0;
	prints(group, "", "a group that received nothing has no total");
}

static void whole_group(void *arg)
{
	const uint64_t bytes = s.f.bytes;

	report_group_begin(&s.report, &s.place.peer, "lo");
	report_client(&s.report, &s.place, &s.f, 1, true, NULL);
	report_client(&s.report, &s.place, &s.f, 2, false, NULL);
	s.f.host.load = 0.5;
	s.f.host.unsafe = UNSAFE_STEAL;
	interval(arg);
	s.f.bytes = REPORT_LEAST_BYTES - 1;
	interval(arg);
	s.f.bytes = bytes;
	group(arg);
}

/* A group of which no client has a summary, and which moved next to nothing. */
static void small_group(void *arg)
{
	s.f.bytes = 1023;
	report_group_begin(&s.report, &s.place.peer, "lo");
	group(arg);
}

static void test_group_json(void)
{
	server_init(true);
	s.flag = true;
	prints_object(whole_group, "zcs-json-group",
		      "the object of a group has its intervals, streams and sums");
	s.report.stop = &interrupted;
	has(printed_by(whole_group, NULL), "},\"error\":\"interrupted\"}\n",
	    "the object of a group that a signal ended says so");
	server_init(true);
	prints(small_group, "",
	       "a group of clients without a summary has no object if it is small");
}

/* One client more than end.streams may have. */
static void many_streams(void *arg)
{
	int i;

	report_group_begin(&s.report, &s.place.peer, "lo");
	for (i = 0; i < 10001; i++)
		report_client(&s.report, &s.place, &s.f, i + 1, true, NULL);
	group(arg);
}

static void fail(void *arg)
{
	(void)arg;
	report_fail(&s.report, "why");
	if (s.opt.json)
		pthread_mutex_unlock(&s.report.lock); /* a program that dies keeps it */
}

static void fail_in_group(void *arg)
{
	report_group_begin(&s.report, &s.place.peer, "lo");
	interval(arg);
	fail(arg);
}

static void test_fail(void)
{
	server_init(false);
	prints(fail, "", "a report in text has no error on stdout");
	server_init(true);
	prints(fail, "{\"schema\":1,\"error\":\"why\"}\n",
	       "an error without a group is an object of its own");
	server_init(true);
	prints_object(fail_in_group, "zcs-json-fail",
		      "an error in a group ends its object, which has its intervals");
}

static void replies(void *arg)
{
	(void)arg;
	report_replies(&s.report, &s.f, 3, s.flag ? &s.total : NULL);
}

static void test_replies(void)
{
	server_init(false);
	s.total = (struct reply_total){1, 2, 3, 4, .tcp.retransmits = 0};
	prints(replies, "4000 kbytes/sec (0.033 Gbit/s), 3.0-3.5 s, 80 replies/s\n",
	       "an interval has replies per second");
	s.flag = true;
	prints(replies,
	       "total: 40 replies, 2048000 bytes; 1 refused, 2 silent, 3 too large, 4 broken\n",
	       "the total has the requests that were not answered, by the reason");
	s.total.tcp = (struct netstat){7, 5, 3, 2};
	prints(replies,
	       "total: 40 replies, 2048000 bytes; 1 refused, 2 silent, 3 too large, 4 broken\n"
	       "this host retransmitted 7 segments, of which SYNs: 5; accept queue full: 2\n",
	       "the total has what the host's TCP sent again");
	server_init(true);
	s.total = (struct reply_total){1, 2, 3, 4, .tcp.retransmits = 0};
	s.f.host.load = 0.5;
	s.f.host.unsafe = UNSAFE_STEAL;
	has(printed_by(replies, NULL),
	    "\"test_start\":{\"protocol\":\"requests over TCP\"}},\"bytes\":2048000,",
	    "the first object of replies has the program and the host");
	has(printed, "\"environment\":{", "the first object of replies has the environment");
	prints(replies,
	       "{\"schema\":1,\"bytes\":2048000,\"seconds\":0.5,"
	       "\"bits_per_second\":32768000,\"replies\":40,\"replies_per_second\":80,"
	       "\"host\":{\"load_percent\":50,\"unsafe\":[\"steal\"],"
	       "\"accounting_percent\":{}}}\n",
	       "an interval of replies as an object");
	s.flag = true;
	has(printed_by(replies, NULL),
	    ",\"refused\":1,\"silent\":2,\"too_large\":3,\"broken\":4}\n",
	    "the total of replies as an object has what was not answered");
}

int main(void)
{
	test_clients();
	test_group_text();
	test_group_json();
	server_init(true);
	printed_by(many_streams, NULL);
	ok(s.report.listed == 10000 && s.report.left_out == 1,
	   "end.streams has 10000 clients at most, and those that it lacks are counted");
	test_fail();
	test_replies();
	return done();
}
