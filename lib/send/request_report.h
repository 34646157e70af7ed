/*
 * request_report.h: the report of requests of one size, as text and as JSON.
 *
 *	requests_text(size, &counts, &evidence, &host, opt->quiet);
 */
#pragma once

#include "lib/send/stalls.h"

/* The kinds of failure; EMSGSIZE stands for FAIL_LENGTH. */
enum { FAIL_REFUSED, FAIL_RESET, FAIL_PORTS, FAIL_TIMEOUT, FAIL_LENGTH, FAIL_OTHER, FAILURES };

/* The latencies of a request. */
enum { CONNECT, FIRST_BYTE, TOTAL, LATENCIES };

/* The results of one thread, or of all, for one size. */
struct requests {
	uint64_t bytes, failed[FAILURES];
	int error[FAILURES]; /* the last of each kind */
	struct latency latency[LATENCIES];
	struct stalls stalls;
};

/* The kind of failure that an error number means. */
int failure_of(int e);

/* The name of a failure, with the error's text if it is of no other kind. */
const char *failure_text(int error, char buf[128]);

/* Adds what one thread saw to what another did. */
void requests_add(struct requests *sum, const struct requests *r);

/* Prints the headings of the first lines of requests_text(). */
void requests_headings(void);

/* Prints the requests of one size.  The figures of the first line are those of 1999. */
void requests_text(uint32_t size, const struct requests *q, const struct stall_evidence *e,
		   const struct figures *host, bool quiet);

/* Prints them as an object. */
void requests_json(struct json *j, uint32_t size, const struct requests *q,
		   const struct stall_evidence *e, const struct figures *host);
