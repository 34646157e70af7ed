#include "lib/load/counters.h"
#include "lib/net/socket.h"

#include <linux/tcp.h>

#include "tests/unit/unit.h"

/* Files of another kernel, of which some are missing. */
static char *const files[][2] = {
	{"/proc/stat", "cpu  100 200 300 400 500 600 700 800 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
		       "intr 4242 1 2\nsoftirq 9 1 2 31 41 5\n"},
	{"/proc/net/dev", "Inter-|   Receive\n  eth: 1 2 3 4 5 6 7 8 9 10 11\n"
			  "e:9: 100 71 3 4 5 6 7 8 900 72 11\n  eth01: 1 2 3 4 5 6 7 8 9 10 11\n"
			  "e: 100 73 3 4 5 6 7 8 900 74 11\n"},
	{"/proc/net/softnet_stat", /* hexadecimal; a line of another form adds nothing */
	 "00000010\n00000010 ffffffff 0000000b\n00000010 ffffffff 00000002 0\n"},
	{"/proc/interrupts", "     CPU0 CPU1\n 24: 1 90 PCI-MSI 65536-edge virtio0-input.0\n"
			     "LOC: 6 7 Local timer interrupts\n 11: 3 0 GICv3 27 Level arch_timer\n"
			     "RES: 8 9 Rescheduling interrupts\nRescheduling"},
	{"/proc/net/snmp", "Ip: A RetransSegs\nIp: 1 2\nTcp: A B RetransSegs C\nTcp: 1 2 33 4\n"},
	{"/proc/net/netstat", /* the last name has no value */
	 "TcpExt: TCPSynRetrans ListenOverflows TCPTimeouts RetransSegs\nTcpExt: 44 55 66\n"},
};
static int is_open;
static size_t missing = LENGTH(files);

static FILE *file_of(const char *path)
{
	size_t i = 0;

	while (i < LENGTH(files) && (i == missing || strcmp(files[i][0], path) != 0))
		i++;
	is_open += i < LENGTH(files);
	return i < LENGTH(files) ? fmemopen(files[i][1], strlen(files[i][1]), "r") : NULL;
}

static struct tcp_info info; /* of a connection */
static double sent, got;     /* of Multipath TCP */

static int read_info(int fd, struct tcp_info *to)
{
	*to = info;
	return fd < 0 ? -1 : 0;
}

#define fopen(path, mode) file_of(path)
#define fclose(f)         (is_open--, fclose(f))
#define getsockopt(fd, level, name, to, size)                                                      \
	read_info((level) == IPPROTO_TCP && (name) == TCP_INFO && *(size) == sizeof(info) ? (fd)   \
											  : -1,    \
		  to)
#define sock_is_mptcp(fd, a, r, others) (*(a) = sent, *(r) = got, sent > 0)
#include "lib/load/counters.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* Whether all of the figures are the same, which are known. */
static bool same(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size) == 0;
}

static void test_rates(void)
{
	const struct rates rates = {1000, 2000, 3000, 4000, 5000, {0.25, [CPU_IDLE] = 0.75},
				    0,    NAN,  7,    8};
	struct counters from = {
		.ns = 1000000000,
		.total = {.packets_in = 10, .packets_out = NAN, .softnet_dropped = 5}};
	struct counters to = {
		.ns = 3000000000,
		.total = {2000, 4000, 6000, 8000, 10000, {50, [CPU_IDLE] = 150}, 5, 9, 12, 8}};
	struct rates r = {.cpu = {0}};

	counters_rates(&from, &to, &r);
	ok(isnan(r.packets_out), "a rate of what was not known at one end is unknown");
	r.packets_out = rates.packets_out;
	ok(same(&r, &rates, sizeof(r)),
	   "others are per second or shares of CPU time, 0 if a counter stepped back; drops are numbers");
	to.ns = from.ns + 100000001;
	counters_rates(&from, &to, &r);
	ok(near(r.cpu[CPU_IDLE], 0.75), "in 0.1 s the shares of CPU time are known");
	to.ns -= 2;
	counters_rates(&from, &to, &r);
	ok(isnan(r.cpu[CPU_IDLE]) && r.interrupts > 20000, "in less they are not, and rates are");
	to.ns = from.ns;
	counters_rates(&from, &to, &r);
	ok(isnan(r.interrupts) && isnan(r.softnet_dropped), "in no time there are no rates");
}

/* As the files above have them; a file that is missing leaves its own figures alone unknown. */
static void test_files(void)
{
	const double tick = 1 / (double)sysconf(_SC_CLK_TCK);
	const struct rates all = {4242, 16, 17, 31, 41, {0}, 73, 74, 0x1fffffffe, 13};
	const struct netstat tcp = {33, 44, 66, 55};
	struct counters c;
	struct netstat n;
	int k;

	counters_read(&c, "e");
	for (k = 0; k < CPU_COLUMNS; k++)
		if (near(c.total.cpu[k], 100 * tick * (k + 1)))
			c.total.cpu[k] = 0;
	ok(same(&c.total, &all, sizeof(all)), "each counter is that of its file");
	counters_read(&c, "e:9");
	ok(c.total.packets_in == 71 && c.total.packets_out == 72,
	   "an alias has packets of its own");
	counters_read(&c, NULL);
	ok(isnan(c.total.packets_in) && c.interface[0] == '\0' && c.total.interrupts == 4242,
	   "without an interface there are no packets");
	for (missing = 0; missing < 4; missing++) {
		counters_read(&c, missing == 1 ? "et" : "e");
		ok(isnan(c.total.interrupts) == (missing == 0) &&
			   isnan(c.total.packets_in) == (missing == 1) &&
			   isnan(c.total.softnet_dropped) == (missing == 2) &&
			   isnan(c.total.timer) == (missing == 3),
		   "a file that is missing leaves its own counters alone unknown: %s",
		   files[missing][0]);
	}
	for (; missing <= LENGTH(files); missing++) {
		netstat_read(&n);
		ok(isnan(n.retransmits) == (missing == 4) && isnan(n.timeouts) == (missing == 5),
		   "counters of TCP are unknown only where their file is missing: %d",
		   (int)missing);
	}
	ok(same(&n, &tcp, sizeof(n)), "each counter of TCP is that of its name");
	ok(is_open == 0, "readers of counters close their files");
}

/* Each member of the kernel's figures has a value of its own. */
static void test_connection(void)
{
	const struct tcp_figures all = {1,  2,  2,   4,  5,  6,  77, 7,  31, 10,
					11, 12, 104, 14, 15, 16, 17, 18, 19};
	static const struct {
		const char *title;
		uint64_t acked;
		double sent, got, want;
		int fd;
		bool mptcp, known;
	} rows[] = {
		{"nothing was acknowledged", 0, 0, 0, NAN, 0, true, true},
		{"Multipath TCP of one subflow", 2, 2, 100, 2, 0, true, true},
		{"Multipath TCP that is not asked for", 2, 2, 100, 1, 0, false, true},
		{"a second subflow received", 2, 2, 101, 2, 0, true, false},
		{"a second subflow sent", 2, 3, 100, 3, 0, true, false},
		{"no TCP_INFO", 2, 3, 100, NAN, -1, true, false},
	};
	struct tcp_figures t;
	size_t i;

	info = (struct tcp_info){.tcpi_total_retrans = 1,
				 .tcpi_data_segs_out = 2,
				 .tcpi_bytes_acked = 3,
				 .tcpi_rtt = 4,
				 .tcpi_rttvar = 5,
				 .tcpi_min_rtt = 6,
				 .tcpi_snd_cwnd = 7,
				 .tcpi_unacked = 40,
				 .tcpi_sacked = 8,
				 .tcpi_lost = 3,
				 .tcpi_retrans = 2,
				 .tcpi_notsent_bytes = 10,
				 .tcpi_snd_mss = 11,
				 .tcpi_pmtu = 12,
				 .tcpi_delivery_rate = 13,
				 .tcpi_busy_time = 14,
				 .tcpi_rwnd_limited = 15,
				 .tcpi_sndbuf_limited = 16,
				 .tcpi_rcv_rtt = 17,
				 .tcpi_rcv_mss = 18,
				 .tcpi_rcv_ooopack = 19,
				 .tcpi_bytes_received = 100};
	tcp_figures_read(0, false, &t);
	ok(same(&t, &all, sizeof(t)), "each figure of a connection is that of TCP_INFO");
	info.tcpi_min_rtt = UINT32_MAX;
	for (i = 0; i < LENGTH(rows); i++) {
		info.tcpi_bytes_acked = rows[i].acked;
		sent = rows[i].sent;
		got = rows[i].got;
		tcp_figures_read(rows[i].fd, rows[i].mptcp, &t);
		ok((t.acked == rows[i].want || (isnan(t.acked) && isnan(rows[i].want))) &&
			   (rows[i].known ? t.rtt == 4 && t.min_rtt == 0 : isnan(t.rtt)),
		   "what is known of a connection: %s", rows[i].title);
	}
}

static void test_recent(void)
{
	struct recent_counters recent = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct counters a, b, lo, later;

	counters_recent(&recent, "", &a);
	counters_recent(&recent, "", &b);
	/* On a busy machine the second may have come too late to share. */
	ok(b.ns == a.ns || now_ns() - a.ns > RECENT_NS, "a reading is shared for RECENT_NS");
	counters_recent(&recent, "e", &lo);
	ok(lo.ns > a.ns && isnan(a.total.packets_in) && !isnan(lo.total.packets_in),
	   "an interface has readings of its own");
	sleep_ns(RECENT_NS);
	counters_recent(&recent, "e", &later);
	ok(later.ns >= lo.ns + RECENT_NS, "an old reading is not shared");
}

TESTS(test_rates, test_files, test_connection, test_recent)
