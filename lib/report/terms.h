/*
 * terms.h: the objects that JSON reports have in common, in iperf3's words where it has the quantity.
 * What is not known is omitted; zc-json(5) has the keys and their units.
 *
 *	json_report_open(&j);
 *	json_program(&j, &environment, NULL);
 *	json_host(&j, "host", &figures);
 *	json_report_close(&j, NULL);
 */
#pragma once

#include <sys/socket.h>

#include "lib/load/counters.h"
#include "lib/report/environment.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"

/*
 * version, system_info, timestamp, environment: the start of a report, at either end.  `link` is the
 * interface that it is of, or NULL.
 */
void json_program(struct json *j, const struct environment *e, const struct link *link);

/* The same of a report that began at that time. */
void json_program_at(struct json *j, const struct environment *e, const struct link *link,
		     time_t began);

/* An address, as two members of the object that is open; none if it cannot be printed. */
void json_address(struct json *j, const char *host_key, const char *port_key,
		  const struct sockaddr_storage *addr);

/* The figures of which the rows name one of the objects IN_*, as members of the object that is open. */
void json_rows(struct json *j, const struct figures *f, unsigned objects);

/* The same after start and end, in seconds since the report's start. */
void json_timed(struct json *j, double start, const struct figures *f, unsigned objects);

/* One end's figures of one connection, or of all of them (stream 0), as an object. */
void json_stream(struct json *j, const char *key, const struct figures *f, int stream, bool sender);

/* The reasons that make a load unsafe, as the array `unsafe`; nothing if there are none. */
void json_unsafe(struct json *j, unsigned unsafe);

/* The kernel's own accounting, as the object accounting_percent. */
void json_accounting(struct json *j, const struct figures *f);

/* What the TCP of this network namespace did, as the object host_tcp. */
void json_netstat(struct json *j, const struct netstat *n);

/* What a host did meanwhile, as an object: load, cost, interrupts, packets, accounting. */
void json_host(struct json *j, const char *key, const struct figures *f);

/* iperf3's cpu_utilization_percent, with measured loads as the totals; remote may be NULL. */
void json_utilization(struct json *j, const struct figures *host, const struct figures *remote);
