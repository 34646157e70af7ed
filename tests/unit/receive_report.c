/* The report of zcs: lib/receive/report. */
#include "lib/receive/report.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

static const _Atomic int running;

/* A server with that report, and a client of it. */
static struct receive_options opt;
static struct report rep;
static struct place place;
static struct figures f;
static struct stalls stalls;

static void client_set(uint32_t address, const char *receipt)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&place.peer;

	place.sock = -1;
	in->sin_family = AF_INET;
	in->sin_port = htons(7);
	in->sin_addr.s_addr = htonl(address);
	f = figures_of(receipt);
}

static void init(bool json)
{
	opt = (struct receive_options){.method = receive_methods, .json = json};
	rep = (struct report){.opt = &opt, .stop = &running, .intervals = {.period = 0.5}};
	strcpy(rep.environment.system.sysname, "Linux");
	pthread_mutex_init(&rep.lock, NULL);
	client_set(0xc0000201,
		   "bytes=2048000 seconds=0.5 files=3 reads=40 clients=2 method=splice");
}

static void client(void)
{
	report_client(&rep, &place, &f, &stalls, 1, true, NULL);
}

/* By the default method, with the largest figures and others beside it, by another method, and cut. */
static void test_clients(void)
{
	capture(STDOUT_FILENO);
	init(false);
	client();
	opt.method++;
	client_set(0xc0a86464, "bytes=2147483648 seconds=0.05 load=1 uncertainty=0.01 cpus=256 "
			       "unsafe=steal files=1000000 reads=1000000 warmup=2147483648 "
			       "method=splice clients=4");
	client();
	client_set(0xc0000201, "bytes=2048000 seconds=0.5 files=3 reads=40 clients=1 load=0.5 "
			       "uncertainty=0.01 cpus=2 method=recv");
	f.cut = true;
	client();
	client_set(0xc0000201, "bytes=2048000 seconds=0.5 files=3 reads=40 clients=1 "
			       "no_load=held method=read");
	client();
	expect(captured(), "clients have their counts, methods, loads and warm-ups");
}

static void interval(bool warm_up)
{
	report_group_interval(&rep, &f, 2, warm_up);
}

/* What prints nothing stands behind what does. */
static void test_groups(void)
{
	capture(STDOUT_FILENO);
	init(false);
	interval(false);
	report_group(&rep, &f, &stalls, true);
	f.clients = 1;
	interval(true);
	report_group(&rep, &f, &stalls, true); /* one client has no total */
	opt.quiet = true;
	interval(true);
	f.clients = 2;
	report_group(&rep, &f, &stalls, true);
	report_group(&rep, &f, &stalls, false); /* no client has a summary */
	f.bytes = 0;
	report_group(&rep, &f, &stalls, true);
	expect(captured(), "groups of several clients have intervals and a total");
}

/* What JSON has from that member on: before it is the environment of this machine, or nothing. */
static const char *object_from(const char *member)
{
	const char *at = strstr(captured(), member);

	return at != NULL ? at : printed;
}

static void begin_object(void)
{
	init(true);
	capture(STDOUT_FILENO);
	report_group_begin(&rep, &place.peer, "lo");
}

static void test_json(void)
{
	int i;

	begin_object();
	client();
	report_client(&rep, &place, &f, &stalls, 2, false, NULL);
	f.host.load = 0.5;
	f.host.unsafe = UNSAFE_STEAL;
	interval(true);
	interval(false);
	report_group(&rep, &f, &stalls, true);
	expect(object_from("\"accepted_connection\""), "a group has intervals, streams and sums");
	begin_object();
	interval(false);
	report_fail(&rep, "why");
	expect(object_from("\"accepted_connection\""), "an error in a group ends its object");
	begin_object();
	f.bytes = REPORT_LEAST_BYTES - 1;
	report_group(&rep, &f, &stalls, false);
	is(captured(), "", "a small group without a summary has no object");
	begin_object();
	for (i = 0; i < 10001; i++)
		report_client(&rep, &place, &f, &stalls, i + 1, true, NULL);
	report_group(&rep, &f, &stalls, true);
	captured();
	ok(rep.listed == 10000 && rep.left_out == 1,
	   "end.streams has 10000 clients at most, and those that it lacks are counted");
	capture(STDOUT_FILENO);
	report_group_begin(&rep, &place.peer, "lo");
	report_client(&rep, &place, &f, &stalls, 1, true, "cut");
	report_client(&rep, &place, &f, &stalls, 2, true, "cut later");
	report_group(&rep, &f, &stalls, true);
	has(captured(), "\"clients\":2},\"error\":\"192.0.2.1:7: cut\"}\n",
	    "the error of the first client that was cut is its group's");
	capture(STDOUT_FILENO);
	report_group_begin(&rep, &place.peer, "lo");
	report_group(&rep, &f, &stalls, false);
	has(captured(), "\"clients\":2}}\n",
	    "a group without a summary has an object if it is not small, and no error of another");
}

TESTS(test_clients, test_groups, test_json)
