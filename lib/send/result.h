/*
 * result.h: what a transfer measured: the figures that its report prints.
 */
#pragma once

#include "lib/report/figures.h"
#include "lib/send/fileset.h"
#include "lib/send/target.h"

/* The sends by MSG_ZEROCOPY: all, those that the kernel copied, and those not completed yet. */
struct zerocopy_figures {
	uint64_t sends, copied, incomplete;
};

struct stream_result {
	struct sockaddr_storage local; /* this end of the connection; all 0: not known */
	struct figures sent, received;
	bool has_receipt, has_zerocopy; /* without a receipt nothing is known of `received` */
	struct zerocopy_figures zerocopy;
};

/* The load of one CPU. */
struct cpu_result {
	int id;
	struct load load;
	const char *role; /* "sender", "receiver", "both" or "" */
};

struct send_result {
	const struct target *target;
	const struct fileset *set;
	char congestion[16];
	size_t chunk;            /* the most bytes asked of one call */
	bool mptcp;              /* the first connection is of Multipath TCP */
	int mss, sndbuf, rcvbuf; /* of the first connection, bytes */
	uint64_t loops;          /* complete, of all streams */
	struct stream_result *stream;
	struct figures sent, received; /* of all streams */
	int receipts;
	uint64_t missing; /* bytes by which the ends differ, the warm-up's included */
	bool local;       /* both ends are on this host, so that its load is that of both */
	struct cpu_result *cpu;
	int n_cpus; /* 0: the streams were not bound, or no load was measured */
};
