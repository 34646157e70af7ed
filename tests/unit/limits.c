#include "lib/load/limits.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/unit/unit.h"

static void test_names(void)
{
	const char *bad = "|,|steal,|,steal|steal,,weight", *list;
	char text[UNSAFE_STRLEN];
	unsigned got, set;
	bool all = true;

	is(limits_format(UNSAFE_CPU_OFFLINE | UNSAFE_STEAL, text), "cpu_offline,steal",
	   "the names of two reasons have a comma between");
	for (set = 1; set < 1u << UNSAFE_REASONS; set++)
		all &= limits_parse(limits_format(set, text), &got) && got == set &&
		       strlen(text) < UNSAFE_STRLEN;
	ok(all, "every set of reasons is the same when it is written and read");
	ok(limits_parse("steal,new_2", &got) && got == (UNSAFE_STEAL | UNSAFE_OTHER),
	   "a reason of a newer version is UNSAFE_OTHER");
	while ((list = next_of(&bad)) != NULL)
		ok(!limits_parse(list, &got), "limits_parse: '%s' is no list of reasons", list);
}

static void test_between(void)
{
	const struct limits_mark before = {.lost = 3, .moved = 4, .stops = 5};
	const struct {
		struct limits_mark to;
		unsigned unsafe;
	} cases[] = {
		{before, 0},
		{{UNSAFE_WEIGHT, .lost = 3, .moved = 4, .stops = 5}, UNSAFE_WEIGHT},
		{{.lost = 4, .moved = 4, .stops = 5}, UNSAFE_CPU_OFFLINE},
		{{.lost = 3, .moved = 5, .stops = 5}, UNSAFE_SOAKER_MOVED},
		{{.lost = 3, .moved = 4, .stops = 6}, UNSAFE_SOAKER_STOPPED},
	};
	char text[UNSAFE_STRLEN];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		ok(limits_between(&before, &cases[i].to) == cases[i].unsafe &&
			   limits_between(&cases[i].to, &before) == cases[i].unsafe,
		   "what held at one end or happened meanwhile is a reason: %s",
		   limits_format(cases[i].unsafe, text));
	ok(limits_steal(NAN) == 0, "a steal that is not known is no reason");
	ok(limits_steal(0.0101) == UNSAFE_STEAL, "a steal of more than 1 %% is a reason");
}

/* Two loads, one after the other, a thousand times: so many lines have a part. */
static void says(struct limits_said said, unsigned first, unsigned second, const char *part,
		 int want, const char *title)
{
	const char *line;
	int i, n = 0;

	capture(STDERR_FILENO);
	for (i = 0; i < 1000; i++) {
		limits_say(first, &said);
		limits_say(second, &said);
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
	says(once, 0, moved, "moved", 1, "with one line a reason, one that comes again has none");
	says(run, 0, moved, ": run 2: a soaker", SAY_MOST, "a line begins with its run");
	says(all, 0, UNSAFE_WEIGHT | UNSAFE_OTHER, "\n", 0,
	     "a reason that another part prints has no line here");
}

/* Starts a child that works for 2 ms, and rests for `rest_ns`, in turn. */
static pid_t burn(const char *name, uint64_t rest_ns)
{
	const pid_t pid = fork();
	uint64_t began;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	prctl(PR_SET_NAME, name);
	setpriority(PRIO_PROCESS, 0, -20); /* only root's is: others have their share */
	for (;; sleep_ns(rest_ns))
		for (began = now_ns(); now_ns() - began < 2000000;)
			;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Looks, for seconds at most, until the busiest program has that part in its text, or lacks it. */
static bool find(char text[BUSIEST_STRLEN], const char *part, bool has_part)
{
	int tries;

	for (tries = 0; tries < 50; tries++) {
		busiest_find(text);
		if (text[0] != '\0' && (strstr(text, part) != NULL) == has_part)
			return true;
	}
	return false;
}

/* Runs as the first process of a PID namespace, whose /proc has no other programs. */
static void test_busiest(void)
{
	char text[BUSIEST_STRLEN], want[BUSIEST_STRLEN];
	const int before = open_files();
	unsigned percent = 0;
	pid_t pid, second;

	busiest_find(text);
	is(text, "", "none of idle programs is the busiest");
	pid = burn("a) R (b\033[1m", 0);
	snprintf(want, sizeof(want),
		 "; the busiest program was a) R (b?[1m (pid %d), %%u%%%% of a CPU", pid);
	ok(find(text, "", true) && sscanf(text, want, &percent) == 1 && percent >= 10 &&
		   percent < 150,
	   "the busiest program's name is printed without control characters, and its share: %s",
	   text);
	second = burn("second", 10000000);
	/* The machine may be so busy that a look finds the first with no more. */
	ok(find(text, "second", false), "of two programs that use a CPU the busier one is named");
	end(second);
	end(pid);
	pid = burn("zc-soaker", 0);
	sleep_ns(100000000);
	busiest_find(text);
	is(text, "", "soakers are omitted");
	second = burn("second", 1000000); /* has 10 % of a CPU with a quota, too */
	ok(find(text, "second", true), "a program that uses less than a soaker is named");
	end(second);
	ok(open_files() == before, "the search for the busiest leaves no descriptor open");
	end(pid);
}

static void *say(void *said)
{
	limits_say(UNSAFE_CLOCK_SLOW, said);
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

int main(void)
{
	static const char busiest[] = "the busiest of all programs";
	int status = 0;

	test_printed();
	test_names();
	test_between();
	test_thread();
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
		skip(busiest, "no privilege for namespaces");
	else if (fflush(stdout) == 0 && fork() != 0)
		return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
	else if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		 mount("proc", "/proc", "proc", 0, NULL) != 0)
		skip(busiest, "no mount of /proc");
	else
		test_busiest();
	return done();
}
