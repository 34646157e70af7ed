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

	is(limits_format(0, text), "", "no reason has no name");
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
	static const struct {
		struct limits_mark from, to;
		unsigned unsafe;
		const char *title;
	} cases[] = {
		{{0}, {0}, 0, "nothing happened: no reason"},
		{{.now = UNSAFE_STEAL},
		 {0},
		 UNSAFE_STEAL,
		 "a reason that held at the beginning is one, even if it has ended"},
		{{.lost = 3},
		 {.now = UNSAFE_WEIGHT, .lost = 3},
		 UNSAFE_WEIGHT,
		 "a reason that holds at the end is one"},
		{{.lost = 3}, {.lost = 4}, UNSAFE_CPU_OFFLINE, "a CPU was offline meanwhile"},
		{{.moved = 3}, {.moved = 4}, UNSAFE_SOAKER_MOVED, "a soaker was moved meanwhile"},
		{{.stops = 3},
		 {.stops = 4},
		 UNSAFE_SOAKER_STOPPED,
		 "a soaker was stopped meanwhile"},
	};
	struct rates r;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++)
		ok(limits_between(&cases[i].from, &cases[i].to) == cases[i].unsafe, "%s",
		   cases[i].title);
	set_unknown(&r, sizeof(r));
	ok(limits_steal(&r) == 0, "a steal that is not known is no reason");
	r.cpu[CPU_STEAL] = 0.0099;
	ok(limits_steal(&r) == 0, "a steal of less than 1 %% is no reason");
	r.cpu[CPU_STEAL] = 0.0101;
	ok(limits_steal(&r) == UNSAFE_STEAL, "a steal of more than 1 %% is a reason");
}

/* The reasons of two loads, one after the other, a thousand times; and how many lines have a text. */
struct pairs {
	struct limits_said said;
	unsigned first, second;
	const char *part;
	int lines;
	const char *title;
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

static void test_printed(void)
{
	static struct pairs all[] = {
		{{0},
		 UNSAFE_STEAL,
		 UNSAFE_STEAL | UNSAFE_SOAKER_MOVED,
		 "(steal)",
		 1,
		 "a reason is printed once while it lasts"},
		{{0},
		 UNSAFE_STEAL,
		 UNSAFE_STEAL | UNSAFE_SOAKER_MOVED,
		 "moved",
		 SAY_MOST,
		 "a reason that comes and goes has ten lines"},
		{{.most = 1},
		 0,
		 UNSAFE_SOAKER_MOVED,
		 "moved",
		 1,
		 "with one line a reason, a reason that comes again has none"},
		{{.place = "run 2"},
		 0,
		 UNSAFE_SOAKER_MOVED,
		 ": run 2: a soaker",
		 SAY_MOST,
		 "a line begins with the run that it is about"},
		{{0},
		 0,
		 UNSAFE_WEIGHT | UNSAFE_OTHER,
		 "\n",
		 0,
		 "a reason that another part prints has no line here"},
	};
	const char *line;
	size_t i;
	int n;

	for (i = 0; i < LENGTH(all); i++) {
		line = printed_on(STDERR_FILENO, say_pairs, &all[i]);
		for (n = 0; (line = strstr(line, all[i].part)) != NULL; line++)
			n++;
		ok(n == all[i].lines, "%s", all[i].title);
	}
}

/* Starts a child that uses all of its CPU, or rests for `rest_ns` after each 2 ms. */
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
	for (;;) {
		for (began = now_ns(); now_ns() - began < 2000000;)
			;
		if (rest_ns > 0)
			sleep_ns(rest_ns);
	}
}

/* Looks until a busy machine has let the burner run, for seconds at most. */
static bool find(char text[BUSIEST_STRLEN])
{
	int tries;

	for (tries = 0; tries < 50; tries++)
		if (busiest_find(-1, text))
			return true;
	return false;
}

/* Runs as the first process of a PID namespace, whose /proc has no other programs. */
static void test_busiest(void)
{
	char text[BUSIEST_STRLEN], want[64];
	const int before = open_files();
	unsigned percent = 0;
	int end = 0, tries;
	pid_t pid, second;

	ok(!busiest_find(-1, text), "none of idle programs is the busiest");
	pid = burn("a) R (b\033[1m", 0);
	snprintf(want, sizeof(want), "a) R (b?[1m (pid %d), %%u%%%% of a CPU%%n", pid);
	ok(find(text) && sscanf(text, want, &percent, &end) == 1 && text[end] == '\0' &&
		   percent >= 10 && percent < 150,
	   "the busiest program's name is printed without control characters, and its share: %s",
	   text);
	second = burn("second", 10000000);
	/* The machine may be so busy that a look finds the first with no more. */
	for (tries = 0; tries < 3 && (!find(text) || strncmp(text, "second", 6) == 0); tries++)
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
	test_between();
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
			test_busiest();
		exit(done());
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
								    : EXIT_FAILURE;
}
