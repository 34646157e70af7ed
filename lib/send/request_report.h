/*
 * request_report.h: what became of the requests of one size, and what zcc prints of that.
 *
 *	report_start(&report, NULL);
 *	requests_report(&report, size, &counts, &host);
 *	requests_report_end(&report, NULL);
 */
#pragma once

#include "lib/send/latency.h"
#include "lib/send/report.h"

/* How a request fails. */
enum failure {
	FAIL_REFUSED,
	FAIL_RESET,
	FAIL_PORTS,
	FAIL_TIMEOUT,
	FAIL_LENGTH, /* EMSGSIZE stands for it */
	FAIL_OTHER,
	FAILURES
};

/* What one thread, or all, saw of one size. */
struct requests {
	uint64_t bytes, failed[FAILURES];
	uint64_t stalled,
		stalled_first; /* requests that stalled, and those before the first byte */
	int other_errno;       /* of a FAIL_OTHER */
	struct latency connect, first, total, stall;
};

enum failure failure_of(int error);

/* `refused`, `for another reason: ` and the error's text: what follows "failed" in a message. */
const char *failure_text(int error, char buf[128]);

/* Reports the requests of `size` bytes; of the host it has bytes, seconds, load and counters. */
void requests_report(struct send_report *r, uint32_t size, const struct requests *q,
		     const struct figures *host);

/* Ends it: JSON only, with the error unless that is NULL. */
void requests_report_end(struct send_report *r, const char *error);

/* Prints the line of progress. */
void requests_progress(struct send_report *r, uint32_t size, uint64_t done);
