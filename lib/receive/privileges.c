#include "lib/receive/privileges.h"

#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/syscall.h>

/* Whether the process is that user in all of its ids, and in no other's group. */
static bool is_user(const struct passwd *pw)
{
	gid_t gid[3], groups[NGROUPS_MAX], users[NGROUPS_MAX];
	uid_t uid[3];
	int n = getgroups(NGROUPS_MAX, groups), n_users = NGROUPS_MAX, i, k;

	if (n < 0 || getgrouplist(pw->pw_name, pw->pw_gid, users, &n_users) < 0 ||
	    getresuid(&uid[0], &uid[1], &uid[2]) != 0 || getresgid(&gid[0], &gid[1], &gid[2]) != 0)
		return false;
	for (i = 0; i < 3; i++)
		if (uid[i] != pw->pw_uid || gid[i] != pw->pw_gid)
			return false;
	for (i = 0; i < n; i++) {
		for (k = 0; k < n_users && users[k] != groups[i]; k++)
			;
		if (k == n_users)
			return false;
	}
	return true;
}

void privileges_drop_or_die(const char *user)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const struct passwd *pw;
	bool became;

	errno = 0;
	pw = getpwnam(user);
	if (pw == NULL)
		die("--user '%s': %s", user, errno != 0 ? strerror(errno) : "no such user");
	/* cppcheck-suppress nullPointerRedundantCheck ; die() does not return */
	became = initgroups(pw->pw_name, pw->pw_gid) == 0 &&
		 setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) == 0 &&
		 setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) == 0;
	if (!became && errno != EPERM)
		die_errno("--user '%s'", user);
	if (!became && !is_user(pw))
		die("--user '%s': only root can become another user%s", user,
		    pw->pw_uid == geteuid() ? ", or leave other groups" : "");
	if (pw->pw_uid == 0)
		return;
	if (setuid(0) == 0 || setgid(0) == 0)
		die("--user '%s': privileges came back", user);
	/* Of this thread, and so of those that it starts: capset(2). */
	if (syscall(SYS_capset, &header, none) != 0)
		die_errno("--user '%s': capabilities", user);
}
