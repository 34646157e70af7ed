/* A meter beside a machine that is a script: events move its clock, its clients and the thread that measures. */
#include "lib/load/meter.h"

#include "tests/unit/script.h"

static struct machine {
	bool starts, has_file, parks, is_starved, has_no_thread;
	pid_t holder;  /* who soaks; 0: nobody */
	double others; /* what tasks have of a baseline */
	uint64_t now;
	int locks;
	bool ends; /* the thread that measures has all it needs */
} the;

static struct meter meter;
static const struct instrument_kind kind = {.name = LOAD_BY_IDLE};
static void *(*thread)(void *arg);

static void prepare(struct gauge *g)
{
	g->calibration = (struct calibration){.cpus.n = 1, .kind = &kind};
	if (the.has_file)
		g->calibration.cpu = alloc_or_die(1, sizeof(struct baseline), "baseline");
}

static bool start(struct gauge *g)
{
	g->instrument = (struct instrument){
		.kind = &kind, .parks = the.parks, .holder = {the.holder - 1, "other"}};
	return the.starts;
}

static bool unpark(struct lock_holder *h)
{
	note(" unpark");
	*h = (struct lock_holder){the.holder, "other"};
	return the.holder == 0;
}

static void sample(struct load_sample *at)
{
	note(" sample%s", the.locks == 1 ? "" : "?");
	at->time = 1e-9 * (double)the.now;
}

static bool measure(struct calibration *c, const _Atomic int *stop)
{
	note(" measure");
	if (stop != NULL && *stop != 0)
		return false;
	c->kind = &kind;
	c->others = the.others;
	c->cpu = alloc_or_die(1, sizeof(*c->cpu), "baseline");
	c->cpu->spin = c->cpu->speed = !the.is_starved;
	return true;
}

static int join(bool ends)
{
	note(" %s", ends ? "ends" : "goes on");
	if (ends)
		thread(&meter);
	return ends ? 0 : EBUSY;
}

#undef now_ns
#define now_ns()                              (the.now)
#define pthread_rwlock_init(lock, attributes) (the.locks = 0)
#define pthread_rwlock_rdlock(lock)           (the.locks++)
#define pthread_rwlock_wrlock(lock)           (the.locks++)
#define pthread_rwlock_unlock(lock)           (the.locks--)
#define pthread_tryjoin_np(id, result)        join(the.ends)
#define pthread_join(id, result)              join(true)
#define thread_start(id, function, arg)       (thread = (function), the.has_no_thread)
#define gauge_sample(g, sum)                  sample(sum)
#define gauge_prepare_or_die(g, setup)        ((void)(setup), prepare(g))
#define gauge_start_instrument(g)             start(g)
#define gauge_between(g, from, to, i, l)      ((l)->seconds = (i) < 0 ? (to)->time - (from)->time : 99)
#define gauge_say(g, l, is_interval)          note(is_interval ? "?" : " say")
#define gauge_close(g)                        (note(" close"), free((g)->calibration.cpu))
#define baseline_measure(in, c, seconds, end) measure(c, end)
#define baseline_is_old(c)                    ((c)->taken_ns == 1)
#define busiest_find()                        "; BUSIEST"
#define soaker_unpark(s, h)                   unpark(h)
#define soaker_park(s)                        note(" park")
#define profile_start(p)                      note(" profile")
#define profile_stop(p)                       note(" end")
#define warnx(...)                            (note(" warning\n"), note(__VA_ARGS__), note("\n"))
#include "lib/load/meter.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* Lines have 100 columns and an event at most. */
static void put_state(void)
{
	static const char *const names[] = {"parked", "blocked", "settling", "counting",
					    "measuring"};
	const char *last = strrchr(script.calls, '\n');

	note(" %s", names[meter.state]);
	if (meter.counts)
		note(" %u", meter.last.period);
	if (meter.due_ns != NEVER)
		note(" +%g", 1e-9 * (double)(meter.due_ns - the.now));
	note(strlen(last != NULL ? last : script.calls) > 100 ? ";\n" : "; ");
}

/*
 * What events do: a look with a client (c), or without (-); time that passes, up to the next look (>), just before it (<), 20
 * ms (+) or 10 s (*); a program that soaks comes or goes (x); a baseline is of a busier machine (b), without time for a
 * CPU (s), or the last is old (o); the thread ends (e) or goes on (g); a mark is read (r), which ends loads since all others;
 * why a load is not measured (n).  The calls, the state, the period that counts, and when to look again are noted.
 */
static void run(void *events)
{
	const struct gauge_setup setup = {.what = "test"};
	struct meter_mark mark[9];
	struct load l;
	const char *at;
	bool has_changed;
	int n = 0, i;

	meter = (struct meter){.due_ns = 0};
	meter_start_or_die(&meter, &setup);
	note(" baseline %d%s", meter.gauge.baseline,
	     meter.gauge.calibration.cpu != NULL ? "" : ", none");
	meter.due_ns = meter.due_ns > the.now ? meter.due_ns : the.now;
	put_state();
	for (at = events; *at != '\0'; at++)
		switch (*at) {
		case 'c':
		case '-':
			note("%c", *at);
			has_changed = meter_look(&meter, *at == 'c');
			note("%s", has_changed ? " changes" : "");
			put_state();
			break;
		case '>': the.now = meter.due_ns; break;
		case '<': the.now = meter.due_ns - 1; break;
		case '+': the.now += 20000000; break;
		case '*': the.now += 10000000000; break;
		case 'x': the.holder = the.holder == 0 ? 7 : 0; break;
		case 'b': the.others += 0.2; break;
		case 's': the.is_starved = !the.is_starved; break;
		case 'o': meter.gauge.calibration.taken_ns = 1; break;
		case 'e':
		case 'g': the.ends = *at == 'e'; break;
		case 'n':
			note("why: %s %s %s; ", meter_no_load(&meter, 0),
			     meter_no_load(&meter, UNSAFE_BASELINE_BUSY),
			     meter_no_load(&meter, UNSAFE_CALIBRATION));
			break;
		case 'r':
			note("read");
			meter_read(&meter, &mark[n]);
			for (i = 0; i <= n; i++) {
				meter_load(&meter, &mark[i], &mark[n], &l);
				note(" %g", l.seconds);
			}
			note("; ");
			n++;
			break;
		default: abort();
		}
	meter_stop(&meter);
	note("%s\n", the.locks == 0 ? "" : " locked");
}

static void test_machines(void)
{
	static const struct {
		const char *title;
		struct machine machine;
		const char *events;
	} rows[] = {
		{"nothing starts: it is not tried again", {.others = 0}, "-c-n"},
		{"soakers have a baseline; a client wakes them, and they count; later ones renew it",
		 {.starts = true, .parks = true},
		 "r-c<c>c+r+rc-<->-ge>-e>---c-*-+rc>c+r"},
		{"soakers of a busy CPU: a first baseline is tried without clients, each minute",
		 {.starts = true, .parks = true, .is_starved = true},
		 "n-<->-<->-e>-s>->->-c"},
		{"soakers of a busy CPU have a client while they settle",
		 {.starts = true, .parks = true, .is_starved = true},
		 "->->c"},
		{"a file: no baseline is measured, and soakers sleep after 10 s",
		 {.starts = true, .parks = true, .has_file = true},
		 "c>c-<->-"},
		{"another program soaks: it is named once, and the lock is tried again",
		 {.starts = true, .parks = true, .holder = 8},
		 "-c"},
		{"another program comes before a client, and goes",
		 {.starts = true, .parks = true},
		 "xcnc<c>c-cx>c>c"},
		{"idle time is counted from the start, and renews its baseline in pauses, for 10 s",
		 {.starts = true},
		 "cn-<->-e->-gc>ce>c-s>-e>-*-"},
		{"a baseline of a busier machine is not taken, unless the last is old or busier",
		 {.starts = true},
		 "e->-b>-o>-->-"},
		{"idle time of a busy CPU: the next pause measures",
		 {.starts = true, .is_starved = true},
		 "-s>-e>-"},
		{"a thread cannot start: it is tried again after a minute",
		 {.starts = true, .has_no_thread = true},
		 "->-"},
		{"the end of a program waits for the thread", {.starts = true}, "->-"},
	};
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		the = rows[i].machine;
		the.now = 5000000000;
		expect(calls_of(run, (void *)(uintptr_t)rows[i].events), rows[i].title);
	}
}

static void say(void *load)
{
	meter_say(&meter, load);
}

static void test_rest(void)
{
	struct load l;

	load_init(&l);
	is(calls_of(say, &l), "", "without a reason nothing is printed");
	l.unsafe = UNSAFE_BASELINE_OLD;
	is(calls_of(say, &l), " say", "a reason is printed");
	l = (struct load){.load = 0};
	is(calls_of(say, &l), " say", "a load ends reasons");
	meter.wanted = false;
	is(meter_no_load(&meter, 0), NO_LOAD_OFF,
	   "a meter that is not wanted has no reason but that");
	meter_stop(&meter);
}

TESTS(test_machines, test_rest)
