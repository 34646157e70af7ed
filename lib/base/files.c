#include "lib/base/files.h"

#include <limits.h>
#include <sys/stat.h>

#define LINKS_MAX 40 /* as path_resolution(7) has it */

/* Where a file is to be written: its directory, its name there, and its mode; 0 if there is none yet. */
struct place {
	int dir;
	char *name;
	mode_t mode;
};

/* Returns where an opened symbolic link leads, with the names behind it (NULL: none). */
static char *follow_or_die(int link, const struct stat *st, const char *behind, const char *path)
{
	char target[PATH_MAX], *to;
	const ssize_t n = readlinkat(link, "", target, sizeof(target));

	if (st->st_uid != geteuid() && st->st_uid != 0)
		die("cannot write %s: a symbolic link of another user: give what it leads to",
		    path);
	if (n < 0 || asprintf(&to, "%.*s%s%s", (int)n, target, behind != NULL ? "/" : "",
			      behind != NULL ? behind : "") < 0)
		die_errno("cannot write %s", path);
	return to;
}

/*
 * Finds the place to which a path leads.  No name is looked up twice, as another user may replace what has it: it
 * is opened, and what is open is looked at.
 */
static struct place place_find_or_die(const char *path)
{
	char *names = copy_or_die(path, path), *next = names, *to;
	struct place p = {.dir = open_retry(".", O_PATH)};
	bool is_led = false; /* by a link that is the last name, to a file that must exist */
	struct stat st;
	int fd, links = 0;

	while (p.mode == 0) {
		/* Before the first slash of an absolute path there is an empty name. */
		p.name = next == names && *next == '/' ? "/" : next;
		strsep(&next, "/");
		fd = openat(p.dir, *p.name != '\0' ? p.name : ".", O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT && next == NULL && !is_led)
			break;
		if (fd < 0 || fstat(fd, &st) != 0)
			die_errno("cannot write %s", path);
		if (S_ISLNK(st.st_mode)) {
			if (++links > LINKS_MAX)
				die_of(ELOOP, "cannot write %s", path);
			is_led |= next == NULL;
			to = follow_or_die(fd, &st, next, path);
			close(fd);
			free(names);
			next = names = to;
		} else if (next != NULL) {
			close(p.dir);
			p.dir = fd;
		} else if (S_ISREG(st.st_mode)) {
			close(fd);
			p.mode = st.st_mode;
		} else {
			die("cannot write %s: not a regular file", path);
		}
	}
	p.name = copy_or_die(p.name, path);
	free(names);
	return p;
}

/* O_NONBLOCK: a FIFO that took the file's place meanwhile would be waited for. */
static int open_place_or_die(const char *path, int flags)
{
	const struct place p = place_find_or_die(path);
	const int fd = openat(p.dir, p.name, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			      0666);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		die_errno("cannot write %s", path);
	if (!S_ISREG(st.st_mode))
		die("cannot write %s: not a regular file", path);
	free(p.name);
	close(p.dir);
	return fd;
}

int file_open_or_die(const char *path)
{
	const int fd = open_place_or_die(path, O_WRONLY);

	if (ftruncate(fd, 0) != 0)
		die_errno("cannot write %s", path);
	return fd;
}

int file_append_or_die(const char *path)
{
	return open_place_or_die(path, O_RDWR | O_APPEND);
}

/* A signal that ends the program waits: it would leave the new file behind. */
void file_replace_or_die(const char *path, void (*print)(FILE *f, const void *arg), const void *arg)
{
	const struct place p = place_find_or_die(path);
	sigset_t stop, before;
	bool is_whole = false;
	FILE *f = NULL;
	char *new;
	int fd, e;

	if (asprintf(&new, "%s.%d", p.name, (int)getpid()) < 0)
		die_errno("cannot write %s", path);
	stop_signals(&stop);
	pthread_sigmask(SIG_BLOCK, &stop, &before);
	unlinkat(p.dir, new, 0); /* of a process of the same id that was killed */
	fd = openat(p.dir, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0 && (p.mode == 0 || fchmod(fd, p.mode & 0777) == 0))
		f = fdopen(fd, "w");
	if (f != NULL) {
		if (print != NULL)
			print(f, arg);
		is_whole = fflush(f) == 0 && TEMP_FAILURE_RETRY(fsync(fd)) == 0;
	}
	if (is_whole && print != NULL)
		is_whole = renameat(p.dir, new, p.dir, p.name) == 0;
	e = errno;
	if (!is_whole || print == NULL)
		unlinkat(p.dir, new, 0);
	if (!is_whole)
		die_of(e, "cannot write %s", path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	fclose(f);
	free(new);
	free(p.name);
	close(p.dir);
}
