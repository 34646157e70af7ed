/* The program's side of the soakers, beside a kernel, a keeper and a clock that are a script. */
#include "lib/base/proc.h"
#include "lib/load/keeper.h"
#include "lib/load/kernel.h"
#include "lib/load/soaker.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "tests/unit/script.h"

static struct machine {
	uint64_t ns, step; /* the clock, and by how much a reading moves it */
	int held, error;   /* so often the lock is held by another program, or cannot be had */
	int child;         /* the process that fork(2) makes; -1 and -2: it or pipe2(2) fails */
	int ended, status; /* of the keeper: after so many looks it has ended; 0: it runs */
	int asleep;        /* sleeps until a soaker has turned */
	bool rootless, is_shared, user; /* the control group, and who asks */
	int more;                       /* CPUs that are online than two */
	bool option[KERNEL_OPTIONS];
	const char *file[2]; /* the clock source, and the state of sched_ext */
} the;

static struct yield trials[9];
static const struct yield *trial; /* that is next */
static struct soaker *soakers;

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
		soakers->cpu[0].turns = soakers->cpu[1].turns = 1;
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

#define clock_ns(clock)                 (the.ns += the.step)
#define flock(fd, how)                  script_lock(fd, how)
#define waitpid(pid, status, how)       script_wait(pid, status, how)
#define sleep_ns(ns)                    script_sleep()
#define file_read_line(path, buf, size) script_read(path, buf, size)
#define sigprocmask(how, set, old)                                                                 \
	note("%s;", (how) == SIG_SETMASK                                ? "restore"                \
		    : (how) == SIG_UNBLOCK && sigismember(set, SIGTERM) ? "unblock"                \
									: "?")
#define stop_signals(set)       (sigemptyset(set), sigaddset(set, SIGTERM))
#define open_retry(path, flags) (note("%s;", path), errno = the.error, the.error == ENOENT ? -1 : 8)
#define pipe2(ends, flags)      script_pipe(ends)
#define fork()                  (the.child)
#define close(fd)               note("close %d;", fd)
#define mmap(at, size, prot, flags, fd, offset)                                                    \
	((size) == sizeof(struct soaker) + 2 * sizeof(struct soak_cpu) && (flags)&MAP_SHARED &&    \
			 the.error != ENOMEM                                                       \
		 ? soakers                                                                         \
		 : script_failed())
#define munmap(at, size)                                                                           \
	note("free%s;", (size) == sizeof(struct soaker) + 2 * sizeof(struct soak_cpu) ? "" : "?")
#define kill(pid, sig)                 note("kill %d %d;", pid, (sig) == SIGCONT)
#define keeper_main(s, ends)           note_end("keeper %d %d;", (ends)[0], (ends)[1])
#define geteuid()                      ((uid_t)the.user)
#define sysconf(name)                  (2 + the.more)
#define cpus_are_all(cpus)             ((cpus)->n == 2)
#define kernel_option(o)               (the.option[o])
#define cpu_cgroup_sees_root(g)        (!the.rootless)
#define cpu_cgroup_is_shared(g)        (the.is_shared)
#define idle_group_remove(g, tries)    note("remove %d;", tries)
#define yield_measure(cpus, ran, s, y) ((void)(cpus), (void)(s), *(y) = *trial++)
#define syscall(number, word, what, n, ...)                                                        \
	note("%s;", (number) == SYS_futex && (word) == &soakers->parked && (what) == FUTEX_WAKE && \
				    (n) == INT_MAX                                                 \
			    ? "wake"                                                               \
			    : "?")
#include "lib/load/soaker.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static struct soaker *soakers_of(struct machine machine)
{
	struct soaker *s = soakers = two_empty_soakers();

	the = machine;
	the.child += 50;
	the.asleep += 2;
	the.step += 10000000;
	trials[0].kept = 1;
	trial = trials;
	s->keeper = 40;
	s->lock = 8;
	s->pipe = 9;
	s->cpu[0].id = s->cpu[1].id = 5;
	script.calls[0] = '\0';
	return s;
}

/* The same, beside a kernel that does all that is asked for. */
static struct soaker *two_soakers(void)
{
	return soakers_of((struct machine){.error = 0});
}

/* 40 ms, of which each look at the clock takes 10. */
static void test_lock(void)
{
	char path[] = "/tmp/zc-unit.XXXXXX";
	const int files = open_files(), fd = mkstemp(path),
		  other = open(path, O_RDONLY | O_CLOEXEC);
	struct lock_holder h;

	soakers_of((struct machine){.held = 99});
	ok(!device_lock(8, 0.03) && errno == EWOULDBLOCK, "a lock that stays held is not taken");
	is(script.calls, "lock 8;unblock;sleep;restore;lock 8;unblock;sleep;restore;lock 8;",
	   "a lock is tried for the time that is asked for, and signals may come meanwhile");
	ok(!lock_take(fd, 0, &h) && h.pid == 0 &&
		   strcmp(h.name, "a program of another PID namespace or user") == 0,
	   "a holder that is not known has a description");
	ok((flock)(other, LOCK_EX | LOCK_NB) == 0 && !lock_take(fd, 0, &h) && h.pid == getpid(),
	   "a holder is found by its lock");
	is(h.name, text_of("name of /proc/%d/comm", getpid()),
	   "a holder has the name of its process");
	(close)(fd);
	(close)(other);
	remove(path);
	ok(open_files() == files, "the search for a holder leaves no descriptor open");
}

static bool parkable;
static const char *why; /* soakers did not start */
static struct lock_holder holder;

static void start_of(void *s)
{
	why = NULL;
	why = soaker_start(s, &(const struct cpus){2, {3, 5}}, 0, parkable, &holder);
}

/* What a start calls, and returns or prints on stderr. */
static const char *start(void)
{
	struct soaker *s = NULL;
	const char *said;

	capture(STDERR_FILENO);
	calls_of(start_of, &s);
	said = strchrnul(captured(), ':');
	return text_of(
		"holder %d, parked %d, unsafe %d, %d CPUs%s %d %d, clock '%s', steal %d, process %d %d: "
		"%s%s%.*s\n",
		holder.pid, (int)soakers->parked, soakers->weight, (int)soakers->online,
		soakers->whole ? ", all," : "", soakers->cpu[0].id, soakers->cpu[1].id,
		soakers->clock, soakers->sees_steal, soakers->keeper, soakers->pipe, script.calls,
		why != NULL ? why : "", (int)strcspn(said, "\n"), said);
}

/* Where a row has no machine and no errors, all goes well. */
static void test_start(void)
{
	static const struct {
		struct machine machine;
		int bind, policy, group, autogroup; /* errors */
		bool parkable;
	} rows[] = {
		{.machine = {.more = 1, .file = {"tsc"}, .option = {true, false}}},
		{.machine.option = {false, true}},
		{.machine.option = {true, true}},
		{.machine.error = ENOENT},
		{.machine.error = ENOMEM},
		{.machine.held = 1},
		{.machine.held = 1, .parkable = true},
		{.machine.child = -52},
		{.machine.child = -51},
		{.machine.child = -50},
		{.machine.ended = 2, .machine.status = 9, .bind = EINVAL},
		{.machine.ended = 2, .machine.status = 129 << 8},
		{.machine.ended = 2, .machine.status = 128 << 8},
		{.machine.ended = 2, .machine.status = 1 << 8, .bind = EINVAL},
		{.machine.ended = 2, .machine.status = 1 << 8, .bind = EPERM},
		{.machine.asleep = 700, .machine.step = 190000000},
		{.policy = EPERM},
		{.machine.user = true, .policy = EPERM},
		{.machine.rootless = true},
		{.machine.is_shared = true, .group = EROFS},
		{.group = EROFS, .autogroup = EAGAIN},
		{.machine.rootless = true, .group = EROFS},
		{.machine.is_shared = true, .autogroup = EAGAIN},
	};
	static char all[8192];
	struct soaker *s;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		s = soakers_of(rows[i].machine);
		s->cpu[i % 2].bind_errno = rows[i].bind;
		s->policy_errno = rows[i].policy;
		s->group_errno = rows[i].group;
		s->autogroup_errno = rows[i].autogroup;
		parkable = rows[i].parkable;
		string_append(all, sizeof(all), "%s", start());
	}
	expect(all, "soakers start, or say why not");
	soakers_of((struct machine){.error = EBADF});
	ok(died(start_of, &s) == EXIT_FAILURE &&
		   strstr(printed, "cannot lock /dev/zero: Bad file descriptor") != NULL,
	   "a lock that cannot be had is an error");
}

/* Eight trials, of which the last but one is the better. */
static void test_yield(void)
{
	static const struct yield rows[] = {{.kept = 0.6},
					    {.kept = 1, .late = 0.005},
					    {.kept = YIELD_KEPT, .late = YIELD_LATE}};
	struct soaker *s;
	size_t i;
	int k;

	capture_all();
	setlinebuf(stdout);
	for (i = 0; i < LENGTH(rows); i++) {
		s = two_soakers();
		for (k = 0; k < 8; k++)
			trials[k] = rows[k < 7 ? k % 2 : (int)i];
		try_yield(s, NULL);
		printf("%d trials, unsafe %d\n", (int)(trial - trials), s->weight);
	}
	expect(captured(), "soakers that do not yield in eight trials have a line, and are unsafe");
}

static int use;

static void use_soakers(void *s)
{
	if (use == 0)
		soaker_check_or_die(s);
	else if (use == 1)
		soaker_stop(s);
	else
		soaker_unpark(s, &holder);
}

static void test_stop(void)
{
	struct soaker *s = two_soakers();

	soaker_park(s);
	the.held = 1;
	ok(s->parked == 1 && !soaker_unpark(s, &holder) && s->parked == 1,
	   "soakers stay parked while another program has the lock");
	ok(soaker_unpark(s, &holder) && s->parked == 0,
	   "soakers wake up once they have the lock again");
	is(script.calls, "unlock 8;lock 8;lock 8;wake;",
	   "soakers that are parked leave the lock, and are woken when they have it again");
	script.calls[0] = '\0';
	soaker_stop(s);
	the.status = 9;
	soaker_stop(s);
	is(script.calls,
	   "close 9;kill 40 1;wait 40;close 8;free;close 9;kill 40 1;wait 40;remove 200;close 8;free;",
	   "the end of soakers: the keeper is told, and waited for; one that is killed then leaves a group");
	for (use = 0; use < 3; use++) {
		the.ended = 1;
		ok(died(use_soakers, s) == EXIT_FAILURE &&
			   strstr(printed, "killed by signal 9") != NULL,
		   "soakers that have ended before are an error: %d", use);
	}
}

static void test_limits(void)
{
	static const struct {
		const char *clock, *file[2];
		int slower, more, away, weight;
		unsigned stops;
	} rows[] = {
		{"tsc", {"tsc", "disabled"}, 0, 0, 0, 0, 2}, {"tsc", {NULL, NULL}, 0, -1, 0, 0, 4},
		{"", {"hpet", "enable"}, 0, -1, 0, 0, 4},    {"tsc", {"hpet", NULL}, 0, 0, 0, 0, 4},
		{"tsc", {"hpet", "enabled"}, 0, 0, 0, 1, 4}, {"tsc", {"tsc", NULL}, 1, 0, 0, 0, 4},
		{"tsc", {"tsc", NULL}, 0, 0, 0, 0, 3},       {"tsc", {"tsc", NULL}, 0, 1, 0, 0, 4},
		{"tsc", {"tsc", NULL}, 0, 0, 1, 0, 4},
	};
	struct limits_mark m;
	struct soaker *s;
	size_t i;

	capture(STDOUT_FILENO);
	for (i = 0; i < LENGTH(rows); i++) {
		s = soakers_of((struct machine){.more = rows[i].more,
						.file = {rows[i].file[0], rows[i].file[1]}});
		s->online = 2;
		s->lost = 4;
		s->moved = 5;
		strcpy(s->clock, rows[i].clock);
		s->cpu[i % 2].gap_min = SLOW_GAP_NS + (unsigned)rows[i].slower;
		s->cpu[i % 2].away = rows[i].away;
		s->stops = rows[i].stops;
		s->weight = rows[i].weight;
		soaker_limits(s, &m);
		printf("'%s', lost %d, moved %d, stops %d\n", limits_format(m.now), (int)m.lost,
		       (int)m.moved, (int)m.stops);
	}
	expect(captured(), "what disturbs soakers");
}

/* Counts that are read at this time, by a clock that goes on so fast. */
static void test_counts(void)
{
	static const struct {
		uint64_t ns, step, last, changes;
		bool sees_steal;
	} rows[] = {
		{1001000, 0, 1000000, 4, true}, /* no gap is open */
		{1001001, 0, 1000000, 4, true},
		{1001000, 0, 0, 4, true}, /* before the first turn */
		{320000, 0, 319500, 4, false},
		{1001000, 0, 1000000, 5, true}, /* a gap is being counted */
		{951000, 50000, 1000000, 4, true},
		{0, 50001, 1000000, 4, true}, /* a reading takes too long */
		{0, 1, 1000000, 5, false},
	};
	struct load_sample c;
	struct soaker *s;
	uint64_t took;
	size_t i;

	capture(STDOUT_FILENO);
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
					      .tid = 52,
					      .changes = rows[i].changes};
		the.ns = rows[i].ns;
		the.step = rows[i].step;
		s->sees_steal = rows[i].sees_steal;
		soak_count(s, 1, &c);
		took = the.ns - rows[i].ns;
		printf("%g us: spun %g, tasks %g, stolen %g, %g turns, %g switches, read in %g us; thread %d ran %d us\n",
		       1e6 * c.time, 1e6 * c.spin, 1e6 * c.tasks, 1e6 * c.stolen, c.work,
		       c.switches, 1e-3 * (double)took, soaker_thread(s, 1),
		       (int)((soaker_ran(s, 1) + 1) / 1000)); /* i386 may lack a ns */
	}
	expect(captured(), "counts of a soaker");
}

TESTS(test_lock, test_start, test_yield, test_stop, test_limits, test_counts)
