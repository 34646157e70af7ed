/*
 * figures.h: what one end measured, the table of it, and the receipt in which it goes to the other end.
 *
 *	figures_init(&sum);
 *	for (i = 0; i < streams; i++)
 *		figures_add(&sum, &f[i]);
 *	report("%.3f us/KiB\n", figures_cost(&sum));
 *
 * A new figure is a member of struct figures, or a function of others; its row in figure_table[]; and the
 * line that sets it.  Receipts, JSON and text are made from the rows, and so are the columns of --save:
 *
 *	const struct figure *load = figure_named("load_percent");
 *
 *	printf("%s\t%.9g\n", load->key, figure_factor(load) * figure_value(load, &f));
 *	...
 *	value = strtod(field, NULL) / figure_factor(load);
 *	if (!figure_is_possible(load->kind, value))
 *		return "has a figure that no host can have measured";
 *
 * tests/unit/figures.c compares the keys with zc-wire(5), zc-json(5) and the schema.
 */
#pragma once

#include <sys/resource.h>

#include "lib/load/counters.h"
#include "lib/load/load.h"

#define RELEASE_SIZE 65 /* of a kernel's release in struct utsname */

/* The sends by MSG_ZEROCOPY: all, those that the kernel copied, and those that have not completed. */
struct zerocopy_figures {
	double sends, copied, incomplete;
};

/* What TCP waited for, in us, beside the times in struct tcp_figures; and means and maxima of samples. */
struct waits {
	double elapsed; /* the sum of the streams' times */
	double cwnd_limited, pacing_limited;
	double mean_rtt, max_rtt, mean_cwnd, max_cwnd; /* us, bytes */
};

/* The CPU time of a command's own processes, in seconds. */
struct command_figures {
	double user, system;
};

/* Of kernel TLS, in the direction of the data.  The texts are empty without TLS, or if they are not known. */
struct tls_figures {
	char version[8], cipher[20];
	char place[12]; /* software or device */
	double records;
	double no_pad;         /* 1: the kernel decrypts in place (TLS_RX_EXPECT_NO_PAD), or 0 */
	double decrypt_errors; /* of all connections of the network namespace meanwhile */
};

/* Of the requests of a run: those that succeeded, and how long they took, in us. */
struct request_figures {
	double n; /* NAN: it is a transfer */
	double stalled, failed;
	double p50, p99, p999;
};

/*
 * What the figures of the other end depend on: its host, and the interface by which the data came.  A text has the
 * characters of a receipt; a long one is replaced by its hash.
 */
struct setup {
	char cpu_model[48], preempt[24], clocksource[24];
	char cmdline[HASH_SIZE], mitigations[HASH_SIZE]; /* hashes */
	double hz, mtu;
	char offloads[32], qdisc[16], rps[24], xps[24];
	char tcp_rmem[36], tcp_wmem[36], default_qdisc[16]; /* sysctls, from here on */
	double tcp_notsent_lowat, rmem_max, wmem_max, netdev_budget, busy_poll;
};

/* One end's figures of a connection, after the warm-up.  A double that is not known is NAN. */
struct figures {
	uint64_t bytes;         /* content of files, without headers */
	uint64_t files;         /* entries of the wire, completely sent or received */
	uint64_t calls;         /* system calls that moved data */
	uint64_t warmup;        /* bytes of files before the warm-up was over */
	double mapped;          /* bytes that were received by mapping them, headers included */
	uint64_t clients;       /* clients that zcs has served since it last had none */
	double seconds;         /* the time in which the bytes were moved */
	bool cut;               /* less was moved than announced: there is no throughput */
	char method[16];        /* the name of the method that moved them */
	double cpu;             /* the number of the CPU to which the thread was bound */
	struct load host;       /* the host's load and rates */
	struct tcp_figures tcp; /* the connection's figures */
	struct waits waits;     /* what the sender's TCP waited for, by samples */
	/* The longest stall, in us, and the number of stalls over 0.2 s. */
	double longest_stall, stalls;
	struct zerocopy_figures zerocopy; /* of a method that uses MSG_ZEROCOPY */
	struct tls_figures tls;
	struct request_figures requests;
	struct command_figures command; /* whose load it is */
	char version[16]; /* of the zc that measured this, in a receipt; empty: not known */
	char kernel[RELEASE_SIZE]; /* the release of its kernel; empty: not known */
	char boot[HASH_SIZE];      /* which boot of which kernel; empty: not known */
	struct setup setup;        /* of the other end, in a receipt */
	char refused[16];          /* why the other end did not serve; empty if it did */
};

/* The kind of a figure decides how it is stored, bounded and printed. */
enum figure_kind {
	FIGURE_COUNT,  /* a uint64_t; the kinds from here to FIGURE_SHARE are doubles */
	FIGURE_NUMBER, /* a whole number */
	FIGURE_CPUS,   /* a number of CPUs */
	FIGURE_SECONDS,
	FIGURE_US,    /* microseconds; text has ms */
	FIGURE_STALL, /* microseconds between looks at a count; 0: it never stood still for two */
	FIGURE_BYTES, /* text has KiB */
	FIGURE_RATE,  /* per second */
	FIGURE_BIT_RATE, /* bits per second */
	FIGURE_COST,     /* us/KiB, negative if the load is */
	FIGURE_LOAD, /* a share, negative on a machine that does more than when it was calibrated */
	FIGURE_CHANGE,     /* a relative change, which may be negative */
	FIGURE_SHARE,      /* 1 is all CPUs; an uncertainty may be larger */
	FIGURE_WORD,       /* a string of lower-case letters */
	FIGURE_NAME,       /* a string of the characters that versions and releases have */
	FIGURE_REASONS,    /* a set of UNSAFE_* */
	FIGURE_BASELINE,   /* enum baseline_kind */
	FIGURE_PER_MIB,    /* of a rate: how many for each MiB that was moved */
	FIGURE_CPU_TIME,   /* of a share of the CPUs: its us of CPU time for each KiB */
	FIGURE_CPU_SECONDS /* of a share of the CPUs: its CPU time */
};

/* The JSON objects that have a figure, as a set of bits. */
enum {
	IN_SENDER = 1 << 0, /* one stream, or all */
	IN_RECEIVER = 1 << 1,
	IN_STREAM = 1 << 2, /* the object that contains these two */
	IN_INTERVAL = 1 << 3,
	IN_REQUESTS = 1 << 4, /* requests of one size, or replies */
	IN_HOST = 1 << 5,
	IN_CPU = 1 << 6, /* the load of one CPU */
	IN_ACCOUNTING = 1 << 7,
	IN_ENVIRONMENT = 1 << 8,  /* the host of another end */
	IN_COMMAND = 1 << 9,      /* a command of a comparison */
	IN_PROFILE = 1 << 10,     /* of a host */
	IN_CONNECTIONS = 1 << 11, /* requests of one size, each of a connection */
};

/* A group of rows of text. */
enum figure_group {
	GROUP_NONE,
	GROUP_TRANSFER,
	GROUP_LOAD,
	GROUP_HOST,
	GROUP_TCP,
	GROUP_WAITS,
	GROUP_PROFILE
};

/* What the sum of several streams or clients has of a figure. */
enum figure_sum {
	SUM_LONGEST, /* the figure of the longest stream */
	SUM_ADDED,   /* the sum; of reasons, the union */
	SUM_MOST,    /* the greatest */
	SUM_SAME,    /* the figure or the text that all have, if they have the same */
	SUM_NONE     /* nothing: the figure is known only of one stream */
};

struct figure {
	const char *key;     /* in JSON and --save; NULL: not there */
	const char *receipt; /* in receipts; NULL: not there */
	bool is_kept;        /* only those that --save keeps have it, and no peer can claim it */
	enum figure_kind kind;
	size_t offset, size; /* of its member */
	size_t all; /* offset of the whole, if the figure is a share of another figure; or 0 */
	double (*derive)(const struct figures *of); /* computes it from others; or NULL */
	unsigned objects;                           /* of JSON: a set of IN_* */
	enum figure_group group;
	const char *label; /* in text, with the unit */
	enum figure_sum sum;
};

/* The rows in their order in receipts, JSON and text; the first two are bytes and seconds. */
extern const struct figure figure_table[];
extern const int figure_rows;

/* The row of a key of JSON or --save; ends the program if there is none. */
const struct figure *figure_named(const char *key);

/* The member in which a figure is stored. */
const void *figure_member(const struct figure *row, const struct figures *f);

/* A figure in the unit of its member; NAN if it is not known, or is no number. */
double figure_value(const struct figure *row, const struct figures *f);

/* The factor from the member's unit to the key's: 100 for a key in percent. */
double figure_factor(const struct figure *row);

/*
 * Copies a text to a member of the kind FIGURE_NAME: what a receipt cannot have becomes `_`, and a text that is
 * too long its hash.
 */
void name_copy(char *to, size_t size, const char *text);

/* Whether a host can have measured this value. */
bool figure_is_possible(enum figure_kind kind, double value);

/*
 * Of both ends of one host, the figures that have its load: either may have measured it, or know why there is none.
 * `received` may be NULL.
 */
const struct figures *figures_of_host(const struct figures *sent, const struct figures *received);

/* Sets the counts to 0, and makes all other figures unknown. */
void figures_init(struct figures *f);

/* Adds the figures of a stream or client to a sum, by the rules of the rows.  The first are copied. */
void figures_add(struct figures *sum, const struct figures *f);

/* How many of something, or KiB of the bytes, per second; 0 if no time passed. */
double per_second(double n, double seconds);
double kib_per_second(const struct figures *f);

/* What wait4(2) tells of a command and of those of its processes that were waited for. */
struct command_figures command_figures_of(const struct rusage *usage);

/* The share of the bytes that the receiver's kernel mapped instead of copying them. */
double figures_mapped(const struct figures *f);

/*
 * Microseconds of CPU time for each KiB that was moved: load x CPUs / throughput, netperf's service demand.
 * figures_cost_each(): for each of n things; figures_cost_half(): half of the confidence interval of that.  NAN if nothing
 * was moved, or n is 0.
 */
double figures_cost(const struct figures *f);
double figures_cost_each(const struct figures *f, double n);
double figures_cost_half(const struct figures *f, double n);

/*
 * The receipt by which zcs sends zcc those of its figures that mean something to the sender: one line of
 * key=value pairs.  The other end may have a different version, and ignores a key that it does not know.
 *
 *	len = receipt_format(&f, buf);
 *	...
 *	why = receipt_parse(buf, len, &f);
 *	if (why != NULL)
 *		warnx("the receipt %s", why);
 */

#define RECEIPT_MAX 4096 /* bytes that a receipt may have, newline included */

/* The values of `refused=` that zcs sends to a client that it does not serve. */
#define REFUSED_FULL    "full"    /* zcs has as many clients as it may have */
#define REFUSED_ADDRESS "address" /* zcs serves other addresses only */
#define REFUSED_METHOD  "method"  /* zcs lacks what its method needs, such as memory to pin */
#define REFUSED_TLS     "tls"     /* zcs has another cipher, or its kernel lacks it */

/* Writes the line, newline included, and returns its length; buf has RECEIPT_MAX bytes. */
size_t receipt_format(const struct figures *f, char *buf);

/*
 * Reads what a peer sent, which may be anything: `len` bytes, at most RECEIPT_MAX.  Ignores keys that
 * it does not know.  Returns NULL or what is wrong with the line.
 */
const char *receipt_parse(const char *buf, size_t len, struct figures *f);

/*
 * The same of a receipt that --save keeps, a string without a newline, which has figures that no peer sends, too.
 * receipt_format_kept() returns it by static memory of the thread; receipt_parse_kept() changes it.
 */
#define KEPT_MAX 6144

const char *receipt_format_kept(const struct figures *f);
const char *receipt_parse_kept(char *text, struct figures *f);
