#include "lib/base/proc.h"

#include <sys/stat.h>

/* What another machine has: its namespace of control groups, its hierarchy, and the group of this process. */
static struct {
	ino_t inode;      /* of the namespace; 0: there is none */
	const char *has;  /* that exists */
	char *line;       /* of /proc/self/cgroup */
	int busy, sleeps; /* how often a directory is busy, and how often it was waited for */
} the;

#define stat(path, st)     ((st)->st_ino = the.inode, the.inode == 0 ? -1 : 0)
#define access(path, mode) (the.has != NULL && strcmp(path, the.has) == 0 ? 0 : -1)
#define fopen(path, mode)  fmemopen(the.line, strlen(the.line), "r")
#define rmdir(path)        (the.busy-- > 0 ? (errno = EBUSY, -1) : rmdir(path))
#define sleep_ns(ns)       (the.sleeps++)
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

#undef fopen

/* Where the hierarchy is, and which group is the own one. */
static void test_find(void)
{
	static const struct {
		char *line;
		const char *has, *root, *own;
	} rows[] = {
		{"5:memory:/m\n4:cpu,cpuacct:/a b\n", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu",
		 "/a b"},
		{"5:memory:/m\n4:cpu:/c\n0::/d\n", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu",
		 "/c"},
		{"5:memory:/m\n", "/sys/fs/cgroup/cpu", "", ""},
		{"5:memory:/m\n4:cpu:/c\n", "/elsewhere", "", "/c"},
		{"5:cpu:/c\n0::/d\n", "/sys/fs/cgroup/cgroup.controllers", "", "/d"},
	};
	struct cpu_cgroup g;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		g = (struct cpu_cgroup){.v2 = true};
		the.line = rows[i].line;
		the.has = rows[i].has;
		ok(cpu_cgroup_find(&g) == (rows[i].root[0] != '\0') &&
			   strcmp(g.root, rows[i].root) == 0 && strcmp(g.own, rows[i].own) == 0,
		   "the control group of case %d", (int)i);
	}
}

/* Which groups are beside it, and above. */
static void test_shared(void)
{
	static const struct {
		const char *title;
		ino_t inode;
		struct cpu_cgroup g;
		const char *has;
		bool shared, root;
	} rows[] = {
		{"no namespaces", 0, {.own = "/"}, NULL, false, false},
		{"the root of v1", 0xEFFFFFFBu, {.own = "/"}, "/r/release_agent", false, true},
		{"what looks like it", 0xEFFFFFFCu, {.own = "/"}, NULL, true, false},
		{"a group of v1", 0xEFFFFFFBu, {.own = "/a"}, NULL, true, false},
		{"the root of v2", 0xEFFFFFFBu, {.own = "/", .v2 = true}, NULL, false, true},
		{"no group", 0xEFFFFFFBu, {.v2 = true}, "/r/cgroup.type", false, false},
	};
	struct cpu_cgroup g;
	size_t i;

	for (i = 0; i < LENGTH(rows); i++) {
		g = rows[i].g;
		strcpy(g.root, "/r");
		the.inode = rows[i].inode;
		the.has = rows[i].has;
		ok(cpu_cgroup_is_shared(&g) == rows[i].shared &&
			   cpu_cgroup_sees_root(&g) == rows[i].root,
		   "whether others share a group, and it is the root: %s", rows[i].title);
	}
}

/* Makes a file in the working directory. */
static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f == NULL || fprintf(f, "%s\n", text) < 0 || fclose(f) != 0)
		err(EXIT_FAILURE, "%s", path);
}

static void test_idle_group(const struct cpu_cgroup *g)
{
	char value[8];

	errno = EPERM;
	ok(idle_group_enter(g) == ENOENT && (access)("zc-soaker", F_OK) == 0,
	   "a group that cannot be made idle is not entered");
	put("zc-soaker/cpu.idle", "0");
	ok(idle_group_enter(g) == ENOENT, "a group without a list of processes is not entered");
	put("zc-soaker/cgroup.procs", "99");
	ok(idle_group_enter(g) == 0 &&
		   file_read_line("zc-soaker/cpu.idle", value, sizeof(value)) == 0 &&
		   value[0] == '1' &&
		   file_read_line("zc-soaker/cgroup.procs", value, sizeof(value)) == 0 &&
		   value[0] == '0',
	   "a group that is there is made idle, and entered");
	remove("zc-soaker/cpu.idle");
	remove("zc-soaker/cgroup.procs");
	the.busy = 9;
	idle_group_remove(&(struct cpu_cgroup){.root = ""}, 4);
	ok(the.busy == 9, "without a hierarchy there is no group to be removed");
	idle_group_remove(g, 4);
	ok(the.sleeps == 4 && the.busy == 5, "a group that stays busy is waited for");
	idle_group_remove(g, 9);
	ok(the.sleeps == 9 && (access)("zc-soaker", F_OK) != 0,
	   "a group is removed as soon as it is not busy");
	the.busy = 0;
	idle_group_remove(g, 9);
	ok(the.sleeps == 9, "a group that is gone is not waited for");
	ok(idle_group_enter(&(struct cpu_cgroup){.root = "/dev/null"}) == ENOTDIR,
	   "a group that cannot be made is an error");
}

int main(void)
{
	struct cpu_cgroup g = {.root = "/tmp/zc-unit.XXXXXX", .own = "/a/b"}, own;
	const int files = open_files();
	char value[64], line[1024];
	size_t i;

	if (mkdtemp(g.root) == NULL || chdir(g.root) != 0 || mkdir("a", 0755) != 0 ||
	    mkdir("a/b", 0755) != 0)
		err(EXIT_FAILURE, "%s", g.root);
	for (i = 0; i < LENGTH(cases); i++) {
		put(cases[i].file, cases[i].text);
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
	test_idle_group(&g);
	test_find();
	test_shared();
	ok(open_files() == files, "the search for a group leaves no descriptor open");
	for (i = 0; i < LENGTH(cases); i++)
		remove(cases[i].file);
	remove("a/b");
	remove("a");
	remove(g.root);
	return done();
}
