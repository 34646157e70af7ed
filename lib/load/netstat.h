/*
 * netstat.h: the kernel's counters of TCP in this network namespace, as nstat(8) prints them.
 *
 *	netstat_read(&from);
 *	...
 *	netstat_read(&to);
 *	rise = netstat_between(&from, &to);
 */
#pragma once

#include "lib/load/counters.h"

/* Counts since the boot, or between two readings; COUNTER_UNKNOWN: not known. */
struct netstat {
	uint64_t retransmits;     /* segments, SYNs included (RetransSegs of /proc/net/snmp) */
	uint64_t syn_retransmits; /* SYNs and their answers (TCPSynRetrans of /proc/net/netstat) */
	uint64_t timeouts;        /* retransmission timers that expired (TCPTimeouts) */
	uint64_t overflows;       /* connections that met a full accept queue (ListenOverflows) */
};

void netstat_read(struct netstat *n);

/*
 * Reads one counter of a file of that form, in which a line of names is followed by a line of
 * values, and both begin with `group`, such as "TcpExt:".
 */
uint64_t netstat_find(FILE *f, const char *group, const char *name);

struct netstat netstat_between(const struct netstat *from, const struct netstat *to);
