/*
 * terms.h: the words of the JSON reports, which are iperf3's where it has the quantity.
 */
#ifndef ZC_REPORT_TERMS_H
#define ZC_REPORT_TERMS_H

#include <sys/socket.h>

#include "common.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"

/* version, system_info, timestamp: what the start of a report has at either end. */
void json_program(struct json *j);

/* An address, as two members of the object that is open. */
void json_address(struct json *j, const char *host_key, const char *port_key,
		  const struct sockaddr *sa, socklen_t len);

/* local_host .. remote_port of a connection, likewise; its peer may have gone. */
void json_addresses(struct json *j, int fd, const struct sockaddr *peer, socklen_t peer_len);

/* start, end, seconds, bytes, bits_per_second of a time from the start of the report on. */
void json_throughput(struct json *j, double start, double seconds, uint64_t bytes);

/* One end's figures of one connection, or of all of them (stream 0). */
void json_stream(struct json *j, const char *key, const struct figures *f, int stream, bool sender);

/* The kernel's own accounting, as accounting_percent. */
void json_accounting(struct json *j, const struct rates *r);

/* What an end's host did meanwhile: load, cost, accounting. */
void json_host(struct json *j, const char *key, const struct figures *f);

/* iperf3's cpu_utilization_percent: measured loads as the totals. */
void json_utilization(struct json *j, const struct figures *host, const struct figures *remote);

#endif
