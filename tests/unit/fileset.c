#include <sys/resource.h>

#include "lib/net/wire.h"

static long pages; /* of this host's memory; 0: as many as it has */

#define sysconf(name) (pages > 0 ? pages : (sysconf)(name))
#include "lib/send/fileset.c" /* NOLINT(bugprone-suspicious-include): the part itself is tested */
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

/* Two files of 2^63 - 1 bytes have more entries than 32 bits can say. */
static void add_two(void *name)
{
	const struct file huge = {.name = name, .size = INT64_MAX};
	struct file files[2];
	struct fileset set = {.file = files};

	add_file(&set, &huge);
	add_file(&set, &huge);
}

/* Half of the descriptors are for files. */
static void open_many(void *arg)
{
	static char *names[] = {"a", "b", "c", "d"};
	const struct rlimit few = {6, 6};

	setrlimit(RLIMIT_NOFILE, &few);
	fileset_open(&(struct fileset){.n = 0}, names, *(int *)arg);
}

static void test_many(void)
{
	int n;

	ok(died(add_two, "huge") == EXIT_FAILURE &&
		   strstr(printed, "huge: too much for one loop, with the files before it: "),
	   "files that are too much for the header of a loop are an error");
	for (n = 3; n <= 4; n++)
		ok(died(open_many, &n) == EXIT_FAILURE &&
			   (strstr(printed, "files are more than") != NULL) == (n == 4),
		   "%d files of 6 descriptors: more than half are an error", n);
}

static void preload(void *arg)
{
	char data[8];
	struct file f = {.name = "directory", .fd = *(int *)arg, .size = 8, .data = data};

	read_file(&f);
}

static void test_unreadable(void)
{
	int fd = open("/", O_RDONLY);

	ok(died(preload, &fd) == EXIT_FAILURE && strstr(printed, "directory: Is a directory"),
	   "a file that cannot be read into memory is an error");
	close(fd);
}

/* Without a file there is nothing to read. */
static void preload_bytes(void *bytes)
{
	pages = 400;
	fileset_preload(&(struct fileset){.bytes = *(uint64_t *)bytes});
	exit(EXIT_SUCCESS);
}

static void test_memory(void)
{
	uint64_t bytes = 100 * (uint64_t)getpagesize();

	ok(died(preload_bytes, &bytes) == EXIT_SUCCESS, "a quarter of the memory is preloaded");
	bytes++;
	ok(died(preload_bytes, &bytes) == EXIT_FAILURE &&
		   strstr(printed, "more than a quarter of this host's memory"),
	   "more than a quarter is an error");
}

static void test_names(void)
{
	ok(is_size("1m") && is_size("20G") && !is_size("1mm") && !is_size("m") && !is_size("x1"),
	   "a file's name may look like the SIZE that -w of iperf3 takes");
}

/* Of words that layers below cannot compress or share half of the bits are set, and no two are the same. */
static void test_builtin(void)
{
	enum { WORDS = BUILTIN_SIZE / 8 };
	static uint64_t word[BUILTIN_FILES][WORDS];
	struct fileset set;
	uint64_t bits = 0, first;
	size_t i, k, same = 0;

	fileset_open(&set, NULL, 0);
	fileset_preload(&set);
	for (i = 0; i < set.n && set.n == BUILTIN_FILES; i++) {
		memcpy(word[i], set.file[i].data, sizeof(word[i]));
		same += pread(set.file[i].fd, &first, 8, 0) != 8 || first != word[i][0];
		for (k = 0; k < WORDS; k++) {
			bits += (unsigned)__builtin_popcountll(word[i][k]);
			same += word[i][k] == word[i][(k + 1) % WORDS] ||
				(i > 0 && word[i][k] == word[i - 1][k]);
		}
	}
	ok(same == 0 && fabs((double)bits / (64.0 * WORDS * BUILTIN_FILES) - 0.5) < 0.001,
	   "the built-in files differ, and do not compress");
	ok(set.builtin && set.skipped == 0 && set.entries == BUILTIN_FILES &&
		   set.bytes == (uint64_t)BUILTIN_FILES * BUILTIN_SIZE,
	   "the built-in set has all of them");
	fileset_close(&set);
}

TESTS(test_entries, test_many, test_unreadable, test_memory, test_names, test_builtin)
