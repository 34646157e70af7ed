#include "lib/load/counters.h"

#include <linux/tcp.h> /* it has a longer struct tcp_info than netinet/tcp.h */
#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/net/socket.h"

const char *const cpu_column[CPU_COLUMNS] = {"user",   "nice", "system",  "idle",
					     "iowait", "irq",  "softirq", "steal"};

/* Calls each() with every line of a file, which may be missing. */
static void read_lines(const char *path, void (*each)(char *line, struct counters *c),
		       struct counters *c)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (f == NULL)
		return;
	while (getline(&line, &size, f) > 0)
		each(line, c);
	free(line);
	fclose(f);
}

/* The line `cpu` is about all CPUs, and `intr` begins with the total: proc_stat(5). */
static void read_stat_line(char *line, struct counters *c)
{
	char *rest = line + 4;
	int i;

	if (strncmp(line, "intr ", 5) == 0)
		c->interrupts = strtoull(line + 5, NULL, 10);
	if (strncmp(line, "cpu ", 4) == 0)
		for (i = 0; i < CPU_COLUMNS; i++)
			c->cpu[i] = strtoull(rest, &rest, 10);
}

/* Received are bytes, packets and six more; sent are bytes, packets. */
static void read_dev_line(char *line, struct counters *c)
{
	const char *name = line + strspn(line, " "), *end = strrchr(line, ':');

	if (end == NULL || strncmp(name, c->interface, (size_t)(end - name)) != 0 ||
	    c->interface[end - name] != '\0')
		return;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	sscanf(end, ": %*u %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &c->packets_in,
	       &c->packets_out);
}

void counters_add_softnet(char *line, struct counters *c)
{
	uint64_t dropped, squeezed;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	if (sscanf(line, "%*x %" SCNx64 " %" SCNx64, &dropped, &squeezed) != 2)
		return;
	if (c->softnet_dropped == COUNTER_UNKNOWN)
		c->softnet_dropped = c->softnet_squeezed = 0;
	c->softnet_dropped += dropped;
	c->softnet_squeezed += squeezed;
}

/* /proc/net is that of the caller's network namespace; /sys is that of whoever mounted it. */
void counters_read(struct counters *c, const char *interface)
{
	memset(c, 0xff, sizeof(*c)); /* COUNTER_UNKNOWN */
	snprintf(c->interface, sizeof(c->interface), "%s", interface != NULL ? interface : "");
	read_lines("/proc/stat", read_stat_line, c);
	if (c->interface[0] != '\0')
		read_lines("/proc/net/dev", read_dev_line, c);
	read_lines("/proc/net/softnet_stat", counters_add_softnet, c);
	c->ns = now_ns();
}

void counters_recent(struct recent_counters *r, const char *interface, struct counters *c)
{
	const size_t len = strlen(interface);
	const size_t i = len > 0 ? (unsigned char)interface[len - 1] % RECENT_SLOTS
				 : 0; /* eth0, eth1 ... have one each */
	struct counters *recent = &r->slot[i];

	pthread_mutex_lock(&r->lock);
	if (recent->ns == 0 || now_ns() > recent->ns + RECENT_NS ||
	    strcmp(recent->interface, interface) != 0)
		counters_read(recent, interface);
	*c = *recent;
	pthread_mutex_unlock(&r->lock);
}

double steal_seconds(void)
{
	struct counters c = {.cpu[CPU_STEAL] = COUNTER_UNKNOWN};

	read_lines("/proc/stat", read_stat_line, &c);
	if (c.cpu[CPU_STEAL] == COUNTER_UNKNOWN)
		return NAN;
	return (double)c.cpu[CPU_STEAL] / (double)sysconf(_SC_CLK_TCK);
}

double steal_between(double from, double to)
{
	return to > from ? to - from : 0;
}

/* Counters of the kernel may step back: idle and iowait do when a CPU goes offline. */
static uint64_t count_between(uint64_t from, uint64_t to)
{
	if (from == COUNTER_UNKNOWN || to == COUNTER_UNKNOWN)
		return COUNTER_UNKNOWN;
	return to > from ? to - from : 0;
}

static double rise(uint64_t from, uint64_t to)
{
	const uint64_t n = count_between(from, to);

	return n != COUNTER_UNKNOWN ? (double)n : NAN;
}

void set_unknown(void *doubles, size_t size)
{
	double *d = doubles, *end = d + size / sizeof(*d);

	while (d < end)
		*d++ = NAN;
}

#define RATES_MIN 0.1 /* seconds; in less there are a few ticks, which is noise */

void counters_rates(const struct counters *from, const struct counters *to, struct rates *r)
{
	double seconds = seconds_between(from->ns, to->ns), ticks = 0;
	int i;

	set_unknown(r, sizeof(*r));
	if (!(seconds > 0))
		return;
	r->interrupts = rise(from->interrupts, to->interrupts) / seconds;
	r->packets_in = rise(from->packets_in, to->packets_in) / seconds;
	r->packets_out = rise(from->packets_out, to->packets_out) / seconds;
	r->softnet_dropped = rise(from->softnet_dropped, to->softnet_dropped);
	r->softnet_squeezed = rise(from->softnet_squeezed, to->softnet_squeezed);
	for (i = 0; i < CPU_COLUMNS; i++)
		ticks += rise(from->cpu[i], to->cpu[i]);
	for (i = 0; i < CPU_COLUMNS && ticks != 0 && seconds >= RATES_MIN; i++)
		r->cpu[i] = rise(from->cpu[i], to->cpu[i]) / ticks;
}

/*
 * TCP of this network namespace.
 */

static const struct {
	const char *name;
	size_t offset;
} netstats[] = {
	{"RetransSegs", offsetof(struct netstat, retransmits)},
	{"TCPSynRetrans", offsetof(struct netstat, syn_retransmits)},
	{"TCPTimeouts", offsetof(struct netstat, timeouts)},
	{"ListenOverflows", offsetof(struct netstat, overflows)},
};

void netstat_parse(char *names, char *values, struct netstat *n)
{
	char *name, *value, *rest[2] = {NULL, NULL};
	size_t i;

	while ((name = strtok_r(names, " \n", &rest[0])) != NULL &&
	       (value = strtok_r(values, " \n", &rest[1])) != NULL) {
		names = values = NULL;
		for (i = 0; i < sizeof(netstats) / sizeof(netstats[0]); i++)
			if (strcmp(name, netstats[i].name) == 0)
				*(uint64_t *)((char *)n + netstats[i].offset) = strtoull(value,
											 NULL, 10);
	}
}

static void read_pairs(const char *path, struct netstat *n)
{
	FILE *f = fopen(path, "re");
	char *line[2] = {NULL, NULL};
	size_t size[2] = {0, 0};

	if (f == NULL)
		return;
	while (getline(&line[0], &size[0], f) > 0 && getline(&line[1], &size[1], f) > 0)
		netstat_parse(line[0], line[1], n);
	free(line[0]);
	free(line[1]);
	fclose(f);
}

void netstat_read(struct netstat *n)
{
	memset(n, 0xff, sizeof(*n)); /* COUNTER_UNKNOWN */
	read_pairs("/proc/net/snmp", n);
	read_pairs("/proc/net/netstat", n);
}

struct netstat netstat_between(const struct netstat *from, const struct netstat *to)
{
	return (struct netstat){count_between(from->retransmits, to->retransmits),
				count_between(from->syn_retransmits, to->syn_retransmits),
				count_between(from->timeouts, to->timeouts),
				count_between(from->overflows, to->overflows)};
}

/*
 * A connection.
 */

void tcp_figures_read(int fd, bool mptcp, struct tcp_figures *t)
{
	struct tcp_info i = {0};
	socklen_t len = sizeof(i);
	double acked, received;

	set_unknown(t, sizeof(*t));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len) != 0)
		return;
	t->retransmits = i.tcpi_total_retrans;
	if (i.tcpi_bytes_acked > 0)
		t->acked = (double)i.tcpi_bytes_acked - 1; /* the SYN */
	t->rtt = i.tcpi_rtt;
	t->rttvar = i.tcpi_rttvar;
	t->min_rtt = i.tcpi_min_rtt != UINT32_MAX ? i.tcpi_min_rtt : 0; /* max.: none yet */
	t->cwnd = (double)i.tcpi_snd_cwnd * i.tcpi_snd_mss;
	t->mss = i.tcpi_snd_mss;
	t->pmtu = i.tcpi_pmtu;
	t->delivery_rate = (double)i.tcpi_delivery_rate;
	t->busy = (double)i.tcpi_busy_time;
	t->rwnd_limited = (double)i.tcpi_rwnd_limited;
	t->sndbuf_limited = (double)i.tcpi_sndbuf_limited;
	t->rcv_rtt = i.tcpi_rcv_rtt;
	t->rcv_mss = i.tcpi_rcv_mss;
	t->rcv_ooo = i.tcpi_rcv_ooopack;
	if (mptcp && sock_is_mptcp(fd, &acked, &received)) {
		/* If others carried data too, the figures of the first subflow are not the connection's. */
		if (!(acked <= (double)i.tcpi_bytes_acked &&
		      received <= (double)i.tcpi_bytes_received))
			set_unknown(t, sizeof(*t));
		t->acked = acked;
	}
}
