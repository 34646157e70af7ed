/*
 * proc.h: files of the kernel, such as those of /proc and of control groups, and others that are read at once.
 *
 *	if (file_read_line("/proc/version", line, sizeof(line)) == 0)
 *		...
 */
#pragma once

#include "common.h"

/*
 * Reads the first line of a small file, such as one of /proc, as a printable string without its newline, with a blank
 * for a tab.  A line that does not fit, or has no newline, is an error.
 */
int file_read_line(const char *path, char *buf, size_t size);

/*
 * Reads a whole file whose size is known, and 64 MiB at most, into memory that is to be freed by free(3), and stores
 * the size.  Returns NULL on failure.
 */
char *file_read_all(const char *path, size_t *size);

/* Writes a small file of /proc or of a control group. */
int file_write(const char *dir, const char *name, const char *text);
