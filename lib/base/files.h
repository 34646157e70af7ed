/*
 * files.h: files that a user names to be written, none of which is found by another user's symbolic link.
 *
 *	file_replace_or_die(path, NULL, NULL);		(before it takes long)
 *	...
 *	file_replace_or_die(path, calibration_print, &calibration);
 */
#pragma once

#include "common.h"

/*
 * Replaces a file by what print(f, arg) writes: a reader sees the old file or the whole new one, with the mode of
 * the old.  Symbolic links of this user and of root are followed.  A link of another user is an error, since
 * anybody can make one in a directory such as /tmp.  A file that is not regular is an error, too.  If `print` is
 * NULL, it only tries whether there can be a new file.
 */
void file_replace_or_die(const char *path, void (*print)(FILE *f, const void *arg),
			 const void *arg);

/*
 * Empties a file, or makes a new one, that is to be read while it is written, and returns its descriptor.  What
 * file_replace_or_die() refuses is an error.
 */
int file_open_or_die(const char *path);

/* Opens a file, which may be new, to be read and to be added to, likewise. */
int file_append_or_die(const char *path);
