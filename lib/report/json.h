/*
 * json.h: a writer of JSON (RFC 8259) that prints each member on stdout at once, a report on one line; and the
 * objects that several reports have.  Keys are those of iperf3 if it has the quantity.
 *
 *	json_report_open(&j);
 *	json_number(&j, "seconds", 1.5);
 *	json_open(&j, "cpus", '[');
 *	json_count(&j, NULL, 0);
 *	json_close(&j, ']');
 *	json_host(&j, "host", &figures);
 *	json_report_close(&j, NULL);
 *
 * `key` is NULL for an element of an array.  A number that is NAN is omitted.  zc-json(5) has the schema.
 *
 * In a stream of events each member of the report, and each element of its lists, is a line of its own.  The name of
 * such an element is that of its list less its last letter: of `intervals` the events are {"event":"interval",...}.
 */
#pragma once

#include <sys/socket.h>

#include "lib/load/counters.h"
#include "lib/report/figures.h"

#define JSON_SCHEMA 1  /* the version of the keys: 1 has those of 0.2.0 */
#define JSON_DEPTH  16 /* more brackets than a report has open at a time */

struct json {
	bool stream;              /* of events */
	bool comma;               /* the next member needs a comma before it */
	int event;                /* the depth of the event that is open; 0: none is */
	int depth;                /* number of open brackets; 0: no report is open */
	const char *list;         /* the name of the list whose elements are events */
	char closing[JSON_DEPTH]; /* the brackets that close them, innermost last */
};

/* The kinds of JSON, as the options have them. */
enum { JSON_NONE, JSON_OBJECTS, JSON_EVENTS };

/*
 * Begins a report on stdout: opens its outermost object, whose first member is the schema's version.  The caller has set
 * j->stream.
 */
void json_report_open(struct json *j);

/*
 * Ends a report of which only the outermost object is open, with the number of rows that were dropped before, if there
 * are, and the error unless that is NULL.  After json_report_end() the caller flushes stdout.
 */
void json_report_close(struct json *j, const char *error);
void json_report_end(struct json *j, const char *error);

/*
 * Closes all open brackets, with `error` as the last member of the outermost object.  If no report is
 * open, it prints one with no other member.
 */
void json_fail(struct json *j, const char *why);

void json_open(struct json *j, const char *key, char bracket); /* `{` or `[` */
void json_close(struct json *j, char bracket);                 /* `}` or `]` */
void json_number(struct json *j, const char *key, double value);
void json_count(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);

/* Omits NULL.  Bytes of `value` that are not UTF-8 become U+FFFD: a file's name may have any bytes. */
void json_string(struct json *j, const char *key, const char *value);

/* An address, as two members of the open object; none if it cannot be printed. */
void json_address(struct json *j, const char *host_key, const char *port_key,
		  const struct sockaddr_storage *addr);

/* The figures of the rows that name one of the objects IN_*, as members of the open object. */
void json_rows(struct json *j, const struct figures *f, unsigned objects);

/* The same, after the members start and end, in seconds since the report's start. */
void json_timed(struct json *j, double start, const struct figures *f, unsigned objects);

/* One end's figures of one connection, or of all of them (stream 0), as an object. */
void json_stream(struct json *j, const char *key, const struct figures *f, int stream, bool sender);

/* An interval of one stream, or as the member `sum` of all (stream 0); with its clients if it is zcs's. */
void json_interval(struct json *j, const struct figures *f, int stream, double start, bool measured,
		   bool sender);

/* The reasons that make a load unsafe, as the array `unsafe`; nothing if there are none. */
void json_unsafe(struct json *j, unsigned unsafe);

/* What the CPUs did: the objects profile, if there is one, and accounting_percent, the kernel's own figures. */
void json_cpu_time(struct json *j, const struct figures *f);

/* The TCP counters of this network namespace, as the object host_tcp. */
void json_netstat(struct json *j, const struct netstat *n);

/* The figures of a host, as an object: load, cost, interrupts, packets, accounting. */
void json_host(struct json *j, const char *key, const struct figures *f);
