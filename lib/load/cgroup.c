#include "lib/load/cgroup.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"

/* Whether a word is in a comma list. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; list != NULL; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (strncmp(list, word, n) == 0 && (list[n] == ',' || list[n] == '\0'))
			return true;
	return false;
}

/* Where the hierarchy with the cpu controller is mounted: that of v1, else that of v2. */
static bool cpu_cgroup_mount(struct cpu_cgroup *g)
{
	FILE *f = fopen_retry("/proc/self/mounts");
	bool found = false, v1 = false;
	struct mntent *m;

	while (f != NULL && !v1 && (m = getmntent(f)) != NULL) {
		v1 = strcmp(m->mnt_type, "cgroup") == 0 && hasmntopt(m, "cpu") != NULL;
		if ((!v1 && strcmp(m->mnt_type, "cgroup2") != 0) ||
		    strlen(m->mnt_dir) >= sizeof(g->root))
			continue;
		strcpy(g->root, m->mnt_dir);
		g->v2 = !v1;
		found = true;
	}
	if (f != NULL)
		fclose(f);
	return found;
}

/* Lines of /proc/self/cgroup are `number:controllers:path`; v2 has the number 0. */
bool cpu_cgroup_find(struct cpu_cgroup *g)
{
	FILE *f;
	char line[1024], *controllers, *path;
	bool found = false;

	if (!cpu_cgroup_mount(g) || (f = fopen_retry("/proc/self/cgroup")) == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		controllers = strchr(line, ':');
		path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
		if (path == NULL)
			continue;
		*path++ = '\0';
		if (g->v2 ? strncmp(line, "0:", 2) == 0 : has_word(controllers + 1, "cpu")) {
			found = (size_t)snprintf(g->own, sizeof(g->own), "%s", path) <
				sizeof(g->own);
		}
	}
	fclose(f);
	return found;
}

/*
 * Puts the calling process into a group whose tasks run only when nobody else wants the CPU
 * (cpu.idle, Documentation/admin-guide/cgroup-v2.rst), below the root of the hierarchy: groups
 * share a CPU by weight, whatever runs inside.  There is one set of soakers, so one name will do.
 */
int idle_group_enter(const struct cpu_cgroup *g, char dir[300])
{
	snprintf(dir, 300, "%s/zc-soaker", g->root);
	if (mkdir(dir, 0755) != 0 && errno != EEXIST)
		return errno;
	if (file_write(dir, "cpu.idle", "1") == 0 && file_write(dir, "cgroup.procs", "0") == 0)
		return 0;
	return errno;
}

/*
 * Removes the group where the keeper was killed and could not.  The soakers die with it, but take
 * a moment, and only an empty group can be removed.
 */
void idle_group_remove(void)
{
	struct cpu_cgroup g;
	char dir[300];
	int i;

	if (!cpu_cgroup_find(&g))
		return;
	snprintf(dir, sizeof(dir), "%s/zc-soaker", g.root);
	for (i = 0; i < SOAK_LOCK_TRIES && rmdir(dir) != 0 && errno == EBUSY; i++)
		sleep_ns(10000000);
}
