/*
 * figures.h: what one end measured.
 *
 *	figures_init(&sum);
 *	for (i = 0; i < streams; i++)
 *		figures_add(&sum, &f[i]);
 *	report("%s\n", rate_text(&sum, text));
 */
#pragma once

#include "lib/load/counters.h"
#include "lib/load/load.h"

#define RELEASE_SIZE 65 /* of a kernel's release in struct utsname */

/* One end's figures of a connection, after the warm-up.  A double that is not known is NAN. */
struct figures {
	uint64_t bytes;         /* content of files, without headers */
	uint64_t files;         /* entries of the wire, completely sent or received */
	uint64_t calls;         /* system calls that moved data */
	uint64_t warmup;        /* bytes of files before the warm-up was over */
	uint64_t clients;       /* clients that zcs had since it last had none */
	double seconds;         /* the time in which the bytes were moved */
	bool cut;               /* not all was moved that was announced: there is no throughput */
	char method[16];        /* the name of the method that moved them */
	double cpu;             /* the number of the CPU to which the thread was bound */
	struct load host;       /* the host's load and rates */
	struct tcp_figures tcp; /* the connection's figures */
	char version[16];       /* of the zc that measured this, in a receipt; empty: not known */
	char kernel[RELEASE_SIZE]; /* the release of its kernel, likewise */
	char no_load[16];          /* why there is no load, as in receipt.h; empty: not known */
	char refused[16];          /* why the other end did not serve; empty if it did */
};

/* What a figure that another program wrote is: in a receipt, or in a file of --save. */
enum figure_kind {
	FIGURE_COUNT,
	FIGURE_SECONDS,
	FIGURE_LOAD,  /* a share, below 0 on a machine that does more than when it was calibrated */
	FIGURE_SHARE, /* of which 1 is all CPUs; an error may be more */
	FIGURE_CPU,   /* its number */
	FIGURE_CPUS,  /* how many */
	FIGURE_RATE,  /* per second; or a time in us */
	FIGURE_COST,  /* us/KiB, below 0 if the load is */
	FIGURE_KINDS
};

/* Whether a host can have measured that. */
bool figure_is_possible(enum figure_kind kind, double value);

/* Sets the counts to 0, and makes all other figures unknown. */
void figures_init(struct figures *f);

/* Stores the version of this program and the release of this kernel. */
void figures_program(struct figures *f);

/*
 * Adds the counts, retransmits and reasons of f to a sum, and makes the sum's time the longer of
 * both.
 */
void figures_add(struct figures *sum, const struct figures *f);
