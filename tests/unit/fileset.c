#include "lib/send/fileset.h"

#include <sys/resource.h>

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

/* Half of the descriptors are for files. */
static void open_many(void *arg)
{
	static char *names[] = {"a", "b", "c", "d"};
	const struct rlimit few = {6, 6};

	setrlimit(RLIMIT_NOFILE, &few);
	fileset_open(arg, names, 4, false);
}

static void test_many(void)
{
	struct fileset set;

	ok(died(open_many, &set) == EXIT_FAILURE &&
		   strstr(printed, "4 files are more than") != NULL,
	   "more files than half of the descriptors are an error");
}

TESTS(test_entries, test_builtin, test_many)
