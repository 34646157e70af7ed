/* The part itself, for what it has of its own. */
#include "lib/load/cgroup.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */

#include "tests/unit/unit.h"

/* In a made-up hierarchy with the group /a/b these files are written, one after the other. */
static const struct {
	bool v2;
	const char *file, *text, *quota, *title;
} cases[] = {
	{true, "a/b/other", "1", "", "cgroup v2: without cpu.max there is no quota"},
	{true, "a/b/cpu.max", "max 100000", "", "cgroup v2: `max` is no quota"},
	{true, "a/cpu.max", "50000 1", "50000 1", "cgroup v2: the quota of the group above holds"},
	{true, "a/b/cpu.max", "20000 1", "20000 1",
	 "cgroup v2: the group's own quota is found first"},
	{false, "a/b/cpu.cfs_quota_us", "-1", "", "cgroup v1: -1 is no quota"},
	{false, "cpu.cfs_quota_us", "30000", "30000", "cgroup v1: the quota of the root holds"},
};

int main(void)
{
	struct cpu_cgroup g = {.root = "/tmp/zc-unit.XXXXXX", .own = "/a/b"}, own;
	const int files = open_files();
	char value[64], line[1024];
	size_t i;
	FILE *f;

	if (mkdtemp(g.root) == NULL || chdir(g.root) != 0 || mkdir("a", 0755) != 0 ||
	    mkdir("a/b", 0755) != 0)
		err(EXIT_FAILURE, "%s", g.root);
	for (i = 0; i < LENGTH(cases); i++) {
		f = fopen(cases[i].file, "we");
		if (f == NULL || fprintf(f, "%s\n", cases[i].text) < 0 || fclose(f) != 0)
			err(EXIT_FAILURE, "%s", cases[i].file);
		g.v2 = cases[i].v2;
		if (!cpu_cgroup_quota(&g, value, sizeof(value)))
			value[0] = '\0';
		is(value, cases[i].quota, "%s", cases[i].title);
	}
	for (i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), i == 0 ? "0::/%0800d\n" : "4:cpu,cpuacct:/%0800d\n",
			 7);
		own.v2 = i == 0;
		ok(read_own(fmemopen(line, strlen(line), "r"), &own) && strlen(own.own) == 801 &&
			   own.own[800] == '7',
		   "cgroup v%d: the path of a group may have 800 bytes", i == 0 ? 2 : 1);
	}
	ok(cpu_cgroup_is_shared(&g), "a group below the root may have others beside it");
	cpu_cgroup_find(&own);
	ok(open_files() == files, "the search for the cgroup leaves no descriptor open");
	for (i = 0; i < LENGTH(cases); i++)
		remove(cases[i].file);
	remove("a/b");
	remove("a");
	remove(g.root);
	return done();
}
