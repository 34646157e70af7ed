/*
 * receipt.h: the receipt by which zcs sends its figures to zcc: one line of key=value pairs, the
 * receiver's figures that mean something to the sender.  The other end may be of another version, and
 * ignores a key that it does not know.
 *
 *	len = receipt_format(&f, buf);
 *	...
 *	why = receipt_parse(buf, len, &f);
 *	if (why != NULL)
 *		warnx("the receipt %s", why);
 */
#pragma once

#include "lib/report/figures.h"

#define RECEIPT_MAX 4096 /* bytes that a receipt may have, newline included */

/* The values of `refused=` that zcs sends to a client that it does not serve. */
#define REFUSED_FULL    "full"    /* zcs has as many clients as it may have */
#define REFUSED_ADDRESS "address" /* zcs serves other addresses only */

/* Writes the line, newline included, and returns its length; buf has RECEIPT_MAX bytes. */
size_t receipt_format(const struct figures *f, char *buf);

/*
 * Reads what a peer sent, which may be anything: `len` bytes, at most RECEIPT_MAX.  Ignores keys that
 * it does not know.  Returns NULL or what is wrong with the line.
 */
const char *receipt_parse(const char *buf, size_t len, struct figures *f);
