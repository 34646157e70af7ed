/* texts.h: texts that are written as streams. */
#pragma once

#include "common.h"

/*
 * Opens a stream.  At its end *text has what was written, to be freed by free(3), with a NUL behind its *size bytes.
 * Unlike open_memstream(3) it loses nothing without an error: both functions die, with a message about `what` the text
 * is for, if memory is short.
 */
FILE *text_open_or_die(char **text, size_t *size, const char *what);
void text_close_or_die(FILE *f, const char *what);
