#include "lib/send/run.h"

#include <sys/eventfd.h>

#include "lib/report/receipt.h"
#include "lib/send/sender.h"

#define SHORT_SECONDS 0.5 /* shorter runs tell of a start and an end more than of a rate */

uint64_t time_after(uint64_t ns, double seconds)
{
	return seconds > 0 ? ns + (uint64_t)(seconds * 1e9) : NEVER;
}

static bool takes_turns(const struct run *r)
{
	return r->setup.soak && r->setup.idle;
}

/* Prepares each instrument once, so that each warning about it is printed once. */
static void prepare_gauges_or_die(struct run *r)
{
	int i;

	if (!takes_turns(r))
		gauge_prepare_or_die(&r->gauge, &r->setup);
	for (i = 0; i < 2 && takes_turns(r); i++) {
		r->turn[i] = r->setup;
		r->turn[i].idle = i == 0;
		r->turn[i].soak = i == 1;
		gauge_prepare_or_die(&r->prepared[i], &r->turn[i]);
	}
}

void run_open(struct run *r, const struct send_options *opt, _Atomic int *stop)
{
	*r = (struct run){.opt = opt, .stop = stop, .interface = "", .setup = opt->gauge};
	r->setup.what = opt->requests.n > 0 ? "requests" : "transfer";
	r->setup.debug = opt->debug > 0;
	prepare_gauges_or_die(r);
	cpus_try_or_die(&opt->bind);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->wake < 0)
		die_errno("eventfd");
}

void run_soak(struct run *r)
{
	const struct gauge *g = takes_turns(r) ? &r->prepared[0] : &r->gauge;

	if (!gauge_is_wanted(&r->setup))
		return;
	gauge_mark_open(g, &r->begin);
	gauge_mark_open(g, &r->end);
	if (!takes_turns(r))
		gauge_start(&r->gauge, r->opt->seconds);
}

void run_turn(struct run *r, const char *instrument)
{
	struct gauge *next = &r->prepared[strcmp(instrument, LOAD_BY_SOAKING) == 0];

	if (!takes_turns(r))
		return;
	next->said = r->gauge.said;
	gauge_copy(&r->gauge, next);
	gauge_start(&r->gauge, r->opt->seconds);
}

void run_turn_end(struct run *r)
{
	if (takes_turns(r))
		gauge_stop(&r->gauge);
}

const char *run_lacks_load(const struct run *r)
{
	if (r->gauge.missing != 0)
		return "no load of this host can be measured: only throughput is compared, and the "
		       "receiver's load if zcs measures it (-c)";
	if (r->gauge.bracket.warned_of_full)
		return "no load can be measured before the machine is idle: until then only "
		       "throughput is compared";
	return NULL;
}

void run_close(struct run *r)
{
	gauge_stop(&r->gauge);
	gauge_stop(&r->prepared[0]);
	gauge_stop(&r->prepared[1]);
	gauge_mark_close(&r->begin);
	gauge_mark_close(&r->end);
	close(r->wake);
}

static struct worker *worker_at(const struct run *r, int i)
{
	return (struct worker *)(void *)(r->workers + (size_t)i * r->worker_size);
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct run *r = w->run;

	cpu_bind_or_die(&r->opt->bind, w->number);
	pthread_barrier_wait(&r->barrier);
	r->work(w);
	atomic_fetch_sub(&r->running, 1);
	eventfd_write(r->wake, 1);
	return NULL;
}

void run_start(struct run *r, void (*work)(void *worker), void *workers, size_t size,
	       double seconds)
{
	struct worker *w;
	int i, e;

	r->work = work;
	r->workers = workers;
	r->worker_size = size;
	r->running = r->measuring = r->opt->streams;
	pthread_barrier_init(&r->barrier, NULL, (unsigned)r->opt->streams + 1);
	for (i = 0; i < r->opt->streams; i++) {
		w = worker_at(r, i);
		w->number = i;
		w->run = r;
		e = thread_start(&w->thread, worker_main, w);
		if (e != 0)
			die("thread %d of %d: %s", i + 1, r->opt->streams, strerror(e));
	}
	gauge_next(&r->gauge);
	run_mark_begin(r);
	r->start_ns = now_ns();
	r->end_ns = time_after(r->start_ns, seconds);
	pthread_barrier_wait(&r->barrier);
}

void run_step(struct run *r, struct pollfd *p, nfds_t n, struct event *e, int events, void *arg)
{
	uint64_t now = now_ns(), due = *r->stop != 0 ? now + TICK_NS : r->end_ns;
	struct timespec t;
	eventfd_t ignored;
	struct worker *w;
	int i;

	for (i = 0; i < events; i++)
		if (e[i].due_ns < due)
			due = e[i].due_ns;
	p[0] = (struct pollfd){.fd = r->wake, .events = POLLIN};
	t = ns_to_timespec(due > now ? due - now : 0);
	if (ppoll(p, n, due != NEVER ? &t : NULL, &r->unblocked) > 0 && p[0].revents != 0)
		eventfd_read(r->wake, &ignored);
	if (r->running == 0)
		return;
	now = now_ns();
	for (i = 0; i < events; i++)
		if (now >= e[i].due_ns)
			e[i].due_ns = e[i].handle(arg, now);
	if (now >= r->end_ns)
		run_stop(r);
	for (i = 0; *r->stop != 0 && i < r->opt->streams; i++) {
		w = worker_at(r, i);
		if (w->interruptible)
			pthread_kill(w->thread, SIGALRM);
	}
}

void run_end(struct run *r)
{
	int i, time_up = TIME_UP;

	for (i = 0; i < r->opt->streams; i++)
		pthread_join(worker_at(r, i)->thread, NULL);
	pthread_barrier_destroy(&r->barrier);
	atomic_compare_exchange_strong(r->stop, &time_up, 0);
}

void run_baseline_after(struct run *r)
{
	sigset_t old;

	if (*r->stop != 0)
		return;
	sigprocmask(SIG_SETMASK, &r->unblocked, &old);
	gauge_after(&r->gauge, &r->begin, &r->end, r->stop);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

void run_stop(struct run *r)
{
	int running = 0;

	atomic_compare_exchange_strong(r->stop, &running, TIME_UP);
}

/* The main thread would come too late to read the host's figures. */
void run_measured(struct run *r)
{
	if (atomic_fetch_sub(&r->measuring, 1) == 1)
		run_mark_end(r);
}

static const char *interface_of(const struct run *r)
{
	return r->interface[0] != '\0' ? r->interface : NULL;
}

void run_mark_begin(struct run *r)
{
	gauge_begin(&r->gauge, &r->begin, interface_of(r));
}

void run_mark_end(struct run *r)
{
	gauge_end(&r->gauge, &r->end, interface_of(r));
}

/* Why there is no load, as a receipt names it; an empty word where that is not known. */
static const char *no_load(const struct run *r, unsigned unsafe)
{
	if (!gauge_is_wanted(&r->setup))
		return NO_LOAD_OFF;
	if (unsafe & UNSAFE_SOAKED_ALREADY)
		return NO_LOAD_HELD;
	return unsafe & (UNSAFE_BASELINE_BUSY | UNSAFE_CALIBRATION) ? NO_LOAD_BASELINE : "";
}

void run_host_figures(const struct run *r, struct figures *f)
{
	gauge_load(&r->gauge, &r->begin, &r->end, &f->host);
	if (isnan(f->host.load))
		strcpy(f->no_load, no_load(r, f->host.unsafe));
}

bool run_is_short(const struct figures *host)
{
	return host->seconds < SHORT_SECONDS;
}
