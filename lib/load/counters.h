/*
 * counters.h: the kernel's own counters of the host, of an interface, of TCP and of a connection.
 *
 *	counters_read(&from, "eth0");
 *	...
 *	counters_read(&to, "eth0");
 *	counters_rates(&from, &to, &rates);
 */
#pragma once

#include <net/if.h>

#include "lib/load/cputime.h"

/*
 * Between two readings, per second or as a share of all CPU time (0 to 1); at one reading, the number
 * since the boot.  NAN: not known.
 */
struct rates {
	double interrupts;         /* all of the host's, the timer's included (/proc/stat, intr) */
	double timer, reschedules; /* of these the local timers', and those that wake another CPU */
	double net_tx, net_rx;     /* softirqs of the network (/proc/stat, softirq) */
	cpu_times cpu;             /* of all CPUs; in seconds at one reading */
	double packets_in, packets_out; /* of the interface (/proc/net/dev) */
	/* Of all CPUs: packets dropped as a CPU's backlog was full, and polls cut short (softnet_stat). */
	double softnet_dropped, softnet_squeezed; /* not per second */
};

/* The counters at a moment. */
struct counters {
	uint64_t ns;                 /* the moment, of now_ns() */
	char interface[IF_NAMESIZE]; /* empty: none */
	struct rates total;
};

/* Reads all counters; those of the interface are not known if `interface` is NULL or empty. */
void counters_read(struct counters *c, const char *interface);

#define RECENT_NS 100000000u /* that a reading is used again */

/* Readings that clients share: to read the counters takes longer the more CPUs there are. */
struct recent_counters {
	pthread_mutex_t lock;
	struct counters last; /* ns is 0 before the first */
};

/* Stores a reading of this interface of at most RECENT_NS ago; it may be empty.  Any thread may call it. */
void counters_recent(struct recent_counters *r, const char *interface, struct counters *c);

/*
 * Adds what a line of /proc/net/softnet_stat has of a CPU in hexadecimal: the second and the third
 * number (net/core/net-procfs.c).
 */
void counters_add_softnet(char *line, struct counters *c);

/* Adds what a line of /proc/interrupts has of local timers or of rescheduling, if it is about either. */
void counters_add_interrupts(char *line, struct counters *c);

/* The rates between two readings.  In less than 0.1 s the shares of CPU time are not known. */
void counters_rates(const struct counters *from, const struct counters *to, struct rates *r);

/*
 * The kernel's counters of TCP in this network namespace, as nstat(8) prints them: since the boot, or
 * between two readings (rises_between()); NAN: not known.
 */
struct netstat {
	double retransmits;     /* segments, SYNs included (RetransSegs of /proc/net/snmp) */
	double syn_retransmits; /* SYNs and their answers (TCPSynRetrans of /proc/net/netstat) */
	double timeouts;        /* retransmission timers that expired (TCPTimeouts) */
	double overflows;       /* connections that met a full accept queue (ListenOverflows) */
};

void netstat_read(struct netstat *n);

/*
 * Stores the counters that a line of names has, of which the next line of the file has the values.  It
 * cuts both into words.
 */
void netstat_parse(char *names, char *values, struct netstat *n);

/*
 * The kernel's figures of a connection: TCP_INFO (tcp(7), linux/tcp.h).  A member that an older
 * kernel lacks is 0; all are NAN where TCP_INFO fails.
 */
struct tcp_figures {
	double retransmits;          /* segments, since it was opened */
	double segments;             /* with data that were sent since then, these included */
	double acked;                /* bytes, and one for the FIN; NAN where it is missing */
	double rtt, rttvar, min_rtt; /* us, smoothed */
	double cwnd;                 /* congestion window, bytes */
	double window, in_flight;    /* the same in segments, and those that are under way */
	double unsent;               /* bytes in the socket that were not sent yet */
	double mss, pmtu;            /* bytes: of what is sent, and of the path */
	double delivery_rate;        /* bits/s, the last that was measured */
	double busy;                 /* us in which there was something to send */
	double rwnd_limited;   /* us of those in which the receiver's window limited sending */
	double sndbuf_limited; /* us of those in which the send buffer limited sending */
	double rcv_rtt;        /* us, as the receiver estimates it */
	double rcv_mss;        /* bytes of the segments that came */
	double rcv_ooo;        /* packets that came out of order */
};

/*
 * Reads the figures of the socket fd.  Of Multipath TCP over several subflows only `acked` is known;
 * `mptcp` is false where the socket cannot be one of that, which saves a system call.
 */
void tcp_figures_read(int fd, bool mptcp, struct tcp_figures *t);

/* Sets every member of a struct that has nothing but doubles to NAN; `size` is the struct's. */
void set_unknown(void *doubles, size_t size);

/* Adds each member of such a struct to a sum. */
void sums_add(void *sum, const void *one, size_t size);

/*
 * Stores by how much each member of such a struct rose.  Counters of the kernel may step back: idle and
 * iowait do when a CPU goes offline.
 */
void rises_between(const void *from, const void *to, void *between, size_t size);
