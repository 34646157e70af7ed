/*
 * pool.h: threads that are used again.  A thread that has nothing to do is kept for POOL_NS, so that
 * many short clients have few threads; then it ends.
 *
 *	struct pool p;
 *	pool_init(&p);
 *	if (pool_run(&p, serve, client) != 0)	(serve(worker, client) is called in a thread)
 *		...
 *	pool_end(&p);
 */
#pragma once

#include <pthread.h>
#include <sys/queue.h>

#include "common.h"

#define POOL_NS 100000000u /* that a thread without work is kept */

struct pool;

struct worker {
	LIST_ENTRY(worker) link; /* of the spare ones */
	struct pool *pool;
	pthread_cond_t has_work;
	void (*run)(struct worker *w, void *arg); /* NULL: it has no work */
	void *arg;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t left; /* a thread has ended */
	LIST_HEAD(worker_head, worker) spare;
	int n;          /* threads */
	bool ends;      /* no thread is kept any more */
	bool has_last;  /* a thread has ended, and nothing has joined it */
	pthread_t last; /* each that ends joins the one that ended before it */
};

void pool_init(struct pool *p);

/* Calls run(worker, arg) in a thread of the pool, the one that was last used.  Returns 0 or the error. */
int pool_run(struct pool *p, void (*run)(struct worker *w, void *arg), void *arg);

/* Ends all threads; none of them has work any more, or it is about to be done. */
void pool_end(struct pool *p);
