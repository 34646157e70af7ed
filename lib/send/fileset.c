#include "lib/send/fileset.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/base/program.h"
#include "lib/net/wire.h"

#define ENTRY_SPLIT 0xfffff000u /* bytes of each but the last entry of a split file: whole pages */

uint32_t file_entry(const struct file *f, uint64_t off)
{
	return f->size - off > WIRE_ENTRY_MAX ? ENTRY_SPLIT : (uint32_t)(f->size - off);
}

/* Whether a name looks like the argument of an option of iperf3 that takes none here, as in `-w 1m`. */
static bool is_size(const char *name)
{
	const size_t n = strspn(name, "0123456789");

	return n > 0 && strchr("kKmMgG", name[n]) != NULL &&
	       (name[n] == '\0' || name[n + 1] == '\0');
}

/* Opens a file, or warns that it is skipped and returns false.  A FIFO does not block. */
static bool open_file(struct file *f, const char *name)
{
	const int fd = open_retry(name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat sb = {.st_mode = 0};

	if (fd < 0 || fstat(fd, &sb) != 0)
		warnx("%s: skipped: %s%s", printable(name), strerror(errno),
		      is_size(name) ? " (-w takes no SIZE: -o sets the socket's buffer)" : "");
	else if (!S_ISREG(sb.st_mode))
		warnx("%s: skipped: not a regular file", printable(name));
	*f = (struct file){.name = name, .fd = fd, .size = (uint64_t)sb.st_size};
	if (fd >= 0 && !S_ISREG(sb.st_mode))
		close(fd);
	return S_ISREG(sb.st_mode);
}

/* Adds a file, or dies if a loop would then have more entries than the wire can count. */
static void add_file(struct fileset *set, const struct file *f)
{
	const uint64_t over = f->size > WIRE_ENTRY_MAX ? f->size - WIRE_ENTRY_MAX : 0;
	const uint64_t entries = set->entries + 1 + (over + ENTRY_SPLIT - 1) / ENTRY_SPLIT;

	if (entries > UINT32_MAX)
		die("%s: too much for one loop, with the files before it: send fewer files",
		    f->name);
	set->entries = (uint32_t)entries;
	set->bytes += f->size;
	set->file[set->n++] = *f;
}

/*
 * Fills a built-in file, which is in memory and is sent by the same calls as a file on disk.  Its
 * bytes are those of xorshift64, with another seed for each file, so that no layer below compresses
 * or shares them; of seed 0 all are zero.  False on failure, with errno.
 */
static bool write_builtin(int fd, uint64_t state)
{
	uint64_t word[BUILTIN_SIZE / 10 / sizeof(uint64_t)];
	size_t left, i;
	ssize_t n;

	for (left = BUILTIN_SIZE; left > 0; left -= (size_t)n) {
		for (i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			word[i] = state;
		}
		n = TEMP_FAILURE_RETRY(write(fd, word, left < sizeof(word) ? left : sizeof(word)));
		if (n < 0)
			return false;
	}
	return true;
}

void fileset_open(struct fileset *set, char **names, int n)
{
	const uint64_t descriptors = files_allow_most();
	struct file f;
	int i;

	if ((uint64_t)n > descriptors / 2)
		die("%d files are more than half of the %" PRIu64 " descriptors: raise ulimit -Hn",
		    n, descriptors);
	*set = (struct fileset){.builtin = n == 0};
	set->file = alloc_or_die(n > 0 ? (size_t)n : BUILTIN_FILES, sizeof(*set->file), "file set");
	for (i = 0; i < n; i++)
		if (open_file(&f, names[i]))
			add_file(set, &f);
	for (i = 0; n == 0 && i < BUILTIN_FILES; i++) {
		f = (struct file){.name = "built-in",
				  .fd = memfd_create("zcc-builtin", MFD_CLOEXEC),
				  .size = BUILTIN_SIZE};
		if (f.fd < 0 || !write_builtin(f.fd, (uint64_t)i + 1))
			die_errno("built-in file set");
		add_file(set, &f);
	}
	if (set->n == 0)
		die("none of the files can be sent");
	set->skipped = n > 0 ? (size_t)n - set->n : 0;
}

/* Reads a file into its memory, or dies. */
static void read_file(const struct file *f)
{
	size_t got = 0;
	ssize_t n = 0;

	while (n >= 0 && got < f->size) {
		n = TEMP_FAILURE_RETRY(
			pread(f->fd, f->data + got, (size_t)f->size - got, (off_t)got));
		if (n == 0)
			die("%s: shrank while it was being read", printable(f->name));
		got += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		die_errno("%s", printable(f->name));
}

void fileset_preload(struct fileset *set)
{
	const size_t page = (size_t)getpagesize();
	const uint64_t quarter = (uint64_t)sysconf(_SC_PHYS_PAGES) / 4 * page;
	const bool fits = set->bytes < SIZE_MAX / 2; /* not into all addresses of 32 bits */
	struct file *f;

	if (set->bytes > quarter || !fits)
		die("--preload: the files take %ju MiB, more than %s",
		    (uintmax_t)(set->bytes >> 20),
		    fits ? "a quarter of this host's memory"
			 : "a 32-bit program has addresses for");
	for (f = set->file; f < set->file + set->n; f++) {
		f->data = aligned_alloc(page, ((size_t)f->size / page + 1) * page);
		if (f->data == NULL)
			die_errno("--preload: %s", printable(f->name));
		read_file(f);
	}
}

const char *fileset_error(const struct fileset *set, char why[DIE_MAX])
{
	if (set->skipped == 0)
		return NULL;
	snprintf(why, DIE_MAX, "skipped %zu of %zu files", set->skipped, set->skipped + set->n);
	return why;
}

void fileset_close(struct fileset *set)
{
	size_t i;

	for (i = 0; i < set->n; i++) {
		close(set->file[i].fd);
		free(set->file[i].data);
	}
	free(set->file);
}
