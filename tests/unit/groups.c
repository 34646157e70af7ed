/* What makes runs with a profile differ: lib/compare/groups. */
#include "lib/compare/groups.h"

#include "lib/send/trials.h"
#include "tests/unit/unit.h"

static struct plan plan;

static void set(int run, const char *group, int end, double us)
{
	int k = 0;

	while (trials_kind.measure[k].group == NULL || trials_kind.measure[k].end != end ||
	       strcmp(trials_kind.measure[k].group, group) != 0)
		k++;
	plan.run[run].figure[k][0] = plan.run[run].figure[k][1] = us;
}

static const char *text(void)
{
	capture(STDOUT_FILENO);
	groups_print(&plan);
	report_flush();
	return captured();
}

static void test_groups(void)
{
	plan_open(&plan, &trials_kind, 2, 2);
	plan.rounds = 2;
	plan_set_value(&plan.run[0], METHOD, "send");
	plan_set_value(&plan.run[1], METHOD, "sendfile");
	is(text(), "", "runs without a profile have no groups");
	set(0, "data copy", 0, 0.75);
	set(1, "data copy", 0, 0.25);
	set(0, "memory", 0, 0.125);
	set(1, "memory", 0, 0.25);
	set(0, "other", 0, 0.001);
	set(1, "user", 0, 0.015);
	set(0, "data copy", 1, 0.5);
	set(1, "data copy", 1, 0.5);
	is(text(),
	   "us/KiB                           send         sendfile\n"
	   "data copy                       0.750            0.250\n"
	   "memory                          0.125            0.250\n"
	   "user                                -            0.015\n"
	   "send - sendfile: 0.361 us/KiB: data copy 0.500, memory -0.125\n"
	   "receiver: us/KiB                 send         sendfile\n"
	   "data copy                       0.500            0.500\n"
	   "receiver: send - sendfile: 0.000 us/KiB\n",
	   "each end has a table of groups that matter, and a line of what makes the difference");
	strcpy(plan.run[0].profile_unsafe[0][1], "lost");
	has(text(),
	    "data copy                      0.750?            0.250\n"
	    "memory                         0.125?            0.250\n",
	    "the groups of an unsafe profile are marked");
	has(printed, "send - sendfile: 0.361? us/KiB:", "and so is a difference");
	plan.run[0].profile_unsafe[0][1][0] = '\0';
}

static void test_against(void)
{
	struct plan before = plan;

	plan.before = &before;
	has(text(), "us/KiB                    send before         send now  sendfile before",
	    "two plans have two columns of each run, in tables of 80 columns");
	has(printed, "send now - send before: 0.000 us/KiB\n",
	    "and each run is compared with itself before");
	before.run = &plan.run[1];
	before.n = 1;
	plan.n = 1;
	set(0, "data copy", 0, NAN);
	set(0, "memory", 0, NAN);
	set(0, "other", 0, NAN);
	ok(strncmp(text(), "us/KiB ", 7) == 0 && strstr(printed, "\nsendfile now") == NULL &&
		   strstr(printed, "\nsend now") == NULL,
	   "a run without a profile differs from none, and the other has its table");
	plan.n = 2;
	plan.before = NULL;
	plan_close(&plan);
}

TESTS(test_groups, test_against)
