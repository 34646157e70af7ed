#include "lib/load/cgroup.h"

#include "lib/base/proc.h"

#include <sys/stat.h>

/*
 * Every distribution mounts the hierarchy with the cpu controller at one of these two places.  Lines of
 * /proc/self/cgroup are `number:controllers:path`; the line of v2 has no controllers.
 */
static bool read_own(FILE *f, struct cpu_cgroup *g)
{
	bool found = false;
	char line[1024];

	while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
		found = g->v2 ? sscanf(line, "0::%959[^\n]", g->own) == 1
			      : sscanf(line, "%*d:cpu:%959[^\n]", g->own) == 1 ||
					sscanf(line, "%*d:cpu,cpuacct:%959[^\n]", g->own) == 1;
	if (f != NULL)
		fclose(f);
	return found;
}

bool cpu_cgroup_find(struct cpu_cgroup *g)
{
	g->v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
	strcpy(g->root, g->v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
	if (!read_own(fopen("/proc/self/cgroup", "re"), g) || access(g->root, F_OK) != 0)
		g->root[0] = '\0';
	return g->root[0] != '\0';
}

#define INITIAL_NAMESPACE 0xEFFFFFFBu /* inode: PROC_CGROUP_INIT_INO of linux/proc_ns.h */

bool cpu_cgroup_is_shared(const struct cpu_cgroup *g)
{
	struct stat st;

	if (stat("/proc/self/ns/cgroup", &st) == 0 && st.st_ino != INITIAL_NAMESPACE)
		return true;
	return g->own[0] != '\0' && strcmp(g->own, "/") != 0;
}

/* With v2 only groups below the root have a type; with v1 only the root has a release agent. */
bool cpu_cgroup_sees_root(const struct cpu_cgroup *g)
{
	const char *name = g->v2 ? "cgroup.type" : "release_agent";

	return (access(text_of("%s/%s", g->root, name), F_OK) == 0) == !g->v2;
}

bool cpu_cgroup_quota(const struct cpu_cgroup *g, char *value, size_t size)
{
	const char *name = g->v2 ? "cpu.max" : "cpu.cfs_quota_us";
	char own[sizeof(g->own)], *slash;

	strcpy(own, g->own);
	for (;;) {
		if (file_read_line(text_of("%s%s/%s", g->root, own, name), value, size) == 0 &&
		    value[0] != '-' && strncmp(value, "max", 3) != 0)
			return true;
		slash = strrchr(own, '/');
		if (slash == NULL)
			return false;
		*slash = '\0';
	}
}

#define IDLE_GROUP "%s/zc-soaker" /* always the same: a machine has one set of soakers */

/*
 * The group stands below the root of the hierarchy, since groups share a CPU by weight, whatever
 * runs inside (cpu.idle, Documentation/admin-guide/cgroup-v2.rst).
 */
int idle_group_enter(const struct cpu_cgroup *g)
{
	const char *dir = text_of(IDLE_GROUP, g->root);

	if (mkdir(dir, 0755) != 0 && errno != EEXIST)
		return errno;
	if (file_write(dir, "cpu.idle", "1") == 0 && file_write(dir, "cgroup.procs", "0") == 0)
		return 0;
	return errno;
}

/* Only an empty group can be removed, and soakers take a moment to end after their keeper. */
void idle_group_remove(const struct cpu_cgroup *g, int tries)
{
	const char *dir = text_of(IDLE_GROUP, g->root);
	int i;

	if (g->root[0] == '\0')
		return;
	for (i = 0; i < tries && rmdir(dir) != 0 && errno == EBUSY; i++)
		sleep_ns(10000000);
}
