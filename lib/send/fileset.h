/*
 * fileset.h: the files that zcc sends, or the set that is built in.
 *
 *	fileset_open(&set, argv + optind, argc - optind);
 *	fileset_preload(&set);	(if they are to be sent from memory)
 *	for (i = 0; i < set.n; i++)
 *		send_file(&set.file[i]);
 *	fileset_close(&set);
 */
#pragma once

#include "common.h"

#define BUILTIN_FILES 63           /* the file set behind the published tables */
#define BUILTIN_SIZE  (350 * 1024) /* bytes of each */

struct file {
	const char *name;
	int fd;
	uint64_t size;
	char *data; /* all of it, in memory; NULL: it is read as it is sent */
};

struct fileset {
	struct file *file;
	size_t n;
	uint32_t entries; /* entries of the wire in one loop */
	uint64_t bytes;   /* bytes of files in one loop */
	bool builtin;
	size_t skipped; /* files that cannot be sent */
};

/*
 * Opens `n` files, or makes the built-in set if n is 0.  A file that cannot be sent is skipped with
 * a line on stderr.  Raises the limit of descriptors, of which files, as they stay open, may have half.  Dies if
 * they need more, if no file is left, or if a loop has more entries than the wire can count.
 */
void fileset_open(struct fileset *set, char **names, int n);

/*
 * Reads all files into memory, which the streams share; each begins with a page.  Dies if they take more than
 * a quarter of the machine's memory.
 */
void fileset_preload(struct fileset *set);

/* The error of a transfer that skipped files: NULL if it skipped none, or a text in `why`. */
const char *fileset_error(const struct fileset *set, char why[DIE_MAX]);

/* Closes and frees what fileset_open() made. */
void fileset_close(struct fileset *set);

/* Bytes of the entry that begins at `off`: the wire splits a file of 4 GiB or more. */
uint32_t file_entry(const struct file *f, uint64_t off);
