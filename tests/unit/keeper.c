#include "lib/load/keeper.h"

#include <sys/stat.h>

#include "tests/unit/unit.h"

static struct cpu_cgroup g = {.root = "/tmp/zc-unit.XXXXXX"};

/* In a made-up hierarchy of /a/b a file is written, unless it is NULL; a group then has that quota or none. */
static const struct {
	bool v2;
	const char *file, *text, *own, *quota, *title;
} cases[] = {
	{true, NULL, NULL, "/a/b", "", "cgroup v2: without cpu.max there is no quota"},
	{true, "a/b/cpu.max", "max 100000", "/a/b", "", "cgroup v2: `max` is no quota"},
	{true, "a/cpu.max", "50000 100000", "/a/b", "50000 100000",
	 "cgroup v2: the quota of the group above holds"},
	{true, "a/b/cpu.max", "20000 100000", "/a/b", "20000 100000",
	 "cgroup v2: the group's own quota is found first"},
	{false, "a/b/cpu.cfs_quota_us", "-1", "/a/b", "", "cgroup v1: -1 is no quota"},
	{false, "cpu.cfs_quota_us", "30000", "/a/b", "30000",
	 "cgroup v1: the quota of the root holds"},
};

static void test_quota(size_t i)
{
	char value[64] = "";
	FILE *f;

	if (cases[i].file != NULL) {
		f = fopen(cases[i].file, "we");
		if (f == NULL || fprintf(f, "%s\n", cases[i].text) < 0 || fclose(f) != 0)
			err(EXIT_FAILURE, "%s", cases[i].file);
	}
	g.v2 = cases[i].v2;
	strcpy(g.own, cases[i].own);
	ok(cpu_cgroup_quota(&g, value, sizeof(value)) == (cases[i].quota[0] != '\0') &&
		   (cases[i].quota[0] == '\0' || strcmp(value, cases[i].quota) == 0),
	   "%s", cases[i].title);
}

int main(void)
{
	static const char *const made[] = {"a/b/cpu.max",      "a/cpu.max", "a/b/cpu.cfs_quota_us",
					   "cpu.cfs_quota_us", "a/b",       "a"};
	const int files = open_files();
	struct cpu_cgroup own;
	size_t i;

	if (mkdtemp(g.root) == NULL || chdir(g.root) != 0 || mkdir("a", 0755) != 0 ||
	    mkdir("a/b", 0755) != 0)
		err(EXIT_FAILURE, "%s", g.root);
	for (i = 0; i < LENGTH(cases); i++)
		test_quota(i);
	strcpy(g.own, "/a");
	ok(cpu_cgroup_is_shared(&g), "a group below the root may have others beside it");
	cpu_cgroup_find(&own);
	ok(open_files() == files, "the search for the cgroup leaves no descriptor open");
	for (i = 0; i < LENGTH(made); i++)
		remove(made[i]);
	rmdir(g.root);
	return done();
}
