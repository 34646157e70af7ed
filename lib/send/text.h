/*
 * text.h: a transfer as text: groups of rows, of which those of a host have a column for each end, but one
 * where both ends are this host.
 *
 *	text_target(opt, &result);
 *	text_transfer(opt, &result);
 */
#pragma once

#include "lib/report/units.h"
#include "lib/send/result.h"

/* Prints the label of the report, if it has one. */
void text_title(const struct send_options *opt);

/* Prints the destination and the options of the connection, then the file set as it is begun. */
void text_target(const struct send_options *opt, const struct send_result *res);

/* Prints the report of a transfer: one line that scripts read, and, unless quiet, all figures. */
void text_transfer(const struct send_options *opt, const struct send_result *res);

/*
 * Prints an interval: a row of the `sum` and, unless quiet, one of each `stream` if there are several.
 * Not `measured`: it is of the warm-up.
 */
void text_interval(struct intervals *table, const struct send_options *opt,
		   const struct figures *stream, const struct figures *sum, double start,
		   bool measured);
