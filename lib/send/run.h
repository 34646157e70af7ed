/*
 * run.h: a run of zcc, whether it transfers or requests: the server, threads that work at the same
 * time, the main thread that oversees them, and what the host did meanwhile.
 *
 *	sock = target_find(&target, run, 0, &worker.sock);
 *	...
 *	run_start(run, work, streams, sizeof(streams[0]), seconds);
 *	while (run->running > 0)
 *		run_step(run, events, n, arg);
 *	run_end(run);
 */
#pragma once

#include "lib/load/gauge.h"
#include "lib/report/figures.h"
#include "lib/send/options.h"

#define TICK_NS       100000000u /* how often a stop is repeated, and a wait looks for one */
#define NEVER         UINT64_MAX
#define SHORT_SECONDS 0.5 /* shorter runs tell of a start and an end more than of a rate */

/* The server, as options name it. */
struct target {
	struct sockaddr_storage addr;
	socklen_t addr_len;
	struct sockaddr_storage source; /* opt->source, where that is given, or 0 */
	char name[ADDR_STRLEN];         /* the address and port as text */
	char interface[IF_NAMESIZE]; /* via which packets leave for the server; empty: not known */
};

struct run;

/* A thread, as the first member of what it works on. */
struct worker {
	pthread_t thread;
	int number;
	struct run *run;
	int connection;   /* which is reset if the run is broken; -1: none */
	_Atomic int sock; /* on which it may block, and which a stop is to shut down; -1: none */
};

struct run {
	const struct send_options *opt;
	struct addrinfo *addresses; /* of the server, while they are tried; or NULL */
	int cport;        /* the own port of the run's first connection; 0: the kernel's choice */
	_Atomic int stop; /* 0, TIME_UP, or the signal that interrupts */
	_Atomic bool is_broken, has_failed; /* a thread failed, and has stored why */
	_Atomic bool has_died;              /* a thread called die(): the run has no figures */
	char failure[DIE_MAX];              /* of a thread, or of what precedes them; or empty */
	int how;            /* SHUT_WR or SHUT_RD: what a stop does to the workers' sockets */
	uint64_t shut_ns;   /* when a call that still blocks is ended; 0: the run has not stopped */
	struct gauge gauge; /* of the run under way */
	bool in_turn;       /* runs are measured alternately by idle time and by soaking */
	const char *interface; /* whose packets are counted; empty: none are */
	void (*work)(void *worker);
	char *workers;
	size_t worker_size;
	pthread_barrier_t barrier;
	_Atomic int measuring; /* threads whose figures are not final */
	_Atomic int running;   /* threads that are not at their end */
	int wake; /* eventfd(2), readable once a thread has come to its end, or a signal came */
	uint64_t start_ns, end_ns; /* when the threads began, and when their time is up */
	uint64_t due_ns;           /* when the event was due that is handled now */
};

/*
 * Makes a socket with the run's options, or dies if one cannot be set, and connects it.  `number` is that of its
 * stream or thread, which --cport adds to its port; -1: it has a port of the kernel's choice.  A signal ends the wait
 * only if r->stop is not 0; so does shutdown(2) of the socket, which is in *sock while it connects.
 * Returns the socket, or -1 with errno: ETIMEDOUT when --timeout was over.
 */
int target_connect(const struct target *s, const struct run *r, int number, _Atomic int *sock);

/* Stores in r->failure why the run cannot begin. */
void run_fail(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Stores in r->failure why target_connect() has failed, by errno, after `seconds` of waiting for the server. */
void target_fail(struct run *r, double seconds);

/*
 * Connects to the first of the addresses that the resolver has for opt->server and opt->port that accepts, or if
 * `sock` is NULL just takes the first.  Tries as long as --wait-server has it.  Returns -1 if none accepts, or there is
 * none, and r->failure has the reason; or after a signal.
 */
int target_find(struct target *s, struct run *r, int number, _Atomic int *sock);

/*
 * With --wait-server, waits until the server accepts a connection, which is reset at once: no connection is open while
 * the idle machine is measured.  Returns false without the option.
 */
bool target_wait(struct target *s, struct run *r);

/* Something to be done at a time.  The handler returns when it is due again, or NEVER. */
struct event {
	uint64_t due_ns;
	uint64_t (*handle)(void *arg, uint64_t now);
};

/* Prepares runs: loads the calibration if load is to be measured, tries the CPUs, or dies. */
void run_open(struct run *r, const struct send_options *opt);

/* Dies unless the kernel has the options of the connections of r->opt, their method and their CPUs. */
void run_try_or_die(const struct run *r);

/*
 * Starts the instrument that r->opt has for the next run, by soaking or by idle time, if any; all runs have the
 * same one, unless run_open() had both.  Without a calibration it measures the idle
 * machine, so that no connection may be open yet.  If the load cannot be measured, each reason is printed once, and
 * the next run tries again.  If other programs are still busy at the end of --wait-idle, r->failure says so.
 */
void run_gauge(struct run *r);
void run_close(struct run *r);

/* Calls attempt(arg), in which die() breaks the run as in a worker; returns what it returns, or false. */
bool run_attempt(struct run *r, bool (*attempt)(void *arg), void *arg);

/*
 * Starts opt->streams threads, bound to the CPUs of the options, reads the host, and has the
 * threads begin at r->start_ns, all at once.  Each calls `work` with its element of `workers`: an
 * array of structs of that size, of which the first member is a struct worker.  The time is up
 * `seconds` later, or never if that is 0.
 */
void run_start(struct run *r, void (*work)(void *worker), void *workers, size_t size,
	       double seconds);

/*
 * Waits for the next event, the end of a thread or a signal.  Unless all threads have ended it then
 * calls the handlers that are due, and has the threads stop if the time is up or a signal came.
 */
void run_step(struct run *r, struct event *e, int events, void *arg);

/*
 * Waits for the threads' ends, for which it resets the connections of a broken run.  If the time was up, it sets r->stop to 0
 * again.
 */
void run_end(struct run *r);

/*
 * Measures the idle machine after the run, if there is no calibration.  A signal ends that: the load
 * is then against the baseline before the run.  The next run begins with the baseline after this one.
 */
void run_baseline_after(struct run *r);

/*
 * Called by the main thread before it begins anew what is measured: until it calls run_measured() the host's figures are
 * not read.  Returns false if they have been.
 */
bool run_hold(struct run *r);

/* Called by each thread once its figures are final: the last reads the host's. */
void run_measured(struct run *r);

/*
 * Sets r->stop to a signal, or unless it is set to TIME_UP, and wakes the main thread.  A signal handler may
 * call it.
 */
void run_stop(struct run *r, int why);

/*
 * Breaks the run: stores why, unless that is known already, and wakes the main thread, which reports what was measured.  A
 * worker does not return from it: its thread ends.  die() in a worker does the same, and the run has no figures.
 */
void run_break(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Stores what the host did between the marks of r->gauge. */
void run_host_figures(const struct run *r, struct figures *f);

/* The time `seconds` after `ns`, or NEVER if that is 0. */
uint64_t time_after(uint64_t ns, double seconds);

/* The end of the interval after one that was due.  Intervals that passed while zcc was stopped are skipped. */
uint64_t interval_after(uint64_t due, uint64_t now, double seconds);
