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

/* Half of the descriptors are for files. */
static void open_many(void *arg)
{
	static char *names[] = {"a", "b", "c", "d"};
	const struct rlimit few = {6, 6};

	setrlimit(RLIMIT_NOFILE, &few);
	fileset_open(arg, names, 4);
}

static void test_many(void)
{
	struct fileset set;

	ok(died(open_many, &set) == EXIT_FAILURE &&
		   strstr(printed, "4 files are more than") != NULL,
	   "more files than half of the descriptors are an error");
}

TESTS(test_entries, test_many)
