/*
 * figures.h: what one end measured, and the receipt by which zcs sends its own to zcc.
 */
#ifndef ZC_REPORT_FIGURES_H
#define ZC_REPORT_FIGURES_H

#include "common.h"
#include "lib/load/counters.h"
#include "lib/load/load.h"

/*
 * What one end measured of a connection, after the warm-up.  A double that is not known is NAN.
 * zcs sends its own in the receipt.
 */
struct figures {
	uint64_t bytes;   /* of files */
	uint64_t files;   /* entries of the wire, completely sent or received */
	uint64_t calls;   /* system calls that moved data */
	uint64_t warmup;  /* bytes of files before the warm-up was over */
	uint64_t clients; /* that zcs had since it last had none */
	double seconds;
	char method[16]; /* by which they were moved */
	double cpu;      /* to which the thread was bound */
	double cpus;     /* how many the host's load is of */
	/* Those of struct load. */
	double load, uncertainty, slowed, tasks;
	struct rates rates; /* of the host */
	struct tcp_figures tcp;
	char refused[16]; /* why the other end did not serve; empty if it did */
};

/* All unknown, but the counts, which are 0. */
void figures_init(struct figures *f);

/* Stores the load of so many CPUs. */
void figures_load(struct figures *f, const struct load *l, int cpus);

/*
 * The receipt: what a receiver tells the sender at the end, one line of key=value pairs of those
 * figures that mean something to it.
 */
#define RECEIPT_MAX 4096 /* bytes that a receipt may have, newline included */

/* To a client that it does not serve a server says `refused=` and one of these, or another word. */
#define REFUSED_FULL    "full"    /* of clients */
#define REFUSED_ADDRESS "address" /* that is not among those it serves */

/* Writes the line, newline included, and returns its length; buf has RECEIPT_MAX bytes. */
size_t receipt_format(const struct figures *f, char *buf);

/*
 * Reads what a peer sent, which may be anything: `len` bytes, at most RECEIPT_MAX.  Keys that it
 * does not know are passed over.  Returns NULL or what is wrong with it.
 */
const char *receipt_parse(const char *buf, size_t len, struct figures *f);

/* Adds the counts and retransmits of f to a sum, and makes the sum's time the longer of both. */
void figures_add(struct figures *sum, const struct figures *f);

#endif
