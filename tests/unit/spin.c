/* A soaker's loop beside a kernel that is a script: its clock goes on at each reading, and its calls are noted. */
#include "lib/load/cpus.h"
#include "lib/load/keeper.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/unit/script.h"

static struct machine {
	uint64_t ns, step, ran;     /* the clock, how far a reading moves it, that of the thread */
	uint64_t pause, call;       /* by how much else a rest and a system call move it */
	int readings, calls, rests; /* after so many readings the loop ends */
	int cpu, unbound, parent;   /* of the thread, tries to bind that fail, the parent's pid */
	int voluntary, involuntary; /* switches */
	int priority, policy;       /* whether they cannot be set */
	int threads;                /* that can be started */
} the;

static uint64_t script_clock(clockid_t clock)
{
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return the.ran;
	if (--the.readings == 0)
		longjmp(script.end, 1);
	return the.ns += the.step;
}

static int script_bind(int cpu)
{
	errno = EINVAL;
	if (the.unbound > 0 && the.unbound--)
		return -1;
	the.cpu = cpu;
	return 0;
}

static long script_futex(long number, void *word, int what, int value)
{
	if (number == SYS_gettid)
		return 77;
	note("%s", number == SYS_futex && what == FUTEX_WAIT && value == 1 ? "sleep;" : "?;");
	atomic_store((_Atomic uint32_t *)word, 0);
	return 0;
}

static int failing(bool fails)
{
	errno = fails ? EPERM : EAGAIN;
	return fails ? -1 : 0;
}

static int script_prctl(int what, const char *name, int value)
{
	note("%s;", what == PR_SET_NAME                            ? name
		    : what == PR_SET_PDEATHSIG && value == SIGKILL ? "dies with its parent"
								   : "?");
	return 0;
}

#if defined(__x86_64__) || defined(__i386__)
#define HAS_PAUSE 1
#else
#define HAS_PAUSE 0 /* that the script can see */
#endif

static unsigned char walked[1024 * 1024]; /* the memory of a soaker */

#define clock_ns(clock) script_clock(clock)
#define cpu_bind(cpu)   script_bind(cpu)
#define sched_getcpu()  (the.cpu)
#define sleep_ns(ns)    note("retry %d;", (int)atomic_load(&me->away))
#define getppid()       (the.calls++, the.ns += the.call, the.parent)
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
#define __builtin_ia32_pause()     (the.rests++, the.ns += the.pause)
#define FOUR(number, a, b, c, ...) script_futex(number, a, b, c)
#define syscall(...)               FOUR(__VA_ARGS__, NULL, 0, 0)
#define getrusage(who, used)                                                                       \
	((used)->ru_nvcsw = (who) == RUSAGE_THREAD ? the.voluntary : -1,                           \
	 (used)->ru_nivcsw = the.involuntary)
#define malloc(size) ((size) == sizeof(walked) ? walked : NULL)
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
#define _exit(status) note_end("exit %d", status)
#define prctl(what, value)                                                                         \
	script_prctl(what,                                                                         \
		     _Generic((value), int                                                         \
			      : NULL, default                                                      \
			      : (value)),                                                          \
		     _Generic((value), int                                                         \
			      : (value), default : 0))
#define setpriority(which, id, value)                                                              \
	(note("nice %d;", (id) == 0 ? (value) : -1), failing(the.priority))
#define sched_setscheduler(pid, how, param)                                                        \
	((void)(param), note("policy %d;", (pid) == 0 ? (how) : -1), failing(the.policy))
#define thread_start(thread, function, arg)                                                        \
	((void)(thread), note("CPU %d;", ((struct soak_cpu *)(arg))->id),                          \
	 failing(the.threads-- <= 0))
#define idle_group_enter(g) (note("enter %s;", (g)->root), EROFS)
#define poll(p, n, timeout) (note("poll %d %d;", (n) == 1 ? (p)->fd : -1, timeout), 1)
#include "lib/load/spin.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

/* A gap of 20 us that is counted at 1.02 ms, as the thread's clock lacks it: other tasks had 100 us, the host 7. */
static void test_gaps(void)
{
	static const struct {
		const char *title;
		int switches;
		uint64_t step, ran, tasks, stolen, gap, turns;
	} rows[] = {
		{"a gap without a switch that the thread's clock lacks is the host's, and no task's",
		 0, 100, 893100, 100000, 27000, 20000, 4},
		{"a gap with a switch is a task's", 1, 100, 893100, 120000, 7000, 20000, 4},
		{"a gap that the thread's clock has is nobody's", 0, 100, 920000, 100000, 7000,
		 20000, 4},
		{"calls that take four shortest gaps are turns", 0, 2000, 895000, 100000, 27000,
		 20000, 80},
		{"calls that take longer are a part of the gap", 0, 2001, 895001, 100000, 27000,
		 24002, 0},
	};
	struct soak_cpu me;
	struct soak_thread t;
	uint64_t turns, after;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		me = (struct soak_cpu){
			.tasks_ns = 100000, .stolen_ns = 7000, .gap_ns = 5, .switches = 3};
		t = (struct soak_thread){
			.gap_min = 1000, .turn = 50, .ran_before = 500, .switched = 6};
		the.voluntary = 3 + rows[i].switches;
		the.involuntary = 3;
		the.ns = 1020000;
		the.step = rows[i].step;
		the.ran = 500 + rows[i].ran;
		turns = 1;
		after = count_gap(&me, &t, 1000000, 1020000, &turns);
		ok(me.tasks_ns == rows[i].tasks && me.stolen_ns == rows[i].stolen &&
			   me.gap_ns == 5 + rows[i].gap && turns == 1 + rows[i].turns &&
			   me.last_ns == after && after == 1020000 + 2 * rows[i].step &&
			   me.switches == 3u + (unsigned)rows[i].switches &&
			   t.switched == 6 + rows[i].switches && me.changes == 2,
		   "%s", rows[i].title);
	}
}

static void loop(void *s)
{
	soak_loop(&((struct soaker *)s)->cpu[0], walked,
		  (struct soak_thread){.rests = true, .gap_min = 1000, .turn = 50});
}

static void thread(void *cpu)
{
	soak_thread(cpu);
}

static void process(void *s)
{
	spin_main(s, 50);
}

/* Until so many readings of the clock, which move it so far. */
static const char *spin(struct soaker *s, int readings, uint64_t step)
{
	the.readings = readings;
	the.step = step;
	return calls_of(loop, s);
}

static struct soaker *soakers_of(struct machine machine)
{
	struct soaker *s = two_empty_soakers();

	the = machine;
	s->cpu[0] = (struct soak_cpu){.id = 4, .soaker = s};
	s->cpu[1] = (struct soak_cpu){.id = 5, .soaker = s};
	return s;
}

static void test_loop(void)
{
	struct soaker *s = soakers_of((struct machine){.ns = 9000000, .cpu = 4});
	struct soak_cpu *me = &s->cpu[0];

	spin(s, 252, 1000); /* the first reading is the start's, the last ends it */
	ok(me->turns == 250 && me->last_ns == 9251000 && me->gap_ns == 9001000 &&
		   me->tasks_ns == 9001000 && me->changes == 0,
	   "250 turns of a microsecond: the time before the first is a gap, and no other");
	ok(me->dirty_ns == 3000 && walked[0] == 1 && walked[64] == 1 && walked[128] == 1 &&
		   walked[192] == 0 && walked[1] == 0,
	   "every 100 us a line of memory is dirtied, and that turn waits for it");
	ok(the.calls == 13 && the.rests == 251 * HAS_PAUSE,
	   "every 20 us the loop makes a system call, and in each turn it rests");
	atomic_store(&s->parked, 1);
	is(spin(s, 40, 1000), "sleep;", "parked, a soaker sleeps until it is woken");
	ok(me->turns == 38, "a soaker that wakes up counts again");
	the.unbound = 2;
	the.cpu = 5;
	the.ran = 700;
	is(spin(s, 5, 5000), "retry 1;", "a soaker whose CPU is unavailable sleeps, and says so");
	ok(s->lost == 1 && s->moved == 0 && !me->away && the.cpu == 4 && me->stolen_ns == 10000,
	   "a soaker whose CPU is back is bound again, has lost it once, and counts the gap");
	the.cpu = 5;
	stay_bound(me);
	ok(s->lost == 1 && s->moved == 1 && the.cpu == 4,
	   "a soaker that was moved is bound at once");
	stay_bound(me);
	ok(s->lost == 1 && s->moved == 1, "a soaker on its CPU stays there");
}

/* A clock, a rest and a system call that take so long, in ns, and the shortest gap. */
static void test_state(void)
{
	static const uint64_t rows[][4] = {
		{20, 105, 100, 1000}, {100, 40, 100, 1600}, {20, 40, 800, 2460}, {0, 0, 0, 1000}};
	struct soak_thread t;
	uint64_t rested;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		the = (struct machine){.step = rows[i][0], .pause = rows[i][1], .call = rows[i][2]};
		t = thread_state();
		rested = rows[i][0] + HAS_PAUSE * rows[i][1];
		ok(t.rests == (rested <= 125) && t.gap_min == rows[i][3] &&
			   t.turn == (rested > 125 ? rows[i][0] : fmax(1, (double)rested)),
		   "a soaker's turn and its shortest gap: case %d", (int)i);
	}
}

static void test_thread(void)
{
	struct soaker *s = soakers_of((struct machine){.step = 100, .readings = 9000});
	const struct soak_cpu *me = &s->cpu[1];

	walked[sizeof(walked) - 1] = 0;
	calls_of(thread, &s->cpu[1]);
	ok(the.cpu == 5 && me->tid == 77 && me->gap_min == 1600 && me->turns > 0 &&
		   walked[sizeof(walked) - 1] == 1,
	   "a thread is bound, has an id and touched its memory before it spins");
	s = soakers_of((struct machine){.unbound = 1});
	is(calls_of(thread, &s->cpu[1]), "exit 1", "a thread that cannot be bound ends all");
	ok(me->bind_errno == EINVAL && me->tid == 0, "a thread that cannot be bound says why");
}

/* The process of soakers, in a group, and what it cannot do. */
static void test_process(void)
{
#define BEGIN "zc-soaker;enter root;nice 19;policy 5;CPU 4;CPU 5;"
	static const struct {
		struct machine machine;
		int error;
		const char *calls;
	} rows[] = {
		{{.parent = 50, .threads = 2}, 0, BEGIN "poll 0 -1;exit 1"},
		{{.parent = 50, .threads = 2, .priority = 1}, EPERM, BEGIN "poll 0 -1;exit 1"},
		{{.parent = 50, .threads = 2, .policy = 1}, EPERM, BEGIN "poll 0 -1;exit 1"},
		{{.parent = 50, .threads = 1}, 0, BEGIN "exit 1"},
		{{.parent = 1, .threads = 2}, 0, "exit 1"},
	};
	struct soaker *s;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = soakers_of(rows[i].machine);
		strcpy(s->group.root, "root");
		calls_of(process, s);
		is(text_of("%s, %d %d", script.calls, s->policy_errno, s->group_errno),
		   text_of("dies with its parent;%s, %d %d", rows[i].calls, rows[i].error,
			   rows[i].machine.parent == 50 ? EROFS : 0),
		   "the process of soakers, what it calls, and its errors: case %d", (int)i);
	}
	s = soakers_of(rows[0].machine);
	calls_of(process, s);
	ok(s->group_errno == ENOENT, "soakers without a group have no entry of one");
}

TESTS(test_gaps, test_loop, test_state, test_thread, test_process)
