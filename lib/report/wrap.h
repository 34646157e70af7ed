/*
 * wrap.h: lines of items that break between two items before they are too wide.
 *
 *	struct wrap w;
 *
 *	wrap_init(&w, NULL, 0, WRAP_WIDTH, "  ");
 *	wrap_add(&w, "", "System load: %.1f%%", load);
 *	wrap_add(&w, ", ", "slowed %.1f%%", slowed);
 *	wrap_end(&w);
 */
#pragma once

#include <stddef.h>

#define WRAP_WIDTH 80  /* columns of a report about one host */
#define WRAP_ITEM  256 /* bytes of an item, with its end; a longer one is cut */

struct wrap {
	char *text; /* where the lines are stored, or NULL: they are printed on stdout */
	size_t size;
	const char *indent; /* what each line but the first begins with */
	int width, column;
};

/* Begins a line.  `text`, of `size` bytes, may be NULL; what does not fit in it is omitted. */
void wrap_init(struct wrap *w, char *text, size_t size, int width, const char *indent);

/*
 * Adds an item.  The separator stands between it and the item before, unless the line breaks there.
 */
void wrap_add(struct wrap *w, const char *separator, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds the load of a CPU, `cpu12 3.4%?`, or `cpu12 -` where it is NAN. */
void wrap_add_cpu(struct wrap *w, const char *separator, int id, double load, unsigned unsafe);

/* Ends the line. */
void wrap_end(struct wrap *w);
