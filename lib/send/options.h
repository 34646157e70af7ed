/*
 * options.h: what zcc was asked to do.  main fills it in once; the parts of lib/send only read it.
 */
#pragma once

#include "lib/load/cpus.h"
#include "lib/net/socket.h"

#define SIZES_MAX 64

struct send_method;

/* A list of sizes, each of which is a run of its own. */
struct sizes {
	int n;
	uint64_t size[SIZES_MAX];
};

struct send_options {
	struct sock_options sock;
	struct cpus bind; /* the CPUs of the threads, in turn; empty: anywhere */
	const char *server, *port;
	const char *source;      /* the own address; NULL: the kernel's choice */
	const char *calibration; /* its file; NULL: CALIBRATION_FILE, if it fits */
	const struct send_method *method;
	int family;            /* AF_INET, AF_INET6 or AF_UNSPEC */
	struct sizes chunks;   /* -b: bytes of a call, for each run; none: the method's default */
	struct sizes requests; /* --request: bytes to ask for, for each run */
	uint32_t loops;        /* how often to send the files, or requests of each size */
	double seconds;        /* how long to send; 0: `loops` times */
	double warmup, interval, timeout; /* seconds; 0: none */
	uint64_t pace;                    /* bytes per second of each connection; 0: no limit */
	int streams;                      /* connections at a time, each of a thread */
	int mss;                          /* bytes; 0: the kernel's choice */
	int n_cpus;                       /* CPUs to measure; 0: all */
	int debug;
	int nodelay, raw, json; /* true or false; getopt_long(3) stores an int */
	bool cork, load, quiet;
	bool zeros; /* the content of the built-in set, else random */
};
