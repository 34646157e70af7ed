#include "lib/receive/group.h"

#include "tests/unit/unit.h"

static const _Atomic int running;

/* A server, of which the load of one CPU is measured if `soaker` is set, and two clients. */
static struct context x;
static struct receive_options opt;
static struct baseline baseline = {.spin = 1, .speed = 1};
static const struct instrument_kind kind; /* that measures a load, which is never read */
static struct client client[2];
static bool cut[2]; /* the clients did not send all */

static void server_init(bool json, bool measured)
{
	memset(&x, 0, sizeof(x));
	memset(client, 0, sizeof(client));
	opt = (struct receive_options){.method = receive_methods, .json = json};
	x.opt = x.report.opt = &opt;
	x.stop = x.report.stop = &running;
	if (measured)
		x.meter.wanted = true; /* nothing reads it */
	x.meter.gauge.instrument.kind = &kind;
	x.meter.gauge.calibration.cpus.n = 1;
	x.meter.gauge.calibration.cpu = &baseline;
	x.meter.gauge.calibration.all = baseline;
	pthread_mutex_init(&x.report.lock, NULL);
	strcpy(client[0].interface, "lo");
	strcpy(client[1].interface, "lo");
}

static struct figures f;

static const struct figures *between(const struct mark *from, const struct mark *to)
{
	figures_between(&x, from, to, &f);
	return &f;
}

/* One second, of which the soaker spun half; rates of 2 s. */
static void test_figures(void)
{
	struct mark from = {.ns = 1000000000, .bytes = 100, .calls = 10, .files = 1};
	struct mark to = {.ns = 3000000000, .bytes = 1100, .calls = 30, .files = 4};

	server_init(false, false);
	from.counters.ns = from.ns;
	to.counters.ns = to.ns;
	to.counters.total.interrupts = 500;
	ok(between(&from, &to)->bytes == 1000 && f.calls == 20 && f.files == 3 && f.seconds == 2,
	   "figures are the differences between two marks");
	is(f.method, "read", "figures have the method");
	ok(f.host.rates.interrupts == 250 && isnan(f.host.load),
	   "without soakers there are rates and no load");
	to.counters.ns = from.ns + RATES_NS;
	ok(isnan(between(&from, &to)->host.rates.interrupts),
	   "a time too short for the counters has no rates");
	server_init(false, true);
	to.counters.ns = to.ns;
	to.load.period = 1;
	to.load.now = (struct load_sample){.time = 1, .spin = 0.5, .work = 0.5};
	ok(near(between(&from, &to)->host.load, 0.5) && f.host.seconds == 2,
	   "the load of a part of the time is taken for that of all");
	to.load.now = (struct load_sample){.time = 0.005, .spin = 0.0025, .work = 0.0025};
	ok(isnan(between(&from, &to)->host.load),
	   "a part of the time that is too short has no load");
	from.load.period = 1;
	ok(near(between(&from, &to)->host.load, 0.5),
	   "a short time of which all was counted has a load");
	to.counters.total.cpu[CPU_STEAL] = 2;
	to.counters.total.cpu[CPU_IDLE] = 98;
	ok(between(&from, &to)->host.unsafe == UNSAFE_STEAL,
	   "a load of which the host took 2 %% is unsafe");
	to.load = from.load;
	ok(isnan(between(&from, &to)->host.load) && f.host.unsafe == 0, "no load is not unsafe");
	to.load.now = (struct load_sample){.time = 1, .spin = 0.5, .work = 0.5};
	x.meter.gauge.calibration.others = 0.5;
	ok(isnan(between(&from, &to)->host.load) && f.host.unsafe == UNSAFE_BASELINE_BUSY,
	   "where a busy baseline leaves no load the reason is known");
}

/* Two clients that overlap: the first from 1 s to 3 s, the second from 2 s to 5 s. */
static void two_clients(void *arg)
{
	int i;

	(void)arg;
	if (opt.json)
		report_group_begin(&x.report, &(struct sockaddr_storage){.ss_family = AF_UNSPEC},
				   "");
	for (i = 0; i < 2; i++) {
		group_join(&x, &client[i]);
		figures_init(&client[i].figures);
		client[i].figures.bytes = 2000u * (unsigned)(i + 1);
		client[i].figures.seconds = i + 2;
		client[i].figures.cut = cut[i];
		client[i].figures.calls = 3;
		client[i].figures.files = 5;
		client[i].figures.warmup = 7;
		client[i].calls = 3;
		client[i].bytes = 2000u * (unsigned)(i + 1);
		client[i].begin.ns = 1000000000u * (unsigned)(i + 1);
		client[i].end.ns = 1000000000ull * (i == 0 ? 3 : 5);
		client[i].begin.counters.ns = client[i].begin.ns;
		client[i].end.counters.ns = client[i].end.ns;
		client[i].end.counters.total.packets_in = 40;
	}
	client[1].summary = true;
	group_remove(&x, &client[1]);
	group_remove(&x, &client[0]);
}

static void test_group(void)
{
	server_init(false, false);
	is(printed_by(two_clients, NULL),
	   "total of 2 clients: 1 kbytes/sec (0.000 Gbit/s), 6000 bytes in 4.000 s\n",
	   "the time of a group is from its first begin to its last end");
	ok(x.group.removed_bytes == 6000 && x.group.n == 0, "clients that have left are counted");
	server_init(true, false);
	has(printed_by(two_clients, NULL),
	    "\"sum_received\":{\"start\":0,\"end\":4,\"bytes\":6000,\"seconds\":4,"
	    "\"bits_per_second\":12000,\"files\":10,\"warmup_bytes\":14,\"method\":\"read\",\"calls\":6,",
	    "the sums of a group are those of its clients");
	has(printed, "\"packets_in_per_second\":10,\"packets_out_per_second\":0",
	    "clients via one interface have its packets");
	has(printed, "\"host\":{\"no_load\":\"off\"",
	    "the object of a group has the reason why there is no load");
	server_init(true, false);
	strcpy(client[1].interface, "eth0");
	printed_by(two_clients, NULL);
	ok(strstr(printed, "\"end\":{") != NULL && strstr(printed, "packets") == NULL,
	   "clients via two interfaces have no packets");
	cut[0] = true;
	server_init(false, false);
	has(printed_by(two_clients, NULL), "kbytes/sec",
	    "a group with a client that was cut has a rate");
	cut[1] = true;
	server_init(false, false);
	is(printed_by(two_clients, NULL), "total of 2 clients: 6000 bytes in 4.000 s\n",
	   "a group of clients that were cut has no throughput");
	server_init(true, false);
	has(printed_by(two_clients, NULL), "\"bytes\":6000,\"seconds\":4,\"files\"",
	    "the sums of a group of clients that were cut have no throughput");
	cut[0] = cut[1] = false;
}

static void two_intervals(void *arg)
{
	(void)arg;
	interval_next(&x);
	group_join(&x, &client[0]);
	group_join(&x, &client[1]);
	x.group.start_ns = x.group.interval.begin.ns = now_ns() - 500000000;
	client[0].bytes = 1024000;
	client[1].bytes = 1024000;
	client[1].warming = true;
	interval_next(&x);
	client[1].warming = false;
	interval_next(&x);
	client[0].bytes = 2048000;
	interval_next(&x);
	client[0].bytes = 3072000;
	interval_next(&x);
}

static void test_intervals(void)
{
	const char *p;
	int lines = 0, warm_ups = 0;

	server_init(false, false);
	printed_by(two_intervals, NULL);
	for (p = printed; (p = strstr(p, " kbytes/sec")) != NULL; p++)
		lines++;
	for (p = printed; (p = strstr(p, ", 2 clients, warm-up\n")) != NULL; p++)
		warm_ups++;
	ok(lines == 3 && warm_ups == 1, "an interval is printed if bytes came in it");
	ok(atoi(printed) > 20 && atoi(printed) <= 4000, "the first interval begins with its group");
}

static void test_no_load(void)
{
	server_init(false, true);
	pthread_rwlock_init(&x.meter.lock, NULL);
	is(meter_no_load(&x.meter, 0), "short",
	   "a client without a load and without a reason was too short");
	is(meter_no_load(&x.meter, UNSAFE_BASELINE_BUSY), "baseline",
	   "a client whose load a busy baseline leaves out was not too short");
	is(meter_no_load(&x.meter, UNSAFE_CALIBRATION), "baseline",
	   "a client whose load is far below 0 was not too short");
}

int main(void)
{
	test_no_load();
	test_figures();
	test_group();
	test_intervals();
	return done();
}
