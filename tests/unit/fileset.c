#include "lib/send/fileset.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/net/wire.h"
#include "tests/unit/unit.h"

static void test_entries(void)
{
	struct file f = {.size = 0};
	uint64_t off, entries;

	ok(file_entry(&f, 0) == 0, "an empty file is an entry of 0 bytes");
	f.size = WIRE_ENTRY_MAX;
	ok(file_entry(&f, 0) == WIRE_ENTRY_MAX, "a file of 4 GiB - 1 is one entry");
	f.size = (uint64_t)WIRE_ENTRY_MAX + 1;
	ok(file_entry(&f, 0) < WIRE_ENTRY_MAX && file_entry(&f, 0) % 4096 == 0,
	   "a file of 4 GiB is split, at a whole page");
	f.size = 10ull << 30;
	for (off = 0, entries = 0; off < f.size && entries < 10; entries++)
		off += file_entry(&f, off);
	ok(off == f.size && entries == 3,
	   "a file of 10 GiB is three entries, which add to its size");
}

static void test_builtin(void)
{
	static char a[BUILTIN_SIZE + 1], b[BUILTIN_SIZE];
	struct fileset set;

	fileset_open(&set, NULL, 0, 1, false);
	ok(set.builtin && set.n == BUILTIN_FILES && set.entries == BUILTIN_FILES &&
		   set.bytes == (uint64_t)BUILTIN_FILES * BUILTIN_SIZE,
	   "without names the built-in set is made");
	ok(pread(set.file[0].fd, a, sizeof(a), 0) == BUILTIN_SIZE &&
		   pread(set.file[BUILTIN_FILES - 1].fd, b, sizeof(b), 0) == BUILTIN_SIZE,
	   "each built-in file has its size");
	ok(memcmp(a, b, BUILTIN_SIZE) != 0 && memcmp(a, a + BUILTIN_SIZE / 2, 4096) != 0,
	   "built-in files differ, and do not repeat themselves");
	fileset_close(&set);
}

/* The names of the files: two regular ones, of which the second is sparse, and what is none. */
static char small[] = "small", large[] = "large", directory[] = "directory", missing[] = "missing";

static void make_files(void)
{
	static char path[] = "/tmp/zc-unit.XXXXXX";
	FILE *f;

	if (mkdtemp(path) == NULL || chdir(path) != 0)
		err(EXIT_FAILURE, "%s", path);
	f = fopen(small, "we");
	if (f == NULL || fputs("12345", f) < 0 || fclose(f) != 0 || mkdir(directory, 0700) != 0 ||
	    (f = fopen(large, "we")) == NULL || ftruncate(fileno(f), 9LL << 30) != 0 ||
	    fclose(f) != 0)
		err(EXIT_FAILURE, "%s", path);
}

static void remove_files(void)
{
	char path[64];

	unlink(small);
	unlink(large);
	rmdir(directory);
	if (getcwd(path, sizeof(path)) != NULL)
		rmdir(path);
}

static void open_none(void *arg)
{
	char *names[] = {directory, missing};
	struct fileset set;

	(void)arg;
	fileset_open(&set, names, 2, 1, false);
}

static void open_some(void *result)
{
	char *names[] = {small, directory, missing, large};
	struct fileset *set = result;
	char why[DIE_MAX] = "";

	fileset_open(set, names, 4, 1, false);
	fileset_error(set, why);
	_exit(set->n == 2 && strcmp(why, "skipped 2 of 4 files") == 0 && set->entries == 1 + 3 &&
			      set->bytes == 5 + (9ull << 30) && !set->builtin &&
			      set->file[0].size == 5 && set->file[1].fd >= 0
		      ? 0
		      : 1);
}

/* With as few descriptors as zcc may have, files are opened when they are sent. */
static void open_few(void *result)
{
	const struct rlimit few = {64, 64};
	char *names[] = {small};
	struct fileset *set = result;
	char why[DIE_MAX];

	setrlimit(RLIMIT_NOFILE, &few);
	fileset_open(set, names, 1, 1, false);
	_exit(set->n == 1 && fileset_error(set, why) == NULL && set->file[0].fd == -1 &&
			      set->bytes == 5
		      ? 0
		      : 1);
}

static void test_files(void)
{
	struct fileset set;

	ok(died(open_some, &set) == 0,
	   "a set has its regular files, their entries and their bytes, and what was skipped");
	ok(strstr(printed, ": directory: skipped: not a regular file\n") != NULL &&
		   strstr(printed, ": missing: skipped: No such file or directory\n") != NULL,
	   "a line is printed for each file that is skipped");
	ok(died(open_few, &set) == 0, "with few descriptors a file is not kept open");
	ok(died(open_none, NULL) == EXIT_FAILURE &&
		   strstr(printed, ": none of the files can be sent\n") != NULL,
	   "a set without a file ends the program with status 1");
}

int main(void)
{
	test_entries();
	test_builtin();
	make_files();
	test_files();
	remove_files();
	return done();
}
