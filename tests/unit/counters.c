#include "lib/load/counters.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

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

	to.total.cpu[CPU_IDLE] = 150;
	to.total.cpu[CPU_USER] = 50;
	ok(rates(&from, &to)->interrupts == 1000 && r.packets_in == 5, "rates are per second");
	ok(r.packets_out == 0, "a counter that steps back has the rate 0");
	ok(r.cpu[CPU_IDLE] == 0.75 && r.cpu[CPU_USER] == 0.25 && r.cpu[CPU_STEAL] == 0,
	   "CPU columns are shares of all CPU time");
	from.total.interrupts = to.total.packets_in = NAN;
	ok(isnan(rates(&from, &to)->interrupts) && isnan(r.packets_in),
	   "a counter that is not known at one end has no rate");
	ok(r.cpu[CPU_IDLE] == 0.75 && r.packets_out == 0,
	   "a counter that is known has a rate beside one that is not");
	from.total.cpu[CPU_USER] = NAN;
	ok(isnan(rates(&from, &to)->cpu[CPU_IDLE]) && isnan(r.cpu[CPU_USER]),
	   "shares of CPU time that is not known are not known");
	ok(isnan(rates(&to, &to)->interrupts) && isnan(r.packets_in) && isnan(r.packets_out) &&
		   isnan(r.cpu[CPU_IDLE]),
	   "a reading and itself have no rates between them");
	from = to = (struct counters){.ns = 0};
	to.ns = 99000000;
	to.total.cpu[CPU_IDLE] = to.total.interrupts = 99;
	ok(isnan(rates(&from, &to)->cpu[CPU_IDLE]) && near(r.interrupts, 1000),
	   "in less than 0.1 s the shares of CPU time are not known, and rates are");
	to.ns = 100000000;
	to.total.cpu[CPU_IDLE] = 1;
	ok(rates(&from, &to)->cpu[CPU_IDLE] == 1,
	   "in 0.1 s the shares of CPU time are known, of one tick as well");
	to.total.cpu[CPU_IDLE] = 0;
	ok(isnan(rates(&from, &to)->cpu[CPU_IDLE]), "no ticks have no shares");
}

static void test_softnet(void)
{
	struct counters c = {.total.softnet_dropped = NAN};
	struct counters from = {.ns = 0, .total.softnet_dropped = 5, .total.softnet_squeezed = NAN};
	struct counters to = {
		.ns = 2000000000, .total.softnet_dropped = 12, .total.softnet_squeezed = 1};

	counters_add_softnet("00000010\n", &c);
	ok(isnan(c.total.softnet_dropped), "softnet: a line of another form adds nothing");
	counters_add_softnet("00000010 ffffffff 0000000a 00000000\n", &c);
	counters_add_softnet("00000010 ffffffff 00000001\n", &c);
	ok(c.total.softnet_dropped == 0x1fffffffe && c.total.softnet_squeezed == 11,
	   "softnet: the CPUs' hexadecimal numbers are added, and may exceed 32 bits");
	ok(rates(&from, &to)->softnet_dropped == 7 && isnan(r.softnet_squeezed),
	   "softnet: the drops between two readings are a number, not a rate");
}

/* The counters that a line of names and one of values have. */
static struct netstat parsed(const char *names, const char *values)
{
	char copy[2][80];
	struct netstat n;

	set_unknown(&n, sizeof(n));
	netstat_parse(strcpy(copy[0], names), strcpy(copy[1], values), &n);
	return n;
}

static void test_netstat(void)
{
	const struct netstat from = {5, 7, NAN, 1}, to = {8, 6, 9, 1};
	struct netstat n = parsed("Tcp: A Max RetransSegs B\n", "Tcp: 3 -1 4 5\n");

	ok(n.retransmits == 4 && isnan(n.timeouts),
	   "netstat: a counter is found by its name, and one that is missing is not known");
	n = parsed("TcpExt: TCPTimeouts TCPSynRetrans ListenOverflows\n", "TcpExt: 1 2\n");
	ok(n.timeouts == 1 && n.syn_retransmits == 2 && isnan(n.overflows),
	   "netstat: a counter without a value is not known");
	n = netstat_between(&from, &to);
	ok(n.retransmits == 3 && n.syn_retransmits == 0 && isnan(n.timeouts) && n.overflows == 0,
	   "netstat: a counter rises, does not step back, and is unknown if it was at one end");
	netstat_read(&n);
	ok(!isnan(n.retransmits) && !isnan(n.syn_retransmits) && !isnan(n.timeouts) &&
		   !isnan(n.overflows),
	   "netstat: this kernel has all counters");
}

static void test_unknown(void)
{
	double d[3] = {1, 2, 3};

	set_unknown(d, 2 * sizeof(d[0]));
	ok(isnan(d[0]) && isnan(d[1]) && d[2] == 3, "set_unknown: as many figures as the size has");
}

/* What /proc/stat has: of each column of CPU time, and of interrupts. */
static void read_stat(struct counters *c)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long v[CPU_COLUMNS] = {0}, interrupts = 0;
	char line[65536];
	int i;

	if (f == NULL || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1],
				&v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != CPU_COLUMNS)
		err(EXIT_FAILURE, "/proc/stat");
	while (interrupts == 0 && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "intr %llu", &interrupts);
	fclose(f);
	for (i = 0; i < CPU_COLUMNS; i++)
		c->total.cpu[i] = (double)v[i];
	c->total.interrupts = (double)interrupts;
}

static void test_values(void)
{
	const int files = open_files();
	struct counters before, c, after;
	double steal;
	int i;

	read_stat(&before);
	counters_read(&c, "lo");
	steal = steal_seconds() * (double)sysconf(_SC_CLK_TCK);
	read_stat(&after);
	for (i = 0; i < CPU_COLUMNS; i++)
		ok((c.total.cpu[i] >= before.total.cpu[i] &&
		    c.total.cpu[i] <= after.total.cpu[i]) ||
			   before.total.cpu[i] > after.total.cpu[i], /* idle time may step back */
		   "column %d of CPU time is that of /proc/stat", i);
	ok(c.total.interrupts >= before.total.interrupts &&
		   c.total.interrupts <= after.total.interrupts,
	   "the interrupts are those of /proc/stat");
	ok(rint(steal) >= before.total.cpu[CPU_STEAL] && rint(steal) <= after.total.cpu[CPU_STEAL],
	   "the host's time is that of /proc/stat, in seconds");
	ok(open_files() == files, "what reads counters closes its files");
}

static void test_read(void)
{
	struct counters c;

	counters_read(&c, "no-such-dev");
	ok(!isnan(c.total.interrupts) && !isnan(c.total.cpu[CPU_IDLE]),
	   "interrupts and CPU time are read from /proc/stat");
	ok(isnan(c.total.packets_in) && isnan(c.total.packets_out),
	   "packets of an interface that is missing are not known");
	counters_read(&c, NULL);
	ok(isnan(c.total.packets_in), "packets of no interface are not known");
	counters_read(&c, "lo");
	ok(!isnan(c.total.packets_in) && c.total.packets_in == c.total.packets_out,
	   "lo has as many packets in as out");
	ok(steal_seconds() >= 0, "the time that the host took is not below 0");
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
	ok(lo.ns > a.ns, "an interface has readings of its own");
	ok(isnan(a.total.packets_in) && !isnan(lo.total.packets_in),
	   "only the reading of an interface has its packets");
	sleep_ns(RECENT_NS);
	start = now_ns();
	counters_recent(&recent, "", &later);
	ok(later.ns >= start, "an old reading is not shared");
}

static void test_tcp_figures(void)
{
	struct tcp_figures t = {.mss = 1};
	struct tcp_info info;
	socklen_t len = sizeof(info);
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0)
		err(EXIT_FAILURE, "socketpair");
	tcp_figures_read(fd[0], true, &t);
	ok(isnan(t.retransmits) && isnan(t.mss) && isnan(t.rcv_ooo),
	   "a socket that is not TCP has no TCP figures");
	close(fd[0]);
	close(fd[1]);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	tcp_figures_read(fd[0], true, &t);
	/* QEMU's user mode takes it for an option that is an int. */
	if (getsockopt(fd[0], IPPROTO_TCP, TCP_INFO, &info, &len) != 0 || len == sizeof(int))
		skip("a TCP socket has TCP figures", "no TCP_INFO");
	else
		ok(t.retransmits == 0 && t.mss > 0 && isnan(t.acked) && t.min_rtt == 0,
		   "a TCP socket has TCP figures");
	close(fd[0]);
}

int main(void)
{
	test_rates();
	test_softnet();
	test_netstat();
	test_unknown();
	test_values();
	test_read();
	test_recent();
	test_tcp_figures();
	return done();
}
