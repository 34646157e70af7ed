#include "lib/load/limits.h"

#include <dirent.h>

#include "lib/base/proc.h"
#include "lib/load/keeper.h"
#include "tests/unit/unit.h"

/* Processes of another machine, by their pid: the CPU time that each has had at first, and 200 ms later. */
static const struct {
	const char *name;
	unsigned ms[2];
} processes[] = {
	{NULL, {0, 150}},        {"init", {40, 61}}, {"burn", {5000, 5100}},
	{SOAKER_NAME, {0, 190}}, {NULL, {0, 120}},   {"less", {100, 180}},
};

static struct {
	int first, next;
	unsigned slept; /* in ms */
} the;

static struct dirent *script_process(void)
{
	static struct dirent e;

	snprintf(e.d_name, sizeof(e.d_name), the.next > 0 ? "%d" : "self", the.next);
	return ++the.next > (int)LENGTH(processes) ? NULL : &e;
}

static void script_time(clockid_t pid, struct timespec *t)
{
	const unsigned ms = processes[pid].ms[the.slept > 0];

	*t = (struct timespec){ms / 1000, ms % 1000 * 1000000L};
}

static int script_name(const char *path, char *name)
{
	const char *is = processes[atoi(path + strlen("/proc/"))].name;

	return is != NULL && strstr(path, "/comm") != NULL ? strcpy(name, is) == NULL : -1;
}

#define opendir(path)                    (the.next = the.first, (DIR *)&the)
#define readdir(d)                       script_process()
#define closedir(d)                      (the.next = -1)
#define clock_getcpuclockid(pid, clock)  (*(clock) = (pid), 0)
#define clock_gettime(clock, t)          script_time(clock, t)
#define file_read_line(path, name, size) script_name(path, name)
#define clock_ns(clock)                  (1000000ull * the.slept)
#define sleep_ns(ns)                     (the.slept += (ns) / 1000000)
#include "lib/load/limits.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

static void test_names(void)
{
	const char *bad = "|,|steal,|,steal|steal,,weight", *list;
	const char *text;
	unsigned got, set;
	bool all = true;

	is(limits_format(UNSAFE_CPU_OFFLINE | UNSAFE_STEAL), "cpu_offline,steal",
	   "the names of two reasons have a comma between");
	for (set = 1; set < 1u << UNSAFE_REASONS; set++) {
		text = limits_format(set);
		all &= limits_parse(text, &got) && got == set && strlen(text) < 200;
	}
	ok(all, "every set of reasons is the same when it is written and read");
	ok(limits_parse("steal,new_2", &got) && got == (UNSAFE_STEAL | UNSAFE_OTHER),
	   "a reason of a newer version is UNSAFE_OTHER");
	while ((list = next_of(&bad)) != NULL)
		ok(!limits_parse(list, &got), "limits_parse: '%s' is no list of reasons", list);
}

/* A reason, or several, and the instrument; the word that the load has which is not measured. */
static void test_unmeasured(void)
{
	static const struct {
		unsigned unsafe;
		const char *word[2]; /* by soaking, and by idle time */
	} cases[] = {
		{UNSAFE_CPU_OFFLINE | UNSAFE_BASELINE_BUSY, {"offline", "offline"}},
		{UNSAFE_NOT_MEASURED, {"soakers", "uncounted"}},
		{UNSAFE_SOAKED_ALREADY, {"held", "held"}},
		{UNSAFE_CALIBRATION | UNSAFE_BASELINE_BUSY, {"negative", "jump"}},
		{UNSAFE_BASELINE_BUSY | UNSAFE_STEAL, {"baseline", "baseline"}},
		{UNSAFE_STEAL | UNSAFE_WEIGHT, {"", ""}},
		{0, {"", ""}},
	};
	size_t i;
	int k;

	for (i = 0; i < 2 * LENGTH(cases); i++) {
		k = (int)(i % 2);
		is(no_load_of(cases[i / 2].unsafe, k == 1 ? LOAD_BY_IDLE : LOAD_BY_SOAKING),
		   cases[i / 2].word[k],
		   "%s, %s: the load is not measured, and a word has the reason",
		   limits_format(cases[i / 2].unsafe), k == 1 ? "--idle" : "-c");
	}
	for (i = 0; i < LENGTH(no_load); i++)
		ok(is_short(no_load[i].text), "'%s' takes three lines", no_load[i].word);
	has(no_load_text("soakers"), "--on-cpus",
	    "where soakers could not be started --on-cpus may help, as in a small cpuset");
}

static void test_between(void)
{
	static const struct limits_mark before = {.lost = 3, .moved = 4, .stops = 5};
	const struct {
		unsigned unsafe, lost, moved, stops, now;
	} rows[] = {{0, 3, 4, 5, 0},
		    {UNSAFE_WEIGHT, 3, 4, 5, UNSAFE_WEIGHT},
		    {UNSAFE_CPU_OFFLINE, 4, 4, 5, 0},
		    {UNSAFE_SOAKER_MOVED, 3, 5, 5, 0},
		    {UNSAFE_SOAKER_STOPPED, 3, 4, 6, 0}};
	struct limits_mark to;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		to = (struct limits_mark){rows[i].now, rows[i].lost, rows[i].moved, rows[i].stops};
		ok(limits_between(&before, &to) == rows[i].unsafe &&
			   limits_between(&to, &before) == rows[i].unsafe,
		   "what held at one end or happened meanwhile is a reason: %s",
		   limits_format(rows[i].unsafe));
	}
	ok(limits_steal(NAN) == 0 && limits_steal(0.01) == 0 &&
		   limits_steal(0.0101) == UNSAFE_STEAL,
	   "a steal of more than 1 %% is a reason, one that is not known is none");
}

/* Two loads, one after the other, a thousand times: so many lines have a part. */
static const char *by = LOAD_BY_SOAKING; /* their instrument */

static void says(struct limits_said said, unsigned first, unsigned second, const char *part,
		 int want, const char *title)
{
	const char *line;
	int i, n = 0;

	capture(STDERR_FILENO);
	for (i = 0; i < 1000; i++) {
		limits_say(first, by, no_load_of(first, by), &said);
		limits_say(second, by, no_load_of(second, by), &said);
	}
	for (line = captured(); (line = strstr(line, part)) != NULL; line++)
		n++;
	ok(n == want, "%s", title);
}

static void test_printed(void)
{
	const unsigned steal = UNSAFE_STEAL, moved = UNSAFE_SOAKER_MOVED;
	const struct limits_said all = {.most = 0}, once = {.most = 1}, run = {.place = "run 2"};

	says(all, steal, steal | moved, "(steal)", 1, "a reason is printed once while it lasts");
	says(all, steal, steal | moved, "moved", SAY_MOST,
	     "a reason that comes and goes has ten lines");
	says(all, 0, UNSAFE_CPU_OFFLINE, "the load is not measured: a measured CPU", SAY_MOST,
	     "that a load is not measured, as a CPU is away, has a line");
	says(once, 0, moved, "moved", 1, "with one line a reason, one that comes again has none");
	says(all, 0, UNSAFE_CALIBRATION,
	     text_of("the load is not measured: %s", no_load_text("negative")), SAY_MOST,
	     "a load below 0 is blamed on the calibration");
	says(run, 0, moved, ": run 2: a soaker", SAY_MOST, "a line begins with its run");
	by = LOAD_BY_IDLE;
	says(all, 0, UNSAFE_CALIBRATION | UNSAFE_BASELINE_OLD | UNSAFE_BASELINE_BUSY,
	     "cyclesoak -C", 0, "but not by idle time, which has none");
	says(all, 0, UNSAFE_STEAL, "(steal)", SAY_MOST,
	     "other reasons have the same line by either instrument");
	says(all, 0, UNSAFE_WEIGHT | UNSAFE_OTHER, "\n", 0,
	     "a reason that another part prints has no line here");
}

static void *say(void *said)
{
	limits_say(UNSAFE_CLOCK_SLOW, LOAD_BY_SOAKING, "", said);
	return said;
}

/* A thread of a client has a small stack. */
static void test_thread(void)
{
	static struct limits_said said;
	pthread_t id;

	ok(thread_start(&id, say, &said) == 0 && pthread_join(id, NULL) == 0,
	   "a thread prints a line that may advise --idle");
}

static void test_busiest(void)
{
	static const char *const from[] = {"burn (pid 2), 50%", "burn (pid 2), 50%",
					   "burn (pid 2), 50%", "less (pid 5), 40%",
					   "less (pid 5), 40%", "less (pid 5), 40%"};

	for (the.first = 6; the.first >= 0; the.first--) {
		the.slept = 0;
		is(busiest_find(),
		   the.first == 6
			   ? ""
			   : text_of("; the busiest program was %s of a CPU", from[the.first]),
		   "of processes from %d on that with most CPU time is named, if it is no soaker",
		   the.first);
		ok(the.slept == 200 && the.next == -1, "processes are watched for a while");
	}
}

TESTS(test_printed, test_names, test_unmeasured, test_between, test_thread, test_busiest)
