#include "lib/load/limits.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/unit/unit.h"

static void test_names(void)
{
	char text[UNSAFE_STRLEN];
	unsigned got, set;
	bool all = true;

	is(limits_format(0, text), "", "no reason has no name");
	is(limits_format(UNSAFE_CPU_OFFLINE | UNSAFE_STEAL, text), "cpu_offline,steal",
	   "the names of two reasons have a comma between");
	for (set = 1; set < 1u << UNSAFE_REASONS; set++)
		all &= limits_parse(limits_format(set, text), &got) && got == set &&
		       strlen(text) < UNSAFE_STRLEN;
	ok(all, "every set of reasons is the same when it is written and read");
}

static void test_parse(void)
{
	static const char *const bad[] = {"", ",", "steal,", ",steal", "steal,,weight"};
	unsigned got;
	size_t i;

	ok(limits_parse("new_2", &got) && got == UNSAFE_OTHER &&
		   limits_parse("steal,new_2", &got) && got == (UNSAFE_STEAL | UNSAFE_OTHER),
	   "a reason of a newer version is UNSAFE_OTHER");
	for (i = 0; i < LENGTH(bad); i++)
		ok(!limits_parse(bad[i], &got), "limits_parse: '%s' is no list of reasons", bad[i]);
}

static void test_between(void)
{
	const struct limits_mark none = {.now = 0}, steal = {.now = UNSAFE_STEAL};
	const struct {
		struct limits_mark mark;
		unsigned unsafe;
	} cases[] = {
		{{.lost = 1}, UNSAFE_CPU_OFFLINE},
		{{.moved = 1}, UNSAFE_SOAKER_MOVED},
		{{.stops = 1}, UNSAFE_SOAKER_STOPPED},
		{{.now = UNSAFE_WEIGHT}, UNSAFE_WEIGHT},
	};
	size_t i;

	ok(limits_between(&none, &none) == 0, "nothing happened: no reason");
	ok(limits_between(&steal, &none) == UNSAFE_STEAL,
	   "a reason that held at the beginning is one, even if it has ended");
	for (i = 0; i < LENGTH(cases); i++) {
		ok(limits_between(&none, &cases[i].mark) == cases[i].unsafe,
		   "what happened meanwhile is the reason %s",
		   limits_name((int)lround(log2(cases[i].unsafe))));
	}
}

static void test_steal(void)
{
	struct rates r;

	set_unknown(&r, sizeof(r));
	ok(limits_steal(&r) == 0, "a steal that is not known is no reason");
	r.cpu[CPU_STEAL] = 0.0099;
	ok(limits_steal(&r) == 0, "a steal of less than 1 %% is no reason");
	r.cpu[CPU_STEAL] = 0.0101;
	ok(limits_steal(&r) == UNSAFE_STEAL, "a steal of more than 1 %% is a reason");
}

/* The reasons of two loads, one after the other, a thousand times. */
struct pairs {
	struct limits_said said;
	unsigned first, second;
};

static void say_pairs(void *arg)
{
	struct pairs *p = arg;
	int i;

	for (i = 0; i < 1000; i++) {
		limits_say(p->first, &p->said);
		limits_say(p->second, &p->said);
	}
}

/* cppcheck-suppress unusedFunction ; ok() calls it */
static int lines_of(struct pairs p, const char *part)
{
	const char *line;
	int n = 0;

	died(say_pairs, &p);
	for (line = printed; (line = strstr(line, part)) != NULL; line++)
		n++;
	return n;
}

static void test_printed(void)
{
	const unsigned steal = UNSAFE_STEAL, moved = UNSAFE_SOAKER_MOVED;

	ok(lines_of((struct pairs){{.most = 0}, steal, steal | moved}, "(steal)") == 1,
	   "a reason is printed once while it lasts");
	ok(lines_of((struct pairs){{.most = 0}, steal, steal | moved}, "moved") == SAY_MOST,
	   "a reason that comes and goes has ten lines");
	ok(lines_of((struct pairs){{.most = 1}, 0, moved}, "moved") == 1,
	   "with one line a reason, a reason that comes again has none");
	ok(lines_of((struct pairs){{.place = "run 2"}, 0, moved}, ": run 2: a soaker") == SAY_MOST,
	   "a line begins with the run that it is about");
	ok(lines_of((struct pairs){{.most = 0}, 0, UNSAFE_WEIGHT | UNSAFE_OTHER}, "\n") == 0,
	   "a reason that another part prints has no line here");
}

#define NAME "a) R (b\033[1m" /* what a program may be called */

/* Starts a child that uses all of its CPU, or rests for `rest_ns` after each 2 ms. */
static pid_t burn(const char *name, uint64_t rest_ns)
{
	uint64_t began;

	const pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	prctl(PR_SET_NAME, name);
	setpriority(PRIO_PROCESS, 0, -20); /* only root's is: others have their share */
	for (;;) {
		for (began = now_ns(); now_ns() - began < 2000000;)
			;
		if (rest_ns > 0)
			sleep_ns(rest_ns);
	}
}

/* Looks until a busy machine has let the burner run, for seconds at most. */
static bool find(pid_t keeper, char text[BUSIEST_STRLEN])
{
	int tries;

	for (tries = 0; tries < 50; tries++)
		if (busiest_find(keeper, text))
			return true;
	return false;
}

/* Runs as the first process of a PID namespace, whose /proc has no other programs. */
static void test_alone(void)
{
	char text[BUSIEST_STRLEN], want[64];
	unsigned percent = 0;
	const int before = open_files();
	pid_t pid, second;
	int end = 0, tries;

	ok(!busiest_find(-1, text), "none of idle programs is the busiest");
	pid = burn(NAME, 0);
	ok(find(-1, text), "a program that uses a CPU is found");
	snprintf(want, sizeof(want), "a) R (b?[1m (pid %d), %%u%%%% of a CPU%%n", pid);
	ok(sscanf(text, want, &percent, &end) == 1 && text[end] == '\0' && percent >= 10 &&
		   percent < 150,
	   "its name is printed without control characters, and its share: %s", text);
	second = burn("second", 10000000);
	/* The machine may be so busy that a look finds the first with no more. */
	for (tries = 0; tries < 3 && (!find(-1, text) || strncmp(text, "second", 6) == 0); tries++)
		;
	ok(tries < 3, "of two programs that use a CPU the busier one is named: %s", text);
	kill(second, SIGKILL);
	waitpid(second, NULL, 0);
	ok(!busiest_find(pid, text), "the session of the keeper is omitted");
	ok(open_files() == before, "the search for the busiest leaves no descriptor open");
	kill(pid, SIGKILL);
}

int main(void)
{
	int status;
	pid_t pid;

	test_printed();
	test_names();
	test_parse();
	test_between();
	test_steal();
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
		skip("the busiest of all programs", "no privilege for namespaces");
		return done();
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount("proc", "/proc", "proc", 0, NULL) != 0)
			skip("the busiest of all programs", "no mount of /proc");
		else
			test_alone();
		exit(done());
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
								    : EXIT_FAILURE;
}
