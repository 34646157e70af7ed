#include "lib/report/figures.h"

#include "lib/load/cpus.h"

/*
 * Figures computed from others.
 */

double per_second(double n, double seconds)
{
	return seconds > 0 ? n / seconds : 0;
}

double kib_per_second(const struct figures *f)
{
	return per_second((double)f->bytes / 1024, f->seconds);
}

static double bits_per_second(const struct figures *f)
{
	return f->cut ? NAN : 8 * per_second((double)f->bytes, f->seconds);
}

static double bytes_of_call(const struct figures *f)
{
	return f->calls > 0 ? (double)f->bytes / (double)f->calls : NAN;
}

static double calls_per_second(const struct figures *f)
{
	return per_second((double)f->calls, f->seconds);
}

static double per_mib(const struct figures *f, double rate)
{
	return f->bytes > 0 ? rate * f->seconds / ((double)f->bytes / (1 << 20)) : NAN;
}

static double calls_per_mib(const struct figures *f)
{
	return per_mib(f, calls_per_second(f));
}

/* All but the local timers', of which soaking and idle CPUs have different numbers. */
static double interrupts_per_mib(const struct figures *f)
{
	return per_mib(f, f->host.rates.interrupts - f->host.rates.timer);
}

/* In the direction of the data, which has more packets. */
static double bytes_of_packet(const struct figures *f)
{
	const double packets = fmax(f->host.rates.packets_in, f->host.rates.packets_out);

	return packets * f->seconds > 0 ? (double)f->bytes / (packets * f->seconds) : NAN;
}

/* The CPU time of a share of the CPUs, for each of n things. */
static double cpu_time_each(const struct figures *f, double share, double n)
{
	return n > 0 ? share * f->host.cpus * f->seconds * 1e6 / n : NAN;
}

double figures_cost_each(const struct figures *f, double n)
{
	return cpu_time_each(f, f->host.load, n);
}

double figures_cost(const struct figures *f)
{
	return figures_cost_each(f, (double)f->bytes / 1024);
}

double figures_cost_half(const struct figures *f, double n)
{
	return cpu_time_each(f, isnan(f->host.load) ? NAN : f->host.uncertainty, n);
}

static double cost_uncertainty(const struct figures *f)
{
	return figures_cost_half(f, (double)f->bytes / 1024);
}

static double cpu_seconds_uncertainty(const struct figures *f)
{
	return figures_cost_half(f, 1e6);
}

static double requests_per_second(const struct figures *f)
{
	return isnan(f->requests.n) ? NAN : per_second(f->requests.n, f->seconds);
}

static double cost_of_request(const struct figures *f)
{
	return figures_cost_each(f, f->requests.n);
}

static double cost_half_of_request(const struct figures *f)
{
	return figures_cost_half(f, f->requests.n);
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

struct command_figures command_figures_of(const struct rusage *usage)
{
	return (struct command_figures){seconds_of(&usage->ru_utime), seconds_of(&usage->ru_stime)};
}

static double user_system_seconds(const struct figures *f)
{
	return f->command.user + f->command.system;
}

static double part_of(double part, double all)
{
	return all > 0 && !isnan(part) ? fmin(fmax(part, 0) / all, 1) : NAN;
}

static double bytes_of_record(const struct figures *f)
{
	return f->tls.records > 0 ? (double)f->bytes / f->tls.records : NAN;
}

double figures_mapped(const struct figures *f)
{
	return part_of(f->mapped, (double)f->bytes);
}

/* TCP was busy, and waited neither for a limit nor for pacing: the path or this host took that time. */
static double waited_for_path(const struct figures *f)
{
	return part_of(f->tcp.busy - f->tcp.rwnd_limited - f->tcp.sndbuf_limited -
			       f->waits.cwnd_limited - f->waits.pacing_limited,
		       f->waits.elapsed);
}

static double waited_for_data(const struct figures *f)
{
	return part_of(f->waits.elapsed - f->tcp.busy, f->waits.elapsed);
}

/*
 * The table.
 */

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define DECIMAL DIGITS "-."

/* The bounds, the unit and the characters of each kind. */
static const struct kind {
	double least, most;
	bool whole;
	double factor;          /* from the member's unit to the key's */
	const char *characters; /* of the value in a receipt */
} kinds[] = {
	[FIGURE_COUNT] = {0, 1e18, true, 1, DIGITS}, /* of bytes, an exabyte */
	[FIGURE_NUMBER] = {0, 1e15, true, 1, DECIMAL},
	[FIGURE_CPUS] = {0, CPUS_MAX, false, 1, DECIMAL},
	[FIGURE_SECONDS] = {0, 1e9, false, 1, DECIMAL}, /* 30 years */
	[FIGURE_US] = {0, 1e15, false, 1, DECIMAL},
	[FIGURE_STALL] = {0, 1e15, false, 1, DECIMAL},
	[FIGURE_BYTES] = {0, 1e18, false, 1, DECIMAL},
	[FIGURE_RATE] = {0, 1e15, false, 1, DECIMAL},
	[FIGURE_BIT_RATE] = {0, 1e15, false, 1, DECIMAL},
	[FIGURE_COST] = {-1e15, 1e15, false, 1, DECIMAL},
	[FIGURE_LOAD] = {-100, 100, false, 100, DECIMAL},
	[FIGURE_CHANGE] = {-100, 100, false, 100, DECIMAL},
	[FIGURE_SHARE] = {0, 100, false, 100, DECIMAL},
	[FIGURE_WORD] = {.characters = LETTERS},
	[FIGURE_NAME] = {.characters = DIGITS LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ.+-_~:@,/"},
	[FIGURE_REASONS] = {.characters = DIGITS LETTERS "_,"},
	[FIGURE_BASELINE] = {.characters = ""}, /* no receipt has it, nor the next two */
	[FIGURE_PER_MIB] = {0, 1e15, false, 1, ""},
	[FIGURE_CPU_TIME] = {-1e15, 1e15, false, 1, ""},
	[FIGURE_CPU_SECONDS] = {-1e15, 1e15, false, 1, ""},
};

/* The kind of a figure, and where struct figures has it. */
#define NUMBER(k, member)   .kind = FIGURE_##k, .offset = offsetof(struct figures, member)
#define STRING(k, member)   NUMBER(k, member), .size = sizeof(((struct figures *)0)->member)
#define PART(member, whole) NUMBER(SHARE, member), .all = offsetof(struct figures, whole)
#define DERIVED(k, formula) .kind = FIGURE_##k, .derive = (formula)

/* The key of a figure that --save keeps, but no receipt of a peer has. */
#define KEPT(name) .receipt = (name), .is_kept = true

/* Its objects in JSON, its place in text, and its rule for sums. */
#define IN(set)       .objects = IN_##set
#define TEXT(g, text) .group = GROUP_##g, .label = (text)
#define ADDED         .sum = SUM_ADDED
#define OF_ONE        .sum = SUM_NONE
#define MOST          .sum = SUM_MOST

#define IN_TRANSFER   (IN_SENDER | IN_RECEIVER)
#define IN_THROUGHPUT (IN_TRANSFER | IN_INTERVAL | IN_REQUESTS)
#define IN_LOADS      (IN_HOST | IN_CPU | IN_INTERVAL)
#define IN_TCP        (IN_SENDER | IN_INTERVAL)

/* A group of a profile: its share of the CPUs, the half width of its interval, and the CPU time, all and of each KiB. */
#define GROUP_OF(which, name, text)                                                                \
	{name "_percent", "profile_" name, NUMBER(LOAD, host.profile.group[which]), IN(PROFILE)},  \
		{name "_uncertainty_percent", "profile_" name "_half",                             \
		 NUMBER(SHARE, host.profile.half[which]), IN(PROFILE)},                            \
		{name "_cpu_seconds", NULL, NUMBER(CPU_SECONDS, host.profile.group[which]),        \
		 .label = (text)},                                                                 \
		{name "_us_per_kib", NULL, NUMBER(CPU_TIME, host.profile.group[which]),            \
		 IN(PROFILE), TEXT(PROFILE, text)},

const struct figure figure_table[] = {
	/* What was moved. */
	{"bytes", "bytes", NUMBER(COUNT, bytes), IN(THROUGHPUT), TEXT(TRANSFER, "bytes"), ADDED},
	{"seconds", "seconds", NUMBER(SECONDS, seconds), .objects = IN_THROUGHPUT | IN_COMMAND,
	 TEXT(TRANSFER, "seconds")},
	{"kib_per_second", NULL, DERIVED(RATE, kib_per_second), TEXT(TRANSFER, "KiB/s")},
	{"bits_per_second", NULL, DERIVED(BIT_RATE, bits_per_second), IN(THROUGHPUT),
	 TEXT(TRANSFER, "bit rate")},
	{"files", "files", NUMBER(COUNT, files), IN(TRANSFER), ADDED},
	{"warmup_bytes", "warmup", NUMBER(COUNT, warmup), IN(TRANSFER), ADDED},
	{"method", "method", STRING(WORD, method), IN(TRANSFER), TEXT(TRANSFER, "method"),
	 .sum = SUM_SAME},
	{"calls", "reads", NUMBER(COUNT, calls), IN(TRANSFER), TEXT(TRANSFER, "calls"), ADDED},
	{NULL, NULL, DERIVED(RATE, calls_per_second), TEXT(TRANSFER, "calls/s")},
	{"bytes_per_call", NULL, DERIVED(RATE, bytes_of_call), TEXT(TRANSFER, "bytes/call")},
	{"mapped_bytes", "mapped", NUMBER(NUMBER, mapped), IN(RECEIVER), ADDED},
	{"mapped_percent", NULL, DERIVED(SHARE, figures_mapped),
	 TEXT(TRANSFER, "mapped, not copied")},
	{"cpu", "cpu", NUMBER(NUMBER, cpu), IN(TRANSFER), OF_ONE},
	{"longest_stall", "longest_stall", NUMBER(STALL, longest_stall), IN(TRANSFER),
	 TEXT(TRANSFER, "longest stall, ms"), MOST},
	{"stalls", "stalls", NUMBER(NUMBER, stalls), IN(TRANSFER),
	 TEXT(TRANSFER, "  stalls over 0.2 s"), ADDED},
	{NULL, "clients", NUMBER(COUNT, clients)},
	{NULL, "refused", STRING(WORD, refused)},

	/* Requests. */
	{"connections", KEPT("requests"), NUMBER(NUMBER, requests.n), IN(CONNECTIONS)},
	{"connections_per_second", NULL, DERIVED(RATE, requests_per_second), IN(CONNECTIONS)},
	{"cost_us_per_connection", NULL, DERIVED(COST, cost_of_request), IN(CONNECTIONS)},
	{"cost_uncertainty_us_per_connection", NULL, DERIVED(COST, cost_half_of_request),
	 IN(CONNECTIONS)},
	{"latency_p50_us", KEPT("p50"), NUMBER(US, requests.p50)},
	{"latency_p99_us", KEPT("p99"), NUMBER(US, requests.p99)},
	{"latency_p999_us", KEPT("p999"), NUMBER(US, requests.p999)},
	{"stalled_percent", NULL, PART(requests.stalled, requests.n)},
	{"connections_stalled", KEPT("stalled"), NUMBER(NUMBER, requests.stalled)},
	{"connections_failed", KEPT("failed"), NUMBER(NUMBER, requests.failed)},

	/* The load of the host. */
	{"load_percent", "load", NUMBER(LOAD, host.load), IN(LOADS), TEXT(LOAD, "load")},
	{"load_uncertainty_percent", "uncertainty", NUMBER(SHARE, host.uncertainty),
	 .objects = IN_HOST | IN_CPU},
	{"load_shared_percent", KEPT("shared"), NUMBER(SHARE, host.shared)},
	{"tasks_percent", "tasks", NUMBER(SHARE, host.tasks), IN(HOST),
	 TEXT(LOAD, "CPU time of tasks")},
	{"instrument", "instrument", STRING(WORD, host.instrument), IN(HOST),
	 TEXT(LOAD, "measured by")},
	{"idle_source", "idle_source", STRING(WORD, host.source), IN(HOST)},
	{"unsafe", "unsafe", NUMBER(REASONS, host.unsafe), IN(LOADS), TEXT(LOAD, "unsafe: why"),
	 ADDED},
	{"no_load", "no_load", STRING(WORD, host.no_load), IN(HOST)},
	{"cpus", "cpus", NUMBER(CPUS, host.cpus), IN(HOST), TEXT(LOAD, "CPUs measured")},
	{"slowed_percent", "slowed", NUMBER(CHANGE, host.slowed), IN(HOST), TEXT(LOAD, "slowed")},
	{"switches_per_second", "switches", NUMBER(RATE, host.switches), IN(HOST),
	 TEXT(LOAD, "switches/s")},
	{"cost_us_per_kib", NULL, DERIVED(COST, figures_cost), IN(LOADS),
	 TEXT(LOAD, "cost, us/KiB")},
	{"cost_uncertainty_us_per_kib", NULL, DERIVED(COST, cost_uncertainty),
	 .objects = IN_HOST | IN_CPU},
	{"cpu_seconds", NULL, NUMBER(CPU_SECONDS, host.load), IN(COMMAND)},
	{"cpu_seconds_uncertainty", NULL, DERIVED(CPU_SECONDS, cpu_seconds_uncertainty),
	 IN(COMMAND)},
	{"user_seconds", KEPT("user_seconds"), NUMBER(SECONDS, command.user), IN(COMMAND),
	 .label = "user, seconds"},
	{"system_seconds", KEPT("system_seconds"), NUMBER(SECONDS, command.system), IN(COMMAND),
	 .label = "system, seconds"},
	{"user_system_seconds", NULL, DERIVED(SECONDS, user_system_seconds), IN(COMMAND)},
	{"baseline", NULL, NUMBER(BASELINE, host.baseline), IN(HOST)},
	{"baseline_tasks_percent", KEPT("baseline_tasks"), NUMBER(SHARE, host.others), IN(HOST)},
	{"drift_percent", KEPT("drift"), NUMBER(CHANGE, host.drift), IN(HOST)},

	/* The counters of the host. */
	{"interrupts_per_second", "interrupts", NUMBER(RATE, host.rates.interrupts), IN(HOST),
	 TEXT(HOST, "interrupts/s")},
	{"timer_interrupts_per_second", "timer", NUMBER(RATE, host.rates.timer), IN(HOST)},
	{"reschedules_per_second", "reschedules", NUMBER(RATE, host.rates.reschedules), IN(HOST)},
	{"net_rx_per_second", "net_rx", NUMBER(RATE, host.rates.net_rx), IN(HOST)},
	{"net_tx_per_second", "net_tx", NUMBER(RATE, host.rates.net_tx), IN(HOST)},
	{"packets_in_per_second", "packets_in", NUMBER(RATE, host.rates.packets_in), IN(HOST),
	 TEXT(HOST, "packets/s in")},
	{"packets_out_per_second", "packets_out", NUMBER(RATE, host.rates.packets_out), IN(HOST),
	 TEXT(HOST, "packets/s out")},
	{"softnet_dropped", "softnet_dropped", NUMBER(RATE, host.rates.softnet_dropped), IN(HOST)},
	{"softnet_squeezed", "softnet_squeezed", NUMBER(RATE, host.rates.softnet_squeezed),
	 IN(HOST)},
	{"user", "user", NUMBER(SHARE, host.rates.cpu[CPU_USER]), IN(ACCOUNTING)},
	{"nice", "nice", NUMBER(SHARE, host.rates.cpu[CPU_NICE]), IN(ACCOUNTING)},
	{"system", "system", NUMBER(SHARE, host.rates.cpu[CPU_SYSTEM]), IN(ACCOUNTING)},
	{"idle", "idle", NUMBER(SHARE, host.rates.cpu[CPU_IDLE]), IN(ACCOUNTING)},
	{"iowait", "iowait", NUMBER(SHARE, host.rates.cpu[CPU_IOWAIT]), IN(ACCOUNTING)},
	{"irq", "irq", NUMBER(SHARE, host.rates.cpu[CPU_IRQ]), IN(ACCOUNTING)},
	{"softirq", "softirq", NUMBER(SHARE, host.rates.cpu[CPU_SOFTIRQ]), IN(ACCOUNTING)},
	{"steal", "steal", NUMBER(SHARE, host.rates.cpu[CPU_STEAL]), IN(ACCOUNTING)},

	/* What the CPUs did. */
	{"no_profile", "no_profile", STRING(WORD, host.no_profile), IN(HOST)},
	{"sampled_by", "profile_event", STRING(WORD, host.event), IN(PROFILE)},
	{"samples", "profile_samples", NUMBER(RATE, host.profile.samples), IN(PROFILE)},
	{"lost_samples_percent", "profile_lost", NUMBER(SHARE, host.profile.lost), IN(PROFILE)},
	{"sampled_percent", "profile_sampled", NUMBER(SHARE, host.profile.sampled), IN(PROFILE),
	 TEXT(PROFILE, "busy, of all samples")},
	{"profile_unsafe", "profile_unsafe", STRING(NAME, host.profile_unsafe), IN(PROFILE),
	 TEXT(PROFILE, "unsafe: why")},
	PROFILE_EACH(GROUP_OF)

	/* What a comparison counts for each MiB. */
	{"calls_per_mib", NULL, DERIVED(RATE, calls_per_mib), .label = "calls/MiB"},
	{"packets_in_per_mib", NULL, NUMBER(PER_MIB, host.rates.packets_in),
	 .label = "packets/MiB in"},
	{"packets_out_per_mib", NULL, NUMBER(PER_MIB, host.rates.packets_out),
	 .label = "packets/MiB out"},
	{"bytes_per_packet", NULL, DERIVED(RATE, bytes_of_packet), .label = "bytes/packet"},
	{"interrupts_per_mib", NULL, DERIVED(RATE, interrupts_per_mib), .label = "interrupts/MiB"},
	{"reschedules_per_mib", NULL, NUMBER(PER_MIB, host.rates.reschedules),
	 .label = "rescheduling interrupts/MiB"},
	{"net_rx_per_mib", NULL, NUMBER(PER_MIB, host.rates.net_rx),
	 .label = "NET_RX softirqs/MiB"},
	{"net_tx_per_mib", NULL, NUMBER(PER_MIB, host.rates.net_tx),
	 .label = "NET_TX softirqs/MiB"},
	{"switches_per_mib", NULL, NUMBER(PER_MIB, host.switches), .label = "switches/MiB"},
	{"tasks_us_per_kib", NULL, NUMBER(CPU_TIME, host.tasks),
	 .label = "CPU time of tasks, us/KiB"},

	/* The connection. */
	{"retransmits", KEPT("retransmits"), NUMBER(NUMBER, tcp.retransmits), IN(TCP),
	 TEXT(TCP, "retransmits"), ADDED},
	{"segments", KEPT("segments"), NUMBER(NUMBER, tcp.segments), IN(SENDER), ADDED},
	{"retransmit_percent", NULL, PART(tcp.retransmits, tcp.segments),
	 TEXT(TCP, "retransmitted")},
	{"rtt", KEPT("rtt"), NUMBER(US, tcp.rtt), IN(TCP), OF_ONE},
	{"mean_rtt", KEPT("mean_rtt"), NUMBER(US, waits.mean_rtt), IN(SENDER),
	 TEXT(TCP, "smoothed RTT, ms"), OF_ONE},
	{"rttvar", KEPT("rttvar"), NUMBER(US, tcp.rttvar), IN(TCP), OF_ONE},
	{"min_rtt", KEPT("min_rtt"), NUMBER(US, tcp.min_rtt), IN(SENDER),
	 TEXT(TCP, "minimum RTT, ms"), OF_ONE},
	{"max_rtt", KEPT("max_rtt"), NUMBER(US, waits.max_rtt), IN(SENDER),
	 TEXT(TCP, "smoothed maximum, ms"), MOST},
	{"snd_cwnd", KEPT("cwnd"), NUMBER(BYTES, tcp.cwnd), IN(TCP), OF_ONE},
	{"mean_snd_cwnd", KEPT("mean_cwnd"), NUMBER(BYTES, waits.mean_cwnd), IN(SENDER),
	 TEXT(TCP, "cwnd, KiB"), OF_ONE},
	{"max_snd_cwnd", KEPT("max_cwnd"), NUMBER(BYTES, waits.max_cwnd), IN(SENDER),
	 TEXT(TCP, "cwnd maximum, KiB"), MOST},
	{"snd_mss", KEPT("mss"), NUMBER(NUMBER, tcp.mss), IN(SENDER), TEXT(TCP, "MSS, bytes"),
	 .sum = SUM_SAME},
	{"pmtu", KEPT("pmtu"), NUMBER(NUMBER, tcp.pmtu), IN(TCP), OF_ONE},
	{"delivery_rate", KEPT("delivery_rate"), NUMBER(BIT_RATE, tcp.delivery_rate), IN(SENDER),
	 OF_ONE},
	{"busy_time", KEPT("busy"), NUMBER(US, tcp.busy), IN(SENDER), ADDED},
	{"rwnd_limited", KEPT("rwnd_limited"), NUMBER(US, tcp.rwnd_limited), IN(SENDER), ADDED},
	{"sndbuf_limited", KEPT("sndbuf_limited"), NUMBER(US, tcp.sndbuf_limited), IN(SENDER),
	 ADDED},
	{"cwnd_limited", KEPT("cwnd_limited"), NUMBER(US, waits.cwnd_limited), IN(SENDER), ADDED},
	{"pacing_limited", KEPT("pacing_limited"), NUMBER(US, waits.pacing_limited), IN(SENDER),
	 ADDED},
	{NULL, KEPT("elapsed"), NUMBER(US, waits.elapsed), ADDED},
	{"waited_for_receiver_percent", NULL, PART(tcp.rwnd_limited, waits.elapsed),
	 TEXT(WAITS, "receiver's window")},
	{"waited_for_sndbuf_percent", NULL, PART(tcp.sndbuf_limited, waits.elapsed),
	 TEXT(WAITS, "send buffer")},
	{"waited_for_cwnd_percent", NULL, PART(waits.cwnd_limited, waits.elapsed),
	 TEXT(WAITS, "congestion window")},
	{"waited_for_pacing_percent", NULL, PART(waits.pacing_limited, waits.elapsed),
	 TEXT(WAITS, "pacing")},
	{"waited_for_path_percent", NULL, DERIVED(SHARE, waited_for_path),
	 TEXT(WAITS, "path or this host")},
	{"waited_for_data_percent", NULL, DERIVED(SHARE, waited_for_data),
	 TEXT(WAITS, "data to send")},
	{"rcv_rtt", "rcv_rtt", NUMBER(US, tcp.rcv_rtt), IN(RECEIVER), OF_ONE},
	{"rcv_mss", "rcv_mss", NUMBER(NUMBER, tcp.rcv_mss), IN(RECEIVER), OF_ONE},
	{"rcv_ooopack", "out_of_order", NUMBER(NUMBER, tcp.rcv_ooo), IN(RECEIVER),
	 TEXT(TCP, "out of order"), OF_ONE},
	{"zerocopy_sends", KEPT("zerocopy_sends"), NUMBER(NUMBER, zerocopy.sends), IN(STREAM),
	 TEXT(TCP, "zerocopy sends"), ADDED},
	{"zerocopy_copied", KEPT("zerocopy_copied"), NUMBER(NUMBER, zerocopy.copied), IN(STREAM),
	 TEXT(TCP, "  copied by the kernel"), ADDED},
	{"zerocopy_copied_percent", NULL, PART(zerocopy.copied, zerocopy.sends),
	 .label = "zero-copy sends copied"},
	{"zerocopy_incomplete", KEPT("zerocopy_incomplete"), NUMBER(NUMBER, zerocopy.incomplete),
	 IN(STREAM), TEXT(TCP, "  never completed"), ADDED},

	{"tls_version", "tls_version", STRING(NAME, tls.version), IN(TRANSFER), .sum = SUM_SAME},
	{"tls_cipher", "tls", STRING(NAME, tls.cipher), IN(TRANSFER), TEXT(TCP, "TLS 1.3 cipher"),
	 .sum = SUM_SAME},
	{"tls_by", "tls_by", STRING(WORD, tls.place), IN(TRANSFER), TEXT(TCP, "  encrypted by"),
	 .sum = SUM_SAME},
	{"tls_records", "tls_records", NUMBER(NUMBER, tls.records), IN(TRANSFER),
	 TEXT(TCP, "  records"), ADDED},
	{"tls_bytes_per_record", NULL, DERIVED(RATE, bytes_of_record), TEXT(TCP, "  bytes/record")},
	{"tls_expect_no_pad", "tls_no_pad", NUMBER(NUMBER, tls.no_pad), IN(RECEIVER), OF_ONE},
	{"tls_decrypt_errors", "tls_errors", NUMBER(NUMBER, tls.decrypt_errors), IN(RECEIVER),
	 MOST},

	/* The other end's program. */
	{NULL, "version", STRING(NAME, version)},
	{NULL, "kernel", STRING(NAME, kernel)},
	{NULL, "boot", STRING(NAME, boot), .sum = SUM_SAME},
	{"cpu_model", "cpu_model", STRING(NAME, setup.cpu_model), IN(ENVIRONMENT)},
	{"preempt_model", "preempt", STRING(NAME, setup.preempt), IN(ENVIRONMENT)},
	{"hz", "hz", NUMBER(NUMBER, setup.hz), IN(ENVIRONMENT)},
	{"clocksource", "clocksource", STRING(NAME, setup.clocksource), IN(ENVIRONMENT)},
	{"cmdline_hash", "cmdline", STRING(NAME, setup.cmdline), IN(ENVIRONMENT)},
	{"mitigations_hash", "mitigations", STRING(NAME, setup.mitigations), IN(ENVIRONMENT)},
	{"mtu", "mtu", NUMBER(NUMBER, setup.mtu), IN(ENVIRONMENT)},
	{"offloads", "offloads", STRING(NAME, setup.offloads), IN(ENVIRONMENT)},
	{"qdisc", "qdisc", STRING(NAME, setup.qdisc), IN(ENVIRONMENT)},
	{"rps", "rps", STRING(NAME, setup.rps), IN(ENVIRONMENT)},
	{"xps", "xps", STRING(NAME, setup.xps), IN(ENVIRONMENT)},
	{"tcp_rmem", "tcp_rmem", STRING(NAME, setup.tcp_rmem), IN(ENVIRONMENT)},
	{"tcp_wmem", "tcp_wmem", STRING(NAME, setup.tcp_wmem), IN(ENVIRONMENT)},
	{"tcp_notsent_lowat", "notsent_lowat", NUMBER(NUMBER, setup.tcp_notsent_lowat),
	 IN(ENVIRONMENT)},
	{"rmem_max", "rmem_max", NUMBER(NUMBER, setup.rmem_max), IN(ENVIRONMENT)},
	{"wmem_max", "wmem_max", NUMBER(NUMBER, setup.wmem_max), IN(ENVIRONMENT)},
	{"default_qdisc", "default_qdisc", STRING(NAME, setup.default_qdisc), IN(ENVIRONMENT)},
	{"netdev_budget", "netdev_budget", NUMBER(NUMBER, setup.netdev_budget), IN(ENVIRONMENT)},
	{"busy_poll", "busy_poll", NUMBER(NUMBER, setup.busy_poll), IN(ENVIRONMENT)},
};
const int figure_rows = (int)(sizeof(figure_table) / sizeof(figure_table[0]));

const struct figure *figure_named(const char *key)
{
	const struct figure *row;

	for (row = figure_table; row < figure_table + figure_rows; row++)
		if (row->key != NULL && strcmp(row->key, key) == 0)
			return row;
	die("%s: no figure has this key", key);
}

/* Whether the figure is stored as a double. */
static bool is_double(const struct figure *row)
{
	return row->derive == NULL && row->kind > FIGURE_COUNT && row->kind < FIGURE_WORD;
}

const void *figure_member(const struct figure *row, const struct figures *f)
{
	return (const char *)f + row->offset;
}

double figure_value(const struct figure *row, const struct figures *f)
{
	const double *number = figure_member(row, f), *all;

	if (row->derive != NULL)
		return row->derive(f);
	if (row->kind == FIGURE_COUNT)
		return (double)*(const uint64_t *)figure_member(row, f);
	if (row->kind == FIGURE_PER_MIB)
		return per_mib(f, *number);
	if (row->kind == FIGURE_CPU_TIME)
		return cpu_time_each(f, *number, (double)f->bytes / 1024);
	if (row->kind == FIGURE_CPU_SECONDS)
		return cpu_time_each(f, *number, 1e6);
	if (!is_double(row))
		return NAN;
	all = (const void *)((const char *)f + row->all);
	return row->all == 0 ? *number : part_of(*number, *all);
}

double figure_factor(const struct figure *row)
{
	return kinds[row->kind].factor;
}

void name_copy(char *to, size_t size, const char *text)
{
	const char *characters = kinds[FIGURE_NAME].characters;
	char *c;

	if (strlen(text) < size)
		strcpy(to, text);
	else
		snprintf(to, size, "%s", hash_text(text, (char[HASH_SIZE]){""}));
	for (c = to; *c != '\0'; c++)
		if (strchr(characters, *c) == NULL)
			*c = '_';
}

bool figure_is_possible(enum figure_kind kind, double value)
{
	const struct kind *k = &kinds[kind];

	return value >= k->least && value <= k->most && (!k->whole || value == floor(value));
}

/*
 * All figures of one end.
 */

const struct figures *figures_of_host(const struct figures *sent, const struct figures *received)
{
	const bool by_receiver = received != NULL && isnan(sent->host.load) &&
				 (!isnan(received->host.load) ||
				  !no_load_is_told(sent->host.no_load));

	return by_receiver ? received : sent;
}

void figures_init(struct figures *f)
{
	const double nan = NAN;
	int i;

	memset(f, 0, sizeof(*f));
	load_init(&f->host);
	for (i = 0; i < figure_rows; i++)
		if (is_double(&figure_table[i]))
			memcpy((char *)f + figure_table[i].offset, &nan, sizeof(nan));
}

/* Stores the sum of a figure of two streams or clients. */
static void add_row(const struct figure *row, struct figures *sum, const struct figures *a,
		    const struct figures *b)
{
	const double first = figure_value(row, a), second = figure_value(row, b);
	void *member = (char *)sum + row->offset;

	if (row->sum == SUM_ADDED && row->kind == FIGURE_COUNT)
		*(uint64_t *)member = *(const uint64_t *)figure_member(row, a) +
				      *(const uint64_t *)figure_member(row, b);
	else if (row->sum == SUM_ADDED && row->kind == FIGURE_REASONS)
		sum->host.unsafe = a->host.unsafe | b->host.unsafe;
	else if (row->sum == SUM_ADDED)
		*(double *)member = first + second;
	else if (row->sum == SUM_SAME && row->size > 0)
		strcpy(member, strcmp(figure_member(row, a), figure_member(row, b)) == 0
				       ? figure_member(row, a)
				       : "");
	else if (row->sum == SUM_MOST)
		*(double *)member = fmax(first, second);
	else if (row->sum == SUM_NONE || (row->sum == SUM_SAME && first != second))
		*(double *)member = NAN;
}

void figures_add(struct figures *sum, const struct figures *f)
{
	const struct figures before = *sum;
	const bool is_first = isnan(before.seconds);
	int i;

	if (is_first || f->seconds >= before.seconds)
		*sum = *f;
	for (i = 0; i < figure_rows && !is_first; i++)
		add_row(&figure_table[i], sum, &before, f);
}

/*
 * Receipts.
 */

static bool has_characters(enum figure_kind kind, const char *value)
{
	return *value != '\0' && value[strspn(value, kinds[kind].characters)] == '\0';
}

/* The value of a figure with these decimals; an empty string if it is not known, or a receipt cannot have it. */
static const char *value_text(const struct figure *row, const struct figures *f, int places)
{
	const void *member = figure_member(row, f);
	const double number = figure_value(row, f);

	switch (row->kind) {
	case FIGURE_WORD:
	case FIGURE_NAME: return has_characters(row->kind, member) ? member : "";
	case FIGURE_REASONS: return limits_format(f->host.unsafe);
	case FIGURE_COUNT: return text_of("%" PRIu64, *(const uint64_t *)member);
	default:
		return figure_is_possible(row->kind, number) ? text_of("%.*f", places, number) : "";
	}
}

/* Writes the receipt of a peer, or one that is `kept`, in which a share has more digits. */
static size_t format(const struct figures *f, bool kept, char *buf, size_t size)
{
	const struct figure *row;
	const char *value;
	size_t len = 0;

	for (row = figure_table; row < figure_table + figure_rows; row++) {
		value = row->receipt == NULL || (row->is_kept && !kept)
				? ""
				: value_text(row, f, kept ? 9 : 6);
		if (*value != '\0')
			len += (size_t)snprintf(buf + len, size - len, "%s=%s ", row->receipt,
						value);
	}
	return len;
}

size_t receipt_format(const struct figures *f, char *buf)
{
	const size_t len = format(f, false, buf, RECEIPT_MAX);

	buf[len - 1] = '\n';
	return len;
}

const char *receipt_format_kept(const struct figures *f)
{
	static _Thread_local char buf[KEPT_MAX];

	buf[format(f, true, buf, sizeof(buf)) - 1] = '\0';
	return buf;
}

/* Stores the value of a key; returns false if the key cannot have it. */
static bool receipt_set(struct figures *f, const struct figure *row, const char *value)
{
	void *member = (char *)f + row->offset;
	char *end;

	if (!has_characters(row->kind, value))
		return false;
	switch (row->kind) {
	case FIGURE_WORD:
	case FIGURE_NAME: return (size_t)snprintf(member, row->size, "%s", value) < row->size;
	case FIGURE_REASONS: return limits_parse(value, member);
	case FIGURE_COUNT: *(uint64_t *)member = strtoull(value, &end, 10); break;
	default: *(double *)member = strtod(value, &end);
	}
	return *end == '\0' && figure_is_possible(row->kind, figure_value(row, f));
}

/* A receipt that is being read. */
struct reading {
	struct figures *f;
	bool kept;
	bool seen[sizeof(figure_table) / sizeof(figure_table[0])]; /* it has had the key of a row */
	int next; /* the row behind that of the last key: the keys are mostly in the order of the rows */
};

/* The row of a key, or NULL. */
static const struct figure *row_of(struct reading *r, const char *key)
{
	const struct figure *row;
	int i;

	for (i = 0; i < figure_rows; i++) {
		row = &figure_table[(r->next + i) % figure_rows];
		if (row->receipt == NULL || (row->is_kept && !r->kept) ||
		    strcmp(key, row->receipt) != 0)
			continue;
		r->next = (int)(row - figure_table) + 1;
		return row;
	}
	return NULL;
}

/* Reads the string `key=value`. */
static bool receipt_pair(struct reading *r, char *pair)
{
	char *value = strchr(pair, '=');
	const struct figure *row;

	if (value == NULL || value == pair || value[1] == '\0')
		return false;
	*value++ = '\0';
	if (pair[strspn(pair, LETTERS DIGITS "_")] != '\0')
		return false;
	row = row_of(r, pair);
	if (row == NULL)
		return true;
	if (r->seen[row - figure_table])
		return false;
	r->seen[row - figure_table] = true;
	return receipt_set(r->f, row, value);
}

/* Reads a receipt without its newline. */
static const char *parse(char *line, bool kept, struct figures *f)
{
	struct reading r = {.f = f, .kept = kept};
	char *pair;

	figures_init(f);
	while ((pair = strsep(&line, " ")) != NULL)
		if (!receipt_pair(&r, pair))
			return "has a bad key=value";
	if (!(r.seen[0] && r.seen[1]) && f->refused[0] == '\0')
		return "lacks bytes or seconds";
	if (isnan(f->host.cpus) || f->host.cpus < 1)
		f->host.load = NAN; /* a load is a share of CPUs */
	return NULL;
}

const char *receipt_parse(const char *buf, size_t len, struct figures *f)
{
	char line[RECEIPT_MAX];
	size_t i;

	figures_init(f);
	if (len == 0 || len > sizeof(line) || buf[len - 1] != '\n')
		return "is not one line";
	for (i = 0; i < len - 1; i++)
		if (buf[i] < ' ' || buf[i] > '~')
			return "has characters that are not text";
	memcpy(line, buf, len);
	line[len - 1] = '\0';
	return parse(line, false, f);
}

const char *receipt_parse_kept(char *text, struct figures *f)
{
	return parse(text, true, f);
}
