#include "lib/send/fileset.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/net/wire.h"

#define ENTRY_SPLIT  0xfffff000u /* bytes of each but the last entry of a split file: whole pages */
#define OPEN_RESERVE 64          /* descriptors that are not for files */
#define OPEN_STREAM  4           /* and as many again for each stream */

uint32_t file_entry(const struct file *f, uint64_t off)
{
	return f->size - off > WIRE_ENTRY_MAX ? ENTRY_SPLIT : (uint32_t)(f->size - off);
}

int file_open(const char *name)
{
	return open_retry(name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* Adds a regular file that is open, unless a loop would then be too long to be counted. */
static void add_open(struct fileset *set, const struct file *f, bool raw)
{
	const uint64_t over = f->size > WIRE_ENTRY_MAX ? f->size - WIRE_ENTRY_MAX : 0;
	const uint64_t entries = set->entries + 1 + (over + ENTRY_SPLIT - 1) / ENTRY_SPLIT;

	if ((!raw && entries > UINT32_MAX) || f->size > UINT64_MAX - set->bytes)
		die("%s: too much for one loop, with the files before it: send fewer files",
		    f->name);
	set->entries = (uint32_t)entries;
	set->bytes += f->size;
	set->file[set->n++] = *f;
}

/* Adds a file, or prints why not. */
static void fileset_add(struct fileset *set, const char *name, size_t keep_open, bool raw)
{
	struct file f = {.name = name, .fd = file_open(name)};
	struct stat sb;
	const int fd = f.fd;

	if (fd < 0 || fstat(fd, &sb) != 0) {
		warn("%s: skipped", printable(name));
	} else if (!S_ISREG(sb.st_mode)) {
		warnx("%s: skipped: not a regular file", printable(name));
	} else {
		f.size = (uint64_t)sb.st_size;
		if (set->n >= keep_open)
			f.fd = -1;
		add_open(set, &f, raw);
		if (f.fd >= 0)
			return;
	}
	if (fd >= 0)
		close(fd);
}

/* How many descriptors there are for files, once the soft limit has been raised to the hard one. */
static size_t descriptors(int streams)
{
	const rlim_t reserve = OPEN_RESERVE + OPEN_STREAM * (rlim_t)streams;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return 0;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	getrlimit(RLIMIT_NOFILE, &r);
	return r.rlim_cur > reserve ? (size_t)(r.rlim_cur - reserve) : 0;
}

/*
 * Writes BUILTIN_SIZE bytes into a file in memory, which is sent by the same calls as one on disk.
 * They are those of xorshift64, from another seed for each file: no layer below compresses or shares
 * them.  False on failure, with errno.
 */
static bool write_builtin(int fd, uint64_t state)
{
	uint64_t word[BUILTIN_SIZE / 10 / sizeof(uint64_t)];
	size_t left, done, i;
	ssize_t n;

	for (left = BUILTIN_SIZE; left > 0; left -= sizeof(word)) {
		for (i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			word[i] = state;
		}
		for (done = 0; done < sizeof(word); done += (size_t)n) {
			n = TEMP_FAILURE_RETRY(write(fd, (char *)word + done, sizeof(word) - done));
			if (n < 0)
				return false;
		}
	}
	return true;
}

void fileset_open(struct fileset *set, char **names, int n, int streams, bool raw)
{
	const size_t keep_open = descriptors(streams);
	struct file f = {.name = "built-in", .size = BUILTIN_SIZE};
	int i;

	*set = (struct fileset){.builtin = n == 0};
	set->file = calloc(n > 0 ? (size_t)n : BUILTIN_FILES, sizeof(*set->file));
	if (set->file == NULL)
		die_errno("file set");
	for (i = 0; i < n; i++)
		fileset_add(set, names[i], keep_open, raw);
	for (i = 0; n == 0 && i < BUILTIN_FILES; i++) {
		f.fd = memfd_create("zcc-builtin", MFD_CLOEXEC);
		if (f.fd < 0 || !write_builtin(f.fd, (uint64_t)i + 1))
			die_errno("built-in file set");
		add_open(set, &f, raw);
	}
	if (set->n == 0)
		die("none of the files can be sent");
}

void fileset_close(struct fileset *set)
{
	size_t i;

	for (i = 0; i < set->n; i++)
		if (set->file[i].fd >= 0)
			close(set->file[i].fd);
	free(set->file);
}
