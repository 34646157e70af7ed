/*
 * gen: a load of known size.  It takes a share of some CPUs, judged by its own CPU clock, and says
 * what it really got.
 *
 *	gen [-l percent] [-p microseconds] [-s seconds] [-c cpus] [-u] [-P fifo|other] [-S]
 *	    [-w | -t [-H hz]] [-o file]
 *		-l	of each CPU that it uses (default 50); 0 only sleeps
 *		-p	length of a period (default 4000): it burns its share of it, then sleeps
 *		-s	how long (default 1)
 *		-c	CPUs, a list (default: all that are online); a worker for each, bound to it
 *		-u	as many workers, not bound
 *		-P	fifo: SCHED_FIFO, priority 1; other (default): SCHED_OTHER
 *		-S	in a session of its own
 *		-w	only wakes: each period it wakes and sleeps again at once
 *		-t	hides from the timer tick, after Documentation/admin-guide/cpu-load.rst:
 *			burns from just after a tick until just before the next, and sleeps over it
 *		-H	ticks per second, CONFIG_HZ (default: measured)
 *		-o	where the result goes (default: standard output)
 *
 * The result is one line of key=value pairs:
 *	share		of all online CPUs, 0 to 1, from the common start to the common end
 *	seconds		between those two
 *	wakes		sleeps that ended
 *	switches	context switches, voluntary and not
 *	each		the share of a CPU that each worker got
 *	cpus		how many are online
 *	stat		the load by /proc/stat over the same time: user, system, irq, softirq and
 *			steal
 *	cpu		CPU seconds of the whole process, from its fork to this line
 */
#include "common.h"
#include "lib/load/baseline.h"
#include "lib/load/keeper.h"
#include "lib/load/counters.h"
#include "lib/load/cpus.h"
#include "lib/load/limits.h"
#include "lib/load/load.h"
#include "lib/load/soaker.h"
#include "lib/net/socket.h"
#include "lib/net/wire.h"
#include "lib/report/figures.h"
#include "lib/report/json.h"
#include "lib/report/units.h"

#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEBT_PERIODS 4      /* time lost to others is made up for as many periods, not more */
#define TICKS_SEEN   5      /* to find where in time the tick is */
#define TICK_BEFORE  100000 /* ns from the end of burning to a tick */
#define TICK_AFTER   50000  /* ns from the tick to the start of burning */

static struct {
	double load;     /* share of a CPU */
	uint64_t period; /* ns */
	double seconds;
	struct cpus cpus;
	long hz;
	const char *out;
	bool bound, fifo, session, wake_only, hide;
} opt = {
	.load = 0.5,
	.period = 4000000,
	.seconds = 1,
	.bound = true,
};

struct worker {
	pthread_t thread;
	uint64_t cpu_ns; /* used between start and end */
	uint64_t wakes;
};

/* The same for all workers.  The times are set while they wait at the barrier. */
static struct {
	pthread_barrier_t barrier;
	uint64_t start, end;    /* ns */
	uint64_t tick, tick_at; /* ns: its length, and when there was one */
} common;

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns how often it slept: not at all when the time has passed. */
static unsigned sleep_until(uint64_t ns)
{
	const struct timespec t = to_timespec(ns);

	if (now_ns() >= ns)
		return 0;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
	return 1;
}

/*
 * Burns until the thread's CPU clock shows `cpu_target`, or until `end`.  That clock costs a system
 * call, the other one none: the first is read only when the thread can have got there.
 */
static void burn_cpu(uint64_t cpu_target, uint64_t end)
{
	uint64_t cpu, until;

	while ((cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID)) < cpu_target && now_ns() < end) {
		until = min_ns(now_ns() + (cpu_target - cpu), end);
		while (now_ns() < until)
			;
	}
}

static void burn_periods(struct worker *w)
{
	uint64_t quota = (uint64_t)(opt.load * (double)opt.period);
	uint64_t target = clock_ns(CLOCK_THREAD_CPUTIME_ID), next = common.start, most;

	while (next < common.end) {
		most = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (1 + DEBT_PERIODS) * quota;
		target = min_ns(target + quota, most);
		burn_cpu(target, common.end);
		next += opt.period;
		w->wakes += sleep_until(min_ns(next, common.end));
	}
}

static void wake_periods(struct worker *w)
{
	uint64_t next;

	for (next = common.start; next < common.end; next += opt.period)
		w->wakes += sleep_until(next);
}

static void hide_from_tick(struct worker *w)
{
	uint64_t next, until;

	while (now_ns() < common.end) {
		next = common.tick_at +
		       ((now_ns() - common.tick_at) / common.tick + 1) * common.tick;
		w->wakes += sleep_until(min_ns(next + TICK_AFTER, common.end));
		until = min_ns(next + common.tick - TICK_BEFORE, common.end);
		while (now_ns() < until)
			;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t cpu;

	pthread_barrier_wait(&common.barrier); /* all are there */
	pthread_barrier_wait(&common.barrier); /* the start has been set */
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (opt.hide)
		hide_from_tick(w);
	else if (opt.wake_only)
		wake_periods(w);
	else if (opt.load > 0)
		burn_periods(w);
	w->wakes += sleep_until(common.end);
	w->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return NULL;
}

/*
 * The coarse clock moves on at the tick, by the length of a tick (clock_getres(2)).  What delays
 * the sight of it only adds, so the earliest place in the tick's length is kept.
 */
static void find_tick(void)
{
	struct timespec res;
	uint64_t coarse, seen, place, best;
	int i;

	clock_getres(CLOCK_MONOTONIC_COARSE, &res);
	common.tick = opt.hz > 0 ? 1000000000 / (uint64_t)opt.hz : (uint64_t)res.tv_nsec;
	if (common.tick < 4 * (TICK_BEFORE + TICK_AFTER))
		errx(EXIT_FAILURE, "a tick each %llu ns leaves no room to hide",
		     (unsigned long long)common.tick);
	best = common.tick;
	for (i = 0; i < TICKS_SEEN; i++) {
		coarse = clock_ns(CLOCK_MONOTONIC_COARSE);
		do
			seen = now_ns();
		while (clock_ns(CLOCK_MONOTONIC_COARSE) == coarse);
		place = seen % common.tick;
		if (i == 0 || (place - best + common.tick) % common.tick > common.tick / 2)
			best = place;
		common.tick_at = seen - (seen - best) % common.tick;
	}
}

/* Binds each worker by binding itself first: what fails then fails here, once. */
static void start_workers(struct worker *w)
{
	int i, e;

	e = pthread_barrier_init(&common.barrier, NULL, (unsigned)opt.cpus.n + 1);
	for (i = 0; i < opt.cpus.n && e == 0; i++) {
		if (opt.bound)
			cpu_bind_or_die(&opt.cpus, i);
		e = pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	if (e != 0)
		errx(EXIT_FAILURE, "workers: %s", strerror(e));
	pthread_barrier_wait(&common.barrier);
}

static uint64_t switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)(r.ru_nvcsw + r.ru_nivcsw);
}

static double stat_busy(const struct counters *from, const struct counters *to)
{
	struct rates r;

	counters_rates(from, to, &r);
	return r.cpu[CPU_USER] + r.cpu[CPU_SYSTEM] + r.cpu[CPU_IRQ] + r.cpu[CPU_SOFTIRQ] +
	       r.cpu[CPU_STEAL];
}

/* Runs the load and prints the result.  `before`: CPU time, ns, of the process that forked this. */
static void run(FILE *f, uint64_t before)
{
	struct worker *w = calloc((size_t)opt.cpus.n, sizeof(*w));
	struct counters from, to;
	struct cpus online;
	uint64_t ns, cpu, switched, wakes = 0;
	int i;

	if (w == NULL)
		err(EXIT_FAILURE, "workers");
	cpus_online(&online);
	start_workers(w);
	counters_read(&from, NULL);
	switched = switches();
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	common.start = now_ns();
	common.end = common.start + (uint64_t)(opt.seconds * 1e9);
	pthread_barrier_wait(&common.barrier);
	for (i = 0; i < opt.cpus.n; i++) {
		pthread_join(w[i].thread, NULL);
		wakes += w[i].wakes;
	}
	ns = now_ns() - common.start;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	switched = switches() - switched;
	counters_read(&to, NULL);
	fprintf(f, "share=%.6f seconds=%.6f wakes=%llu switches=%llu",
		(double)cpu / ((double)ns * online.n), (double)ns / 1e9, (unsigned long long)wakes,
		(unsigned long long)switched);
	for (i = 0; i < opt.cpus.n; i++)
		fprintf(f, "%s%.4f", i == 0 ? " each=" : ",", (double)w[i].cpu_ns / (double)ns);
	fprintf(f, " cpus=%d stat=%.6f cpu=%.6f\n", online.n, stat_busy(&from, &to),
		(double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) + before) / 1e9);
	free(w);
}

/*
 * A leader of a process group cannot call setsid(2); then a child does the work and this process
 * waits for it.  Returns the CPU time, ns, that was used before the fork.
 */
static uint64_t own_session(void)
{
	uint64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	pid_t parent = getpid(), child;
	int status;

	if (setsid() > 0)
		return 0;
	child = fork();
	if (child < 0)
		err(EXIT_FAILURE, "fork");
	if (child > 0) {
		while (waitpid(child, &status, 0) != child)
			;
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	if (setsid() < 0)
		err(EXIT_FAILURE, "setsid");
	return before;
}

static void set_policy(void)
{
	const struct sched_param p = {.sched_priority = opt.fifo ? 1 : 0};

	if (sched_setscheduler(0, opt.fifo ? SCHED_FIFO : SCHED_OTHER, &p) != 0)
		err(EXIT_FAILURE, "%s", opt.fifo ? "SCHED_FIFO" : "SCHED_OTHER");
	prctl(PR_SET_TIMERSLACK, 1); /* ns: periods are to be kept */
}

static void parse_option(int c)
{
	switch (c) {
	case 'l': opt.load = atof(optarg) / 100; break;
	case 'p': opt.period = 1000 * strtoull(optarg, NULL, 10); break;
	case 's': opt.seconds = atof(optarg); break;
	case 'c':
		if (parse_cpus(optarg, &opt.cpus) != NULL)
			usage_error("-c: no CPUs: '%s'", optarg);
		break;
	case 'u': opt.bound = false; break;
	case 'P':
		opt.fifo = strcmp(optarg, "fifo") == 0;
		if (!opt.fifo && strcmp(optarg, "other") != 0)
			usage_error("-P: fifo or other, not '%s'", optarg);
		break;
	case 'S': opt.session = true; break;
	case 'w': opt.wake_only = true; break;
	case 't': opt.hide = true; break;
	case 'H': opt.hz = atoi(optarg); break;
	case 'o': opt.out = optarg; break;
	default: exit(EXIT_USAGE);
	}
}

int main(int argc, char **argv)
{
	FILE *f = stdout;
	uint64_t before = 0;
	int c;

	while ((c = getopt(argc, argv, "l:p:s:c:uP:SwtH:o:")) != -1)
		parse_option(c);
	if (optind < argc)
		usage_error("not an option: '%s'", argv[optind]);
	if (opt.cpus.n == 0)
		cpus_online(&opt.cpus);
	if (opt.out != NULL && (f = fopen(opt.out, "w")) == NULL)
		err(EXIT_FAILURE, "%s", opt.out);
	if (opt.session)
		before = own_session();
	set_policy();
	if (opt.hide)
		find_tick();
	run(f, before);
	if (fclose(f) != 0)
		err(EXIT_FAILURE, "%s", opt.out != NULL ? opt.out : "stdout");
	return EXIT_SUCCESS;
}
