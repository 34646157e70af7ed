/*
 * result.h: what a transfer measured: the figures that its report prints, and what they say of the transfer.
 *
 *	why = result_check(&result, streams, buf);
 *	host = result_host(&result);
 */
#pragma once

#include "lib/report/stalls.h"
#include "lib/send/fileset.h"
#include "lib/send/run.h"
#include "lib/send/sender.h"

struct stream_result {
	struct sockaddr_storage local; /* this end of the connection; all 0: not known */
	struct figures sent, received;
	bool has_receipt; /* without one nothing is known of `received` */
};

/* The load and the cost of one CPU. */
struct cpu_result {
	int id;
	struct figures figures;
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
	struct stalls stalls; /* of all streams */
	struct pauses pauses; /* of the main thread */
	uint64_t start_ns;    /* when they began */
	bool local;           /* both ends are on this host, so that its load is that of both */
	struct cpu_result *cpu;
	int n_cpus; /* 0: the streams were not bound, or no load was measured */
};

/*
 * Compares each stream with its receipt.  Returns NULL if they agree, or none has one, as with a server
 * of 2001; else what is wrong, which is stored in `why`.
 */
const char *result_check(const struct send_result *res, int streams, char why[DIE_MAX]);

/*
 * The figures that have the load of this host.  Where both ends are on it, either may have measured the load
 * of both, or know why there is none.
 */
const struct figures *result_host(const struct send_result *res);

#define RECEIPTS_STRLEN 64 /* enough for result_receipts_text() */

/* `1 of 4 streams has no receipt`, where some have one; an empty string where all or none have. */
const char *result_receipts_text(const struct send_result *res, int streams,
				 char buf[RECEIPTS_STRLEN]);
