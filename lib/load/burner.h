/*
 * burner.h: threads that make work of known size, by this process's CPU clock.
 *
 *	struct burner_work work = {.share = 0.5, .rate = 100, .seconds = 1, .cpu = {0}, .n = 1};
 *
 *	burner_open_or_die(&b, 1, why);
 *	burner_run_or_die(&b, &work, &done);
 *	printf("%.3f of %.3f CPU-seconds\n", done.cpu_seconds, work.share * work.seconds);
 */
#pragma once

#include "common.h"

/* The way of datagrams from one thread to another. */
enum burner_path {
	BURNER_NO_PATH,
	BURNER_LOOPBACK,
	BURNER_VETH,     /* between two network namespaces, by veth(4) */
	BURNER_VETH_RPS, /* the same, with the softirqs on another CPU */
	BURNER_PATHS
};

/*
 * Each thread works for a share of each period and sleeps for the rest of it, or with a path the first
 * sends a burst of datagrams in each period to the second.
 */
struct burner_work {
	double share; /* 0 to 1: of 0 a thread does nothing but wake up */
	int rate;     /* periods per second */
	enum burner_path path;
	double seconds;
	int cpu[2], n; /* the CPUs of its n threads */
};

struct burner_done {
	double cpu_seconds; /* of this process */
	double count;       /* turns of work and wake-ups, or datagrams received, of all threads */
};

struct burner {
	struct path {
		int send, receive; /* UDP sockets: what is sent on the one arrives at the other */
	} path[BURNER_PATHS];
};

/*
 * Opens the paths, of which the one with RPS moves the softirqs to that CPU: receive packet
 * steering, Documentation/networking/scaling.rst.  The work is the same, but no process is charged
 * for it.  Stores why there is no path but the first, where the kernel or the administrator does not
 * permit others, or an empty string.  The process, which has one thread, moves into the receiver's
 * namespaces: without privilege also a user namespace, before
 * Linux 6.3 also a mount namespace.
 */
void burner_open_or_die(struct burner *b, int rps_cpu, char why[DIE_MAX]);

/* Works, and waits for the end of that. */
void burner_run_or_die(const struct burner *b, const struct burner_work *w, struct burner_done *d);
