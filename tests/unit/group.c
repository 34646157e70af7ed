#include "lib/receive/group.h"

#include "tests/unit/unit.h"

static const _Atomic int running;

/* A server, of which the load of one CPU is measured if it is wanted, and two clients. */
static struct context x;
static struct receive_options opt;
static struct baseline baseline = {.spin = 1, .speed = 1};
static struct client client[2];
static struct figures f;

static void server_init(bool json)
{
	memset(&x, 0, sizeof(x));
	memset(client, 0, sizeof(client));
	opt = (struct receive_options){.method = receive_methods, .json = json};
	x.opt = x.report.opt = &opt;
	x.stop = x.report.stop = &running;
	x.meter.gauge.instrument.kind = x.meter.gauge.calibration.kind = &by_soaking;
	x.meter.gauge.calibration.cpus.n = 1;
	x.meter.gauge.calibration.cpu = &baseline;
	x.meter.gauge.calibration.all = baseline;
	pthread_mutex_init(&x.report.lock, NULL);
	strcpy(client[0].interface, "lo");
}

static const struct figures *between(const struct mark *from, const struct mark *to)
{
	figures_between(&x, from, to, &f);
	return &f;
}

/* Two seconds; of a load, one second of which the soaker spun half. */
static void test_figures(void)
{
	const struct load_sample half = {.time = 1, .spin = 0.5, .work = 0.5};
	struct mark from = {.ns = 1000000000, .bytes = 100, .calls = 10, .files = 1};
	struct mark to = {.ns = 3000000000, .bytes = 1100, .calls = 30, .files = 4};

	server_init(false);
	from.counters.ns = from.ns;
	to.counters.ns = to.ns;
	to.counters.total.interrupts = 500;
	ok(between(&from, &to)->bytes == 1000 && f.calls == 20 && f.files == 3 && f.seconds == 2 &&
		   strcmp(f.method, "read") == 0,
	   "figures are the differences between two marks");
	ok(f.host.rates.interrupts == 250 && isnan(f.host.load),
	   "without soakers there are rates alone");
	to.counters.ns = from.ns + RATES_NS;
	ok(isnan(between(&from, &to)->host.rates.interrupts),
	   "a time too short for the counters has no rates");
	x.meter.wanted = true;
	to.counters.ns = to.ns;
	to.load = (struct meter_mark){.period = 1, .now = half};
	ok(near(between(&from, &to)->host.load, 0.5) && f.host.seconds == 2,
	   "the load of a part of the time is taken for that of all");
	to.load.now.steal = 0.02;
	ok(between(&from, &to)->host.unsafe == UNSAFE_STEAL,
	   "a load of which the hypervisor took 2 %% is unsafe");
}

static uint64_t stalled;   /* how often each client was silent */
static unsigned reason[2]; /* why the load of each is unsafe */

/*
 * What is printed of two clients that overlap: the first from 1 s to 3 s, the second, by an interface of its
 * own, from 2 s to 5 s.  The groups before them are those of the same server, each 10 s before the next.
 */
static const char *printed_of(bool json, bool first_cut, bool second_cut, const char *interface)
{
	static uint64_t now = 1000000000;
	struct client look[2] = {{.calls = 1},
				 {.begun = true}}; /* without a whole header, or a byte */
	int i;

	now += 10000000000;
	look[0].end.ns = look[1].end.ns = now + 9000000000;
	opt.json = json;
	memset(client, 0, sizeof(client));
	strcpy(client[0].interface, "lo");
	strcpy(client[1].interface, interface);
	capture(STDOUT_FILENO);
	if (json)
		report_group_begin(&x.report, &(struct sockaddr_storage){.ss_family = AF_UNSPEC},
				   "");
	for (i = 0; i < 2; i++) {
		struct client *c = &client[i];

		group_join(&x, c);
		c->begun = true;
		x.group.total++;
		figures_init(&c->figures);
		c->figures.bytes = 2000u * (unsigned)(i + 1);
		c->bytes = c->figures.bytes;
		c->figures.calls = 3;
		c->calls = (uint64_t)i + 1;
		c->figures.files = 5;
		c->figures.warmup = 7;
		c->figures.tcp.rtt = 100;
		c->figures.seconds = i + 2;
		c->figures.cut = i == 0 ? first_cut : second_cut;
		c->begin.ns = c->begin.counters.ns = now + 1000000000u * (unsigned)i;
		c->end.ns = c->end.counters.ns = now + 1000000000ull * (i == 0 ? 2 : 4);
		c->end.counters.total.packets_in = 40;
		c->silence.stalls.n = stalled;
		c->figures.host.unsafe = reason[i];
		c->end.load = (struct meter_mark){
			.period = 1, .now = {.time = 1, .spin = 0.5, .work = 0.5, .steal = 0.02}};
	}
	for (i = 0; i < 2; i++) {
		group_join(&x, &look[i]);
		look[i].figures.cut = true;
		group_remove(&x, &look[i]);
	}
	client[1].summary = true;
	group_remove(&x, &client[1]);
	group_remove(&x, &client[0]);
	return captured();
}

static void test_group(void)
{
	int cut;

	server_init(false);
	is(printed_of(false, false, false, "lo"),
	   "total of 2 clients: 1 kbytes/sec (0.000 Gbit/s), 6000 bytes in 4.000 s\n",
	   "the time of a group is from its first begin to its last end");
	has(printed_of(true, false, false, "lo"),
	    "\"sum_received\":{\"start\":0,\"end\":4,\"bytes\":6000,\"seconds\":4,"
	    "\"bits_per_second\":12000,\"files\":10,\"warmup_bytes\":14,\"method\":\"read\",\"calls\":6,",
	    "the sums of a group are those of its clients");
	stalled = 3;
	has(printed_of(false, false, false, "lo"), " silent 6 times for over 0.2 s",
	    "a group has the stalls of its clients");
	stalled = 0;
	ok(strstr(printed_of(true, false, false, "lo"), "\"first_stalls\":[]") != NULL,
	   "and none of the group before");
	has(printed, "\"packets_in_per_second\":10,\"packets_out_per_second\":0",
	    "clients via one interface have its packets");
	has(printed, "\"no_load\":\"off\"", "a group has the reason why its load is not measured");
	ok(strstr(printed_of(true, false, false, "eth0"), "packets") == NULL,
	   "clients via two interfaces have no packets");
	x.meter.wanted = true;
	reason[0] = UNSAFE_WEIGHT;
	reason[1] = UNSAFE_CALIBRATION;
	has(printed_of(true, false, false, "lo"),
	    "\"unsafe\":[\"weight\",\"steal\",\"calibration\"]",
	    "a group has the reasons of each of its clients, and its own");
	x.meter.wanted = false;
	for (cut = 1; cut < 4; cut++)
		is(printed_of(false, cut & 1, cut & 2, "lo"),
		   cut == 3
			   ? "total of 2 clients: 6000 bytes in 4.000 s\n"
			   : "total of 2 clients: 1 kbytes/sec (0.000 Gbit/s), 6000 bytes in 4.000 s\n",
		   "only a group of which each client was cut has no throughput: %d", cut);
}

/*
 * Half a second before the first of five intervals: a client is in its warm-up when one ends, and when the next begins;
 * in one another client begins and ends its warm-up, and in one nothing comes.
 */
static void test_intervals(void)
{
	struct client look = {.bytes = 0}; /* it only looks whether the port is open */
	const char *p;
	int lines = 0, warm = 0, i;

	server_init(false);
	x.group.removed_bytes = 1;
	capture(STDOUT_FILENO);
	interval_next(&x);
	group_join(&x, &client[0]);
	group_join(&x, &client[1]);
	group_join(&x, &look);
	client[0].begun = client[1].begun = true;
	x.group.stalls.start_ns = x.group.interval.begin.ns = now_ns() - 500000000;
	client[1].bytes = 1024000;
	for (i = 0; i < 5; i++) {
		client[0].bytes += i != 2 ? 1024000 : 0;
		client[1].warming = i == 0;
		if (i == 3)
			x.group.warms_up = true;
		if (i == 4) /* all that it sent was its warm-up */
			group_remove(&x, &client[1]);
		interval_next(&x);
	}
	for (p = captured(); (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	for (p = printed; (p = strstr(p, "  warm-up")) != NULL; p++)
		warm++;
	has(printed, " 0.0-0.5", "the first interval begins with its group");
	has(printed, "  warm-up  2 clients\n", "a row has its warm-up and its clients");
	ok(warm == 3,
	   "a warm-up is in an interval at its begin, at its end, or between the two: %d of 3",
	   warm);
	ok(lines == 5, "an interval is printed if bytes came in it");
	ok(x.group.interval.begin.bytes == 1 + 5 * 1024000,
	   "the bytes of clients that left are counted");
}

/* A client from which nothing comes, in its warm-up and after it. */
static void test_silence(void)
{
	int i;

	server_init(false);
	group_join(&x, &client[0]);
	ok(x.group.interval.begin.ns > 0 && x.group.stalls.start_ns == x.group.interval.begin.ns,
	   "an interval and the silence of a group begin with it");
	client[0].bytes = 1;
	for (i = 0; i < 6; i++) {
		client[0].warming = i < 3;
		group_look(&x);
		ok(client[0].silence.still == (i > 3), "silence of a warm-up is no stall: look %d",
		   i);
	}
}

TESTS(test_figures, test_group, test_intervals, test_silence)
