#include "lib/load/counters.h"

#include <linux/tcp.h> /* it has a longer struct tcp_info than netinet/tcp.h */
#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/net/socket.h"

const char *const cpu_column[CPU_COLUMNS] = {"user",   "nice", "system",  "idle",
					     "iowait", "irq",  "softirq", "steal"};

/*
 * Reads f, which may be NULL, on to the next line that begins, after blanks, with `word`.  Returns
 * the rest of that line, inside *line, or NULL: a line without its end does not count.
 */
static char *find_line(FILE *f, const char *word, char **line, size_t *size)
{
	char *name;
	ssize_t n;

	while (f != NULL && (n = getline(line, size, f)) > 0) {
		name = *line + strspn(*line, " ");
		if ((*line)[n - 1] == '\n' && strncmp(name, word, strlen(word)) == 0)
			return name + strlen(word);
	}
	return NULL;
}

/* /proc/net is that of the caller's network namespace; /sys is that of whoever mounted it. */
static void read_proc_net_dev(struct counters *c, const char *interface)
{
	FILE *f = fopen_retry("/proc/net/dev");
	char name[64], *line = NULL, *rest;
	size_t size = 0;

	snprintf(name, sizeof(name), "%s:", interface);
	rest = find_line(f, name, &line, &size);
	/* Received are bytes, packets and six more; sent are bytes, packets. */
	if (rest != NULL)
		/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
		sscanf(rest, "%*u %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &c->packets_in,
		       &c->packets_out);
	free(line);
	if (f != NULL)
		fclose(f);
}

/* The numbers of one CPU: dropped, squeezed. */
static bool softnet_line(const char *line, uint64_t v[2])
{
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	return sscanf(line, "%*x %" SCNx64 " %" SCNx64, &v[0], &v[1]) == 2;
}

void counters_softnet(FILE *f, uint64_t *dropped, uint64_t *squeezed)
{
	uint64_t sum[2] = {0, 0}, one[2];
	bool found = false;
	char line[256];

	while (fgets(line, sizeof(line), f) != NULL && softnet_line(line, one)) {
		found = true;
		sum[0] += one[0];
		sum[1] += one[1];
	}
	*dropped = found ? sum[0] : COUNTER_UNKNOWN;
	*squeezed = found ? sum[1] : COUNTER_UNKNOWN;
}

static void read_softnet(struct counters *c)
{
	FILE *f = fopen_retry("/proc/net/softnet_stat");

	if (f == NULL)
		return;
	counters_softnet(f, &c->softnet_dropped, &c->softnet_squeezed);
	fclose(f);
}

/* The line `cpu` is about all CPUs, and `intr` begins with the total: proc_stat(5). */
void counters_read(struct counters *c, const char *interface)
{
	FILE *f = fopen_retry("/proc/stat");
	char *line = NULL, *rest;
	size_t size = 0;
	int i;

	memset(c, 0xff, sizeof(*c)); /* COUNTER_UNKNOWN */
	rest = find_line(f, "cpu ", &line, &size);
	for (i = 0; rest != NULL && i < CPU_COLUMNS; i++)
		c->cpu[i] = strtoull(rest, &rest, 10);
	rest = find_line(f, "intr ", &line, &size);
	if (rest != NULL)
		c->interrupts = strtoull(rest, NULL, 10);
	free(line);
	if (f != NULL)
		fclose(f);
	if (interface != NULL)
		read_proc_net_dev(c, interface);
	read_softnet(c);
	c->ns = now_ns();
}

void counters_recent(struct recent_counters *r, const char *interface, struct counters *c)
{
	const char last = interface[0] != '\0' ? interface[strlen(interface) - 1] : '\0';
	const size_t i = (unsigned char)last % RECENT_SLOTS; /* eth0, eth1 ... have one each */
	struct counters *recent = &r->slot[i].counters;

	pthread_mutex_lock(&r->lock);
	if (recent->ns == 0 || now_ns() > recent->ns + RECENT_NS ||
	    strcmp(r->slot[i].interface, interface) != 0) {
		counters_read(recent, interface[0] != '\0' ? interface : NULL);
		snprintf(r->slot[i].interface, IF_NAMESIZE, "%s", interface);
	}
	*c = *recent;
	pthread_mutex_unlock(&r->lock);
}

/* Counters of the kernel may step back: idle and iowait do when a CPU goes offline. */
static double rise(uint64_t from, uint64_t to)
{
	if (from == COUNTER_UNKNOWN || to == COUNTER_UNKNOWN)
		return NAN;
	return to > from ? (double)(to - from) : 0;
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

void tcp_figures_read(int fd, bool mptcp, struct tcp_figures *t)
{
	struct tcp_info i = {0};
	socklen_t len = sizeof(i);
	double acked, received;

	set_unknown(t, sizeof(*t));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len) != 0)
		return;
	t->retransmits = i.tcpi_total_retrans;
	t->acked = (double)i.tcpi_bytes_acked;
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
		if (!(acked <= t->acked && received <= (double)i.tcpi_bytes_received))
			set_unknown(t, sizeof(*t));
		t->acked = acked + 1; /* TCP counts the SYN, Multipath TCP does not */
	}
}

double steal_seconds(void)
{
	FILE *f = fopen_retry("/proc/stat");
	unsigned long long steal = 0;

	if (f == NULL)
		return NAN;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	if (fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1)
		steal = 0;
	fclose(f);
	return (double)steal / (double)sysconf(_SC_CLK_TCK);
}

double steal_between(double from, double to)
{
	return to > from ? to - from : 0;
}
