#include "lib/receive/pool.h"

void pool_init(struct pool *p)
{
	*p = (struct pool){.spare = LIST_HEAD_INITIALIZER(p->spare)};
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->left, NULL);
}

/* Waits for work, for POOL_NS at most.  The caller has the lock, and gets it back. */
static void wait_for_work(struct pool *p, struct worker *w)
{
	const struct timespec until = ns_to_timespec(now_ns() + POOL_NS);

	LIST_INSERT_HEAD(&p->spare, w, link);
	while (w->run == NULL && !p->ends &&
	       pthread_cond_timedwait(&w->has_work, &p->lock, &until) == 0)
		;
	if (w->run == NULL) /* else pool_run() has removed it */
		LIST_REMOVE(w, link);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;
	bool has_before;
	pthread_t before;

	pthread_mutex_lock(&p->lock);
	while (w->run != NULL) {
		pthread_mutex_unlock(&p->lock);
		w->run(w, w->arg);
		pthread_mutex_lock(&p->lock);
		w->run = NULL;
		wait_for_work(p, w);
	}
	has_before = p->has_last;
	before = p->last;
	p->has_last = true;
	p->last = pthread_self();
	p->n--;
	pthread_cond_signal(&p->left);
	pthread_mutex_unlock(&p->lock);
	pthread_cond_destroy(&w->has_work);
	free(w);
	if (has_before)
		pthread_join(before, NULL);
	return NULL;
}

/* Starts a thread with its first work.  The caller has the lock.  Returns 0 or the error. */
static int start(struct pool *p, void (*run)(struct worker *w, void *arg), void *arg)
{
	struct worker *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;
	pthread_t thread;
	int e;

	if (w == NULL)
		return ENOMEM;
	w->pool = p;
	w->run = run;
	w->arg = arg;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->has_work, &monotonic);
	pthread_condattr_destroy(&monotonic);
	e = thread_start(&thread, worker_main, w);
	if (e != 0) {
		pthread_cond_destroy(&w->has_work);
		free(w);
	} else {
		p->n++;
	}
	return e;
}

int pool_run(struct pool *p, void (*run)(struct worker *w, void *arg), void *arg)
{
	struct worker *w;
	int e = 0;

	pthread_mutex_lock(&p->lock);
	w = LIST_FIRST(&p->spare);
	if (w == NULL) {
		e = start(p, run, arg);
	} else {
		LIST_REMOVE(w, link);
		w->arg = arg;
		w->run = run;
		pthread_cond_signal(&w->has_work);
	}
	pthread_mutex_unlock(&p->lock);
	return e;
}

void pool_end(struct pool *p)
{
	struct worker *w;

	pthread_mutex_lock(&p->lock);
	p->ends = true;
	for (w = LIST_FIRST(&p->spare); w != NULL; w = LIST_NEXT(w, link))
		pthread_cond_signal(&w->has_work);
	while (p->n > 0)
		pthread_cond_wait(&p->left, &p->lock);
	pthread_mutex_unlock(&p->lock);
	if (p->has_last)
		pthread_join(p->last, NULL);
}
