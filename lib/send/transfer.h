/*
 * transfer.h: one transfer of the file set over all its streams: warm-up, intervals, the sum.
 *
 *	t = (struct transfer){.opt = opt, .set = &set, .run = &run, .report = &report};
 *	if (!transfer_open(&t, chunk))
 *		return "interrupted";
 *	report_start(&report, &t.target, &t.result);
 *	transfer_run(&t);
 *	report_end(&report, &t.result, NULL);
 *	transfer_close(&t);
 */
#pragma once

#include "lib/send/report.h"
#include "lib/send/stream.h"

struct transfer {
	const struct send_options *opt;
	const struct fileset *set;
	struct run *run;
	struct send_report *report; /* prints the intervals and the progress */
	struct target target;
	struct stream *stream;
	struct figures *interval; /* the last interval of each stream */
	struct load_sample last;  /* the load at the end of the last interval */
	uint64_t interval_ns;     /* when the interval under way is to end */
	struct pollfd *poll;      /* the run's own element, and behind it one for each raw server */
	bool measuring;           /* the warm-up is over */
	unsigned unsafe;          /* what made the load of an interval unsafe since then */
	uint64_t shown_ns, shown_bytes; /* time and bytes of the last progress line */
	struct send_result result;
};

/*
 * Connects all streams before the first of them sends, so that the server's last client is their
 * last.  `chunk`: bytes of a call, 0 for the method's default.  Dies if one cannot connect;
 * returns false, and nothing is open, if a signal that is caught ended that.
 */
bool transfer_open(struct transfer *t, size_t chunk);

/* Sends, and returns when all streams have come to their end; t->result then has the figures. */
void transfer_run(struct transfer *t);

void transfer_close(struct transfer *t);
