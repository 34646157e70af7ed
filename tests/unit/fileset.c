#include "lib/send/fileset.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/net/wire.h"
#include "tests/unit/unit.h"

static void test_entries(void)
{
	static const struct {
		uint64_t size, entries;
		const char *name;
	} cases[] = {{0, 1, "0 bytes"},
		     {WIRE_ENTRY_MAX, 1, "4 GiB - 1"},
		     {WIRE_ENTRY_MAX + 1ull, 2, "4 GiB"},
		     {10ull << 30, 3, "10 GiB"}};
	uint64_t off, entries;
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		struct file f = {.size = cases[i].size};
		bool whole = true; /* pages */

		for (off = 0, entries = 0; entries == 0 || (off < f.size && entries < 10);
		     entries++) {
			whole &= off % 4096 == 0;
			off += file_entry(&f, off);
		}
		ok(off == f.size && entries == cases[i].entries && whole,
		   "a file of %s is split at whole pages into %d entries, which add to its size",
		   cases[i].name, (int)cases[i].entries);
	}
}

static void test_builtin(void)
{
	static char a[BUILTIN_SIZE + 1], b[BUILTIN_SIZE];
	struct fileset set;

	fileset_open(&set, NULL, 0, false);
	ok(set.builtin && set.n == BUILTIN_FILES && set.entries == BUILTIN_FILES &&
		   set.bytes == (uint64_t)BUILTIN_FILES * BUILTIN_SIZE &&
		   pread(set.file[0].fd, a, sizeof(a), 0) == BUILTIN_SIZE &&
		   pread(set.file[BUILTIN_FILES - 1].fd, b, sizeof(b), 0) == BUILTIN_SIZE,
	   "without names the built-in set is made, of files of one size");
	ok(memcmp(a, b, BUILTIN_SIZE) != 0 && memcmp(a, a + BUILTIN_SIZE / 2, 4096) != 0,
	   "built-in files differ, and do not repeat themselves");
	fileset_close(&set);
}

/* Two regular files, of which the second is sparse; and what is none. */
static char *names[] = {"small", "large", "directory", "missing"};

static void open_some(void *arg)
{
	struct fileset *set = arg;
	char why[DIE_MAX] = "";
	bool right;

	fileset_open(set, names, 4, false);
	fileset_error(set, why);
	right = set->n == 2 && strcmp(why, "skipped 2 of 4 files") == 0 && set->entries == 1 + 3 &&
		set->bytes == 5 + (9ull << 30) && !set->builtin && set->file[0].size == 5 &&
		set->file[1].fd >= 0;
	_exit(right ? 0 : 1);
}

/* Half of the descriptors are for files. */
static void open_many(void *arg)
{
	const struct rlimit few = {6, 6};

	setrlimit(RLIMIT_NOFILE, &few);
	fileset_open(arg, names, 4, false);
}

static bool make_file(const char *name, off_t size)
{
	const int fd = open(name, O_CREAT | O_WRONLY, 0600);
	const bool made = ftruncate(fd, size) == 0;

	close(fd);
	return made;
}

static void test_files(void)
{
	char path[] = "/tmp/zc-unit.XXXXXX";
	struct fileset set;

	if (mkdtemp(path) == NULL || chdir(path) != 0 || mkdir(names[2], 0700) != 0 ||
	    !make_file(names[0], 5) || !make_file(names[1], 9LL << 30))
		err(EXIT_FAILURE, "%s", path);
	ok(died(open_some, &set) == 0,
	   "a set has its regular files, their entries and their bytes, and what was skipped");
	ok(strstr(printed, ": directory: skipped: not a regular file\n") != NULL &&
		   strstr(printed, ": missing: skipped: No such file or directory\n") != NULL,
	   "a line is printed for each file that is skipped");
	ok(died(open_many, &set) == EXIT_FAILURE &&
		   strstr(printed, "4 files are more than") != NULL,
	   "more files than half of the descriptors are an error");
	unlink(names[0]);
	unlink(names[1]);
	rmdir(names[2]);
	rmdir(path);
}

TESTS(test_entries, test_builtin, test_files)
