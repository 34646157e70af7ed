/* The report of zcs: lib/receive/report. */
#include "lib/receive/report.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

static const _Atomic int running;
static _Atomic int interrupted = SIGINT;

/* A server with that report, and a client of it. */
static struct receive_options opt;
static struct report rep;
static struct place place;
static struct figures f;

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
	rep = (struct report){.opt = &opt, .stop = &running};
	pthread_mutex_init(&rep.lock, NULL);
	client_set(0xc0000201,
		   "bytes=2048000 seconds=0.5 files=3 reads=40 clients=2 method=splice");
}

static void client(void)
{
	report_client(&rep, &place, &f, 1, true, NULL);
}

/* By the default method, by another, with the largest figures, with others beside it, and twice cut. */
static void clients(void *unused)
{
	(void)unused;
	init(false);
	client();
	opt.method++;
	f.warmup = 5;
	f.seconds = 0.05;
	client();
	client_set(0xc0a86464, "bytes=2147483648 seconds=1 load=1 uncertainty=0.01 cpus=256 "
			       "unsafe=steal files=1000000 reads=1000000 warmup=2147483648 "
			       "method=splice");
	f.host.seconds = 1;
	client();
	f.clients = 4;
	client();
	init(false);
	f.cut = true;
	client();
	client_set(0xc0000201, "bytes=2048000 seconds=0.5 files=3 reads=40 clients=1 load=0.5 "
			       "uncertainty=0.01 cpus=2");
	f.cut = true;
	client();
}

static void interval(bool warm_up)
{
	report_group_interval(&rep, &f, 2, warm_up);
}

/* What prints nothing stands behind what does. */
static void groups(void *unused)
{
	(void)unused;
	init(false);
	interval(false);
	report_group(&rep, &f, true);
	f.clients = 1;
	interval(true);
	report_group(&rep, &f, true); /* one client has no total */
	opt.quiet = true;
	interval(true);
	f.clients = 2;
	report_group(&rep, &f, true);
	report_group(&rep, &f, false); /* no client has a summary */
	f.bytes = 0;
	report_group(&rep, &f, true);
}

static void json_group(void *unused)
{
	(void)unused;
	report_group_begin(&rep, &place.peer, "lo");
	client();
	report_client(&rep, &place, &f, 2, false, NULL);
	f.host.load = 0.5;
	f.host.unsafe = UNSAFE_STEAL;
	interval(true);
	f.bytes = REPORT_LEAST_BYTES - 1;
	interval(false);
	f.bytes = 2048000;
	report_group(&rep, &f, true);
}

/* A group of which no client has a summary, and which moved next to nothing. */
static void small_group(void *unused)
{
	(void)unused;
	f.bytes = REPORT_LEAST_BYTES - 1;
	report_group_begin(&rep, &place.peer, "lo");
	report_group(&rep, &f, false);
}

/* One client more than end.streams may have. */
static void many_streams(void *unused)
{
	int i;

	(void)unused;
	report_group_begin(&rep, &place.peer, "lo");
	for (i = 0; i < 10001; i++)
		report_client(&rep, &place, &f, i + 1, true, NULL);
	report_group(&rep, &f, true);
}

static void fail(void *unused)
{
	(void)unused;
	report_fail(&rep, "why");
	pthread_mutex_unlock(&rep.lock); /* a program that dies keeps it */
}

static void fail_in_group(void *unused)
{
	report_group_begin(&rep, &place.peer, "lo");
	interval(false);
	fail(unused);
}

/* What JSON has from the address of the client on: the environment of this machine is before it. */
static const char *object_of(void (*function)(void *arg))
{
	const char *at;

	init(true);
	at = strstr(printed_by(function, NULL), "\"accepted_connection\":");
	return at != NULL ? at : printed;
}

static void test_json(void)
{
	expect(object_of(json_group), "the object of a group has intervals, streams and sums");
	has(printed, "{\"schema\":1,\"start\":{\"version\":", "an object begins with its version");
	expect(object_of(fail_in_group), "an error in a group ends its object");
	is(object_of(fail), "{\"schema\":1,\"error\":\"why\"}\n",
	   "an error without a group is an object of its own");
	is(object_of(small_group), "", "a small group without a summary has no object");
	object_of(many_streams);
	ok(rep.listed == 10000 && rep.left_out == 1,
	   "end.streams has 10000 clients at most, and those that it lacks are counted");
	init(true);
	rep.stop = &interrupted;
	has(printed_by(json_group, NULL), "},\"error\":\"interrupted\"}\n",
	    "the object of a group that a signal ended says so");
}

/* An interval and the total, then the total of a host that retransmitted. */
static void replies(void *unused)
{
	struct reply_total total = {1, 2, 3, 4, .tcp.retransmits = 0};

	(void)unused;
	report_replies(&rep, &f, 3, NULL);
	f.host.load = 0.5;
	f.host.unsafe = UNSAFE_STEAL;
	report_replies(&rep, &f, 3, NULL);
	report_replies(&rep, &f, 3, &total);
	total.tcp = (struct netstat){7, 5, 3, 2};
	report_replies(&rep, &f, 3, &total);
}

static void test_replies(void)
{
	const char *at;

	init(false);
	expect(printed_by(replies, NULL), "replies have intervals, and what was not answered");
	init(true);
	at = strstr(printed_by(replies, NULL), "\"test_start\":");
	expect(at != NULL ? at : "", "replies in JSON have intervals, and what was not answered");
	has(printed, "\"environment\":{", "the first object of replies has the environment");
}

int main(void)
{
	expect(printed_by(clients, NULL), "clients have their counts, methods, loads and warm-ups");
	expect(printed_by(groups, NULL), "groups of several clients have intervals and a total");
	test_json();
	test_replies();
	return done();
}
