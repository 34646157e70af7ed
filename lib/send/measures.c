#include "lib/send/measures.h"

/* Bytes of a call, in units of 1024 as the options have them. */
static void append_size(char name[PLAN_NAME], const char *value, bool begins)
{
	uint64_t bytes = strtoull(value, NULL, 10);
	int unit = 0;

	for (; unit < 4 && bytes > 0 && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	string_append(name, PLAN_NAME, "%" PRIu64 "%.*s%s", bytes, unit > 0, &" kmgt"[unit],
		      begins ? " a call" : "");
}

static void append_streams(char name[PLAN_NAME], const char *value, bool begins)
{
	(void)begins;
	string_append(name, PLAN_NAME, "%s stream%s", value, plural(strtoull(value, NULL, 10)));
}

static void append_receiver(char name[PLAN_NAME], const char *value, bool begins)
{
	(void)begins;
	string_append(name, PLAN_NAME, "to %s", value);
}

static void append_port(char name[PLAN_NAME], const char *value, bool begins)
{
	(void)begins;
	string_append(name, PLAN_NAME, "to port %s", value);
}

/* Of several receivers the method is known once the first run is over. */
static const struct factor factors[] = {
	[METHOD] = {"method", .is_named = true, .append = factor_append},
	[BUFFER_SIZE] = {"blksize", .is_number = true, .append = append_size},
	[STREAMS] = {"num_streams", .is_number = true, .follows_comma = true,
		     .append = append_streams},
	[INSTRUMENT] = {"instrument", .is_any = true, .follows_comma = true,
			.append = factor_append_instrument},
	[PORT] = {"port", .is_any = true, .is_apart = true, .append = append_port},
	[RECEIVER_METHOD] = {"receiver_method", .is_any = true, .is_apart = true,
			     .alias = &factors[PORT], .append = append_receiver},
	[SETTING] = {"setting", .follows_comma = true, .append = factor_append},
	[VS] = {"vs", .follows_comma = true, .is_label = true, .append = factor_append},
};

/* What is counted for each MiB, of the host of an end. */
#define COUNT(of, key, who, what)                                                                  \
	{                                                                                          \
		key, of, .is_of_host = true, .count = who what                                     \
	}
#define COUNTS(of, who)                                                                            \
	{"calls_per_mib", of, .count = who "calls/MiB"},                                           \
		COUNT(of, "packets_in_per_mib", who, "packets/MiB in"),                            \
		COUNT(of, "packets_out_per_mib", who, "packets/MiB out"),                          \
		COUNT(of, "bytes_per_packet", who, "bytes/packet"),                                \
		COUNT(of, "interrupts_per_mib", who, "interrupts/MiB"),                            \
		COUNT(of, "reschedules_per_mib", who, "rescheduling interrupts/MiB"),              \
		COUNT(of, "net_rx_per_mib", who, "NET_RX softirqs/MiB"),                           \
		COUNT(of, "net_tx_per_mib", who, "NET_TX softirqs/MiB"),                           \
		COUNT(of, "switches_per_mib", who, "switches/MiB"),                                \
		COUNT(of, "tasks_us_per_kib", who, "CPU time of tasks, us/KiB")

/* A group of a profile, of this host and of the other end. */
#define GROUP(which, key, name)        {key "_us_per_kib", 0, true, .group = (name)},
#define REMOTE_GROUP(which, key, name) {key "_us_per_kib", 1, true, .group = (name)},

static const struct measure measures[] = {
	[RATE] = {"bits_per_second", .title = "KiB/s", .ratio_key = "throughput_ratio",
		  .verb = "has", .times = "times the throughput of"},
	[LOAD] = {"load_percent", .is_of_load = true, .title = "load"},
	[COST] = {"cost_us_per_kib", .is_of_load = true, .title = "cost, us/KiB",
		  .ratio_key = "cost_ratio", .verb = "costs", .times = "times as much as"},
	[REMOTE_LOAD] = {"load_percent", 1, true, .title = "receiver: load"},
	[REMOTE_COST] = {"cost_us_per_kib", 1, true, .title = "cost, us/KiB",
			 .ratio_key = "cost_ratio", .verb = "costs the receiver",
			 .times = "times as much as"},
	[UNCERTAINTY] = {"load_uncertainty_percent", .is_of_load = true},
	[REMOTE_UNCERTAINTY] = {"load_uncertainty_percent", 1, .is_of_load = true},
	[SHARED] = {"load_shared_percent", .is_of_load = true},
	[DRIFT] = {"drift_percent", .is_of_load = true},
	PROFILE_EACH(GROUP)
	/* Of the other end. */
	PROFILE_EACH(REMOTE_GROUP)
	/* What is counted. */
	COUNTS(0, ""),
	COUNTS(1, "receiver: "),
};

/* What --save of 1.0.0 wrote. */
static const struct alias aliases[] = {
	{"buffer_bytes", "blksize", 1},
	{"streams", "num_streams", 1},
	{"kib_per_second", "bits_per_second", 8 * 1024},
	{"receiver_load_percent", "remote_load_percent", 1},
	{"receiver_load_uncertainty_percent", "remote_load_uncertainty_percent", 1},
	{"receiver_cost_us_per_kib", "remote_cost_us_per_kib", 1},
	{"receiver_unsafe", "remote_unsafe", 0},
	{"pace_bytes_per_second", "pace", 1},
	{"seconds", "duration", 1},
	{"warmup_seconds", "omit", 1},
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const char *const setup[] = {"congestion", "duration",      "pace",      "interface",
				    "mtu",        "offloads",      "cpu_model", "cpus_online",
				    "hz",         "preempt_model", NULL};

_Static_assert(LENGTH(measures) <= 64, "verdict.c has a set of them");

const struct plan_kind trials_kind = {
	"zcc",           factors,
	measures,        aliases,
	LENGTH(factors), LENGTH(measures),
	LENGTH(aliases), .instrument = INSTRUMENT,
	.setup = setup,  .witness = "files",
};
