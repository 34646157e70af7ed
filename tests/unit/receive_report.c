/* The report of zcs: lib/receive/report. */
#include "lib/receive/report.h"

#include <arpa/inet.h>

#include "tests/unit/unit.h"

static int put_error;  /* with which what is printed cannot be queued; 0: it can */
static bool was_a_row; /* the last that was printed, which may be dropped */

static int put(bool is_row)
{
	was_a_row = is_row;
	fflush(stdout);
	errno = put_error;
	return put_error != 0 ? -1 : 0;
}

#define report_put(is_row) put(is_row)
#include "lib/receive/report.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

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
			       "uncertainty=0.01 cpus=2 method=recv mapped=512000");
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

static void group(void)
{
	report_group(&rep, &f, &stalls, true);
}

static void replies(void)
{
	report_replies(&rep, &f, 2, NULL);
}

static void row(void)
{
	interval(false);
}

static void print_with(void *error)
{
	put_error = *(const int *)error;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	client();
}

/* What cannot be written, for now or for good, and rows for which there is no room. */
static void test_losses(void)
{
	static const int passing[] = {ENOSPC, EDQUOT, EFBIG, EIO, EAGAIN};
	void (*const rows[])(void) = {row, replies};
	bool may, begun, last;
	int other = EPIPE;
	size_t i;

	for (i = 0; i < LENGTH(passing); i++) {
		init(false);
		rep.json.depth = 2;
		put_error = passing[i];
		capture_all();
		client();
		client();
		captured();
		ok(occurrences(printed, "output that cannot be written is lost") == 1 &&
			   rep.failed && rep.json.depth == 0,
		   "a loss that may pass is named once, and ends the object: %d", passing[i]);
	}
	opt.once = true;
	ok(died(print_with, (void *)passing) == 1, "a loss that may pass ends zcs -1");
	opt.once = false;
	ok(died(print_with, &other) == 1, "another error of the output ends zcs");
	has(printed, "stdout: Broken pipe", "another error of the output is named");
	for (i = 0; i < LENGTH(rows); i++) {
		init(false);
		put_error = ENOBUFS;
		capture(STDOUT_FILENO);
		rows[i]();
		captured();
		ok(!rep.intervals.begun && was_a_row && !rep.failed,
		   "a row for which there is no room is dropped, with its heading: %zu", i);
	}
	begin_object();
	interval(false);
	captured();
	ok(rep.json.depth == 0, "an object that only a dropped row has begun is not begun");
	put_error = 0;
	capture(STDOUT_FILENO);
	init(false);
	client();
	may = was_a_row;
	opt.once = true;
	client();
	last = was_a_row;
	opt.once = false;
	opt.json = JSON_OBJECTS;
	group();
	may &= was_a_row;
	interval(false);
	group();
	begun = was_a_row;
	report_replies(&rep, &f, 0, &(struct reply_total){.silent = 1});
	last |= was_a_row;
	captured();
	ok(may, "a summary may be dropped, as may an object that has not begun");
	ok(!begun && !last, "an object that has begun is not dropped, nor what is last");
}

TESTS(test_clients, test_groups, test_json, test_losses)
