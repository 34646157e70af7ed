/*
 * report_json.h: the report of a transfer as JSON, with the keys of iperf3; zc(7) has the schema.
 *
 *	json_start(&j, opt, &result);
 *	json_interval(&j, streams, n, &sum, start, true);
 *	json_end(&j, opt, &result, NULL);
 */
#pragma once

#include "lib/report/json.h"
#include "lib/send/options.h"
#include "lib/send/result.h"

/* Begins the report of connected streams, up to the list of the intervals, which stays open. */
void json_start(struct json *j, const struct send_options *opt, const struct send_result *res);

/* Adds an interval that began `start` seconds after the transfer. */
void json_interval(struct json *j, const struct figures *stream, int streams,
		   const struct figures *sum, double start, bool measured);

/* Ends the report, with the error unless that is NULL. */
void json_end(struct json *j, const struct send_options *opt, const struct send_result *res,
	      const char *error);

/* Adds the server's name and port, as they were given, to the object that is open. */
void json_connecting_to(struct json *j, const struct send_options *opt);
