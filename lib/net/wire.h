/*
 * wire.h: the bytes that zcc and zcs send each other, and a reader of them.
 *
 * A receiver feeds the reader with what arrives, in pieces of any size:
 *
 *	struct wire w = {.state = WIRE_LOOPS};
 *
 *	while ((n = read(fd, buf, sizeof(buf))) > 0 && wire_feed(&w, buf, n) == n)
 *		;
 *	if (!wire_ended(&w, &where))
 *		warnx("closed %s", where);
 *
 * The wire from client to server.  Integers, the headers, are 32-bit unsigned, big-endian:
 *
 *	n_loops, then n_loops times: n_files, then n_files times: length, then length bytes
 *
 * then end of stream.  The server may answer with a receipt, one line of key=value pairs, and
 * closes.  zc-wire(5) has the whole.
 */
#pragma once

#include "common.h"

#define WIRE_PORT      "2222"
#define REQUEST_PORT   "7890" /* of zcc --request: a length is sent, and as many bytes come back */
#define WIRE_FOREVER   0xffffffffu /* n_loops: until the end of the stream, which may come anywhere */
#define WIRE_ENTRY_MAX 0xffffffffu /* the longest file that is one entry */
#define WIRE_HEADER    4           /* bytes of each integer */

/*
 * A client that warms up sends loops without a file before its first file.  Each of these loops stands for this
 * time.  A server of 2001 ignores them.
 */
#define WIRE_WARMUP_NS 100000000u

enum wire_state { WIRE_LOOPS, WIRE_FILES, WIRE_LENGTH, WIRE_BODY, WIRE_DONE, WIRE_RAW };

/*
 * A reader of the wire begins with WIRE_LOOPS; or, if there are no headers, with WIRE_RAW: then all bytes are data,
 * and any end is proper.
 */
struct wire {
	enum wire_state state; /* what comes next */
	unsigned have;         /* bytes of the next header that have arrived */
	uint32_t header;       /* those bytes */
	uint32_t loops_left;   /* n_loops less the loops begun */
	uint32_t files_left;   /* n_files of this loop less the files begun */
	uint32_t body_left;    /* bytes of this file that are still to come */
	bool forever;          /* n_loops was WIRE_FOREVER */
	uint64_t files;        /* entries that are complete */
	uint64_t bytes;        /* bytes of files, without headers */
	uint32_t empty_loops;  /* loops before the first file: the warm-up, in WIRE_WARMUP_NS */
	bool has_file;         /* a file was announced: empty_loops is final */
};

/* Reads `len` bytes; returns how many of them belong to the wire: less when the wire ends. */
size_t wire_feed(struct wire *w, const void *buf, size_t len);

/* How many bytes of a body come next; 0 if a header comes next. */
size_t wire_body_left(const struct wire *w);

/* How many bytes the next header lacks, for a caller that must not read beyond it. */
size_t wire_header_left(const struct wire *w);

/* Counts `len` bytes of a body, at most wire_body_left(), whose content the caller discarded. */
void wire_skip(struct wire *w, size_t len);

/* Whether the first header is whole, or a byte has come where there are no headers. */
bool wire_begun(const struct wire *w);

/* Whether the stream may end here; if not, *where is the place, as a text to follow "closed". */
bool wire_ended(const struct wire *w, const char **where);

/*
 * Whether the first two headers are the head of a TLS record with a number of loops, as zcc --tls sends it, and not the
 * 386,073,344 loops that these bytes stand for without TLS.
 */
bool wire_is_tls(const struct wire *w);

/* Stores a header at p, which has WIRE_HEADER bytes. */
void wire_put(void *p, uint32_t value);
