/*
 * request.h: requests: connections that each ask a zcs --reply for a number of bytes, as in 1999.
 *
 *	rr = (struct request_run){.opt = opt, .run = &run, .report = &report};
 *	requests_open(&rr);
 *	requests_all(&rr);
 *	error = requests_error(&rr, why);
 *	requests_close(&rr);
 */
#pragma once

#include "lib/send/request_report.h"
#include "lib/send/run.h"
#include "lib/send/target.h"

struct request_run {
	const struct send_options *opt;
	struct run *run;
	struct send_report *report;
	struct target target;
	struct requester *requester; /* a thread each */
	uint32_t size;               /* bytes asked for now */
	_Atomic uint64_t left;       /* connections still to be made */
	_Atomic uint64_t done;
	_Atomic bool succeeded; /* a connection has, of whatever size */
	pthread_mutex_t lock;   /* of the next two */
	int failures, error;    /* failures in a row before any success, and their common error */
	_Atomic bool hopeless;  /* there were too many of them: no more connections are made */
	struct figures host;    /* of the last size */
};

/*
 * Takes the first of the server's addresses, as a connection that tries it would be a request, and
 * makes the threads' buffers.  Or dies.
 */
void requests_open(struct request_run *rr);

/* Asks for each size of the list, and reports it. */
void requests_all(struct request_run *rr);

/* What is wrong with the requests as a whole: NULL, or a text, which may be in `why`. */
const char *requests_error(const struct request_run *rr, char why[DIE_MAX]);

void requests_close(struct request_run *rr);
