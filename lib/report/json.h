/*
 * json.h: a writer of JSON.
 */
#ifndef ZC_REPORT_JSON_H
#define ZC_REPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common.h"

/*
 * JSON (RFC 8259), written as it comes, an object on one line.  `key` is NULL for an element of an
 * array.  A number that is NAN is left out.  Keys that iperf3 has mean what they mean there; zc(7)
 * has the schema.
 */
#define JSON_SCHEMA 1  /* the version of the keys: 1 has those of 0.2.0 */
#define JSON_DEPTH  16 /* brackets that are open at a time, at most */

struct json {
	FILE *f;
	bool comma; /* the next member needs one before it */
	int depth;  /* how many brackets are open */
	char closing[JSON_DEPTH];
};

/*
 * Begins a report on stdout: opens its outermost object, whose first member is the version of the
 * schema.  Every object that the programs print begins here.
 */
void json_report_open(struct json *j);

/* The same for another stream, such as one in memory. */
void json_report_open_to(struct json *j, FILE *f);

/*
 * Closes all that is open, with `error` as the last member of the outermost object; where nothing
 * is open, the report has nothing else.
 */
void json_fail(struct json *j, const char *why);

void json_open(struct json *j, const char *key, char bracket); /* `{` or `[` */
void json_close(struct json *j, char bracket);                 /* `}` or `]` */
void json_number(struct json *j, const char *key, double value);
void json_count(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_string(struct json *j, const char *key, const char *value);

/* Ends a report of which only the outermost object is open, with the error unless that is NULL. */
void json_report_close(struct json *j, const char *error);

#endif
