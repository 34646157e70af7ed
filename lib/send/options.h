/*
 * options.h: the options of zcc: their table, checks and defaults.  Later only the method, the streams and the
 * port change: they are those of the run under way.
 *
 *	first = options_parse(&opt, argc, argv);
 */
#pragma once

#include "lib/compare/comparison.h"
#include "lib/load/gauge.h"
#include "lib/net/socket.h"

#define SIZES_MAX 64 /* of a list */

#define WARMUP_MAX 100 /* seconds */

struct send_method;

/* A list of numbers, each of which is a run of its own. */
struct sizes {
	int n;
	uint64_t size[SIZES_MAX];
};

/* The lists of which each combination is a run of a plan. */
struct lists {
	struct sizes methods; /* their places in send_methods[] */
	struct sizes ports;   /* of the servers, of several */
	struct sizes streams;
	bool instruments; /* -c and --idle: each run is made by idle time, then by soaking */
	int runs;         /* a round: the combinations of the lists' values */
	bool wanted;      /* there is more than one run, or only a comparison has the option */
};

struct send_options {
	struct sock_options sock;
	struct cpus bind;          /* the CPUs of the threads, in turn; empty: anywhere */
	const char *server, *port; /* the port of the run under way, or as it was given: a list */
	const char *title;         /* a label of the report; NULL: none */
	const char *source;        /* the own address; NULL: the kernel's choice */
	int cport;                /* the own port of the first connection; 0: the kernel's choice */
	struct gauge_setup gauge; /* whether and how the host's load is measured */
	const struct send_method *method;
	int family; /* AF_INET, AF_INET6 or AF_UNSPEC */
	struct lists lists;
	struct compare_options compare;
	struct sizes chunks;   /* -b: bytes of a call, for each run; 0: the method's default */
	struct sizes requests; /* --request: bytes to ask for, for each run */
	uint32_t loops;        /* how often to send the files, or requests of each size */
	double seconds;        /* how long to send; 0: `loops` times */
	double warmup, interval, timeout; /* seconds; 0: none.  The last with what --pace adds */
	uint64_t pace;                    /* bytes per second of each connection; 0: no limit */
	int streams;                      /* connections at a time, each of a thread */
	int mss;                          /* bytes; 0: the kernel's choice */
	int debug;
	bool nodelay, cork, raw, quiet;
	int json; /* JSON_* */
	bool timestamps;
	int retries;           /* of a run that came out unsafe */
	bool keep;             /* all requests of a thread are made over one connection */
	bool preload;          /* the files are sent from memory */
	uint64_t bytes;        /* that all streams send together; 0: not limited so */
	bool calibrate, force; /* -C, and whether the host may be busy */
	bool zeros;            /* the built-in set is zeros, not random */
};

/*
 * Stores the options; a wrong one is a usage error.  Returns the index of the first file.  --help
 * and --version are printed and end the program.
 */
int options_parse(struct send_options *opt, int argc, char **argv);
