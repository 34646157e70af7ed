/*
 * figures.h: what one end measured, and the receipt by which zcs sends its figures to zcc.
 *
 *	figures_init(&f);
 *	f.bytes = bytes;
 *	f.seconds = seconds;
 *	len = receipt_format(&f, buf);
 *	...
 *	why = receipt_parse(buf, len, &f);
 *	if (why != NULL)
 *		warnx("the receipt %s", why);
 */
#pragma once

#include "lib/load/counters.h"
#include "lib/load/load.h"

/* What one end measured of a connection, after the warm-up.  A double that is not known is NAN. */
struct figures {
	uint64_t bytes;   /* content of files, without headers */
	uint64_t files;   /* entries of the wire, completely sent or received */
	uint64_t calls;   /* system calls that moved data */
	uint64_t warmup;  /* bytes of files before the warm-up was over */
	uint64_t clients; /* clients that zcs had since it last had none */
	double seconds;   /* the time in which the bytes were moved */
	char method[16];  /* the name of the method that moved them */
	double cpu;       /* the number of the CPU to which the thread was bound */
	double cpus;      /* the number of CPUs of which the host's load is a share */
	double soaked;    /* the seconds that the load is of; NAN in a receipt of an older zcs */
	/* The host's load, as in struct load. */
	double load, uncertainty, slowed, tasks;
	unsigned unsafe;        /* what makes the load unsafe: a set of reasons, limits.h */
	struct rates rates;     /* the host's rates */
	struct tcp_figures tcp; /* the connection's figures */
	char refused[16];       /* why the other end did not serve; empty if it did */
};

/* Sets the counts to 0, and makes all other figures unknown. */
void figures_init(struct figures *f);

/* Stores the load of the host. */
void figures_load(struct figures *f, const struct load *l);

/*
 * The receipt is one line of key=value pairs: the receiver's figures that mean something to the
 * sender.  Keys are only ever added: the other end may be of another version.
 */
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

/*
 * Adds the counts, retransmits and reasons of f to a sum, and makes the sum's time the longer of
 * both.
 */
void figures_add(struct figures *sum, const struct figures *f);
