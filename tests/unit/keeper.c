#include "lib/load/keeper.h"

#include <ftw.h>
#include <sys/stat.h>

#include "tests/unit/unit.h"

/* Writes a file of the made-up hierarchy. */
static void write_text(const struct cpu_cgroup *g, const char *path, const char *text)
{
	char full[600];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", g->root, path);
	f = fopen(full, "we");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0)
		err(EXIT_FAILURE, "%s", full);
}

static bool has_quota(struct cpu_cgroup *g, const char *own, const char *want)
{
	char value[64] = "";

	strcpy(g->own, own);
	return cpu_cgroup_quota(g, value, sizeof(value)) && strcmp(value, want) == 0;
}

static bool has_none(struct cpu_cgroup *g, const char *own)
{
	char value[64];

	strcpy(g->own, own);
	return !cpu_cgroup_quota(g, value, sizeof(value));
}

static void test_quota_v2(struct cpu_cgroup *g)
{
	g->v2 = true;
	ok(has_none(g, "/a/b"), "cgroup v2: without cpu.max there is no quota");
	write_text(g, "a/b/cpu.max", "max 100000\n");
	ok(has_none(g, "/a/b"), "cgroup v2: `max` is no quota");
	write_text(g, "a/cpu.max", "50000 100000\n");
	ok(has_quota(g, "/a/b", "50000 100000"), "cgroup v2: the quota of the group above holds");
	write_text(g, "a/b/cpu.max", "20000 100000\n");
	ok(has_quota(g, "/a/b", "20000 100000"), "cgroup v2: the group's own quota is found first");
	ok(has_none(g, "/"), "cgroup v2: the quota of a group below does not hold");
}

static void test_quota_v1(struct cpu_cgroup *g)
{
	g->v2 = false;
	ok(has_none(g, "/a/b"), "cgroup v1: cpu.max of v2 is no quota");
	write_text(g, "a/b/cpu.cfs_quota_us", "-1\n");
	ok(has_none(g, "/a/b"), "cgroup v1: -1 is no quota");
	write_text(g, "cpu.cfs_quota_us", "30000\n");
	ok(has_quota(g, "/a/b", "30000"), "cgroup v1: the quota of the root holds");
}

static void test_shared(struct cpu_cgroup *g)
{
	strcpy(g->own, "/a");
	ok(cpu_cgroup_is_shared(g), "a group below the root may have others beside it");
}

static void test_find(void)
{
	struct cpu_cgroup g;
	const int before = open_files();

	cpu_cgroup_find(&g);
	ok(open_files() == before, "the search for the cgroup leaves no descriptor open");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int main(void)
{
	struct cpu_cgroup g = {.root = "/tmp/zc-unit.XXXXXX"};
	char path[300];

	if (mkdtemp(g.root) == NULL)
		err(EXIT_FAILURE, "%s", g.root);
	snprintf(path, sizeof(path), "%s/a", g.root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/a/b", g.root);
	mkdir(path, 0755);
	test_quota_v2(&g);
	test_quota_v1(&g);
	test_shared(&g);
	test_find();
	nftw(g.root, remove_one, 4, FTW_DEPTH | FTW_PHYS);
	return done();
}
