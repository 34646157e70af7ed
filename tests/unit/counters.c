#include "lib/load/counters.h"

#include "tests/unit/unit.h"

static void test_rates(void)
{
	struct counters from = {.ns = 1000000000,
				.total = {.interrupts = 1000,
					  .net_rx = 7,
					  .packets_in = 10,
					  .packets_out = NAN,
					  .softnet_dropped = 5}};
	struct counters to = {.ns = 3000000000,
			      .total = {.interrupts = 3000,
					.net_rx = 13,
					.cpu = {50, [CPU_IDLE] = 150},
					.packets_in = 5,
					.packets_out = 9,
					.softnet_dropped = 12}};
	struct rates r;

	counters_rates(&from, &to, &r);
	ok(r.interrupts == 1000 && r.net_rx == 3 && r.packets_in == 0 && isnan(r.packets_out),
	   "rates are per second, 0 if a counter stepped back, and unknown if it was at one end");
	ok(r.cpu[CPU_IDLE] == 0.75 && r.cpu[CPU_USER] == 0.25 && r.cpu[CPU_STEAL] == 0,
	   "CPU columns are shares of all CPU time");
	ok(r.softnet_dropped == 7, "the drops between two readings are a number, not a rate");
	to.ns = from.ns + 99000000;
	counters_rates(&from, &to, &r);
	ok(isnan(r.cpu[CPU_IDLE]) && r.interrupts > 20000,
	   "in less than 0.1 s the shares of CPU time are not known, and rates are");
}

static void test_softnet(void)
{
	struct counters c = {.total.softnet_dropped = NAN};

	counters_add_softnet("00000010\n", &c); /* a line of another form adds nothing */
	counters_add_softnet("00000010 ffffffff 0000000a 00000000\n", &c);
	counters_add_softnet("00000010 ffffffff 00000001\n", &c);
	ok(c.total.softnet_dropped == 0x1fffffffe && c.total.softnet_squeezed == 11,
	   "softnet: the CPUs' hexadecimal numbers are added, and may exceed 32 bits");
}

static void test_interrupts(void)
{
	struct counters c = {.total = {.timer = NAN, .reschedules = NAN}};
	char lines[][80] = {
		"           CPU0       CPU1\n",
		" 24:          1         90   PCI-MSI 65536-edge      virtio0-input.0\n",
		"LOC:         10         20   Local timer interrupts\n",
		" 11:          3          0     GICv3  27 Level     arch_timer\n",
		"IPI0:        5          6       Rescheduling interrupts\n",
		"Rescheduling"};
	size_t i;

	for (i = 0; i < LENGTH(lines); i++)
		counters_add_interrupts(lines[i], &c);
	ok(c.total.timer == 33 && c.total.reschedules == 11,
	   "/proc/interrupts: the CPUs' numbers of timers and of rescheduling are added");
}

static void test_netstat(void)
{
	char names[] = "TcpExt: A TCPTimeouts RetransSegs TCPSynRetrans\n",
	     values[] = "TcpExt: 3 1 4\n";
	struct netstat n;

	set_unknown(&n, sizeof(n));
	netstat_parse(names, values, &n);
	ok(n.retransmits == 4 && n.timeouts == 1 && isnan(n.overflows) && isnan(n.syn_retransmits),
	   "netstat: a counter is found by its name; one without name or value is not known");
}

static void test_values(void)
{
	const int files = open_files();
	struct counters c;

	counters_read(&c, "lo");
	ok(!isnan(c.total.packets_in) && c.total.packets_in == c.total.packets_out,
	   "lo has as many packets in as out");
	counters_read(&c, "no-such-dev");
	ok(isnan(c.total.packets_in), "packets of an interface that is missing are not known");
	ok(open_files() == files, "what reads counters closes its files");
}

static void test_recent(void)
{
	struct recent_counters recent = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct counters a, b, lo, later;

	counters_recent(&recent, "", &a);
	counters_recent(&recent, "", &b);
	/* On a busy machine the second may have come too late to share. */
	ok(b.ns == a.ns || now_ns() - a.ns > RECENT_NS, "a reading is shared for RECENT_NS");
	counters_recent(&recent, "lo", &lo);
	ok(lo.ns > a.ns && isnan(a.total.packets_in) && !isnan(lo.total.packets_in),
	   "an interface has readings of its own");
	sleep_ns(RECENT_NS);
	counters_recent(&recent, "lo", &later);
	ok(later.ns >= lo.ns + RECENT_NS, "an old reading is not shared");
}

TESTS(test_rates, test_softnet, test_interrupts, test_netstat, test_values, test_recent)
