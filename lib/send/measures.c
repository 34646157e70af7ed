#include "lib/send/measures.h"

static const struct run_key keys[] = {
	[RUN_SETTING] = {.name = "setting"},
	[RUN_WORDS] = {.name = "words"},
	[RUN_NAME] = {.name = "name"},
	[RUN_INSTRUMENT] = {.name = "instrument"},
	[RUN_METHOD] = {.name = "method"},
	[RUN_SIZE] = {.name = "blksize", .is_number = true},
	[RUN_REQUEST] = {.name = "request_bytes", .is_number = true},
	[RUN_STREAMS] = {.name = "num_streams", .is_number = true},
	[RUN_PORT] = {.name = "port"},
	[RUN_VS] = {.name = "vs"},
};

/* What is counted for each MiB, of the host of an end. */
#define COUNT(of, key)                                                                             \
	{                                                                                          \
		key, of, .is_of_host = true, .is_of_bytes = true, .part = PART_COUNT               \
	}
#define COUNTS(of)                                                                                 \
	{"calls_per_mib", of, .is_of_bytes = true, .part = PART_COUNT},                            \
		COUNT(of, "packets_in_per_mib"), COUNT(of, "packets_out_per_mib"),                 \
		COUNT(of, "bytes_per_packet"), COUNT(of, "interrupts_per_mib"),                    \
		COUNT(of, "reschedules_per_mib"), COUNT(of, "net_rx_per_mib"),                     \
		COUNT(of, "net_tx_per_mib"), COUNT(of, "switches_per_mib"),                        \
		COUNT(of, "tasks_us_per_kib")

/* A group of a profile, of this host and of the other end. */
#define GROUP(which, key, name)        {key "_us_per_kib", 0, true, .part = PART_GROUP},
#define REMOTE_GROUP(which, key, name) {key "_us_per_kib", 1, true, .part = PART_GROUP},

/* A percentile of the latencies of requests. */
#define PERCENTILE(name, digits, which)                                                            \
	{                                                                                          \
		"latency_p" digits "_us", .is_of_requests = true, .is_aside = true,                \
					  .title = "p" name ", us",                                \
					  .ratio_key = "p" digits "_ratio", .verb = "has",         \
					  .times = "times the " which                              \
	}

static const struct measure measures[] = {
	[RATE] = {"bits_per_second", .is_of_bytes = true, .title = "KiB/s",
		  .ratio_key = "throughput_ratio", .verb = "has",
		  .times = "times the throughput of"},
	[REQUEST_RATE] = {"connections_per_second", .is_of_requests = true, .title = "requests/s",
			  .ratio_key = "rate_ratio", .verb = "has",
			  .times = "times the requests per second of"},
	[P50] = PERCENTILE("50", "50", "median latency of"),
	[P99] = PERCENTILE("99", "99", "99th percentile of the latency of"),
	[P999] = PERCENTILE("99.9", "999", "99.9th percentile of the latency of"),
	[STALLED] = {"stalled_percent", .is_of_requests = true, .is_aside = true,
		     .title = "stalled"},
	[LOAD] = {"load_percent", .is_of_load = true, .title = "load"},
	[COST] = {"cost_us_per_kib", .is_of_load = true, .is_of_bytes = true,
		  .title = "cost, us/KiB", .ratio_key = "cost_ratio", .verb = "costs",
		  .times = "times as much as"},
	[REQUEST_COST] = {"cost_us_per_connection", .is_of_load = true, .is_of_requests = true,
			  .title = "cost, us/request", .ratio_key = "cost_ratio", .verb = "costs",
			  .times = "times as much as"},
	[REMOTE_LOAD] = {"load_percent", 1, true, .title = "receiver: load"},
	[REMOTE_COST] = {"cost_us_per_kib", 1, true, .is_of_bytes = true, .title = "cost, us/KiB",
			 .ratio_key = "cost_ratio", .verb = "costs the receiver",
			 .times = "times as much as"},
	[REMOTE_REQUEST_COST] = {"cost_us_per_connection", 1, true, .is_of_requests = true,
				 .title = "cost, us/request", .ratio_key = "cost_ratio",
				 .verb = "costs the receiver", .times = "times as much as"},
	[UNCERTAINTY] = {"load_uncertainty_percent", .is_of_load = true},
	[REMOTE_UNCERTAINTY] = {"load_uncertainty_percent", 1, .is_of_load = true},
	[SHARED] = {"load_shared_percent", .is_of_load = true},
	[DRIFT] = {"drift_percent", .is_of_load = true},
	PROFILE_EACH(GROUP)
	/* Of the other end. */
	PROFILE_EACH(REMOTE_GROUP)
	/* What may explain a difference; what is mapped is known to the receiver. */
	{"bytes_per_call", .part = PART_WHY},
	{"mapped_percent", 1, .part = PART_WHY},
	{"retransmit_percent", .part = PART_WHY},
	{"waited_for_receiver_percent", .part = PART_WHY},
	{"waited_for_sndbuf_percent", .part = PART_WHY},
	{"waited_for_cwnd_percent", .part = PART_WHY},
	{"waited_for_pacing_percent", .part = PART_WHY},
	{"waited_for_path_percent", .part = PART_WHY},
	{"waited_for_data_percent", .part = PART_WHY},
	{"zerocopy_copied_percent", .part = PART_WHY},
	/* What is counted. */
	COUNTS(0),
	COUNTS(1),
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const struct condition setup[] = {
	{"congestion", "congestion control %s"},
	{"--time", "%s s"},
	{"--pace", "paced to %s bytes/s"},
	{"interface", "interface %s"},
	{"mtu", "MTU %s"},
	{"offloads", "offloads %s"},
	{"cpu_model", "%s"},
	{"cpus_online", "%s CPUs"},
	{"hz", "%s Hz"},
	{"preempt_model", "preemption: %s"},
	{NULL, NULL},
};

const struct plan_kind trials_kind = {
	.program = "zcc",
	.measure = measures,
	.measures = LENGTH(measures),
	.key = keys,
	.keys = LENGTH(keys),
	.setup = setup,
};
