/*
 * report_json.h: what zcc prints of a transfer as JSON; zc-json(5) has the keys.
 *
 *	json_start(&j, opt, &environment, &link, &result);
 *	json_interval(...)
 *	json_close(&j, ']');
 *	json_end(&j, opt, &result);
 *	json_report_close(&j, NULL);
 */
#pragma once

#include "lib/report/terms.h"
#include "lib/send/options.h"
#include "lib/send/result.h"

/*
 * Begins an object on stdout, and in it a list that stays open: of the intervals of a transfer, or of
 * requests, if `res` is NULL.  `link` is the interface that leads to the server.
 */
void json_start(struct json *j, const struct send_options *opt, const struct environment *e,
		const struct link *link, const struct send_result *res);

/* Adds an interval of a stream, or of all (stream 0), to the list that is open. */
void json_interval(struct json *j, const struct figures *f, int stream, double start,
		   bool measured);

/* Adds what was measured, as the object `end`. */
void json_end(struct json *j, const struct send_options *opt, const struct send_result *res);
