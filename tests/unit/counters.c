#include "lib/load/counters.h"

#include "tests/unit/unit.h"

static struct rates r;

static const struct rates *rates(const struct counters *from, const struct counters *to)
{
	counters_rates(from, to, &r);
	return &r;
}

/* A counter that is not known at either end gives no rate, and the others do. */
static void test_rates(void)
{
	struct counters from = {.ns = 1000000000,
				.total = {.interrupts = 1000, .packets_in = 10, .packets_out = 20}};
	struct counters to = {.ns = 3000000000,
			      .total = {.interrupts = 3000, .packets_in = 20, .packets_out = 10}};

	from.total.softnet_dropped = 5;
	to.total.softnet_dropped = 12;
	to.total.cpu[CPU_IDLE] = 150;
	to.total.cpu[CPU_USER] = 50;
	ok(rates(&from, &to)->interrupts == 1000 && r.packets_in == 5 && r.packets_out == 0,
	   "rates are per second, and that of a counter that steps back is 0");
	ok(r.cpu[CPU_IDLE] == 0.75 && r.cpu[CPU_USER] == 0.25 && r.cpu[CPU_STEAL] == 0,
	   "CPU columns are shares of all CPU time");
	ok(r.softnet_dropped == 7, "the drops between two readings are a number, not a rate");
	from.total.interrupts = to.total.packets_in = to.total.softnet_dropped = NAN;
	ok(isnan(rates(&from, &to)->interrupts) && isnan(r.packets_in) &&
		   isnan(r.softnet_dropped) && r.cpu[CPU_IDLE] == 0.75 && r.packets_out == 0,
	   "a counter that is not known at one end has no rate, and others have");
	from = to = (struct counters){.ns = 0};
	to.ns = 99000000;
	to.total.cpu[CPU_IDLE] = to.total.interrupts = 99;
	ok(isnan(rates(&from, &to)->cpu[CPU_IDLE]) && near(r.interrupts, 1000),
	   "in less than 0.1 s the shares of CPU time are not known, and rates are");
	to.ns = 100000000;
	to.total.cpu[CPU_IDLE] = 1;
	ok(rates(&from, &to)->cpu[CPU_IDLE] == 1, "in 0.1 s the shares of CPU time are known");
}

static void test_softnet(void)
{
	struct counters c = {.total.softnet_dropped = NAN};

	counters_add_softnet("00000010\n", &c);
	ok(isnan(c.total.softnet_dropped), "softnet: a line of another form adds nothing");
	counters_add_softnet("00000010 ffffffff 0000000a 00000000\n", &c);
	counters_add_softnet("00000010 ffffffff 00000001\n", &c);
	ok(c.total.softnet_dropped == 0x1fffffffe && c.total.softnet_squeezed == 11,
	   "softnet: the CPUs' hexadecimal numbers are added, and may exceed 32 bits");
}

static void test_netstat(void)
{
	const struct netstat from = {5, 7, NAN, 1}, to = {8, 6, 9, 1};
	char names[] = "TcpExt: A TCPTimeouts RetransSegs TCPSynRetrans\n",
	     values[] = "TcpExt: 3 1 4\n";
	struct netstat n;

	set_unknown(&n, sizeof(n));
	netstat_parse(names, values, &n);
	ok(n.retransmits == 4 && n.timeouts == 1 && isnan(n.overflows) && isnan(n.syn_retransmits),
	   "netstat: a counter is found by its name; one without name or value is not known");
	rises_between(&from, &to, &n, sizeof(n));
	ok(n.retransmits == 3 && n.syn_retransmits == 0 && isnan(n.timeouts) && n.overflows == 0,
	   "netstat: a counter rises, does not step back, and is unknown if it was at one end");
}

static void test_values(void)
{
	const int files = open_files();
	struct counters before, c;
	double system, steal;
	FILE *f;

	counters_read(&before, NULL);
	f = fopen("/proc/stat", "r");
	if (fscanf(f, "cpu %*f %*f %lf %*f %*f %*f %*f %lf", &system, &steal) != 2)
		err(EXIT_FAILURE, "/proc/stat");
	fclose(f);
	counters_read(&c, "lo");
	ok(before.total.cpu[CPU_SYSTEM] <= system && system <= c.total.cpu[CPU_SYSTEM] &&
		   before.total.cpu[CPU_STEAL] <= steal && steal <= c.total.cpu[CPU_STEAL] &&
		   c.total.interrupts >= before.total.interrupts,
	   "the CPUs' times and interrupts are those of /proc/stat");
	ok(steal_seconds() * (double)sysconf(_SC_CLK_TCK) >= steal - 0.5,
	   "the host's time is in seconds");
	ok(!isnan(c.total.packets_in) && c.total.packets_in == c.total.packets_out,
	   "lo has as many packets in as out");
	counters_read(&c, "no-such-dev");
	ok(isnan(c.total.packets_in) && isnan(c.total.packets_out),
	   "packets of an interface that is missing are not known");
	ok(open_files() == files, "what reads counters closes its files");
}

static void test_recent(void)
{
	struct recent_counters recent = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct counters a, b, lo, later;
	uint64_t start = now_ns();

	counters_recent(&recent, "", &a);
	ok(a.ns >= start && a.ns <= now_ns(), "the first reading is a new one");
	counters_recent(&recent, "", &b);
	/* On a busy machine the second may have come too late to share. */
	ok(b.ns == a.ns || now_ns() - a.ns > RECENT_NS, "a reading is shared for RECENT_NS");
	counters_recent(&recent, "lo", &lo);
	ok(lo.ns > a.ns && isnan(a.total.packets_in) && !isnan(lo.total.packets_in),
	   "an interface has readings of its own");
	sleep_ns(RECENT_NS);
	start = now_ns();
	counters_recent(&recent, "", &later);
	ok(later.ns >= start, "an old reading is not shared");
}

TESTS(test_rates, test_softnet, test_netstat, test_values, test_recent)
