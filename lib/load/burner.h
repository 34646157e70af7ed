/*
 * burner.h: threads that do work of a known size, by this process's CPU clock.
 *
 *	struct burner_work work = {.share = 0.5, .rate = 100, .seconds = 1, .cpu = {0}, .n = 1};
 *
 *	burner_open(&b, 1, why);
 *	burner_run_or_die(&b, &work, &done);
 *	printf("%.3f of %.3f CPU-seconds\n", done.cpu_seconds, work.share * work.seconds);
 */
#pragma once

#include "common.h"

/* How datagrams go from one thread to the other. */
enum burner_path {
	BURNER_NO_PATH,
	BURNER_VETH,     /* between two network namespaces, by veth(4) */
	BURNER_VETH_RPS, /* the same, with the softirqs on another CPU */
	BURNER_PATHS
};

/*
 * Without a path each thread works for a share of each period, and sleeps for the rest of it.  With a path the
 * first thread sends a burst of datagrams to the second in each period.
 */
struct burner_work {
	double share; /* 0 to 1: with 0 a thread only wakes up */
	int rate;     /* periods per second */
	enum burner_path path;
	double seconds;
	int cpu[2], n; /* the CPUs of its n threads */
};

struct burner_done {
	double cpu_seconds; /* CPU time of this process */
	double count;       /* turns of work and wake-ups, or datagrams received, by all threads */
};

struct burner {
	struct path {
		int send, receive; /* UDP sockets: datagrams go from `send` to `receive` */
	} path[BURNER_PATHS];
};

/*
 * Opens the paths.  BURNER_VETH_RPS moves the softirqs to the CPU `rps_cpu` by receive packet steering
 * (Documentation/networking/scaling.rst): the work is the same, but no process is charged for it.  Stores an empty
 * string, or why they could not be opened.  The process, which must have one thread, moves into the
 * receiver's network namespace; without privilege also into a user namespace, and before Linux 6.3 also into a
 * mount namespace.
 */
void burner_open(struct burner *b, int rps_cpu, char why[DIE_MAX]);

/* Works, and returns when the work is done. */
void burner_run_or_die(const struct burner *b, const struct burner_work *w, struct burner_done *d);
