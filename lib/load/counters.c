#include "lib/load/counters.h"

#include <linux/tcp.h> /* it has a longer struct tcp_info than netinet/tcp.h */

#include "lib/net/socket.h"

/* Calls each() with every line of a file, which may be missing. */
static void read_lines(const char *path, void (*each)(char *line, struct counters *c),
		       struct counters *c)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	while (f != NULL && getline(&line, &size, f) > 0)
		each(line, c);
	free(line);
	if (f != NULL)
		fclose(f);
}

/* The line `cpu` is about all CPUs; `intr` and `softirq` begin with the total: proc_stat(5). */
static void read_stat_line(char *line, struct counters *c)
{
	if (strncmp(line, "intr ", 5) == 0)
		c->total.interrupts = strtod(line + 5, NULL);
	if (strncmp(line, "cpu ", 4) == 0)
		cpu_times_parse(line + 4, c->total.cpu);
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers; before them stand HI and TIMER */
	sscanf(line, "softirq %*u %*u %*u %lf %lf", &c->total.net_tx, &c->total.net_rx);
}

/* The sum of the CPUs' numbers in a line of /proc/interrupts. */
static double sum_of(const char *numbers)
{
	double sum = 0, one;
	char *end;

	for (;; numbers = end) {
		one = (double)strtoull(numbers, &end, 10);
		if (end == numbers)
			return sum;
		sum += one;
	}
}

/* The descriptions are those of x86 and powerpc, and of arm64 and riscv. */
void counters_add_interrupts(char *line, struct counters *c)
{
	static const char *const timers[] = {"Local timer", "arch_timer", "riscv-timer"};
	const char *numbers = strchr(line, ':');
	double *to = strstr(line, "Rescheduling") != NULL ? &c->total.reschedules : NULL;
	size_t i;

	for (i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
		if (strstr(line, timers[i]) != NULL)
			to = &c->total.timer;
	if (numbers != NULL && to != NULL)
		*to = (isnan(*to) ? 0 : *to) + sum_of(numbers + 1);
}

/* Received are bytes, packets and six more; sent are bytes, packets. */
static void read_dev_line(char *line, struct counters *c)
{
	const char *name = line + strspn(line, " "), *end = strrchr(line, ':');

	if (end == NULL || strncmp(name, c->interface, (size_t)(end - name)) != 0 ||
	    c->interface[end - name] != '\0')
		return;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	sscanf(end, ": %*u %lf %*u %*u %*u %*u %*u %*u %*u %lf", &c->total.packets_in,
	       &c->total.packets_out);
}

void counters_add_softnet(char *line, struct counters *c)
{
	uint64_t dropped, squeezed;

	/* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
	if (sscanf(line, "%*x %" SCNx64 " %" SCNx64, &dropped, &squeezed) != 2)
		return;
	if (isnan(c->total.softnet_dropped))
		c->total.softnet_dropped = c->total.softnet_squeezed = 0;
	c->total.softnet_dropped += (double)dropped;
	c->total.softnet_squeezed += (double)squeezed;
}

/* /proc/net is that of the caller's network namespace; /sys is that of whoever mounted it. */
void counters_read(struct counters *c, const char *interface)
{
	set_unknown(&c->total, sizeof(c->total));
	snprintf(c->interface, sizeof(c->interface), "%s", interface != NULL ? interface : "");
	read_lines("/proc/stat", read_stat_line, c);
	if (c->interface[0] != '\0')
		read_lines("/proc/net/dev", read_dev_line, c);
	read_lines("/proc/net/softnet_stat", counters_add_softnet, c);
	read_lines("/proc/interrupts", counters_add_interrupts, c);
	c->ns = now_ns();
}

void counters_recent(struct recent_counters *r, const char *interface, struct counters *c)
{
	struct counters *last = &r->last;

	pthread_mutex_lock(&r->lock);
	if (strcmp(last->interface, interface) != 0 || now_ns() > last->ns + RECENT_NS)
		counters_read(last, interface);
	*c = *last;
	pthread_mutex_unlock(&r->lock);
}

void rises_between(const void *from, const void *to, void *between, size_t size)
{
	const double *a = from, *b = to;
	double *d = between, *end = d + size / sizeof(*d);

	for (; d < end; a++, b++)
		*d++ = *b < *a ? 0 : *b - *a;
}

void sums_add(void *sum, const void *one, size_t size)
{
	const double *from = one;
	double *d = sum, *end = d + size / sizeof(*d);

	while (d < end)
		*d++ += *from++;
}

void set_unknown(void *doubles, size_t size)
{
	double *d = doubles, *end = d + size / sizeof(*d);

	while (d < end)
		*d++ = NAN;
}

void counters_rates(const struct counters *from, const struct counters *to, struct rates *r)
{
	double *const per_second[] = {&r->interrupts, &r->timer,      &r->reschedules, &r->net_tx,
				      &r->net_rx,     &r->packets_in, &r->packets_out};
	double seconds = seconds_between(from->ns, to->ns), ticks = 0;
	size_t i;

	set_unknown(r, sizeof(*r));
	if (!(seconds > 0))
		return;
	rises_between(&from->total, &to->total, r, sizeof(*r));
	for (i = 0; i < sizeof(per_second) / sizeof(per_second[0]); i++)
		*per_second[i] /= seconds;
	for (i = 0; i < CPU_COLUMNS; i++)
		ticks += r->cpu[i];
	for (i = 0; i < CPU_COLUMNS; i++)
		r->cpu[i] = ticks > 0 && seconds >= TICKS_SECONDS ? r->cpu[i] / ticks : NAN;
}

/*
 * TCP of this network namespace.
 */

/* In the order of the members of struct netstat. */
static const char *const netstats[] = {"RetransSegs", "TCPSynRetrans", "TCPTimeouts",
				       "ListenOverflows"};

void netstat_parse(char *names, char *values, struct netstat *n)
{
	char *name, *value, *rest[2] = {NULL, NULL};
	double *figure = &n->retransmits;
	size_t i;

	while ((name = strtok_r(names, " \n", &rest[0])) != NULL &&
	       (value = strtok_r(values, " \n", &rest[1])) != NULL) {
		names = values = NULL;
		for (i = 0; i < sizeof(netstats) / sizeof(netstats[0]); i++)
			if (strcmp(name, netstats[i]) == 0)
				figure[i] = strtod(value, NULL);
	}
}

#define NETSTAT_LINE 16384 /* bytes: the kernel's longest has 3 KiB */

static void read_pairs(const char *path, struct netstat *n)
{
	FILE *f = fopen(path, "re");
	char names[NETSTAT_LINE], values[NETSTAT_LINE];

	while (f != NULL && fgets(names, sizeof(names), f) != NULL &&
	       fgets(values, sizeof(values), f) != NULL)
		netstat_parse(names, values, n);
	if (f != NULL)
		fclose(f);
}

void netstat_read(struct netstat *n)
{
	set_unknown(n, sizeof(*n));
	read_pairs("/proc/net/snmp", n);
	read_pairs("/proc/net/netstat", n);
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
	t->segments = i.tcpi_data_segs_out;
	t->cwnd = (double)i.tcpi_snd_cwnd * i.tcpi_snd_mss;
	t->window = i.tcpi_snd_cwnd;
	t->in_flight = (double)i.tcpi_unacked - i.tcpi_sacked - i.tcpi_lost + i.tcpi_retrans;
	t->unsent = i.tcpi_notsent_bytes;
	t->mss = i.tcpi_snd_mss;
	t->pmtu = i.tcpi_pmtu;
	t->delivery_rate = 8 * (double)i.tcpi_delivery_rate;
	t->busy = (double)i.tcpi_busy_time;
	t->rwnd_limited = (double)i.tcpi_rwnd_limited;
	t->sndbuf_limited = (double)i.tcpi_sndbuf_limited;
	t->rcv_rtt = i.tcpi_rcv_rtt;
	t->rcv_mss = i.tcpi_rcv_mss;
	t->rcv_ooo = i.tcpi_rcv_ooopack;
	if (mptcp && sock_is_mptcp(fd, &acked, &received, NULL)) {
		/* If others carried data too, the figures of the first subflow are not the connection's. */
		if (!(acked <= (double)i.tcpi_bytes_acked &&
		      received <= (double)i.tcpi_bytes_received))
			set_unknown(t, sizeof(*t));
		t->acked = acked;
	}
}
