/* The program's side of the soakers, beside a kernel, a keeper and a clock that are a script. */
#include "lib/base/proc.h"
#include "lib/load/keeper.h"
#include "lib/load/kernel.h"
#include "lib/load/soaker.h"

#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "tests/unit/unit.h"

static struct {
	uint64_t ns, step; /* the clock, and by how much a reading moves it */
	int held, error;   /* so often the lock is held by another program, or cannot be had */
	pid_t child;       /* that fork(2) returns */
	int ended, status; /* of the keeper: after so many looks it has ended; 0: it runs */
	int asleep;        /* sleeps until a soaker has turned */
	int sees_root, shared, root, online, option[KERNEL_OPTIONS];
	const char *file[2]; /* the clock source, and the state of sched_ext */
	struct yield yield[9], *y;
	struct soaker *s;
	char calls[1024];
	jmp_buf end;
} the;

#define note(...) string_append(the.calls, sizeof(the.calls), __VA_ARGS__)

static int script_lock(int fd, int how)
{
	note("%s %d;", how == LOCK_UN ? "unlock" : how == (LOCK_EX | LOCK_NB) ? "lock" : "?", fd);
	errno = the.held > 0 ? EWOULDBLOCK : the.error;
	return the.held-- > 0 || the.error != 0 ? -1 : 0;
}

static pid_t script_wait(pid_t pid, int *status, int how)
{
	*status = the.status;
	if (how != 0)
		return the.ended > 0 && --the.ended == 0 ? pid : 0;
	note("wait %d;", pid);
	return pid;
}

static int script_sleep(void)
{
	note("sleep;");
	if (--the.asleep == 0)
		the.s->cpu[0].turns = the.s->cpu[1].turns = 1;
	return 0;
}

static int script_read(const char *path, char *buf, size_t size)
{
	const bool is_clock = strstr(path, "clocksource") != NULL;

	if (strncmp(path, "/proc/", 6) == 0)
		return snprintf(buf, size, "name of %s", path) < 0;
	if (the.file[!is_clock] == NULL)
		return -1;
	snprintf(buf, size, "%s", the.file[!is_clock]);
	return 0;
}

static int script_mask(int how, const sigset_t *set)
{
	note("%s;", how == SIG_SETMASK                                ? "restore"
		    : how == SIG_UNBLOCK && sigismember(set, SIGTERM) ? "unblock"
								      : "?");
	return 0;
}

static void *script_failed(void)
{
	errno = the.error;
	return MAP_FAILED;
}

static int script_pipe(int ends[2])
{
	errno = EMFILE;
	if (the.child == -2)
		return -1;
	ends[0] = 5;
	ends[1] = 6;
	return 0;
}

static int real_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB);
}

static long script_wake(long number, const void *word, int what, int n)
{
	note("%s;",
	     number == SYS_futex && word == &the.s->parked && what == FUTEX_WAKE && n == INT_MAX
		     ? "wake"
		     : "?");
	return 0;
}

#define clock_ns(clock)                 (the.ns += the.step)
#define flock(fd, how)                  script_lock(fd, how)
#define waitpid(pid, status, how)       script_wait(pid, status, how)
#define sleep_ns(ns)                    script_sleep()
#define file_read_line(path, buf, size) script_read(path, buf, size)
#define sigprocmask(how, set, old)      script_mask(how, set)
#define stop_signals(set)               (sigemptyset(set), sigaddset(set, SIGTERM))
#define open_retry(path, flags)         (note("%s;", path), errno = the.error, the.error == ENOENT ? -1 : 8)
#define pipe2(ends, flags)              script_pipe(ends)
#define fork()                          (the.child)
#define close(fd)                       note("close %d;", fd)
#define mmap(at, size, prot, flags, fd, offset)                                                    \
	((size) == sizeof(struct soaker) + 2 * sizeof(struct soak_cpu) && (flags)&MAP_SHARED &&    \
			 the.error != ENOMEM                                                       \
		 ? the.s                                                                           \
		 : script_failed())
#define munmap(at, size)                                                                           \
	note("free%s;", (size) == sizeof(struct soaker) + 2 * sizeof(struct soak_cpu) ? "" : "?")
#define kill(pid, sig)                      note("kill %d %d;", pid, (sig) == SIGCONT)
#define keeper_main(s, ends)                (note("keeper %d %d;", (ends)[0], (ends)[1]), longjmp(the.end, 1))
#define geteuid()                           ((uid_t)!the.root)
#define sysconf(name)                       (the.online)
#define cpus_are_all(cpus)                  ((cpus)->n == 2)
#define kernel_option(o)                    (the.option[o])
#define cpu_cgroup_sees_root(g)             (the.sees_root)
#define cpu_cgroup_is_shared(g)             (the.shared)
#define idle_group_remove(g, tries)         note("remove %d;", tries)
#define yield_measure(cpus, ran, s, y)      ((void)(cpus), (void)(s), *(y) = *the.y++)
#define syscall(number, word, what, n, ...) script_wake(number, word, what, n)
#include "lib/load/soaker.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static struct soaker *two_soakers(void)
{
	struct soaker *s = two_empty_soakers();

	memset(&the, 0, sizeof(the));
	s->keeper = 40;
	the.child = 50;
	s->lock = 8;
	s->pipe = 9;
	s->cpu[0].id = s->cpu[1].id = 5;
	the.step = 10000000;
	the.asleep = 2;
	the.sees_root = the.root = 1;
	the.s = s;
	the.y = the.yield;
	the.yield[0].kept = 1;
	the.online = 2;
	return s;
}

/* 40 ms, of which each look at the clock takes 10. */
static void test_lock(void)
{
	char path[] = "/tmp/zc-unit.XXXXXX";
	const int files = open_files(), fd = mkstemp(path),
		  other = open(path, O_RDONLY | O_CLOEXEC);
	struct lock_holder h;

	two_soakers();
	the.held = 99;
	ok(!device_lock(8, 0.03) && errno == EWOULDBLOCK, "a lock that stays held is not taken");
	is(the.calls, "lock 8;unblock;sleep;restore;lock 8;unblock;sleep;restore;lock 8;",
	   "a lock is tried for the time that is asked for, and signals may come meanwhile");
	ok(!lock_take(fd, 0, &h) && h.pid == 0, "a holder that is not known has no pid");
	is(h.name, "a program of another PID namespace or user",
	   "a holder that is not known has a description");
	ok(real_lock(other) == 0 && !lock_take(fd, 0, &h) && h.pid == getpid(),
	   "a holder is found by its lock");
	is(h.name, text_of("name of /proc/%d/comm", getpid()),
	   "a holder has the name of its process");
	the.held = 0;
	ok(lock_take(fd, 0, &h), "a lock that nobody holds is taken");
	(close)(fd);
	(close)(other);
	remove(path);
	ok(open_files() == files, "the search for a holder leaves no descriptor open");
}

/* Soakers of which the keeper has ended so. */
static void test_ends(void)
{
	static const struct {
		int status, bind_errno;
		const char *why;
	} rows[] = {
		{9, EINVAL, "the keeper of the soakers was killed by signal 9"},
		{129 << 8, 0, "the soaker was killed by signal 1"},
		{128 << 8, 0,
		 "the soakers could not be started: memory or threads ran out (see ulimit -a)"},
		{1 << 8, EINVAL, "cannot soak CPU 5: Invalid argument"},
	};
	struct soaker *s;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = two_soakers();
		ok(end_of(s) == NULL && the.calls[0] == '\0',
		   "a keeper that has not ended is none");
		the.ended = 1;
		the.status = rows[i].status;
		s->cpu[i / 2].bind_errno = rows[i].bind_errno;
		is(end_of(s), rows[i].why, "why soakers end: case %d", (int)i);
		is(the.calls, "remove 200;",
		   "the group of soakers that have ended is removed: case %d", (int)i);
		the.ended = 1;
		ok(died((void (*)(void *))soaker_check_or_die, s) == EXIT_FAILURE &&
			   strstr(printed, rows[i].why) != NULL,
		   "soakers that have ended are an error: case %d", (int)i);
	}
}

/* What a start prints on stderr or returns, and calls. */
static void start(bool parkable, char *all, size_t size)
{
	const struct cpus cpus = {2, {3, 5}};
	struct lock_holder h = {.pid = 7};
	struct soaker *s = NULL;
	const char *volatile why = NULL;
	const char *said;

	capture(STDERR_FILENO);
	if (setjmp(the.end) == 0)
		why = soaker_start(&s, &cpus, 0, parkable, &h);
	said = strchr(captured(), ':');
	string_append(all, size, "holder %d, parked %d, unsafe %d, %s%s%.*s\n", h.pid,
		      (int)the.s->parked, the.s->weight, the.calls, why != NULL ? why : "",
		      said != NULL ? (int)strcspn(said, "\n") : 0, said);
}

static void test_start(void)
{
	enum {
		ERROR,
		HELD,
		ENDED,
		CHILD,
		ASLEEP,
		POLICY,
		GROUP,
		ROOTLESS,
		SHARED,
		AUTOGROUP,
		USER,
		PARKS
	};
	static const int rows[][12] = {{[ERROR] = 0},
				       {[ERROR] = ENOENT},
				       {[ERROR] = ENOMEM},
				       {[HELD] = 1},
				       {[HELD] = 1, [PARKS] = 1},
				       {[PARKS] = 1},
				       {[CHILD] = -52},
				       {[CHILD] = -51},
				       {[CHILD] = -50},
				       {[ENDED] = 2},
				       {[ASLEEP] = 700},
				       {[POLICY] = EPERM},
				       {[POLICY] = EPERM, [USER] = 1},
				       {[ROOTLESS] = 1},
				       {[GROUP] = EROFS, [SHARED] = 1},
				       {[GROUP] = EROFS, [AUTOGROUP] = EAGAIN},
				       {[GROUP] = EROFS, [ROOTLESS] = 1},
				       {[SHARED] = 1, [AUTOGROUP] = EAGAIN}};
	static char all[8192];
	struct soaker *s;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = two_soakers();
		the.error = rows[i][ERROR];
		the.held = rows[i][HELD];
		the.ended = rows[i][ENDED];
		the.status = 1 << 8;
		the.child += rows[i][CHILD];
		the.asleep += rows[i][ASLEEP];
		s->policy_errno = rows[i][POLICY];
		s->group_errno = rows[i][GROUP];
		s->autogroup_errno = rows[i][AUTOGROUP];
		the.sees_root -= rows[i][ROOTLESS];
		the.shared = rows[i][SHARED];
		the.root -= rows[i][USER];
		the.calls[0] = '\0';
		if (rows[i][ASLEEP] != 0)
			the.step = 200000000;
		start(rows[i][PARKS], all, sizeof(all));
	}
	expect(all, "soakers start, or say why not");
	s = two_soakers();
	the.file[0] = "tsc";
	the.online = 3;
	the.option[KERNEL_STEAL_TIME] = 1;
	start(false, all, sizeof(all));
	ok(s->online == 3 && s->whole && s->sees_steal && strcmp(s->clock, "tsc") == 0 &&
		   s->keeper == 50 && s->pipe == 6 && s->cpu[0].id == 3 && s->cpu[1].id == 5 &&
		   s->cpu[0].soaker == s && s->cpu[1].soaker == s && s->n == 2,
	   "the machine at the start is kept");
	for (i = 0; i < 2; i++) {
		the.option[i] ^= 1;
		start(false, all, sizeof(all));
		ok(!s->sees_steal,
		   "a thread's clock shows steal if it leaves out this, and no interrupts: %d",
		   (int)i);
		the.option[i] ^= 1;
	}
}

static void test_yield(void)
{
	struct soaker *s = two_soakers();
	int i;

	for (i = 0; i < 8; i++)
		the.yield[i] = i % 2 ? (struct yield){.kept = 0.6}
				     : (struct yield){.kept = 1, .late = 0.005};
	capture(STDERR_FILENO);
	try_yield(s, NULL);
	has(captured(), "the soakers do not yield: a thread beside them kept 60% of its CPU",
	    "soakers that do not yield in eight trials have a line");
	ok(s->weight && the.y == the.yield + 8,
	   "soakers that do not yield in eight trials are unsafe");
	the.yield[7] = (struct yield){.kept = 1, .late = 0.005};
	the.y = the.yield;
	capture(STDERR_FILENO);
	try_yield(s, NULL);
	has(captured(), "one kept a woken thread waiting for 5000 us",
	    "soakers that delay a thread have a line");
	s->weight = false;
	the.yield[7] = (struct yield){.kept = YIELD_KEPT, .late = YIELD_LATE};
	the.y = the.yield;
	try_yield(s, NULL);
	ok(!s->weight && the.y == the.yield + 8,
	   "one trial of eight in which they yield is enough");
}

static void unpark(void *s)
{
	struct lock_holder h;

	soaker_unpark(s, &h);
}

static void test_stop(void)
{
	struct soaker *s = two_soakers();
	struct lock_holder h;

	soaker_park(s);
	is(the.calls, "unlock 8;", "soakers that are parked leave the lock");
	the.held = 1;
	ok(s->parked == 1 && !soaker_unpark(s, &h) && s->parked == 1,
	   "soakers stay parked while another program has the lock");
	the.calls[0] = '\0';
	ok(soaker_unpark(s, &h) && s->parked == 0, "soakers wake up once they have the lock again");
	is(the.calls, "lock 8;wake;", "soakers that have the lock again are woken");
	the.calls[0] = '\0';
	soaker_stop(s);
	is(the.calls, "close 9;kill 40 1;wait 40;close 8;free;",
	   "the end of soakers: the keeper is told, and waited for");
	the.calls[0] = '\0';
	the.status = 9;
	soaker_stop(s);
	is(the.calls, "close 9;kill 40 1;wait 40;remove 200;close 8;free;",
	   "a keeper that is killed then leaves a group");
	the.ended = 1;
	ok(died((void (*)(void *))soaker_stop, s) == EXIT_FAILURE,
	   "soakers that have ended before are an error");
	the.ended = 1;
	ok(died(unpark, s) == EXIT_FAILURE,
	   "soakers that have ended, and are to wake up, are an error");
}

static void test_limits(void)
{
	static const struct {
		const char *clock, *file[2];
		uint64_t gap_min, stops;
		int online;
		bool away, weight;
		unsigned now;
	} rows[] = {
		{"tsc", {"tsc", "disabled"}, 2000, 2, 2, false, false, 0},
		{"tsc", {NULL, NULL}, 2000, 4, 1, false, false, 0},
		{"", {"hpet", "enable"}, 2000, 4, 1, false, false, 0},
		{"tsc", {"hpet", "disabled"}, 2000, 4, 1, false, false, UNSAFE_CLOCK_CHANGED},
		{"tsc", {"tsc", "enabled"}, 2000, 4, 1, false, false, UNSAFE_SCHEDULER},
		{"tsc", {"tsc", "disabled"}, 2001, 4, 1, false, false, UNSAFE_CLOCK_SLOW},
		{"tsc", {"tsc", "disabled"}, 2000, 3, 1, false, false, UNSAFE_SOAKER_STOPPED},
		{"tsc", {"tsc", "disabled"}, 2000, 4, 3, false, false, UNSAFE_CPU_ONLINE},
		{"tsc", {"tsc", "disabled"}, 2000, 4, 1, true, false, UNSAFE_CPU_OFFLINE},
		{"tsc",
		 {"hpet", "enabled"},
		 2000,
		 4,
		 1,
		 false,
		 true,
		 UNSAFE_WEIGHT | UNSAFE_CLOCK_CHANGED | UNSAFE_SCHEDULER},
	};
	struct limits_mark m;
	struct soaker *s;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = two_soakers();
		s->online = 2;
		s->lost = 4;
		s->moved = 5;
		strcpy(s->clock, rows[i].clock);
		memcpy(the.file, rows[i].file, sizeof(the.file));
		s->cpu[i % 2].gap_min = rows[i].gap_min;
		s->cpu[i % 2].away = rows[i].away;
		s->stops = rows[i].stops;
		s->weight = rows[i].weight;
		the.online = rows[i].online;
		soaker_limits(s, &m);
		ok(m.now == rows[i].now && m.lost == 4 && m.moved == 5 && m.stops == rows[i].stops,
		   "what disturbs soakers: case %d: %s", (int)i, limits_format(m.now));
	}
}

/* Counts that are read at this time, by a clock that goes on so fast. */
static void test_counts(void)
{
	static const struct {
		uint64_t ns, step, last, changes, spin, tasks;
	} rows[] = {
		{1001000, 0, 1000000, 4, 681000, 200000}, /* no gap is open */
		{1001001, 0, 1000000, 4, 680000, 201001},
		{1001000, 0, 0, 4, 0, 1001000}, /* before the first turn */
		{320000, 0, 319500, 4, 0, 200000},
		{1001000, 0, 1000000, 5, 681000, 200000}, /* a gap is being counted */
		{951000, 50000, 1000000, 4, 681000, 200000},
	};
	struct load_sample c;
	struct soaker *s;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = two_soakers();
		s->cpu[1] = (struct soak_cpu){.last_ns = rows[i].last,
					      .gap_min = 1000,
					      .gap_ns = 300000,
					      .dirty_ns = 20000,
					      .tasks_ns = 200000,
					      .turns = 7,
					      .switches = 3,
					      .stolen_ns = 4000,
					      .changes = rows[i].changes};
		the.ns = rows[i].ns;
		the.step = rows[i].step;
		s->sees_steal = true;
		soak_count(s, 1, &c);
		ok(near(1e9 * c.spin, rows[i].spin) && near(1e9 * c.tasks, rows[i].tasks) &&
			   c.work == 7 && c.switches == 3 && near(c.stolen, 4e-6),
		   "counts of a soaker: case %d", (int)i);
	}
	the.step = 50001;
	the.ns = 0;
	soak_count(s, 1, &c);
	ok(the.ns == 200 * 50001, "a reading that took too long is repeated, 100 times at most");
	s->cpu[1].changes = 5;
	the.ns = 0;
	soak_count(s, 1, &c);
	ok(the.ns == 100 * 50001,
	   "a reading in the middle of a change is repeated, 100 times at most");
	the.step = 0;
	the.ns = 1001000;
	ok(near(soaker_ran(s, 1), 797000),
	   "a soaker ran while neither a task nor the hypervisor had the CPU");
	s->sees_steal = false;
	ok(near(soaker_ran(s, 1), 801000),
	   "a soaker ran while no task had the CPU, where steal is not known");
	s->cpu[1].last_ns = 0;
	ok(soaker_ran(s, 1) == 0 && soaker_thread(s, 1) == s->cpu[1].tid,
	   "a soaker that has not turned has not run");
}

TESTS(test_lock, test_ends, test_start, test_yield, test_stop, test_limits, test_counts)
