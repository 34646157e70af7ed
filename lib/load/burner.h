/*
 * burner.h: a process that makes work of known size, by its own CPU clock.
 *
 *	struct burner_work work = {BURNER_BURN, .seconds = 1, .cpu = {0}, .n = 1, .share = 0.5};
 *
 *	burner_start_or_die(&b, 1);
 *	burner_run_or_die(&b, &work, &done);
 *	printf("%.3f of %.3f CPU-seconds\n", done.cpu_seconds, work.share * work.seconds);
 *	burner_stop(&b);
 *
 * The process ends with its parent, however that ends.
 */
#pragma once

#include "common.h"

enum burner_kind {
	BURNER_REST,   /* sleeps */
	BURNER_BURN,   /* a thread on each CPU works for a share of each period of 10 ms */
	BURNER_TURN,   /* a thread does nothing but arithmetic, of which it counts the turns */
	BURNER_WAKE,   /* a thread wakes up and sleeps again, so many times a second */
	BURNER_STREAM, /* a thread sends bursts of datagrams, each millisecond, to another thread */
};

enum burner_path {
	BURNER_LOOPBACK,
	BURNER_VETH,     /* between two network namespaces: pair.h */
	BURNER_VETH_RPS, /* the same, with the softirqs on another CPU */
	BURNER_PATHS
};

struct burner_work {
	enum burner_kind kind;
	double seconds;
	int cpu[2], n;         /* the CPUs of its n threads */
	double share;          /* of BURNER_BURN, 0 to 1 */
	int rate;              /* of BURNER_WAKE, per second */
	enum burner_path path; /* of BURNER_STREAM */
};

struct burner_done {
	double cpu_seconds; /* of the process, all its threads together */
	double count;       /* turns, wake-ups or datagrams received, of all threads */
};

struct burner {
	pid_t pid;
	int fd;            /* a socket to the process */
	char why[DIE_MAX]; /* why there is no path but the first; empty: there is */
};

/* Starts the process, whose paths with RPS move the softirqs to that CPU.  There may be no threads. */
void burner_start_or_die(struct burner *b, int rps_cpu);

/* Has it work, and waits for the end of that. */
void burner_run_or_die(const struct burner *b, const struct burner_work *w, struct burner_done *d);

/* Ends the process. */
void burner_stop(struct burner *b);
