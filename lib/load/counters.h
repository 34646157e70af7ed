/*
 * counters.h: the kernel's own counters of the host, of an interface and of a connection.
 *
 *	counters_read(&from, "eth0");
 *	...
 *	counters_read(&to, "eth0");
 *	counters_rates(&from, &to, &rates);
 */
#ifndef ZC_LOAD_COUNTERS_H
#define ZC_LOAD_COUNTERS_H

#include <stdint.h>

#include "common.h"

/* The columns of the cpu line of /proc/stat (proc_stat(5)) that a report shows. */
enum {
	CPU_USER,
	CPU_NICE,
	CPU_SYSTEM,
	CPU_IDLE,
	CPU_IOWAIT,
	CPU_IRQ,
	CPU_SOFTIRQ,
	CPU_STEAL,
	CPU_COLUMNS
};

extern const char *const cpu_column[CPU_COLUMNS]; /* their names */

#define COUNTER_UNKNOWN UINT64_MAX /* it is missing, or could not be read */

struct counters {
	uint64_t ns;               /* when they were read */
	uint64_t interrupts;       /* all of the host's, the timer's included (/proc/stat, intr) */
	uint64_t cpu[CPU_COLUMNS]; /* clock ticks over all CPUs */
	uint64_t packets_in;       /* of the interface (/proc/net/dev) */
	uint64_t packets_out;
};

/* Between two readings, per second or as a share of all CPU time (0 to 1).  NAN: not known. */
struct rates {
	double interrupts;
	double cpu[CPU_COLUMNS];
	double packets_in;
	double packets_out;
};

/* Reads them all; `interface` may be NULL. */
void counters_read(struct counters *c, const char *interface);

/* The shares are not known, either, where the time is too short for them, less than 0.1 s. */
void counters_rates(const struct counters *from, const struct counters *to, struct rates *r);

/*
 * What the kernel knows of a connection: TCP_INFO (tcp(7), linux/tcp.h).  What it does not tell,
 * being older, is 0; all is NAN where it tells nothing.
 */
struct tcp_figures {
	double retransmits;          /* segments, since it was opened */
	double acked;                /* bytes, and one for the SYN */
	double rtt, rttvar, min_rtt; /* us, smoothed */
	double cwnd;                 /* congestion window, bytes */
	double mss, pmtu;            /* bytes: of what is sent, and of the path */
	double delivery_rate;        /* bytes/s, the last that was measured */
	double busy;                 /* us in which there was something to send, and of those: */
	double rwnd_limited;         /* held back by the receiver's window */
	double sndbuf_limited;       /* by the send buffer */
	double rcv_rtt;              /* us, as the receiver estimates it */
	double rcv_mss;              /* bytes of the segments that came */
	double rcv_ooo;              /* packets that came out of order */
};

void tcp_figures_read(int fd, struct tcp_figures *t);

/* Makes every member of a struct that has nothing but doubles not known (NAN). */
void set_unknown(void *doubles, size_t size);

#endif
