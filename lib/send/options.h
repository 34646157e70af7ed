/*
 * options.h: the options of zcc: their table, checks and defaults.
 *
 *	first = options_parse(&opt, argc, argv);
 */
#pragma once

#include "lib/compare/comparison.h"
#include "lib/load/gauge.h"
#include "lib/net/socket.h"

#define WARMUP_MAX 100 /* seconds */

struct send_method;
struct tls_cipher;

#define NO_REQUEST UINT64_MAX /* the size of a run that transfers files */

/* A run of a comparison, in each setting. */
struct run_words {
	char *text;  /* the words in which its options differ from the command line */
	char **word; /* the same, behind the name of the program */
	int n;
	const char *vs; /* the text of the --vs that has them, or some of them; or NULL */
	int reference;  /* the run that it is compared with */
	bool soak;      /* its instrument */
	int idle;
};

/* Of a comparison: those of the command line, with the first values of lists, and any instrument of a run. */
struct send_options {
	/* On the command line.  It is the first member, as no row sets it: one whose `at` is 0 has all. */
	struct options_given given;
	struct sock_options sock;
	struct cpus bind; /* the CPUs of the threads, one after the other; empty: anywhere */
	const char *server, *port;
	const char *title;        /* a label of the report; NULL: none */
	const char *source;       /* the own address; NULL: the kernel's choice */
	int cport;                /* the own port of the first connection; 0: the kernel's choice */
	struct gauge_setup gauge; /* whether and how the host's load is measured */
	const struct send_method *method;
	const struct tls_cipher *tls; /* NULL: the connections are not encrypted */
	int family;                   /* AF_INET, AF_INET6 or AF_UNSPEC */
	struct compare_options compare;
	/* There is more than one run, not just several sizes of requests; or only a comparison has an option. */
	bool compares;
	int runs;            /* a round: those of `words`, in each setting */
	int setting;         /* of the run, if there are any */
	const char *vs;      /* the last --vs; NULL: none */
	char **files;        /* the operands */
	const char *command; /* the whole command line */
	struct run_words *words;
	int n_words;
	uint64_t chunk;   /* bytes of a call; 0: the method's default */
	uint64_t request; /* bytes to ask for; NO_REQUEST: files are sent */
	uint32_t loops;   /* how often to send the files, or requests of each size */
	double seconds;   /* how long to send; 0: `loops` times */
	double warmup, interval, timeout; /* seconds; 0: none.  The last with what --pace adds */
	double wait_server; /* seconds; 0: a server that does not listen is an error */
	uint64_t pace;      /* bytes per second of each connection; 0: no limit */
	int streams;        /* connections at a time, each of a thread */
	int mss;            /* bytes; 0: the kernel's choice */
	int debug;
	bool nodelay, cork, raw, quiet;
	int json; /* JSON_* */
	bool timestamps;
	bool keep;      /* all requests of a thread are made over one connection */
	bool preload;   /* the files are sent from memory */
	uint64_t bytes; /* that all streams send together; 0: not limited so */
	bool calibrate; /* -C */
};

/*
 * Stores the options; a wrong one is a usage error.  Returns the index of the first file.  --help
 * and --version are printed and end the program.
 */
int options_parse(struct send_options *opt, int argc, char **argv);

/* Stores the options of run i of a round. */
void options_of_run(const struct send_options *all, int i, struct send_options *opt);

/* Returns, to be freed, the command that makes a run with these options alone. */
char *options_command(const struct send_options *opt);

/*
 * Returns, to be freed, what a run without words is called: its values of the options that other runs set, or its
 * method.
 */
char *options_name(const struct send_options *all);
